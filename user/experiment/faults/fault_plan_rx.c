// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The receiver's part of the plan: its buffers, and when it reads. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "traffic/xsk.h"
#include "experiment/faults/fault_plan_parts.h"
#include "drops/reason.h"

#define SLOW_NS	       20000   /* a packet, of a reader */
#define RCVBUF_SMALL   32      /* packets asked for; the kernel doubles */
#define XSK_FEW_FRAMES 256     /* of a receiver that runs out of them; less than XSK_RX_RING */
#define RCVBUF_ROOMY   MIB(32) /* asked for so that a reader keeps up */

/*
 * What a CPU charges to UDP shows in the sum only by the MiB (sk_memory_allocated_add()), so the
 * queue has to grow beyond the limit and that.
 */
static int plan_udp_mem(struct plan *p)
{
	uint64_t reserve = plan_host_sysctl("net/core/mem_pcpu_rsv", 0) * sysconf(_SC_PAGESIZE);
	uint64_t cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct fault_effects *fx = p->fx;

	if (reserve < MIB(1)) /* SK_MEMORY_PCPU_RESERVE, where it cannot be set */
		reserve = MIB(1);
	fx->reader = READER_PAUSED;
	fx->rcvbuf = plan_ask(cpus * 8 * reserve);
	fx->rcvbuf_force = true;
	fx->notes[fx->n_notes++] =
		"udp_mem: all UDP of this host is short of memory while the sender runs";
	return plan_need_count(p, FAULT_UDP_MEM, (MIB(1) + 2 * reserve) / p->truesize * p->frames,
			       "what is left of the memory");
}

/* The queue must stay below udp_mem[0] and INT_MAX, or other losses come first. */
static int plan_socket_close(struct plan *p)
{
	uint64_t room =
		plan_host_sysctl("net/ipv4/udp_mem", INT_MAX) * sysconf(_SC_PAGESIZE) / 4 * 3;
	uint64_t max = (room < INT_MAX ? room : INT_MAX) / p->truesize;
	struct fault_effects *fx = p->fx;
	char hint[96];

	if (p->req->count > max) {
		snprintf(hint, sizeof(hint), "use --count %" PRIu64 " or less", max);
		return error_set(p->err, STATUS_USAGE, -EINVAL, hint,
				 "--fault socket_close: the packets have to fit in the receive "
				 "buffer");
	}
	fx->reader = READER_NEVER;
	fx->rcvbuf = plan_ask(p->req->count * p->truesize + MIB(1));
	fx->rcvbuf_force = true;
	return 0;
}

/* A third as fast as packets come; if that is not known, slower than any sender. */
static void plan_rcvbuf(struct plan *p)
{
	struct fault_effects *fx = p->fx;
	double pps = p->req->rate_pps ? p->req->rate_pps : fx->rate_pps;

	if (plan_has(p, FAULT_QDISC) || plan_has(p, FAULT_QDISC_PFIFO))
		pps = TBF_SHARE * pps;
	for (unsigned i = 0; i < FAULT_COUNT; i++)
		pps *= 1 - p->list->share[i];
	fx->reader = READER_SLOW;
	fx->reader_ns = pps ? 3e9 / pps : SLOW_NS;
	if (fx->reader_ns < SLOW_NS)
		fx->reader_ns = SLOW_NS;
	fx->rcvbuf = plan_ask(RCVBUF_SMALL * p->truesize);
	fx->rcvbuf_force = true;
}

/*
 * A tunnel that gives what is no VXLAN back to UDP loses nothing by itself: the socket that it has
 * on the port fills. Where the kernel drops it there, it has a reason for that.
 */
static int plan_tunnel_header(struct plan *p)
{
	struct reasons *reasons;
	int ret = reasons_open(&reasons, NULL, p->err);

	if (ret)
		return ret;
	ret = reasons_value(reasons, "VXLAN_INVALID_HDR");
	reasons_free(reasons);
	if (ret >= 0)
		return 0;
	return error_set(p->err, STATUS_UNABLE, -EOPNOTSUPP, "it needs Linux 6.12 or newer",
			 "--fault tunnel:header: this kernel gives what is no VXLAN back to UDP");
}

static int plan_xsk_oversize(struct plan *p)
{
	if (p->bytes <= XSK_ROOM_MIN)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 512, for example",
				 "--fault xsk:oversize needs packets of more than %d bytes",
				 XSK_ROOM_MIN);
	p->fx->xsk_room = (unsigned)p->bytes - 1;
	return 0;
}

int plan_receiver(struct plan *p)
{
	struct fault_effects *fx = p->fx;
	int ret = plan_has(p, FAULT_TUNNEL_HEADER) ? plan_tunnel_header(p) : 0;

	if (ret)
		return ret;
	fx->no_receiver = plan_has(p, FAULT_UDP_LOOKUP) || plan_has(p, FAULT_TUNNEL_HEADER);
	fx->socket_filter = plan_has(p, FAULT_SOCKET_FILTER) || plan_has(p, FAULT_UDP_CSUM);
	/* A frame of XDP carries no note that its checksum is still to be made. */
	fx->tx_csum_off = plan_has(p, FAULT_UDP_CSUM) || plan_has(p, FAULT_SOCKET_READ_CSUM) ||
			  plan_has(p, FAULT_XDP_CPUMAP);
	if (!strcmp(p->req->rx, "socket")) {
		fx->rcvbuf = RCVBUF_ROOMY;
		fx->rcvbuf_force = true;
	}
	if (plan_has(p, FAULT_RCVBUF))
		plan_rcvbuf(p);
	if (plan_has(p, FAULT_XSK_RING) || plan_has(p, FAULT_XSK_FILL))
		fx->reader = READER_PAUSED;
	if (plan_has(p, FAULT_XSK_RING))
		ret = plan_need_count(p, FAULT_XSK_RING, XSK_RX_RING, "the ring of the socket");
	if (plan_has(p, FAULT_XSK_FILL)) {
		fx->xsk_frames = XSK_FEW_FRAMES;
		ret = plan_need_count(p, FAULT_XSK_FILL, fx->xsk_frames,
				      "the frames of the socket");
	}
	if (!ret && plan_has(p, FAULT_XSK_OVERSIZE))
		ret = plan_xsk_oversize(p);
	if (!ret && plan_has(p, FAULT_UDP_MEM))
		ret = plan_udp_mem(p);
	if (!ret && plan_has(p, FAULT_SOCKET_CLOSE))
		ret = plan_socket_close(p);
	/* __udp4_lib_rcv() verifies a datagram of up to 76 bytes at once (CHECKSUM_BREAK). */
	if (!ret && plan_has(p, FAULT_SOCKET_READ_CSUM) && p->req->payload <= 68)
		return error_set(p->err, STATUS_USAGE, -EINVAL, "use --length 69 or more",
				 "--fault socket_read:csum needs more than 68 bytes of payload");
	return ret;
}
