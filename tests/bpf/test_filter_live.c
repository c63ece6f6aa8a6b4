// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The packet filter in a tracing program: the kernel's own drops, between two namespaces. */
#include <linux/if_packet.h>
#include <linux/pkt_cls.h>

#include "cases.h"
#include "bpf/filter_run.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"

#define EACH 20

static uint16_t ours; /* a port of this process alone: all drops of the host are seen */
static struct loaded tracer;
static struct bpf_link *attached;

/* Counts drops that match `prefix` followed by the port of the test. */
static void trace(const char *prefix)
{
	struct filter *f = NULL;
	struct error err = {};
	char expr[128];

	snprintf(expr, sizeof(expr), "%s %u", prefix, ours);
	if (filter_compile(&f, expr, &err))
		fail_msg("%s", err.message);
	tracer.skel = open_test();
	assert_non_null(tracer.skel);
	bpf_program__set_autoload(tracer.skel->progs.drop, true);
	assert_int_equal(filter_install(f, tracer.skel->obj, &err), 0);
	assert_int_equal(load(&tracer), 0);
	attached = bpf_program__attach(tracer.skel->progs.drop);
	assert_non_null(attached);
	filter_free(f);
}

static int end_trace(void **state)
{
	bpf_link__destroy(attached);
	attached = NULL;
	if (tracer.skel)
		unload(&tracer);
	tracer.skel = NULL;
	return 0;
}

/* Packets end in order: when the last counted packet has ended, all earlier packets have ended. */
static void await_drops(uint64_t n)
{
	const volatile typeof(tracer.skel->bss->dropped) *dropped = &tracer.skel->bss->dropped;

	AWAIT(*dropped >= n);
	assert_int_equal(*dropped, n);
	assert_int_equal(unread(&tracer), 0);
}

/* Sends to closed ports: before each packet to the port of the test, a packet to another port. */
static void send_frames(struct frame_spec spec)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)lab.tx.ifindex};
	int fd = socket_in(&lab.tx_ns, AF_PACKET, SOCK_RAW, 0);

	for (unsigned i = 0; i < 2 * EACH; i++) {
		struct frame f;

		spec.port = (uint16_t)(ours + (i % 2 ? 0 : 1));
		f = frame_make(spec);
		memcpy(f.at, lab.rx.mac, 6);
		assert_int_equal(sendto(fd, f.at, f.len, 0, (const void *)&to, sizeof(to)), f.len);
	}
	close(fd);
}

/* Elements of the map that a program has used. Not by the length, which is 0 for an empty packet. */
static unsigned slots_used(void)
{
	const struct bpf_map *map = tracer.skel->maps.filter_scratch;
	unsigned cpus = (unsigned)libbpf_num_possible_cpus(), used = 0;
	struct filter_scratch each[cpus];
	static const struct filter_scratch unused;

	for (__u32 slot = 0; slot < bpf_map__max_entries(map); slot++) {
		bool touched = false;

		assert_int_equal(
			bpf_map__lookup_elem(map, &slot, sizeof(slot), each, sizeof(each), 0), 0);
		for (unsigned cpu = 0; cpu < cpus; cpu++)
			touched |= memcmp(&each[cpu], &unused, sizeof(unused)) != 0;
		used += touched;
	}
	return used;
}

/* One program may interrupt the other. */
CASE_WITH(programs_do_not_share_memory, NULL, end_trace)
{
	trace("udp dst port");
	send_frames((struct frame_spec){});
	await_drops(EACH);
	assert_int_equal(slots_used(), 1);
	*tracer.test = (struct filter_test){.len = 20, .tail = 20};
	matches(&tracer);
	assert_int_equal(slots_used(), 2);
}

CASE_WITH(ethernet_header_is_seen, NULL, end_trace)
{
	trace("ether src 02:70:6b:00:00:01 and len = 80 and udp dst port");
	send_frames((struct frame_spec){});
	await_drops(EACH);
}

/* Drops all that arrives at the receiver's device, before VLAN devices are looked for. */
static void shoot_at_ingress(struct bpf_tc_hook *hook)
{
	int fd = verdict_program(BPF_PROG_TYPE_SCHED_CLS, 0, TC_ACT_SHOT);
	int saved = netns_push(&lab.rx_ns), rc;
	LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = fd);

	assert_true(fd >= 0 && saved >= 0);
	rc = bpf_tc_hook_create(hook);
	if (!rc)
		rc = bpf_tc_attach(hook, &opts);
	netns_pop(saved);
	close(fd);
	assert_int_equal(rc, 0);
}

static void stop_shooting(struct bpf_tc_hook *hook)
{
	int saved = netns_push(&lab.rx_ns);

	assert_true(saved >= 0);
	bpf_tc_hook_destroy(hook);
	netns_pop(saved);
}

/* The kernel has taken the tag out of the packet by then. */
CASE_WITH(tags_are_filtered, NULL, end_trace)
{
	LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)lab.rx.ifindex,
		    .attach_point = BPF_TC_INGRESS);

	shoot_at_ingress(&hook);
	trace("vlan 0x45 and udp dst port");
	send_frames((struct frame_spec){});
	send_frames((struct frame_spec){.tags = 1});
	await_drops(EACH);
	end_trace(NULL);

	trace("udp dst port");
	send_frames((struct frame_spec){});
	send_frames((struct frame_spec){.tags = 1});
	await_drops(2 * EACH);
	stop_shooting(&hook);
}

int main(void)
{
	skip_unless_privileged();
	ours = (uint16_t)(20000 + getpid() % 20000 * 2);
	return run_cases(open_lab, close_lab);
}
