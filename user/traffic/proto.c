// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/proto.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <linux/if_ether.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>

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
