/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_REPORT_LOAD_PARTS_H
#define PKTLEDGER_REPORT_LOAD_PARTS_H

#include "base/err.h"

/* Whether a file can be a ledger, by what it begins with: 0, or STATUS_USAGE. */
int load_check_kind(const char *path, struct error *err);

#endif
