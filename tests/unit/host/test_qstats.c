// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks the running kernel, whatever it has: nothing is an answer too. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nl.h"
#include "host/counters.h"

static void families(void **state)
{
	(void)state;
	assert_true(genl_family(NULL, "nlctrl") > 0);
	assert_int_equal(genl_family(NULL, "no_such_family"), -ENOENT);
}

static void features(void **state)
{
	struct xdp_features *f;
	int n = xdp_features_read(NULL, &f);

	(void)state;
	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		assert_true(f[i].ifindex > 0);
	free(f);
}

static void statistics(void **state)
{
	struct qstats *device, *all;
	int n = qstats_read(NULL, false, &device), m = qstats_read(NULL, true, &all);

	(void)state;
	assert_true(n >= 0);
	assert_true(m >= n);
	for (int i = 0; i < m; i++) {
		assert_true(all[i].ifindex > 0);
		assert_true(all[i].present >> QSTATS == 0);
		assert_int_equal(all[i].queue < 0, i < n);
	}
	free(device);
	free(all);
}

/* The names under which they come into a sample, which the table knows. */
static void names(void **state)
{
	const struct qstats device = {.queue = -1, .present = 1u << QSTAT_RX_HW_DROPS};
	const struct qstats queue = {.queue = 12,
				     .tx = true,
				     .present = 1u << QSTAT_TX_HW_DROP_RATELIMITS,
				     .value[QSTAT_TX_HW_DROP_RATELIMITS] = 3};
	struct nic_sample s = {0};

	(void)state;
	assert_int_equal(qstats_sample(&s, &device), 0);
	assert_int_equal(qstats_sample(&s, &queue), 0);
	assert_int_equal(s.n, 2);
	assert_string_equal(s.at[0].name, "qstat:rx-hw-drops");
	assert_string_equal(s.at[1].name, "qstat:tx-12-hw-drop-ratelimits");
	assert_int_equal(s.at[1].value, 3);
	nic_sample_free(&s);
}

static void loopback(void **state)
{
	static const char *const lo[] = {"lo", NULL}, *const none[] = {"no_such_device", NULL};
	struct counters_scope scope = {"here", NULL, lo,
				       COUNTERS_DEVICES | COUNTERS_DRIVERS | COUNTERS_QUEUES};
	struct counters c = {0};

	(void)state;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_int_equal(c.n_devices, 1);
	assert_int_equal(c.n, 0); /* not by name */
	assert_true(c.devices[0].nic.n >= 10);
	assert_ptr_equal(counters_device(&c, "here", "lo", 0), c.devices);
	assert_null(counters_device(&c, "there", "lo", 0));
	scope.what |= COUNTERS_ALL;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_true(c.n_devices >= 2);
	scope = (struct counters_scope){"here", NULL, none, COUNTERS_RUN};
	assert_int_equal(counters_read(&c, &scope, 1), -ENODEV);
	counters_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families),   cmocka_unit_test(features),
		cmocka_unit_test(statistics), cmocka_unit_test(names),
		cmocka_unit_test(loopback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
