// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The stage map against the enums of kernels and against what was measured on them. */
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
#include "trace_abi.h"

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

/*
 * Reasons of the running kernel that no row names: returns how many, and writes their names to
 * `buf`, separated by blanks, as far as they fit.
 */
static unsigned missing_rows(const struct reasons *r, char *buf, unsigned size)
{
	unsigned missing = 0, len = 0;
	const char **name = reasons_names(r);

	if (size)
		buf[0] = '\0';
	for (unsigned i = 0; i < reasons_count(r); i++) {
		if (has_reason(name[i]))
			continue;
		missing++;
		if (len < size)
			len += snprintf(buf + len, size - len, "%s%s", len ? " " : "", name[i]);
	}
	free(name);
	return missing;
}

CASE(every_reason_has_a_row)
{
	for (unsigned i = 0; i < name_count; i++) {
		if (!has_reason(names[i]))
			fail_msg("no row for %s", names[i]);
		/* At an unknown place too, except the one reason that says nothing. */
		if (strcmp(names[i], "NOT_SPECIFIED") &&
		    !stagemap_judge(&(struct stagemap_event){.reason = names[i],
							     .location = "nowhere",
							     .aux = ""})
			     .known)
			fail_msg("%s is unknown at an unknown place", names[i]);
	}
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

/* No row may stand behind one that takes all it could take. */
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

/* Takes a word behind stage and class. */
static void take_word(struct place *p, const char *word)
{
	static const struct {
		const char *word;
		unsigned flag;
	} flags[] = {{"sk", CAUSE_SK}, {"dst", CAUSE_DST}, {"nodev", CAUSE_NO_DEV},
		     {"copy", CAUSE_COPY}};

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
		char word[64];

		if (line[0] == '#' || line[0] == '\n')
			continue;
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
		    (*p.hook && !is_hook(p.hook, v.hook)))
			fail_msg("%sis %s %s %s %s", line, stage_name(v.stage), class_name(v.class),
				 direction_names[v.direction],
				 v.hook ? netfilter_hook_names[v.hook] : "");
		v = judge_drop(&p.e);
		if (*p.then && strcmp(class_name(v.class), p.then))
			fail_msg("%sis %s in all traffic", line, class_name(v.class));
		n++;
	}
	fclose(f);
	assert_int_equal(n, 334);
}

/* Reasons of a kernel of tomorrow: as many names as fit, and not a byte more. */
CASE(names_that_do_not_fit)
{
	char path[] = "/tmp/pktledger-btf-XXXXXX", list[32], all[64];
	struct btf *btf = btf__new_empty();
	int fd = mkstemp(path);
	struct error err = {};
	struct reasons *r;
	const void *raw;
	uint32_t size;

	assert_true(btf__add_enum(btf, "skb_drop_reason", 4) > 0);
	for (int i = 0; i < 3; i++) {
		snprintf(all, sizeof(all), "SKB_DROP_REASON_OF_TOMORROW_%d", i);
		assert_int_equal(btf__add_enum_value(btf, all, 3 + i), 0);
	}
	raw = btf__raw_data(btf, &size);
	assert_int_equal(write(fd, raw, size), size);
	close(fd);
	assert_int_equal(reasons_open(&r, path, &err), 0);
	unlink(path);
	assert_int_equal(missing_rows(r, all, sizeof(all)), 3);
	assert_string_equal(all, "OF_TOMORROW_0 OF_TOMORROW_1 OF_TOMORROW_2");
	for (unsigned room = 0; room < sizeof(list) / 2; room++) {
		memset(list, '#', sizeof(list));
		assert_int_equal(missing_rows(r, list, room), 3);
		for (size_t i = room; i < sizeof(list); i++)
			assert_int_equal(list[i], '#');
		if (room)
			assert_int_equal(strncmp(list, all, strlen(list)), 0);
	}
	/* the second name is cut, and the third does not come behind it */
	memset(list, '#', sizeof(list));
	missing_rows(r, list, 20);
	assert_string_equal(list, "OF_TOMORROW_0 OF_TO");
	assert_int_equal(list[20], '#');
	reasons_free(r);
	btf__free(btf);
}

CASE(hooks_have_names)
{
	assert_null(netfilter_hook_names[HOOK_NONE]);
	for (int hook = HOOK_NONE + 1; hook < HOOK_COUNT; hook++)
		assert_non_null(netfilter_hook_names[hook]);
}

CASE(observers)
{
	static const struct {
		enum trace_observer observer;
		int error;
		uint32_t map_type;
		unsigned flags;
		enum stage stage;
		enum direction direction;
		const char *note; /* a word of it */
	} rows[] = {
		{OBSERVER_REDIRECT_ERR, ENOBUFS, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "RX ring was full"},
		{OBSERVER_REDIRECT_ERR, ENOMEM, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "fill ring was empty"},
		{OBSERVER_REDIRECT_ERR, ENOSPC, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "larger than the socket's"},
		{OBSERVER_REDIRECT_ERR, ENXIO, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "not bound"},
		{OBSERVER_REDIRECT_ERR, EIO, BPF_MAP_TYPE_XSKMAP, 0, STAGE_XSK, DIRECTION_RX,
		 "redirect to the socket failed"},
		{OBSERVER_REDIRECT_ERR, ENETDOWN, BPF_MAP_TYPE_DEVMAP, 0, STAGE_XDP, DIRECTION_RX,
		 "that is down"},
		{OBSERVER_REDIRECT_ERR, ENOSPC, BPF_MAP_TYPE_CPUMAP, 0, STAGE_XDP, DIRECTION_RX,
		 "could not be queued"},
		{OBSERVER_REDIRECT_ERR, EINVAL, 0, 0, STAGE_XDP, DIRECTION_RX, "does not exist"},
		{OBSERVER_REDIRECT_ERR, EIO, 0, 0, STAGE_XDP, DIRECTION_RX, "redirect failed"},
		{OBSERVER_REDIRECT_ERR, ENETDOWN, BPF_MAP_TYPE_DEVMAP, CAUSE_LIVE, STAGE_TX_DEVICE,
		 DIRECTION_TX, "that is down"},
		{OBSERVER_REDIRECT_ERR, ENXIO, BPF_MAP_TYPE_XSKMAP, CAUSE_LIVE, STAGE_TX_DEVICE,
		 DIRECTION_TX, "redirect failed"},
		{OBSERVER_XDP_EXCEPTION, 0, 0, 0, STAGE_XDP, DIRECTION_RX, "aborted"},
		{OBSERVER_XDP_EXCEPTION, 0, 0, CAUSE_LIVE, STAGE_XDP, DIRECTION_RX, "aborted"},
		{OBSERVER_DEVMAP_XMIT, ENXIO, 0, 0, STAGE_XDP, DIRECTION_FORWARD,
		 "the target device"},
		{OBSERVER_DEVMAP_XMIT, ENXIO, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX, "NAPI"},
		{OBSERVER_DEVMAP_XMIT, 0, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX,
		 "ring was full"},
		{OBSERVER_DEVMAP_XMIT, EIO, 0, CAUSE_LIVE, STAGE_TX_DEVICE, DIRECTION_TX,
		 "refused the frames"},
		{OBSERVER_BULK_TX, ENXIO, 0, 0, STAGE_XDP, DIRECTION_TX, "XDP_TX"},
		{OBSERVER_CPUMAP, 0, 0, 0, STAGE_XDP, DIRECTION_RX, "target CPU"},
		{OBSERVER_SOCKET_QUEUE, 0, 0, 0, STAGE_SOCKET_CLOSE, DIRECTION_RX, "unread"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stagemap_event e = {
			.reason = "",
			.location = "",
			.aux = "",
			.observer = rows[i].observer,
			.error = rows[i].error,
			.flags = rows[i].flags,
			.map_type = rows[i].map_type,
		};
		struct verdict v = stagemap_judge(&e);

		assert_int_equal(v.stage, rows[i].stage);
		assert_int_equal(v.direction, rows[i].direction);
		assert_int_equal(v.class, CLASS_LOSS);
		if (!strstr(v.note, rows[i].note))
			fail_msg("row %u: %s", i, v.note);
		assert_true(v.known);
	}
}

CASE(running_kernel)
{
	struct error err = {};
	struct reasons *r;
	char list[1024];

	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(reasons_open(&r, NULL, &err), 0);
	if (missing_rows(r, list, sizeof(list)))
		fail_msg("reasons of this kernel without a row: %s", list);
	reasons_free(r);
}

CASE(stages_have_names)
{
	for (enum stage i = 0; i < STAGE_COUNT; i++) /* rows are found by their place */
		assert_int_equal(stage_facts[i].stage, i);
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
