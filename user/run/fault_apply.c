// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "run/fault.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/journal.h"
#include "host/netdev.h"
#include "run/fault_prog.h"
#include "run/fault_table.h"

#define UDP_MEM_PATH  "net/ipv4/udp_mem"
#define UDP_MEM_BYTES (1UL << 20)

struct fault_state {
	const struct fault_list *list;
	const struct fault_effects *fx;
	struct lab *lab;
	struct fault_prog *prog;	/* NULL: none is needed */
	struct journal_change *udp_mem; /* NULL: as it was */
};

static int failed(int ret, const char *what, const struct lab_port *port, struct error *err)
{
	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot %s of %s: %s", what,
			       port->ifname, strerror(-ret))
		   : 0;
}

/*
 * GRO gives a veth its NAPI, but packets go there only if the sending side does no TSO
 * (veth_skb_is_eligible_for_gro()). UDP is not merged by it unless a socket asks.
 */
static int threaded_napi(const struct lab_port *from, const struct lab_port *to, struct error *err)
{
	static const char *const tso[] = {
		"tx-tcp-segmentation",
		"tx-tcp6-segmentation",
		"tx-tcp-ecn-segmentation",
		"tx-tcp-mangleid-segmentation",
	};
	char path[64];
	int ret = 0;

	for (unsigned i = 0; i < sizeof(tso) / sizeof(*tso) && !ret; i++)
		ret = netdev_set_feature(from->ns, from->ifname, tso[i], false);
	if (ret)
		return failed(ret, "switch off TSO", from, err);
	ret = netdev_set_feature(to->ns, to->ifname, "rx-gro", true);
	if (ret)
		return failed(ret, "switch on GRO", to, err);
	snprintf(path, sizeof(path), "class/net/%s/threaded", to->ifname);
	return failed(netns_sysfs_write(to->ns, path, "1"), "thread the NAPI", to, err);
}

/* All queues of the port to one CPU. */
static int steer(const struct lab_port *port, int cpu, struct error *err)
{
	char path[96], mask[FAULT_MASK_LEN];
	int ret = 0;

	fault_cpu_mask(mask, sizeof(mask), cpu);
	for (unsigned queue = 0; queue < port->queues && !ret; queue++) {
		snprintf(path, sizeof(path), "class/net/%s/queues/rx-%u/rps_cpus", port->ifname,
			 queue);
		ret = netns_sysfs_write(port->ns, path, mask);
	}
	return failed(ret, "set RPS", port, err);
}

/* A chain of its own for each fault, in one table a namespace. */
static int drop_at_hook(const struct netns *ns, const char *hook, double share, uint16_t port,
			struct error *err)
{
	char *const argv[] = {"nft", "-f", "-", NULL};
	char script[256], random[64] = "";

	if (share < 1)
		snprintf(random, sizeof(random), "numgen random mod 1000000 < %u",
			 (unsigned)(share * 1000000 + 0.5));
	snprintf(script, sizeof(script),
		 "table inet fault { chain %s { type filter hook %s priority 0; "
		 "udp dport %u %s counter drop; }; }\n",
		 hook, hook, port, random);
	return netns_exec(ns, argv, script, err);
}

static int apply_netfilter(const struct fault_state *s, struct error *err)
{
	const struct {
		enum fault fault;
		const char *hook;
		const struct netns *ns;
	} hooks[] = {
		{FAULT_NETFILTER, "input", &s->lab->rx_ns},
		{FAULT_NETFILTER_PREROUTING, "prerouting", &s->lab->rx_ns},
		{FAULT_NETFILTER_FORWARD, "forward", &s->lab->router_ns},
		{FAULT_NETFILTER_OUTPUT, "output", &s->lab->tx_ns},
		{FAULT_NETFILTER_POSTROUTING, "postrouting", &s->lab->tx_ns},
	};
	int ret = 0;

	for (unsigned i = 0; i < sizeof(hooks) / sizeof(*hooks) && !ret; i++) {
		if (fault_has(s->list, hooks[i].fault))
			ret = drop_at_hook(hooks[i].ns, hooks[i].hook,
					   s->list->share[hooks[i].fault], s->fx->port, err);
	}
	return ret;
}

static uint64_t of_2_32(double share)
{
	return share * (1ULL << 32);
}

static int apply_programs(struct fault_state *s, const struct fault_numbers *numbers,
			  struct error *err)
{
	const struct fault_list *list = s->list;
	const struct fault_effects *fx = s->fx;
	/* At most one of two exclusive faults has a share. */
	const struct fault_config cfg = {
		.corrupt_share =
			of_2_32(list->share[FAULT_UDP_CSUM] + list->share[FAULT_SOCKET_READ_CSUM]),
		.filter_share = of_2_32(list->share[FAULT_SOCKET_FILTER]),
		.xdp_share = of_2_32(list->share[FAULT_XDP] + list->share[FAULT_XDP_GENERIC]),
		.tc_burn_ns = fx->tc_burn_ns,
		.xdp_burn_ns = fx->xdp_burn_ns,
	};
	const struct fault_programs which = {
		.slow = fx->tc_burn_ns,
		.corrupt = fx->tx_csum_off,
		.xdp = fx->xdp,
		.filter = fx->socket_filter,
	};
	const struct lab_port *slow =
		fault_has(list, FAULT_TX_DEVICE) ? lab_next_hop(s->lab) : &s->lab->rx;
	int ret;

	if (!which.slow && !which.corrupt && !which.xdp && !which.filter)
		return 0;
	ret = fault_prog_load(&s->prog, &cfg, &which, numbers, err);
	if (!ret && which.slow)
		ret = fault_prog_slow(s->prog, slow, err);
	if (!ret && which.corrupt)
		ret = fault_prog_corrupt(s->prog, &s->lab->rx, err);
	return ret;
}

static int apply_devices(const struct fault_state *s, struct error *err)
{
	const struct fault_effects *fx = s->fx;
	const struct lab_port *tx = &s->lab->tx;
	int ret = 0;

	if (fx->tx_csum_off)
		ret = failed(
			netdev_set_feature(tx->ns, tx->ifname, "tx-checksum-ip-generic", false),
			"switch off checksum offload", tx, err);
	if (!ret && fx->threaded_napi)
		ret = threaded_napi(tx, lab_next_hop(s->lab), err);
	if (!ret && fx->busy_cpu >= 0)
		ret = steer(&s->lab->rx, fx->busy_cpu, err);
	if (!ret && fx->tbf_bps)
		ret = failed(netdev_qdisc_tbf(tx->ns, tx->ifindex, fx->tbf_bps, fx->tbf_burst,
					      fx->tbf_limit),
			     "set the qdisc", tx, err);
	return ret;
}

int fault_apply(const struct fault_list *list, const struct fault_effects *fx, struct lab *lab,
		const struct fault_numbers *numbers, struct fault_state **state, struct error *err)
{
	struct fault_state *s = calloc(1, sizeof(*s));
	int ret;

	*state = NULL;
	if (!s)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory for faults");
	*s = (struct fault_state){.list = list, .fx = fx, .lab = lab};
	ret = apply_devices(s, err);
	if (!ret)
		ret = apply_netfilter(s, err);
	if (!ret)
		ret = apply_programs(s, numbers, err);
	if (ret) {
		fault_close(s);
		return ret;
	}
	*state = s;
	return 0;
}

int fault_xdp(struct fault_state *state, int next_fd, bool *native, struct error *err)
{
	bool generic = fault_has(state->list, FAULT_XDP_GENERIC);

	*native = !generic;
	return fault_prog_xdp(state->prog, &state->lab->rx, next_fd, generic, err);
}

int fault_socket(struct fault_state *state, int fd, struct error *err)
{
	return state->fx->socket_filter ? fault_prog_filter(state->prog, fd, err) : 0;
}

/*
 * All three limits alike: UDP has no memory pressure, so above the first a socket gets no more
 * than udp_rmem_min, and above the last nothing (__sk_mem_raise_allocated()).
 */
int fault_begin(struct fault_state *state, struct error *err)
{
	unsigned long pages = UDP_MEM_BYTES / sysconf(_SC_PAGESIZE);
	char triple[64];

	if (!fault_has(state->list, FAULT_UDP_MEM) || state->udp_mem)
		return 0;
	snprintf(triple, sizeof(triple), "%lu %lu %lu", pages, pages, pages);
	return journal_change_sysctl(&state->udp_mem, UDP_MEM_PATH, triple, err);
}

int fault_end(struct fault_state *state, struct error *err)
{
	struct journal_change *change = state->udp_mem;

	state->udp_mem = NULL;
	return journal_restore(change, err);
}

void fault_close(struct fault_state *state)
{
	if (!state)
		return;
	fault_end(state, NULL);
	fault_prog_close(state->prog);
	free(state);
}
