// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "host/netdev.h"

#define FCS	      4
#define TAG	      4
#define TTL_DEFAULT   64
#define ETH_TYPE_VLAN 0x8100
#define ETH_TYPE_QINQ 0x88a8
#define ETH_TYPE_IPV4 0x0800
#define ETH_TYPE_IPV6 0x86dd
#define UDP	      17
#define IP_DF	      0x4000

struct frames {
	const struct flow *flow;
	const struct shape *shape;
	unsigned slot, room;
	unsigned ip_at, udp_at, payload_at;
	uint32_t *sum; /* of a payload with stamp and time 0, by its length */
};

static uint32_t add16(const uint8_t *p, unsigned length, uint32_t sum)
{
	for (; length > 1; length -= 2, p += 2)
		sum += get16(p);
	return sum + (length ? (uint32_t)p[0] << 8 : 0);
}

/* RFC 1071 */
static uint16_t checksum(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static uint32_t short_sum(uint32_t sum)
{
	return (sum & 0xffff) + (sum >> 16);
}

/* Sums for all lengths, from one pass over the fill with and one without the time. */
static int sum_payloads(struct frames *f, unsigned longest)
{
	uint8_t *fill = malloc(longest + 2);
	uint32_t sum = 0;

	f->sum = calloc(longest + 1, sizeof(*f->sum));
	if (!fill || !f->sum) {
		free(fill);
		return -ENOMEM;
	}
	flow_fill(fill, longest + 2);
	for (unsigned len = STAMP_LEN; len <= longest; len++) {
		if (len == STAMP_LEN || len == STAMP_TIME_LEN) {
			flow_stamp(fill, len, 0, 0);
			sum = add16(fill, len, 0);
		} else if (len & 1) {
			sum += (uint32_t)fill[len - 1] << 8;
		} else {
			sum += fill[len - 1];
		}
		sum = short_sum(sum);
		f->sum[len] = sum;
	}
	free(fill);
	return 0;
}

unsigned frames_longest(const struct flow *flow, const struct shape *shape)
{
	struct shape_sizes sizes;
	struct flow one = *flow;

	if (shape->capture)
		return shape->capture->longest < PROTO_FRAME_MIN ? PROTO_FRAME_MIN
								 : shape->capture->longest;
	shape_sizes(shape, flow, &sizes);
	one.payload = sizes.largest;
	return flow_frame_bytes(&one) - FCS;
}

int frames_open(struct frames **out, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err)
{
	struct frames *f = calloc(1, sizeof(*f));
	struct shape_sizes sizes;

	shape_sizes(shape, flow, &sizes);
	if (frames_longest(flow, shape) > room) {
		free(f);
		return error_set(err, STATUS_USAGE, -EMSGSIZE, "send less, or use --tx socket",
				 "a packet of %u bytes does not fit a frame buffer of %u",
				 frames_longest(flow, shape), room);
	}
	if (!f || sum_payloads(f, sizes.largest)) {
		frames_close(f);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	f->flow = flow;
	f->shape = shape;
	f->slot = slot;
	f->room = room;
	f->ip_at = 14 + (flow->vlan ? TAG : 0);
	f->udp_at = f->ip_at + (flow->family == AF_INET6 ? 40 : 20);
	f->payload_at = f->udp_at + 8;
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
	unsigned header = 14 + (tagged ? TAG : 0);
	struct netdev dev;
	int rc = netdev_get(NULL, ifname, &dev);

	if (rc)
		return error_set(err, STATUS_FAILED, rc, NULL, "cannot read the MTU of %s: %s",
				 ifname, strerror(-rc));
	if (length <= dev.mtu + header)
		return 0;
	return error_set(err, STATUS_USAGE, -EMSGSIZE,
			 "send less, raise the MTU, or use the engine socket",
			 "a packet of %u bytes exceeds the MTU of %s, %u, and the engine %s cannot "
			 "fragment",
			 length - header, ifname, dev.mtu, engine);
}

void frames_prepare(const struct frames *f, void *buffer)
{
	memset(buffer, 0, f->payload_at);
	flow_fill((uint8_t *)buffer + f->payload_at, f->room - f->payload_at);
}

/* Returns the sum of both addresses. */
static uint32_t write_ip(const struct frames *f, uint8_t *ip, const struct flow *flow,
			 unsigned udp_length)
{
	unsigned ttl = flow->ttl ? flow->ttl : TTL_DEFAULT;

	if (flow->family == AF_INET6) {
		put16(ip, 6u << 12 | (unsigned)flow->tos << 4);
		put16(ip + 2, 0);
		put16(ip + 4, udp_length);
		ip[6] = UDP;
		ip[7] = (uint8_t)ttl;
		memcpy(ip + 8, &flow->src6, 16);
		memcpy(ip + 24, &flow->dst6, 16);
		return add16(ip + 8, 32, 0);
	}
	put16(ip, 0x4500 | flow->tos);
	put16(ip + 2, 20 + udp_length);
	put16(ip + 4, 0);
	put16(ip + 6, IP_DF);
	put16(ip + 8, ttl << 8 | UDP);
	put16(ip + 10, 0);
	memcpy(ip + 12, &flow->src4, 4);
	memcpy(ip + 16, &flow->dst4, 4);
	put16(ip + 10, checksum(add16(ip, f->udp_at - f->ip_at, 0)));
	return add16(ip + 12, 8, 0);
}

static void write_udp(uint8_t *udp, const struct flow *flow, unsigned length, uint32_t sum)
{
	uint16_t check;

	put16(udp, flow->src_port);
	put16(udp + 2, flow->dst_port);
	put16(udp + 4, length);
	/* the pseudo header has the length once more */
	check = checksum(sum + flow->src_port + flow->dst_port + length + length + UDP);
	put16(udp + 6, check ? check : 0xffff); /* RFC 768: zero means that there is none */
}

/* Ethernet pads short frames; what a longer one left there must not go out. */
static unsigned pad(uint8_t *buffer, unsigned length, unsigned least)
{
	if (length >= least)
		return length;
	memset(buffer + length, 0, least - length);
	return least;
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
	return pad(buffer, length, PROTO_FRAME_MIN);
}

unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns)
{
	const struct shape *s = f->shape;
	uint8_t *frame = buffer;
	struct flow one;
	uint64_t first;
	unsigned payload, type_at = 12;
	uint32_t sum;

	if (s->capture)
		return write_captured(f, frame, number, word, tai_ns);
	payload = shape_payload(s, f->flow, f->slot, number);
	shape_flows_of(s, f->slot, &first);
	shape_tuple(s, f->flow, first + shape_flow(s, f->slot, number), &one);
	memcpy(frame, one.dst_mac, 6);
	memcpy(frame + 6, one.src_mac, 6);
	if (one.vlan) {
		put16(frame + 12, ETH_TYPE_VLAN);
		put16(frame + 14, one.vlan);
		type_at += TAG;
	}
	put16(frame + type_at, one.family == AF_INET6 ? ETH_TYPE_IPV6 : ETH_TYPE_IPV4);
	sum = write_ip(f, frame + f->ip_at, &one, 8 + payload) + f->sum[payload];
	write_udp(frame + f->udp_at, &one, 8 + payload, sum);
	if (payload < STAMP_TIME_LEN) /* a longer one left its time there */
		flow_fill(frame + f->payload_at, payload);
	flow_stamp(frame + f->payload_at, payload, word, tai_ns);
	/* IPv4 with the shortest payload is exactly the shortest frame: there is no padding */
	return f->payload_at + payload;
}

/* Behind the Ethernet header and its tags. */
static unsigned ip_offset(const uint8_t *frame)
{
	unsigned type_at = 12;

	while (get16(frame + type_at) == ETH_TYPE_VLAN || get16(frame + type_at) == ETH_TYPE_QINQ)
		type_at += TAG;
	return type_at + 2;
}

void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload, const struct flow *flow)
{
	bool six = flow->family == AF_INET6;
	uint8_t *udp = frame + payload_at - 8, *ip = frame + ip_offset(frame);
	struct flow to = *flow;
	uint32_t sum;

	memcpy(frame, flow->dst_mac, 6);
	memcpy(frame + 6, flow->src_mac, 6);
	if (six) {
		memcpy(ip + 8, &flow->src6, 16);
		memcpy(ip + 24, &flow->dst6, 16);
		sum = add16(ip + 8, 32, 0);
	} else {
		memcpy(ip + 12, &flow->src4, 4);
		memcpy(ip + 16, &flow->dst4, 4);
		put16(ip + 10, 0);
		put16(ip + 10, checksum(add16(ip, (unsigned)(udp - ip), 0)));
		sum = add16(ip + 12, 8, 0);
	}
	flow_stamp(udp + 8, payload, 0, 0);
	to.src_port = get16(udp);
	write_udp(udp, &to, 8 + payload, short_sum(add16(udp + 8, payload, 0)) + sum);
}

#define HOP_LIMIT_DEFAULT 64

#define VLAN_TAG_LEN  4
#define VLAN_TAGS_MAX 2

/* Behind an Ethernet header these lie on 2-byte boundaries only. */
typedef struct iphdr frame_iphdr __attribute__((aligned(2)));
typedef struct ip6_hdr frame_ip6hdr __attribute__((aligned(2)));

/* RFC 1071: sum of 16-bit words in network order, an odd last byte padded with zero. */
static uint32_t sum16(const void *data, unsigned length, uint32_t sum)
{
	const uint8_t *p = data;

	for (; length > 1; length -= 2, p += 2)
		sum += p[0] << 8 | p[1];
	if (length)
		sum += p[0] << 8;
	/* Folded here, so that no length of data can overflow the caller's sum. */
	return (sum & 0xffff) + (sum >> 16);
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

/* `address`: source and destination, adjacent as in both IP headers. */
static uint16_t udp_checksum(const void *address, unsigned address_length, const struct udphdr *udp)
{
	unsigned length = ntohs(udp->len);
	uint32_t sum = IPPROTO_UDP + length;
	uint16_t check;

	sum = sum16(address, address_length, sum);
	check = fold(sum16(udp, length, sum));
	return check ? check : 0xffff; /* RFC 768: zero means that there is none */
}

static void build_ipv4(frame_iphdr *ip, const struct flow *flow, unsigned udp_length)
{
	*ip = (frame_iphdr){
		.version = 4,
		.ihl = sizeof(*ip) / 4,
		.tot_len = htons(sizeof(*ip) + udp_length),
		.frag_off = htons(IP_DF),
		.ttl = flow->ttl ? flow->ttl : HOP_LIMIT_DEFAULT,
		.protocol = IPPROTO_UDP,
		.saddr = flow->src4.s_addr,
		.daddr = flow->dst4.s_addr,
	};
	ip->check = htons(fold(sum16(ip, sizeof(*ip), 0)));
}

static void build_ipv6(frame_ip6hdr *ip, const struct flow *flow, unsigned udp_length)
{
	*ip = (frame_ip6hdr){
		.ip6_flow = htonl(6u << 28),
		.ip6_plen = htons(udp_length),
		.ip6_nxt = IPPROTO_UDP,
		.ip6_hlim = flow->ttl ? flow->ttl : HOP_LIMIT_DEFAULT,
		.ip6_src = flow->src6,
		.ip6_dst = flow->dst6,
	};
}

int proto_build(void *frame, unsigned room, const struct flow *flow, unsigned index)
{
	bool v6 = flow->family == AF_INET6;
	unsigned udp_length = sizeof(struct udphdr) + flow->payload;
	unsigned ip_header = v6 ? sizeof(struct ip6_hdr) : sizeof(struct iphdr);
	unsigned length = proto_frame_length(flow);
	struct ethhdr *eth = frame;
	void *ip = eth + 1;
	struct udphdr *udp = (struct udphdr *)((char *)ip + ip_header);

	if (flow->payload < (flow->time ? STAMP_TIME_LEN : STAMP_LEN) ||
	    udp_length + (v6 ? 0 : ip_header) > UINT16_MAX || length > room)
		return -EMSGSIZE;

	memset(frame, 0, length);
	memcpy(eth->h_dest, flow->dst_mac, ETH_ALEN);
	memcpy(eth->h_source, flow->src_mac, ETH_ALEN);
	eth->h_proto = htons(v6 ? ETH_P_IPV6 : ETH_P_IP);

	udp->source = htons(flow->src_port + index);
	udp->dest = htons(flow->dst_port);
	udp->len = htons(udp_length);
	flow_fill((uint8_t *)(udp + 1), flow->payload);
	flow_stamp((uint8_t *)(udp + 1), flow->payload, 0, 0);

	if (v6) {
		frame_ip6hdr *ip6 = ip;

		build_ipv6(ip6, flow, udp_length);
		udp->check = htons(udp_checksum(&ip6->ip6_src, 2 * sizeof(ip6->ip6_src), udp));
	} else {
		frame_iphdr *ip4 = ip;

		build_ipv4(ip4, flow, udp_length);
		udp->check = htons(udp_checksum(&ip4->saddr, 2 * sizeof(ip4->saddr), udp));
	}
	return length;
}

/* What is left of a frame while it is parsed. */
struct cursor {
	const uint8_t *at;
	unsigned left;
};

static const void *take(struct cursor *c, unsigned length)
{
	const void *header = c->at;

	if (length > c->left)
		return NULL;
	c->at += length;
	c->left -= length;
	return header;
}

/* Steps over the Ethernet header and its tags. Returns the ethertype, 0 if there is none. */
static uint16_t take_ethernet(struct cursor *c)
{
	const struct ethhdr *eth = take(c, sizeof(*eth));
	uint16_t proto;

	if (!eth)
		return 0;
	proto = ntohs(eth->h_proto);
	for (int i = 0; i < VLAN_TAGS_MAX && (proto == ETH_P_8021Q || proto == ETH_P_8021AD); i++) {
		const uint8_t *tag = take(c, VLAN_TAG_LEN);

		if (!tag)
			return 0;
		proto = tag[2] << 8 | tag[3];
	}
	return proto;
}

/* Steps over an IPv4 header in front of a whole UDP datagram and cuts off what is behind it. */
static bool take_ipv4(struct cursor *c)
{
	const frame_iphdr *ip = take(c, sizeof(*ip));
	unsigned header, total;

	if (!ip || ip->version != 4 || ip->protocol != IPPROTO_UDP ||
	    ip->frag_off & htons(IP_MF | IP_OFFMASK))
		return false;
	header = ip->ihl * 4;
	total = ntohs(ip->tot_len);
	if (header < sizeof(*ip) || total < header || !take(c, header - sizeof(*ip)) ||
	    total - header > c->left)
		return false;
	c->left = total - header;
	return true;
}

static bool take_ipv6(struct cursor *c)
{
	const frame_ip6hdr *ip = take(c, sizeof(*ip));

	if (!ip || ip->ip6_vfc >> 4 != 6 || ip->ip6_nxt != IPPROTO_UDP ||
	    ntohs(ip->ip6_plen) > c->left)
		return false;
	c->left = ntohs(ip->ip6_plen);
	return true;
}

const void *proto_udp_payload(const void *frame, unsigned length, int family, uint16_t port,
			      unsigned *payload_length)
{
	struct cursor c = {frame, length};
	const struct udphdr *udp;
	unsigned udp_length;

	switch (take_ethernet(&c)) {
	case ETH_P_IP:
		if (family == AF_INET6 || !take_ipv4(&c))
			return NULL;
		break;
	case ETH_P_IPV6:
		if (family == AF_INET || !take_ipv6(&c))
			return NULL;
		break;
	default:
		return NULL;
	}

	udp = take(&c, sizeof(*udp));
	if (!udp || (port && udp->dest != htons(port)))
		return NULL;
	udp_length = ntohs(udp->len);
	if (udp_length < sizeof(*udp) || udp_length - sizeof(*udp) > c.left)
		return NULL;
	*payload_length = udp_length - sizeof(*udp);
	return c.at;
}
