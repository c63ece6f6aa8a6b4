/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From what findings want to commands that work on this host. Reads, and changes nothing. */
#ifndef PKTLEDGER_DIAGNOSIS_PLAN_H
#define PKTLEDGER_DIAGNOSIS_PLAN_H

#include "diagnosis/judge.h"

/*
 * Reads the value that each change would replace, and makes its command and its undo. A setting
 * that belongs to the host is planned there (on_host). A change that is made already, or not
 * possible here, goes away; without any the finding keeps what it wants. `ns`: NULL for the
 * thread's; `netns`: its name, which commands begin with; NULL: they are for the thread's.
 */
void check_plan(struct check_findings *list, const struct netns *ns, const char *netns);

/* The command of one of its changes, or the one that undoes it. Returns `buf`. */
char *check_command(const struct check_finding *c, unsigned i, bool undo, const char *netns,
		    char buf[FINDING_COMMAND]);

#endif
