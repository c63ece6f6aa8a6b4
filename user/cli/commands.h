/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_CLI_COMMANDS_H
#define PKTLEDGER_CLI_COMMANDS_H

#include "base/opt.h"

extern const struct command cmd_run, cmd_send, cmd_recv, cmd_lab, cmd_selftest, cmd_check,
	cmd_trace, cmd_top, cmd_sweep, cmd_search, cmd_report, cmd_export;

#endif
