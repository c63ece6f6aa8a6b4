/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `help --json`: commands, options, capabilities, exit statuses and stages as one document, from
 * the tables that the program itself works with. Manuals and completion are generated from it.
 */
#ifndef PKTLEDGER_CLI_HELP_JSON_H
#define PKTLEDGER_CLI_HELP_JSON_H

#include "base/opt.h"

/* The document of a NULL-terminated list of commands; the caller frees it. */
struct json_object *help_json(const struct command *const *cmds);

#endif
