/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The metrics as a file for node_exporter's textfile collector: there at once or not at all. */
#ifndef PKTLEDGER_MONITOR_TEXTFILE_H
#define PKTLEDGER_MONITOR_TEXTFILE_H

#include "base/err.h"
#include "monitor/model.h"

/*
 * Whether it can be written: 0, or -errno with STATUS_FAILED. STATUS_USAGE: there is a file that is
 * not of this program.
 */
int textfile_check(const char *path, struct error *err);

/* Writes it, readable for all. STATUS_FAILED, STATUS_USAGE. */
int textfile_write(const char *path, const struct model *m, struct error *err);

#endif
