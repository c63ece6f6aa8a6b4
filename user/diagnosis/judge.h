/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns facts into findings. Pure: the same facts give the same findings. The sentences are in the
 * table of findings (diagnosis/findings.h), the conditions in rules_*.c, one file per area.
 *
 * A loss in the window is a finding, and so is a limit that is nearly reached, and a setting that
 * will lose packets at the measured rates. A setting alone is not a finding. A counter that did not
 * increase is not a finding either: it becomes part of the history.
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
	char subject[64];	/* subject of the finding: "eth1", "port 5001". "" if the scope
				 * is enough */
	bool losing;		/* packets were lost in the window */
	double loss_pps;	/* loss rate, 0 if not counted in packets */
	struct change *changes; /* changes that would help */
	unsigned n_changes;
	bool asked;	/* about the requested port, or a socket of the requested process */
	bool on_host;	/* changes apply to the host, not to the namespace, set by check_plan() */
	unsigned order; /* private: order in which rules added findings */
};

/* A loss that has ended: its counter did not increase. */
struct check_history {
	enum stage stage;
	bool host; /* counted for the whole host, in any of its namespaces */
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
 * Judges the facts. Zero-initialise `out`, and free it with check_findings_free(). Order: findings
 * about the requested port or process, then current losses, by rate, then by severity, a cause before
 * its effects.
 */
void judge(const struct facts *f, struct check_findings *out);

void check_findings_free(struct check_findings *list);

/*
 * Moves the findings of `from`, which is freed, to `list`, as findings of the namespace `netns`.
 * `others`: another namespace, whose findings about the host and whose history are already known.
 */
void check_findings_join(struct check_findings *list, struct check_findings *from,
			 const char *netns, bool others);

/* Sorts findings in the order of judge(). */
void check_findings_sort(struct check_findings *list);

/* Turns the changes of findings into commands that work on this host. Reads only. */

/*
 * Reads the current value of each setting to be changed, and builds its command and its undo. A
 * host setting is planned for the host (on_host). A change that is already made, or not possible
 * here, is removed. A finding without a change keeps its fix text. `ns`: NULL for the thread's
 * namespace. `enter`: words that run a command there. The changes borrow both.
 */
void check_plan(struct check_findings *list, const struct netns *ns, const char *enter);

/* Interface between the judge and the files of rules. */

/*
 * Adds the finding that follows from the facts, with the lost packets in facts->lost. Its subject is
 * the socket's port, or facts->ifname. Sets the window and the rate. Returns the finding, valid until
 * the next call, or NULL.
 */
struct check_finding *judge_add(struct check_findings *out, const struct facts *f, enum stage stage,
				enum check_scope scope, struct finding_facts *facts);

/* Adds a loss that has ended, unless `total` is 0. */
void judge_history(struct check_findings *out, enum stage stage, bool host, const char *counter,
		   uint64_t total);

/*
 * Sets counter, total and lost of `facts`, as sums of two counters (`other` may be NULL). Returns
 * whether one moved, else adds them to the history.
 */
bool judge_moved(const struct facts *f, struct check_findings *out, enum stage stage,
		 const char *scope, const char *name, const char *other,
		 struct finding_facts *facts);

/* Adds a change to the changes of its block. */
void judge_add_change(struct check_finding *c, const struct change *change);

#define PROCESS_SIZE 32

/* Returns the owner of the socket, "name (pid)". The text is static, or in `buf`. */
const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE]);

/*
 * Returns the sum of a softnet counter over all CPUs, such as "dropped", in the window or in total.
 */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total);

/*
 * Finds the stage whose losses a kernel counter shows. `name`: "Udp:RcvbufErrors", as nstat and
 * netstat print it, or the part after the protocol. Returns false if the counter does not show
 * losses.
 */
bool judge_counter_stage(const char *name, enum stage *stage);

/* The areas, from the end of a packet's path to its start: the receiver is nearest to the cause. */
void judge_socks(const struct facts *f, struct check_findings *out);
void judge_counters(const struct facts *f, struct check_findings *out);
void judge_links(const struct facts *f, struct check_findings *out);
void judge_stack(const struct facts *f, struct check_findings *out);
void judge_cpus(const struct facts *f, struct check_findings *out);

#endif
