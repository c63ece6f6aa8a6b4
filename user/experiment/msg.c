// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/msg.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "drops/stagemap.h"
#include "ledger/ledger.h"
#include "stamp.h"

struct json_object *msg_make(const char *type, const struct record_field *rows, const void *from)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "type", type);
	record_put(o, rows, from);
	return o;
}

const char *msg_type(struct json_object *msg)
{
	return json_get_text(msg, "type");
}

int msg_take_cause(struct json_object *msg, struct ledger_cause *c)
{
	memset(c, 0, sizeof(*c));
	if (record_read(msg, msg_cause, c) || !c->raw.index)
		return -EBADMSG;
	c->verdict.class = CLASS_LOSS;
	c->verdict.stage = c->named.stage;
	return 0;
}

bool msg_plan_valid(const struct peer_plan *plan)
{
	const struct run_spec *spec = &plan->spec;

	if (!outcomes_numbers_valid(&plan->numbers) || !spec->flows || !spec->count || !spec->port)
		return false;
	return !spec->reverse ||
	       (spec->payload >= STAMP_LEN &&
		(!spec->shaped || shape_valid(&spec->shape, plan->numbers.streams)));
}

/* Members of all messages, one table per message. */

#define READER_MOST_NS	60000000000 /* ns, longest pause that a simulated slow reader makes */
#define PROFILE_DOUBLES (3 * PROFILE_PARTS)

_Static_assert(sizeof(struct profile_part) == 3 * sizeof(double), "sent as a list of them");

const struct record_field msg_hello[] = {
	RECORD("protocol", UINT, peer_hello, protocol),
	RECORD("version", TEXT, peer_hello, version),
	RECORD("host", TEXT, peer_hello, host),
	{0},
};

const struct record_field msg_welcome[] = {
	RECORD("port", UINT, peer_welcome, port),
	RECORD("max_pps", DOUBLE, peer_welcome, max_pps),
	{0},
};

const struct record_field msg_probe[] = {
	RECORD("port", UINT, peer_probe, port),
	RECORD("ipv6", BOOL, peer_probe, ipv6),
	RECORD("mark", UINT, peer_probe, mark),
	{0},
};

const struct record_field msg_seen[] = {RECORD("address", TEXT, peer_seen, address), {0}};

const struct record_field msg_plan[] = {
	RECORD("reverse", BOOL, peer_plan, spec.reverse),
	RECORD("engine", TEXT, peer_plan, engine),
	RECORD("ipv6", BOOL, peer_plan, spec.ipv6),
	RECORD("port", UINT, peer_plan, spec.port, .max = UINT16_MAX),
	RECORD("base", UINT, peer_plan, numbers.base),
	RECORD("window", UINT, peer_plan, numbers.window),
	RECORD("stream", UINT, peer_plan, numbers.stream0),
	RECORD("streams", UINT, peer_plan, numbers.streams, .max = TRACE_STREAMS),
	RECORD("count", UINT, peer_plan, spec.count),
	RECORD("duration_ns", UINT, peer_plan, spec.duration_ns),
	RECORD("settle_ns", UINT, peer_plan, spec.settle_ns),
	RECORD("rate_pps", DOUBLE, peer_plan, spec.rate_pps),
	RECORD("payload", UINT, peer_plan, spec.payload, .max = 65507),
	RECORD("flows", UINT, peer_plan, spec.flows, .max = 25000),
	RECORD("sndbuf", UINT, peer_plan, spec.sndbuf, .max = PEER_BUFFER_MAX),
	RECORD("rcvbuf", UINT, peer_plan, spec.rcvbuf, .max = PEER_BUFFER_MAX),
	RECORD("no_wait", BOOL, peer_plan, spec.tuning.send.no_wait),
	RECORD("gso", BOOL, peer_plan, spec.tuning.send.gso),
	RECORD("unconnected", BOOL, peer_plan, spec.tuning.send.unconnected),
	RECORD("gro", BOOL, peer_plan, spec.tuning.receive.gro),
	RECORD("pass", BOOL, peer_plan, spec.pass),
	RECORD("per_flow", BOOL, peer_plan, spec.tuning.per_flow),
	RECORD("fragments", BOOL, peer_plan, spec.fragments),
	RECORD("legs", BOOL, peer_plan, spec.legs),
	RECORD("busy_poll_us", UINT, peer_plan, spec.tuning.receive.busy_poll_us, .max = INT32_MAX),
	RECORD("rx_threads", UINT, peer_plan, spec.tuning.rx_threads, .max = RECEIVER_THREADS),
	RECORD("cpu_set", BOOL, peer_plan, wish.cpu_set),
	RECORD("cpu", UINT, peer_plan, wish.cpu, .max = 8191),
	RECORD("rt", UINT, peer_plan, spec.tuning.rt, .max = 99),
	RECORD("nice", INT, peer_plan, spec.tuning.nice),
	RECORD("work_ns", UINT, peer_plan, spec.tuning.reader.work_ns, .max = READER_MOST_NS),
	RECORD("pause_ns", UINT, peer_plan, spec.tuning.reader.pause_ns, .max = READER_MOST_NS),
	RECORD("read_ns", UINT, peer_plan, spec.tuning.reader.read_ns, .max = READER_MOST_NS),
	RECORD("shaped", BOOL, peer_plan, spec.shaped),
	RECORD("vlan", UINT, peer_plan, spec.vlan, .max = 4094),
	RECORD("tos", UINT, peer_plan, spec.tos, .max = 255),
	RECORD("ttl", UINT, peer_plan, spec.ttl, .max = 255),
	RECORD("threads", UINT, peer_plan, spec.shape.threads, .max = TRACE_STREAMS),
	RECORD("seed", UINT, peer_plan, spec.shape.seed),
	RECORD("random", BOOL, peer_plan, spec.shape.random),
	RECORD("frames", BOOL, peer_plan, spec.shape.frames),
	RECORD("n_sizes", UINT, peer_plan, spec.shape.n_payload, .max = SHAPE_SIZES),
	RECORD_LIST("sizes", UINT, peer_plan, spec.shape.sizes),
	RECORD("src_port", UINT, peer_plan, spec.shape.src_port.first),
	RECORD("src_ports", UINT, peer_plan, spec.shape.src_port.n, .max = 65535),
	RECORD("tuples", UINT, peer_plan, spec.shape.flows, .max = 65535),
	RECORD("burst", UINT, peer_plan, spec.shape.burst, .max = SHAPE_BURST_MAX),
	RECORD("scheduled", BOOL, peer_plan, spec.shape.scheduled),
	RECORD("repeat", BOOL, peer_plan, spec.shape.profile.repeat),
	RECORD("parts", UINT, peer_plan, spec.shape.profile.parts, .max = PROFILE_PARTS),
	{.key = "part",
	 .type = RECORD_DOUBLE,
	 .offset = offsetof(struct peer_plan, spec.shape.profile.part),
	 .size = sizeof(double),
	 .items = PROFILE_DOUBLES},
	{0},
};

const struct record_field msg_ready[] = {
	RECORD("mode", TEXT, peer_ready, mode),
	RECORD("place", TEXT, peer_ready, place),
	RECORD("rcvbuf", UINT, peer_ready, settings.rcvbuf),
	RECORD("rmem_max", UINT, peer_ready, settings.rmem_max),
	RECORD_LIST("udp_mem", UINT, peer_ready, settings.udp_mem),
	RECORD("netdev_max_backlog", UINT, peer_ready, settings.netdev_max_backlog),
	{0},
};

const struct record_field msg_status[] = {
	RECORD("running", BOOL, site_status, running),
	RECORD("idle", BOOL, site_status, idle),
	RECORD("caught_up", BOOL, site_status, caught_up),
	RECORD("delivered", UINT, site_status, delivered),
	RECORD("dropped", UINT, site_status, dropped),
	RECORD("in_queues", UINT, site_status, in_queues),
	RECORD_LIST("next", UINT, site_status, next),
	{0},
};

const struct record_field msg_upto[] = {RECORD_LIST("upto", UINT, peer_upto, upto), {0}};

const struct record_field msg_outcomes[] = {
	RECORD("slot", UINT, runs, slot),
	RECORD("first", UINT, runs, first, .max = 1ULL << 44),
	RECORD_LIST("kinds", UINT, runs, kind, RECORD_COUNT(runs, kinds)),
	RECORD("runs", TEXT, runs, text),
	{0},
};

const struct record_field msg_time[] = {RECORD("tai_ns", UINT, peer_time, tai_ns), {0}};

const struct record_field msg_error[] = {
	RECORD("status", UINT, error, status, .max = STATUS_UNABLE),
	RECORD("message", TEXT, error, message),
	RECORD("hint", TEXT, error, hint),
	{0},
};

static const struct record_field msg_counter[] = {
	RECORD_ALSO(result_counter_rows),
	RECORD("stage", ENUM, result_counter, stage, RECORD_NAMES(stage_names), .how = RECORD_OPEN,
	       .unknown = STAGE_OTHER),
	{0},
};

const struct record_field msg_end[] = {
	RECORD_ALSO(result_receiving_rows),
	RECORD_ALSO(result_calls_rows),
	RECORD_ALSO(result_pace_rows),
	RECORD_ALSO(result_fragments_rows),
	RECORD("late", UINT, result, late),
	RECORD("impossible", UINT, result, impossible),
	RECORD("replies", UINT, result, replies),
	RECORD("missed", NESTED, result, losses, .rows = result_losses_rows),
	RECORD("reordered", UINT, result, arrivals.order.packets),
	RECORD("extent_max", UINT, result, arrivals.order.extent_max),
	RECORD_LIST("extent", UINT, result, arrivals.order.extent),
	RECORD("extent_unknown", UINT, result, arrivals.order.extent_unknown),
	RECORD("latency_ns", NESTED, result, arrivals.latency, .rows = result_latency_rows,
	       RECORD_WHEN(result, arrivals.latency.measured)),
	RECORD_LIST("delay", UINT, result, arrivals.delay),
	RECORD_LIST("legs", NESTED, result, arrivals.leg, .rows = result_leg_rows,
		    RECORD_COUNT(result, arrivals.legs)),
	RECORD("timestamps", NESTED, result, arrivals.stamps, .rows = result_stamps_rows,
	       RECORD_WHEN(result, arrivals.stamps.asked)),
	RECORD("jitter_ns", UINT, result, arrivals.jitter_ns),
	RECORD("negative", UINT, result, arrivals.negative),
	RECORD_LIST("flows", NESTED, result, arrivals.flow, .rows = arrivals_flow_rows,
		    RECORD_COUNT(result, arrivals.flows)),
	RECORD("flows_more", UINT, result, arrivals.flows_more),
	RECORD_LIST("counters", NESTED, result, counter, .rows = msg_counter,
		    RECORD_COUNT(result, n_counters)),
	{0},
};

const struct record_field msg_cause[] = {
	RECORD("stage", ENUM, ledger_cause, named.stage, RECORD_NAMES(stage_names),
	       .how = RECORD_OPEN, .unknown = STAGE_OTHER),
	RECORD_FROM(ledger_cause, named, result_place_rows),
	RECORD("id", UINT, ledger_cause, raw.index, .max = TRACE_CAUSES - 1),
	RECORD("events", UINT, ledger_cause, raw.count.events),
	RECORD("packets", UINT, ledger_cause, raw.count.packets),
	RECORD("bytes", UINT, ledger_cause, raw.count.bytes),
	RECORD("memory", UINT, ledger_cause, raw.count.memory),
	{0},
};

/* There may be a million runs in a second: printf() and strtoull() take five times as long. */

int runs_put(struct runs *r, const struct range *run)
{
	const uint16_t kind = (uint16_t)(run->detail << 8 | run->outcome);
	unsigned k = 0, shift = 60;

	if (r->used && (run->stream != r->slot || run->first != r->next))
		return -ENOSPC;
	if (!r->used) {
		r->slot = run->stream;
		r->first = run->first;
		r->kinds = 0;
	}
	while (k < r->kinds && r->kind[k] != kind)
		k++;
	if (k == RUNS_KINDS || sizeof(r->text) - r->used < RUN_TEXT)
		return -ENOSPC;
	r->kind[k] = kind;
	r->kinds = k == r->kinds ? k + 1 : r->kinds;
	while (shift && !(range_packets(run) >> shift))
		shift -= 4;
	for (unsigned digits = shift / 4 + 1; digits--; shift -= 4)
		r->text[r->used++] = "0123456789abcdef"[range_packets(run) >> shift & 15];
	r->text[r->used++] = (char)('g' + k);
	r->text[r->used] = '\0';
	r->next = run->last + 1;
	return 0;
}

bool runs_next(const struct runs *r, const char **at, struct range *run)
{
	uint64_t n = 0;
	unsigned kind;
	char c;

	for (; (c = **at) && c < 'g'; ++*at)
		n = n << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	kind = (unsigned)(c - 'g');
	if (kind >= r->kinds)
		return false;
	++*at;
	run->outcome = (enum outcome)(r->kind[kind] & UINT8_MAX);
	run->detail = (uint16_t)(r->kind[kind] >> 8);
	run->first = run->last + 1;
	run->last += n;
	return true;
}
