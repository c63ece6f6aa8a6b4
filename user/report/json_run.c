// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json.h"

#include <string.h>

#include "traffic/tx.h"
#include "drops/stagemap.h"

struct json_object *json_interval(const struct experiment_interval *now)
{
	struct json_object *o = json_object_new_object(), *stages = json_object_new_array();

	for (int s = 0; s < STAGE_COUNT; s++) {
		struct json_object *stage;

		if (!now->stage[s].events)
			continue;
		stage = json_object_new_object();
		json_put_text(stage, "stage", stage_name(s));
		json_put_u64(stage, "packets", now->stage[s].packets);
		json_put_u64(stage, "bytes", now->stage[s].bytes);
		json_put_u64(stage, "events", now->stage[s].packets);
		json_put_text(stage, "source", "event");
		json_put_text(stage, "scope", "flow");
		json_object_array_add(stages, stage);
	}

	json_put_u64(o, "time_ns", now->time_ns);
	json_put_u64(o, "sent", now->sent);
	json_put_u64(o, "delivered", now->delivered);
	json_put_u64(o, "dropped", now->dropped);
	json_put_u64(o, "tx_cpu_ns", now->tx_cpu_ns);
	json_put_u64(o, "rx_cpu_ns", now->rx_cpu_ns);
	json_put_u64(o, "memory_bytes", now->memory_bytes);
	json_put(o, "stages", stages);
	json_put_bool(o, "settling", now->settling);
	return o;
}

struct json_object *json_limit(const struct limit *limit, double measured, bool broken)
{
	static const char *const units[] = {
		[LIMIT_PACKETS] = "packets", [LIMIT_SHARE] = "share", [LIMIT_PER_SECOND] = "pps"};
	struct json_object *o = json_object_new_object();
	char text[FMT_MAX];

	json_put_text(o, "limit", num_text_limit(text, sizeof(text), limit));
	json_put_text(o, "name", limit->stage == STAGE_NONE ? "loss" : stage_name(limit->stage));
	json_put_text(o, "unit", units[limit->unit]);
	json_put(o, "value", json_object_new_double(limit->value));
	json_put(o, "measured", json_object_new_double(measured));
	json_put_bool(o, "broken", broken);
	return o;
}

struct json_object *json_error(const char *message, const char *hint, enum status status)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "message", message);
	json_put_text(o, "hint", hint);
	json_put_u64(o, "status", status);
	return o;
}

static struct json_object *cause_object(const struct result_cause *c)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "reason", c->reason);
	json_put_text(o, "location", c->location);
	json_put_text(o, "ifname", c->ifname);
	json_put_text(o, "netns", c->netns);
	if (*c->host)
		json_put_text(o, "host", c->host);
	json_put_text(o, "direction", c->direction);
	if (c->hook)
		json_put_text(o, "hook", c->hook);
	json_put_u64(o, "stream", c->stream);
	json_put_u64(o, "packets", c->packets);
	json_put_u64(o, "first", c->first);
	json_put_u64(o, "last", c->last);
	json_put_text(o, "note", c->note);
	return o;
}

static struct json_object *counter_object(const struct result_counter *c)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", c->name);
	json_put_u64(o, "delta", c->delta);
	json_put_u64(o, "expected", c->expected);
	json_put_bool(o, "agrees", c->agrees);
	json_put_bool(o, "documented", c->documented);
	json_put_text(o, "scope", c->scope);
	json_put_text(o, "note", c->note);
	return o;
}

static struct json_object *stage_object(const struct result *res, enum stage stage)
{
	const struct result_stage *s = &res->stage[stage];
	struct json_object *o = json_object_new_object(), *causes = json_object_new_array(),
			   *counters = json_object_new_array();

	json_put_text(o, "stage", stage_name(stage));
	json_put_u64(o, "packets", s->packets);
	json_put_u64(o, "bytes", s->bytes);
	json_put_u64(o, "events", s->events);
	json_put_text(o, "source", s->source);
	json_put_text(o, "scope", s->scope);
	for (unsigned i = 0; i < res->n_causes; i++) {
		if (res->cause[i].stage == stage)
			json_object_array_add(causes, cause_object(&res->cause[i]));
	}
	json_put(o, "causes", causes);
	for (unsigned i = 0; i < res->n_counters; i++) {
		if (res->counter[i].stage == stage)
			json_object_array_add(counters, counter_object(&res->counter[i]));
	}
	json_put(o, "counters", counters);
	return o;
}

struct json_object *json_stages(const struct result *res)
{
	struct json_object *list = json_object_new_array();

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (res->stage[s].packets || result_disagrees(res, s))
			json_object_array_add(list, stage_object(res, s));
	}
	return list;
}

struct json_object *json_finding(const struct finding *f)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "id", f->id);
	json_put_text(o, "stage", f->stage == STAGE_NONE ? NULL : stage_name(f->stage));
	json_put_text(o, "severity", severity_name(f->severity));
	json_put_text(o, "text", f->text);
	json_put_text(o, "evidence", f->evidence);
	json_put_text(o, "current", f->current);
	json_put_text(o, "wanted", f->wanted);
	json_put_text(o, "command", f->command);
	json_put_text(o, "undo", f->undo);
	json_put_text(o, "risk", f->risk);
	if (*f->host)
		json_put_text(o, "host", f->host);
	return o;
}

static struct json_object *findings_array(const struct result *res)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < res->n_findings; i++)
		json_object_array_add(list, json_finding(&res->finding[i]));
	return list;
}

static struct json_object *refused_by(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; i < res->n_refused_by; i++) {
		const struct result_errno *e = &res->refused_by[i];
		const char *name =
			e->error == TX_ERRNO_LOST ? "unknown" : strerrorname_np(e->error);
		char number[16];

		snprintf(number, sizeof(number), "%d", e->error);
		json_put_u64(o, name ? name : number, e->packets);
	}
	return o;
}

static struct json_object *last_seen(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "nowhere", res->unaccounted_seen[0]);
	json_put_u64(o, "tx_device", res->unaccounted_seen[SEEN_TX_DEVICE]);
	json_put_u64(o, "xdp", res->unaccounted_seen[SEEN_XDP]);
	json_put_u64(o, "rx_device", res->unaccounted_seen[SEEN_RX_DEVICE]);
	json_put_u64(o, "socket", res->unaccounted_seen[SEEN_SOCKET]);
	return o;
}

struct json_object *json_latency(const struct result_latency *l)
{
	struct json_object *o;

	if (!l->measured)
		return NULL;
	o = json_object_new_object();
	json_put_u64(o, "min", l->min);
	json_put_u64(o, "p50", l->p50);
	json_put_u64(o, "p90", l->p90);
	json_put_u64(o, "p99", l->p99);
	json_put_u64(o, "p999", l->p999);
	json_put_u64(o, "p9999", l->p9999);
	json_put_u64(o, "max", l->max);
	return o;
}

static struct json_object *own_losses(const struct result_losses *l)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "causes_full", l->causes_full);
	json_put_u64(o, "stamp_unreadable", l->stamp_unreadable);
	json_put_u64(o, "recursion_misses", l->recursion_misses);
	json_put_u64(o, "cell_empty", l->cell_empty);
	json_put_u64(o, "gso_split", l->gso_split);
	json_put_u64(o, "suppressed", l->suppressed);
	json_put_text(o, "suppressed_evidence", l->suppressed_evidence);
	return o;
}

/* Only if faults were asked for. */
static void put_deliberate(struct json_object *end, const struct result *res)
{
	struct json_object *o;

	if (!res->deliberate.asked)
		return;
	o = json_object_new_object();
	json_put_u64(o, "duplicates", res->deliberate.duplicates);
	json_put_u64(o, "reordered", res->deliberate.reordered);
	json_put_u64(o, "gaps", res->deliberate.gaps);
	json_put(end, "deliberate", o);
}

void json_put_sending(struct json_object *o, const struct result *res)
{
	json_put_u64(o, "attempted", res->attempted);
	json_put_u64(o, "refused", res->refused);
	json_put(o, "refused_by", refused_by(res));
	json_put_u64(o, "waits", res->waits);
	json_put_u64(o, "wait_ns", res->wait_ns);
	json_put_u64(o, "tx_calls", res->tx_cost.calls);
	json_put_u64(o, "tx_cpu_ns", res->tx_cost.cpu_ns);
	put_deliberate(o, res);
	json_put_u64(o, "sent", res->sent);
	json_put_u64(o, "dropped", res->dropped);
	json_put_double(o, "tx_pps", res->tx_pps);
	json_put_u64(o, "duration_ns", res->duration_ns);
	json_put_u64(o, "slipped_ns", res->slipped_ns);
	json_put_u64(o, "held_ns", res->held_ns);
}

void json_put_receiving(struct json_object *o, const struct result *res)
{
	json_put_u64(o, "delivered", res->delivered);
	json_put_u64(o, "duplicated", res->duplicated);
	json_put_u64(o, "damaged", res->damaged);
	json_put_u64(o, "invalid", res->invalid);
	json_put_u64(o, "foreign", res->foreign);
	json_put_double(o, "rx_pps", res->rx_pps);
	json_put_u64(o, "rx_calls", res->rx_cost.calls);
	json_put_u64(o, "rx_cpu_ns", res->rx_cost.cpu_ns);
	json_put_arrivals(o, &res->arrivals);
}

void json_put_tracing(struct json_object *o, const struct result *res)
{
	json_put_bool(o, "interrupted", res->interrupted);
	json_put(o, "stages", json_stages(res));
	json_put(o, "own_losses", own_losses(&res->losses));
}

static struct json_object *host_clocks(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	json_put(o, "offset_ns", json_object_new_int64(res->clock.offset_ns));
	json_put_u64(o, "error_ns", res->clock.error_ns);
	json_put_bool(o, "shared", res->clock.shared);
	return o;
}

struct json_object *json_end(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	json_put_sending(o, res);
	json_put_receiving(o, res);
	json_put_u64(o, "in_flight", res->in_flight);
	json_put_text(o, "in_flight_where", res->in_flight_where);
	json_put_u64(o, "unaccounted", res->unaccounted);
	json_put(o, "unaccounted_last_seen", last_seen(res));
	json_put_u64(o, "impossible", res->impossible);
	json_put_bool(o, "balanced", res->balanced);
	json_put_u64(o, "late", res->late);
	json_put_u64(o, "replies", res->replies);
	json_put_tracing(o, res);
	if (res->two_hosts)
		json_put(o, "host_clocks", host_clocks(res));
	json_put_u64(o, "fragments_made", res->fragments.made);
	json_put_u64(o, "fragments_seen", res->fragments.seen);
	json_put_u64(o, "fragments_dropped", res->fragments.dropped);
	json_put_u64(o, "fragments_abandoned", res->fragments.abandoned);
	json_put_u64(o, "fragments_unmatched", res->fragments.unmatched);
	json_put_u64(o, "datagrams_reassembled", res->reassembled);
	json_put_u64(o, "memory_bytes", res->memory_bytes);
	json_put(o, "findings", findings_array(res));
	return o;
}

void json_out_start(struct json_out *o, const struct run_header *head, struct json_object *env)
{
	json_out_once(o, "start", json_start(head, env));
}

void json_out_interval(struct json_out *o, const struct experiment_interval *now)
{
	json_out_each(o, "interval", json_interval(now));
}

void json_out_limit(struct json_out *o, const struct limit *limit, double measured, bool broken)
{
	json_out_each(o, "limit", json_limit(limit, measured, broken));
}

void json_out_error(struct json_out *o, const struct error *err)
{
	json_out_once(o, "error", json_error(err->message, err->hint, err->status));
}

void json_out_end(struct json_out *o, const struct result *res)
{
	json_out_once(o, "end", json_end(res));
}
