// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Faults made by the receiving program: its buffers, rings and memory, and when it reads. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "experiment/faults/row.h"
#include "traffic/xsk.h"

#define MIB(n)	       ((uint64_t)(n) << 20)
#define SLOW_NS	       20000 /* ns per packet of a slow reader */
#define RCVBUF_SMALL   32    /* packets requested, doubled by the kernel */
#define XSK_FEW_FRAMES 256   /* for a receiver that runs out of frames, less than XSK_RX_RING */
#define UDP_MEM_PATH   "net/ipv4/udp_mem"

static int plan_xsk_oversize(struct fault_plan *p)
{
	if (p->bytes <= XSK_ROOM_MIN)
		return fault_plan_refuse(p, -EINVAL, "use --length 512, for example",
					 " needs packets of more than %d bytes", XSK_ROOM_MIN);
	p->fx->xsk_room = (unsigned)p->bytes - 1;
	return 0;
}

static void want_rcvbuf(struct fault_plan *p, uint64_t bytes, enum fault_reader reader)
{
	p->fx->reader = reader;
	p->fx->rcvbuf = fault_plan_ask(bytes);
}

/*
 * sk_memory_allocated_add() adds a CPU's UDP memory to the sum only once it reaches 1 MiB, so the
 * queue must exceed the limit by that much.
 */
static int plan_udp_mem(struct fault_plan *p)
{
	uint64_t reserve;

	netns_sysctl_numbers(NULL, "net/core/mem_pcpu_rsv", &reserve, 1);
	reserve *= sysconf(_SC_PAGESIZE);
	if (reserve < MIB(1)) /* SK_MEMORY_PCPU_RESERVE, if it cannot be configured */
		reserve = MIB(1);
	want_rcvbuf(p, sysconf(_SC_NPROCESSORS_CONF) * 8 * reserve, READER_PAUSED);
	p->fx->notes[p->fx->n_notes++] =
		"udp_mem: all UDP sockets of this host lack memory while the sender runs";
	return fault_plan_count(p, (MIB(1) + 2 * reserve) / p->truesize * p->frames,
				"the remaining memory");
}

/*
 * Sets all three limits to the same value. UDP has no memory pressure, so a socket gets at most
 * udp_rmem_min above the first limit and nothing above the last (__sk_mem_raise_allocated()).
 */
static int limit_memory(struct fault_state *s, struct error *err)
{
	unsigned long pages = MIB(1) / sysconf(_SC_PAGESIZE);
	char triple[64];

	if (s->udp_mem)
		return 0;
	snprintf(triple, sizeof(triple), "%lu %lu %lu", pages, pages, pages);
	return journal_change_sysctl(&s->udp_mem, UDP_MEM_PATH, triple, err);
}

static int restore_memory(struct fault_state *s, struct error *err)
{
	struct journal_change *change = s->udp_mem;

	s->udp_mem = NULL;
	return journal_restore(change, err);
}

/*
 * Plans a reader at a third of the packet rate. If the rate is unknown, the reader is slower than
 * any sender.
 */
static int plan_rcvbuf(struct fault_plan *p)
{
	struct fault_effects *fx = p->fx;
	double pps = (p->spec->rate_pps ? p->spec->rate_pps : fx->rate_pps) * p->passing;

	want_rcvbuf(p, RCVBUF_SMALL * p->truesize, READER_SLOW);
	fx->reader_ns = pps ? 3e9 / pps : SLOW_NS;
	fx->reader_ns = larger(fx->reader_ns, SLOW_NS);
	return 0;
}

/* The queue must stay below udp_mem[0] and INT_MAX, or other losses would occur first. */
static int plan_socket_close(struct fault_plan *p)
{
	uint64_t room, max;
	char hint[96];

	if (!netns_sysctl_numbers(NULL, UDP_MEM_PATH, &room, 1))
		room = INT_MAX;
	room *= sysconf(_SC_PAGESIZE) / 4 * 3;
	max = (room < INT_MAX ? room : INT_MAX) / p->truesize;
	if (p->spec->count > max) {
		snprintf(hint, sizeof(hint), "use --count %" PRIu64 " or less", max);
		return fault_plan_refuse(p, -EINVAL, hint,
					 ": the packets have to fit in the receive buffer");
	}
	want_rcvbuf(p, p->spec->count * p->truesize + MIB(1), READER_NEVER);
	return 0;
}

const struct fault_row faults_by_socket[] = {
	{"xsk:ring", "the reader of the AF_XDP rings pauses",
	 .at = AT_RECEIVER, .is = OF_PROGRAM | GOES, .slot = SLOT_XSK, .rx = "xsk",
	 .fx.reader = READER_PAUSED, .holds = XSK_RX_RING, .where = "the ring of the socket"},
	{"xsk:fill", "the same, and its fill ring has few frames",
	 .at = AT_RECEIVER, .is = OF_PROGRAM | GOES, .slot = SLOT_XSK, .rx = "xsk",
	 .fx = {.reader = READER_PAUSED, .xsk_frames = XSK_FEW_FRAMES}, .holds = XSK_FEW_FRAMES,
	 .where = "the frames of the socket"},
	{"xsk:oversize", "the packets are longer than the frames of AF_XDP",
	 .at = AT_RECEIVER, .is = OF_PROGRAM | GOES, .slot = SLOT_XSK, .rx = "xsk",
	 .plan = plan_xsk_oversize},
	{"udp_lookup", "no socket on the port", .at = AT_LOOKUP,
	 .is = ALL_LOST | OF_PROGRAM | GOES, .rx = "socket", .fx.no_receiver = true},
	{"udp_mem", "net.ipv4.udp_mem is nearly 0, for the whole host", .at = AT_SOCKET,
	 .is = OF_PROGRAM | HOST_GLOBAL | GOES, .slot = SLOT_BUFFER, .rx = "socket",
	 .plan = plan_udp_mem, .begin = limit_memory, .end = restore_memory},
	{"rcvbuf", "a small receive buffer, a slow reader", .at = AT_SOCKET,
	 .is = OF_PROGRAM | GOES, .slot = SLOT_BUFFER, .rx = "socket", .plan = plan_rcvbuf},
	{"socket_close", "the socket closes with its queue unread",
	 .at = AT_SOCKET, .is = OF_PROGRAM | GOES, .slot = SLOT_BUFFER, .rx = "socket",
	 .plan = plan_socket_close},
	{0},
};
