/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ledgers of several senders and of their receivers, as one: for each receiver a document of the
 * form of a run, with the sums of all senders, and beside them
 *
 *	"senders":[ {"file","number","start","end"} ],	each of the form of a run, too
 *	"strangers":[ {"stream","base","delivered","dropped","came"} ],
 *	"notes":[ ".." ]
 *
 * A stream goes to the receiver that has its numbers. `strangers` came to this receiver, and are of
 * no sender's ledger: the books are not balanced then, as they are not if a ledger has no end.
 */
#ifndef PKTLEDGER_REPORT_JOINED_H
#define PKTLEDGER_REPORT_JOINED_H

#include "report/load.h"

/* There are ledgers of senders and of receivers. */
bool joined_wanted(const struct ledgers *l);

/*
 * Puts joined documents into the place of those of send and recv; all must be of these two.
 * STATUS_USAGE: one end is missing, they are of different runs, or one is there twice;
 * STATUS_FAILED: two senders used the same numbers, or two receivers have got the same.
 */
int joined_make(struct ledgers *l, struct error *err);

#endif
