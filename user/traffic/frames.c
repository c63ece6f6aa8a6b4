// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "headers.h"
#include "host/netdev.h"

#define FCS	    4
#define TTL_DEFAULT 64
#define IP_DF	    0x4000

struct frames {
	const struct flow *flow;
	const struct shape *shape;
	unsigned slot, room;
	unsigned payload_at;
	uint32_t *sum; /* payload checksums with sequence header and time 0, by length */
};

void flow_fill(uint8_t *payload, unsigned len)
{
	for (unsigned i = STAMP_LEN; i < len; i++)
		payload[i] = (uint8_t)('a' + i % 26);
}

/* RFC 1071: adds up 16-bit words in network order. An odd last byte is padded with zero. */
static uint32_t add16(const uint8_t *p, unsigned length, uint32_t sum)
{
	for (; length > 1; length -= 2, p += 2)
		sum += get16(p);
	return sum + (length ? (uint32_t)p[0] << 8 : 0);
}

static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Folds the sum, so that the caller's sum cannot overflow whatever the length of the data. */
static uint32_t short_sum(uint32_t sum)
{
	return (sum & 0xffff) + (sum >> 16);
}

/* Computes the sums for all lengths in one pass over the fill. */
static void sum_payloads(struct frames *f, unsigned longest)
{
	uint8_t *fill = mem_zero(1, longest + 2);
	uint32_t sum = 0;

	f->sum = mem_zero(longest + 1, sizeof(*f->sum));
	flow_fill(fill, longest + 2);
	for (unsigned len = STAMP_LEN; len <= longest; len++) {
		if (len == STAMP_LEN || len == STAMP_TIME_LEN) {
			flow_stamp(fill, len, 0, 0);
			sum = add16(fill, len, 0);
		} else {
			sum += (uint32_t)fill[len - 1] << (len & 1 ? 8 : 0);
		}
		sum = short_sum(sum);
		f->sum[len] = sum;
	}
	free(fill);
}

unsigned frames_longest(const struct flow *flow, const struct shape *shape)
{
	struct shape_sizes sizes;
	struct flow one = *flow;

	if (shape && shape->capture)
		return shape->capture->longest < PROTO_FRAME_MIN ? PROTO_FRAME_MIN
								 : shape->capture->longest;
	shape_sizes(shape, flow, &sizes);
	one.payload = sizes.largest;
	return flow_frame_bytes(&one) - FCS;
}

int frames_open(struct frames **out, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err)
{
	unsigned longest = frames_longest(flow, shape);
	struct shape_sizes sizes;
	struct frames *f;

	shape_sizes(shape, flow, &sizes);
	if (longest > room)
		return error_set(err, STATUS_USAGE, -EMSGSIZE, "send less, or use --tx socket",
				 "a packet of %u bytes does not fit a frame buffer of %u", longest,
				 room);
	f = mem_new(f);
	sum_payloads(f, sizes.largest);
	f->flow = flow;
	f->shape = shape;
	f->slot = slot;
	f->room = room;
	f->payload_at = proto_payload_offset(flow->family) + (flow->vlan ? VLAN_HLEN : 0);
	*out = f;
	return 0;
}

void frames_close(struct frames *f)
{
	if (!f)
		return;
	free(f->sum);
	free(f);
}

int frame_fits_mtu(const char *ifname, unsigned length, bool tagged, const char *engine,
		   struct error *err)
{
	unsigned header = ETHERNET_HLEN + (tagged ? VLAN_HLEN : 0);
	struct netdev dev;
	int rc = netdev_get(NULL, ifname, &dev);

	if (rc)
		return error_errno(err, STATUS_FAILED, rc, NULL, "cannot read the MTU of %s",
				   ifname);
	if (length <= dev.link.mtu + header)
		return 0;
	return error_set(err, STATUS_USAGE, -EMSGSIZE,
			 "send less, raise the MTU, or use the engine socket",
			 "a packet of %u bytes exceeds the MTU of %s, %u, and the engine %s cannot "
			 "fragment",
			 length - header, ifname, dev.link.mtu, engine);
}

void frames_prepare(const struct frames *f, void *buffer)
{
	memset(buffer, 0, f->payload_at);
	flow_fill((uint8_t *)buffer + f->payload_at, f->room - f->payload_at);
}

/*
 * Writes addresses into an IP header that ends at `udp`, and computes its checksum. Returns the sum
 * of the addresses.
 */
static uint32_t write_addresses(uint8_t *ip, const uint8_t *udp, const struct flow *flow)
{
	if (flow->family == AF_INET6) {
		memcpy(ip + 8, &flow->src6, 16);
		memcpy(ip + 24, &flow->dst6, 16);
		return add16(ip + 8, 32, 0);
	}
	memcpy(ip + 12, &flow->src4, 4);
	memcpy(ip + 16, &flow->dst4, 4);
	put16(ip + 10, 0);
	put16(ip + 10, checksum(add16(ip, (unsigned)(udp - ip), 0)));
	return add16(ip + 12, 8, 0);
}

static void write_udp(uint8_t *udp, const struct flow *flow, unsigned length, uint32_t sum)
{
	uint16_t check;

	put16(udp, flow->src_port);
	put16(udp + 2, flow->dst_port);
	put16(udp + 4, length);
	/* the pseudo header includes the length, so it is counted twice */
	check = checksum(sum + flow->src_port + flow->dst_port + length + length + PROTO_UDP);
	put16(udp + 6, check ? check : 0xffff); /* RFC 768: zero means that there is no checksum */
}

/* Writes all headers in front of a payload of `payload` bytes whose sum is known. */
static void write_headers(uint8_t *frame, const struct flow *flow, unsigned payload, uint32_t sum)
{
	unsigned ttl = flow->ttl ? flow->ttl : TTL_DEFAULT, udp_length = UDP_HLEN + payload;
	bool six = flow->family == AF_INET6;
	uint8_t *ip = frame + ETHERNET_HLEN, *udp;

	memcpy(frame, flow->dst_mac, 6);
	memcpy(frame + 6, flow->src_mac, 6);
	if (flow->vlan) {
		put16(frame + 12, TYPE_VLAN);
		put16(frame + 14, flow->vlan);
		ip += VLAN_HLEN;
	}
	udp = ip + (six ? IP6_HLEN : IP4_HLEN);
	if (six) {
		put16(ip - 2, TYPE_IP6);
		put16(ip, 6u << 12 | (unsigned)flow->tos << 4);
		put16(ip + 2, 0);
		put16(ip + 4, udp_length);
		put16(ip + 6, PROTO_UDP << 8 | ttl);
	} else {
		put16(ip - 2, TYPE_IP4);
		put16(ip, 0x4500 | flow->tos);
		put16(ip + 2, IP4_HLEN + udp_length);
		put16(ip + 4, 0);
		put16(ip + 6, IP_DF);
		put16(ip + 8, ttl << 8 | PROTO_UDP);
	}
	write_udp(udp, flow, udp_length, sum + write_addresses(ip, udp, flow));
}

static unsigned write_captured(const struct frames *f, uint8_t *buffer, uint64_t number,
			       uint64_t word, uint64_t tai_ns)
{
	const struct capture *c = f->shape->capture;
	uint32_t n = (uint32_t)((number * f->shape->threads + f->slot) % c->packets);
	unsigned length;
	const uint8_t *frame = capture_frame(c, n, &length);

	memcpy(buffer, frame, length);
	if (c->payload)
		flow_stamp(buffer + c->payload_at[n], c->payload[n], word, tai_ns);
	if (length >= PROTO_FRAME_MIN)
		return length;
	/* Ethernet pads short frames, and remains of an earlier longer frame must not be sent */
	memset(buffer + length, 0, PROTO_FRAME_MIN - length);
	return PROTO_FRAME_MIN;
}

unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns)
{
	const struct shape *s = f->shape;
	uint8_t *frame = buffer;
	struct flow one;
	uint64_t first;
	unsigned payload;

	if (s->capture)
		return write_captured(f, frame, number, word, tai_ns);
	payload = shape_payload(s, f->flow, f->slot, number);
	shape_flows_of(s, f->slot, &first);
	shape_tuple(s, f->flow, first + shape_flow(s, f->slot, number), &one);
	write_headers(frame, &one, payload, f->sum[payload]);
	if (payload < STAMP_TIME_LEN) /* a longer packet may have left its time here */
		flow_fill(frame + f->payload_at, payload);
	flow_stamp(frame + f->payload_at, payload, word, tai_ns);
	/*
	 * an IPv4 packet with the shortest payload has exactly the minimum frame length, so there
	 * is no padding
	 */
	return f->payload_at + payload;
}

void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload, const struct flow *flow)
{
	uint8_t *data = frame + payload_at, *udp = data - UDP_HLEN;
	uint8_t *ip = frame + ETHERNET_HLEN;
	struct flow to = *flow;
	uint32_t sum;

	while (headers_is_tag(get16(ip - 2)))
		ip += VLAN_HLEN;
	memcpy(frame, flow->dst_mac, 6);
	memcpy(frame + 6, flow->src_mac, 6);
	flow_stamp(data, payload, 0, 0);
	sum = short_sum(add16(data, payload, 0)) + write_addresses(ip, udp, flow);
	to.src_port = get16(udp);
	write_udp(udp, &to, UDP_HLEN + payload, sum);
}

int proto_build(void *frame, unsigned room, const struct flow *flow, unsigned index)
{
	unsigned length = flow_frame_bytes(flow) - FCS, at = proto_payload_offset(flow->family);
	unsigned ip_length = flow->payload + at - ETHERNET_HLEN;
	uint8_t *payload = (uint8_t *)frame + at;
	struct flow one = *flow;

	if (flow->payload < (flow->time ? STAMP_TIME_LEN : STAMP_LEN) ||
	    ip_length - (flow->family == AF_INET6 ? IP6_HLEN : 0) > UINT16_MAX || length > room)
		return -EMSGSIZE;
	one.src_port = (uint16_t)(flow->src_port + index);
	memset(frame, 0, length);
	flow_fill(payload, flow->payload);
	flow_stamp(payload, flow->payload, 0, 0);
	write_headers(frame, &one, flow->payload, short_sum(add16(payload, flow->payload, 0)));
	return (int)length;
}

const void *proto_udp_payload(const void *frame, unsigned length, int family, uint16_t port,
			      unsigned *payload_length)
{
	const uint8_t *at = (const uint8_t *)frame + ETHERNET_HLEN;
	int left = (int)length - ETHERNET_HLEN, header, total;

	for (int i = 0; i < HEADERS_TAGS && left >= 0 && headers_is_tag(get16(at - 2)); i++) {
		at += VLAN_HLEN;
		left -= VLAN_HLEN;
	}
	if (left >= IP4_HLEN && get16(at - 2) == TYPE_IP4 && family != AF_INET6) {
		header = (at[0] & 15) * 4;
		total = get16(at + 2);
		if (at[0] >> 4 != 4 || at[9] != PROTO_UDP || header < IP4_HLEN ||
		    get16(at + 6) & (IP4_MORE_FRAGMENTS | IP4_FRAGMENT_OFFSET))
			return NULL;
	} else if (left >= IP6_HLEN && get16(at - 2) == TYPE_IP6 && family != AF_INET) {
		header = IP6_HLEN;
		total = IP6_HLEN + get16(at + 4);
		if (at[0] >> 4 != 6 || at[6] != PROTO_UDP)
			return NULL;
	} else {
		return NULL;
	}
	at += header;
	if (total > left || total < header + UDP_HLEN || (port && get16(at + 2) != port) ||
	    get16(at + 4) < UDP_HLEN || get16(at + 4) > total - header)
		return NULL;
	*payload_length = get16(at + 4) - UDP_HLEN;
	return at + UDP_HLEN;
}
