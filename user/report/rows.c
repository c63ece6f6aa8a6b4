// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/rows.h"

#include <string.h>

unsigned rows_by(const struct json_object *start)
{
	unsigned by = 0;

	for (size_t i = 0; i < json_get_length(start, "by"); i++) {
		const char *name = json_object_get_string(json_get_item(start, "by", i));

		for (unsigned f = 0; name && f < LIVE_FIELD_COUNT; f++) {
			if (!strcmp(live_field_name(f), name))
				by |= LIVE_BIT(f);
		}
	}
	return by ? by | LIVE_BY_STAGE : LIVE_BY_DEFAULT;
}

enum stage rows_stage(const char *name)
{
	int stage = 0;

	while (stage < STAGE_COUNT && strcmp(stage_name(stage), name))
		stage++;
	return stage;
}

/* A text or a number as text; "" if it is null. */
static const char *text_of(const struct json_object *o, const char *key)
{
	struct json_object *member = json_get(o, key);

	return member ? json_object_get_string(member) : "";
}

static struct live_row row_of(const struct json_object *stage, enum noise noise)
{
	struct live_row row = {.noise = noise};

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		row.text[f] = "";
	row.text[LIVE_STAGE] = json_get_text(stage, "stage");
	row.text[LIVE_CLASS] = noise_name(noise);
	row.text[LIVE_SOURCE] = json_get_text(stage, "source");
	row.text[LIVE_SCOPE] = json_get_text(stage, "scope");
	row.stage = rows_stage(row.text[LIVE_STAGE]);
	return row;
}

static void add(struct live_table *t, struct live_row *row, const struct json_object *counts,
		unsigned by)
{
	row->counts = (struct live_counts){
		.events = json_get_u64(counts, "events"),
		.packets = json_get_u64(counts, "packets"),
		.bytes = json_get_u64(counts, "bytes"),
	};
	table_add(t, row, by);
}

static void add_stage(struct live_table *t, const struct json_object *stage, enum noise noise,
		      unsigned by)
{
	size_t n = json_get_length(stage, "causes");
	struct live_row row = row_of(stage, noise);

	if (!n)
		add(t, &row, stage, by);
	for (size_t i = 0; i < n; i++) {
		const struct json_object *cause = json_get_item(stage, "causes", i);

		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			if (f != LIVE_STAGE && f != LIVE_CLASS &&
			    json_get(cause, live_field_name(f)))
				row.text[f] = text_of(cause, live_field_name(f));
			else if (f > LIVE_CLASS && f < LIVE_SOURCE)
				row.text[f] = "";
		}
		add(t, &row, cause, by);
	}
}

void rows_add(struct live_table *t, const struct json_object *interval, unsigned by)
{
	static const struct {
		const char *key;
		enum noise noise;
	} classes[] = {
		{"stages", NOISE_LOSS}, {"suspect", NOISE_SUSPECT}, {"benign", NOISE_BENIGN}};

	for (unsigned c = 0; c < sizeof(classes) / sizeof(classes[0]); c++) {
		for (size_t i = 0; i < json_get_length(interval, classes[c].key); i++)
			add_stage(t, json_get_item(interval, classes[c].key, i), classes[c].noise,
				  by);
	}
}

void rows_add_flows(struct live_table *t, const struct json_object *interval)
{
	for (size_t i = 0; i < json_get_length(interval, "flows"); i++) {
		const struct json_object *flow = json_get_item(interval, "flows", i);
		struct live_row row = row_of(flow, NOISE_LOSS);

		row.text[LIVE_FLOW] = json_get_text(flow, "flow");
		add(t, &row, flow, ROWS_BY_FLOW);
	}
}
