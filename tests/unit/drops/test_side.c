// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* On which side of the balance a drop is, for each phase of a packet's way. */
#include "cases.h"
#include <stdio.h>
#include <string.h>

#include "drops/balance.h"
#include "recorded.h"
#include "watch_abi.h"

/* "IN OUT IN?": at the edge, inside, and at a stacked device. */
static void tell_sides(const struct verdict *v, const char *location, uint32_t flags)
{
	static const char *const names[SIDES] = {"in", "out", "none", "expected", "before"};
	struct judged_cause c = {.verdict = *v};

	snprintf(c.location, sizeof(c.location), "%s", location);
	for (int role = ROLE_EDGE; role <= ROLE_STACKED; role++) {
		const struct balance_cause key = {.role = role, .flags = flags};
		bool sure;
		const enum balance_side side = side_of(&c, &key, &sure);

		tell("%s%s", names[side], sure ? "" : "?");
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	static const uint32_t flags[] = {0, BALANCE_OWN, BALANCE_RENAMED};
	struct stagemap_event e = {.aux = "", .observer = OBSERVER_KFREE_SKB};
	struct verdict v = {.stage = STAGE_NETFILTER, .class = CLASS_LOSS};

	if (!strcmp(verb, "drop")) {
		e.reason = recorded_word(&text);
		e.location = text;
		for (unsigned i = 0; i < LENGTH(flags); i++) {
			e.flags = flags[i] & BALANCE_OWN ? WATCH_SK : 0;
			v = stagemap_judge(&e);
			tell(i == 0 ? "" : i == 1 ? "| own" : "| renamed");
			tell_sides(&v, e.location, flags[i]);
		}
	}
	for (int hook = HOOK_NONE + 1; hook < HOOK_COUNT && !strcmp(verb, "hooks"); hook++) {
		v.hook = hook;
		tell("| %s", netfilter_hook_names[hook]);
		tell_sides(&v, "nft_do_chain", 0);
		tell("own");
		tell_sides(&v, "nft_do_chain", BALANCE_OWN);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/sides", take_line, NULL);
}

/* An expected end belongs to a packet that had entered. For leftovers, the arrivals decide. */
CASE(ends_that_are_no_loss_here)
{
	struct judged_cause c = {.verdict = {.stage = STAGE_IP_FRAG}};
	struct balance_cause key = {.role = ROLE_EDGE};
	bool sure;

	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	key.flags = BALANCE_INCOMPLETE;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_BEFORE);
	c.verdict.stage = STAGE_UDP_LOOKUP;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	c.verdict.class = CLASS_SUSPECTED;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_INSIDE);
	c.verdict.class = CLASS_EXPECTED;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_EXPECTED);
	c.verdict.stage = STAGE_NIC_RING; /* before its entry */
	assert_int_equal(side_of(&c, &key, &sure), SIDE_NONE);
	c.verdict.class = CLASS_NONE;
	assert_int_equal(side_of(&c, &key, &sure), SIDE_NONE);
}

/* As the kernel has their names: other strings follow. */
CASE(kinds_of_links)
{
	static const struct {
		const char *name;
		unsigned role;
	} kinds[] = {{"veth", 1},    {"macvlan", 3},	{"macvtap", 0}, {"vlan", 7},
		     {"ip6gre", 15}, {"ip6gretap", 16}, {"tun", 0},	{"bridge", 6}};
	struct link_kind links[LINK_KINDS] = {};
	uint8_t roles[LINK_KINDS];

	for (unsigned i = 0; i < LINK_KINDS; i++)
		roles[i] = (uint8_t)(i + 1);
	link_kinds_fill(links, roles);
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		char text[] = "next next next next";
		union link_name found;
		uint64_t role = 0;

		memcpy(text, kinds[i].name, strlen(kinds[i].name) + 1);
		memcpy(found.name, text, sizeof(found.name));
		for (unsigned k = LINK_KINDS; k-- > 0;) {
			if ((found.word & links[k].mask.word) == links[k].is.word)
				role = links[k].role;
		}
		assert_int_equal(role, kinds[i].role);
	}
}
