// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "experiment/faults/row.h"
#include "stages.h"

#define MAX_BACKLOG_GUESS 1000000000 /* more packets than any queue here holds */

static const struct run_spec plain = {
	.tx = &tx_socket,
	.rx = &rx_socket,
	.payload = 512,
	.threads = 1,
	.count = 100000,
	.port = 28779,
};

static unsigned named(const char *name)
{
	unsigned i = 0;

	while (i < fault_count() && strcmp(fault_row(i)->name, name))
		i++;
	assert_true(i < fault_count());
	return i;
}

static uint64_t bit(const char *name)
{
	return FAULT_BIT(named(name));
}

static struct fault_list parsed(const char *text)
{
	struct fault_list list = {0};
	struct error err = {0};

	if (fault_parse(text, false, &list, &err))
		fail_msg("%s: %s", text, err.message);
	return list;
}

/* The list that was given stays as it is, and the message is for the command line. */
static void refused(const char *text, const char *message, const char *hint)
{
	struct fault_list list = {.set = bit("udp_lookup")}, before = list;
	struct error err = {0};

	assert_int_equal(fault_parse(text, false, &list, &err), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	if (!strstr(err.message, message))
		fail_msg("%s: \"%s\" lacks \"%s\"", text, err.message, message);
	if (!strstr(err.hint, hint))
		fail_msg("%s: hint \"%s\" lacks \"%s\"", text, err.hint, hint);
	assert_memory_equal(&list, &before, sizeof(list));
}

static struct fault_effects planned(const char *faults, const struct run_spec *req)
{
	struct run_spec spec = *req;
	struct fault_effects fx;
	struct error err = {0};

	spec.faults = parsed(faults);
	if (fault_plan(&spec, &fx, &err))
		fail_msg("%s: %s", faults, err.message);
	return fx;
}

static void not_planned(const char *faults, const struct run_spec *req, int code,
			enum status status, const char *message)
{
	struct run_spec spec = *req;
	struct fault_effects fx;
	struct error err = {0};

	spec.faults = parsed(faults);
	assert_int_equal(fault_plan(&spec, &fx, &err), code);
	assert_int_equal(err.status, status);
	if (!strstr(err.message, message))
		fail_msg("%s: \"%s\" lacks \"%s\"", faults, err.message, message);
}

CASE(test_parse)
{
	struct fault_list list = parsed("netfilter,rcvbuf,qdisc");

	assert_int_equal(list.set, bit("netfilter") | bit("rcvbuf") | bit("qdisc"));
	assert_true(list.share[named("netfilter")] == 0.2);
	assert_int_equal(list.rate.unit, RATE_MAX);

	list = parsed("netfilter:output=0.5%,netfilter=100%,qdisc=50Mbit");
	assert_int_equal(list.set, bit("netfilter:output") | bit("netfilter") | bit("qdisc"));
	assert_true(list.share[named("netfilter:output")] == 0.005);
	assert_true(list.share[named("netfilter")] == 1);
	assert_int_equal(list.rate.unit, RATE_L2_BPS);
	assert_true(list.rate.value == 50e6);
}

CASE(test_parse_adds)
{
	struct fault_list list = parsed("xdp=10%");

	assert_int_equal(fault_parse("rcvbuf", false, &list, NULL), 0);
	assert_int_equal(list.set, bit("xdp") | bit("rcvbuf"));
	assert_true(list.share[named("xdp")] == 0.1);
}

CASE(test_parse_refuses)
{
	refused("netfiler", "netfiler", "did you mean netfilter?");
	refused("zzzzzzzzzzzz", "zzzzzzzzzzzz", "help");
	refused("netfilter:", "netfilter:", "");
	refused("", "empty", "");
	refused("rcvbuf,", "empty", "");
	refused(",rcvbuf", "empty", "");
	refused("rcvbuf,,xdp", "empty", "");
	refused("xdp,xdp=5%", "xdp: given twice", "");
	refused("udp_lookup", "udp_lookup: given twice", "");
	refused("rcvbuf=5", "rcvbuf: takes no value", "");
	refused("rcvbuf=", "rcvbuf: takes no value", "");
	refused("xdp=", "xdp: ", "20%");
	refused("xdp=0%", "xdp: ", "20%");
	refused("xdp=100.1%", "xdp: ", "20%");
	refused("xdp=-1%", "xdp: ", "20%");
	refused("xdp=20", "xdp: ", "20%");
	refused("xdp=20%x", "xdp: ", "20%");
	refused("qdisc=0", "qdisc: ", "50Mbit");
	refused("qdisc=max", "qdisc: ", "50Mbit");
	refused("qdisc=20%", "qdisc: ", "50Mbit");
	refused("netfilter:input_netfilter:input_netfilter:input_netfilter:input_netfilter:input",
		"such a long name", "help");
}

/* A stage that no fault is of is no misspelling. */
CASE(test_stages_without_fault)
{
	static const char *const stages[] = {"wire", "hw", "nic_ring"};

	for (unsigned i = 0; i < sizeof(stages) / sizeof(*stages); i++) {
		struct fault_list list = {0};
		struct error err = {0};

		assert_int_equal(fault_parse(stages[i], false, &list, &err), -EOPNOTSUPP);
		assert_int_equal(err.status, STATUS_UNABLE);
		assert_non_null(strstr(err.message, "nothing to inject"));
		assert_non_null(strstr(err.message, stages[i]));
		assert_int_equal(list.set, 0);
	}
}

/* What no packet passes excludes all that follows, and nothing that precedes. */
CASE(test_order)
{
	for (unsigned i = 0; i < fault_count(); i++) {
		for (unsigned j = 0; j < fault_count(); j++) {
			const struct fault_row *a = fault_row(i), *b = fault_row(j);
			struct fault_list list = {0};
			struct error err = {0};
			char text[128];

			snprintf(text, sizeof(text), "%s,%s", a->name, b->name);
			if (i == j || !(a->is & ALL_LOST))
				continue;
			if (b->at >= a->at)
				assert_int_equal(fault_parse(text, false, &list, &err), -EINVAL);
			else if (fault_parse(text, false, &list, &err))
				assert_true(b->is & ALL_LOST || (a->in && b->in) ||
					    strstr(err.message, "router accepts") ||
					    strstr(err.message, "packet that is kept"));
		}
	}
}

CASE(test_contradictions)
{
	static const char *const pairs[][2] = {
		{"rcvbuf", "udp_mem"},
		{"rcvbuf", "socket_close"},
		{"udp_csum", "socket_read:csum"},
		{"socket_filter", "socket_read:csum"},
		{"xdp", "xdp:generic"},
		{"backlog", "xdp"},
		{"backlog", "tx_device"},
		{"backlog", "qdisc"},
		{"tx_device", "qdisc"},
		{"ip_forward:ttl", "rcvbuf"},
		{"ip_forward:ttl", "netfilter"},
		{"ip_forward:ttl", "udp_lookup"},
		{"l2:blocked", "netfilter:forward"},
		{"l2:flood", "rcvbuf"},
		{"l2:silent", "l2:flood"},
		{"l2:silent", "tc_egress:stolen"},
		{"tx_device:tap", "qdisc"},
		{"tunnel", "tx_device:tap"},
		{"tunnel:header", "socket_filter"},
		{"tc_ingress", "tc_ingress:stolen"},
		{"xdp:devmap", "xdp:redirect"},
		{"xsk:fill", "xsk:ring"},
		{"ip_frag:overlap", "ip_frag:mem"},
		{"tx_route", "neigh"},
		{"tx_route", "rcvbuf"},
		{"qdisc", "qdisc:pfifo"},
		{"tx_device", "qdisc:pfifo"},
		{"xfrm", "xfrm:plain"},
		{"xfrm", "udp_lookup"},
		{"gso", "xdp"},
		{"gso", "backlog"},
		{"ip_frag:duplicate", "backlog:flow_limit"},
		{"gso", "l2:flood"},
		{"gso", "ip_forward:ttl"},
	};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		struct fault_list list = {0};
		struct error err = {0};
		char text[64];

		snprintf(text, sizeof(text), "%s,%s", pairs[i][0], pairs[i][1]);
		assert_int_equal(fault_parse(text, false, &list, &err), -EINVAL);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_non_null(strstr(err.message, pairs[i][0]));
		assert_non_null(strstr(err.message, pairs[i][1]));
		assert_int_equal(list.set, 0);
	}
	/* Also across two uses of the option. */
	refused("rcvbuf", "udp_lookup", "");
}

CASE(test_each)
{
	for (unsigned i = 0; i < fault_count(); i++) {
		const struct opt_value *v = &fault_values[i];
		struct fault_list list = parsed(v->name);

		assert_int_not_equal(fault_stage(i), STAGE_OTHER);
		assert_int_equal(v->value, i);
		assert_int_equal(list.set, FAULT_BIT(i));
		if (i)
			assert_true(fault_stage(i) >= fault_stage(i - 1));
		assert_true(strlen(v->title) > 0);
	}
	assert_null(fault_values[fault_count()].name);
}

CASE(test_no_fault_no_effect)
{
	const struct fault_effects none = {.port = 28779, .tx_cpu = -1, .busy_cpu = -1};
	struct fault_effects fx;

	memset(&fx, 0xff, sizeof(fx));
	assert_int_equal(fault_plan(&plain, &fx, NULL), 0);
	assert_int_equal(fx.port, none.port);
	assert_int_equal(fx.rcvbuf, 0);
	assert_int_equal(fx.sndbuf, 0);
	assert_int_equal(fx.topology, LAB_PAIR);
	assert_int_equal(fx.reader, READER_NORMAL);
	assert_int_equal(fx.tx_cpu, -1);
	assert_int_equal(fx.busy_cpu, -1);
	assert_true(fx.rate_pps == 0);
	assert_false(fx.xdp || fx.socket_filter || fx.no_receiver || fx.tx_csum_off);
}

CASE(test_engines)
{
	struct run_spec by_rx = plain, by_tx = plain;

	by_rx.rx = &rx_xsk;
	by_tx.tx = &tx_xsk;
	not_planned("rcvbuf", &by_rx, -EINVAL, STATUS_USAGE, "--fault rcvbuf needs --rx socket");
	not_planned("udp_lookup", &by_rx, -EINVAL, STATUS_USAGE, "--rx socket");
	not_planned("xsk:ring", &plain, -EINVAL, STATUS_USAGE, "--fault xsk:ring needs --rx xsk");
	not_planned("qdisc", &by_tx, -EINVAL, STATUS_USAGE, "--fault qdisc needs --tx socket");
	not_planned("netfilter:output", &by_tx, -EINVAL, STATUS_USAGE, "--tx socket");
	assert_int_equal(planned("xsk:ring", &by_rx).reader, READER_PAUSED);
	assert_int_equal(planned("xsk:ring", &by_rx).rcvbuf, 0);
	assert_true(planned("xdp", &by_rx).xdp);
	assert_int_equal(planned("xsk:oversize", &by_rx).xsk_room, 512 + 42 - 1);
	by_rx.payload = 448 - 42; /* the least that every kernel lets AF_XDP leave room for */
	not_planned("xsk:oversize", &by_rx, -EINVAL, STATUS_USAGE, "more than 448 bytes");
	by_rx.payload = 512;
	assert_true(planned("rcvbuf", &by_tx).rcvbuf > 0);
}

/* With AF_XDP at the receiver no packet reaches tc; a router's port is ahead of that. */
CASE(test_tx_device_place)
{
	struct run_spec by_rx = plain;
	struct fault_effects fx;

	by_rx.rx = &rx_xsk;
	fx = planned("tx_device", &plain);
	assert_true(fx.tc_burn_ns > 0 && !fx.xdp_burn_ns && !fx.xdp && fx.threaded_napi);
	fx = planned("tx_device", &by_rx);
	assert_true(fx.xdp_burn_ns > 0 && !fx.tc_burn_ns && fx.xdp);
	fx = planned("tx_device,netfilter:forward", &by_rx);
	assert_true(fx.tc_burn_ns > 0 && !fx.xdp_burn_ns && !fx.xdp);
}

/* The user's choice, otherwise the need of the faults. */
CASE(test_topology)
{
	struct run_spec req = plain;
	struct fault_effects fx;

	assert_int_equal(planned("netfilter", &req).topology, LAB_PAIR);
	assert_int_equal(planned("netfilter:forward", &req).topology, LAB_ROUTER);
	assert_int_equal(planned("ip_forward:ttl", &req).ttl, 1);
	assert_int_equal(planned("l2:blocked", &req).topology, LAB_BRIDGE);
	assert_int_equal(planned("l2:flood,qdisc", &req).topology, LAB_BRIDGE);
	assert_int_equal(planned("tx_device:tap", &req).topology, LAB_TAP);
	assert_int_equal(planned("tunnel", &req).topology, LAB_VXLAN);
	assert_true(planned("tunnel", &req).other_vni);
	req.topology_set = true;
	not_planned("l2:blocked", &req, -EINVAL, STATUS_USAGE, "needs the topology bridge");
	req.topology = LAB_BRIDGE;
	assert_int_equal(planned("l2:blocked", &req).topology, LAB_BRIDGE);
	assert_int_equal(planned("rcvbuf", &req).topology, LAB_BRIDGE);
	assert_int_equal(fault_plan(&req, &fx, NULL), 0);
	assert_int_equal(fx.topology, LAB_BRIDGE);
	not_planned("ip_forward:ttl", &req, -EINVAL, STATUS_USAGE, "needs the topology router");
	req.topology = LAB_TAP;
	not_planned("tx_device", &req, -EINVAL, STATUS_USAGE, "needs the topology pair, not tap");
	assert_int_equal(planned("netfilter", &req).topology, LAB_TAP);
	req.topology = LAB_VXLAN;
	not_planned("xdp:devmap", &req, -EINVAL, STATUS_USAGE, "needs the topology pair, not vxlan");
}

/* The limit is well below the sender's packets in flight, for any size. */
CASE(test_qdisc)
{
	static const unsigned payloads[] = {18, 512, 1472, 8000, 65507};
	struct run_spec req = plain;
	struct fault_effects fx;

	for (unsigned i = 0; i < sizeof(payloads) / sizeof(*payloads); i++) {
		req.payload = payloads[i];
		fx = planned("qdisc", &req);
		assert_true(fx.sndbuf > 0 && fx.threaded_napi);
		assert_true((uint64_t)fx.tbf_limit * 4 < (uint64_t)fx.sndbuf);
		assert_true(fx.tbf_burst >= 42U + (payloads[i] < 1472 ? payloads[i] : 1000));
	}
	req = plain;
	fx = planned("qdisc", &req);
	assert_true(fx.rate_pps > 0);
	assert_in_range(fx.tbf_bps, fx.rate_pps * 554 * 8 * 0.66, fx.rate_pps * 554 * 8 * 0.67);
	req.count = UINT64_MAX;
	assert_true(planned("qdisc", &req).rate_pps <= 1e6);
	req.rate_pps = 3000;
	fx = planned("qdisc", &req);
	assert_true(fx.rate_pps == 0);
	assert_int_equal(fx.tbf_bps, 2000 * 554 * 8);
	fx = planned("qdisc=1k", &plain);
	assert_true(fx.rate_pps == 0);
	assert_int_equal(fx.tbf_bps, 1000 * 554 * 8);
	assert_in_range(fx.settle_ns, 255000000, 257000000);
	assert_int_equal(planned("qdisc=5Mbit", &plain).tbf_bps, 5000000);
}

/* Most is sent after the qdisc was replaced, and before that nothing overflows. */
CASE(test_replacing)
{
	static const uint64_t counts[] = {40, 10000, 1000000, UINT64_MAX};
	struct run_spec req = plain;
	struct fault_effects fx;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		for (req.threads = 1; req.threads <= 4; req.threads *= 4) {
			req.count = counts[i];
			fx = planned("qdisc:replace", &req);
			assert_in_range(fx.midway, 1, counts[i] / 4);
			assert_true((uint64_t)fx.tbf_limit > 2ULL * fx.midway * req.threads * 554);
			assert_true((uint64_t)fx.sndbuf > fx.midway * 554);
		}
	}
	assert_int_equal(planned("qdisc", &plain).midway, 0);
}

/* It is full before the tbf is as fast as planned, whatever the pace; most packets come later. */
CASE(test_pfifo_is_slow_at_first)
{
	static const uint64_t counts[] = {40, 10000, 1000000, UINT64_MAX};
	struct run_spec req = plain;
	struct fault_effects fx;

	for (unsigned i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		req.count = counts[i];
		fx = planned("qdisc:pfifo", &req);
		assert_in_range(fx.midway, 1, counts[i] / 4 + 1);
		assert_in_range(fx.slow_bps, 1, fx.tbf_bps / 10);
		if (counts[i] >= 10000)
			assert_true(fx.midway > 3 * (fx.pfifo_limit + fx.tbf_burst / 554));
	}
	req = plain;
	req.rate_pps = 10;
	fx = planned("qdisc:pfifo", &req);
	assert_in_range(fx.slow_bps, 8000, fx.tbf_bps);
}

/* A router waits for some packets of the flow, within limits. */
CASE(test_merging)
{
	struct run_spec req = plain;
	struct fault_effects fx = planned("gso", &req);

	assert_int_equal(fx.topology, LAB_ROUTER);
	assert_true(fx.threaded_napi);
	assert_int_equal(fx.merge_ns, 50000);
	req.rate_pps = 20000;
	assert_int_equal(planned("gso", &req).merge_ns, 400000);
	req.rate_pps = 10;
	assert_int_equal(planned("gso", &req).merge_ns, 1000000);
	assert_int_equal(planned("netfilter:forward", &req).merge_ns, 0);
	req.payload = 4000;
	not_planned("gso", &req, -EINVAL, STATUS_USAGE, "fit the MTU");
	req = plain;
	req.tuning.receive.gro = true;
	not_planned("gso", &req, -EINVAL, STATUS_USAGE, "--gro");
}

CASE(test_readers)
{
	struct run_spec req = plain;
	struct fault_effects fx = planned("rcvbuf", &req);
	uint64_t unpaced = fx.reader_ns;

	assert_int_equal(fx.reader, READER_SLOW);
	assert_true(unpaced >= 10000 && fx.rcvbuf < 1 << 18);
	req.rate_pps = 1000;
	assert_in_range(planned("rcvbuf", &req).reader_ns, 2000000, 4000000);
	assert_in_range(planned("rcvbuf,netfilter=50%", &req).reader_ns, 4000000, 8000000);
	assert_true(planned("rcvbuf,qdisc", &plain).reader_ns > unpaced);

	fx = planned("udp_mem", &plain);
	assert_int_equal(fx.reader, READER_PAUSED);
	assert_true(fx.rcvbuf >= 8 << 20);
	assert_int_equal(fx.n_notes, 1);

	req = plain;
	req.count = 10000; /* udp_mem has room for them on a machine of 1 GiB, too */
	fx = planned("socket_close", &req);
	assert_int_equal(fx.reader, READER_NEVER);
	assert_true(fx.rcvbuf > 10000 * (512 + 256));

	fx = planned("netfilter", &plain);
	assert_int_equal(fx.reader, READER_NORMAL);
	assert_true(fx.rcvbuf >= 1 << 20);
	assert_true(planned("udp_lookup", &plain).no_receiver);
}

CASE(test_checksums)
{
	struct run_spec req = plain;

	assert_true(planned("udp_csum", &req).socket_filter);
	assert_true(planned("udp_csum", &req).tx_csum_off);
	assert_false(planned("socket_read:csum", &req).socket_filter);
	assert_true(planned("socket_read:csum", &req).tx_csum_off);
	req.payload = 69;
	assert_true(planned("socket_read:csum", &req).tx_csum_off);
	req.payload = 68;
	not_planned("socket_read:csum", &req, -EINVAL, STATUS_USAGE, "68 bytes");
	assert_true(planned("udp_csum", &req).tx_csum_off);
}

CASE(test_counts)
{
	struct run_spec req = plain;

	req.count = 100;
	not_planned("tx_device", &req, -EINVAL, STATUS_USAGE, "ring");
	not_planned("udp_mem", &req, -EINVAL, STATUS_USAGE, "memory");
	req.rx = &rx_xsk;
	not_planned("xsk:ring", &req, -EINVAL, STATUS_USAGE, "ring");
	req = plain;
	req.count = UINT64_MAX;
	not_planned("socket_close", &req, -EINVAL, STATUS_USAGE, "receive buffer");
	assert_true(planned("tx_device", &req).tc_burn_ns > 0);
}

CASE(test_backlog_needs_two_cpus)
{
	struct run_spec req = plain;
	struct fault_effects fx;
	cpu_set_t all, one;

	req.count = MAX_BACKLOG_GUESS;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++) {
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	not_planned("backlog", &req, -EOPNOTSUPP, STATUS_UNABLE, "two CPUs");
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		return;
	fx = planned("backlog", &req);
	assert_true(CPU_ISSET(fx.tx_cpu, &all) && CPU_ISSET(fx.busy_cpu, &all));
	assert_int_not_equal(fx.tx_cpu, fx.busy_cpu);
	assert_true(fx.sndbuf > 0 && fx.tc_burn_ns > 0 && fx.rcvbuf > 0);
	req.count = 10;
	not_planned("backlog", &req, -EINVAL, STATUS_USAGE, "backlog");
}

CASE(test_cpu_mask)
{
	char buf[LAB_MASK_LEN];

	assert_string_equal(lab_cpu_mask(buf, sizeof(buf), 0), "1");
	assert_string_equal(lab_cpu_mask(buf, sizeof(buf), 5), "20");
	assert_string_equal(lab_cpu_mask(buf, sizeof(buf), 31), "80000000");
	assert_string_equal(lab_cpu_mask(buf, sizeof(buf), 32), "1,00000000");
	assert_string_equal(lab_cpu_mask(buf, sizeof(buf), 69), "20,00000000,00000000");
	assert_int_equal(strlen(lab_cpu_mask(buf, sizeof(buf), CPU_SETSIZE - 1)), 8 + 9 * 31);
}
