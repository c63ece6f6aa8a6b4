// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Members of results that documents, ledger files and messages between hosts share. */
#include "ledger/result.h"

#include <string.h>

#include "drops/stagemap.h"
#include "ledger/ledger.h"

const struct record_field result_place_rows[] = {
	RECORD("reason", TEXT, result_cause, reason),
	RECORD("location", TEXT, result_cause, location),
	RECORD("ifname", TEXT, result_cause, ifname),
	RECORD("netns", TEXT, result_cause, netns),
	RECORD("host", TEXT, result_cause, host, .how = RECORD_OMITTED),
	RECORD("direction", WORD, result_cause, direction, RECORD_NAMES(direction_names),
	       .how = RECORD_OPEN),
	RECORD("hook", WORD, result_cause, hook, RECORD_NAMES(netfilter_hook_names),
	       .how = RECORD_OMITTED | RECORD_OPEN),
	{0},
};

bool result_cause_same(const struct result_cause *a, const struct result_cause *b)
{
	return a->stage == b->stage && a->direction == b->direction && a->hook == b->hook &&
	       a->given_up == b->given_up && !strcmp(a->reason, b->reason) &&
	       !strcmp(a->location, b->location) && !strcmp(a->ifname, b->ifname) &&
	       !strcmp(a->netns, b->netns) && !strcmp(a->host, b->host);
}

const struct record_field result_counter_rows[] = {
	RECORD("name", TEXT, result_counter, name, .how = RECORD_FULL),
	RECORD("delta", UINT, result_counter, delta),
	RECORD("expected", UINT, result_counter, expected),
	RECORD("agrees", BOOL, result_counter, agrees),
	RECORD("documented", BOOL, result_counter, documented),
	RECORD("scope", WORD, result_counter, scope, RECORD_NAMES(counter_scope_names)),
	{0},
};

const struct record_field result_calls_rows[] = {
	RECORD("waits", UINT, result, waits),
	RECORD("wait_ns", UINT, result, wait_ns),
	RECORD("tx_calls", UINT, result, tx_cost.calls),
	RECORD("tx_cpu_ns", UINT, result, tx_cost.cpu_ns),
	{0},
};

const struct record_field result_pace_rows[] = {
	RECORD("duration_ns", UINT, result, duration_ns),
	RECORD("slipped_ns", UINT, result, slipped_ns),
	RECORD("late_ns", UINT, result, late_ns),
	RECORD("held_ns", UINT, result, held_ns),
	{0},
};

const struct record_field result_receiving_rows[] = {
	RECORD("delivered", UINT, result, delivered),
	RECORD("duplicated", UINT, result, duplicated),
	RECORD("damaged", UINT, result, damaged),
	RECORD("invalid", UINT, result, invalid),
	RECORD("foreign", UINT, result, foreign),
	RECORD("rx_pps", DOUBLE, result, rx_pps, .how = RECORD_MILLI),
	RECORD("rx_calls", UINT, result, rx_cost.calls),
	RECORD("rx_cpu_ns", UINT, result, rx_cost.cpu_ns),
	{0},
};

const struct record_field result_fragments_rows[] = {
	RECORD("fragments_made", UINT, result, fragments.made),
	RECORD("fragments_seen", UINT, result, fragments.seen),
	RECORD("fragments_dropped", UINT, result, fragments.dropped),
	RECORD("fragments_abandoned", UINT, result, fragments.abandoned),
	RECORD("fragments_unmatched", UINT, result, fragments.unmatched),
	RECORD("datagrams_reassembled", UINT, result, reassembled),
	{0},
};

const struct record_field result_losses_rows[] = {
	RECORD("causes_full", UINT, result_losses, causes_full),
	RECORD("header_unreadable", UINT, result_losses, stamp_unreadable),
	RECORD("recursion_misses", UINT, result_losses, recursion_misses),
	RECORD("cell_empty", UINT, result_losses, cell_empty),
	RECORD("gso_split", UINT, result_losses, gso_split),
	RECORD("suppressed", UINT, result_losses, suppressed),
	RECORD("suppressed_evidence", TEXT, result_losses, suppressed_evidence),
	{0},
};
