// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares the stage map with the enums of kernels, and with drops measured on these kernels. */
#include <bpf/btf.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/if_packet.h>

#include "cases.h"
#include "drops/cause.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "recorded.h"
#include "watch_abi.h"

#define NAMES_MAX 512

static char names[NAMES_MAX][REASON_NAME];
static unsigned name_count;

/* Lines "value name"; the value is not needed here. */
static unsigned read_fixture(const char *file)
{
	char path[128], line[256], name[REASON_NAME];
	unsigned before = name_count;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/reasons/%s", file);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s: %s (run from the top of the tree)", path, strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (line[0] == '#' || sscanf(line, "%*s %63s", name) != 1)
			continue;
		assert_true(name_count < NAMES_MAX);
		strcpy(names[name_count++], name);
	}
	fclose(f);
	return name_count - before;
}

static int read_fixtures(void **state)
{
	assert_int_equal(read_fixture("6.1"), 66);
	assert_int_equal(read_fixture("6.12"), 104);
	assert_int_equal(read_fixture("6.18"), 128);
	assert_int_equal(read_fixture("7.2"), 126);
	assert_int_equal(read_fixture("other"), 30);
	return 0;
}

static bool shown[256]; /* rows of the map that a case has met */

static void note_shown(const struct verdict *v)
{
	for (unsigned i = 0; i < stagemap_row_count; i++)
		shown[i] |= stagemap_rows[i].note == v->note;
}

/* Whether a row names the reason, for a place that no row knows. */
static bool has_reason(const char *reason)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];

		/* NOT_SPECIFIED says nothing: only its places can be known. */
		if (row->reasons && (!row->locations || !strcmp(reason, "NOT_SPECIFIED")) &&
		    stagemap_listed(row->reasons, reason))
			return true;
	}
	return false;
}

/* Reasons that do not tell where a packet was: the place decides, or there is none in the path. */
#define DELIBERATELY_OTHER "QUEUE_PURGE CAN_* CANFD_* CANXL_*"

/* Has a row and, also in an unknown function, a stage. NOT_SPECIFIED says nothing there. */
static void assert_has_a_stage(const char *reason)
{
	const struct stagemap_event e = {.reason = reason, .location = "nowhere", .aux = ""};
	const struct verdict v = stagemap_judge(&e);

	if (!has_reason(reason))
		fail_msg("no row for %s", reason);
	if (strcmp(reason, "NOT_SPECIFIED") && !v.known)
		fail_msg("%s is unknown at an unknown place", reason);
	if (v.known && (v.stage == STAGE_OTHER) != stagemap_listed(DELIBERATELY_OTHER, reason))
		fail_msg("%s is at the stage %s", reason, stage_name(v.stage));
}

CASE(every_reason_has_a_stage)
{
	for (unsigned i = 0; i < name_count; i++)
		assert_has_a_stage(names[i]);
	assert_false(has_reason("NO_SUCH_REASON"));
	assert_false(has_reason("REASON#7"));
}

static void assert_a_kernel_has(const char *pattern)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (!fnmatch(pattern, names[i], 0))
			return;
	}
	fail_msg("no kernel ever had the reason %s", pattern);
}

CASE(rows_are_sound)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];
		char list[1024], *word, *rest = list;

		assert_non_null(row->note);
		assert_in_range(row->stage, 0, STAGE_COUNT);
		assert_true(row->reasons || row->locations);
		if (row->class == CLASS_LOSS)
			assert_true(row->stage != STAGE_NONE);
		snprintf(list, sizeof(list), "%s", row->reasons ? row->reasons : "");
		while ((word = strsep(&rest, " ")))
			if (*word)
				assert_a_kernel_has(word);
	}
}

CASE(class_rows_are_sound)
{
	for (unsigned i = 0; i < class_row_count; i++) {
		const struct class_row *r = &class_rows[i];

		assert_true(r->reasons || r->locations || r->packets);
		assert_in_range(r->class, CLASS_LOSS, CLASS_EXPECTED);
		assert_true(r->packets < 1 << 6);
	}
}

/* No row may follow a row that matches everything it matches. */
CASE(no_row_is_hidden)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *a = &stagemap_rows[i];

		for (unsigned j = i + 1; j < stagemap_row_count; j++) {
			const struct stagemap_row *b = &stagemap_rows[j];
			bool reasons =
				!a->reasons || (b->reasons && !strcmp(a->reasons, b->reasons));
			bool places = !a->locations ||
				      (b->locations && !strcmp(a->locations, b->locations));

			if (reasons && places)
				fail_msg("row %u (%s) hides row %u (%s)", i, a->note, j, b->note);
		}
	}
}

static unsigned observer_of(const char *name)
{
	static const char *const known[] = {
		[OBSERVER_REDIRECT_ERR] = "redirect_err", [OBSERVER_XDP_EXCEPTION] = "xdp_exception",
		[OBSERVER_DEVMAP_XMIT] = "devmap_xmit",	  [OBSERVER_BULK_TX] = "bulk_tx",
		[OBSERVER_CPUMAP] = "cpumap",		  [OBSERVER_SOCKET_QUEUE] = "socket_queue"};
	unsigned i = 0;

	while (!known[i] || strcmp(known[i], name))
		i++;
	return i;
}

static int error_of(const char *name)
{
	int error = 1;

	while (!strerrorname_np(error) || strcmp(strerrorname_np(error), name))
		error++;
	return error;
}

static void take_word(struct stagemap_event *e, char *word)
{
	static const struct {
		const char *word;
		unsigned flag;
	} flags[] = {{"sk", WATCH_SK},
		     {"dst", WATCH_DST},
		     {"nodev", WATCH_NO_DEV},
		     {"copy", WATCH_COPY},
		     {"live", WATCH_LIVE}};

	for (unsigned i = 0; i < LENGTH(flags); i++) {
		if (!strcmp(word, flags[i].word)) {
			e->flags |= flags[i].flag;
			return;
		}
	}
	if (!strcmp(word, "numbered"))
		e->numbered = true;
	else if (!strcmp(word, "consumed"))
		e->observer = OBSERVER_CONSUME_SKB;
	else if (!strncmp(word, "observer=", 9))
		e->observer = observer_of(word + 9);
	else if (!strncmp(word, "error=", 6))
		e->error = error_of(word + 6);
	else if (!strncmp(word, "map=", 4))
		e->map_type = !strcmp(word, "map=xskmap")   ? BPF_MAP_TYPE_XSKMAP
			      : !strcmp(word, "map=devmap") ? BPF_MAP_TYPE_DEVMAP
							    : BPF_MAP_TYPE_CPUMAP;
	else if (!strncmp(word, "aux=", 4))
		e->aux = word + 4;
	else if (sscanf(word, "type=%u", &e->pkt_type) != 1 &&
		 sscanf(word, "proto=%hx", &e->protocol) != 1)
		fail_msg("no word %s", word);
}

/* "REASON PLACE WORD...": what a run makes of it, and `trace` if that is another class. */
static void take_line(void *arg, const char *reason, char *text)
{
	struct stagemap_event e = {.reason = strcmp(reason, "-") ? reason : "", .aux = ""};
	const char *place = recorded_word(&text);
	bool notes = false;
	struct verdict v, all;

	e.location = strcmp(place, "-") ? place : "";
	while (*text) {
		char *word = recorded_word(&text);

		if (strcmp(word, "note"))
			take_word(&e, word);
		else
			notes = true;
	}
	v = stagemap_judge(&e);
	all = judge_drop(&e);
	note_shown(&v);
	tell("%s %s %s", stage_name(v.stage), class_name(v.class), direction_names[v.direction]);
	if (netfilter_hook_names[v.hook])
		tell("hook %s", netfilter_hook_names[v.hook]);
	if (!v.known)
		tell("unknown");
	if (all.class != v.class)
		tell("then %s", class_name(all.class));
	if (notes)
		tell("| %s", v.note);
}

CASE(known_places)
{
	recorded_stories("tests/fixtures/reasons/places", take_line, NULL);
}

CASE(running_kernel)
{
	struct error err = {};
	struct reasons *r;
	const char **name;

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(reasons_open(&r, NULL, &err), 0);
	name = reasons_names(r);
	for (unsigned i = 0; i < reasons_count(r); i++)
		assert_has_a_stage(name[i]);
	free(name);
	reasons_free(r);
}

CASE(stages_have_names)
{
	for (enum stage i = 0; i < STAGE_COUNT; i++)
		assert_non_null(stage_facts[i].what);
	assert_string_equal(stage_name(STAGE_UDP_MEM), "udp_mem");
	assert_string_equal(stage_title(STAGE_QDISC), "queueing discipline");
	assert_string_equal(stage_name(STAGE_NONE), "none");
	assert_string_equal(stage_title(STAGE_NONE), "not a loss of another packet");
}

/* The last of the cases: a row without one could say anything. */
CASE(every_row_has_a_case)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		if (!shown[i])
			fail_msg("no case for row %u: %s @%s (%s)", i,
				 stagemap_rows[i].reasons ? stagemap_rows[i].reasons : "any",
				 stagemap_rows[i].locations ? stagemap_rows[i].locations : "any",
				 stagemap_rows[i].note);
	}
}

int main(void)
{
	return run_cases(read_fixtures, NULL);
}
