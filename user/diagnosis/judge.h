/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From facts to findings. Pure: the same facts give the same findings. The sentences are in the
 * table of findings (diagnosis/findings.h), the conditions in rules_*.c, an area a file.
 *
 * What lost packets in the window is a finding; so is a limit that is nearly reached, and a setting
 * that together with what was measured will lose packets. A setting alone is none, and neither is a
 * counter that has stood still: it becomes part of the history.
 */
#ifndef PKTLEDGER_DIAGNOSIS_JUDGE_H
#define PKTLEDGER_DIAGNOSIS_JUDGE_H

#include "diagnosis/findings.h"
#include "diagnosis/facts.h"

enum check_scope { CHECK_SOCKET, CHECK_INTERFACE, CHECK_NAMESPACE, CHECK_HOST };

extern const char *const check_scope_names[CHECK_HOST + 1]; /* "socket", "interface", ... */

struct check_finding {
	struct finding finding;
	enum check_scope scope;
	char subject[64];	/* what it is about: "eth1", "port 5001"; "": scope says it */
	bool losing;		/* packets were lost in the window */
	double loss_pps;	/* how many; 0: not counted in packets */
	struct change *changes; /* that would help */
	unsigned n_changes;
	bool asked;	/* about a socket of the port or process that was asked for */
	bool near;	/* of the namespace that asks, if that is not the host's */
	bool on_host;	/* they are of the host, not of the namespace; by check_plan() */
	unsigned order; /* private: as the rules found it */
};

/* A loss that is over: its counter stood still. */
struct check_history {
	enum stage stage;
	char counter[COUNTER_NAME_LEN];
	uint64_t total;
};

struct check_findings {
	struct check_finding *at;
	unsigned n;
	struct check_history *history;
	unsigned n_history;
};

/*
 * Zero-initialise `out`; free it with check_findings_free(). Findings about the port or process that
 * was asked for come first, then those that lose packets now; of these those nearby, then by
 * severity and by rate; a cause before its effects.
 */
void judge(const struct facts *f, struct check_findings *out);

void check_findings_free(struct check_findings *list);

/*
 * Moves the findings of `from`, which is freed, to those of `list`: they are of the namespace
 * `netns`. `others`: another one's, of which those of the host are known already, and its history.
 */
void check_findings_join(struct check_findings *list, struct check_findings *from,
			 const char *netns, bool others);

/* In the order of judge(). */
void check_findings_sort(struct check_findings *list);

/* From what findings want to commands that work on this host. Reads, and changes nothing. */

/*
 * Reads the value that each change would replace, and makes its command and its undo. A setting
 * that belongs to the host is planned there (on_host). A change that is made already, or not
 * possible here, goes away; without any the finding keeps what it wants. `ns`: NULL for the
 * thread's; `enter`: the words that run a command there; both are borrowed by the changes.
 */
void check_plan(struct check_findings *list, const struct netns *ns, const char *enter);

/* What the judge gives to the files of rules. */

/* About what. */
struct about {
	enum check_scope scope;
	const char *subject; /* NULL: none */
	uint64_t lost;	     /* packets in the window, for the rank */
	bool asked;	     /* about the port that was asked for, although it has no socket */
};

/*
 * Adds the finding that the facts lead to, if there is one, and returns it until the next call; NULL:
 * none. The loss of `about`, its window and its rate are added to the facts.
 */
struct check_finding *judge_add(struct check_findings *out, const struct facts *f, enum stage stage,
				struct about about, struct finding_facts *facts);

/* Adds a change to those of its block. */
void judge_add_change(struct check_finding *c, const struct change *change);

void judge_history(struct check_findings *out, enum stage stage, const char *counter,
		   uint64_t total);

#define PROCESS_SIZE 32

/* Who has the socket: "name (pid)". Static, or in `buf`. */
const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE]);

/* Sum of a counter of softnet over all CPUs: "dropped", in the window and in all. */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total);

/*
 * The stage at which a counter of the kernel shows losses. `name`: "Udp:RcvbufErrors", as nstat and
 * netstat write it, or the part after the protocol. False: not a counter of losses.
 */
bool judge_counter_stage(const char *name, enum stage *stage);

/* The areas, in the order of a packet's way from its end: who reads is nearest to the cause. */
void judge_socks(const struct facts *f, struct check_findings *out);
void judge_counters(const struct facts *f, struct check_findings *out);
void judge_links(const struct facts *f, struct check_findings *out);
void judge_stack(const struct facts *f, struct check_findings *out);
void judge_cpus(const struct facts *f, struct check_findings *out);

#endif
