// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_solo.h"

#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "traffic/pace.h"

struct json_object *json_solo_origin(int argc, char *const *argv, struct json_object *env)
{
	struct json_object *o = json_object_new_object();
	char time[32], host[65] = "";

	json_time(time, sizeof(time), when_now());
	gethostname(host, sizeof(host) - 1);
	json_put_text(o, "time", time);
	json_put_text(o, "host", host);
	json_put(o, "command", json_command(argc, argv));
	json_put(o, "env", env);
	return o;
}

/* The clock of the times that packets carry: what happened when, at one end and the other. */
static void put_clock(struct json_object *o)
{
	json_put_u64(o, "tai_ns", pace_tai());
}

static void put_mode(struct json_object *o, const char *side, const char *mode)
{
	struct json_object *granted = json_object_new_object();

	json_put_text(granted, side, mode);
	json_put(o, "granted_mode", granted);
}

/* null: until the time is over */
static struct json_object *stream_count(const struct experiment_streams *streams, unsigned i)
{
	uint64_t count =
		streams->count / streams->streams + (i < streams->count % streams->streams);

	return streams->count == UINT64_MAX ? NULL : json_object_new_uint64(count);
}

struct json_object *json_send_start(int argc, char *const *argv, struct json_object *env,
				    const struct send_spec *spec, const struct result *res,
				    const struct experiment_streams *streams)
{
	struct json_object *o = json_solo_origin(argc, argv, env);
	struct json_object *list = json_object_new_array();
	char to[FMT_MAX];

	put_clock(o);
	json_put_text(o, "tx", spec->tx->name);
	json_put_text(o, "to", num_text_endpoint(to, sizeof(to), &spec->to));
	put_mode(o, "tx", res->tx_mode);
	for (unsigned i = 0; i < streams->streams; i++) {
		struct json_object *s = json_object_new_object();

		json_put_u64(s, "stream", (uint16_t)(streams->stream0 + i));
		json_put_u64(s, "base", streams->base);
		json_put(s, "count", stream_count(streams, i));
		json_object_array_add(list, s);
	}
	json_put(o, "streams", list);
	json_put_text(o, "checkpoint", res->tx_host.place);
	json_put_u64(o, "frame_bytes", res->frame_bytes);
	json_put_u64(o, "payload_bytes", res->payload_bytes);
	json_put(o, "rate_pps", res->rate_pps > 0 ? json_object_new_double(res->rate_pps) : NULL);
	return o;
}

struct json_object *json_send_end(const struct result *res)
{
	struct json_object *o = json_object_new_object();

	put_clock(o);
	json_put_sending(o, res);
	json_put_tracing(o, res);
	return o;
}

struct json_object *json_recv_start(int argc, char *const *argv, struct json_object *env,
				    const char *rx, uint16_t port, const struct result *res)
{
	struct json_object *o = json_solo_origin(argc, argv, env);

	put_clock(o);
	json_put_text(o, "rx", rx);
	put_mode(o, "rx", res->rx_mode);
	json_put_u64(o, "port", port);
	json_put_text(o, "checkpoint", res->rx_host.place);
	return o;
}

static struct json_object *streams_array(const struct recv_result *r)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < r->streams; i++) {
		const struct recv_stream *s = &r->stream[i];
		struct json_object *o = json_object_new_object();

		json_put_u64(o, "stream", s->stream);
		json_put_u64(o, "base", s->base);
		json_put_u64(o, "delivered", s->delivered);
		json_put_u64(o, "highest", s->highest);
		json_put_u64(o, "first", s->first);
		json_put(o, "fastest_ns", s->timed ? json_object_new_int64(s->fastest_ns) : NULL);
		json_put(o, "sent", s->ended ? json_object_new_uint64(s->sent) : NULL);
		json_put(o, "refused", s->ended ? json_object_new_uint64(s->refused) : NULL);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *json_recv_end(const struct recv_result *r)
{
	struct json_object *o = json_object_new_object();

	put_clock(o);
	json_put_u64(o, "received", r->received);
	json_put_receiving(o, &r->res);
	json_put_u64(o, "late", r->res.late);
	json_put_u64(o, "lost", r->lost);
	json_put(o, "lost_tail", r->tail_known ? json_object_new_uint64(r->lost_tail) : NULL);
	json_put_u64(o, "duration_ns", r->res.duration_ns);
	json_put(o, "streams", streams_array(r));
	json_put_tracing(o, &r->res);
	return o;
}
