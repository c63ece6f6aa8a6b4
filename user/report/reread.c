// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/reread.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "traffic/tx.h"
#include "report/rows.h"

#define COPY(to, o, key) snprintf(to, sizeof(to), "%s", json_get_text(o, key))

/* NULL where the model has none. */
static const char *text_or_null(const struct json_object *o, const char *key)
{
	const char *text = json_get_text(o, key);

	return *text ? text : NULL;
}

static void reread_port(const struct json_object *o, struct header_port *port)
{
	port->role = json_get_text(o, "netns");
	COPY(port->ifname, o, "ifname");
	COPY(port->address, o, "address");
}

void reread_header(const struct json_object *start, struct run_header *h)
{
	const struct json_object *lab = json_get(start, "lab");
	const struct json_object *mode = json_get(start, "granted_mode");
	const struct json_object *hosts = json_get(start, "hosts");

	*h = (struct run_header){
		.in_lab = lab != NULL,
		.topology = lab_topology_named(json_get_text(lab, "topology")),
		.tx = json_get_text(start, "tx"),
		.rx = json_get_text(start, "rx"),
		.port = (uint16_t)json_get_u64(json_get(start, "rx_port"), "port"),
		.faults = text_or_null(start, "faults"),
		.threads = (unsigned)json_get_length(start, "streams"),
		.flows = (unsigned)json_get_u64(start, "flows"),
		.duration_ns = json_get_u64(start, "duration_ns"),
		.rate_pps = json_get_double(start, "rate_pps"),
		.payload_bytes = (unsigned)json_get_u64(start, "payload_bytes"),
		.frame_bytes = (unsigned)json_get_u64(start, "frame_bytes"),
		.mean_frame_bytes = json_get_double(start, "mean_frame_bytes"),
	};
	h->streams = (uint16_t)h->threads;
	COPY(h->host, start, "host");
	COPY(h->lab, lab, "name");
	h->two_hosts = hosts != NULL;
	COPY(h->tx_host.name, json_get(hosts, "tx"), "name");
	COPY(h->rx_host.name, json_get(hosts, "rx"), "name");
	COPY(h->tx_mode, mode, "tx");
	COPY(h->rx_mode, mode, "rx");
	reread_port(json_get(start, "tx_port"), &h->tx_port);
	reread_port(json_get(start, "rx_port"), &h->rx_port);
	if (when_date(json_get_text(start, "time"), &h->time_ns))
		h->time_ns = 0;
}

void reread_finding(const struct json_object *from, struct finding *f)
{
	const char *severity = json_get_text(from, "severity");

	*f = (struct finding){.id = json_get_text(from, "id"),
			      .stage = rows_stage(json_get_text(from, "stage"))};
	while (f->severity < SEVERITY_ERROR && strcmp(severity_name(f->severity), severity))
		f->severity++;
	COPY(f->text, from, "text");
	COPY(f->evidence, from, "evidence");
	COPY(f->current, from, "current");
	COPY(f->wanted, from, "wanted");
	COPY(f->command, from, "command");
	COPY(f->undo, from, "undo");
	COPY(f->risk, from, "risk");
}

static void reread_cause(const struct json_object *o, enum stage stage, struct result_cause *c)
{
	*c = (struct result_cause){
		.stage = stage,
		.direction = json_get_text(o, "direction"),
		.hook = text_or_null(o, "hook"),
		.note = text_or_null(o, "note"),
		.stream = (uint16_t)json_get_u64(o, "stream"),
		.packets = json_get_u64(o, "packets"),
		.first = json_get_u64(o, "first"),
		.last = json_get_u64(o, "last"),
	};
	COPY(c->reason, o, "reason");
	COPY(c->location, o, "location");
	COPY(c->ifname, o, "ifname");
	COPY(c->netns, o, "netns");
}

static void reread_counter(const struct json_object *o, enum stage stage, struct result_counter *c)
{
	*c = (struct result_counter){
		.stage = stage,
		.delta = json_get_u64(o, "delta"),
		.expected = json_get_u64(o, "expected"),
		.agrees = json_get_bool(o, "agrees"),
		.documented = json_get_bool(o, "documented"),
		.scope = json_get_text(o, "scope"),
		.note = text_or_null(o, "note"),
	};
	COPY(c->name, o, "name");
}

static void reread_stage(const struct json_object *o, struct result *res)
{
	enum stage stage = rows_stage(json_get_text(o, "stage"));
	struct result_stage *s = &res->stage[stage];

	if (stage == STAGE_NONE)
		return;
	*s = (struct result_stage){
		.packets = json_get_u64(o, "packets"),
		.events = json_get_u64(o, "events"),
		.bytes = json_get_u64(o, "bytes"),
		.source = text_or_null(o, "source"),
		.scope = text_or_null(o, "scope"),
	};
	for (size_t i = 0; i < json_get_length(o, "causes") && res->n_causes < RESULT_CAUSES; i++)
		reread_cause(json_get_item(o, "causes", i), stage, &res->cause[res->n_causes++]);
	for (size_t i = 0; i < json_get_length(o, "counters") && res->n_counters < RESULT_COUNTERS;
	     i++)
		reread_counter(json_get_item(o, "counters", i), stage,
			       &res->counter[res->n_counters++]);
}

/* By the name of the errno; a number where it has none. */
static int errno_of(const char *name)
{
	for (int e = 1; e < 200; e++) {
		const char *known = strerrorname_np(e);

		if (known && !strcmp(known, name))
			return e;
	}
	return TX_ERRNO_LOST;
}

static void reread_refused(const struct json_object *end, struct result *res)
{
	struct json_object *by = json_get(end, "refused_by");

	if (!by)
		return;
	json_object_object_foreach (by, name, packets) {
		if (res->n_refused_by < RESULT_ERRNOS)
			res->refused_by[res->n_refused_by++] = (struct result_errno){
				errno_of(name), json_object_get_uint64(packets)};
	}
}

static void reread_latency(const struct json_object *o, struct result_latency *l)
{
	*l = (struct result_latency){
		.measured = o != NULL,
		.min = json_get_u64(o, "min"),
		.p50 = json_get_u64(o, "p50"),
		.p90 = json_get_u64(o, "p90"),
		.p99 = json_get_u64(o, "p99"),
		.p999 = json_get_u64(o, "p999"),
		.p9999 = json_get_u64(o, "p9999"),
		.max = json_get_u64(o, "max"),
	};
}

/* Without the distributions. */
static void reread_arrivals(const struct json_object *end, struct arrivals *a)
{
	const struct json_object *gaps = json_get(end, "loss_gaps");
	const struct json_object *order = json_get(end, "reordering");

	a->gaps.count = json_get_u64(gaps, "gaps");
	a->gaps.packets = json_get_u64(gaps, "packets");
	a->gaps.longest = json_get_u64(gaps, "longest");
	a->order.packets = json_get_u64(end, "reordered");
	a->order.extent_max = json_get_u64(order, "extent_max");
	a->order.extent_unknown = json_get_u64(order, "extent_unknown");
	a->jitter_ns = json_get_u64(end, "jitter_ns");
	a->negative = json_get_u64(json_get(end, "clock"), "negative");
	a->flows_more = json_get_u64(end, "flows_more");
	reread_latency(json_get(end, "latency_ns"), &a->latency);
}

static void reread_losses(const struct json_object *o, struct result_losses *l)
{
	*l = (struct result_losses){
		.causes_full = json_get_u64(o, "causes_full"),
		.stamp_unreadable = json_get_u64(o, "stamp_unreadable"),
		.recursion_misses = json_get_u64(o, "recursion_misses"),
		.cell_empty = json_get_u64(o, "cell_empty"),
		.gso_split = json_get_u64(o, "gso_split"),
		.suppressed = json_get_u64(o, "suppressed"),
	};
	COPY(l->suppressed_evidence, o, "suppressed_evidence");
}

static void reread_open(const struct json_object *end, struct result *res)
{
	const struct json_object *seen = json_get(end, "unaccounted_last_seen");

	COPY(res->in_flight_where, end, "in_flight_where");
	res->unaccounted_seen[0] = json_get_u64(seen, "nowhere");
	res->unaccounted_seen[SEEN_TX_DEVICE] = json_get_u64(seen, "tx_device");
	res->unaccounted_seen[SEEN_XDP] = json_get_u64(seen, "xdp");
	res->unaccounted_seen[SEEN_RX_DEVICE] = json_get_u64(seen, "rx_device");
	res->unaccounted_seen[SEEN_SOCKET] = json_get_u64(seen, "socket");
	res->fragments = (struct trace_fragments){
		.made = json_get_u64(end, "fragments_made"),
		.seen = json_get_u64(end, "fragments_seen"),
		.dropped = json_get_u64(end, "fragments_dropped"),
		.abandoned = json_get_u64(end, "fragments_abandoned"),
		.unmatched = json_get_u64(end, "fragments_unmatched"),
	};
}

static void reread_deliberate(const struct json_object *o, struct result *res)
{
	res->deliberate.asked = o != NULL;
	res->deliberate.duplicates = json_get_u64(o, "duplicates");
	res->deliberate.reordered = json_get_u64(o, "reordered");
	res->deliberate.gaps = json_get_u64(o, "gaps");
}

void reread_result(const struct json_object *end, struct result *res)
{
	*res = (struct result){
		.attempted = json_get_u64(end, "attempted"),
		.refused = json_get_u64(end, "refused"),
		.sent = json_get_u64(end, "sent"),
		.delivered = json_get_u64(end, "delivered"),
		.dropped = json_get_u64(end, "dropped"),
		.in_flight = json_get_u64(end, "in_flight"),
		.unaccounted = json_get_u64(end, "unaccounted"),
		.impossible = json_get_u64(end, "impossible"),
		.balanced = json_get_bool(end, "balanced"),
		.interrupted = json_get_bool(end, "interrupted"),
		.waits = json_get_u64(end, "waits"),
		.wait_ns = json_get_u64(end, "wait_ns"),
		.duplicated = json_get_u64(end, "duplicated"),
		.late = json_get_u64(end, "late"),
		.damaged = json_get_u64(end, "damaged"),
		.invalid = json_get_u64(end, "invalid"),
		.foreign = json_get_u64(end, "foreign"),
		.replies = json_get_u64(end, "replies"),
		.tx_pps = json_get_double(end, "tx_pps"),
		.rx_pps = json_get_double(end, "rx_pps"),
		.duration_ns = json_get_u64(end, "duration_ns"),
		.slipped_ns = json_get_u64(end, "slipped_ns"),
		.held_ns = json_get_u64(end, "held_ns"),
		.payload_bytes = (unsigned)json_get_u64(end, "payload_bytes"),
		.tx_cost = {json_get_u64(end, "tx_calls"), json_get_u64(end, "tx_cpu_ns")},
		.rx_cost = {json_get_u64(end, "rx_calls"), json_get_u64(end, "rx_cpu_ns")},
		.reassembled = json_get_u64(end, "datagrams_reassembled"),
		.memory_bytes = json_get_u64(end, "memory_bytes"),
	};
	reread_refused(end, res);
	reread_arrivals(end, &res->arrivals);
	reread_losses(json_get(end, "own_losses"), &res->losses);
	reread_deliberate(json_get(end, "deliberate"), res);
	reread_open(end, res);
	for (size_t i = 0; i < json_get_length(end, "stages"); i++)
		reread_stage(json_get_item(end, "stages", i), res);
	for (size_t i = 0; i < json_get_length(end, "findings") && res->n_findings < STAGE_COUNT;
	     i++)
		reread_finding(json_get_item(end, "findings", i), &res->finding[res->n_findings++]);
}
