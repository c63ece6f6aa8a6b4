/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two pairs of veths over three namespaces, and XDP programs made instruction by instruction. */
#ifndef PKTLEDGER_TESTS_BPF_XDP_LAB_H
#define PKTLEDGER_TESTS_BPF_XDP_LAB_H

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "traffic/rx.h"
#include "helpers.h"
#include "host/netdev.h"
#include "host/recipe.h"
#include "drops/ksym.h"
#include "drops/reason.h"

#define FRAMES 16 /* of an AF_XDP socket's memory */

struct host {
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct netns tx, rx, far;
	unsigned a, b, c, d; /* veths: a in tx - b in rx, c in rx - d in far */
	int socket, maps[2], progs[2], xsk;
	void *memory;
	int links[2];
};

static struct host host;
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
	int saved = netns_push(&host.rx); /* the index is one of the caller's namespace */
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

/* An XSKMAP with a socket at queue 0 of pl-b, with an empty fill ring. */
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
	LIBBPF_OPTS(bpf_link_create_opts, opts,
		    .flags = generic ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	int saved = netns_push(ns), link = -EBUSY;

	assert_true(saved >= 0);
	/* a program that lists links holds the previous link for a moment */
	for (unsigned tries = 0; link == -EBUSY && tries < 200; tries++) {
		link = bpf_link_create(prog, (int)if_nametoindex(ifname), BPF_XDP, &opts);
		if (link == -EBUSY)
			usleep(10000);
	}
	assert_true(link >= 0);
	host.links[which] = link;
	netns_pop(saved);
}

/* Attaches the program of the case at b and keeps its other objects for undo(). */
static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
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
	return dev.link.ifindex;
}

static int set_up(void **state)
{
	struct in_addr to = {htonl(0xc6120002)};
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = to};
	struct netns *const all[] = {&host.tx, &host.rx, &host.far};
	struct recipe r = RECIPE;
	int saved;

	(void)state;
	for (unsigned i = 0; i < N_ELEMENTS(all); i++) {
		if (netns_create(all[i], &err))
			return -1;
		quiet(all[i]);
	}
	recipe_add_other(&r, RECIPE_IP, &host.rx, &host.tx,
			 "link add pl-b address 02:70:6b:01:00:02 type veth peer name pl-a netns "
			 RECIPE_OTHER " address 02:70:6b:01:00:01");
	recipe_add_other(&r, RECIPE_IP, &host.rx, &host.far,
			 "link add pl-c type veth peer name pl-d netns " RECIPE_OTHER);
	recipe_add(&r, RECIPE_IP, &host.rx, "link set pl-b up");
	recipe_add(&r, RECIPE_IP, &host.rx, "link set pl-c up");
	recipe_add(&r, RECIPE_IP, &host.far, "link set pl-d up");
	recipe_add(&r, RECIPE_IP, &host.tx, "link set pl-a up");
	recipe_add(&r, RECIPE_IP, &host.tx, "addr add 198.18.0.1/24 dev pl-a");
	recipe_add(&r, RECIPE_IP, &host.tx,
		   "neigh add 198.18.0.2 lladdr 02:70:6b:01:00:02 dev pl-a nud permanent");
	if (recipe_run(&r, "set up", &err))
		fail_msg("%s", err.message);
	host.a = index_of(&host.tx, "pl-a");
	host.b = index_of(&host.rx, "pl-b");
	host.c = index_of(&host.rx, "pl-c");
	host.d = index_of(&host.far, "pl-d");
	saved = netns_push(&host.tx);
	host.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(host.socket, (void *)&addr, sizeof(addr)), 0);
	netns_pop(saved);
	for (unsigned i = 0; i < 2; i++)
		host.links[i] = host.progs[i] = host.maps[i] = -1;
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

#endif
