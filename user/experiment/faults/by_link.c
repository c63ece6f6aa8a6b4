// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Interface and link faults: rings, RPS, neighbours, bridges, tunnels. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drops/reason.h"
#include "experiment/faults/row.h"
#include "host/lab.h"

#define VETH_RING	256	   /* VETH_RING_SIZE */
#define BURN_NS		20000	   /* ns per packet, for a slow CPU: 50 kpps */
#define NEIGH_FLIGHT	4096	   /* more than unres_qlen_bytes allows by default */
#define NEIGH_SETTLE	4000000000 /* ns, three solicitations, 1 s apart (mcast_solicit) */
#define TAP_RING	"the ring of the tap"
#define FLOW_LIMIT_PATH "net/core/flow_limit_cpu_bitmap"

static int plan_ring(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;

	/* AF_XDP frames leave before tc. With a router, the next hop is the router's port. */
	if (!p->spec->rx->socket && fx->topology == LAB_PAIR) {
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
	lab_taps_slow(s->lab->taps, LAB_TAPS_PAUSED);
	return 0;
}

static int detach_taps(struct fault_state *s, struct error *err)
{
	(void)err;
	lab_taps_detach(s->lab->taps);
	return 0;
}

/* The sender's CPU must not be the CPU that RPS selects. */
static int plan_backlog(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;
	uint64_t queue;

	if (!netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &queue, 1))
		queue = 1000;
	if (worker_cpus() < 2)
		return fault_plan_refuse(p, -EOPNOTSUPP, "give this process two CPUs",
					 ": it takes two CPUs");
	fx->tx_cpu = worker_cpu(0);
	fx->busy_cpu = worker_cpu(1);
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
 * Sets the first `cpus` bits in a mask that is formatted as the kernel writes it. Returns false if
 * the mask has no room for them.
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
 * skb_flow_limit() uses the table of the CPU that hands a packet over, not of its target CPU, and
 * any CPU may be the sender's. The limit applies until the state is closed, because its counter is
 * removed with it.
 */
static int limit_flows(struct fault_state *s, struct error *err)
{
	char mask[JOURNAL_VALUE_SIZE];
	int ret;

	if (s->flow_limit)
		return 0;
	ret = netns_sysctl(NULL, FLOW_LIMIT_PATH, NULL, mask, sizeof(mask));
	if (ret || !first_cpus(mask, (unsigned)sysconf(_SC_NPROCESSORS_CONF)))
		return error_set(err, STATUS_UNABLE, ret ? ret : -ERANGE, NULL,
				 "cannot read /proc/sys/" FLOW_LIMIT_PATH);
	return journal_change_sysctl(&s->flow_limit, FLOW_LIMIT_PATH, mask, err);
}

/*
 * A tunnel that returns non-VXLAN packets to UDP does not lose any itself. Instead, its socket on
 * the port overflows. Where the kernel drops such packets, it has a drop reason.
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

/*
 * The bridge forgets the receiver's port and excludes that port from flooding. It then floods only
 * a third port. Its owner drops the packet as addressed to another host, or keeps it
 * (PROGRAM_KEEP).
 */
#define FLOOD                                                                                      \
	{                                                                                          \
		"mid ip link add v-b2 address 02:70:6b:02:00:01 type veth peer name " FAULT_THIRD  \
		" address 02:70:6b:02:00:02",                                                      \
			"mid ip link set " FAULT_THIRD " up",                                      \
			"mid ip link set v-b2 master " LAB_BRIDGE_NAME " up",                      \
			"mid ip link set {out} type bridge_slave flood off learning off fdb_flush" \
	}

const struct fault_row faults_by_link[] = {
	/* deletes the static entries, which causes requests that PROGRAM_DEAF drops */
	{"neigh", "the next hop does not answer ARP or ND", .at = AT_NEIGH,
	 .is = ALL_LOST | BY_TIMER, .tx = "socket", .programs = PROGRAM(DEAF),
	 .fx.settle_ns = NEIGH_SETTLE, .flight = NEIGH_FLIGHT,
	 .steps = {"tx ip neigh del {hop4} dev {tx}", "tx6 ip neigh del {hop6} dev {tx}"}},
	/* requires a large SO_SNDBUF, which the program sets */
	{"tx_device", "the next device's ring is full: its reader is slow", .at = AT_LINK,
	 .is = OF_PROGRAM | NO_BACKLOG, .slot = SLOT_QUEUE, .in = IN_VETHS,
	 .fx.threaded_napi = true, .flight = 8 * VETH_RING, .holds = 2 * VETH_RING,
	 .where = "the ring of the device", .plan = plan_ring},
	{"tx_device:tap", "the ring of a tap is full: its reader is slow",
	 .at = AT_LINK, .is = OF_PROGRAM, .in = IN_TAPS, .holds = LAB_TAP_RING,
	 .where = TAP_RING, .begin = slow_taps},
	/*
	 * tun_ptr_free() frees live frames in the ring without an event. The kernel's own IPv6
	 * reports are blocked, because the interface would count them.
	 */
	{"tx_device:detach", "a tap is not read and is closed with packets in its ring",
	 .at = AT_LINK, .is = ALL_LOST | OF_PROGRAM, .in = IN_TAPS, .not_tx = "xdp",
	 .programs = PROGRAM(MUTE), .holds = LAB_TAP_RING, .where = TAP_RING, .begin = pause_taps,
	 .end = detach_taps},
	{"backlog", "RPS to a CPU that is slow",
	 .at = AT_RECEIVER, .is = OF_PROGRAM, .slot = SLOT_BACKLOG, .in = IN_VETHS, .rx = "socket",
	 .plan = plan_backlog},
	{"backlog:flow_limit", "the same, and this host limits a flow's share of the queue",
	 .at = AT_RECEIVER, .is = OF_PROGRAM | HOST_GLOBAL, .slot = SLOT_BACKLOG, .in = IN_VETHS,
	 .rx = "socket", .plan = plan_backlog, .begin = limit_flows},
	{"l2:address", "frames are sent to a MAC address that no device has", .at = AT_ADDRESS,
	 .is = ALL_LOST, .tx = "socket", .rx = "socket",
	 .steps = {"tx ip neigh replace {hop4} lladdr {nobody} dev {tx} nud permanent",
		   "tx6 ip neigh replace {hop6} lladdr {nobody} dev {tx} nud permanent"}},
	/* disabled (0), because the bridge itself undoes the blocking state */
	{"l2:blocked", "the bridge port of the sender is blocked", .at = AT_BRIDGE, .is = ALL_LOST,
	 .in = IN_BRIDGE, .steps = {"mid bridge link set dev {in} state 0"}},
	{"l2:flood", "a bridge without an entry for the address floods, but not to the receiver",
	 .at = AT_BRIDGE, .is = ALL_LOST, .in = IN_BRIDGE, .steps = FLOOD},
	{"l2:silent", "the same, and the port that gets the packet keeps it: no event shows it",
	 .at = AT_BRIDGE, .is = ALL_LOST | SILENT | OF_PROGRAM, .in = IN_BRIDGE,
	 .programs = PROGRAM(KEEP), .steps = FLOOD},
	{"tunnel", "the ends of a VXLAN tunnel have different VNIs", .at = AT_LINK,
	 .is = ALL_LOST | OF_PROGRAM, .in = IN_TUNNEL, .fx.other_vni = true},
	/*
	 * the sequence header is not VXLAN, because its flags lack the I bit, 0x08 (RFC 7348,
	 * vxlan_rcv())
	 */
	{"tunnel:header", "a VXLAN device has the port, and packets are not VXLAN",
	 .at = AT_LOOKUP, .is = ALL_LOST | OF_PROGRAM, .rx = "socket", .plan = plan_tunnel_header,
	 .steps = {"rx ip link add v-vxlan type vxlan dstport {port} external",
		   "rx ip link set v-vxlan up"}},
	{0},
};
