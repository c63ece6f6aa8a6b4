/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A capture of lost packets (trace -w) as a document of the kind that a ledger of trace gives:
 * schema "pktledger/capture/1", its intervals are seconds in which packets were lost.
 */
#ifndef PKTLEDGER_REPORT_LOSTCAP_H
#define PKTLEDGER_REPORT_LOSTCAP_H

#include "report/load.h"

/* Whether the first packet has a comment of ours. False too if there is none. */
bool lostcap_is(const char *path);

/*
 * The document in *d, whose json is to be given away, NULL if no packet is left by time and filter.
 * STATUS_USAGE: packets have no comments of ours, or the filter is no filter.
 */
int lostcap_read(const char *path, const struct load_spec *spec, struct ledgers_document *d,
		 struct ledgers_file *file, struct error *err);

#endif
