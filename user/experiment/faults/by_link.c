// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults of interfaces and links: rings, RPS, neighbours, bridges, tunnels. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drops/reason.h"
#include "experiment/faults/row.h"
#include "host/lab.h"
#include "host/netdev.h"
#include "host/nl.h"

#define VETH_RING	256	   /* VETH_RING_SIZE */
#define BURN_NS		20000	   /* ns per packet, for a slow CPU: 50 kpps */
#define NEIGH_FLIGHT	4096	   /* above the default room of unres_qlen_bytes */
#define NEIGH_SETTLE	4000000000 /* ns, three solicitations, 1 s apart (mcast_solicit) */
#define TUNNEL_DEVICE	"v-vxlan"
#define TAP_RING	"the ring of the tap"
#define FLOW_LIMIT_PATH "net/core/flow_limit_cpu_bitmap"

/* Deletes the static entries. The resulting address requests are dropped (PROGRAM_DEAF). */
static int apply_neigh(struct fault_state *s, struct error *err)
{
	const struct lab_port *tx = &s->lab->tx, *hop = lab_next_hop(s->lab);
	int ret = netdev_set_neigh(tx->ns, tx->ifindex, AF_INET, &hop->ip4, NULL);

	if (!ret)
		ret = netdev_set_neigh(tx->ns, tx->ifindex, AF_INET6, &hop->ip6, NULL);
	return lab_failed(ret == -ENOENT ? 0 : ret, "forget the neighbour", NULL, err);
}

static int plan_ring(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;

	/* AF_XDP frames leave before tc. After a router the next hop is the router's port. */
	if (p->spec->rx != &rx_socket && fx->topology == LAB_PAIR) {
		fx->xdp = true;
		fx->xdp_burn_ns = BURN_NS;
	} else {
		fx->tc_burn_ns = BURN_NS;
	}
	return 0;
}

static int slow_taps(struct fault_state *s, struct error *err)
{
	(void)err;
	lab_taps_slow(s->lab->taps, BURN_NS);
	return 0;
}

static int pause_taps(struct fault_state *s, struct error *err)
{
	(void)err;
	lab_taps_pause(s->lab->taps);
	return 0;
}

static int detach_taps(struct fault_state *s, struct error *err)
{
	(void)err;
	lab_taps_detach(s->lab->taps);
	return 0;
}

/* The sender's CPU and the CPU selected by RPS must differ. */
static int plan_backlog(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;
	uint64_t queue;
	cpu_set_t cpus;

	if (!netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &queue, 1))
		queue = 1000;
	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return fault_plan_refuse(p, -EOPNOTSUPP, NULL,
					 ": the CPUs of this process are not known");
	for (int cpu = 0; cpu < CPU_SETSIZE && fx->busy_cpu < 0; cpu++) {
		if (!CPU_ISSET(cpu, &cpus))
			continue;
		if (fx->tx_cpu < 0)
			fx->tx_cpu = cpu;
		else
			fx->busy_cpu = cpu;
	}
	if (fx->busy_cpu < 0)
		return fault_plan_refuse(p, -EOPNOTSUPP, "give this process two CPUs",
					 ": it takes two CPUs");
	if (fault_is(p->fault, HOST_GLOBAL)) {
		if (access("/proc/sys/" FLOW_LIMIT_PATH, F_OK))
			return fault_plan_refuse(
				p, -EOPNOTSUPP, "the kernel needs CONFIG_NET_FLOW_LIMIT",
				": this kernel does not limit a flow's share of the backlog");
		fx->notes[fx->n_notes++] = "backlog:flow_limit: all flows of this host are limited "
					   "while it runs";
	}
	fx->tc_burn_ns = BURN_NS;
	fault_plan_flight(p, 4 * queue);
	return fault_plan_count(p, queue, "the backlog of a CPU");
}

/*
 * Sets the first `cpus` in a mask as written by the kernel. Returns false if it has no room for
 * them.
 */
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
 * skb_flow_limit() uses the table of the CPU that hands a packet over, not of its target CPU: any
 * CPU may be the sender's. In force until the state is closed, because its counter is removed with
 * it.
 */
static int limit_flows(struct fault_state *s, struct error *err)
{
	char mask[JOURNAL_VALUE_SIZE];
	int ret;

	if (s->flow_limit)
		return 0;
	ret = netns_sysctl_read(NULL, FLOW_LIMIT_PATH, mask, sizeof(mask));
	if (ret || !first_cpus(mask, (unsigned)sysconf(_SC_NPROCESSORS_CONF)))
		return error_set(err, STATUS_UNABLE, ret ? ret : -ERANGE, NULL,
				 "cannot read /proc/sys/" FLOW_LIMIT_PATH);
	return journal_change_sysctl(&s->flow_limit, FLOW_LIMIT_PATH, mask, err);
}

static int misaddress(struct fault_state *s, struct error *err)
{
	const struct lab_port *tx = &s->lab->tx, *hop = lab_next_hop(s->lab);
	uint8_t nobody[6];
	int ret;

	memcpy(nobody, hop->mac, sizeof(nobody));
	nobody[5] ^= 0x80;
	ret = netdev_set_neigh(tx->ns, tx->ifindex, AF_INET, &hop->ip4, nobody);
	if (!ret && !IN6_IS_ADDR_UNSPECIFIED(&hop->ip6))
		ret = netdev_set_neigh(tx->ns, tx->ifindex, AF_INET6, &hop->ip6, nobody);
	return lab_failed(ret, "change the neighbour", NULL, err);
}

static int block_port(struct fault_state *s, struct error *err)
{
	const struct netdev_bridge_port port = {.blocked = true, .floods = true, .learns = true};

	return lab_failed(
		netdev_set_bridge_port(&s->lab->router_ns, s->lab->router_tx.ifindex, &port),
		"block a port", NULL, err);
}

/*
 * Makes the bridge forget the receiver's port and excludes that port from flooding: it floods only
 * a third port, whose owner drops the packet as another host's, or keeps it (PROGRAM_KEEP).
 */
static int flood(struct fault_state *s, struct error *err)
{
	static const uint8_t mac[2][6] = {{2, 0x70, 0x6b, 2, 0, 1}, {2, 0x70, 0x6b, 2, 0, 2}};
	const struct netdev_bridge_port deaf = {.learns = false};
	const struct netns *ns = &s->lab->router_ns;
	int bridge = nl_ifindex(ns, LAB_BRIDGE_NAME);
	int ret = bridge < 0 ? bridge
			     : netdev_add_veth(ns, "v-b2", mac[0], ns, FAULT_THIRD, mac[1], 1);

	if (!ret)
		ret = netdev_set_master(ns, "v-b2", (unsigned)bridge);
	if (!ret)
		ret = netdev_set_up(ns, FAULT_THIRD, true);
	if (!ret)
		ret = netdev_set_up(ns, "v-b2", true);
	if (!ret)
		ret = netdev_set_bridge_port(ns, s->lab->router_rx.ifindex, &deaf);
	return lab_failed(ret, "keep the bridge from flooding", NULL, err);
}

/*
 * A tunnel that returns non-VXLAN packets to UDP loses nothing itself: its socket on the port
 * overflows. Where the kernel drops such packets, it has a drop reason.
 */
static int plan_tunnel_header(struct fault_plan *p)
{
	struct reasons *reasons;
	int ret = reasons_open(&reasons, NULL, p->err);

	if (ret)
		return ret;
	p->fx->no_receiver = true;
	ret = reasons_value(reasons, "VXLAN_INVALID_HDR");
	reasons_free(reasons);
	return ret >= 0 ? 0
			: fault_plan_refuse(p, -EOPNOTSUPP, "it needs Linux 6.12 or newer",
					    ": this kernel returns packets without VXLAN to UDP");
}

/* Our sequence header is not a VXLAN header: its flags lack the I, 0x08 (RFC 7348, vxlan_rcv()). */
static int apply_tunnel_header(struct fault_state *s, struct error *err)
{
	const struct netns *ns = &s->lab->rx_ns;
	int ret = netdev_add_vxlan(ns, TUNNEL_DEVICE, s->fx->port, NULL);

	if (ret == -EOPNOTSUPP)
		return error_set(err, STATUS_UNABLE, ret, "the kernel needs CONFIG_VXLAN",
				 "this kernel makes no VXLAN device");
	if (!ret)
		ret = netdev_set_up(ns, TUNNEL_DEVICE, true);
	return lab_failed(ret, "set up a tunnel", NULL, err);
}

const struct fault_row faults_by_link[] = {
	{"neigh", "the next hop does not answer ARP or ND", .is = UNRESOLVED, .tx = "socket",
	 .programs = PROGRAM(DEAF), .fx.settle_ns = NEIGH_SETTLE, .flight = NEIGH_FLIGHT,
	 .apply = apply_neigh},
	/* requires a large SO_SNDBUF, set by the program */
	{"tx_device", "the next device's ring is full: its reader is slow",
	 .is = RING_FULL | OF_VETH | OF_PROGRAM, .fx.threaded_napi = true, .flight = 8 * VETH_RING,
	 .holds = 2 * VETH_RING, .where = "the ring of the device", .plan = plan_ring},
	{"tx_device:tap", "the ring of a tap is full: its reader is slow",
	 .is = TAPPED | OF_PROGRAM, .holds = LAB_TAP_RING, .where = TAP_RING, .apply = slow_taps},
	/*
	 * Live frames in the ring are freed without an event (tun_ptr_free()). The kernel's own
	 * IPv6 reports would appear in the interface's counter, so they are blocked.
	 */
	{"tx_device:detach", "a tap is not read, and closed with packets in its ring",
	 .is = TAPPED | TAP_ENDS | OF_PROGRAM, .not_tx = "xdp", .programs = PROGRAM(MUTE),
	 .holds = LAB_TAP_RING, .where = TAP_RING, .begin = pause_taps, .end = detach_taps},
	{"backlog", "RPS to a CPU that is slow",
	 .is = AT_BACKLOG | OF_VETH | RX_DEVICE | OF_PROGRAM, .rx = "socket", .plan = plan_backlog},
	{"backlog:flow_limit", "the same, and this host limits a flow's share of the queue",
	 .is = AT_BACKLOG | OF_VETH | RX_DEVICE | OF_PROGRAM | HOST_GLOBAL, .rx = "socket",
	 .plan = plan_backlog, .begin = limit_flows},
	{"l2:address", "frames go to a MAC address that no device has", .is = FRAME_REFUSED,
	 .tx = "socket", .rx = "socket", .apply = misaddress},
	{"l2:blocked", "the sender's port of a bridge is blocked", .is = BRIDGED,
	 .apply = block_port},
	{"l2:flood", "a bridge knows no address and floods, but not to the receiver", .is = BRIDGED,
	 .apply = flood},
	{"l2:silent", "the same, and the port that gets it keeps it: no event shows it",
	 .is = BRIDGED | SILENT | OF_PROGRAM, .programs = PROGRAM(KEEP), .apply = flood},
	{"tunnel", "the ends of a VXLAN tunnel have different VNIs", .is = TUNNELLED | OF_PROGRAM,
	 .fx.other_vni = true},
	{"tunnel:header", "a VXLAN device has the port, and packets are not VXLAN",
	 .is = TUNNEL_PORT | RX_SOCKET | OF_PROGRAM, .rx = "socket", .plan = plan_tunnel_header,
	 .apply = apply_tunnel_header},
	{0},
};
