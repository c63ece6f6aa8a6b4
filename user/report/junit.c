// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/junit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "report/print.h"

#define BEGIN "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites"

struct junit {
	const char *command;
	unsigned tests, failures;
	FILE *cases;
	char *text; /* test cases as XML */
	size_t size;
};

struct junit *junit_new(const char *command)
{
	struct junit *j = mem_new(j);

	j->command = command;
	j->cases = mem_need(open_memstream(&j->text, &j->size));
	return j;
}

/* Adds a test case that fails with `message`, or passes if it is NULL. `more` may be "". */
static void add_case(struct junit *j, const char *name, const char *message, const char *more)
{
	fprintf(j->cases, "    <testcase classname=\"pktledger.%s\" name=\"", j->command);
	html_text(j->cases, name);
	j->tests++;
	if (!message) {
		fputs("\"/>\n", j->cases);
		return;
	}
	j->failures++;
	fputs("\">\n      <failure message=\"", j->cases);
	html_text(j->cases, message);
	fputs("\">", j->cases);
	html_text(j->cases, more);
	fputs("</failure>\n    </testcase>\n", j->cases);
}

void junit_limit(struct junit *j, const struct json_object *limit)
{
	const bool fraction = !strcmp(json_get_text(limit, "unit"), "fraction");
	char name[128], message[128];

	if (!j)
		return;
	snprintf(name, sizeof(name), "limit %s", json_get_text(limit, "limit"));
	if (json_get(limit, "measured"))
		snprintf(message, sizeof(message), "measured %g%s",
			 json_get_double(limit, "measured") * (fraction ? 100 : 1),
			 fraction ? " %" : "");
	else
		snprintf(message, sizeof(message), "A has %g, B has %g",
			 json_get_double(limit, "a"), json_get_double(limit, "b"));
	add_case(j, name, json_get_bool(limit, "broken") ? message : NULL, "");
}

void junit_end(struct junit *j, const struct json_object *end)
{
	static const char *const goals[] = {"ndr", "pdr", "mrr"};

	if (!j)
		return;
	for (unsigned i = 0; i < LENGTH(goals); i++) {
		const struct json_object *rate = json_get(end, goals[i]);

		if (rate)
			add_case(j, goals[i],
				 json_get(rate, "lower_pps") ? NULL : "no rate was found", "");
	}
	if (json_get(end, "balanced"))
		add_case(j, "balanced",
			 json_get_bool(end, "balanced") ? NULL : "packets are unaccounted for", "");
	for (struct json_each f = json_each(end, "findings"); json_next(&f);) {
		char name[128];

		if (strcmp(json_get_text(f.item, "severity"), "error") != 0)
			continue;
		snprintf(name, sizeof(name), "finding %s", json_get_text(f.item, "id"));
		add_case(j, name, json_get_text(f.item, "cause"),
			 json_get_text(f.item, "fix"));
	}
}

void junit_limits(struct junit *j, const struct json_object *of)
{
	for (struct json_each limit = json_each(of, "limits"); json_next(&limit);)
		junit_limit(j, limit.item);
}

void junit_document(struct junit *j, const struct json_object *document)
{
	junit_limits(j, document);
	junit_end(j, json_get(document, "end"));
}

static int begin(struct replace *file, const char *path)
{
	const mode_t mask = umask(0);

	umask(mask);
	return replace_begin(file, path, BEGIN, 0644 & ~mask);
}

static int cannot_write(int rc, const char *path, struct error *err)
{
	return error_errno(err, STATUS_FAILED, rc, file_hint(rc, NULL), "cannot write %s", path);
}

int junit_try(const char *path, struct error *err)
{
	struct replace file;
	int rc = path ? begin(&file, path) : 0;

	if (path && !rc)
		replace_end(&file, -ECANCELED);
	return cannot_write(rc, path, err);
}

static int write_suite(const struct junit *j, const char *path)
{
	struct replace file;
	int rc = begin(&file, path);

	if (rc)
		return rc;
	fprintf(file.out,
		BEGIN ">\n  <testsuite name=\"pktledger %s\" tests=\"%u\" failures=\"%u\">\n%s"
		      "  </testsuite>\n</testsuites>\n",
		j->command, j->tests, j->failures, j->text);
	return replace_end(&file, 0);
}

int junit_write(struct junit *j, const char *path, struct error *err)
{
	int rc;

	if (!j)
		return 0;
	if (err->status != STATUS_OK)
		add_case(j, "command", err->message, err->hint);
	fflush(j->cases);
	rc = write_suite(j, path);
	fclose(j->cases);
	free(j->text);
	free(j);
	if (rc && err->status == STATUS_OK)
		cannot_write(rc, path, err);
	return rc;
}
