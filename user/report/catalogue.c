// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "base/json.h"
#include "drops/stagemap.h"
#include "experiment/faults/fault.h"
#include "ledger/ledger.h"
#include "report/document.h"

#define COUNTERS_MAX 16

static struct json_object *faults_of(enum stage stage)
{
	struct json_object *list = json_object_new_array();

	for (unsigned f = 0; f < fault_count(); f++) {
		const char *variant = strchr(fault_values[f].name, ':');
		struct json_object *o;

		if (fault_stage(f) != stage)
			continue;
		o = json_object_new_object();
		json_put_text(o, "name", fault_values[f].name);
		json_put_text(o, "variant", variant ? variant + 1 : NULL);
		json_put_text(o, "mechanism", fault_values[f].title);
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *catalogue_json(void)
{
	struct json_object *stages = json_object_new_array();

	for (int s = 0; s < STAGE_COUNT; s++) {
		struct json_object *o = json_object_new_object(), *list = json_object_new_array();
		const char *counters[COUNTERS_MAX];
		unsigned n = countercheck_counters(s, counters, COUNTERS_MAX);

		for (unsigned i = 0; i < n; i++)
			json_object_array_add(list, json_object_new_string(counters[i]));
		json_put_text(o, "stage", stage_name(s));
		json_put_text(o, "title", stage_title(s));
		json_put_text(o, "mechanism", stage_facts[s].mechanism);
		json_put_text(o, "hook", stage_facts[s].hook);
		json_put(o, "counters", list);
		json_put_text(o, "uncounted", counter_silents[s]);
		json_put(o, "faults", faults_of(s));
		json_put_text(o, "limit", stage_facts[s].limit);
		json_object_array_add(stages, o);
	}
	return stages;
}

static void print_stage(FILE *out, const struct json_object *stage)
{
	size_t n = json_get_length(stage, "counters");

	fprintf(out, "%s: %s\n  mechanism  %s\n  hook       %s\n", json_get_text(stage, "stage"),
		json_get_text(stage, "title"), json_get_text(stage, "mechanism"),
		json_get_text(stage, "hook"));
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  %-11s%s%s\n", i ? "" : "counters",
			json_get_item_text(stage, "counters", i), i + 1 < n ? "," : "");
	if (!n)
		fprintf(out, "  counters   none\n");
	if (json_get(stage, "uncounted"))
		fprintf(out, "  uncounted  %s\n", json_get_text(stage, "uncounted"));
	for (struct json_each fault = json_each(stage, "faults"); json_next(&fault);)
		fprintf(out, "  fault      %s: %s\n", json_get_text(fault.item, "name"),
			json_get_text(fault.item, "mechanism"));
	if (json_get(stage, "limit"))
		fprintf(out, "  limit      %s\n", json_get_text(stage, "limit"));
}

void catalogue_text(FILE *out)
{
	struct json_object *stages = catalogue_json();

	for (size_t i = 0; i < json_object_array_length(stages); i++) {
		if (i)
			fputc('\n', out);
		print_stage(out, json_object_array_get_idx(stages, i));
	}
	json_object_put(stages);
}
