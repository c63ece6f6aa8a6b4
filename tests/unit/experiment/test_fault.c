// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* @shared: faults are planned by net.ipv4.udp_mem and other settings of the host */
#include "cases.h"

#include <errno.h>
#include <inttypes.h>
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
	FX(merge_ns),
	FX(reader_ns),
	FX(settle_ns),
	FX(midway),
	FX(sndbuf),
	FX(tbf_bps),
	FX(tbf_burst),
	FX(tbf_limit),
	FX(pfifo_limit),
	FX(slow_bps),
	{0}};

struct request {
	struct run_spec spec;
	bool xsk_rx, xsk_tx, gro;
	uint64_t rate;
};

#define ASK(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct request, spec.member), sizeof(plain.member), 1, NULL      \
	}
static const struct recorded_field requests[] = {
	ASK(payload),
	ASK(count),
	ASK(threads),
	ASK(topology_set),
	{"topology", offsetof(struct request, spec.topology), sizeof(plain.topology), 0,
	 topologies},
	{"gro", offsetof(struct request, spec.tuning.receive.gro), sizeof(bool), 1, NULL},
	FIELD(struct request, xsk_rx),
	FIELD(struct request, xsk_tx),
	FIELD(struct request, rate),
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

/* "FAULTS", or "none", and the datagrams. A buffer that depends on the machine is only large. */
static void plan(char *text)
{
	const char *faults = recorded_word(&text);
	struct request req = {.spec = plain};
	struct fault_effects fx;
	struct error err = {0};
	int rc;

	if (strcmp(faults, "none"))
		req.spec.faults = parsed(faults);
	recorded_read(requests, text, &req);
	req.spec.rate_pps = (double)req.rate;
	req.spec.rx = req.xsk_rx ? &rx_xsk : &rx_socket;
	req.spec.tx = req.xsk_tx ? &tx_xsk : &tx_socket;
	memset(&fx, 0xff, sizeof(fx));
	rc = fault_plan(&req.spec, &fx, &err);
	if (rc) {
		tell_error(rc, &err);
		return;
	}
	assert_int_equal(fx.port, plain.port);
	assert_true(fx.tx_cpu == -1 && fx.busy_cpu == -1);
	tell("%s", recorded_text(effects, &fx));
	if (fx.reader == READER_PAUSED && !req.xsk_rx)
		tell("rcvbuf %s", fx.rcvbuf >= 8 << 20 ? "large" : "small");
	else if (fx.rcvbuf)
		tell("rcvbuf %d", fx.rcvbuf);
	if (fx.rate_pps > 0)
		tell("at %g pps", fx.rate_pps);
	if (fx.tc_burn_ns || fx.xdp_burn_ns)
		tell("%s burns", fx.tc_burn_ns ? "tc" : "XDP");
}

static void take_line(void *arg, const char *verb, char *text)
{
	if (!strcmp(verb, "parse") || !strcmp(verb, "more")) {
		parse(text, *verb == 'm');
	} else if (!strcmp(verb, "plan")) {
		plan(text);
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

CASE(test_backlog_needs_two_cpus)
{
	struct run_spec req = plain;
	struct fault_effects fx;
	struct error err = {0};
	cpu_set_t all, one;

	req.faults = parsed("backlog");
	req.count = MAX_BACKLOG_GUESS;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; !CPU_COUNT(&one); cpu++) {
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(fault_plan(&req, &fx, &err), -EOPNOTSUPP);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, "two CPUs"));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) < 2)
		return;
	assert_int_equal(fault_plan(&req, &fx, &err), 0);
	assert_true(CPU_ISSET(fx.tx_cpu, &all) && CPU_ISSET(fx.busy_cpu, &all));
	assert_int_not_equal(fx.tx_cpu, fx.busy_cpu);
	assert_true(fx.sndbuf > 0 && fx.tc_burn_ns > 0 && fx.rcvbuf > 0);
	req.count = 1; /* whatever netdev_max_backlog is while other tests run */
	err = (struct error){0};
	assert_int_equal(fault_plan(&req, &fx, &err), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_non_null(strstr(err.message, "backlog"));
}

/* The largest count follows udp_mem, which depends on the memory of this host. */
CASE(the_largest_count_named_is_the_largest)
{
	struct run_spec req = plain;
	struct fault_effects fx;
	struct error err = {0};
	uint64_t largest;

	req.faults = parsed("socket_close");
	req.count = UINT64_MAX;
	assert_int_equal(fault_plan(&req, &fx, &err), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_non_null(strstr(err.message, "have to fit in the receive buffer"));
	assert_int_equal(sscanf(err.hint, "use --count %" SCNu64 " or less", &largest), 1);
	req.count = largest;
	assert_int_equal(fault_plan(&req, &fx, &err), 0);
	assert_true(fx.rcvbuf > 0);
	req.count = largest + 1;
	err = (struct error){0};
	assert_int_equal(fault_plan(&req, &fx, &err), -EINVAL);
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
