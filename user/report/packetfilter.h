/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter of pcap-filter(7) on captured packets, whatever their link is. */
#ifndef PKTLEDGER_REPORT_PACKETFILTER_H
#define PKTLEDGER_REPORT_PACKETFILTER_H

#include "report/datagram.h"

struct packetfilter;

/* `expr` NULL or "": *f stays NULL, and all packets match. STATUS_USAGE: libpcap refuses it. */
int packetfilter_new(struct packetfilter **f, const char *expr, struct error *err);
void packetfilter_free(struct packetfilter *f); /* NULL is fine */

/* `d`: what datagram_read() says of `p`. Where there is no Ethernet header, IP decides. */
bool packetfilter_match(const struct packetfilter *f, const struct capfile_packet *p,
			const struct datagram *d);

#endif
