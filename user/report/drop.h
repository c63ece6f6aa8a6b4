/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A single drop of trace: as a line, as JSON, as a packet of a capture; and such a capture, read
 * again.
 */
#ifndef PKTLEDGER_REPORT_DROP_H
#define PKTLEDGER_REPORT_DROP_H

#include <stdio.h>

#include "monitor/describe.h"
#include "monitor/live.h"
#include "report/json.h"
#include "report/load.h"
#include "report/capfile.h"

/* `netns`: the own namespace, left out. `hex`: the bytes below the line. The stack as well. */
void drop_text(FILE *out, const struct live_drop *drop, const char *netns, bool hex);

/* `hex`: with the bytes; `stack`: with the stack. */
struct json_object *drop_json(const struct live_drop *drop, bool hex, bool stack);

/*
 * Without an Ethernet header a packet gets the one that Linux gives to captures of `any`. 0 or
 * -errno of pcapng_packet().
 */
int drop_capture(struct pcapng *to, const struct live_drop *drop);

/*
 * What `trace -w` has written (drop_capture()) as a document of the kind that a ledger of trace
 * gives: schema "pktledger/capture/1", its intervals are seconds in which packets were lost.
 */

/* Whether the first packet has a comment of ours. False too if there is none. */
bool lostcap_is(const char *path);

/*
 * The document in *d, whose json is to be given away, NULL if no packet is left by time and filter.
 * STATUS_USAGE: packets have no comments of ours, or the filter is no filter.
 */
int lostcap_read(const char *path, const struct load_spec *spec, struct ledgers_document *d,
		 struct ledgers_file *file, struct error *err);

#endif
