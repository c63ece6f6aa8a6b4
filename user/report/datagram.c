// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/datagram.h"

#include <netinet/in.h>
#include <string.h>

#include "base/bytes.h"

/* Link types of the pcap registry, and types of Ethernet. */
enum { LINK_ETHERNET = 1, LINK_RAW_BSD = 12, LINK_RAW = 101, LINK_SLL = 113, LINK_SLL2 = 276 };
enum { TYPE_IPV4 = 0x0800, TYPE_IPV6 = 0x86dd, TYPE_VLAN = 0x8100, TYPE_QINQ = 0x88a8 };

#define UDP_LEN	       8
#define IPV6_LEN       40
#define FRAGMENT_LEN   8
#define MORE_FRAGMENTS 0x2000
#define OFFSET_MASK    0x1fff

/* Where IP begins, from the link's header; 0 with `type` 0: it is not there. */
static uint32_t skip_link(const struct capfile_packet *p, uint16_t *type)
{
	uint32_t at = 0;

	*type = 0;
	if (p->link == LINK_ETHERNET && p->len >= 14) {
		*type = get16(p->bytes + 12);
		for (at = 14; (*type == TYPE_VLAN || *type == TYPE_QINQ) && p->len >= at + 4;
		     at += 4)
			*type = get16(p->bytes + at + 2);
	} else if (p->link == LINK_SLL && p->len >= 16) {
		*type = get16(p->bytes + 14);
		at = 16;
	} else if (p->link == LINK_SLL2 && p->len >= 20) {
		*type = get16(p->bytes);
		at = 20;
	} else if ((p->link == LINK_RAW || p->link == LINK_RAW_BSD) && p->len) {
		*type = p->bytes[0] >> 4 == 6 ? TYPE_IPV6 : TYPE_IPV4;
	}
	return at;
}

/* `at` is behind IP, `told` what is there as IP tells. */
static void read_udp(struct datagram *d, uint32_t at, uint32_t told)
{
	const uint8_t *udp = d->ip + at;

	if (d->flow.proto != IPPROTO_UDP || d->ip_len < at + UDP_LEN || told < UDP_LEN)
		return;
	memcpy(&d->flow.src_port, udp, 2);
	memcpy(&d->flow.dst_port, udp + 2, 2);
	d->payload = udp + UDP_LEN;
	d->payload_told = get16(udp + 4) > UDP_LEN ? get16(udp + 4) - UDP_LEN : 0;
	d->payload_len = d->ip_len - at - UDP_LEN;
	if (d->payload_len > told - UDP_LEN)
		d->payload_len = told - UDP_LEN;
}

static void read_ipv4(struct datagram *d)
{
	const uint8_t *ip = d->ip;
	uint32_t head, total;

	if (d->ip_len < 20 || ip[0] >> 4 != 4)
		return;
	head = (ip[0] & 15) * 4u;
	total = get16(ip + 2);
	d->flow.family = AF_INET;
	d->flow.proto = ip[9];
	memcpy(d->flow.src, ip + 12, 4);
	memcpy(d->flow.dst, ip + 16, 4);
	d->id = get16(ip + 4);
	d->fragment = get16(ip + 6) & (MORE_FRAGMENTS | OFFSET_MASK);
	if (total < d->ip_wire_len)
		d->ip_wire_len = total;
	if (total < d->ip_len)
		d->ip_len = total;
	if (head >= 20 && total >= head && !(get16(ip + 6) & OFFSET_MASK))
		read_udp(d, head, total - head);
}

static void read_ipv6(struct datagram *d)
{
	const uint8_t *ip = d->ip;
	uint32_t at = IPV6_LEN, end;

	if (d->ip_len < IPV6_LEN || ip[0] >> 4 != 6)
		return;
	end = IPV6_LEN + get16(ip + 4);
	d->flow.family = AF_INET6;
	d->flow.proto = ip[6];
	memcpy(d->flow.src, ip + 8, 16);
	memcpy(d->flow.dst, ip + 24, 16);
	if (end < d->ip_wire_len)
		d->ip_wire_len = end;
	if (end < d->ip_len)
		d->ip_len = end;
	if (d->flow.proto == IPPROTO_FRAGMENT && d->ip_len >= at + FRAGMENT_LEN) {
		d->fragment = true;
		d->flow.proto = ip[at];
		if (get16(ip + at + 2) & 0xfff8)
			return;
		at += FRAGMENT_LEN;
	}
	if (end >= at)
		read_udp(d, at, end - at);
}

void datagram_read(struct datagram *d, const struct capfile_packet *p)
{
	uint16_t type;
	uint32_t at = skip_link(p, &type);

	*d = (struct datagram){
		.ip = p->bytes + at,
		.ip_len = p->len - at,
		.ip_wire_len = p->wire_len > at ? p->wire_len - at : 0,
	};
	if (type == TYPE_IPV4)
		read_ipv4(d);
	else if (type == TYPE_IPV6)
		read_ipv6(d);
}
