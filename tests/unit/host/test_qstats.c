// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks the running kernel. An empty answer is valid. tests/fixtures/nic/answers has whole ones. */
#include "cases.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "host/nl.h"
#include "host/counters.h"
#include "recorded.h"

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
			    !strncmp(list[i].name, "qstat:tx-", 9) ||
			    !strncmp(list[i].name, "pool:", 5));
	}
	free(list);
}

/* One answer of the kernel, and all that was read of several. */
struct answers {
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh;
	struct nlattr *nest[4]; /* that are not at their end */
	unsigned depth;
	struct list qstats, traps;
	struct nic_sample sample[2];
};

static void begin(struct answers *a)
{
	list_free(&a->qstats);
	list_free(&a->traps);
	nic_sample_free(&a->sample[0]);
	nic_sample_free(&a->sample[1]);
	*a = (struct answers){.qstats.size = sizeof(struct qstat),
			      .traps.size = sizeof(struct hw_trap)};
}

/* "TYPE VALUE...": an attribute of one number, or of several. */
static void put_numbers(struct nlmsghdr *nlh, size_t size, uint16_t type, char *text)
{
	uint8_t data[64];
	size_t n = 0;

	for (; *text; n += size) {
		const uint64_t value = strtoull(recorded_word(&text), NULL, 10);

		memcpy(data + n, &value, size);
	}
	mnl_attr_put(nlh, type, n, data);
}

static void tell_rows(const struct answers *a)
{
	for (unsigned i = 0; i < a->qstats.n; i++) {
		const struct qstat *q = (struct qstat *)a->qstats.at + i;

		assert_non_null(nic_row_find(nic_common_rows, q->name, NULL));
		tell("interface %u %s %d;", (unsigned)q->ifindex, q->name, (int)q->value);
	}
	for (unsigned i = 0; i < a->traps.n; i++) {
		const struct hw_trap *t = (struct hw_trap *)a->traps.at + i;

		tell("%s %s %d;", t->device, t->name, (int)t->lost);
	}
}

/* By the table: what is lost is lost once, whatever else a driver has. */
static void tell_losses(const struct answers *a, const char *driver)
{
	struct nic_plan *plan = nic_plan_new(driver, &a->sample[1]);
	struct nic_loss loss[8];
	const unsigned n = nic_losses(plan, &a->sample[0], &a->sample[1], loss, LENGTH(loss));

	assert_in_range(n, 1, LENGTH(loss));
	for (unsigned i = 0; i < n; i++)
		tell("%s %d;", loss[i].name, (int)loss[i].packets);
	nic_plan_free(plan);
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct answers *a = arg;
	const int type = atoi(text);
	char name[NIC_NAME];

	if (!strcmp(verb, "case")) {
		begin(a);
	} else if (!strcmp(verb, "answer")) {
		a->nlh = genl_header(a->buf, 20, (uint8_t)type, 0);
	} else if (*verb == 'u') {
		recorded_word(&text);
		put_numbers(a->nlh, (size_t)atoi(verb + 1) / 8, (uint16_t)type, text);
	} else if (!strcmp(verb, "text")) {
		recorded_word(&text);
		mnl_attr_put_strz(a->nlh, (uint16_t)type, text);
	} else if (!strcmp(verb, "nest")) {
		assert_true(a->depth < LENGTH(a->nest));
		a->nest[a->depth++] = mnl_attr_nest_start(a->nlh, (uint16_t)type);
	} else if (!strcmp(verb, "end")) {
		mnl_attr_nest_end(a->nlh, a->nest[--a->depth]);
	} else if (!strcmp(verb, "qstats")) {
		qstats_add(a->nlh, &a->qstats);
	} else if (!strcmp(verb, "traps")) {
		assert_int_equal(hw_trap_add(a->nlh, &a->traps), MNL_CB_OK);
	} else if (!strcmp(verb, "before") || !strcmp(verb, "after")) {
		standard_stats_add(a->nlh, &a->sample[*verb == 'a']);
	} else if (!strcmp(verb, "own")) { /* a counter of `ethtool -S`: 0, then 5 */
		for (unsigned i = 0; i < 2; i++)
			nic_sample_add(&a->sample[i], text, 5 * i);
	} else if (!strcmp(verb, "losses")) {
		tell_losses(a, text);
	} else if (!strcmp(verb, "name")) {
		recorded_word(&text);
		qstat_name(text, type, name);
		tell("%s", name);
	} else {
		assert_string_equal(verb, "rows");
		tell_rows(a);
	}
}

CASE(recorded)
{
	struct answers a = {};

	recorded_stories("tests/fixtures/nic/answers", take_line, &a);
	begin(&a);
}

/* An interface without any of them is not asked again, unless its link was down. */
CASE(silent_interfaces)
{
	const struct {
		bool hardware;
		unsigned flags;
		uint8_t silent;
	} cases[] = {{false, IFF_RUNNING, 0}, {true, 0, 0}, {true, IFF_RUNNING, 7}};

	for (unsigned i = 0; i < LENGTH(cases); i++) {
		const struct link_info lo = {
			.ifindex = 1, .hardware = cases[i].hardware, .flags = cases[i].flags};
		struct nic_sample s = {0};
		uint8_t silent = 0;

		standard_stats_read(NULL, &lo, &s, &silent);
		assert_int_equal(silent, cases[i].silent);
		assert_int_equal(s.n, 0);
	}
}

CASE(traps)
{
	struct hw_trap *list;

	assert_true(hw_traps_read(NULL, &list) >= -ENOENT);
	free(list);
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
