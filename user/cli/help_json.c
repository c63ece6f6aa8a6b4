// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/help_json.h"

#include <string.h>

#include "base/json.h"
#include "diagnosis/findings_data.h"
#include "ledger/countercheck.h"
#include "drops/stages_data.h"
#include "experiment/faults/fault.h"
#include "drops/stagemap.h"

static void add_text(struct json_object *list, const char *text)
{
	json_object_array_add(list, json_text(text));
}

static bool counts(const struct counter_rule *rule, enum stage stage)
{
	if (rule->flags & COUNTER_EVIDENCE)
		return false;
	for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
		if (m->stage == stage)
			return true;
	}
	return false;
}

/* Counters of the kernel that a loss at this stage moves. */
static struct json_object *counters_of(enum stage stage)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < counter_rules_n; i++) {
		if (counts(&counter_rules[i], stage))
			add_text(list, counter_rules[i].name4);
	}
	return list;
}

static struct json_object *findings_of(enum stage stage)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (finding_rows[i].stage == stage)
			add_text(list, finding_rows[i].id);
	}
	return list;
}

/* A fault is STAGE or STAGE:VARIANT. */
static struct json_object *faults_of(enum stage stage)
{
	struct json_object *list = json_object_new_array();
	const char *name = stage_name(stage);

	for (const struct opt_value *v = fault_values; v->name; v++) {
		size_t len = strcspn(v->name, ":");

		if (strlen(name) == len && !memcmp(name, v->name, len))
			add_text(list, v->name);
	}
	return list;
}

static struct json_object *stages(void)
{
	struct json_object *list = json_object_new_array();

	for (enum stage s = 0; s < STAGE_COUNT; s++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", stage_name(s));
		json_put_text(o, "title", stage_title(s));
		json_put_text(o, "what", stage_texts[s].what);
		json_put_text(o, "causes", stage_texts[s].causes);
		json_put_text(o, "remedy", stage_texts[s].remedy);
		json_put(o, "counters", counters_of(s));
		json_put_text(o, "uncounted", countercheck_silent(s));
		json_put(o, "findings", findings_of(s));
		json_put(o, "faults", faults_of(s));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *help_json(const struct command *const *cmds)
{
	struct json_object *doc = json_object_new_object();
	struct json_object *list = json_object_new_array(), *statuses = json_object_new_array();

	json_put_text(doc, "schema", "pktledger/help/1");
	json_put_text(doc, "version", PKTLEDGER_VERSION);
	for (unsigned i = 0; cmds[i]; i++)
		json_object_array_add(list, opt_describe(cmds[i]));
	json_put(doc, "commands", list);
	for (const struct opt_value *v = opt_exit_status; v->name; v++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", v->name);
		json_put_text(o, "title", v->title);
		json_object_array_add(statuses, o);
	}
	json_put(doc, "exit_status", statuses);
	json_put(doc, "stages", stages());
	return doc;
}
