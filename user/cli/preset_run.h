/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `run --preset`: the lines of a preset one behind the other, a row each. */
#ifndef PKTLEDGER_CLI_PRESET_RUN_H
#define PKTLEDGER_CLI_PRESET_RUN_H

#include "cli/report.h"

/*
 * Runs the preset that the options name, or lists all for the name `help`. The words of the command
 * line stand behind those of each line, so they win. Returns the exit status.
 */
int preset_run(const struct run_options *o, struct error *err);

#endif
