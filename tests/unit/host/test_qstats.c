// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Asks the running kernel. An empty answer is valid. */
#include "cases.h"

#include <errno.h>
#include <linux/devlink.h>
#include <linux/ethtool_netlink.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
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
			    !strncmp(list[i].name, "qstat:tx-", 9) ||
			    !strncmp(list[i].name, "pool:", 5));
	}
	free(list);
}

/* As the kernel sends them: for an interface, for a queue, and for a page pool. */
CASE(statistics_of_messages)
{
	enum { DEV_IFINDEX = 1, QUEUE_TYPE, QUEUE_ID, RX_PACKETS = 8, RX_HW_DROPS = 13 };
	enum { POOL_INFO = 1, POOL_ID = 1, POOL_IFINDEX, ALLOC_EMPTY = 11, RING_FULL = 17 };
	enum { PAGE_POOL_STATS_GET = 9, QSTATS_GET = 12 };
	static const struct {
		const char *name;
		uint64_t value;
	} wanted[] = {{"qstat:rx-hw-drops", 40},
		      {"qstat:rx-2-packets", 70},
		      {"pool:alloc-empty", 5},
		      {"pool:recycle-ring-full", 3}};
	struct list rows = {.size = sizeof(struct qstat)};
	struct nlmsghdr *nlh;
	struct nlattr *nest;
	char buf[NL_REQUEST_SIZE];

	nlh = genl_header(buf, 20, QSTATS_GET, 0);
	mnl_attr_put_u32(nlh, DEV_IFINDEX, 7);
	mnl_attr_put_u32(nlh, RX_HW_DROPS, 40);
	qstats_add(nlh, &rows);
	nlh = genl_header(buf, 20, QSTATS_GET, 0);
	mnl_attr_put_u32(nlh, DEV_IFINDEX, 7);
	mnl_attr_put_u32(nlh, QUEUE_TYPE, 0);
	mnl_attr_put_u32(nlh, QUEUE_ID, 2);
	mnl_attr_put_u64(nlh, RX_PACKETS, 70);
	qstats_add(nlh, &rows);
	nlh = genl_header(buf, 20, PAGE_POOL_STATS_GET, 0);
	nest = mnl_attr_nest_start(nlh, POOL_INFO);
	mnl_attr_put_u32(nlh, POOL_ID, 19);
	mnl_attr_put_u32(nlh, POOL_IFINDEX, 7);
	mnl_attr_nest_end(nlh, nest);
	mnl_attr_put_u32(nlh, RX_PACKETS, 99); /* alloc-fast has the same number */
	mnl_attr_put_u32(nlh, ALLOC_EMPTY, 5);
	mnl_attr_put_u32(nlh, RX_HW_DROPS + 1, 99); /* recycle-cached */
	mnl_attr_put_u32(nlh, RING_FULL, 3);
	qstats_add(nlh, &rows);
	assert_int_equal(rows.n, LENGTH(wanted));
	for (unsigned i = 0; i < rows.n; i++) {
		const struct qstat *q = (struct qstat *)rows.at + i;

		assert_string_equal(q->name, wanted[i].name);
		assert_int_equal(q->value, wanted[i].value);
		assert_int_equal(q->ifindex, 7);
		assert_non_null(nic_row_find(nic_common_rows, q->name, NULL));
	}
	list_free(&rows);
}

/* An answer of the ethtool family for the interface with the index 7. */
static struct nlmsghdr *answer(char *buf, uint8_t command, uint16_t header)
{
	struct nlmsghdr *nlh = genl_header(buf, 20, command, 0);
	struct nlattr *nest = mnl_attr_nest_start(nlh, header);

	mnl_attr_put_u32(nlh, ETHTOOL_A_HEADER_DEV_INDEX, 7);
	mnl_attr_put_strz(nlh, ETHTOOL_A_HEADER_DEV_NAME, "eth0");
	mnl_attr_nest_end(nlh, nest);
	return nlh;
}

static void put_group(struct nlmsghdr *nlh, uint32_t group, uint16_t stat, uint64_t value,
		      uint16_t other)
{
	struct nlattr *grp = mnl_attr_nest_start(nlh, ETHTOOL_A_STATS_GRP), *nest;

	mnl_attr_put_u32(nlh, ETHTOOL_A_STATS_GRP_ID, group);
	mnl_attr_put_u32(nlh, ETHTOOL_A_STATS_GRP_SS_ID, 17);
	for (unsigned i = 0; i < 2; i++) { /* each counter has a nest of its own */
		nest = mnl_attr_nest_start(nlh, ETHTOOL_A_STATS_GRP_STAT);
		mnl_attr_put_u64(nlh, i ? other : stat, i ? 99 : value);
		mnl_attr_nest_end(nlh, nest);
	}
	mnl_attr_nest_end(nlh, grp);
}

/* The same counters with everything `more` higher. */
static void read_standard(struct nic_sample *s, uint64_t more)
{
	static const uint64_t lanes[] = {6, 4, 2};
	uint64_t blocks[LENGTH(lanes)];
	struct nlattr *nest;
	struct nlmsghdr *nlh;
	char buf[NL_REQUEST_SIZE];

	nlh = answer(buf, ETHTOOL_MSG_STATS_GET_REPLY, ETHTOOL_A_STATS_HEADER);
	put_group(nlh, ETHTOOL_STATS_ETH_MAC, ETHTOOL_A_STATS_ETH_MAC_15_RX_INT_ERR, 100 + more,
		  ETHTOOL_A_STATS_ETH_MAC_2_TX_PKT);
	put_group(nlh, ETHTOOL_STATS_RMON, ETHTOOL_A_STATS_RMON_JABBER, 3 + more,
		  ETHTOOL_A_STATS_RMON_UNDERSIZE);
	standard_stats_add(nlh, s);
	nlh = answer(buf, ETHTOOL_MSG_FEC_GET_REPLY, ETHTOOL_A_FEC_HEADER);
	nest = mnl_attr_nest_start(nlh, ETHTOOL_A_FEC_STATS);
	for (unsigned i = 0; i < LENGTH(lanes); i++)
		blocks[i] = lanes[i] + more;
	mnl_attr_put(nlh, ETHTOOL_A_FEC_STAT_UNCORR, sizeof(blocks), blocks);
	mnl_attr_nest_end(nlh, nest);
	standard_stats_add(nlh, s);
	nlh = answer(buf, ETHTOOL_MSG_LINKSTATE_GET_REPLY, ETHTOOL_A_LINKSTATE_HEADER);
	mnl_attr_put_u8(nlh, ETHTOOL_A_LINKSTATE_LINK, 1);
	mnl_attr_put_u32(nlh, 7, (uint32_t)(1 + more)); /* ETHTOOL_A_LINKSTATE_EXT_DOWN_CNT */
	standard_stats_add(nlh, s);
}

/* By the table: what is lost is lost once, for an unknown driver and for one with the same counter. */
CASE(standard_statistics)
{
	static const struct {
		const char *driver, *own; /* a counter of `ethtool -S` */
		const char *names;	  /* of the losses and events */
	} cases[] = {
		{"", "rx_packets", "rmon-etherStatsJabbers fec-uncorrectable_blocks link-down-events "
				   "eth-mac-FramesLostDueToIntMACRcvError "},
		{"ixgbe", "rx_missed_errors",
		 "rx_missed_errors rmon-etherStatsJabbers fec-uncorrectable_blocks link-down-events "},
	};

	for (unsigned i = 0; i < LENGTH(cases); i++) {
		struct nic_sample before = {0}, after = {0};
		struct nic_loss loss[8];
		struct nic_plan *plan;
		char names[256] = "";
		unsigned n;

		nic_sample_add(&before, cases[i].own, 0);
		nic_sample_add(&after, cases[i].own, 5);
		read_standard(&before, 0);
		read_standard(&after, 5);
		plan = nic_plan_new(cases[i].driver, &after);
		n = nic_losses(plan, &before, &after, loss, LENGTH(loss));
		assert_in_range(n, 1, LENGTH(loss));
		for (unsigned k = 0; k < n; k++) {
			assert_int_equal(loss[k].packets, 5);
			strcat(strcat(names, loss[k].name), " ");
		}
		assert_string_equal(names, cases[i].names);
		nic_plan_free(plan);
		nic_sample_free(&before);
		nic_sample_free(&after);
	}
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

/* What the hardware drops, and what it hands up only for the report. */
CASE(traps)
{
	static const struct {
		const char *name;
		uint8_t type, action;
		uint64_t packets, dropped, lost;
	} traps[] = {
		{"blackhole_route", DEVLINK_TRAP_TYPE_DROP, DEVLINK_TRAP_ACTION_DROP, 0, 70, 70},
		{"ingress_vlan_filter", DEVLINK_TRAP_TYPE_DROP, DEVLINK_TRAP_ACTION_TRAP, 5, 2, 7},
		{"ttl_value_is_too_small", DEVLINK_TRAP_TYPE_EXCEPTION, DEVLINK_TRAP_ACTION_TRAP, 9, 0, 0},
		{"lldp", DEVLINK_TRAP_TYPE_CONTROL, DEVLINK_TRAP_ACTION_TRAP, 9, 0, 0},
	};
	struct list rows = {.size = sizeof(struct hw_trap)};
	const struct hw_trap *found;
	struct hw_trap *list;
	char buf[NL_REQUEST_SIZE];

	for (unsigned i = 0; i < LENGTH(traps); i++) {
		struct nlmsghdr *nlh = genl_header(buf, 20, DEVLINK_CMD_TRAP_NEW, 0);
		struct nlattr *nest;

		mnl_attr_put_strz(nlh, DEVLINK_ATTR_BUS_NAME, "pci");
		mnl_attr_put_strz(nlh, DEVLINK_ATTR_DEV_NAME, "0000:01:00.0");
		mnl_attr_put_strz(nlh, DEVLINK_ATTR_TRAP_NAME, traps[i].name);
		mnl_attr_put_u8(nlh, DEVLINK_ATTR_TRAP_TYPE, traps[i].type);
		mnl_attr_put_u8(nlh, DEVLINK_ATTR_TRAP_ACTION, traps[i].action);
		nest = mnl_attr_nest_start(nlh, DEVLINK_ATTR_STATS);
		mnl_attr_put_u64(nlh, DEVLINK_ATTR_STATS_RX_PACKETS, traps[i].packets);
		mnl_attr_put_u64(nlh, DEVLINK_ATTR_STATS_RX_DROPPED, traps[i].dropped);
		mnl_attr_nest_end(nlh, nest);
		assert_int_equal(hw_trap_add(nlh, &rows), MNL_CB_OK);
	}
	assert_int_equal(rows.n, 2);
	found = rows.at;
	for (unsigned i = 0; i < rows.n; i++) {
		assert_string_equal(found[i].device, "pci/0000:01:00.0");
		assert_string_equal(found[i].name, traps[i].name);
		assert_int_equal(found[i].lost, traps[i].lost);
	}
	list_free(&rows);
	assert_true(hw_traps_read(NULL, &list) >= -ENOENT);
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
