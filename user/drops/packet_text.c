// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/packet_text.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/bytes.h"
#include "headers.h"
#include "stamp.h"

#define ICMP_LEN 8
#define SCTP_LEN 12
#define ARP_LEN	 28 /* IPv4 over Ethernet */

static const struct protocol protocols[] = {
	{IPPROTO_UDP, "udp", "UDP"},	{IPPROTO_TCP, "tcp", "TCP"},
	{IPPROTO_ICMP, "icmp", "ICMP"}, {IPPROTO_ICMPV6, "icmp6", "ICMP6"},
	{IPPROTO_SCTP, "sctp", "SCTP"}, {IPPROTO_UDPLITE, "udplite", "UDPlite"},
	{IPPROTO_DCCP, "dccp", "DCCP"}, {IPPROTO_GRE, "gre", "GRE"},
	{IPPROTO_ESP, "esp", "ESP"},	{IPPROTO_IGMP, "igmp", "IGMP"},
	{IPPROTO_IPIP, "ipip", "IPIP"},
};

/* IANA, ICMP Parameters and ICMPv6 Parameters. */
static const struct icmp_kind kinds[] = {
	{IPPROTO_ICMP, 0, true, "echo reply"},
	{IPPROTO_ICMP, 3, false, "unreachable"},
	{IPPROTO_ICMP, 5, false, "redirect"},
	{IPPROTO_ICMP, 8, true, "echo request"},
	{IPPROTO_ICMP, 11, false, "time exceeded"},
	{IPPROTO_ICMPV6, 1, false, "unreachable"},
	{IPPROTO_ICMPV6, 2, false, "packet too big"},
	{IPPROTO_ICMPV6, 3, false, "time exceeded"},
	{IPPROTO_ICMPV6, 128, true, "echo request"},
	{IPPROTO_ICMPV6, 129, true, "echo reply"},
	{IPPROTO_ICMPV6, 133, false, "router solicitation"},
	{IPPROTO_ICMPV6, 134, false, "router advertisement"},
	{IPPROTO_ICMPV6, 135, false, "neighbor solicitation"},
	{IPPROTO_ICMPV6, 136, false, "neighbor advertisement"},
	{IPPROTO_ICMPV6, 143, false, "multicast listener report"},
};

const struct protocol *protocol_find(uint8_t number)
{
	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		if (protocols[i].number == number)
			return &protocols[i];
	}
	return NULL;
}

const struct icmp_kind *icmp_kind_find(uint8_t protocol, uint8_t type)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].protocol == protocol && kinds[i].type == type)
			return &kinds[i];
	}
	return NULL;
}

/* State of the decoder. */
struct decode {
	const struct packet_view *p;
	struct headers h;
	uint32_t at;	    /* where the next header begins, or the known headers end */
	int family;	    /* 0: not IP */
	uint32_t payload;   /* bytes after the network header, according to its length field */
	const char *broken; /* a header that is truncated or wrong; NULL: all are valid */
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	char *out;
	size_t room;
};

static void __attribute__((format(printf, 2, 3))) say(struct decode *d, const char *fmt, ...)
{
	va_list args;
	size_t n;

	va_start(args, fmt);
	n = (size_t)vsnprintf(d->out, d->room, fmt, args);
	va_end(args);
	if (n >= d->room)
		n = d->room ? d->room - 1 : 0;
	d->out += n;
	d->room -= n;
}

static bool have(struct decode *d, uint32_t len, const char *header)
{
	if (d->at <= d->p->len && len <= d->p->len - d->at)
		return true;
	d->broken = header;
	return false;
}

static const uint8_t *here(const struct decode *d)
{
	return d->p->bytes + d->at;
}

/* Decodes one header before the transport header. Returns false if that was the last. */
static bool step(struct decode *d)
{
	const struct headers last = d->h;
	struct headers *h = &d->h;
	bool more;

	if (h->next == HEADER_PROTOCOL && !headers_is_extension(h->version, h->proto))
		return false; /* transport headers are decoded separately */
	more = headers_step(h, here(d), d->p->len - d->at);
	if (h->next == HEADER_CUT || h->next == HEADER_BAD || h->at > d->p->len) {
		d->broken = last.next == HEADER_ETHERNET   ? "ether"
			    : last.next == HEADER_VLAN	   ? "vlan"
			    : last.next == HEADER_PROTOCOL ? "ip6 extension"
			    : h->type == ETH_P_IP	   ? "ip"
							   : "ip6";
		return false;
	}
	if (last.next == HEADER_VLAN)
		say(d, "vlan %u, ", get16(here(d)) & 0xfff);
	d->at = h->at;
	return more;
}

static bool is_ip(uint16_t type)
{
	return type == ETH_P_IP || type == ETH_P_IPV6;
}

/* Decodes link and network headers, up to where the transport header starts. */
static void lower_layers(struct decode *d)
{
	struct headers *h = &d->h;
	uint32_t bytes;

	h->type = d->p->ethernet ? 0 : d->p->protocol;
	h->next = d->p->ethernet ? HEADER_ETHERNET : is_ip(h->type) ? HEADER_IP : HEADER_UNKNOWN;
	while (h->next < HEADER_PAYLOAD && step(d))
		;
	if (!h->version)
		return;
	d->family = h->version == 4 ? AF_INET : AF_INET6;
	inet_ntop(d->family, d->p->bytes + h->l3 + (h->version == 4 ? 12 : 8), d->src,
		  sizeof(d->src));
	inet_ntop(d->family, d->p->bytes + h->l3 + (h->version == 4 ? 16 : 24), d->dst,
		  sizeof(d->dst));
	bytes = h->bytes; /* a merged packet may be longer than its length field can express */
	if (!bytes || (h->version == 6 && bytes == IP6_HLEN))
		bytes = d->p->wire_len > h->l3 ? d->p->wire_len - h->l3 : 0;
	d->payload = bytes > d->at - h->l3 ? bytes - (d->at - h->l3) : 0;
}

static void say_addresses(struct decode *d, bool ports)
{
	const char *name = d->family == AF_INET6 ? "IP6" : "IP";

	if (ports)
		say(d, "%s %s.%u > %s.%u:", name, d->src, get16(here(d)), d->dst,
		    get16(here(d) + 2));
	else
		say(d, "%s %s > %s:", name, d->src, d->dst);
}

/* Prints addresses, and ports if present. Returns false if the transport header is incomplete. */
static bool begin_transport(struct decode *d, uint32_t len, const char *name, const char *title)
{
	bool whole = have(d, len, name);

	say_addresses(d, whole || have(d, 4, name));
	if (!whole) {
		say(d, " %s", title);
		d->broken = name;
	}
	return whole;
}

static void udp(struct decode *d)
{
	const uint8_t *b;
	uint32_t left;
	uint16_t len;

	if (!begin_transport(d, UDP_HLEN, "udp", "UDP"))
		return;
	len = get16(here(d) + 4);
	if (len >= UDP_HLEN)
		say(d, " UDP, length %u", len - UDP_HLEN);
	else
		say(d, " UDP, bad length %u", len);
	d->at += UDP_HLEN;
	b = here(d);
	left = d->p->len - d->at;
	if (left < STAMP_LEN || get16(b) != STAMP_MAGIC || get64(b + 2) != ~get64(b + 10))
		return;
	/* a sequence header, and the send time after it if that is valid */
	if (left >= STAMP_TIME_LEN && get64(b + STAMP_TIME_OFF) == ~get64(b + STAMP_TIME_OFF + 8))
		d->at += STAMP_TIME_LEN;
	else
		d->at += STAMP_LEN;
}

static void tcp(struct decode *d)
{
	static const char letters[] = "FSRP.UEW";
	const uint8_t *b;
	char flags[sizeof(letters)] = "";
	uint32_t header, n = 0;

	if (!begin_transport(d, TCP_HLEN, "tcp", "TCP"))
		return;
	b = here(d);
	for (int i = 0; letters[i]; i++) {
		if (b[13] >> i & 1)
			flags[n++] = letters[i];
	}
	header = (b[12] >> 4) * 4u;
	say(d, " Flags [%s], seq %u", n ? flags : "none", get32(b + 4));
	if (b[13] & 0x10)
		say(d, ", ack %u", get32(b + 8));
	say(d, ", win %u, length %u", get16(b + 14), d->payload > header ? d->payload - header : 0);
	if (header < TCP_HLEN)
		d->broken = "tcp";
	else if (have(d, header, "tcp"))
		d->at += header;
}

static void icmp(struct decode *d)
{
	const char *title = protocol_find(d->h.proto)->title;
	const uint8_t *b = here(d);
	const struct icmp_kind *kind;

	say_addresses(d, false);
	say(d, " %s", title);
	if (!have(d, ICMP_LEN, "icmp"))
		return;
	kind = icmp_kind_find(d->h.proto, b[0]);
	if (kind && kind->numbered)
		say(d, " %s, id %u, seq %u", kind->title, get16(b + 4), get16(b + 6));
	else if (kind)
		say(d, " %s, code %u", kind->title, b[1]);
	else
		say(d, " type %u, code %u", b[0], b[1]);
	say(d, ", length %u", d->payload);
	d->at += ICMP_LEN;
}

static void other(struct decode *d)
{
	bool ports = d->h.proto == IPPROTO_SCTP && !d->h.fragment && have(d, SCTP_LEN, "sctp");
	const struct protocol *known = protocol_find(d->h.proto);

	say_addresses(d, ports);
	if (known)
		say(d, " %s", known->title);
	else
		say(d, " protocol %u", d->h.proto);
	if (!d->h.fragment)
		say(d, ", length %u", d->payload);
	if (ports)
		d->at += SCTP_LEN;
}

static void transport(struct decode *d)
{
	if (d->h.fragment)
		other(d);
	else if (d->h.proto == IPPROTO_UDP)
		udp(d);
	else if (d->h.proto == IPPROTO_TCP)
		tcp(d);
	else if (d->h.proto == IPPROTO_ICMP || d->h.proto == IPPROTO_ICMPV6)
		icmp(d);
	else
		other(d);
	if (d->h.fragment || d->h.more)
		say(d, ", fragment %u@%u%s", d->payload, d->h.fragment, d->h.more ? "+" : "");
}

static void arp(struct decode *d)
{
	char sender[INET_ADDRSTRLEN], target[INET_ADDRSTRLEN];
	const uint8_t *b;

	if (!have(d, ARP_LEN, "arp")) {
		say(d, "ARP");
		return;
	}
	b = here(d);
	d->at += ARP_LEN;
	if (get16(b + 2) != ETH_P_IP || b[4] != ETH_ALEN || b[5] != 4) {
		say(d, "ARP, hardware type %u, protocol 0x%04x", get16(b), get16(b + 2));
		return;
	}
	inet_ntop(AF_INET, b + 14, sender, sizeof(sender));
	inet_ntop(AF_INET, b + 24, target, sizeof(target));
	if (get16(b + 6) == 1)
		say(d, "ARP, request who-has %s tell %s", target, sender);
	else if (get16(b + 6) == 2)
		say(d, "ARP, reply %s is-at %02x:%02x:%02x:%02x:%02x:%02x", sender, b[8], b[9],
		    b[10], b[11], b[12], b[13]);
	else
		say(d, "ARP, operation %u", get16(b + 6));
}

static void network(struct decode *d)
{
	if (d->family && !d->broken)
		transport(d);
	else if (d->family)
		say_addresses(d, false);
	else if (is_ip(d->h.type))
		say(d, "%s", d->h.type == ETH_P_IP ? "IP" : "IP6");
	else if (d->h.type == ETH_P_ARP)
		arp(d);
	else if (d->h.type && d->h.type < ETH_P_802_3_MIN)
		say(d, "802.3, length %u", d->p->wire_len);
	else
		say(d, "ethertype 0x%04x, length %u", d->h.type, d->p->wire_len);
}

static uint32_t decode(const struct packet_view *p, char *buf, size_t size)
{
	struct decode d = {.p = p, .out = buf, .room = size};

	lower_layers(&d);
	if (d.broken && !is_ip(d.h.type))
		say(&d, "Ethernet, length %u", p->wire_len);
	else
		network(&d);
	if (d.broken)
		say(&d, " [|%s]", d.broken);
	return d.broken && p->len < d.at ? p->len : d.at;
}

char *packet_text(const struct packet_view *p, char *buf, size_t size)
{
	if (size)
		*buf = '\0';
	decode(p, buf, size);
	return buf;
}

uint32_t packet_headers(const struct packet_view *p)
{
	char text[PACKET_TEXT];

	return decode(p, text, sizeof(text));
}
