// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks the running kernel. An empty answer is valid. */
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/nl.h"
#include "host/counters.h"

CASE(families)
{
	assert_true(genl_family(NULL, "nlctrl") > 0);
	assert_int_equal(genl_family(NULL, "no_such_family"), -ENOENT);
}

CASE(features)
{
	uint64_t features = UINT64_MAX;
	int ret = xdp_features_read(NULL, 1, &features);

	if (ret != -ENOENT) /* before Linux 6.3 */
		assert_int_equal(ret, 0);
	if (!ret) /* the loopback device has no XDP in its driver */
		assert_int_equal(features & XDP_FEATURE_ZEROCOPY, 0);
	assert_true(xdp_features_read(NULL, UINT32_MAX >> 1, &features) < 0);
}

CASE(statistics)
{
	struct qstat *list;
	int n = qstats_read(NULL, &list);

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		assert_true(list[i].ifindex > 0);
		assert_true(!strncmp(list[i].name, "qstat:rx-", 9) ||
			    !strncmp(list[i].name, "qstat:tx-", 9));
	}
	free(list);
}

/* The names in a sample, which the table contains. */
CASE(names)
{
	char name[NIC_NAME];

	qstat_name("rx-hw-drops", -1, name);
	assert_string_equal(name, "qstat:rx-hw-drops");
	qstat_name("rx-hw-drops", 0, name);
	assert_string_equal(name, "qstat:rx-0-hw-drops");
	qstat_name("tx-hw-drop-ratelimits", 12, name);
	assert_string_equal(name, "qstat:tx-12-hw-drop-ratelimits");
	qstat_name("tx-hw-drop-ratelimits", 99999, name);
	assert_string_equal(name, "qstat:tx-99999-hw-drop-ratelimits");
}

CASE(loopback)
{
	static const char *const lo[] = {"lo", NULL}, *const none[] = {"no_such_device", NULL};
	struct counters_scope scope = {"here", NULL, lo,
				       COUNTERS_DEVICES | COUNTERS_DRIVERS | COUNTERS_QUEUES};
	struct counters c = {0};
	uint64_t v;

	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_int_equal(c.n_devices, 1);
	assert_int_equal(c.n, 0); /* not by name */
	assert_true(c.devices[0].nic.n >= 10);
	/* of losses only: the table has a row for any of a device of software */
	for (unsigned i = 0; i < c.devices[0].nic.n; i++)
		assert_string_not_equal(c.devices[0].nic.at[i].name, "link:rx_packets");
	scope.what |= COUNTERS_NAMES;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_true(counters_get(&c, "here", "lo:rx_packets", &v));
	assert_true(counters_get(&c, "here", "lo:rx_dropped", &v));
	assert_ptr_equal(counters_device(&c, "here", "lo", 0), c.devices);
	assert_null(counters_device(&c, "there", "lo", 0));
	scope.what |= COUNTERS_ALL;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_true(c.n_devices >= 2);
	scope = (struct counters_scope){"here", NULL, none, COUNTERS_RUN};
	assert_int_equal(counters_read(&c, &scope, 1), -ENODEV);
	counters_free(&c);
}
