// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The meaning of XDP losses and of packets freed as consumed. tests/bpf and tests/net test the
 * events.
 */
#include <string.h>

#include "cases.h"
#include "drops/cause.h"
#include "drops/watch.h"
#include "recorded.h"

static const char *const kinds[] = {
	[XDPLOSS_REDIRECT] = "redirect",     [XDPLOSS_EXCEPTION] = "exception",
	[XDPLOSS_DEVMAP] = "devmap",	     [XDPLOSS_BULK_TX] = "bulk_tx",
	[XDPLOSS_CPUMAP_QUEUE] = "queue",    [XDPLOSS_CPUMAP_ALLOC] = "alloc",
	[XDPLOSS_CPUMAP_PROGRAM] = "program"};

#define KEY(member) FIELD(struct xdploss_key, member)
static const struct recorded_field key_fields[] = {
	FIELD_ENUM(struct xdploss_key, kind, kinds), KEY(flags), KEY(act), KEY(map_type), KEY(err),
	KEY(from), {0}};

static void take_line(void *arg, const char *verb, char *text)
{
	struct judged_cause beside, instead;
	struct xdploss_key key = {};

	if (strcmp(verb, "loss"))
		return;
	recorded_read(key_fields, text, &key);
	xdplosses_judge(&beside, &key, XDPLOSS_BESIDE_KFREE);
	xdplosses_judge(&instead, &key, XDPLOSS_INSTEAD_OF_KFREE);
	tell("'%s' %s %s %s, %s or %s", beside.reason, beside.location,
	     stage_name(beside.verdict.stage), direction_names[beside.verdict.direction],
	     class_name(beside.verdict.class), class_name(instead.verdict.class));
	assert_true(*beside.verdict.note);
}

CASE(one_loss_one_book)
{
	recorded_stories("tests/fixtures/reasons/xdp", take_line, NULL);
}

CASE(names_of_programs)
{
	char name[40];

	assert_string_equal(xdplosses_program(0, name, sizeof(name)), "");
	assert_string_equal(xdplosses_map(0, name, sizeof(name)), "");
	assert_string_equal(xdplosses_program(UINT32_MAX, name, sizeof(name)), "[4294967295]");
}

CASE(places_of_the_used_up)
{
	struct trace_range r[WATCH_CONSUMED_MAX];
	struct error err = {0};
	struct ksyms *k;
	unsigned n;

	assert_int_equal(ksyms_open(&k, "tests/fixtures/kallsyms/small", &err), 0);
	n = consumed_ranges(k, r);
	assert_int_equal(n, 1); /* of the functions wanted the file has but one */
	assert_int_equal(r[0].start, 0xffffffff81002000);
	assert_int_equal(r[0].end - r[0].start, 0x1000);
	ksyms_free(k);
}
