/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns facts into findings. Pure: the same facts always give the same findings. The sentences are
 * in the findings table (diagnosis/findings.h), and the conditions are in rules_*.c, one file per
 * area.
 *
 * A finding is a loss in the window, a limit that is nearly reached, or a setting that will lose
 * packets. A setting alone is not a finding. Neither is a counter that did not increase, which
 * becomes part of the history instead.
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
	char subject[64];	/* subject, "eth1" or "port 5001", "" if the scope is enough */
	bool losing;		/* packets were lost during the window */
	double loss_pps;	/* loss rate, 0 if packets are not counted */
	struct change *changes; /* changes that would help */
	unsigned n_changes;
	bool asked;	/* about the requested port, or a socket that the requested process owns */
	bool on_host;	/* changes apply to the host, set by check_plan() */
	unsigned order; /* private: order in which the rules added findings */
};

/* Loss that has stopped: its counter did not increase. */
struct check_history {
	enum stage stage;
	bool host; /* counted host-wide, in any namespace */
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
 * Judges the facts. `out` must be zero-initialised and freed with check_findings_free(). The order
 * is: findings about the requested port or process first, then current losses, by rate, then by
 * severity, with a cause before its effects.
 */
void judge(const struct facts *f, struct check_findings *out);

void check_findings_free(struct check_findings *list);

/*
 * Moves the findings from `from`, which is freed, to `list` as findings in the namespace `netns`.
 * `others`: another namespace. The findings and the history of the host are already known.
 */
void check_findings_join(struct check_findings *list, struct check_findings *from,
			 const char *netns, bool others);

/*
 * Sorts findings in the same order as judge(). Removes a host's limit that is nearly reached if a
 * current loss has the same command.
 */
void check_findings_sort(struct check_findings *list);

/* Turns the changes proposed by findings into commands that work on this host. Only reads. */

/*
 * Reads the current value of each setting to be changed, and builds the command and its undo. A
 * host setting is planned for the host (on_host). A change that has already been made or is not
 * possible here is removed. A finding without a change keeps its fix text. `ns`: NULL for the
 * thread's namespace. `enter`: words that run a command there. The changes borrow both.
 */
void check_plan(struct check_findings *list, const struct netns *ns, const char *enter);

/* Interface between the judge and the rule files. */

/*
 * Adds the finding that follows from the facts, with facts->lost as the lost packets. Its subject
 * is the socket's port or facts->ifname. Sets the window and the rate. Returns the finding, valid
 * until the next call, or NULL.
 */
struct check_finding *judge_add(struct check_findings *out, const struct facts *f, enum stage stage,
				enum check_scope scope, struct finding_facts *facts);

/* Adds a loss that has stopped, unless `total` is 0. */
void judge_history(struct check_findings *out, enum stage stage, bool host, const char *counter,
		   uint64_t total);

/*
 * Sets `facts` counter, total and lost to the sums of two counters (`other` may be NULL). Returns
 * true if one of them increased. Otherwise adds them to the history.
 */
bool judge_moved(const struct facts *f, struct check_findings *out, enum stage stage,
		 const char *scope, const char *name, const char *other,
		 struct finding_facts *facts);

/* Adds a change in addition to the changes in its block. */
void judge_add_change(struct check_finding *c, const struct change *change);

#define PROCESS_SIZE 32

/* Returns the socket's owner as "name (pid)". The string is static or in `buf`. */
const char *judge_process(const struct facts_sock *s, char buf[PROCESS_SIZE]);

/*
 * Returns the sum over all CPUs of a softnet counter such as "dropped", in the window or in total.
 */
uint64_t judge_softnet(const struct facts *f, const char *what, bool total);

/*
 * Finds the stage of the losses that a kernel counter shows. `name` is as in nstat and netstat,
 * "Udp:RcvbufErrors", or just the part after the protocol. Returns false if the counter does not
 * show losses.
 */
bool judge_counter_stage(const char *name, enum stage *stage);

/* Compares names. "Udp:NoPorts" is also called UdpNoPorts (nstat) and NoPorts (netstat). */
bool judge_counter_called(const char *counter, const char *name);

/*
 * Judge each area, from the end of a packet's path to its start, because the receiver is nearest to
 * the cause.
 */
void judge_socks(const struct facts *f, struct check_findings *out);
void judge_counters(const struct facts *f, struct check_findings *out);
void judge_links(const struct facts *f, struct check_findings *out);
void judge_stack(const struct facts *f, struct check_findings *out);
void judge_cpus(const struct facts *f, struct check_findings *out);

#endif
