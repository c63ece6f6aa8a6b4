// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The parser of packet headers (include/headers.h), over bytes: good, cut short, hostile, random.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "headers.h"

#define PACKET_MAX 512

static uint8_t *page, *page_end; /* behind page_end nothing may be read */

static int map_page(void **state)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	page = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -1;
	page_end = page + size;
	return mprotect(page_end, size, PROT_NONE);
}

/* Parses `n` bytes that lie at the end of memory; each step has at most HEADERS_STEP of them. */
static struct headers parse_from(struct headers h, const void *bytes, unsigned n)
{
	uint8_t *at = page_end - n;
	unsigned steps = 0;

	memcpy(at, bytes, n);
	while (h.at <= n && headers_step(&h, at + h.at, n - h.at))
		assert_true(++steps <= HEADERS_STEPS);
	if (h.at > n && h.next < HEADER_PAYLOAD)
		h.next = HEADER_CUT;
	return h;
}

static struct headers parse(enum header first, const void *bytes, unsigned n)
{
	return parse_from((struct headers){.next = first}, bytes, n);
}

/* Packets put together from their headers. */
struct packet {
	uint8_t at[PACKET_MAX];
	unsigned n;
};

static void put(struct packet *p, const void *bytes, unsigned n)
{
	assert_true(p->n + n <= sizeof(p->at));
	memcpy(p->at + p->n, bytes, n);
	p->n += n;
}

#define PUT(p, ...) put(p, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void put_ethernet(struct packet *p, unsigned type)
{
	PUT(p, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, type >> 8, type & 0xff);
}

/* `words`: of options; `field`: flags and offset in units of 8 bytes. */
static void put_ip4(struct packet *p, unsigned proto, unsigned words, unsigned field)
{
	PUT(p, 0x45 + words, 0, 0x01, 0x02, 0xab, 0xcd, field >> 8, field & 0xff, 64, proto, 0, 0,
	    10, 0, 0, 1, 10, 0, 0, 2);
	for (unsigned i = 0; i < words; i++)
		PUT(p, 1, 1, 1, 1);
}

static void put_ip6(struct packet *p, unsigned next)
{
	PUT(p, 0x60, 0, 0, 0, 0x01, 0x02, next, 64);
	for (unsigned i = 0; i < 32; i++)
		PUT(p, i);
}

static void put_extension(struct packet *p, unsigned next, unsigned more_words)
{
	PUT(p, next, more_words, 0, 0, 0, 0, 0, 0);
	for (unsigned i = 0; i < more_words; i++)
		PUT(p, 0, 0, 0, 0, 0, 0, 0, 0);
}

static void put_fragment(struct packet *p, unsigned next, unsigned offset, bool more)
{
	PUT(p, next, 0, offset >> 8, (offset & 0xf8) | more, 0xde, 0xad, 0xbe, 0xef);
}

static void put_udp(struct packet *p, unsigned port)
{
	PUT(p, 0x12, 0x34, port >> 8, port & 0xff, 0x00, 0x20, 0, 0);
}

static void put_tcp(struct packet *p, unsigned words)
{
	PUT(p, 0x12, 0x34, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, words << 4, 2, 0, 0, 0, 0, 0, 0);
	for (unsigned i = 5; i < words; i++)
		PUT(p, 1, 1, 1, 1);
}

/* All of it, and that every part of it ends with HEADER_CUT or says less, never more. */
static struct headers parse_all(enum header first, const struct packet *p)
{
	struct headers whole = parse(first, p->at, p->n);

	for (unsigned n = 0; n < p->n; n++) {
		struct headers part = parse(first, p->at, n);

		assert_true(part.at <= whole.at);
		if (n < whole.at && whole.next == HEADER_PAYLOAD && part.next != HEADER_CUT)
			assert_true(part.next == HEADER_PAYLOAD && part.at == whole.at);
	}
	return whole;
}

static void assert_udp(const struct headers *h, unsigned version, unsigned l3, unsigned l4)
{
	assert_int_equal(h->next, HEADER_PAYLOAD);
	assert_int_equal(h->proto, PROTO_UDP);
	assert_int_equal(h->version, version);
	assert_int_equal(h->l3, l3);
	assert_int_equal(h->l4, l4);
	assert_int_equal(h->at, l4 + UDP_HLEN);
	assert_int_equal(h->src_port, 0x1234);
	assert_int_equal(h->dst_port, 53);
	assert_int_equal(h->length, 0x20);
	assert_int_equal(h->bytes, version == 4 ? 0x102 : 0x102 + IP6_HLEN);
}

CASE(udp_over_ip4)
{
	for (unsigned words = 0; words <= 10; words++) {
		struct packet p = {};
		struct headers h;

		put_ip4(&p, PROTO_UDP, words, 0x4000);
		put_udp(&p, 53);
		h = parse_all(HEADER_IP, &p);
		assert_udp(&h, 4, 0, 20 + 4 * words);
		assert_false(h.fragmented);
	}
}

CASE(udp_over_ip6)
{
	struct packet p = {};
	struct headers h;

	put_ip6(&p, PROTO_UDP);
	put_udp(&p, 53);
	h = parse_all(HEADER_IP, &p);
	assert_udp(&h, 6, 0, 40);
	assert_false(h.fragmented);
}

CASE(extension_headers)
{
	static const uint8_t kinds[] = {PROTO_HOPOPTS,	PROTO_ROUTING, PROTO_DSTOPTS,
					PROTO_MOBILITY, PROTO_HIP,     PROTO_SHIM6,
					PROTO_DSTOPTS,	PROTO_DSTOPTS, PROTO_DSTOPTS};

	for (unsigned n = 1; n <= HEADERS_EXTENSIONS + 1; n++) {
		struct packet p = {};
		unsigned l4 = 40;
		struct headers h;

		put_ip6(&p, kinds[0]);
		for (unsigned i = 0; i < n; i++) {
			put_extension(&p, i + 1 < n ? kinds[i + 1] : PROTO_UDP, i % 3);
			l4 += 8 + i % 3 * 8;
		}
		put_udp(&p, 53);
		h = parse_all(HEADER_IP, &p);
		if (n <= HEADERS_EXTENSIONS)
			assert_udp(&h, 6, 0, l4);
		else
			assert_int_equal(h.next, HEADER_UNKNOWN);
	}
}

/* Its length is in units of 4 bytes, of all other extension headers in units of 8. */
CASE(authentication_header)
{
	struct packet p6 = {}, p4 = {};
	struct headers h;

	put_ip6(&p6, PROTO_AH);
	PUT(&p6, PROTO_UDP, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	put_udp(&p6, 53);
	h = parse_all(HEADER_IP, &p6);
	assert_udp(&h, 6, 0, 64);
	put_ip4(&p4, PROTO_AH, 0, 0);
	PUT(&p4, PROTO_UDP, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	put_udp(&p4, 53);
	h = parse_all(HEADER_IP, &p4);
	assert_udp(&h, 4, 0, 32);
}

CASE(fragments_of_ip4)
{
	static const struct {
		unsigned field, offset;
		bool more;
	} parts[] = {{0x2000, 0, true},
		     {0x20b9, 0xb9 * 8, true},
		     {0x0172, 0x172 * 8, false},
		     {0x1fff, 0x1fff * 8, false}};

	for (unsigned i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct packet p = {};
		struct headers h;

		put_ip4(&p, PROTO_UDP, 1, parts[i].field);
		put_udp(&p, 53); /* of a later fragment it is data */
		h = parse_all(HEADER_IP, &p);
		assert_true(h.fragmented);
		assert_int_equal(h.more, parts[i].more);
		assert_int_equal(h.fragment, parts[i].offset);
		assert_int_equal(h.id, 0xabcd);
		assert_int_equal(h.proto, PROTO_UDP);
		if (!i)
			assert_udp(&h, 4, 0, 24);
		else
			assert_int_equal(h.next, HEADER_FRAGMENT);
		if (i) {
			assert_int_equal(h.at, 24);
			assert_int_equal(h.dst_port, 0);
		}
	}
}

CASE(fragments_of_ip6)
{
	for (unsigned before = 0; before < 2; before++) {
		for (unsigned offset = 0; offset < 3000; offset += 1480) {
			struct packet p = {};
			struct headers h;

			put_ip6(&p, before ? PROTO_ROUTING : PROTO_FRAGMENT);
			if (before)
				put_extension(&p, PROTO_FRAGMENT, 2);
			put_fragment(&p, PROTO_UDP, offset, offset < 2960);
			put_udp(&p, 53);
			h = parse_all(HEADER_IP, &p);
			assert_true(h.fragmented);
			assert_int_equal(h.more, offset < 2960);
			assert_int_equal(h.fragment, offset);
			assert_int_equal(h.id, 0xdeadbeef);
			if (!offset)
				assert_udp(&h, 6, 0, 48 + before * 24);
			else
				assert_int_equal(h.next, HEADER_FRAGMENT);
			if (offset)
				assert_int_equal(h.at, 48 + before * 24);
		}
	}
}

/* Behind the fragment header there may be options, which only the first fragment shows. */
CASE(options_in_fragments)
{
	struct packet p = {}, later = {};
	struct headers h;

	put_ip6(&p, PROTO_FRAGMENT);
	put_fragment(&p, PROTO_DSTOPTS, 0, true);
	put_extension(&p, PROTO_UDP, 0);
	put_udp(&p, 53);
	h = parse_all(HEADER_IP, &p);
	assert_udp(&h, 6, 0, 56);
	assert_true(h.fragmented);
	put_ip6(&later, PROTO_FRAGMENT);
	put_fragment(&later, PROTO_DSTOPTS, 1480, false);
	put_udp(&later, 53);
	h = parse_all(HEADER_IP, &later);
	assert_int_equal(h.next, HEADER_FRAGMENT);
	assert_int_equal(h.id, 0xdeadbeef);
}

CASE(tags)
{
	for (unsigned n = 0; n <= HEADERS_TAGS + 1; n++) {
		struct packet p = {};
		struct headers h;
		uint32_t length;
		__u16 type;

		put_ethernet(&p, n > 1 ? TYPE_QINQ : n ? TYPE_VLAN : TYPE_IP6);
		for (unsigned i = 0; i < n; i++)
			PUT(&p, 0, 7, (i + 1 < n ? TYPE_VLAN : TYPE_IP6) >> 8,
			    (i + 1 < n ? TYPE_VLAN : TYPE_IP6) & 0xff);
		put_ip6(&p, PROTO_UDP);
		put_udp(&p, 53);
		h = parse_all(HEADER_ETHERNET, &p);
		length = headers_frame(p.at, &type);
		assert_int_equal(type, n <= HEADERS_TAGS ? TYPE_IP6 : TYPE_VLAN);
		assert_int_equal(length, 14 + 4 * (n < HEADERS_TAGS ? n : HEADERS_TAGS));
		if (n <= HEADERS_TAGS)
			assert_udp(&h, 6, 14 + 4 * n, 54 + 4 * n);
		else
			assert_int_equal(h.next, HEADER_UNKNOWN);
	}
}

CASE(types_and_versions)
{
	struct packet p = {}, arp = {};
	struct headers h;

	put_ethernet(&p, TYPE_IP6);
	put_ip4(&p, PROTO_UDP, 0, 0);
	put_udp(&p, 53);
	assert_int_equal(parse(HEADER_ETHERNET, p.at, p.n).next, HEADER_BAD);
	p.at[12] = TYPE_IP4 >> 8;
	p.at[13] = TYPE_IP4 & 0xff;
	h = parse_all(HEADER_ETHERNET, &p);
	assert_udp(&h, 4, 14, 34);
	p.at[14] = 0x55;
	assert_int_equal(parse(HEADER_ETHERNET, p.at, p.n).next, HEADER_BAD);
	p.at[14] = 0x44;
	assert_int_equal(parse(HEADER_ETHERNET, p.at, p.n).next, HEADER_BAD);
	put_ethernet(&arp, 0x0806);
	PUT(&arp, 0, 1, 8, 0, 6, 4, 0, 1);
	h = parse_all(HEADER_ETHERNET, &arp);
	assert_int_equal(h.next, HEADER_UNKNOWN);
	assert_int_equal(h.type, 0x0806);
}

CASE(other_protocols)
{
	struct packet tcp = {}, icmp = {}, sctp = {}, dccp = {}, esp = {}, none = {};
	struct headers h;

	put_ip4(&tcp, PROTO_TCP, 0, 0);
	put_tcp(&tcp, 8);
	h = parse_all(HEADER_IP, &tcp);
	assert_int_equal(h.next, HEADER_PAYLOAD);
	assert_int_equal(h.dst_port, 80);
	assert_int_equal(h.l4, 20);
	assert_int_equal(h.at, 52);
	tcp.at[32] = 4 << 4;
	assert_int_equal(parse(HEADER_IP, tcp.at, tcp.n).next, HEADER_BAD);

	put_ip6(&icmp, PROTO_ICMP6);
	PUT(&icmp, 2, 7, 0, 0, 0, 0, 5, 0);
	put_ip6(&icmp, PROTO_UDP); /* what an error quotes is not looked at */
	put_udp(&icmp, 53);
	h = parse_all(HEADER_IP, &icmp);
	assert_int_equal(h.next, HEADER_PAYLOAD);
	assert_int_equal(h.icmp_type, 2);
	assert_int_equal(h.icmp_code, 7);
	assert_int_equal(h.proto, PROTO_ICMP6);
	assert_int_equal(h.at, 48);
	assert_int_equal(h.dst_port, 0);

	put_ip4(&sctp, PROTO_SCTP, 0, 0);
	PUT(&sctp, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0);
	h = parse_all(HEADER_IP, &sctp);
	assert_int_equal(h.next, HEADER_PAYLOAD);
	assert_int_equal(h.dst_port, 2);
	put_ip4(&dccp, PROTO_DCCP, 0, 0);
	PUT(&dccp, 0, 1, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	h = parse_all(HEADER_IP, &dccp);
	assert_int_equal(h.dst_port, 3);
	assert_int_equal(h.at, 36);
	put_ip6(&esp, 50);
	put_udp(&esp, 53);
	assert_int_equal(parse_all(HEADER_IP, &esp).next, HEADER_UNKNOWN);
	put_ip6(&none, PROTO_NONE);
	put_udp(&none, 53);
	assert_int_equal(parse_all(HEADER_IP, &none).next, HEADER_UNKNOWN);
	/* hop-by-hop options are IPv6's: protocol 0 of IPv4 is none */
	put_ip4(&none, PROTO_HOPOPTS, 0, 0);
	assert_int_equal(parse(HEADER_IP, none.at + 48, none.n - 48).next, HEADER_UNKNOWN);
}

static struct headers enter(struct headers h, enum header tunnel, const struct packet *p)
{
	headers_enter(&h, tunnel);
	return parse_from(h, p->at, p->n);
}

CASE(udp_tunnels)
{
	struct packet vxlan = {}, geneve = {};
	struct headers h;

	put_ip4(&vxlan, PROTO_UDP, 2, 0);
	put_udp(&vxlan, 4789);
	PUT(&vxlan, 8, 0, 0, 0, 0, 0, 42, 0);
	put_ethernet(&vxlan, TYPE_VLAN);
	PUT(&vxlan, 0, 5, TYPE_IP6 >> 8, TYPE_IP6 & 0xff);
	put_ip6(&vxlan, PROTO_UDP);
	put_udp(&vxlan, 53);
	h = parse_all(HEADER_IP, &vxlan);
	assert_int_equal(h.dst_port, 4789);
	h = enter(h, HEADER_VXLAN, &vxlan);
	assert_udp(&h, 6, 62, 102);
	assert_int_equal(h.depth, 1);
	vxlan.at[36] = 0; /* no network */
	h = parse(HEADER_IP, vxlan.at, vxlan.n);
	assert_int_equal(enter(h, HEADER_VXLAN, &vxlan).next, HEADER_BAD);

	put_ip6(&geneve, PROTO_UDP);
	put_udp(&geneve, 6081);
	PUT(&geneve, 2, 0, TYPE_TEB >> 8, TYPE_TEB & 0xff, 0, 0, 42, 0, 0, 1, 2, 3, 4, 5, 6, 7);
	put_ethernet(&geneve, TYPE_IP4);
	put_ip4(&geneve, PROTO_UDP, 0, 0);
	put_udp(&geneve, 53);
	h = enter(parse_all(HEADER_IP, &geneve), HEADER_GENEVE, &geneve);
	assert_udp(&h, 4, 78, 98);
	geneve.at[48] |= 0x40; /* another version */
	h = parse(HEADER_IP, geneve.at, geneve.n);
	assert_int_equal(enter(h, HEADER_GENEVE, &geneve).next, HEADER_UNKNOWN);
}

CASE(ip_tunnels)
{
	struct packet ipip = {}, gre = {};
	struct headers h;

	put_ip4(&ipip, PROTO_IP6, 0, 0);
	put_ip6(&ipip, PROTO_IPIP);
	put_ip4(&ipip, PROTO_UDP, 0, 0);
	put_udp(&ipip, 53);
	h = parse_all(HEADER_IP, &ipip);
	assert_int_equal(h.next, HEADER_TUNNEL);
	h = enter(h, HEADER_TUNNEL, &ipip);
	assert_int_equal(h.next, HEADER_TUNNEL);
	assert_int_equal(h.l3, 20);
	h = enter(h, HEADER_TUNNEL, &ipip);
	assert_udp(&h, 4, 60, 80);
	assert_int_equal(h.depth, 2);

	put_ip4(&gre, PROTO_GRE, 0, 0);
	PUT(&gre, 0xb0, 0, TYPE_TEB >> 8, TYPE_TEB & 0xff); /* checksum, key and number */
	PUT(&gre, 0, 0, 0, 0, 0, 0, 0, 42, 0, 0, 0, 1);
	put_ethernet(&gre, TYPE_IP6);
	put_ip6(&gre, PROTO_UDP);
	put_udp(&gre, 53);
	h = parse_all(HEADER_IP, &gre);
	assert_int_equal(h.next, HEADER_TUNNEL);
	h = enter(h, HEADER_TUNNEL, &gre);
	assert_udp(&h, 6, 50, 90);
	gre.at[21] = 1; /* PPTP's */
	h = parse(HEADER_IP, gre.at, gre.n);
	assert_int_equal(enter(h, HEADER_TUNNEL, &gre).next, HEADER_UNKNOWN);
}

static const struct tunnel_port ports[TUNNEL_PORTS] = {{4789, HEADER_VXLAN, 0},
						       {6081, HEADER_GENEVE, 0}};

/* The innermost packet. */
static struct headers innermost(const struct packet *p, unsigned n)
{
	struct headers h = parse(HEADER_IP, p->at, n);
	enum header tunnel;

	while ((tunnel = headers_tunnel(&h, ports)) != HEADER_PAYLOAD) {
		headers_enter(&h, tunnel);
		h = parse_from(h, p->at, n);
	}
	return h;
}

/* All of it; and no part of it is taken for another packet than it is. */
static struct headers innermost_all(const struct packet *p)
{
	struct headers whole = innermost(p, p->n);

	for (unsigned n = 0; n < p->n; n++) {
		struct headers part = innermost(p, n);

		assert_true(part.depth <= whole.depth && part.at <= whole.at);
		if (part.depth == whole.depth && part.version) {
			assert_int_equal(part.l3, whole.l3);
			assert_int_equal(part.tunnel, whole.tunnel);
			assert_int_equal(part.tunnel_id, whole.tunnel_id);
		} else if (part.depth) {
			assert_int_equal(part.next == HEADER_CUT || part.version != 0, true);
		}
	}
	return whole;
}

CASE(numbers_of_tunnels)
{
	struct packet vxlan = {}, geneve = {}, gre = {};
	struct headers h;

	put_ip6(&vxlan, PROTO_UDP);
	put_udp(&vxlan, 4789);
	PUT(&vxlan, 8, 0, 0, 0, 0x12, 0x34, 0x56, 0xff);
	put_ethernet(&vxlan, TYPE_IP4);
	put_ip4(&vxlan, PROTO_UDP, 0, 0);
	put_udp(&vxlan, 53);
	h = innermost_all(&vxlan);
	assert_udp(&h, 4, 70, 90);
	assert_int_equal(h.tunnel, HEADER_VXLAN);
	assert_int_equal(h.tunnel_id, 0x123456);

	put_ip4(&geneve, PROTO_UDP, 0, 0);
	put_udp(&geneve, 6081);
	PUT(&geneve, 1, 0, TYPE_IP6 >> 8, TYPE_IP6 & 0xff, 0, 0, 7, 0, 1, 2, 3, 4); /* no frame */
	put_ip6(&geneve, PROTO_UDP);
	put_udp(&geneve, 53);
	h = innermost_all(&geneve);
	assert_udp(&h, 6, 40, 80);
	assert_int_equal(h.tunnel, HEADER_GENEVE);
	assert_int_equal(h.tunnel_id, 7);

	for (unsigned flags = 0; flags < 8; flags++) {
		unsigned bytes = ((flags >> 2) + (flags >> 1 & 1) + (flags & 1)) * 4;

		gre = (struct packet){};
		put_ip4(&gre, PROTO_GRE, 0, 0);
		PUT(&gre, (flags & 4) << 5 | (flags & 2) << 4 | (flags & 1) << 4, 0, TYPE_IP4 >> 8,
		    TYPE_IP4 & 0xff);
		if (flags & 4)
			PUT(&gre, 9, 9, 9, 9);
		if (flags & 2)
			PUT(&gre, 0xfe, 0xdc, 0xba, 0x98);
		if (flags & 1)
			PUT(&gre, 8, 8, 8, 8);
		put_ip4(&gre, PROTO_UDP, 0, 0);
		put_udp(&gre, 53);
		h = innermost_all(&gre);
		assert_udp(&h, 4, 24 + bytes, 44 + bytes);
		assert_int_equal(h.tunnel, HEADER_GRE);
		assert_int_equal(h.tunnel_id, flags & 2 ? 0xfedcba98 : 0);
	}
}

CASE(tunnels_in_one_another)
{
	struct packet p = {}, deep = {}, first = {}, later = {}, arp = {};
	struct headers h;

	/* as much before the headers that matter as can be */
	put_ip4(&p, PROTO_IP6, 0, 0);
	put_ip6(&p, PROTO_GRE);
	PUT(&p, 0x20, 0, TYPE_TEB >> 8, TYPE_TEB & 0xff, 0, 0, 0, 5);
	put_ethernet(&p, TYPE_QINQ);
	PUT(&p, 0, 1, TYPE_VLAN >> 8, TYPE_VLAN & 0xff, 0, 2, TYPE_IP6 >> 8, TYPE_IP6 & 0xff);
	put_ip6(&p, PROTO_DSTOPTS);
	for (unsigned i = 0; i < HEADERS_EXTENSIONS; i++)
		put_extension(&p, i + 1 < HEADERS_EXTENSIONS ? PROTO_DSTOPTS : PROTO_UDP, 0);
	put_udp(&p, 53);
	h = innermost_all(&p);
	assert_udp(&h, 6, 90, 90 + IP6_HLEN + HEADERS_EXTENSIONS * IP6_EXT_HLEN);
	assert_int_equal(h.depth, 2);
	assert_int_equal(h.tunnel_id, 5);

	for (unsigned i = 0; i < HEADERS_DEPTH + 1; i++)
		put_ip4(&deep, PROTO_IPIP, 0, 0);
	put_ip4(&deep, PROTO_UDP, 0, 0);
	put_udp(&deep, 53);
	h = innermost_all(&deep);
	assert_int_equal(h.depth, HEADERS_DEPTH);
	assert_int_equal(h.next, HEADER_TUNNEL);
	assert_int_equal(h.l3, HEADERS_DEPTH * IP4_HLEN);

	put_ip4(&first, PROTO_UDP, 0, 0x2000);
	put_udp(&first, 4789);
	PUT(&first, 8, 0, 0, 0, 0, 0, 1, 0);
	put_ethernet(&first, TYPE_IP4);
	put_ip4(&first, PROTO_UDP, 0, 0);
	put_udp(&first, 53);
	h = innermost_all(&first);
	assert_udp(&h, 4, 50, 70);
	assert_false(h.fragmented); /* its datagram is whole, the tunnel's is not */

	/* what a later fragment has at that place is no header */
	put_ip4(&later, PROTO_UDP, 0, 0x2001);
	put(&later, first.at + IP4_HLEN, first.n - IP4_HLEN);
	h = innermost(&later, later.n);
	assert_int_equal(h.depth, 0);
	assert_int_equal(h.next, HEADER_FRAGMENT);

	put_ip4(&arp, PROTO_UDP, 0, 0);
	put_udp(&arp, 4789);
	PUT(&arp, 8, 0, 0, 0, 0, 0, 1, 0);
	put_ethernet(&arp, 0x0806);
	h = innermost_all(&arp);
	assert_int_equal(h.next, HEADER_UNKNOWN);
	assert_int_equal(h.version, 0);
	arp.at[23] = 0x44; /* another port, no tunnel */
	assert_int_equal(innermost(&arp, arp.n).depth, 0);
}

CASE(addresses)
{
	uint8_t src[16] = {}, dst[16] = {};
	struct packet p4 = {}, p6 = {};

	put_ip4(&p4, PROTO_UDP, 0, 0);
	headers_addresses(4, p4.at, src, dst);
	assert_memory_equal(src, ((uint8_t[16]){10, 0, 0, 1}), 16);
	assert_memory_equal(dst, ((uint8_t[16]){10, 0, 0, 2}), 16);
	put_ip6(&p6, PROTO_UDP);
	headers_addresses(6, p6.at, src, dst);
	assert_memory_equal(src, p6.at + 8, 16);
	assert_memory_equal(dst, p6.at + 24, 16);
}

/* Extension headers that lead round and round, or far behind the packet's end. */
CASE(hostile)
{
	struct packet round = {}, far = {}, frag = {}, frames = {};
	struct headers h;

	put_ip6(&round, PROTO_DSTOPTS);
	for (unsigned i = 0; i < 40; i++)
		put_extension(&round, PROTO_DSTOPTS, 0);
	h = parse(HEADER_IP, round.at, round.n);
	assert_int_equal(h.next, HEADER_UNKNOWN);
	assert_int_equal(h.at, 40 + 8 * HEADERS_EXTENSIONS);

	put_ip6(&far, PROTO_HOPOPTS);
	PUT(&far, PROTO_UDP, 255, 0, 0, 0, 0, 0, 0);
	h = parse(HEADER_IP, far.at, far.n);
	assert_int_equal(h.next, HEADER_CUT);
	assert_int_equal(h.at, 40 + 2048);

	/* a frame in a frame in a frame */
	for (unsigned i = 0; i < 20; i++)
		put_ethernet(&frames, TYPE_TEB);
	h = parse(HEADER_ETHERNET, frames.at, frames.n);
	assert_int_equal(h.next, HEADER_UNKNOWN);
	assert_int_equal(h.at, ETHERNET_HLEN);

	/* fragments in fragments: the last one is what counts, none is read as UDP */
	put_ip6(&frag, PROTO_FRAGMENT);
	put_fragment(&frag, PROTO_FRAGMENT, 0, true);
	put_fragment(&frag, PROTO_UDP, 8, false);
	put_udp(&frag, 53);
	assert_int_equal(parse(HEADER_IP, frag.at, frag.n).next, HEADER_FRAGMENT);
}

/* Whatever the bytes: it ends, and reads none behind them; the guard page sees to that. */
CASE(random_bytes)
{
	static const uint8_t protos[] = {0, 1, 4, 6, 17, 33, 41, 43, 44, 47, 51, 58, 60, 132, 136};
	uint8_t bytes[PACKET_MAX];

	srandom(1);
	for (unsigned round = 0; round < 300000; round++) {
		unsigned n = (unsigned)random() % 160;
		enum header first = (enum header)((unsigned)random() % (HEADER_BAD + 1));
		struct headers h;

		for (unsigned i = 0; i < n; i++) {
			unsigned r = (unsigned)random();

			bytes[i] = (uint8_t)(r >> 8);
			if (r & 1) /* many are known */
				bytes[i] = protos[(r >> 8) % sizeof(protos)];
		}
		if (n && round & 1)
			bytes[0] = (uint8_t)(round & 2 ? 0x45 : 0x60);
		h = parse_from((struct headers){.next = (uint8_t)first,
						.version = round & 4 ? 6 : 4,
						.proto = protos[round % sizeof(protos)]},
			       bytes, n);
		assert_true(h.next >= HEADER_PAYLOAD);
		if (h.next == HEADER_PAYLOAD && first < HEADER_PAYLOAD)
			assert_true(h.l4 + 8 <= n);
	}
}

int main(void)
{
	return run_cases(map_page, NULL);
}
