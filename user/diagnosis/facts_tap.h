/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets that get a copy of every packet, or of every datagram. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_TAP_H
#define PKTLEDGER_DIAGNOSIS_FACTS_TAP_H

#include "diagnosis/facts_owner.h"
#include "host/netns.h"

#define FACTS_TAPS 64 /* more are counted, without their owner */

struct facts_taps {
	unsigned taps; /* packet sockets of ETH_P_ALL */
	unsigned raws; /* raw sockets of IPPROTO_UDP */
	struct facts_owner tap[FACTS_TAPS], raw[FACTS_TAPS];
};

/* /proc/net/packet (packet_seq_show()); adds to tap. Pure. */
void facts_taps_parse_packet(struct facts_taps *t, const char *text);

/* /proc/net/raw and raw6: the local port is the protocol (raw_sock_seq_show()). Pure. */
void facts_taps_parse_raw(struct facts_taps *t, const char *text);

/* 0 or -errno of facts_owners_find(). */
int facts_taps_read(const struct netns *ns, struct owners *o, struct facts_taps *t);

#endif
