// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/consumed.h"

#include <stddef.h>
#include <string.h>

/*
 * Read in Linux 6.1 to 6.18. At these places nothing else is freed with consume_skb(), except where
 * a clone goes on: act_mirred then says "stolen" of the original. The driver's function for losses
 * is not that of completed transmissions. At most WATCH_CONSUMED_MAX that a kernel has at once.
 */
const struct consumed_row consumed_rows[] = {
	{"__netif_receive_skb_core", STAGE_TC_INGRESS, DIRECTION_RX, NOISE_LOSS, NOISE_SUSPECT,
	 "tc ingress took it and nobody got it: STOLEN, QUEUED or TRAP (sch_handle_ingress)"},
	{"__dev_queue_xmit", STAGE_TC_EGRESS, DIRECTION_TX, NOISE_LOSS, NOISE_SUSPECT,
	 "tc egress took it and nobody got it: STOLEN, QUEUED or TRAP (sch_handle_egress)"},
	{"inet_frag_rbtree_purge", STAGE_IP_FRAG, DIRECTION_RX, NOISE_LOSS, NOISE_LOSS,
	 "a fragment overlapped others of its datagram: all are dropped (inet_frag_queue_insert)"},
	{"ena_start_xmit", STAGE_TX_DEVICE, DIRECTION_TX, NOISE_LOSS, NOISE_LOSS,
	 "could not be mapped or handed to the device (ena_start_xmit)"},
	{"virtnet_receive_done", STAGE_NIC_RING, DIRECTION_RX, NOISE_LOSS, NOISE_LOSS,
	 "a header of virtio that makes no sense (virtnet_receive_done)"},
	{"i40e_construct_skb", STAGE_NIC_RING, DIRECTION_RX, NOISE_LOSS, NOISE_LOSS,
	 "too many fragments for a packet (i40e_construct_skb)"},
	{"ice_construct_skb", STAGE_NIC_RING, DIRECTION_RX, NOISE_LOSS, NOISE_LOSS,
	 "too many fragments for a packet (ice_construct_skb)"},
};

const unsigned consumed_row_count = sizeof(consumed_rows) / sizeof(consumed_rows[0]);

/* `.noclone` and the like are one function; its `.cold` part lies elsewhere. */
static unsigned add_range(const struct ksyms *k, const char *name, struct watch_range *out)
{
	struct ksym_range r = ksym_range(k, name);

	if (r.end == r.start)
		return 0;
	*out = (struct watch_range){r.start, r.end - r.start};
	return 1;
}

unsigned consumed_ranges(const struct ksyms *k, struct watch_range out[WATCH_CONSUMED_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < consumed_row_count && n < WATCH_CONSUMED_MAX; i++)
		n += add_range(k, consumed_rows[i].function, &out[n]);
	return n;
}

const struct consumed_row *consumed_find(const char *function)
{
	for (unsigned i = 0; i < consumed_row_count; i++) {
		if (!strcmp(consumed_rows[i].function, function))
			return &consumed_rows[i];
	}
	return NULL;
}
