// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "experiment/faults/row.h"
#include "recorded.h"
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

#define FX(member) FIELD(struct fault_effects, member)
static const char *const topologies[] = {"pair", "router", "bridge", "tap", "vxlan"};
static const char *const readers[] = {"normal", "slow", "paused", "never"};
static const struct recorded_field effects[] = {
	FIELD_ENUM(struct fault_effects, topology, topologies),
	FX(no_receiver),
	FIELD_ENUM(struct fault_effects, reader, readers),
	FX(xsk_room),
	FX(ttl),
	FX(socket_filter),
	FX(xdp),
	FX(other_vni),
	FX(consumed),
	FX(xdp_generic),
	FX(qdisc_replaced),
	FX(n_notes),
	FX(tx_csum_off),
	FX(threaded_napi),
	{0}};

struct request {
	struct run_spec spec;
	bool xsk_rx, xsk_tx, gro;
	uint64_t count;
};

#define ASK(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct request, spec.member), sizeof(plain.member), 1, NULL      \
	}
static const struct recorded_field requests[] = {
	ASK(payload),
	ASK(count),
	ASK(topology_set),
	{"topology", offsetof(struct request, spec.topology), sizeof(plain.topology), 0,
	 topologies},
	{"gro", offsetof(struct request, spec.tuning.receive.gro), sizeof(bool), 1, NULL},
	FIELD(struct request, xsk_rx),
	FIELD(struct request, xsk_tx),
	{0}};

static void tell_error(int rc, const struct error *err)
{
	assert_int_equal(err->status, rc == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_USAGE);
	assert_true(rc == -EINVAL || rc == -EOPNOTSUPP);
	tell("%s: %s%s%s", rc == -EINVAL ? "usage" : "unable", err->message,
	     *err->hint ? " | " : "", err->hint);
}

/* What is refused leaves the list as it was, which has udp_lookup already if more is given. */
static void parse(const char *text, bool more)
{
	struct fault_list list = {.set = more ? bit("udp_lookup") : 0}, before = list;
	struct error err = {0};
	int rc = fault_parse(text, false, &list, &err);

	if (rc) {
		tell_error(rc, &err);
		assert_memory_equal(&list, &before, sizeof(list));
		return;
	}
	for (unsigned i = 0; i < fault_count(); i++) {
		if (list.set & FAULT_BIT(i))
			tell("%s", fault_row(i)->name);
		if (list.set & FAULT_BIT(i) && list.share[i] > 0)
			tell("%g%%", 100 * list.share[i]);
	}
	if (list.rate.unit != RATE_MAX)
		tell("at %s", num_text_rate(&list.rate));
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct request req = {.spec = plain};
	struct fault_effects fx;
	struct error err = {0};
	int rc;

	if (!strcmp(verb, "parse") || !strcmp(verb, "more")) {
		parse(text, *verb == 'm');
	} else if (!strcmp(verb, "plan")) {
		req.spec.faults = parsed(recorded_word(&text));
		recorded_read(requests, text, &req);
		req.spec.rx = req.xsk_rx ? &rx_xsk : &rx_socket;
		req.spec.tx = req.xsk_tx ? &tx_xsk : &tx_socket;
		rc = fault_plan(&req.spec, &fx, &err);
		if (rc)
			tell_error(rc, &err);
		else
			tell("%s%s%s", recorded_text(effects, &fx),
			     fx.tc_burn_ns ? " tc burns" : "", fx.xdp_burn_ns ? " XDP burns" : "");
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/faults", take_line, NULL);
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
