/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random frames from rand(), whole and truncated, with all fields that filters read: VLAN tags,
 * IPv4 options, fragments, chains of IPv6 headers, MPLS and PPPoE.
 */
#ifndef PKTLEDGER_TESTS_FILTER_PACKETS_H
#define PKTLEDGER_TESTS_FILTER_PACKETS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/helpers.h"

#define PACKET_MAX 400

struct packet_bytes {
	uint8_t at[PACKET_MAX];
	unsigned n;	 /* bytes that are there */
	unsigned length; /* of the packet */
	unsigned l3;	 /* offset after the Ethernet header and its tags */
};

static inline bool one_in(int n)
{
	return rand() % n == 0;
}

static inline unsigned choose(const unsigned *list, size_t n)
{
	return list[(size_t)rand() % n];
}

#define CHOOSE(...)                                                                                \
	choose((const unsigned[]){__VA_ARGS__},                                                    \
	       sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned))

static inline void packet_noise(struct packet_bytes *p, unsigned n)
{
	while (n-- && p->n < PACKET_MAX)
		p->at[p->n++] =
			(uint8_t)(one_in(3) ? (unsigned)rand() : CHOOSE(0, 1, 4, 17, 64, 255));
}

static inline uint8_t *packet_room(struct packet_bytes *p, unsigned n)
{
	uint8_t *at = p->at + p->n;

	packet_noise(p, n);
	return at;
}

static inline void packet_mac(uint8_t *at)
{
	static const uint8_t macs[][6] = {
		{2, 0x70, 0x6b, 0, 0, 1},
		{2, 0x70, 0x6b, 0, 0, 2},
		{255, 255, 255, 255, 255, 255},
		{1, 0, 0x5e, 0, 0, 1},
	};

	memcpy(at, macs[rand() % 4], 6);
}

static inline void packet_address4(uint8_t *at)
{
	static const uint8_t addresses[][4] = {{198, 18, 0, 1}, {198, 18, 0, 2},
					       {198, 18, 7, 1}, {198, 19, 255, 255},
					       {224, 0, 0, 1},	{10, 0, 0, 1}};

	memcpy(at, addresses[rand() % 6], 4);
}

static inline void packet_address6(uint8_t *at)
{
	memset(at, 0, 16);
	put16(at, one_in(5) ? 0xff02 : 0x2001);
	at[3] = 2;
	at[7] = one_in(3) ? 7 : 0;
	at[15] = (uint8_t)CHOOSE(1, 2, 3);
}

static inline unsigned packet_port(void)
{
	return CHOOSE(53, 5060, 5061, 9, 65535, 80, 1234);
}

static inline void packet_l4(struct packet_bytes *p, unsigned protocol)
{
	uint8_t *at = packet_room(p, protocol == 6 ? 20 : protocol == 17 ? 8 : 12);

	if (protocol == 6 || protocol == 17 || protocol == 132) {
		put16(at, packet_port());
		put16(at + 2, packet_port());
	} else if (protocol == 1 || protocol == 58) {
		at[0] = (uint8_t)CHOOSE(0, 3, 8, 128, 135);
	}
	if (protocol == 17 && p->n + 2 < PACKET_MAX)
		put16(packet_room(p, 2), 0x706b);
	packet_noise(p, CHOOSE(0, 4, 18, 64, 150, 300));
}

static inline void packet_ip4(struct packet_bytes *p)
{
	unsigned options = one_in(3) ? CHOOSE(4, 8, 40) : 0, from = p->n;
	unsigned protocol = CHOOSE(6, 17, 17, 17, 1, 2, 51, 132, 58, 255);
	uint8_t *ip = packet_room(p, 20 + options);

	ip[0] = (uint8_t)(0x40 | (one_in(20) ? (unsigned)rand() % 16 : 5 + options / 4));
	put16(ip + 6, one_in(4) ? CHOOSE(0x2000, 0x2010, 0x0010, 0x1fff) : 0);
	ip[9] = (uint8_t)protocol;
	packet_address4(ip + 12);
	packet_address4(ip + 16);
	packet_l4(p, protocol);
	put16(ip + 2, p->n - from);
}

static inline void packet_ip6(struct packet_bytes *p)
{
	unsigned chain = one_in(3) ? (unsigned)rand() % 6 : 0;
	unsigned protocol = CHOOSE(6, 17, 17, 17, 58, 59, 132, 255);
	uint8_t *ip = packet_room(p, 40), *next = ip + 6;

	ip[0] = 0x60;
	packet_address6(ip + 8);
	packet_address6(ip + 24);
	while (chain--) {
		*next = (uint8_t)CHOOSE(0, 43, 44, 51, 60);
		next = packet_room(p, 8);
		next[1] = 0;
	}
	*next = (uint8_t)protocol;
	packet_l4(p, protocol);
	put16(ip + 4, p->n - (unsigned)(ip - p->at) - 40);
}

static inline void packet_arp(struct packet_bytes *p)
{
	uint8_t *arp = packet_room(p, 28);

	put16(arp, 1);
	put16(arp + 2, 0x0800);
	packet_address4(arp + 14);
	packet_address4(arp + 24);
}

/* Offset after the type field, and the value of the field. */
static inline unsigned packet_l3(struct packet_bytes *p)
{
	switch (rand() % 12) {
	case 0:
		packet_arp(p);
		return CHOOSE(0x0806, 0x8035);
	case 1: /* 802.3 */
		packet_noise(p, 60);
		return 60;
	case 2:
		put16(packet_room(p, 4) + 2, one_in(2) ? 0x0140 : 0x0040);
		packet_ip4(p);
		return 0x8847;
	case 3:
		put16(packet_room(p, 8) + 6, one_in(2) ? 0x0021 : 0x0057);
		packet_ip4(p);
		return CHOOSE(0x8863, 0x8864);
	case 4:
		packet_noise(p, CHOOSE(0, 10, 50));
		return CHOOSE(0x9999, 0x0800, 0x86dd);
	case 5:
	case 6:
	case 7:
	case 8:
		packet_ip6(p);
		return 0x86dd;
	}
	packet_ip4(p);
	return 0x0800;
}

static inline struct packet_bytes packet_random(void)
{
	struct packet_bytes p = {};
	unsigned tags = one_in(4) ? 1 + (unsigned)rand() % 2 : 0, type;

	packet_mac(packet_room(&p, 6));
	packet_mac(packet_room(&p, 6));
	while (tags--) {
		put16(packet_room(&p, 2), tags ? 0x88a8 : CHOOSE(0x8100, 0x9100));
		put16(packet_room(&p, 2), CHOOSE(1, 0x6045, 0x6046, 5));
	}
	type = p.n;
	packet_room(&p, 2);
	p.l3 = p.n;
	put16(p.at + type, packet_l3(&p));
	if (one_in(3))
		p.n = 1 + (unsigned)rand() % p.n;
	p.length = p.n + (one_in(4) ? CHOOSE(1, 4, 1000) : 0);
	return p;
}

#endif
