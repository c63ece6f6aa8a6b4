// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/trialset.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

#define INTERVALS_LEAST 4
#define TRIALS_IN_TIME	10

int trialset_begin(struct trialset *t, const char *schema, struct json_object *start)
{
	*t = (struct trialset){.document = json_object_new_object()};
	if (!t->document)
		return -ENOMEM;
	json_put_text(t->document, "schema", schema);
	json_put(t->document, "start", json_object_get(start));
	json_put(t->document, "trials", json_object_new_array());
	return 0;
}

bool trialset_owns(const struct trialset *t, const struct json_object *run_start)
{
	return t->document && json_object_equal(json_get(json_get(t->document, "start"), "command"),
						json_get(run_start, "command"));
}

static void copy_members(struct json_object *to, struct json_object *from)
{
	if (!json_object_is_type(from, json_type_object))
		return;
	json_object_object_foreach (from, key, value)
		json_put(to, key, json_object_get(value));
}

/* What happened in a long one, as in a soak; not of many. */
static void keep_intervals(const struct trialset *t, struct json_object *trial,
			   const struct json_object *run)
{
	if (json_get_length(run, "intervals") >= INTERVALS_LEAST &&
	    json_get_length(t->document, "trials") < TRIALS_IN_TIME)
		json_put(trial, "intervals", json_object_get(json_get(run, "intervals")));
}

void trialset_trial(struct trialset *t, struct json_object *members, const struct json_object *run)
{
	struct json_object *trial = json_object_new_object();

	copy_members(trial, json_get(run, "end"));
	copy_members(trial, members);
	keep_intervals(t, trial, run);
	if (json_get(run, "fates_agree") && !json_get_bool(run, "fates_agree"))
		json_put_bool(t->document, "fates_agree", false);
	json_object_array_add(json_get(t->document, "trials"), trial);
}

bool trialset_is(const struct json_object *document)
{
	const char *schema = json_get_text(document, "schema");

	return !strncmp(schema, "pktledger/sweep/", 16) ||
	       !strncmp(schema, "pktledger/search/", 17);
}

unsigned trialset_columns(const struct json_object *document, const char **name, unsigned max)
{
	const struct json_object *start = json_get(document, "start");
	struct json_object *first = json_get(json_get_item(document, "trials", 0), "parameters");
	unsigned n = 0;

	for (size_t i = 0; i < json_get_length(start, "parameters") && n < max; i++)
		name[n++] = json_object_get_string(json_get_item(start, "parameters", i));
	if (n || !json_object_is_type(first, json_type_object))
		return n;
	json_object_object_foreach (first, key, value) {
		(void)value;
		if (n < max)
			name[n++] = key;
	}
	return n;
}
