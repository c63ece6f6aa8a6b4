// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The commands that create a test network. Nothing is run. */
#include "cases.h"

#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "host/lab.h"

/* Returns how many steps contain the text. */
static unsigned steps_with(enum lab_topology topology, bool ip4_only, const char *text)
{
	const struct lab_spec spec = {.topology = topology, .ip4_only = ip4_only};
	const struct recipe_step *s;
	struct recipe r = RECIPE;
	unsigned found = 0;
	struct lab lab;

	lab_plan(&lab, &spec);
	lab_recipe(&lab, &spec, &r);
	s = r.steps.at;
	for (unsigned i = 0; i < r.steps.n; i++)
		found += strstr(s[i].text, text) != NULL;
	list_free(&r.steps);
	return found;
}

/* Interfaces that have no IPv6 report no groups, which a run would wait for. */
CASE(without_ipv6)
{
	if (access("/proc/sys/net/ipv6", F_OK))
		skip();
	for (enum lab_topology t = LAB_PAIR; t <= LAB_VXLAN; t++) {
		const unsigned spaces = t == LAB_ROUTER || t == LAB_BRIDGE ? 3 : 2;

		assert_int_equal(steps_with(t, true, "disable_ipv6=1"), 2 * spaces);
		assert_int_equal(steps_with(t, true, "net/ipv6/"), 2 * spaces);
		assert_int_equal(steps_with(t, true, "2001:2:"), 0);
		assert_int_equal(steps_with(t, true, "198.18."), steps_with(t, false, "198.18."));
		assert_int_equal(steps_with(t, false, "disable_ipv6=0"), 2 * spaces);
		assert_true(steps_with(t, false, "2001:2:") > 0);
	}
}
