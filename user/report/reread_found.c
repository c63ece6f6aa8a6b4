// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "report/json_found.h"
#include "report/reread.h"
#include "report/rows.h"

void reread_error(const struct json_object *from, struct error *err)
{
	*err = (struct error){.status = (enum status)json_get_u64(from, "status")};
	snprintf(err->message, sizeof(err->message), "%s", json_get_text(from, "message"));
	snprintf(err->hint, sizeof(err->hint), "%s", json_get_text(from, "hint"));
}

void reread_found_trial(const struct json_object *trial, struct found_trial *t)
{
	const struct json_object *p = json_get(trial, "parameters");

	*t = (struct found_trial){
		.phase = json_get_text(p, "phase"),
		.rate_pps = json_get_double(p, "rate_pps"),
		.time_ns = json_get_u64(p, "duration_ns"),
		.intended = json_get_u64(trial, "intended"),
		.unsent = json_get_u64(trial, "unsent"),
		.held_back = json_get_bool(trial, "held_back"),
		.loss_share = json_get_double(trial, "loss_share"),
	};
	for (size_t i = 0; i < json_get_length(trial, "stages"); i++) {
		const struct json_object *o = json_get_item(trial, "stages", i);
		enum stage stage = rows_stage(json_get_text(o, "stage"));

		if (stage != STAGE_NONE)
			t->dropped[stage] = json_get_u64(o, "packets");
	}
}

static enum found_limit limit_of(const char *name)
{
	for (int i = FOUND_LIMIT_NONE + 1; i <= FOUND_LIMIT_QUEUE; i++) {
		if (!strcmp(found_limits[i], name))
			return i;
	}
	return FOUND_LIMIT_NONE;
}

static void reread_rate(const struct json_object *o, const char *name, struct found_rate *rate)
{
	*rate = (struct found_rate){
		.name = name,
		.loss_ratio = json_get_double(o, "loss_ratio"),
		.has_lower = json_get(o, "lower_pps") != NULL,
		.has_upper = json_get(o, "upper_pps") != NULL,
		.lower_pps = json_get_double(o, "lower_pps"),
		.upper_pps = json_get_double(o, "upper_pps"),
		.throughput_pps = json_get_double(o, "throughput_pps"),
		.stage = rows_stage(json_get_text(o, "stage")),
		.limit = limit_of(json_get_text(o, "limited_by")),
		.done = json_get_bool(o, "done"),
	};
}

void reread_found(const struct json_object *end, struct found *f)
{
	static const char *const goals[] = {"ndr", "pdr"};

	*f = (struct found){
		.min_pps = json_get_double(end, "min_rate_pps"),
		.max_pps = json_get_double(end, "max_rate_pps"),
		.generator_pps = json_get_double(end, "generator_pps"),
		.generator_limited = json_get_bool(end, "generator_limited"),
		.held_back = json_get_bool(end, "held_back"),
		.frame_bytes = (unsigned)json_get_u64(end, "frame_bytes"),
		.payload_bytes = (unsigned)json_get_u64(end, "payload_bytes"),
		.trials = (unsigned)json_get_u64(end, "trials"),
		.time_ns = json_get_u64(end, "duration_ns"),
		.interrupted = json_get_bool(end, "interrupted"),
		.out_of_time = json_get_bool(end, "out_of_time"),
	};
	for (unsigned i = 0; i < 2; i++) {
		if (json_get(end, goals[i]))
			reread_rate(json_get(end, goals[i]), goals[i], &f->goal[f->goals++]);
	}
	reread_rate(json_get(end, "mrr"), "mrr", &f->mrr);
}
