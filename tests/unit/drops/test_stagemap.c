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

/* What a line of the file asks for, and what it says of the answer. */
struct place {
	char reason[64], location[64], aux[64], stage[32], class[16];
	char then[16]; /* class in all traffic, by judge_drop(); "": not said */
	char direction[16], hook[32];
	struct stagemap_event e;
	bool unknown;
};

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

/* Takes a word behind stage and class. */
static void take_word(struct place *p, const char *word)
{
	static const struct {
		const char *word;
		unsigned flag;
	} flags[] = {{"sk", WATCH_SK},
		     {"dst", WATCH_DST},
		     {"nodev", WATCH_NO_DEV},
		     {"copy", WATCH_COPY},
		     {"live", WATCH_LIVE}};

	for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (!strcmp(word, flags[i].word)) {
			p->e.flags |= flags[i].flag;
			return;
		}
	}
	if (!strcmp(word, "unknown"))
		p->unknown = true;
	else if (!strcmp(word, "numbered"))
		p->e.numbered = true;
	else if (!strcmp(word, "consumed"))
		p->e.observer = OBSERVER_CONSUME_SKB;
	else if (!strncmp(word, "observer=", 9))
		p->e.observer = observer_of(word + 9);
	else if (!strncmp(word, "error=", 6))
		p->e.error = error_of(word + 6);
	else if (!strncmp(word, "map=", 4))
		p->e.map_type = !strcmp(word, "map=xskmap")   ? BPF_MAP_TYPE_XSKMAP
				: !strcmp(word, "map=devmap") ? BPF_MAP_TYPE_DEVMAP
							      : BPF_MAP_TYPE_CPUMAP;
	else if (sscanf(word, "aux=%63s", p->aux) != 1 && sscanf(word, "hook=%31s", p->hook) != 1 &&
		 sscanf(word, "then=%15s", p->then) != 1 &&
		 sscanf(word, "type=%u", &p->e.pkt_type) != 1 &&
		 sscanf(word, "proto=%hx", &p->e.protocol) != 1)
		snprintf(p->direction, sizeof(p->direction), "%s", word);
}

/* "output", "bridge_input" ... */
static bool is_hook(const char *name, enum netfilter_hook hook)
{
	char known[32];

	snprintf(known, sizeof(known), "%s",
		 netfilter_hook_names[hook] ? netfilter_hook_names[hook] : "none");
	for (char *blank; (blank = strchr(known, ' '));)
		*blank = '_';
	return !strcmp(known, name);
}

CASE(known_places)
{
	FILE *f = fopen("tests/fixtures/reasons/places", "r");
	char line[256];
	unsigned n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct place p = {};
		struct verdict v;
		int at = 0, more = 0;
		char word[64], *note; /* words of it */

		if (line[0] == '#' || line[0] == '\n')
			continue;
		line[strcspn(line, "\n")] = '\0';
		note = strstr(line, " note=");
		if (note)
			*note = '\0';
		assert_int_equal(sscanf(line, "%63s %63s %31s %15s%n", p.reason, p.location,
					p.stage, p.class, &at),
				 4);
		for (; sscanf(line + at, "%63s%n", word, &more) == 1; at += more)
			take_word(&p, word);
		p.e.reason = strcmp(p.reason, "-") ? p.reason : "";
		p.e.location = strcmp(p.location, "-") ? p.location : "";
		p.e.aux = p.aux;
		v = stagemap_judge(&p.e);
		note_shown(&v);
		if (strcmp(stage_name(v.stage), p.stage) || v.known == p.unknown ||
		    strcmp(class_name(v.class), p.class) ||
		    (*p.direction && strcmp(direction_names[v.direction], p.direction)) ||
		    (*p.hook && !is_hook(p.hook, v.hook)) ||
		    (note && !strstr(v.note, note + strlen(" note="))))
			fail_msg("%s is %s %s %s %s", line, stage_name(v.stage), class_name(v.class),
				 direction_names[v.direction],
				 v.hook ? netfilter_hook_names[v.hook] : "");
		v = judge_drop(&p.e);
		if (*p.then && strcmp(class_name(v.class), p.then))
			fail_msg("%s is %s in all traffic", line, class_name(v.class));
		n++;
	}
	fclose(f);
	assert_int_equal(n, 355);
}

CASE(hooks_have_names)
{
	assert_null(netfilter_hook_names[HOOK_NONE]);
	for (int hook = HOOK_NONE + 1; hook < HOOK_COUNT; hook++)
		assert_non_null(netfilter_hook_names[hook]);
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
