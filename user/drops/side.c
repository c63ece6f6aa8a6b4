// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/side.h"

#include <string.h>

/* Where on its way through one namespace a packet was, seen from the two checkpoints. */
enum phase {
	PHASE_ARRIVING, /* before netif_receive_skb */
	PHASE_RECEIVED, /* behind it */
	PHASE_SENDING,	/* before net_dev_queue */
	PHASE_QUEUED,	/* behind it */
	PHASE_UNKNOWN,
};

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* XDP in skb mode runs behind netif_receive_skb (__netif_receive_skb_core), in a driver before. */
static bool is_generic_xdp(const char *location)
{
	return !strcmp(location, "do_xdp_generic") || strstr(location, "generic_xdp") ||
	       strstr(location, "do_generic_redirect");
}

static enum phase netfilter_phase(const struct verdict *v)
{
	return v->hook == HOOK_OUTPUT || v->hook == HOOK_POSTROUTING ? PHASE_SENDING
								     : PHASE_RECEIVED;
}

static enum phase phase_of(const struct verdict *v, const char *location)
{
	switch (v->stage) {
	case STAGE_TX_SOCKET:
	case STAGE_TX_ROUTE:
	case STAGE_NEIGH:
	case STAGE_TC_EGRESS: /* sch_handle_egress() in __dev_queue_xmit() */
	case STAGE_XFRM:      /* of a packet that is not ours: has entered, in both directions */
		return PHASE_SENDING;
	case STAGE_QDISC:
		return PHASE_QUEUED;
	case STAGE_TX_DEVICE: /* rx: what a process gave to tun, and tun did not take */
		return v->direction == DIRECTION_RX ? PHASE_ARRIVING : PHASE_QUEUED;
	case STAGE_TUNNEL:
		return v->direction == DIRECTION_TX ? PHASE_QUEUED : PHASE_RECEIVED;
	case STAGE_NIC_RING:
	case STAGE_BACKLOG:
		return PHASE_ARRIVING;
	case STAGE_XDP:
	case STAGE_XSK:
		return is_generic_xdp(location) ? PHASE_RECEIVED : PHASE_ARRIVING;
	case STAGE_GSO: /* udp_rcv_segment(), or validate_xmit_skb() */
		return begins(location, "udp") ? PHASE_RECEIVED : PHASE_QUEUED;
	case STAGE_NETFILTER:
		return netfilter_phase(v);
	case STAGE_OTHER:
		return PHASE_UNKNOWN;
	default:
		return PHASE_RECEIVED;
	}
}

enum balance_side side_of(const struct verdict *v, const char *location, enum balance_role role,
			  bool own, bool *sure)
{
	enum balance_side if_own = own ? SIDE_OUTSIDE : SIDE_INSIDE;

	*sure = true;
	if (v->class != VERDICT_LOSS)
		return SIDE_NONE;
	switch (phase_of(v, location)) {
	case PHASE_ARRIVING:
		return role == ROLE_EDGE ? SIDE_OUTSIDE : SIDE_INSIDE;
	case PHASE_SENDING:
		return if_own;
	case PHASE_QUEUED:
		if (role == ROLE_STACKED)
			return if_own;
		return role == ROLE_EDGE ? SIDE_OUTSIDE : SIDE_INSIDE;
	case PHASE_UNKNOWN:
		*sure = role != ROLE_EDGE && !own;
		return SIDE_INSIDE;
	default:
		return SIDE_INSIDE;
	}
}
