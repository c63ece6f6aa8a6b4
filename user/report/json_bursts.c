// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_bursts.h"

#include "base/json.h"
#include "drops/stagemap.h"

static void put_pps(struct json_object *o, const char *key, const struct burst_report *r,
		    uint64_t packets)
{
	json_put_double(o, key, (double)packets * 1e9 / (double)r->window_ns);
}

/* The first window has begun before the trace. */
static uint64_t relative(const struct burst_report *r, uint64_t number)
{
	const uint64_t ns = number * r->window_ns;

	return ns > r->start_ns ? ns - r->start_ns : 0;
}

static struct json_object *window(const struct burst_report *r, const struct burst_window *w)
{
	struct json_object *o = json_object_new_object();
	char time[32];

	json_put_u64(o, "time_ns", relative(r, w->number));
	json_put_text(
		o, "time",
		json_time(time, sizeof(time), w->number * r->window_ns + (uint64_t)r->realtime_ns));
	json_put_u64(o, "packets", w->packets);
	put_pps(o, "pps", r, w->packets);
	return o;
}

static struct json_object *stage(const struct burst_report *r, int number)
{
	struct json_object *o = json_object_new_object(), *worst = json_object_new_array();
	const struct burst_stage *s = &r->stage[number];

	json_put_text(o, "stage", stage_name(number));
	json_put_u64(o, "packets", s->packets);
	json_put_u64(o, "windows", s->windows);
	json_put_u64(o, "dense_packets", s->dense_packets);
	json_put_u64(o, "dense_windows", s->dense_windows);
	put_pps(o, "peak_pps", r, s->worst[0].packets);
	for (unsigned i = 0; i < s->n_worst; i++)
		json_object_array_add(worst, window(r, &s->worst[i]));
	json_put(o, "worst", worst);
	return o;
}

struct json_object *json_bursts(const struct burst_report *r)
{
	struct json_object *o = json_object_new_object(), *stages = json_object_new_array();

	json_put_u64(o, "window_ns", r->window_ns);
	for (int i = 0; i < STAGE_COUNT; i++) {
		if (r->stage[i].packets)
			json_object_array_add(stages, stage(r, i));
	}
	json_put(o, "stages", stages);
	return o;
}
