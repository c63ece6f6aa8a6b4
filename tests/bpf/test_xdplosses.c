// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * XDP loses datagrams in every way that a pair of veths allows. Each loss must be counted once: by
 * the observer of XDP losses, by kfree_skb, or, if the kernel reports no event, by the driver's
 * counter less the events.
 */
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sched.h>
#include <sys/mman.h>

#include "cases.h"
#include "drops/ksym.h"
#include "drops/owners.h"
#include "drops/reason.h"
#include "drops/watch.h"
#include "helpers.h"
#include "host/counters.h"
#include "host/netdev.h"
#include "host/recipe.h"
#include "pair.h"
#include "traffic/rx.h"

#define COUNT	    240 /* less than the capacity of a veth ring, in case the ring is not emptied */
#define NO_VERDICT  9
#define ANY	    UINT32_MAX
#define NOT_THERE   4242 /* interface index */
#define CPUMAP_SIZE 512
#define FRAMES	    16 /* of an AF_XDP socket's memory */

enum way {
	VERDICT,	  /* the program returns `value` */
	REDIRECT,	  /* bpf_redirect() to the device `value` */
	REDIRECT_DOWN,	  /* to a device that is down */
	REDIRECT_NO_XMIT, /* to a veth with a peer without NAPI */
	EMPTY_SLOT,	  /* bpf_redirect_map() to nothing, flags `value` */
	DEVMAP_PROGRAM,	  /* a devmap with a program that returns `value` */
	CPUMAP_PROGRAM,	  /* a cpumap with a program that returns `value` */
	CPUMAP_FULL,	  /* a cpumap with a queue of `value`: it loses some, the rest goes on */
	XSK_EMPTY,	  /* an AF_XDP socket without a buffer */
	FAR_VERDICT,	  /* to a veth with a program on its peer that returns `value` */
};

/* What COUNT datagrams are expected to become. */
struct loss_case {
	const char *name;
	enum way way;
	int value;
	bool generic;
	unsigned by_xdp, by_kfree, by_counter; /* packets; by_xdp ANY: the rest of COUNT */
	const char *reason;		       /* of those by XDP; or another, on older kernels */
	unsigned instead;		       /* by XDP where it counts instead of kfree_skb */
};

static const struct loss_case cases[] = {
	{"drop", VERDICT, XDP_DROP, false, 0, COUNT, 0, NULL, 0},
	{"aborted", VERDICT, XDP_ABORTED, false, 0, COUNT, 0, NULL, 0},
	{"no verdict", VERDICT, NO_VERDICT, false, 0, COUNT, 0, NULL, 0},
	{"tx, the peer has no NAPI", VERDICT, XDP_TX, false, COUNT, 0, 0, "ENXIO", COUNT},
	{"redirect to no device", REDIRECT, NOT_THERE, false, COUNT, 0, 0, "EINVAL", COUNT},
	{"redirect to a device that is down", REDIRECT_DOWN, 0, false, COUNT, 0, 0, "ENETDOWN",
	 COUNT},
	{"redirect to a veth without NAPI", REDIRECT_NO_XMIT, 0, false, COUNT, 0, 0,
	 "EOPNOTSUPP ENXIO", COUNT},
	{"empty slot of a map, aborted", EMPTY_SLOT, XDP_ABORTED, false, 0, COUNT, 0, NULL, 0},
	{"empty slot of a map, drop", EMPTY_SLOT, XDP_DROP, false, 0, COUNT, 0, NULL, 0},
	{"program of a devmap drops", DEVMAP_PROGRAM, XDP_DROP, false, COUNT, 0, 0, "", COUNT},
	{"program of a devmap aborts", DEVMAP_PROGRAM, XDP_ABORTED, false, COUNT, 0, 0, "", COUNT},
	{"program of a cpumap drops", CPUMAP_PROGRAM, XDP_DROP, false, COUNT, 0, 0, "", COUNT},
	{"queue of a cpumap is full", CPUMAP_FULL, 8, false, ANY, 0, 0, "", ANY},
	{"no buffer for AF_XDP", XSK_EMPTY, 0, false, COUNT, 0, 0, "ENOMEM", COUNT},
	{"far end drops frames", FAR_VERDICT, XDP_DROP, false, 0, 0, COUNT, NULL, 0},
	{"far end aborts frames", FAR_VERDICT, XDP_ABORTED, false, COUNT, 0, 0, "ABORTED", COUNT},
	{"generic: drop", VERDICT, XDP_DROP, true, 0, COUNT, 0, NULL, 0},
	{"generic: aborted", VERDICT, XDP_ABORTED, true, 0, COUNT, 0, NULL, 0},
	{"generic: redirect to no device", REDIRECT, NOT_THERE, true, 0, COUNT, 0, "EINVAL", COUNT},
	{"generic: redirect to a device that is down", REDIRECT_DOWN, 0, true, 0, COUNT, 0,
	 "ENETDOWN", COUNT},
	{"generic: no buffer for AF_XDP", XSK_EMPTY, 0, true, 0, COUNT, 0, "ENOMEM", COUNT},
	{"generic: empty slot of a map", EMPTY_SLOT, XDP_ABORTED, true, 0, COUNT, 0, NULL, 0},
};

/* Datagrams go from tx to the router, whose XDP programs may send frames on to rx ("far"). */
static struct {
	struct reasons *reasons;
	struct ksyms *ksyms;
	int socket, maps[2], progs[2], xsk;
	void *memory;
	int links[2];
} host;

static struct error err;

static int load(const struct bpf_insn *code, unsigned n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_XDP);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pl_lose", "GPL", code, n, &opts);

	assert_true(fd >= 0);
	return fd;
}

#define MOV(reg, value)                                                                            \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value)})
#define CALL(function) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (function)})
#define EXIT	       ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})

static int redirect_program(unsigned ifindex)
{
	const struct bpf_insn code[] = {MOV(BPF_REG_1, (int)ifindex), MOV(BPF_REG_2, 0),
					CALL(BPF_FUNC_redirect), EXIT};

	return load(code, N_ELEMENTS(code));
}

/* Redirects to slot 0 of a map; flags: the verdict if it is empty. */
static int map_program(int map, int flags)
{
	const struct bpf_insn code[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_1,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = map},
		{0},
		MOV(BPF_REG_2, 0),
		MOV(BPF_REG_3, flags),
		CALL(BPF_FUNC_redirect_map),
		EXIT,
	};

	return load(code, N_ELEMENTS(code));
}

static int make_map(enum bpf_map_type type, unsigned value_size)
{
	int fd = bpf_map_create(type, "pl_lose", 4, value_size, 1, NULL);

	assert_true(fd >= 0);
	return fd;
}

static int devmap(unsigned ifindex, int program)
{
	struct bpf_devmap_val to = {.ifindex = ifindex, .bpf_prog.fd = program};
	int fd = make_map(BPF_MAP_TYPE_DEVMAP, sizeof(to));
	int saved = netns_push(&lab.router_ns); /* the index is one of the caller's namespace */
	__u32 zero = 0;

	assert_true(program >= 0 && saved >= 0);
	assert_int_equal(bpf_map_update_elem(fd, &zero, &to, 0), 0);
	netns_pop(saved);
	return fd;
}

static int cpumap(unsigned size, int program)
{
	struct bpf_cpumap_val to = {.qsize = size, .bpf_prog.fd = program < 0 ? 0 : program};
	int fd = make_map(BPF_MAP_TYPE_CPUMAP, sizeof(to));
	__u32 zero = 0;

	assert_int_equal(bpf_map_update_elem(fd, &zero, &to, 0), 0);
	return fd;
}

/* An XSKMAP with a socket at queue 0 of the router, with an empty fill ring. */
static int xskmap(void)
{
	struct xdp_umem_reg umem = {.len = FRAMES * 4096, .chunk_size = 4096};
	struct sockaddr_xdp addr = {.sxdp_family = AF_XDP,
				    .sxdp_ifindex = lab.router_tx.ifindex,
				    .sxdp_flags = XDP_COPY};
	int fd = make_map(BPF_MAP_TYPE_XSKMAP, sizeof(int)), entries = FRAMES;
	int saved = netns_push(&lab.router_ns);
	__u32 zero = 0;

	host.memory =
		mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	umem.addr = (__u64)(uintptr_t)host.memory;
	host.xsk = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	assert_true(host.memory != MAP_FAILED && host.xsk >= 0);
	assert_int_equal(setsockopt(host.xsk, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)), 0);
	for (int ring = XDP_RX_RING; ring <= XDP_UMEM_COMPLETION_RING; ring++) {
		if (ring != XDP_TX_RING && ring != XDP_UMEM_REG)
			assert_int_equal(
				setsockopt(host.xsk, SOL_XDP, ring, &entries, sizeof(entries)), 0);
	}
	assert_int_equal(bind(host.xsk, (void *)&addr, sizeof(addr)), 0);
	netns_pop(saved);
	assert_int_equal(bpf_map_update_elem(fd, &zero, &host.xsk, 0), 0);
	return fd;
}

static void attach(unsigned which, const struct lab_port *port, int prog, bool generic)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	int saved = netns_push(port->ns), link = -EBUSY;

	assert_true(saved >= 0);
	/* a program that lists links holds the previous link for a moment */
	for (unsigned tries = 0; link == -EBUSY && tries < 200; tries++) {
		link = bpf_link_create(prog, (int)port->ifindex, BPF_XDP, &opts);
		if (link == -EBUSY)
			usleep(10000);
	}
	assert_true(link >= 0);
	host.links[which] = link;
	netns_pop(saved);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int set_up(void **state)
{
	const struct lab_spec router = {.topology = LAB_ROUTER, .ip4_only = true};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(9)};

	if (lab_open(&lab, &router, &err))
		return -1;
	addr.sin_addr = lab.rx.ip4;
	host.socket = socket_in(&lab.tx_ns, AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(connect(host.socket, (void *)&addr, sizeof(addr)), 0);
	for (unsigned i = 0; i < 2; i++)
		host.links[i] = host.progs[i] = host.maps[i] = -1;
	host.xsk = -1;
	assert_int_equal(ksyms_open(&host.ksyms, NULL, &err), 0);
	return reasons_open(&host.reasons, NULL, &err);
}

static int clean_up(void **state)
{
	close(host.socket);
	ksyms_free(host.ksyms);
	reasons_free(host.reasons);
	return close_lab(state);
}

static void gro(const char *to)
{
	struct recipe r = RECIPE;

	recipe_add(&r, RECIPE_ETHTOOL, &lab.rx_ns, "-K v-rx gro %s", to);
	assert_int_equal(recipe_run(&r, "change GRO", &err), 0);
}

static int map_for(const struct loss_case *c)
{
	switch (c->way) {
	case EMPTY_SLOT:
		return make_map(BPF_MAP_TYPE_DEVMAP, sizeof(struct bpf_devmap_val));
	case DEVMAP_PROGRAM:
		return devmap(lab.router_rx.ifindex, host.progs[1]);
	case CPUMAP_PROGRAM:
		return cpumap(CPUMAP_SIZE, host.progs[1]);
	case CPUMAP_FULL:
		return cpumap((unsigned)c->value, -1);
	case XSK_EMPTY:
		return xskmap();
	default:
		return -1;
	}
}

static void prepare(const struct loss_case *c)
{
	static const enum bpf_attach_type second[] = {[FAR_VERDICT] = BPF_XDP,
						      [DEVMAP_PROGRAM] = BPF_XDP_DEVMAP,
						      [CPUMAP_PROGRAM] = BPF_XDP_CPUMAP};
	const unsigned to = c->way == REDIRECT ? (unsigned)c->value : lab.router_rx.ifindex;

	if (second[c->way]) {
		host.progs[1] = verdict_program(BPF_PROG_TYPE_XDP, second[c->way], c->value);
		assert_true(host.progs[1] >= 0);
	}
	if (c->way == REDIRECT_DOWN || c->way == DEVMAP_PROGRAM)
		gro("on");
	if (c->way == REDIRECT_DOWN)
		assert_int_equal(netdev_set_up(&lab.router_ns, lab.router_rx.ifname, false), 0);
	if (c->way == FAR_VERDICT)
		attach(1, &lab.rx, host.progs[1], false);
	host.maps[0] = map_for(c);
	host.progs[0] = c->way == VERDICT
				? verdict_program(BPF_PROG_TYPE_XDP, BPF_XDP, c->value)
			: host.maps[0] >= 0
				? map_program(host.maps[0], c->way == EMPTY_SLOT ? c->value : 0)
				: redirect_program(to);
	assert_true(host.progs[0] >= 0);
	attach(0, &lab.router_tx, host.progs[0], c->generic);
}

static void undo(void)
{
	close_fd(&host.xsk);
	if (host.memory)
		munmap(host.memory, FRAMES * 4096);
	host.memory = NULL;
	for (unsigned i = 0; i < 2; i++) {
		close_fd(&host.links[i]);
		close_fd(&host.progs[i]);
		close_fd(&host.maps[i]);
	}
	gro("off");
	netdev_set_up(&lab.router_ns, lab.router_rx.ifname, true);
}

struct kfree_sum {
	uint32_t netns[2];
	uint64_t all, redirect; /* of those: for a failed redirect in generic mode */
};

static void on_kfree(void *arg, const struct watch_entry *e)
{
	struct kfree_sum *s = arg;
	struct ksym place;

	if (e->key.netns != s->netns[0] && e->key.netns != s->netns[1])
		return;
	s->all += e->count.events + e->count.more;
	if (e->key.reason == reasons_value(host.reasons, "XDP") &&
	    !ksym_find(host.ksyms, e->key.location, &place) &&
	    !strcmp(place.name, "do_xdp_generic"))
		s->redirect += e->count.events;
}

struct xdp_sum {
	uint64_t beside, instead; /* by the two ways to count */
	uint64_t exceptions;	  /* of frames, at the far end: also in its driver's counter */
};

static uint32_t id_of(int map)
{
	struct bpf_map_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(map, &info, &len) ? 0 : info.id;
}

static struct xdp_sum sum_xdp(const struct watch *w, const struct loss_case *c)
{
	static struct xdploss rows[XDPLOSS_KEYS];
	int n = watch_xdp(w, rows, XDPLOSS_KEYS);
	struct xdp_sum s = {0};

	for (int i = 0; i < n; i++) {
		const struct xdploss_key *key = &rows[i].key;
		struct judged_cause beside, instead;
		struct watch_dev dev;

		xdplosses_judge(&beside, key, XDPLOSS_BESIDE_KFREE);
		xdplosses_judge(&instead, key, XDPLOSS_INSTEAD_OF_KFREE);
		if (!key->netns) { /* lost in a cpumap, perhaps of another test */
			if (key->map_id != id_of(host.maps[0]) &&
			    key->map_id != id_of(host.maps[1]))
				continue;
		} else {
			if (key->netns != lab.router_ns.inum && key->netns != lab.rx_ns.inum &&
			    key->netns != lab.tx_ns.inum)
				continue;
			assert_int_equal(watch_dev(w, key->netns, key->ifindex, &dev), 0);
			assert_int_equal(dev.name[0], 'v');
		}
		if (beside.verdict.class == CLASS_LOSS)
			s.beside += rows[i].count.packets;
		if (instead.verdict.class == CLASS_LOSS) {
			s.instead += rows[i].count.packets;
			assert_non_null(strstr(c->reason, instead.reason));
			assert_int_equal(!*c->reason, !*instead.reason);
			assert_int_equal(instead.verdict.stage, key->map_type == BPF_MAP_TYPE_XSKMAP
									? STAGE_XSK
									: STAGE_XDP);
		}
		if (key->kind == XDPLOSS_EXCEPTION && key->ifindex == lab.rx.ifindex &&
		    beside.verdict.class == CLASS_LOSS)
			s.exceptions += rows[i].count.packets;
	}
	return s;
}

/*
 * Keeps the thread of CPU 0 from emptying its queue until all is sent. False: the host does not
 * allow it.
 */
static bool starve(bool on)
{
	const struct sched_param first = {.sched_priority = on ? 1 : 0};
	static cpu_set_t all;
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (on)
		sched_getaffinity(0, sizeof(all), &all);
	sched_setaffinity(0, sizeof(one), on ? &one : &all);
	return !sched_setscheduler(0, on ? SCHED_FIFO : SCHED_OTHER, &first);
}

static void send_all(void)
{
	static const char datagram[64] = "lost";

	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(send(host.socket, datagram, sizeof(datagram), 0),
				 sizeof(datagram));
}

static void read_counters(struct counters *c)
{
	static const char *const names[] = {"v-rx", NULL};
	const struct counters_scope scope = {"far", &lab.rx_ns, names, COUNTERS_RUN};

	assert_int_equal(counters_read(c, &scope, 1), 0);
}

/* Returns the losses that the peer's driver counted without an event, by the table of counters. */
static uint64_t counted_by_driver(struct counters *before, const struct xdp_sum *events)
{
	struct nic_sample matched = {0};
	const struct nic_sample *base;
	struct counters after = {0};
	struct nic_loss l[16];
	uint64_t sum = 0;
	unsigned n;

	read_counters(&after);
	base = counters_device_match(before->devices, after.devices, &matched);
	assert_ptr_equal(base, &before->devices[0].nic);
	n = nic_losses(after.devices[0].plan, base, &after.devices[0].nic, l, N_ELEMENTS(l));
	for (unsigned i = 0; i < n; i++) {
		const struct nic_row *row = l[i].item->row;

		if (row->class != NIC_LOSS || row->events & NIC_EV_ALL)
			continue;
		assert_true(row->events & NIC_EV_EXCEPTION);
		assert_true(l[i].packets >= events->exceptions);
		sum += l[i].packets - events->exceptions;
	}
	counters_free(&after);
	return sum;
}

/* The socket's own counters are a second book, the same by both ways to read them. */
static void check_socket(void)
{
	struct xsk_info *list = NULL;
	struct files *walk;
	int n = xsk_diag_read(&lab.router_ns, &list);

	assert_int_equal(xsk_count(&lab.router_ns), 1);
	for (unsigned way = 0; way < 2; way++) {
		if (way) {
			assert_int_equal(files_open_xsk(&walk, &err), 0);
			n = files_read_xsk(walk, &list);
			files_close(walk);
			for (int i = 0; i < n; i++) {
				if (list[i].netns == lab.router_ns.inum)
					list[0] = list[i];
			}
			assert_true(n >= 1);
		}
		if (n != -EOPNOTSUPP) {
			assert_int_equal(list[0].netns, lab.router_ns.inum);
			assert_int_equal(list[0].ifindex, lab.router_tx.ifindex);
			assert_int_equal(list[0].rx_dropped, COUNT);
			assert_int_equal(list[0].rx_fill_ring_empty, COUNT);
			assert_int_equal(list[0].rx_ring_full, 0);
		}
		free(list);
		list = NULL;
	}
}

static void run_case(void **state)
{
	const struct loss_case *c = *state;
	struct kfree_sum kfree = {.netns = {lab.router_ns.inum, lab.rx_ns.inum}};
	const struct watch_spec all = {.cfg.xdp = true};
	struct counters before = {0};
	struct trace_places places;
	struct watch *w;
	bool starved = false;
	struct xdp_sum xdp;

	prepare(c);
	assert_int_equal(watch_open(&w, &all, host.reasons, &err), 0);
	assert_string_equal(watch_xdp_missing(w), "");
	ksym_places(host.ksyms, &places);
	assert_int_equal(watch_attach(w, &places, &err), 0);
	read_counters(&before);

	if (c->way == CPUMAP_FULL)
		starved = starve(true);
	send_all();
	if (c->way == CPUMAP_FULL)
		starve(false);
	/* what CPUs' queues hold comes later */
	for (unsigned tries = 0; tries < 200; tries++) {
		usleep(10000);
		xdp = sum_xdp(w, c);
		assert_int_equal(watch_collect(w, on_kfree, &kfree), 0);
		if (xdp.beside + kfree.all >= COUNT || c->by_counter)
			break;
	}
	print_message("%s: xdp %llu (%llu) kfree %llu\n", c->name, (unsigned long long)xdp.beside,
		      (unsigned long long)xdp.instead, (unsigned long long)kfree.all);
	if (c->by_xdp == ANY) {
		assert_int_equal(xdp.beside + kfree.all, COUNT);
		assert_true(!starved || xdp.beside > COUNT / 2);
	} else {
		assert_int_equal(xdp.beside, c->by_xdp);
		assert_int_equal(kfree.all, c->by_kfree);
		assert_int_equal(xdp.instead, c->instead);
	}
	if (c->way == XSK_EMPTY)
		check_socket();
	/* the XDP count then equals the kfree_skb count at that function */
	assert_int_equal(xdp.instead - xdp.beside, kfree.redirect);
	assert_int_equal(counted_by_driver(&before, &xdp), c->by_counter);

	counters_free(&before);
	watch_close(w);
}

static int tear_down(void **state)
{
	undo();
	return 0;
}

int main(void)
{
	struct CMUnitTest tests[N_ELEMENTS(cases)];

	skip_unless_privileged();
	for (unsigned i = 0; i < N_ELEMENTS(cases); i++)
		tests[i] = (struct CMUnitTest){cases[i].name, run_case, NULL, tear_down,
					       (void *)&cases[i]};
	return cmocka_run_group_tests_name("xdplosses", tests, set_up, clean_up);
}
