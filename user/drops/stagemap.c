// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/stagemap.h"

#include <errno.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "watch_abi.h"

bool stagemap_listed(const char *list, const char *name)
{
	char word[128];

	if (!*name)
		return !*list;
	for (const char *p = list; *p; p += strspn(p, " ")) {
		size_t len = strcspn(p, " ");

		if (memchr(p, '*', len)) {
			snprintf(word, sizeof(word), "%.*s", (int)len, p);
			if (!fnmatch(word, name, 0))
				return true;
		} else if (!strncmp(p, name, len) && !name[len]) {
			return true;
		}
		p += len;
	}
	return false;
}

static const struct stagemap_row *find_row(const struct stagemap_event *e)
{
	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];

		if ((!row->reasons || stagemap_listed(row->reasons, e->reason)) &&
		    (!row->locations || stagemap_listed(row->locations, e->location)))
			return row;
	}
	return NULL;
}

/*
 * Functions that run netfilter's hooks (NF_HOOK() and similar), as they appear in events. IP
 * functions are included, because they may be reported where a bridge also has hooks and
 * br_netfilter runs them there.
 */
static const struct {
	const char *functions;
	enum netfilter_hook hook;
} hook_runners[] = {
	{"__netif_receive_skb_core", HOOK_INGRESS},
	{"__dev_queue_xmit", HOOK_EGRESS},
	{"arp_rcv", HOOK_ARP_INPUT},
	{"arp_xmit", HOOK_ARP_OUTPUT},
	{"nft_do_chain br_nf_pre_routing_finish br_nf_pre_routing_finish_*",
	 HOOK_BRIDGE_PREROUTING}, /* first: nf_hook_bridge_pre(), which is inline, runs it */
	{"br_pass_frame_up br_handle_frame_finish br_handle_frame", HOOK_BRIDGE_INPUT},
	{"br_nf_forward_finish", HOOK_BRIDGE_FORWARD},
	{"__br_forward br_forward br_flood br_multicast_flood maybe_deliver deliver_clone",
	 HOOK_BRIDGE_FORWARD}, /* or output */
	{"br_send_bpdu __br_multicast_send_query br_multicast_send_query", HOOK_BRIDGE_OUTPUT},
	{"br_forward_finish", HOOK_BRIDGE_POSTROUTING},
	{"ip_rcv ipv6_rcv nf_hook_slow_list br_nf_pre_routing br_nf_pre_routing_ipv6",
	 HOOK_PREROUTING},
	{"br_nf_forward br_nf_forward_ip", HOOK_FORWARD},
	{"ip_output ip_mc_output ip6_output br_nf_post_routing", HOOK_POSTROUTING},
};

/*
 * Finds the netfilter hook, which is not in any field of the event. If the function that ran the
 * hooks is not reported, the hook is derived from the state of the packet. OUTPUT runs before
 * skb->dev is set (__ip_local_out). A route is attached by ip_rcv_finish or by output. The sender's
 * socket stays attached until ip_rcv_core orphans the skb, so on a veth it is still there at
 * ingress. An IPv6 output route also has ip6_forward as its input function (ip6_rt_init_dst), so
 * the socket is tested first. A packet sent by a bridge itself is still addressed to this host,
 * like any new skb, while a packet that the bridge forwards is for other hosts (eth_type_trans).
 */
static enum netfilter_hook netfilter_hook(const struct stagemap_event *e)
{
	for (unsigned i = 0; i < LENGTH(hook_runners); i++) {
		if (!stagemap_listed(hook_runners[i].functions, e->aux))
			continue;
		if (hook_runners[i].hook == HOOK_BRIDGE_FORWARD && e->pkt_type == PACKET_HOST)
			return HOOK_BRIDGE_OUTPUT;
		return hook_runners[i].hook;
	}
	if (e->flags & WATCH_NO_DEV)
		return HOOK_OUTPUT;
	if (!(e->flags & WATCH_DST))
		return e->flags & WATCH_SK ? HOOK_INGRESS : HOOK_PREROUTING;
	if (stagemap_listed("ip_local_deliver ip6_input ip6_mc_input", e->aux))
		return HOOK_INPUT;
	if (e->flags & WATCH_SK)
		return HOOK_POSTROUTING;
	if (stagemap_listed("ip_forward ip6_forward ip_mr_input ip6_mr_input", e->aux))
		return HOOK_FORWARD;
	return HOOK_POSTROUTING;
}

static enum direction hook_direction(const struct stagemap_event *e, enum netfilter_hook hook)
{
	switch (hook) {
	case HOOK_OUTPUT:
	case HOOK_BRIDGE_OUTPUT:
	case HOOK_ARP_OUTPUT:
		return DIRECTION_TX;
	case HOOK_FORWARD:
	case HOOK_BRIDGE_FORWARD:
		return DIRECTION_FORWARD;
	case HOOK_POSTROUTING:
	case HOOK_EGRESS: /* ip_rcv_core removed the socket from a packet that was received */
		return e->flags & WATCH_SK ? DIRECTION_TX : DIRECTION_FORWARD;
	case HOOK_BRIDGE_POSTROUTING: /* rejected there */
		return e->pkt_type == PACKET_HOST ? DIRECTION_TX : DIRECTION_FORWARD;
	default:
		return DIRECTION_RX;
	}
}

static enum direction direction(const struct stagemap_event *e, const struct verdict *v)
{
	const enum direction of =
		v->stage < STAGE_COUNT ? stage_facts[v->stage].direction : DIRECTION_RX;

	/* tun orphans a packet before dropping it, so a missing socket means nothing there. */
	if (v->stage == STAGE_TX_DEVICE &&
	    stagemap_listed("tun_get_user tap_get_user", e->location))
		return DIRECTION_RX;
	if (v->stage == STAGE_TX_DEVICE && stagemap_listed("tun_* tap_*", e->location))
		return DIRECTION_TX;
	if (of == DIRECTION_BY_HOOK)
		return hook_direction(e, v->hook);
	if (of == DIRECTION_BY_SENDER) /* ip_rcv_core removed a received packet's socket */
		return e->flags & WATCH_SK ? DIRECTION_TX : DIRECTION_FORWARD;
	return of;
}

static struct verdict judge_kfree(const struct stagemap_event *e)
{
	const struct stagemap_row *row = find_row(e);
	struct verdict v = {.stage = STAGE_OTHER, .class = CLASS_LOSS, .known = row != NULL};

	if (row) {
		v.stage = row->stage;
		v.class = row->class;
	}
	/*
	 * An IPv6 blackhole route ends both directions in dst_discard(). A packet being sent still
	 * has its socket.
	 */
	if (!(e->flags & WATCH_SK) && !strcmp(e->location, "dst_discard_out"))
		v.stage = STAGE_IP_ROUTE;
	v.note = row ? row->note : "dropped at a place that is not in the stage map";
	if (v.class == CLASS_LOSS && (e->flags & WATCH_COPY))
		v.class = CLASS_COPY;
	if (v.stage == STAGE_NETFILTER)
		v.hook = netfilter_hook(e);
	v.direction = direction(e, &v);
	return v;
}

#define ANY_ERROR (-1)

/* What an XDP row requires in addition to its observer. */
enum xdp_path {
	PATH_ANY,
	PATH_XSK,  /* the redirect was to a socket */
	PATH_LIVE, /* the frame was sent by BPF_PROG_RUN */
};

/* Losses at XDP tracepoints and in a socket's queue. The first matching row wins. */
static const struct {
	unsigned observer;
	enum xdp_path path;
	int error;
	enum stage stage;
	enum direction direction;
	const char *note;
} xdp_rows[] = {
#define XSK(error, note)                                                                           \
	{OBSERVER_REDIRECT_ERR, PATH_XSK, error, STAGE_XSK, DIRECTION_RX, note}
	/* xsk_rcv_check(), __xsk_rcv() and xskq_prod_reserve_desc() */
	XSK(ENOBUFS, "the socket's RX ring was full (xskq_prod_reserve_desc)"),
	XSK(ENOMEM, "the fill ring was empty (xsk_buff_alloc)"),
	XSK(ENOSPC, "frame larger than the socket's, or RX ring full before 5.19 (__xsk_rcv)"),
	XSK(EINVAL, "the socket is bound to another device or queue (xsk_rcv_check)"),
	XSK(ENXIO, "the socket is not bound (xsk_rcv_check)"),
	XSK(ANY_ERROR, "redirect to the socket failed (__xsk_map_redirect)"),
#define REDIRECT(error, note)                                                                      \
	{OBSERVER_REDIRECT_ERR, PATH_ANY, error, STAGE_XDP, DIRECTION_RX, note}
	REDIRECT(EINVAL, "redirect to a device or map entry that does not exist (xdp_do_redirect)"),
	REDIRECT(ENETDOWN, "redirect to a device that is down (xdp_ok_fwd_dev)"),
	REDIRECT(EOPNOTSUPP, "redirect to a device without ndo_xdp_xmit (__xdp_enqueue)"),
	REDIRECT(EMSGSIZE, "redirect of a frame above the target's MTU (xdp_ok_fwd_dev)"),
	REDIRECT(ENOSPC, "the frame could not be queued (xdp_do_redirect)"),
	REDIRECT(ANY_ERROR, "redirect failed (xdp_do_redirect)"),
#define LIVE(error, note)                                                                          \
	{OBSERVER_DEVMAP_XMIT, PATH_LIVE, error, STAGE_TX_DEVICE, DIRECTION_TX, note}
	LIVE(0, "the interface ring was full, and the end of a batch was lost (bq_xmit_all)"),
	LIVE(ENXIO, "the interface does not accept XDP frames (the peer of a veth needs NAPI) "
		    "(veth_xdp_xmit)"),
	LIVE(ENETDOWN, "the device was down (ndo_xdp_xmit)"),
	LIVE(ANY_ERROR, "the device refused the frames (bq_xmit_all)"),
	{OBSERVER_DEVMAP_XMIT, PATH_ANY, ANY_ERROR, STAGE_XDP, DIRECTION_FORWARD,
	 "the target device refused the frames (bq_xmit_all)"},
	{OBSERVER_XDP_EXCEPTION, PATH_ANY, ANY_ERROR, STAGE_XDP, DIRECTION_RX,
	 "aborted, an invalid verdict, or XDP_TX failed (trace_xdp_exception)"},
	{OBSERVER_BULK_TX, PATH_ANY, ANY_ERROR, STAGE_XDP, DIRECTION_TX,
	 "the device refused the frames of XDP_TX (trace_xdp_bulk_tx)"},
	{OBSERVER_CPUMAP, PATH_ANY, ANY_ERROR, STAGE_XDP, DIRECTION_RX,
	 "the queue of the target CPU was full (bq_flush_to_queue)"},
	{OBSERVER_SOCKET_QUEUE, PATH_ANY, ANY_ERROR, STAGE_SOCKET_CLOSE, DIRECTION_RX,
	 "unread in the queue when the socket closed (udp_destruct_common)"},
};

struct verdict stagemap_judge(const struct stagemap_event *e)
{
	const enum xdp_path path = e->flags & WATCH_LIVE		? PATH_LIVE
				   : e->map_type == BPF_MAP_TYPE_XSKMAP ? PATH_XSK
									: PATH_ANY;

	for (unsigned i = 0; i < LENGTH(xdp_rows); i++) {
		struct verdict v = {xdp_rows[i].stage, .note = xdp_rows[i].note, .known = true,
				    .direction = xdp_rows[i].direction};

		if (xdp_rows[i].observer != e->observer ||
		    (xdp_rows[i].path && xdp_rows[i].path != path) ||
		    (xdp_rows[i].error != ANY_ERROR && xdp_rows[i].error != e->error))
			continue;
		if (path == PATH_LIVE && e->observer == OBSERVER_REDIRECT_ERR) {
			v.stage = STAGE_TX_DEVICE;
			v.direction = DIRECTION_TX;
		}
		return v;
	}
	return judge_kfree(e);
}

#define STAGE(id, name, ...) [STAGE_##id] = name,
const char *const stage_names[STAGE_COUNT] = {
#include "stages.h"
};

#define STAGE(id, name, ...) [STAGE_##id] = {__VA_ARGS__},
const struct stage_facts stage_facts[STAGE_COUNT] = {
#include "stages.h"
};

const char *const direction_names[] = {"rx", "tx", "forward"};

const char *const netfilter_hook_names[] = {
	[HOOK_INGRESS] = "ingress",
	[HOOK_PREROUTING] = "prerouting",
	[HOOK_INPUT] = "input",
	[HOOK_FORWARD] = "forward",
	[HOOK_OUTPUT] = "output",
	[HOOK_POSTROUTING] = "postrouting",
	[HOOK_EGRESS] = "egress",
	[HOOK_BRIDGE_PREROUTING] = "bridge prerouting",
	[HOOK_BRIDGE_INPUT] = "bridge input",
	[HOOK_BRIDGE_FORWARD] = "bridge forward",
	[HOOK_BRIDGE_OUTPUT] = "bridge output",
	[HOOK_BRIDGE_POSTROUTING] = "bridge postrouting",
	[HOOK_ARP_INPUT] = "arp input",
	[HOOK_ARP_OUTPUT] = "arp output",
};

const char *class_name(enum drop_class class)
{
	static const char *const names[CLASS_COUNT] = {"loss", "suspected", "expected", "copy",
						       "none"};

	return names[class];
}

const char *stage_name(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_names[stage] : "none";
}

const char *stage_title(enum stage stage)
{
	return stage < STAGE_COUNT ? stage_facts[stage].title : "not a loss of another packet";
}
