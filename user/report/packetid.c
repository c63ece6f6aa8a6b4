// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/packetid.h"

#include <arpa/inet.h>
#include <endian.h>
#include <string.h>

#include "stamp.h"

#define BYTES	    32 /* of the payload: enough for any number that an application counts with */
#define RTP_LEN	    12
#define RTP_VERSION 2

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return v ^ v >> 31;
}

static uint64_t add(uint64_t hash, uint64_t v)
{
	return mix(hash ^ (v + 0x9e3779b97f4a7c15ULL));
}

static uint64_t add_bytes(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	for (; len; len -= len < 8 ? len : 8, bytes += 8) {
		uint64_t v = 0;

		memcpy(&v, bytes, len < 8 ? len : 8);
		hash = add(hash, v);
	}
	return hash;
}

static enum packetid by_stamp(const struct datagram *d, uint64_t *key)
{
	struct stamp stamp;

	if (!d->payload || d->payload_told < STAMP_LEN)
		return PACKETID_OTHER;
	if (d->payload_len < STAMP_LEN)
		return PACKETID_CUT;
	memcpy(&stamp, d->payload, sizeof(stamp));
	if (ntohs(stamp.magic) != STAMP_MAGIC || stamp.check != ~stamp.word)
		return PACKETID_OTHER;
	*key = mix(stamp.word);
	return PACKETID_KNOWN;
}

/* RTCP, whose packet types lie here, has no numbers: RFC 5761. */
static enum packetid by_rtp(const struct datagram *d, uint64_t *key)
{
	if (!d->payload || d->payload_told < RTP_LEN)
		return PACKETID_OTHER;
	if (d->payload_len < RTP_LEN)
		return PACKETID_CUT;
	if (d->payload[0] >> 6 != RTP_VERSION ||
	    ((d->payload[1] & 0x7f) >= 64 && (d->payload[1] & 0x7f) <= 95))
		return PACKETID_OTHER;
	*key = add_bytes(0, d->payload + 2, RTP_LEN - 2);
	return PACKETID_KNOWN;
}

/* Addresses, TTL and checksums are left out: a NAT or a router changes them. */
static enum packetid by_bytes(const struct datagram *d, uint64_t *key)
{
	const uint8_t *bytes = d->payload;
	uint32_t have = d->payload_len, told = d->payload_told;
	uint64_t hash;

	if (!d->flow.family)
		return PACKETID_OTHER;
	if (!bytes) { /* what is behind IP, without options and extensions */
		uint32_t head = d->flow.family == AF_INET ? (d->ip[0] & 15) * 4u : 40;

		bytes = d->ip + head;
		have = d->ip_len > head ? d->ip_len - head : 0;
		told = d->ip_wire_len > head ? d->ip_wire_len - head : 0;
	}
	if (have < (told < BYTES ? told : BYTES))
		return PACKETID_CUT;
	hash = add(d->flow.proto, (uint64_t)d->id << 32 | d->ip_wire_len);
	hash = add(hash, (uint64_t)d->flow.src_port << 16 | d->flow.dst_port);
	*key = add_bytes(hash, bytes, told < BYTES ? told : BYTES);
	return PACKETID_KNOWN;
}

enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key)
{
	switch (method) {
	case PACKETID_STAMP:
		return by_stamp(d, key);
	case PACKETID_RTP:
		return by_rtp(d, key);
	case PACKETID_BYTES:
		break;
	}
	return by_bytes(d, key);
}

const char *packetid_name(enum packetid_method method)
{
	static const char *const names[] = {
		[PACKETID_STAMP] = "stamp", [PACKETID_RTP] = "rtp", [PACKETID_BYTES] = "bytes"};

	return names[method];
}
