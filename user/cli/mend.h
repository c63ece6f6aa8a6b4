/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `check` does about what it finds: changes settings, takes that back, keeps it. */
#ifndef PKTLEDGER_CLI_MEND_H
#define PKTLEDGER_CLI_MEND_H

#include <json-c/json.h>

#include "base/opt.h"
#include "diagnosis/judge.h"

struct mend_options {
	bool apply, yes, undo, persist;
	const char *undo_file;
	struct opt_strings ids;
};

extern const struct opt mend_opts[];

#define MEND_ARG "ID,..." /* the positional argument: an OPT_STRINGS, `ids` */

/* Whether the options make sense together, and there is a terminal if one is needed. 0 or -errno.
 */
int mend_check(const struct mend_options *o, struct error *err);

/*
 * Asks for each change of the findings chosen (`--yes`: does not), and makes those agreed to, all
 * or none. The list is planned; `netns` as in check_plan(). What was done goes to
 * stdout, or into `json` under "applied" (NULL: text). Returns the exit status.
 */
int mend_apply(const struct mend_options *o, const struct check_findings *list, const char *netns,
	       struct json_object *json, struct error *err);

/* Takes back all that was made, in all namespaces; "undone". Returns the exit status. */
int mend_undo(const struct mend_options *o, struct json_object *json, struct error *err);

/* The files that keep the changes of the findings chosen, and those made before; "persist". */
int mend_persist(const struct mend_options *o, const struct check_findings *list,
		 const struct netns *ns, struct json_object *json, struct error *err);

#endif
