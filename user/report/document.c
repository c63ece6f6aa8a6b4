// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/document.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "diagnosis/findings.h"
#include "drops/stagemap.h"
#include "ledger/ledger.h"
#include "report/series.h"
#include "report/trace.h"
#include "traffic/tx.h"

/* Loss: the stage, its causes, and the counters that should include it. */

static const char *const sources[] = {"event", "counter", "difference"};

struct stage_sums {
	enum stage stage;
	struct result_stage sums;
};

static const struct record_field cause_rows[] = {
	RECORD_ALSO(result_place_rows),
	RECORD("stream", UINT, result_cause, stream),
	RECORD("packets", UINT, result_cause, packets),
	RECORD("first", UINT, result_cause, first),
	RECORD("last", UINT, result_cause, last),
	RECORD("note", POINTER, result_cause, note),
	{0},
};

static const struct record_field counter_rows[] = {
	RECORD_ALSO(result_counter_rows),
	RECORD("note", POINTER, result_counter, note),
	{0},
};

static const struct record_field sums_rows[] = {
	RECORD("stage", ENUM, stage_sums, stage, RECORD_NAMES(stage_names),
	       .how = RECORD_OPEN, .unknown = STAGE_NONE),
	RECORD("packets", UINT, stage_sums, sums.packets),
	RECORD("bytes", UINT, stage_sums, sums.bytes),
	RECORD("events", UINT, stage_sums, sums.events),
	RECORD("source", WORD, stage_sums, sums.source, RECORD_NAMES(sources)),
	RECORD("scope", WORD, stage_sums, sums.scope, RECORD_NAMES(counter_scope_names)),
	{0},
};

void json_read_cause(const struct json_object *from, struct result_cause *c)
{
	record_read(from, cause_rows, c);
}

static struct json_object *write_stages(const void *at)
{
	struct json_object *list = json_object_new_array();
	const struct result *res = at;

	for (int s = 0; s < STAGE_COUNT; s++) {
		const struct stage_sums of = {s, res->stage[s]};
		struct json_object *o, *causes, *counters;

		if (!of.sums.packets && !result_disagrees(res, s))
			continue;
		o = record_write(sums_rows, &of);
		json_object_array_add(list, o);
		causes = json_put_list(o, "causes");
		counters = json_put_list(o, "counters");
		for (unsigned i = 0; i < res->n_causes; i++) {
			if (res->cause[i].stage == of.stage)
				json_object_array_add(causes,
						      record_write(cause_rows, &res->cause[i]));
		}
		for (unsigned i = 0; i < res->n_counters; i++) {
			if (res->counter[i].stage == of.stage)
				json_object_array_add(counters,
						      record_write(counter_rows, &res->counter[i]));
		}
	}
	return list;
}

static size_t list_length(const struct json_object *o)
{
	return json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
}

static void read_stages(struct json_object *list, void *to)
{
	struct result *res = to;

	memset(res->stage, 0, sizeof(res->stage));
	res->n_causes = res->n_counters = 0;
	for (size_t i = 0; i < list_length(list); i++) {
		struct json_object *o = json_object_array_get_idx(list, i);
		struct stage_sums of;

		record_read(o, sums_rows, &of);
		if (of.stage == STAGE_NONE)
			continue;
		res->stage[of.stage] = of.sums;
		for (struct json_each c = json_each(o, "causes");
		     json_next(&c) && res->n_causes < RESULT_CAUSES;) {
			json_read_cause(c.item, &res->cause[res->n_causes]);
			res->cause[res->n_causes++].stage = of.stage;
		}
		for (struct json_each c = json_each(o, "counters");
		     json_next(&c) && res->n_counters < RESULT_COUNTERS;) {
			record_read(c.item, counter_rows, &res->counter[res->n_counters]);
			res->counter[res->n_counters++].stage = of.stage;
		}
	}
}

static struct json_object *write_facts(const void *at)
{
	const struct finding *f = at;

	return *f->facts ? json_parse(f->facts, strlen(f->facts), 3) : json_object_new_object();
}

static void read_facts(struct json_object *o, void *to)
{
	struct finding *f = to;
	const char *text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN) : "";

	*f->facts = '\0';
	if (strlen(text) < sizeof(f->facts))
		snprintf(f->facts, sizeof(f->facts), "%s", text);
}

const struct record_field advice_rows[] = {
	RECORD("id", POINTER, finding, id, .how = RECORD_FULL),
	RECORD("stage", ENUM, finding, stage, RECORD_NAMES(stage_names), .how = RECORD_OPEN,
	       .unknown = STAGE_NONE),
	RECORD("severity", ENUM, finding, severity, RECORD_NAMES(severity_names),
	       .how = RECORD_FULL),
	RECORD("cause", TEXT, finding, cause, .how = RECORD_FULL),
	RECORD_BY("facts", write_facts, read_facts),
	RECORD("fix", TEXT, finding, fix),
	RECORD("command", TEXT, finding, command),
	RECORD("undo", TEXT, finding, undo),
	RECORD("risk", TEXT, finding, risk),
	RECORD("applies", TEXT, finding, applies),
	RECORD("host", TEXT, finding, host, .how = RECORD_OMITTED),
	RECORD("netns", TEXT, finding, netns, .how = RECORD_OMITTED),
	{0},
};

struct json_object *json_finding(const struct finding *f)
{
	return record_write(advice_rows, f);
}

/* Order and timing, as measured by the receiver. */

/* Returns the non-empty buckets of a time histogram, by powers of two or quarters of a power. */
static struct json_object *buckets(const uint64_t *count, unsigned n, bool quarters,
				   const char *what)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < n; i++) {
		struct json_object *o = count[i] ? json_add_object(list) : NULL;

		if (!o)
			continue;
		json_put_u64(o, quarters ? "from_ns" : "from",
			     quarters ? hist_quarter_from(i) : arrivals_bucket_from(i));
		json_put_u64(o, quarters ? "to_ns" : "to",
			     quarters ? hist_quarter_to(i) : arrivals_bucket_to(i));
		json_put_u64(o, what, count[i]);
	}
	return list;
}

struct json_object *json_quarters(const uint64_t count[HIST_QUARTERS])
{
	return buckets(count, HIST_QUARTERS, true, "packets");
}

static struct json_object *write_extent(const void *at)
{
	return buckets(((const struct arrivals *)at)->order.extent, ARRIVALS_BUCKETS, false,
		       "packets");
}

static struct json_object *write_lengths(const void *at)
{
	return buckets(((const struct arrivals *)at)->gaps.length, ARRIVALS_BUCKETS, false,
		       "bursts");
}

static struct json_object *write_histogram(const void *at)
{
	const struct arrivals *a = at;

	return a->latency.measured ? json_quarters(a->delay) : NULL;
}

static struct json_object *write_clock(const void *at)
{
	(void)at;
	return json_text(ARRIVALS_CLOCK);
}

static struct json_object *write_plausible(const void *at)
{
	return json_object_new_boolean(!arrivals_clock_doubt(at));
}

static struct json_object *write_doubt(const void *at)
{
	return json_text(arrivals_clock_doubt(at));
}

static const struct record_field reordering_rows[] = {
	RECORD("packets", UINT, arrivals, order.packets),
	RECORD("extent_max", UINT, arrivals, order.extent_max),
	RECORD_BY("extent", write_extent, NULL),
	RECORD("extent_unknown", UINT, arrivals, order.extent_unknown),
	{0},
};

static const struct record_field gaps_rows[] = {
	RECORD("bursts", UINT, arrivals, gaps.count),
	RECORD("packets", UINT, arrivals, gaps.packets),
	RECORD("longest", UINT, arrivals, gaps.longest),
	RECORD_BY("length", write_lengths, NULL),
	{0},
};

static const struct record_field clock_rows[] = {
	RECORD_BY("name", write_clock, NULL),
	RECORD("negative", UINT, arrivals, negative),
	RECORD_BY("plausible", write_plausible, NULL),
	RECORD_BY("doubt", write_doubt, NULL),
	{0},
};

static const struct record_field arrivals_rows[] = {
	RECORD("reordered", UINT, arrivals, order.packets),
	RECORD_PART("reordering", reordering_rows),
	RECORD_PART("loss_bursts", gaps_rows),
	RECORD("latency_ns", NESTED, arrivals, latency, .rows = result_latency_rows,
	       RECORD_WHEN(arrivals, latency.measured)),
	RECORD_BY("latency_histogram", write_histogram, NULL),
	RECORD_LIST("latency_breakdown", NESTED, arrivals, leg, .rows = result_leg_rows,
		    RECORD_COUNT(arrivals, legs), .how = RECORD_OMITTED),
	RECORD("timestamps", NESTED, arrivals, stamps, .rows = result_stamps_rows,
	       RECORD_WHEN(arrivals, stamps.asked), .how = RECORD_OMITTED),
	RECORD("jitter_ns", UINT, arrivals, jitter_ns, RECORD_WHEN(arrivals, latency.measured)),
	RECORD_PART("clock", clock_rows),
	RECORD_LIST("flows", NESTED, arrivals, flow, .rows = arrivals_flow_rows,
		    RECORD_COUNT(arrivals, flows)),
	RECORD("flows_more", UINT, arrivals, flows_more),
	{0},
};

/* End of a run, and its parts. */

const char *json_errno(int error)
{
	const char *name = error == TX_ERRNO_LOST ? "unknown" : strerrorname_np(error);
	char *number = fmt_buffer();

	snprintf(number, FMT_MAX, "%d", error);
	return name ? name : number;
}

/* Writes errnos by name, or by number if they have none. */
static struct json_object *write_refused(const void *at)
{
	struct json_object *by = json_object_new_object();
	const struct result *res = at;

	for (unsigned i = 0; i < res->n_refused_by; i++)
		json_put_u64(by, json_errno(res->refused_by[i].error), res->refused_by[i].packets);
	return by;
}

static void read_refused(struct json_object *by, void *to)
{
	struct result *res = to;

	res->n_refused_by = 0;
	if (!json_object_is_type(by, json_type_object))
		return;
	json_object_object_foreach (by, name, packets) {
		int error = 1;

		while (error < TX_ERRNO_LOST && strcmp(json_errno(error), name))
			error++;
		if (res->n_refused_by < RESULT_ERRNOS)
			res->refused_by[res->n_refused_by++] = (struct result_errno){
				error, json_object_get_uint64(packets)};
	}
}

static const char *const bounds[] = {"generator", "interface", "receiver"};

static const struct record_field sending_rows[] = {
	RECORD("attempted", UINT, result, attempted),
	RECORD("refused", UINT, result, refused),
	RECORD_BY("refused_by", write_refused, read_refused),
	RECORD_ALSO(result_calls_rows),
	RECORD("sent", UINT, result, sent),
	RECORD("dropped", UINT, result, dropped),
	RECORD("tx_pps", DOUBLE, result, tx_pps, .how = RECORD_MILLI),
	RECORD_ALSO(result_pace_rows),
	RECORD("bound", WORD, result, bound, RECORD_NAMES(bounds), .how = RECORD_OMITTED),
	{0},
};

static const struct record_field receiving_rows[] = {
	RECORD_ALSO(result_receiving_rows),
	RECORD_FROM(result, arrivals, arrivals_rows),
	{0},
};

static const struct record_field seen_rows[] = {
	RECORD("nowhere", UINT, result, unaccounted_seen[0]),
	RECORD("tx_device", UINT, result, unaccounted_seen[SEEN_TX_DEVICE]),
	RECORD("xdp", UINT, result, unaccounted_seen[SEEN_XDP]),
	RECORD("rx_device", UINT, result, unaccounted_seen[SEEN_RX_DEVICE]),
	RECORD("socket", UINT, result, unaccounted_seen[SEEN_SOCKET]),
	{0},
};

static const struct record_field open_rows[] = {
	RECORD("in_flight", UINT, result, in_flight),
	RECORD("in_flight_where", TEXT, result, in_flight_where),
	RECORD("unaccounted", UINT, result, unaccounted),
	RECORD_PART("unaccounted_last_seen", seen_rows),
	RECORD("impossible", UINT, result, impossible),
	RECORD("balanced", BOOL, result, balanced),
	RECORD("late", UINT, result, late),
	RECORD("replies", UINT, result, replies),
	{0},
};

static const struct record_field tracing_rows[] = {
	RECORD("interrupted", BOOL, result, interrupted),
	RECORD_BY("stages", write_stages, read_stages),
	RECORD("missed", NESTED, result, losses, .rows = result_losses_rows),
	{0},
};

static const struct record_field clocks_rows[] = {
	RECORD("offset_ns", INT, result, clock.offset_ns),
	RECORD("error_ns", UINT, result, clock.error_ns),
	RECORD("shared", BOOL, result, clock.shared),
	{0},
};

static const struct record_field remote_rows[] = {
	RECORD("unknown_since_ns", UINT, result, remote.since_ns),
	RECORD("sent", UINT, result, remote.sent),
	RECORD("delivered", UINT, result, remote.delivered),
	RECORD("dropped", UINT, result, remote.dropped),
	{0},
};

static const struct record_field rest_rows[] = {
	RECORD_PART("host_clocks", clocks_rows, .how = RECORD_OMITTED,
		    RECORD_WHEN(result, two_hosts)),
	RECORD_PART("remote", remote_rows, .how = RECORD_OMITTED, RECORD_WHEN(result, remote.lost)),
	RECORD_ALSO(result_fragments_rows),
	RECORD("settled_ns", UINT, result, settled_ns, .how = RECORD_OMITTED),
	RECORD("memory_bytes", UINT, result, memory_bytes),
	RECORD_LIST("findings", NESTED, result, finding, .rows = advice_rows,
		    RECORD_COUNT(result, n_findings)),
	{0},
};

static const struct record_field end_rows[] = {
	RECORD_ALSO(sending_rows), RECORD_ALSO(receiving_rows), RECORD_ALSO(open_rows),
	RECORD_ALSO(tracing_rows), RECORD_ALSO(rest_rows),	{0},
};

struct json_object *json_end(const struct result *res)
{
	return record_write(end_rows, res);
}

void json_read_end(const struct json_object *end, struct result *res)
{
	record_read(end, end_rows, res);
}

/* Start of a run. */

static void fill_port(struct header_port *out, const char *role, const struct lab_port *port,
		      bool ipv6)
{
	out->role = role;
	snprintf(out->ifname, sizeof(out->ifname), "%s", port->ifname);
	inet_ntop(ipv6 ? AF_INET6 : AF_INET, ipv6 ? (const void *)&port->ip6 : &port->ip4,
		  out->address, sizeof(out->address));
}

static void fill_shape(struct run_header *h, const struct run_spec *spec)
{
	const struct flow flow = {.family = spec->ipv6 ? AF_INET6 : AF_INET,
				  .payload = spec->payload,
				  .vlan = (uint16_t)spec->vlan};
	struct shape_sizes sizes;

	if (!spec->shaped || !spec->shape.frames)
		return;
	shape_sizes(&spec->shape, &flow, &sizes);
	if (sizes.smallest != sizes.largest)
		h->mean_frame_bytes = sizes.mean_frame;
	h->flows = spec->shape.flows > UINT32_MAX ? UINT32_MAX : (unsigned)spec->shape.flows;
}

/* Fills the result. `streams` may be NULL. */
static void fill_result(struct run_header *h, const struct result *so_far,
			const struct outcomes_numbers *streams)
{
	if (streams) {
		h->stream0 = streams->stream0;
		h->streams = streams->streams;
		h->base = streams->base;
	}
	h->rate_pps = so_far->rate_pps;
	h->payload_bytes = so_far->payload_bytes;
	h->frame_bytes = so_far->frame_bytes;
	snprintf(h->tx_mode, sizeof(h->tx_mode), "%s", so_far->tx_mode);
	snprintf(h->rx_mode, sizeof(h->rx_mode), "%s", so_far->rx_mode);
	h->two_hosts = so_far->two_hosts;
	h->tx_host = so_far->tx_host;
	h->rx_host = so_far->rx_host;
}

void run_header_fill(struct run_header *h, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct outcomes_numbers *streams)
{
	*h = (struct run_header){
		.in_lab = !spec->port_a && !spec->far,
		.topology = lab->topology,
		.tx = spec->tx->name,
		.rx = spec->rx->name,
		.port = (uint16_t)spec->port,
		.threads = spec->threads,
		.flows = spec->flows,
		.count = spec->count,
		.duration_ns = spec->duration_ns,
	};
	fill_result(h, so_far, streams);
	fill_shape(h, spec);
	h->time_ns = when_now();
	gethostname(h->host, sizeof(h->host) - 1);
	snprintf(h->lab, sizeof(h->lab), "%s", lab->name);
	fill_port(&h->tx_port, "tx", &lab->tx, spec->ipv6);
	fill_port(&h->rx_port, "rx", &lab->rx, spec->ipv6);
}

/* In the same order as lab_topologies. */
static const char *const topologies[] = {
	[LAB_PAIR] = "pair", [LAB_ROUTER] = "router", [LAB_BRIDGE] = "bridge",
	[LAB_TAP] = "tap",   [LAB_VXLAN] = "vxlan",
};

static const struct record_field origin_rows[] = {
	RECORD("time", TIME, run_header, time_ns, .how = RECORD_FULL),
	RECORD("host", TEXT, run_header, host),
	{0},
};

static const struct record_field lab_rows[] = {
	RECORD("name", TEXT, run_header, lab),
	RECORD("topology", ENUM, run_header, topology, RECORD_NAMES(topologies),
	       .how = RECORD_FULL),
	{0},
};

static const struct record_field mode_rows[] = {
	RECORD("tx", TEXT, run_header, tx_mode),
	RECORD("rx", TEXT, run_header, rx_mode),
	{0},
};

static const struct record_field port_rows[] = {
	RECORD("netns", POINTER, header_port, role),
	RECORD("ifname", TEXT, header_port, ifname),
	RECORD("address", TEXT, header_port, address),
	{0},
};

static const struct record_field rx_port_rows[] = {
	RECORD("netns", POINTER, run_header, rx_port.role),
	RECORD("ifname", TEXT, run_header, rx_port.ifname),
	RECORD("address", TEXT, run_header, rx_port.address),
	RECORD("port", UINT, run_header, port),
	{0},
};

/* Hosts and the position of each host's probe. The wire is the path between the two probes. */
static const struct record_field host_rows[] = {
	RECORD("name", TEXT, result_host, name),
	RECORD("probe", TEXT, result_host, place),
	{0},
};

static const struct record_field hosts_rows[] = {
	RECORD("tx", NESTED, run_header, tx_host, .rows = host_rows),
	RECORD("rx", NESTED, run_header, rx_host, .rows = host_rows),
	{0},
};

static const struct record_field repeat_rows[] = {
	RECORD("trial", UINT, run_header, trial),
	RECORD("of", UINT, run_header, trials),
	{0},
};

static struct json_object *write_streams(const void *at)
{
	struct json_object *list = json_object_new_array();
	const struct run_header *h = at;

	for (unsigned i = 0; i < h->streams; i++) {
		struct json_object *o = json_add_object(list);

		json_put_u64(o, "stream", (uint16_t)(h->stream0 + i));
		json_put_u64(o, "base", h->base);
		json_put(o, "count", NULL); /* until the duration ends */
		if (h->count != UINT64_MAX)
			json_put_u64(o, "count",
				     h->count / h->streams + (i < h->count % h->streams));
	}
	return list;
}

static void read_streams(struct json_object *list, void *to)
{
	((struct run_header *)to)->streams = (uint16_t)list_length(list);
}

static const struct record_field start_rows[] = {
	RECORD_PART("lab", lab_rows, RECORD_WHEN(run_header, in_lab)),
	RECORD("tx", POINTER, run_header, tx),
	RECORD("rx", POINTER, run_header, rx),
	RECORD_PART("granted_mode", mode_rows),
	RECORD("tx_port", NESTED, run_header, tx_port, .rows = port_rows),
	RECORD_PART("rx_port", rx_port_rows),
	RECORD_PART("hosts", hosts_rows, .how = RECORD_OMITTED, RECORD_WHEN(run_header, two_hosts)),
	RECORD("peer_env", JSON, run_header, far_env, .how = RECORD_OMITTED),
	RECORD_BY("streams", write_streams, read_streams),
	RECORD("flows", UINT, run_header, flows),
	RECORD("frame_bytes", UINT, run_header, frame_bytes),
	RECORD("payload_bytes", UINT, run_header, payload_bytes),
	RECORD("mean_frame_bytes", DOUBLE, run_header, mean_frame_bytes,
	       .how = RECORD_OMITTED | RECORD_MILLI),
	RECORD("rate_pps", DOUBLE, run_header, rate_pps, .how = RECORD_NULL | RECORD_MILLI),
	RECORD("duration_ns", UINT, run_header, duration_ns, .how = RECORD_NULL),
	RECORD("faults", POINTER, run_header, faults),
	{0},
};

static struct json_object *command_array(int argc, char *const *argv)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; argv && i < argc; i++)
		json_object_array_add(list,
				      *argv[i] ? json_text(argv[i]) : json_object_new_string(""));
	return list;
}

struct json_object *json_start(const struct run_header *h, struct json_object *env)
{
	struct json_object *o = record_write(origin_rows, h);

	if (env)
		json_put(o, "env", env);
	json_put(o, "command", command_array(h->argc, h->argv));
	record_put(o, start_rows, h);
	if (h->trials)
		json_put(o, "repeat", record_write(repeat_rows, h));
	return o;
}

void json_read_start(const struct json_object *start, struct run_header *h)
{
	record_read(start, start_rows, h);
}

/* Intervals, limits and errors. */

static struct json_object *write_sums(const void *at)
{
	struct json_object *list = json_object_new_array();
	const struct experiment_interval *now = at;

	for (int s = 0; s < STAGE_COUNT; s++) {
		const struct stage_sums of = {s,
					      {.packets = now->stage[s].packets,
					       .events = now->stage[s].packets,
					       .bytes = now->stage[s].bytes,
					       .source = "event",
					       .scope = "flow"}};

		if (now->stage[s].events)
			json_object_array_add(list, record_write(sums_rows, &of));
	}
	return list;
}

static const struct record_field interval_rows[] = {
	RECORD("time_ns", UINT, experiment_interval, time_ns),
	RECORD("sent", UINT, experiment_interval, sent),
	RECORD("delivered", UINT, experiment_interval, delivered),
	RECORD("dropped", UINT, experiment_interval, dropped),
	RECORD("tx_cpu_ns", UINT, experiment_interval, tx_cpu_ns),
	RECORD("rx_cpu_ns", UINT, experiment_interval, rx_cpu_ns),
	RECORD("memory_bytes", UINT, experiment_interval, memory_bytes),
	RECORD_BY("stages", write_sums, NULL),
	RECORD("settling", BOOL, experiment_interval, settling),
	{0},
};

struct json_object *json_interval(const struct experiment_interval *now)
{
	return record_write(interval_rows, now);
}

struct crossed { /* Limit that was exceeded. */
	const char *text, *name, *unit;
	double value, measured;
	bool broken;
};

static const struct record_field limit_rows[] = {
	RECORD("limit", POINTER, crossed, text),
	RECORD("name", POINTER, crossed, name),
	RECORD("unit", POINTER, crossed, unit),
	RECORD("value", DOUBLE, crossed, value),
	RECORD("measured", DOUBLE, crossed, measured),
	RECORD("broken", BOOL, crossed, broken),
	{0},
};

struct json_object *json_limit(const struct limit *limit, double measured, bool broken)
{
	static const char *const units[] = {
		[LIMIT_PACKETS] = "packets", [LIMIT_SHARE] = "fraction", [LIMIT_PER_SECOND] = "pps"};
	const struct crossed of = {
		.text = num_text_limit(limit),
		.name = limit->stage == STAGE_NONE ? "loss" : stage_name(limit->stage),
		.unit = units[limit->unit],
		.value = limit->value,
		.measured = measured,
		.broken = broken,
	};

	return record_write(limit_rows, &of);
}

/* Single end: send, recv. */

struct json_object *json_origin(int argc, char *const *argv, struct json_object *env)
{
	struct run_header h = {.time_ns = when_now()};
	struct json_object *o;

	gethostname(h.host, sizeof(h.host) - 1);
	o = record_write(origin_rows, &h);
	json_put(o, "command", command_array(argc, argv));
	json_put(o, "env", env);
	return o;
}

static const struct record_field tx_mode_rows[] = {RECORD("tx", TEXT, run_header, tx_mode), {0}};

static const struct record_field send_rows[] = {
	RECORD("tx", POINTER, run_header, tx),
	RECORD_OTHER("to", NULL),
	RECORD_PART("granted_mode", tx_mode_rows),
	RECORD_BY("streams", write_streams, read_streams),
	RECORD("probe", TEXT, run_header, tx_host.place),
	RECORD("frame_bytes", UINT, run_header, frame_bytes),
	RECORD("payload_bytes", UINT, run_header, payload_bytes),
	RECORD("rate_pps", DOUBLE, run_header, rate_pps, .how = RECORD_NULL),
	{0},
};

static const struct record_field recv_rows[] = {
	RECORD("rx", POINTER, run_header, rx),
	RECORD_PART("granted_mode", &mode_rows[1]),
	RECORD("port", UINT, run_header, port),
	RECORD("probe", TEXT, run_header, rx_host.place),
	{0},
};

/*
 * "tai_ns" is the clock used for the times in packets, so events at the two ends can be compared.
 */

struct json_object *json_send_start(int argc, char *const *argv, struct json_object *env,
				    const struct run_spec *spec, const struct result *res,
				    const struct outcomes_numbers *streams)
{
	struct json_object *o = json_origin(argc, argv, env);
	struct run_header h = {.tx = spec->tx->name, .count = spec->count};

	fill_result(&h, res, streams);
	json_put_u64(o, "tai_ns", pace_tai());
	record_put(o, send_rows, &h);
	json_put_text(o, "to", num_text_endpoint(&spec->to));
	return o;
}

static const struct record_field send_end_rows[] = {
	RECORD_ALSO(sending_rows), RECORD_ALSO(tracing_rows), {0}};

struct json_object *json_send_end(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "tai_ns", pace_tai());
	record_put(o, send_end_rows, res);
	return o;
}

struct json_object *json_recv_start(int argc, char *const *argv, struct json_object *env,
				    const char *rx, uint16_t port, const struct result *res)
{
	struct json_object *o = json_origin(argc, argv, env);
	struct run_header h = {.rx = rx, .port = port};

	fill_result(&h, res, NULL);
	json_put_u64(o, "tai_ns", pace_tai());
	record_put(o, recv_rows, &h);
	return o;
}

static const struct record_field recv_stream_rows[] = {
	RECORD("stream", UINT, recv_stream, stream),
	RECORD("base", UINT, recv_stream, base),
	RECORD("delivered", UINT, recv_stream, delivered),
	RECORD("highest", UINT, recv_stream, highest),
	RECORD("first", UINT, recv_stream, first),
	RECORD("fastest_ns", INT, recv_stream, fastest_ns, RECORD_WHEN(recv_stream, timed)),
	RECORD("sent", UINT, recv_stream, sent, RECORD_WHEN(recv_stream, ended)),
	RECORD("refused", UINT, recv_stream, refused, RECORD_WHEN(recv_stream, ended)),
	{0},
};

static const struct record_field recv_end_rows[] = {
	RECORD("received", UINT, recv_result, received),
	RECORD_FROM(recv_result, res, receiving_rows),
	RECORD("late", UINT, recv_result, res.late),
	RECORD("lost", UINT, recv_result, lost),
	RECORD("lost_tail", UINT, recv_result, lost_tail, RECORD_WHEN(recv_result, tail_known)),
	RECORD("duration_ns", UINT, recv_result, res.duration_ns),
	RECORD_LIST("streams", NESTED, recv_result, stream, .rows = recv_stream_rows,
		    RECORD_COUNT(recv_result, streams)),
	RECORD("streams_more", UINT, recv_result, streams_more, .how = RECORD_OMITTED),
	RECORD_FROM(recv_result, res, tracing_rows),
	{0},
};

struct json_object *json_recv_end(const struct recv_result *r)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "tai_ns", pace_tai());
	record_put(o, recv_end_rows, r);
	return o;
}

void json_read_recv_end(const struct json_object *end, struct recv_result *r)
{
	record_read(end, recv_end_rows, r);
}

/* Search results. */

static const char *const phases[] = {"warm-up", "search", "mrr"};
const char *const found_goals[FOUND_GOALS] = {"ndr", "pdr"};
static const char *const limits[] = {
	[FOUND_LIMIT_NONE] = NULL,
	[FOUND_LIMIT_PATH] = "path",
	[FOUND_LIMIT_GENERATOR] = "generator",
	[FOUND_LIMIT_QUEUE] = "send_queue",
};

static const struct record_field parameters_rows[] = {
	RECORD("phase", WORD, found_trial, phase, RECORD_NAMES(phases), .how = RECORD_FULL),
	RECORD("rate_pps", DOUBLE, found_trial, rate_pps, .how = RECORD_NULL | RECORD_MILLI),
	RECORD("duration_ns", UINT, found_trial, time_ns),
	{0},
};

static const struct record_field found_trial_rows[] = {
	RECORD_PART("parameters", parameters_rows),
	RECORD("intended", UINT, found_trial, intended),
	RECORD("unsent", UINT, found_trial, unsent),
	RECORD("held_back", BOOL, found_trial, held_back),
	RECORD("loss_fraction", DOUBLE, found_trial, loss_share),
	{0},
};

static const struct record_field rate_rows[] = {
	RECORD("lower_pps", DOUBLE, found_rate, lower_pps, .how = RECORD_MILLI,
	       RECORD_WHEN(found_rate, has_lower)),
	RECORD("upper_pps", DOUBLE, found_rate, upper_pps, .how = RECORD_MILLI,
	       RECORD_WHEN(found_rate, has_upper)),
	RECORD("stage", ENUM, found_rate, stage, RECORD_NAMES(stage_names), .how = RECORD_OPEN,
	       .unknown = STAGE_NONE),
	RECORD("limited_by", ENUM, found_rate, limit, RECORD_NAMES(limits)),
	RECORD("loss_ratio", DOUBLE, found_rate, loss_ratio),
	RECORD("throughput_pps", DOUBLE, found_rate, throughput_pps,
	       .how = RECORD_NULL | RECORD_MILLI),
	RECORD("done", BOOL, found_rate, done),
	RECORD("trials_below", UINT, found_rate, below),
	RECORD("lost_below", UINT, found_rate, lost_below),
	{0},
};

static const struct record_field found_rows[] = {
	RECORD_OTHER("ndr", rate_rows),
	RECORD_OTHER("pdr", rate_rows),
	RECORD("mrr", NESTED, found, mrr, .rows = rate_rows, RECORD_WHEN(found, mrr.has_upper)),
	RECORD("generator_pps", DOUBLE, found, generator_pps, .how = RECORD_NULL | RECORD_MILLI),
	RECORD("generator_low_pps", DOUBLE, found, generator_low,
	       .how = RECORD_NULL | RECORD_MILLI),
	RECORD("generator_limited", BOOL, found, generator_limited),
	RECORD("held_back", BOOL, found, held_back),
	RECORD("min_rate_pps", DOUBLE, found, min_pps, .how = RECORD_NULL | RECORD_MILLI),
	RECORD("max_rate_pps", DOUBLE, found, max_pps, .how = RECORD_NULL | RECORD_MILLI),
	RECORD("frame_bytes", UINT, found, frame_bytes),
	RECORD("payload_bytes", UINT, found, payload_bytes),
	RECORD("trials", UINT, found, trials),
	RECORD("duration_ns", UINT, found, time_ns),
	RECORD("interrupted", BOOL, found, interrupted),
	RECORD("out_of_time", BOOL, found, out_of_time),
	RECORD("out_of_trials", BOOL, found, out_of_trials),
	RECORD("late_trials", UINT, found, late),
	RECORD("noise", BOOL, found, noise),
	RECORD("lost_from_pps", DOUBLE, found, lost_from_pps, .how = RECORD_MILLI,
	       RECORD_WHEN(found, noise)),
	RECORD("held_to_pps", DOUBLE, found, held_to_pps, .how = RECORD_MILLI,
	       RECORD_WHEN(found, noise)),
	{0},
};

struct json_object *json_found_trial(const struct found_trial *t)
{
	return record_write(found_trial_rows, t);
}

struct json_object *json_found(const struct found *f)
{
	struct json_object *o = record_write(found_rows, f);

	for (unsigned i = 0; i < f->goals; i++)
		json_put(o, f->goal[i].name, record_write(rate_rows, &f->goal[i]));
	return o;
}

void json_read_found_trial(const struct json_object *trial, struct found_trial *t)
{
	*t = (struct found_trial){};
	record_read(trial, found_trial_rows, t);
	t->loss_share = lost_fraction(trial);
	rows_add_stages(t->dropped, trial);
}

void json_read_found(const struct json_object *end, struct found *f)
{
	*f = (struct found){};
	record_read(end, found_rows, f);
	for (unsigned i = 0; i < FOUND_GOALS; i++) {
		const struct json_object *rate = json_get(end, found_goals[i]);

		if (!rate)
			continue;
		record_read(rate, rate_rows, &f->goal[f->goals]);
		f->goal[f->goals++].name = found_goals[i];
	}
}

const struct record_field *document_table(const char *name)
{
#define TABLE(name)                                                                                \
	{                                                                                          \
		#name, name##_rows                                                                 \
	}
	static const struct {
		const char *name;
		const struct record_field *rows;
	} tables[] = {
		TABLE(origin),	    TABLE(start),    TABLE(repeat),   TABLE(interval),
		TABLE(limit),	    TABLE(send_end), TABLE(recv_end), TABLE(end),
		TABLE(sums),	    TABLE(cause),    TABLE(counter),  TABLE(seen),
		TABLE(clocks),	    TABLE(remote),   TABLE(send),     TABLE(recv),
		TABLE(recv_stream), TABLE(rate),     TABLE(found),    TABLE(parameters),
		TABLE(found_trial), TABLE(host),     TABLE(clock),    TABLE(reordering),
		TABLE(gaps),	    TABLE(port),     TABLE(rx_port),  TABLE(advice),
		TABLE(live_missed), TABLE(overhead), TABLE(balance),  TABLE(tcp),
	};

	for (unsigned i = 0; i < LENGTH(tables); i++) {
		if (!strcmp(tables[i].name, name))
			return tables[i].rows;
	}
	return strcmp(name, "losses") ? NULL : result_losses_rows;
}
