// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/faults/fault.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/journal.h"
#include "host/lab.h"
#include "host/netdev.h"
#include "host/nl.h"
#include "experiment/faults/fault_config.h"
#include "experiment/faults/fault_net.h"
#include "experiment/faults/fault_redirect.h"
#include "experiment/faults/fault_table.h"
#include "experiment/lab_tune.h"

#define UDP_MEM_PATH  "net/ipv4/udp_mem"
#define UDP_MEM_BYTES (1UL << 20)
#define LAB_PAYLOAD   128	/* of the datagrams that a lab's queues are measured by */
#define LAB_HEADERS   48	/* of the largest of them: IPv6 and UDP */
#define TAP_BURN_NS   20000	/* a frame, of who carries it from tap to tap: 50 kpps */
#define QDISC_AFTER   (1 << 17) /* packets, of the pfifo that replaces another qdisc */

struct fault_state {
	const struct fault_list *list;
	const struct fault_effects *fx;
	struct lab *lab;
	struct fault_prog *prog;		     /* NULL: none is needed */
	struct journal_change *udp_mem, *flow_limit; /* NULL: as it was */
	struct drops_redirects redirects;
	struct lab_port third; /* of who gets what a bridge floods */
	bool is_slow;	       /* its tbf, until midway */
	bool qdisc_replaced;
};

static int failed(int ret, const char *what, const struct lab_port *port, struct error *err)
{
	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot %s of %s: %s", what,
			       port->ifname, strerror(-ret))
		   : 0;
}

/* The device at which a program runs. */
static const struct lab_port *tc_port(const struct fault_state *s, enum fault_tc which)
{
	switch (which) {
	case FAULT_TC_SLOW:
		return fault_has(s->list, FAULT_TX_DEVICE) ? lab_link_peer(s->lab) : &s->lab->rx;
	case FAULT_TC_DEAF:
		return lab_next_hop(s->lab);
	case FAULT_TC_KEEP:
		return &s->third;
	case FAULT_TC_UNTOLD:
	case FAULT_TC_EGRESS_DROP:
	case FAULT_TC_MUTE:
		return &s->lab->tx;
	default:
		return &s->lab->rx;
	}
}

static int find_third(struct fault_state *s, struct error *err)
{
	int index = nl_ifindex(&s->lab->router_ns, FAULT_THIRD);

	s->third = (struct lab_port){.ns = &s->lab->router_ns, .ifname = FAULT_THIRD};
	if (index < 0)
		return failed(index, "find the device", &s->third, err);
	s->third.ifindex = (unsigned)index;
	return 0;
}

static int apply_programs(struct fault_state *s, const struct fault_numbers *numbers,
			  struct error *err)
{
	const struct fault_config cfg = fault_config(s->list, s->fx, !numbers);
	const struct fault_programs which = fault_programs(s->list, s->fx), none = {.xdp = false};
	int ret;

	if (!memcmp(&which, &none, sizeof(which)))
		return 0;
	if (which.tc[FAULT_TC_MERGED] && !(numbers && numbers->paged))
		return error_set(err, STATUS_UNABLE, -EOPNOTSUPP, "it needs Linux 6.12 or newer",
				 "--fault gso: this kernel does not show the numbers in merged "
				 "packets");
	ret = fault_prog_load(&s->prog, &cfg, &which, numbers, err);
	if (!ret && which.tc[FAULT_TC_KEEP])
		ret = find_third(s, err);
	for (unsigned i = 0; i < FAULT_TC_COUNT && !ret; i++) {
		if (which.tc[i])
			ret = fault_prog_tc(s->prog, i, tc_port(s, i), err);
	}
	if (!ret && which.cgroup)
		ret = fault_prog_cgroup(s->prog, err);
	if (!ret && fault_redirect_wanted(s->list))
		ret = fault_redirect_open(s->list, s->lab, s->prog, &s->redirects, err);
	return ret;
}

/* The limit of a tbf is that of any fifo in it, in whatever that counts (fifo_set_limit()). */
static int set_tbf(const struct fault_effects *fx, const struct lab_port *tx, uint64_t bps)
{
	return netdev_qdisc_tbf(tx->ns, tx->ifindex, bps, fx->tbf_burst,
				fx->pfifo_limit ? fx->pfifo_limit : fx->tbf_limit);
}

static int apply_qdisc(const struct fault_effects *fx, const struct lab_port *tx)
{
	const struct netdev_qdisc pfifo = {
		.kind = "pfifo", .limited = true, .limit = fx->pfifo_limit};
	int ret = set_tbf(fx, tx, fx->tbf_bps);

	return ret || !fx->pfifo_limit ? ret : netdev_qdisc_inner(tx->ns, tx->ifindex, &pfifo);
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
		ret = lab_thread_napi(tx, lab_link_peer(s->lab), err);
	if (!ret && fx->merge_ns)
		ret = lab_merge_udp(lab_link_peer(s->lab), fx->merge_ns, err);
	if (fault_has(s->list, FAULT_TX_DEVICE_TAP))
		lab_taps_slow(s->lab->taps, TAP_BURN_NS);
	if (!ret && fx->busy_cpu >= 0)
		ret = lab_steer(&s->lab->rx, (unsigned)fx->busy_cpu, err);
	if (!ret && fx->tbf_bps)
		ret = failed(apply_qdisc(fx, tx), "set the qdisc", tx, err);
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
		ret = fault_net_apply(list, fx, lab, err);
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

int fault_check_named(const struct fault_list *list, const char *lab, struct error *err)
{
	uint64_t staying = list->set & ~FAULTS_THAT_GO;

	if (!staying)
		return 0;
	return error_set(err, STATUS_USAGE, -EINVAL,
			 "leave --lab out; or make a lab that has it: lab up --fault",
			 "--fault %s would stay in the lab '%s'",
			 fault_values[__builtin_ctzll(staying)].name, lab);
}

int fault_lab_topology(const struct fault_list *list, enum lab_topology *topology,
		       struct error *err)
{
	for (unsigned i = 0; i < FAULT_COUNT; i++) {
		if (fault_has(list, i) && fault_rows[i].of_program)
			return error_set(err, STATUS_USAGE, -EINVAL, "use run --fault",
					 "--fault %s is not of the lab, but of the programs that "
					 "send and receive",
					 fault_values[i].name);
	}
	if (fault_topology(list) != LAB_PAIR)
		*topology = fault_topology(list);
	return 0;
}

/*
 * Nothing is known of the senders but that they are ordinary sockets, with small datagrams perhaps:
 * a queue has to be short to overflow within their SO_SNDBUF.
 */
int fault_lab_apply(const struct fault_list *list, struct lab *lab, struct error *err)
{
	const struct fault_request req = {
		.tx = "socket",
		.rx = "socket",
		.family = AF_INET,
		.payload = list->set & FAULTS_OF_FRAGMENTS	   ? 2 * lab->rx.mtu
			   : fault_has(list, FAULT_IP_FORWARD_MTU) ? lab->tx.mtu - LAB_HEADERS
								   : LAB_PAYLOAD,
		.mtu = lab->rx.mtu,
		.threads = 1,
		.count = UINT64_MAX,
	};
	struct fault_state *state;
	struct fault_effects fx;
	int ret = fault_plan(list, &req, &fx, err);

	if (ret)
		return ret;
	ret = fault_apply(list, &fx, lab, NULL, &state, err);
	if (!ret && fx.xdp)
		ret = fault_prog_xdp_stay(state->prog, &lab->rx, fault_has(list, FAULT_XDP_GENERIC),
					  err);
	fault_close(state);
	return ret;
}

bool fault_redirects(const struct fault_state *state, struct drops_redirects *r)
{
	*r = state->redirects;
	return fault_redirect_wanted(state->list);
}

int fault_socket(struct fault_state *state, int fd, struct error *err)
{
	return state->fx->socket_filter ? fault_prog_filter(state->prog, fd, err) : 0;
}

/* A mask as the kernel wrote it, with the first `cpus` in it. False: it has no place for them. */
static bool first_cpus(char *mask, unsigned cpus)
{
	for (char *c = mask + strlen(mask); c-- > mask;) {
		if (*c == ',')
			continue;
		*c = "0137f"[cpus < 4 ? cpus : 4];
		cpus -= cpus < 4 ? cpus : 4;
	}
	return !cpus;
}

/*
 * skb_flow_limit() asks the table of the CPU that hands a packet over, not of the one that it goes
 * to: any CPU may be the sender's.
 */
static int limit_flows(struct fault_state *state, struct error *err)
{
	char mask[JOURNAL_VALUE_SIZE];
	int ret;

	if (!fault_has(state->list, FAULT_BACKLOG_FLOW_LIMIT) || state->flow_limit)
		return 0;
	ret = netns_sysctl_read(NULL, FAULT_FLOW_LIMIT_PATH, mask, sizeof(mask));
	if (ret || !first_cpus(mask, (unsigned)sysconf(_SC_NPROCESSORS_CONF)))
		return error_set(err, STATUS_UNABLE, ret ? ret : -ERANGE, NULL,
				 "cannot read /proc/sys/" FAULT_FLOW_LIMIT_PATH);
	return journal_change_sysctl(&state->flow_limit, FAULT_FLOW_LIMIT_PATH, mask, err);
}

/* What waits in it stays. */
static int change_tbf(const struct fault_state *s, uint64_t bps, struct error *err)
{
	return failed(set_tbf(s->fx, &s->lab->tx, bps), "change the tbf", &s->lab->tx, err);
}

/*
 * All three limits alike: UDP has no memory pressure, so above the first a socket gets no more
 * than udp_rmem_min, and above the last nothing (__sk_mem_raise_allocated()).
 */
int fault_begin(struct fault_state *state, struct error *err)
{
	unsigned long pages = UDP_MEM_BYTES / sysconf(_SC_PAGESIZE);
	char triple[64];
	int ret = limit_flows(state, err);

	if (fault_has(state->list, FAULT_TX_DEVICE_DETACH))
		lab_taps_pause(state->lab->taps);
	state->is_slow = state->fx->slow_bps != 0;
	if (!ret && state->is_slow)
		ret = change_tbf(state, state->fx->slow_bps, err);
	if (ret || !fault_has(state->list, FAULT_UDP_MEM) || state->udp_mem)
		return ret;
	snprintf(triple, sizeof(triple), "%lu %lu %lu", pages, pages, pages);
	return journal_change_sysctl(&state->udp_mem, UDP_MEM_PATH, triple, err);
}

static int replace_qdisc(struct fault_state *state, struct error *err)
{
	const struct netdev_qdisc after = {.kind = "pfifo", .limited = true, .limit = QDISC_AFTER};
	const struct lab_port *tx = &state->lab->tx;

	if (!fault_has(state->list, FAULT_QDISC_REPLACE) || state->qdisc_replaced)
		return 0;
	state->qdisc_replaced = true;
	return failed(netdev_qdisc_replace(tx->ns, tx->ifindex, &after), "replace the qdisc", tx,
		      err);
}

/* Or at the end, if it comes first. Once. */
static int midway(struct fault_state *state, struct error *err)
{
	if (!state->is_slow)
		return replace_qdisc(state, err);
	state->is_slow = false;
	return change_tbf(state, state->fx->tbf_bps, err);
}

int fault_watch(struct fault_state *state, uint64_t sent, struct error *err)
{
	return state && state->fx->midway && sent >= state->fx->midway ? midway(state, err) : 0;
}

int fault_end(struct fault_state *state, struct error *err)
{
	struct journal_change *change;
	int ret;

	if (!state)
		return 0;
	if (fault_has(state->list, FAULT_TX_DEVICE_DETACH))
		lab_taps_detach(state->lab->taps);
	change = state->udp_mem;
	state->udp_mem = NULL;
	ret = journal_restore(change, err);
	return ret ? ret : midway(state, err);
}

void fault_close(struct fault_state *state)
{
	if (!state)
		return;
	fault_end(state, NULL);
	journal_restore(state->flow_limit, NULL);
	fault_prog_close(state->prog);
	free(state);
}
