// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * XDP loses datagrams in every way that a pair of veths allows; each must be counted once: by the
 * observer of XDP's losses, by kfree_skb, or, where the kernel says nothing, by the driver's
 * counter with the events taken off.
 */
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "engine/xdp_attach.h"
#include "helpers.h"
#include "host/netdev.h"
#include "host/nic.h"
#include "trace/ksym.h"
#include "trace/reason.h"
#include "trace/watch.h"
#include "trace/xdplosses.h"
#include "trace/xsk_walk.h"

#define COUNT	    240 /* less than a veth's ring holds, should nobody empty it meanwhile */
#define NO_VERDICT  9
#define ANY	    UINT32_MAX
#define NOT_THERE   4242 /* interface index */
#define CPUMAP_SIZE 512
#define FRAMES	    16 /* of an AF_XDP socket's memory */

enum way {
	VERDICT,	  /* the program returns `value` */
	REDIRECT,	  /* bpf_redirect() to the device `value` */
	REDIRECT_DOWN,	  /* to a device that is down */
	REDIRECT_NO_XMIT, /* to a veth whose peer has no NAPI */
	EMPTY_SLOT,	  /* bpf_redirect_map() to nothing, flags `value` */
	DEVMAP_PROGRAM,	  /* a devmap whose program returns `value` */
	CPUMAP_PROGRAM,	  /* a cpumap whose program returns `value` */
	CPUMAP_FULL,	  /* a cpumap with a queue of `value`: it loses some, the rest goes on */
	XSK_EMPTY,	  /* an AF_XDP socket without a buffer */
	FAR_VERDICT,	  /* to a veth whose far end has a program that returns `value` */
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

struct host {
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct netns tx, rx, far;
	unsigned a, b, c, d; /* veths: a in tx - b in rx, c in rx - d in far */
	int socket, maps[2], progs[2], xsk;
	void *memory;
	struct xdp_attached at[2];
};

static struct host host;
static struct error err;

static int load(const struct bpf_insn *code, unsigned n, enum bpf_attach_type type)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pl_lose", "GPL", code, n, &opts);

	assert_true(fd >= 0);
	return fd;
}

#define MOV(reg, value)                                                                            \
	((struct bpf_insn){.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (reg), .imm = (value)})
#define CALL(function) ((struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = (function)})
#define EXIT	       ((struct bpf_insn){.code = BPF_JMP | BPF_EXIT})

static int verdict_program(int verdict, enum bpf_attach_type type)
{
	const struct bpf_insn code[] = {MOV(BPF_REG_0, verdict), EXIT};

	return load(code, N_ELEMENTS(code), type);
}

static int redirect_program(unsigned ifindex)
{
	const struct bpf_insn code[] = {MOV(BPF_REG_1, (int)ifindex), MOV(BPF_REG_2, 0),
					CALL(BPF_FUNC_redirect), EXIT};

	return load(code, N_ELEMENTS(code), BPF_XDP);
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

	return load(code, N_ELEMENTS(code), BPF_XDP);
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
	int saved = netns_push(&host.rx); /* the index is one of the caller's namespace */
	__u32 zero = 0;

	assert_true(saved >= 0);
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

/* An XSKMAP with a socket at queue 0 of pl-b whose fill ring nobody fills. */
static int xskmap(void)
{
	struct xdp_umem_reg umem = {.len = FRAMES * 4096, .chunk_size = 4096};
	struct sockaddr_xdp addr = {
		.sxdp_family = AF_XDP, .sxdp_ifindex = host.b, .sxdp_flags = XDP_COPY};
	int fd = make_map(BPF_MAP_TYPE_XSKMAP, sizeof(int)), entries = FRAMES;
	int saved = netns_push(&host.rx);
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

static void attach(unsigned which, const struct netns *ns, const char *ifname, int prog,
		   bool generic)
{
	int saved = netns_push(ns);

	assert_true(saved >= 0);
	assert_int_equal(xdp_attach(&host.at[which], prog, ifname, generic, &err), 0);
	assert_int_equal(host.at[which].native, !generic);
	netns_pop(saved);
}

/* Puts the case's program at b; what it needs beside is kept for undo(). */
static void prepare(const struct loss_case *c)
{
	int prog;

	switch (c->way) {
	case VERDICT:
		prog = verdict_program(c->value, BPF_XDP);
		break;
	case REDIRECT:
		prog = redirect_program((unsigned)c->value);
		break;
	case REDIRECT_DOWN:
		assert_int_equal(netdev_set_feature(&host.far, "pl-d", "rx-gro", true), 0);
		assert_int_equal(netdev_set_up(&host.rx, "pl-c", false), 0);
		prog = redirect_program(host.c);
		break;
	case REDIRECT_NO_XMIT:
		prog = redirect_program(host.c);
		break;
	case EMPTY_SLOT:
		host.maps[0] = make_map(BPF_MAP_TYPE_DEVMAP, sizeof(struct bpf_devmap_val));
		prog = map_program(host.maps[0], c->value);
		break;
	case DEVMAP_PROGRAM:
	case FAR_VERDICT:
		host.progs[1] =
			verdict_program(c->value, c->way == FAR_VERDICT ? BPF_XDP : BPF_XDP_DEVMAP);
		if (c->way == FAR_VERDICT) {
			attach(1, &host.far, "pl-d", host.progs[1], false);
			prog = redirect_program(host.c);
		} else {
			assert_int_equal(netdev_set_feature(&host.far, "pl-d", "rx-gro", true), 0);
			host.maps[0] = devmap(host.c, host.progs[1]);
			prog = map_program(host.maps[0], 0);
		}
		break;
	case CPUMAP_FULL:
		host.maps[0] = cpumap((unsigned)c->value, -1);
		prog = map_program(host.maps[0], 0);
		break;
	case XSK_EMPTY:
		host.maps[0] = xskmap();
		prog = map_program(host.maps[0], 0);
		break;
	default:
		host.progs[1] = verdict_program(c->value, BPF_XDP_CPUMAP);
		host.maps[0] = cpumap(CPUMAP_SIZE, host.progs[1]);
		prog = map_program(host.maps[0], 0);
		break;
	}
	host.progs[0] = prog;
	attach(0, &host.rx, "pl-b", prog, c->generic);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void undo(void)
{
	close_fd(&host.xsk);
	if (host.memory)
		munmap(host.memory, FRAMES * 4096);
	host.memory = NULL;
	for (unsigned i = 0; i < 2; i++) {
		close_fd(&host.at[i].link);
		close_fd(&host.progs[i]);
		close_fd(&host.maps[i]);
	}
	netdev_set_feature(&host.far, "pl-d", "rx-gro", false);
	netdev_set_up(&host.rx, "pl-c", true);
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
	uint64_t beside, instead; /* by the two ways to keep the books */
	uint64_t exceptions;	  /* of frames, at the far end: also in its driver's counter */
};

static struct xdp_sum sum_xdp(const struct xdplosses *x, const struct loss_case *c)
{
	static struct xdploss rows[XDPLOSS_KEYS];
	int n = xdplosses_read(x, rows, XDPLOSS_KEYS);
	struct xdp_sum s = {0};

	assert_true(n >= 0);
	for (int i = 0; i < n; i++) {
		const struct xdploss_key *key = &rows[i].key;
		struct verdict beside = xdplosses_judge(key, XDPLOSS_BESIDE_KFREE);
		struct verdict instead = xdplosses_judge(key, XDPLOSS_INSTEAD_OF_KFREE);
		char name[XDPLOSS_IFNAME];

		/* those of a cpumap are in no namespace; nobody else here has any */
		if (key->netns && key->netns != host.rx.inum && key->netns != host.far.inum &&
		    key->netns != host.tx.inum)
			continue;
		if (key->netns)
			assert_true(*xdplosses_device(x, key->netns, key->ifindex, name) == 'p');
		if (beside.class == VERDICT_LOSS)
			s.beside += rows[i].count.packets;
		if (instead.class == VERDICT_LOSS) {
			s.instead += rows[i].count.packets;
			assert_non_null(strstr(c->reason, xdplosses_reason(key)));
			assert_int_equal(!*c->reason, !*xdplosses_reason(key));
			assert_int_equal(instead.stage, key->map_type == BPF_MAP_TYPE_XSKMAP
								? STAGE_XSK
								: STAGE_XDP);
		}
		if (key->kind == XDPLOSS_EXCEPTION && key->ifindex == host.d &&
		    beside.class == VERDICT_LOSS)
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

/* What the far end's driver counted and no event told, by the table of counters. */
static uint64_t counted_by_driver(const struct nic_sample *before, const struct xdp_sum *events)
{
	struct nic_sample after = {0};
	struct nic_plan *p;
	struct nic_loss l[16];
	uint64_t sum = 0;
	unsigned n;

	assert_int_equal(nic_sample_read(&after, &host.far, "pl-d"), 0);
	p = nic_plan_new("veth", &after);
	assert_true(nic_plan_fits(p, before));
	n = nic_losses(p, before, &after, l, N_ELEMENTS(l));
	for (unsigned i = 0; i < n; i++) {
		const struct nic_row *row = l[i].item->row;

		if (row->class != NIC_LOSS || row->events & NIC_EV_ALL)
			continue;
		assert_true(row->events & NIC_EV_EXCEPTION);
		assert_true(l[i].packets >= events->exceptions);
		sum += l[i].packets - events->exceptions;
	}
	nic_plan_free(p);
	nic_sample_free(&after);
	return sum;
}

/* The socket's own counters are a second book, the same by both ways to read them. */
static void check_socket(void)
{
	struct xsk_info *list = NULL;
	struct xsk_walk *walk;
	int n = xsk_diag_read(&host.rx, &list);

	assert_int_equal(xsk_count(&host.rx), 1);
	for (unsigned way = 0; way < 2; way++) {
		if (way) {
			assert_int_equal(xsk_walk_open(&walk, &err), 0);
			n = xsk_walk_read(walk, &list);
			xsk_walk_close(walk);
			for (int i = 0; i < n; i++) {
				if (list[i].netns == host.rx.inum)
					list[0] = list[i];
			}
			assert_true(n >= 1);
		}
		if (n != -EOPNOTSUPP) {
			assert_int_equal(list[0].netns, host.rx.inum);
			assert_int_equal(list[0].ifindex, host.b);
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
	struct kfree_sum kfree = {.netns = {host.rx.inum, host.far.inum}};
	const struct watch_spec all = {0};
	struct nic_sample before = {0};
	struct xdplosses *x;
	struct watch *w;
	bool starved = false;
	struct xdp_sum xdp;

	prepare(c);
	assert_int_equal(xdplosses_open(&x, host.reasons, host.ksyms, &err), 0);
	assert_string_equal(xdplosses_missing(x), "");
	assert_int_equal(watch_open(&w, &all, host.reasons, &err), 0);
	assert_int_equal(xdplosses_attach(x, &err), 0);
	assert_int_equal(watch_attach(w, &err), 0);
	assert_int_equal(nic_sample_read(&before, &host.far, "pl-d"), 0);

	if (c->way == CPUMAP_FULL)
		starved = starve(true);
	send_all();
	if (c->way == CPUMAP_FULL)
		starve(false);
	/* what CPUs' queues hold comes later */
	for (unsigned tries = 0; tries < 200; tries++) {
		usleep(10000);
		xdp = sum_xdp(x, c);
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
	/* what XDP then counts instead is exactly what kfree_skb tells with that place */
	assert_int_equal(xdp.instead - xdp.beside, kfree.redirect);
	assert_int_equal(counted_by_driver(&before, &xdp), c->by_counter);

	nic_sample_free(&before);
	watch_close(w);
	xdplosses_close(x);
}

static int tear_down(void **state)
{
	(void)state;
	undo();
	return 0;
}

static void quiet(const struct netns *ns)
{
	/* neighbour discovery and the like would be lost too */
	netns_sysctl_write(ns, "net/ipv6/conf/all/disable_ipv6", "1");
	netns_sysctl_write(ns, "net/ipv6/conf/default/disable_ipv6", "1");
}

static unsigned index_of(const struct netns *ns, const char *ifname)
{
	struct netdev dev;

	assert_int_equal(netdev_get(ns, ifname, &dev), 0);
	assert_int_equal(netdev_set_up(ns, ifname, true), 0);
	netdev_set_feature(ns, ifname, "rx-gro", false);
	return dev.ifindex;
}

static int set_up(void **state)
{
	static const uint8_t macs[4][6] = {{2, 0x70, 0x6b, 1, 0, 1},
					   {2, 0x70, 0x6b, 1, 0, 2},
					   {2, 0x70, 0x6b, 1, 0, 3},
					   {2, 0x70, 0x6b, 1, 0, 4}};
	struct in_addr from = {htonl(0xc6120001)}, to = {htonl(0xc6120002)};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = to};
	struct netns *const all[] = {&host.tx, &host.rx, &host.far};
	int saved;

	(void)state;
	for (unsigned i = 0; i < N_ELEMENTS(all); i++) {
		if (netns_create(all[i], &err))
			return -1;
		quiet(all[i]);
	}
	assert_int_equal(netdev_add_veth(&host.tx, "pl-a", macs[0], &host.rx, "pl-b", macs[1], 1),
			 0);
	assert_int_equal(netdev_add_veth(&host.rx, "pl-c", macs[2], &host.far, "pl-d", macs[3], 1),
			 0);
	host.a = index_of(&host.tx, "pl-a");
	host.b = index_of(&host.rx, "pl-b");
	host.c = index_of(&host.rx, "pl-c");
	host.d = index_of(&host.far, "pl-d");
	assert_int_equal(netdev_add_addr(&host.tx, host.a, AF_INET, &from, 24), 0);
	assert_int_equal(netdev_add_neigh(&host.tx, host.a, AF_INET, &to, macs[1]), 0);
	saved = netns_push(&host.tx);
	host.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(host.socket, (void *)&addr, sizeof(addr)), 0);
	netns_pop(saved);
	for (unsigned i = 0; i < 2; i++)
		host.at[i].link = host.progs[i] = host.maps[i] = -1;
	host.xsk = -1;
	assert_int_equal(ksyms_open(&host.ksyms, NULL, &err), 0);
	return reasons_open(&host.reasons, NULL, &err);
}

static int clean_up(void **state)
{
	(void)state;
	close(host.socket);
	ksyms_free(host.ksyms);
	reasons_free(host.reasons);
	netns_close(&host.tx);
	netns_close(&host.rx);
	netns_close(&host.far);
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
