// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * From facts to findings: tests/fixtures/advice/host.json is a bundle of a healthy host, and each
 * line of cases.jsonl changes some of its facts and has all findings that follow, in their order.
 * Lines of losses.jsonl are facts of traced losses with their finding. UPDATE=1 writes the findings
 * again: look at the difference before it is committed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cases.h"
#include "diagnosis/look.h"
#include "drops/stagemap.h"

#define FIXTURES "tests/fixtures/advice/"
#define PLAIN	 (JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

static struct json_object *parse(const char *text)
{
	struct json_object *o = json_tokener_parse(text);

	if (!o)
		fail_msg("no JSON: %s", text);
	return o;
}

/* Sets a member by its path, "interfaces.0.ring.rx". An item after the last is appended. */
static void set(struct json_object *o, const char *path, struct json_object *value)
{
	char key[128];
	const size_t n = strcspn(path, ".");
	struct json_object *next;

	snprintf(key, sizeof(key), "%.*s", (int)n, path);
	if (!path[n] && json_object_is_type(o, json_type_array))
		json_object_array_put_idx(o, (size_t)atoi(key), json_object_get(value));
	else if (!path[n])
		json_object_object_add(o, key, json_object_get(value));
	if (!path[n])
		return;
	if (json_object_is_type(o, json_type_array))
		next = json_object_array_get_idx(o, (size_t)atoi(key));
	else
		next = json_get(o, key);
	if (!next)
		fail_msg("no member %s", path);
	set(next, path + n + 1, value);
}

/* "host softnet:cpu1:dropped" moved by this much since it stood at 1000. */
static void move(struct json_object *facts, const char *name, uint64_t moved)
{
	struct json_object *c = json_object_new_object();
	const char *blank = strchr(name, ' ');

	assert_non_null(blank);
	json_object_object_add(c, "scope", json_object_new_string_len(name, (int)(blank - name)));
	json_object_object_add(c, "name", json_object_new_string(blank + 1));
	json_object_object_add(c, "after", json_object_new_uint64(1000 + moved));
	json_object_object_add(c, "moved", json_object_new_uint64(moved));
	json_object_array_add(json_get(facts, "counters"), c);
}

static void put(struct json_object *o, const char *key, const char *text)
{
	if (*text)
		json_object_object_add(o, key, json_object_new_string(text));
}

/* Each text of a finding that is not empty, and its facts. */
static struct json_object *finding_of(const struct finding *f)
{
	struct json_object *o = json_object_new_object();

	put(o, "id", f->id);
	put(o, "stage", f->stage == STAGE_NONE ? "" : stage_name(f->stage));
	put(o, "severity", severity_names[f->severity]);
	put(o, "cause", f->cause);
	json_object_object_add(o, "facts", parse(f->facts));
	put(o, "fix", f->fix);
	put(o, "command", f->command);
	put(o, "undo", f->undo);
	put(o, "risk", f->risk);
	put(o, "applies", f->applies);
	return o;
}

/* All that the judge says of the facts. */
static struct json_object *judged(const struct json_object *from)
{
	struct json_object *o = json_object_new_object(), *list = json_object_new_array(), *one;
	struct facts *facts = calloc(1, sizeof(*facts));
	struct check_findings found = {0};
	const struct finding_row *row;

	facts_load(from, facts);
	judge(facts, &found);
	json_object_object_add(o, "findings", list);
	for (unsigned i = 0; i < found.n; i++) {
		const struct check_finding *c = &found.at[i];

		json_object_array_add(list, one = finding_of(&c->finding));
		put(one, "scope", check_scope_names[c->scope]);
		put(one, "subject", c->subject);
		for (unsigned j = 1; j < c->n_changes; j++)
			put(one, "and", c->changes[j].name);
		/* each sentence has its facts */
		if (!*c->finding.cause || !*c->finding.fix)
			fail_msg("%s lacks a fact: '%s', '%s'", c->finding.id, c->finding.cause,
				 c->finding.fix);
		row = finding_row(c->finding.id);
		assert_true(!row->seen || *row->seen == '[' || json_get(json_get(one, "facts"), "seen"));
		if (row->setting && *row->setting != '[' && !facts->counters_only &&
		    !json_get(json_get(one, "facts"), "setting"))
			fail_msg("%s: no setting", c->finding.id);
		assert_int_equal(c->losing, json_get_u64(json_get(one, "facts"), "lost") > 0);
	}
	if (found.n_history)
		json_object_object_add(o, "history", list = json_object_new_array());
	for (unsigned i = 0; i < found.n_history; i++) {
		json_object_array_add(list, one = json_object_new_object());
		put(one, stage_name(found.history[i].stage), found.history[i].counter);
		assert_true(found.history[i].total);
	}
	check_findings_free(&found);
	facts_free(facts);
	free(facts);
	return o;
}

static struct json_object *judged_case(const struct json_object *c)
{
	struct json_object *host = json_object_from_file(FIXTURES "host.json"), *o;

	assert_non_null(host);
	json_object_object_foreach(json_get(c, "set"), path, value)
		set(host, path, value);
	if (json_get(c, "moved")) {
		json_object_object_foreach(json_get(c, "moved"), name, by)
			move(host, name, json_object_get_uint64(by));
	}
	o = judged(host);
	json_object_put(host);
	return o;
}

static struct json_object *traced_case(const struct json_object *c)
{
	struct json_object *o = json_object_new_object();
	struct finding_facts facts = {};
	struct finding f;
	enum stage stage = 0;

	while (stage < STAGE_COUNT && strcmp(stage_name(stage), json_get_text(c, "stage")))
		stage++;
	record_read(json_get(c, "facts"), finding_fact_rows, &facts);
	if (json_get(c, "reading"))
		record_read(json_get(c, "reading"), facts_reading_rows, &facts.reading);
	assert_int_equal(findings_for_stage(stage, &facts, &f, NULL), 0);
	json_object_object_add(o, "finding", finding_of(&f));
	return o;
}

/* Compares the findings for each line with its expectations, the members of `result`. */
static void run_file(const char *path, struct json_object *(*result)(const struct json_object *))
{
	char *line = NULL, *text = NULL;
	const bool update = getenv("UPDATE");
	FILE *in = fopen(path, "r"), *out;
	size_t size = 0, length = 0;
	unsigned wrong = 0;

	assert_non_null(in);
	out = open_memstream(&text, &length);
	while (getline(&line, &size, in) > 0) {
		struct json_object *c = parse(line), *now = result(c);

		json_object_object_foreach(now, key, is) {
			const struct json_object *was = json_get(c, key);

			if (was && json_object_equal((struct json_object *)was, is))
				continue;
			if (!update)
				print_message("%s, %s:\n  is  %s\n  was %s\n", json_get_text(c, "case"), key,
					      json_object_to_json_string_ext(is, PLAIN),
					      was ? json_object_to_json_string_ext((void *)was, PLAIN)
						  : "nothing");
			wrong++;
		}
		if (!json_get(now, "history") && json_get(c, "history"))
			wrong++;
		json_object_object_del(c, "history");
		json_object_object_foreach(now, name, value)
			json_object_object_add(c, name, json_object_get(value));
		fprintf(out, "%s\n", json_object_to_json_string_ext(c, PLAIN));
		json_object_put(c);
		json_object_put(now);
	}
	fclose(in);
	fclose(out);
	if (update && wrong) {
		out = fopen(path, "w");
		assert_true(out && fwrite(text, length, 1, out) == 1 && !fclose(out));
	}
	free(line);
	free(text);
	assert_int_equal(update ? 0 : wrong, 0);
}

CASE(hosts)
{
	run_file(FIXTURES "cases.jsonl", judged_case);
}

CASE(traced_losses)
{
	run_file(FIXTURES "losses.jsonl", traced_case);
}
