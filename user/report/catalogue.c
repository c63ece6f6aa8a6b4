// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/catalogue.h"

#include <string.h>

#include "base/json.h"
#include "ledger/countercheck.h"
#include "drops/stages_data.h"
#include "experiment/faults/fault.h"
#include "drops/stagemap.h"

#define COUNTERS_MAX 16

static void print_list(FILE *out, const char *label, const char *const *item, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "%-11s%s%s", i ? "" : label, item[i], i + 1 < n ? ",\n  " : "\n");
}

static void print_stage(FILE *out, enum stage stage)
{
	const struct stage_facts *facts = &stage_facts[stage];
	const char *counters[COUNTERS_MAX], *silent = counter_silents[stage];
	unsigned n = countercheck_counters(stage, counters, COUNTERS_MAX);

	fprintf(out, "%s: %s\n", stage_name(stage), stage_title(stage));
	fprintf(out, "  mechanism  %s\n  hook       %s\n  ", facts->mechanism, facts->hook);
	if (n)
		print_list(out, "counters", counters, n);
	else
		fprintf(out, "counters   none\n");
	if (silent)
		fprintf(out, "  uncounted  %s\n", silent);
	for (unsigned f = 0; f < fault_count(); f++) {
		if (fault_stage(f) == stage)
			fprintf(out, "  fault      %s: %s\n", fault_values[f].name,
				fault_values[f].title);
	}
	if (facts->limit)
		fprintf(out, "  limit      %s\n", facts->limit);
}

void catalogue_text(FILE *out)
{
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (s)
			fputc('\n', out);
		print_stage(out, s);
	}
}

static struct json_object *faults_json(enum stage stage)
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
		json_put(o, "faults", faults_json(s));
		json_put_text(o, "limit", stage_facts[s].limit);
		json_object_array_add(stages, o);
	}
	return stages;
}
