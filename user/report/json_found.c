// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json_found.h"

#include <string.h>

#include "report/json.h"
#include "drops/stagemap.h"

const char *const found_limits[] = {[FOUND_LIMIT_NONE] = NULL,
				    [FOUND_LIMIT_PATH] = "path",
				    [FOUND_LIMIT_GENERATOR] = "generator",
				    [FOUND_LIMIT_QUEUE] = "send_queue"};

static void put_rate(struct json_object *o, const char *key, bool known, double pps)
{
	if (known)
		json_put_double(o, key, pps);
	else
		json_put(o, key, NULL);
}

struct json_object *json_found_trial(const struct found_trial *t)
{
	struct json_object *o = json_object_new_object(), *p = json_object_new_object();

	json_put_text(p, "phase", t->phase);
	put_rate(p, "rate_pps", t->rate_pps > 0, t->rate_pps);
	json_put_u64(p, "duration_ns", t->time_ns);
	json_put(o, "parameters", p);
	json_put_u64(o, "intended", t->intended);
	json_put_u64(o, "unsent", t->unsent);
	json_put_bool(o, "held_back", t->held_back);
	json_put(o, "loss_share", json_object_new_double(t->loss_share));
	return o;
}

static struct json_object *rate_object(const struct found_rate *rate)
{
	struct json_object *o = json_object_new_object();

	put_rate(o, "lower_pps", rate->has_lower, rate->lower_pps);
	put_rate(o, "upper_pps", rate->has_upper, rate->upper_pps);
	json_put_text(o, "stage", rate->stage == STAGE_NONE ? NULL : stage_name(rate->stage));
	json_put_text(o, "limited_by", found_limits[rate->limit]);
	json_put(o, "loss_ratio", json_object_new_double(rate->loss_ratio));
	put_rate(o, "throughput_pps", rate->has_lower && rate->throughput_pps > 0,
		 rate->throughput_pps);
	json_put_bool(o, "done", rate->done);
	return o;
}

struct json_object *json_found(const struct found *f)
{
	struct json_object *o = json_object_new_object();

	json_put(o, "ndr", NULL);
	json_put(o, "pdr", NULL);
	for (unsigned i = 0; i < f->goals; i++)
		json_put(o, f->goal[i].name, rate_object(&f->goal[i]));
	json_put(o, "mrr", f->mrr.has_upper ? rate_object(&f->mrr) : NULL);
	put_rate(o, "generator_pps", f->generator_pps > 0, f->generator_pps);
	json_put_bool(o, "generator_limited", f->generator_limited);
	json_put_bool(o, "held_back", f->held_back);
	put_rate(o, "min_rate_pps", f->min_pps > 0, f->min_pps);
	put_rate(o, "max_rate_pps", f->max_pps > 0, f->max_pps);
	json_put_u64(o, "frame_bytes", f->frame_bytes);
	json_put_u64(o, "payload_bytes", f->payload_bytes);
	json_put_u64(o, "trials", f->trials);
	json_put_u64(o, "duration_ns", f->time_ns);
	json_put_bool(o, "interrupted", f->interrupted);
	json_put_bool(o, "out_of_time", f->out_of_time);
	return o;
}
