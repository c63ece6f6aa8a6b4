// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cases.h"
#include "diagnosis/findings.h"
#include "facts_of.h"

/* Each bracket is closed before the next is opened. */
static void balanced(const char *text)
{
	const char *open = text ? text : "";

	while ((open = strpbrk(open, "{["))) {
		const char *close = strpbrk(open + 1, *open == '{' ? "}[" : "][");

		assert_non_null(close);
		assert_int_equal(*close, *open == '{' ? '}' : ']');
		open++;
	}
}

static void row_is_well_formed(const struct finding_row *row)
{
	const char *const fields[] = {
		row->cause,	    row->seen,	     row->setting,	 row->fix,
		row->command,	    row->risk,	     row->change.ifname, row->change.name,
		row->change.wanted, row->change.old,
	};

	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		balanced(fields[i]);
	assert_true(row->cause && *row->cause && row->fix && islower(row->fix[*row->fix == '[']));
	assert_true(!row->change.name == !row->change.wanted);
	/* A change of the host states its risk. */
	assert_true(!row->change.name || row->risk || row->stage == STAGE_QDISC);
	assert_ptr_equal(finding_row(row->id), row); /* the id is its own */
}

CASE(rows_are_well_formed)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		row_is_well_formed(&finding_rows[i]);
		assert_ptr_equal(finding_row(finding_rows[i].id), &finding_rows[i]);
	}
	assert_null(finding_row("pl-none"));
	assert_null(finding_row("rcvbuf-")); /* no row by the beginning of its id */
}

static bool is_fact(const char *name, size_t len)
{
	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		if (strlen(r->key) == len && !strncmp(r->key, name, len))
			return true;
	}
	return false;
}

/* Writes a text of the longest values into each fact that is one. */
static void fill_texts(struct finding_facts *f)
{
	static char longest[1024];

	memset(longest, 'v', sizeof(longest) - 1);
	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		char *at = (char *)f + r->offset;

		if (r->type == RECORD_POINTER)
			*(const char **)at = longest + (strcmp(r->key, "rules") ? 960 : 0);
		else if (r->type == RECORD_TEXT)
			memset(at, 'v', r->size - 1);
		else if (r->type == RECORD_UINT)
			memset(at, 0x7f, r->size * (r->items ? r->items : 1));
		else if (r->type == RECORD_DOUBLE)
			*(double *)at = 123456789;
		else if (r->type == RECORD_BOOL)
			*(bool *)at = true;
		if (r->when)
			*((bool *)f + r->when - 1) = true;
	}
	strcpy(f->reading.sleeps_in, "a_function_of_the_kernel_with_a_name_of_47_chars");
	memset(f->udp_mem, 0x0f, sizeof(f->udp_mem));
	memset(f->tcp_rmem, 0x0f, sizeof(f->tcp_rmem));
}

static void assert_whole(const struct finding_row *row, const char *template,
			 const struct json_object *f, size_t size)
{
	char text[FINDING_TEXT * 4];
	size_t n = 0, length;

	for (const char *p = template; p && *p; p++) {
		const char *end = *p == '{' ? strchr(p, '}') : NULL;

		if (end && !is_fact(p + 1, strcspn(p + 1, "#*}")))
			fail_msg("%s: no fact %.*s", row->id, (int)(end - p), p + 1);
		p = end ? end : p;
		n++;
	}
	if (!n)
		return;
	if (!finding_fill(text, sizeof(text), template, f))
		fail_msg("%s: nothing is left of '%s'", row->id, template);
	length = strlen(text);
	if (length >= size)
		fail_msg("%s: %zu characters of '%s'", row->id, length, template);
	finding_fill(text, size, template, f);
	assert_int_equal(strlen(text), length);
	assert_null(strpbrk(text, "{}[]"));
}

/* Clears the facts that neither the block nor the lines of every finding name. */
static void keep_named(const struct finding_row *row, struct finding_facts *f)
{
	static const char always[] = "{lost {sent {window_ns {loss_pps {total {since {counter {reason "
				     "{location {rcvbuf_bytes {reader {watched_ns {arrival_pps";
	const char *const texts[] = {row->cause, row->seen, row->setting, row->fix, always};

	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		char name[64];
		bool named = false;

		snprintf(name, sizeof(name), "{%s", r->key);
		for (unsigned i = 0; i < LENGTH(texts); i++)
			named |= texts[i] && strstr(texts[i], name);
		if (!named && r->type != RECORD_OWN)
			memset((char *)f + r->offset, 0, r->size);
	}
}

/* Each name in braces is a fact, and no text is cut, however long the values are. */
CASE(texts_are_whole)
{
	struct finding_facts f = {}, own;
	struct finding *out = calloc(1, sizeof(*out));
	struct json_object *all, *facts;
	struct change change;

	fill_texts(&f);
	all = record_write(finding_fact_rows, &f);
	for (unsigned r = 0; r < finding_rows_n; r++) {
		const struct finding_row *row = &finding_rows[r];

		assert_whole(row, row->cause, all, sizeof(out->cause));
		assert_whole(row, row->seen, all, FINDING_TEXT * 2);
		assert_whole(row, row->setting, all, FINDING_TEXT * 2);
		assert_whole(row, row->fix, all, sizeof(out->fix));
		assert_whole(row, row->command, all, sizeof(out->command));
		assert_whole(row, row->risk, all, sizeof(out->risk));
		own = f;
		keep_named(row, &own);
		finding_write(row, &own, out, &change);
		facts = json_parse(out->facts, strlen(out->facts), 3);
		assert_non_null(facts); /* all of them */
		json_object_put(facts);
	}
	json_object_put(all);
	free(out);
}

/* As typed from outside; what would be cut is left out. */
CASE(commands_of_a_namespace)
{
	const struct change none = {};
	static const struct {
		const char *command, *entered;
	} rows[] = {
		{"", ""},
		{"ss -uanp", "e ss -uanp"},
		{"bpftool cgroup tree", "bpftool cgroup tree"},
		{"echo 1 >/sys/x", "e sh -c 'echo 1 >/sys/x'"},
	};
	static struct finding f;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		strcpy(f.command, rows[i].command);
		finding_enter(&f, &none, NULL, "e");
		assert_string_equal(f.command, rows[i].entered);
	}
	for (size_t n = FINDING_COMMAND - 3; n < FINDING_COMMAND - 1; n++) {
		memset(f.command, 'c', n);
		f.command[n] = '\0';
		finding_enter(&f, &none, NULL, "e");
		assert_int_equal(strlen(f.command), n == FINDING_COMMAND - 3 ? n + 2 : 0);
	}
}

/* The owner of each setting. A path may have the maximum length of its name. */
CASE(settings_of_namespaces)
{
	const struct netns none = NETNS_NONE, bad = {.fd = 1000000, .sysfs = -1};
	struct change c = {.kind = CHANGE_SYSCTL, .wanted = "1", .old = "0"};
	struct finding f = {.command = "as it was"};

	assert_true(change_belongs(&(struct change){.kind = CHANGE_GOVERNOR}, NULL));
	assert_false(change_belongs(&(struct change){.kind = CHANGE_GOVERNOR}, &none));
	assert_true(change_belongs(&(struct change){.kind = CHANGE_RING}, NULL));
	assert_true(change_belongs(&(struct change){.kind = CHANGE_RING}, &none));
	while (strlen(c.name) + strlen("net/") < sizeof(c.name) - 32)
		strcat(c.name, "net/../");
	strcat(c.name, "net/ipv4/ip_forward");
	assert_true(change_belongs(&c, NULL));
	assert_false(change_belongs(&c, &bad));
	strcpy(c.name, "net/ipv4/no_such_setting");
	assert_false(change_belongs(&c, NULL));

	finding_enter(&f, &c, NULL, "e");
	assert_string_equal(f.command, "as it was");
	strcpy(c.name, "net/ipv4/ip_forward");
	strcpy(f.undo, "echo 0 >/x");
	finding_enter(&f, &c, NULL, "e");
	assert_string_equal(f.command, "e as it was");
	assert_string_equal(f.undo, "e sh -c 'echo 0 >/x'");
}

CASE(silence)
{
	static const struct {
		const char *reason, *location;
		bool silent;
	} rows[] = {
		{"NEIGH_FAILED", "arp_error_report", true},
		{"NOT_SPECIFIED", "neigh_invalidate", true},
		{"NEIGH_QUEUEFULL", "__neigh_event_send", false},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(finding_is_silence(rows[i].reason, rows[i].location),
				 rows[i].silent);
}

CASE(outline)
{
	char text[64];

	finding_outline(text, sizeof(text), "{used#} of {limit*2}[ on {ifname}], {a_b#packet}");
	assert_string_equal(text, "USED of LIMIT*2, A_B");
	finding_outline(text, 4, "{ifname}");
	assert_string_equal(text, "IFN");
}

/* The largest loss comes first, wherever it is on the path; a small one is no error. */
CASE(ordered_by_loss)
{
	static struct finding list[] = {
		{.id = "ip_frag",
		 .stage = STAGE_IP_FRAG,
		 .severity = SEVERITY_WARNING,
		 .lost = 270},
		{.id = "udp_lookup",
		 .stage = STAGE_UDP_LOOKUP,
		 .severity = SEVERITY_ERROR,
		 .lost = 3},
		{.id = "rcvbuf",
		 .stage = STAGE_RCVBUF,
		 .severity = SEVERITY_WARNING,
		 .lost = 33714},
		{.id = "tcp-black-hole", .stage = STAGE_TCP, .severity = SEVERITY_ERROR},
	};

	findings_sort(list, 4);
	assert_string_equal(list[0].id, "rcvbuf");
	assert_string_equal(list[1].id, "ip_frag");
	assert_string_equal(list[2].id, "udp_lookup");
	assert_int_equal(list[2].severity, SEVERITY_WARNING);
	assert_int_equal(list[3].severity, SEVERITY_ERROR); /* not counted in packets */
}
