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

const char *check_scope_name(enum check_scope scope); /* "socket", "interface", ... */

struct check_finding {
	struct finding finding;
	enum check_scope scope;
	char subject[64];	/* what it is about: "eth1", "port 5001"; "": scope says it */
	bool losing;		/* packets were lost in the window */
	double loss_pps;	/* how many; 0: not counted in packets */
	struct change *changes; /* that would help */
	unsigned n_changes;
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
	unsigned n, cap;
	struct check_history *history;
	unsigned n_history, cap_history;
	bool out_of_memory;
};

/*
 * Zero-initialise `out`; free it with check_findings_free(). What loses now comes first, then by
 * severity and by rate; a cause before what follows from it. -ENOMEM.
 */
int judge(const struct facts *f, struct check_findings *out);

void check_findings_free(struct check_findings *list);

/* From what findings want to commands that work on this host. Reads, and changes nothing. */

/*
 * Reads the value that each change would replace, and makes its command and its undo. A setting
 * that belongs to the host is planned there (on_host). A change that is made already, or not
 * possible here, goes away; without any the finding keeps what it wants. `ns`: NULL for the
 * thread's; `netns`: its name, which commands begin with; NULL: they are for the thread's.
 */
void check_plan(struct check_findings *list, const struct netns *ns, const char *netns);

#endif
