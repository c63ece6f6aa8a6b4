// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/packet_text.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "stamp.h"
#include "drops/protocol.h"

#define IP_MIN	   20
#define IP6_LEN	   40
#define UDP_LEN	   8
#define TCP_MIN	   20
#define ICMP_LEN   8
#define SCTP_LEN   12
#define ARP_LEN	   28 /* of IPv4 over Ethernet */
#define VLANS_MAX  2
#define EXTENSIONS 8 /* IPv6 headers before the transport's */
#define IP_MORE	   0x2000
#define IP_OFFSET  0x1fff

/* What was found so far. */
struct decode {
	const struct packet_view *p;
	uint32_t at; /* where the next header begins, and the known ones end */
	uint16_t type;
	uint8_t proto;
	int family;	     /* 0: not IP */
	bool fragment, more; /* a later fragment; not the last one */
	uint32_t offset;     /* of a fragment, bytes */
	uint32_t payload;    /* bytes behind the network header, as it tells */
	const char *broken;  /* the header that is cut or wrong; NULL: none */
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];
	char *out;
	size_t room;
};

static void say(struct decode *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void say(struct decode *d, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(d->out, d->room, fmt, args);
	va_end(args);
	if (n < 0)
		return;
	if ((size_t)n >= d->room)
		n = d->room ? (int)d->room - 1 : 0;
	d->out += n;
	d->room -= (size_t)n;
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

static uint32_t left_on_wire(const struct decode *d)
{
	return d->p->wire_len > d->at ? d->p->wire_len - d->at : 0;
}

static void link_layer(struct decode *d)
{
	d->type = d->p->protocol;
	if (!d->p->ethernet)
		return;
	if (!have(d, ETH_HLEN, "ether"))
		return;
	d->type = get16(here(d) + 12);
	d->at += ETH_HLEN;
	for (int i = 0; i < VLANS_MAX && (d->type == ETH_P_8021Q || d->type == ETH_P_8021AD); i++) {
		if (!have(d, 4, "vlan"))
			return;
		say(d, "vlan %u, ", get16(here(d)) & 0xfff);
		d->type = get16(here(d) + 2);
		d->at += 4;
	}
}

static void ip4(struct decode *d)
{
	const uint8_t *b;
	uint32_t ihl, total;
	uint16_t place;

	if (!have(d, IP_MIN, "ip"))
		return;
	b = here(d);
	ihl = (b[0] & 0x0f) * 4u;
	total = get16(b + 2);
	if (b[0] >> 4 != 4 || ihl < IP_MIN) {
		d->broken = "ip";
		return;
	}
	if (!total) /* of a merged packet that is too long for the field */
		total = left_on_wire(d);
	d->family = AF_INET;
	d->proto = b[9];
	place = get16(b + 6);
	d->offset = (place & IP_OFFSET) * 8u;
	d->fragment = d->offset;
	d->more = place & IP_MORE;
	d->payload = total > ihl ? total - ihl : 0;
	inet_ntop(AF_INET, b + 12, d->src, sizeof(d->src));
	inet_ntop(AF_INET, b + 16, d->dst, sizeof(d->dst));
	if (have(d, ihl, "ip"))
		d->at += ihl;
}

/* Length of an IPv6 extension header, which is there to 8 bytes; 0: it is none. */
static uint32_t extension(struct decode *d)
{
	const uint8_t *b = here(d);

	switch (d->proto) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return (b[1] + 1u) * 8;
	case IPPROTO_AH:
		return (b[1] + 2u) * 4;
	case IPPROTO_FRAGMENT:
		d->offset = get16(b + 2) & ~7u;
		d->fragment = d->offset;
		d->more = b[3] & 1;
		return 8;
	}
	return 0;
}

static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
	       proto == IPPROTO_AH || proto == IPPROTO_FRAGMENT;
}

static void ip6(struct decode *d)
{
	const uint8_t *b;

	if (!have(d, IP6_LEN, "ip6"))
		return;
	b = here(d);
	if (b[0] >> 4 != 6) {
		d->broken = "ip6";
		return;
	}
	d->family = AF_INET6;
	d->proto = b[6];
	d->payload = get16(b + 4);
	inet_ntop(AF_INET6, b + 8, d->src, sizeof(d->src));
	inet_ntop(AF_INET6, b + 24, d->dst, sizeof(d->dst));
	d->at += IP6_LEN;
	if (!d->payload)
		d->payload = left_on_wire(d);
	for (int i = 0; i < EXTENSIONS && is_extension(d->proto) && !d->fragment; i++) {
		uint32_t len;

		if (!have(d, 8, "ip6 extension"))
			return;
		len = extension(d);
		if (!have(d, len, "ip6 extension"))
			return;
		d->proto = *here(d);
		d->at += len;
		d->payload = d->payload > len ? d->payload - len : 0;
	}
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

/* A stamp, and the send time behind it, if both are what they must be. */
static uint32_t stamp_len(const struct decode *d)
{
	const uint8_t *b = here(d);
	uint32_t left = d->p->len - d->at;

	if (left < STAMP_LEN || get16(b) != STAMP_MAGIC || get64(b + 2) != ~get64(b + 10))
		return 0;
	b += STAMP_TIME_OFF;
	return left >= STAMP_TIME_LEN && get64(b) == ~get64(b + 8) ? STAMP_TIME_LEN : STAMP_LEN;
}

static void udp(struct decode *d)
{
	uint16_t len;

	if (!have(d, UDP_LEN, "udp")) {
		say_addresses(d, have(d, 4, "udp"));
		say(d, " UDP");
		d->broken = "udp";
		return;
	}
	say_addresses(d, true);
	len = get16(here(d) + 4);
	if (len >= UDP_LEN)
		say(d, " UDP, length %u", len - UDP_LEN);
	else
		say(d, " UDP, bad length %u", len);
	d->at += UDP_LEN;
	d->at += stamp_len(d);
}

static void tcp(struct decode *d)
{
	static const char letters[] = "FSRP.UEW";
	const uint8_t *b;
	char flags[sizeof(letters)] = "";
	uint32_t header, n = 0;

	if (!have(d, TCP_MIN, "tcp")) {
		say_addresses(d, have(d, 4, "tcp"));
		say(d, " TCP");
		d->broken = "tcp";
		return;
	}
	b = here(d);
	say_addresses(d, true);
	for (int i = 0; letters[i]; i++) {
		if (b[13] >> i & 1)
			flags[n++] = letters[i];
	}
	header = (b[12] >> 4) * 4u;
	say(d, " Flags [%s], seq %u", n ? flags : "none", get32(b + 4));
	if (b[13] & 0x10)
		say(d, ", ack %u", get32(b + 8));
	say(d, ", win %u, length %u", get16(b + 14), d->payload > header ? d->payload - header : 0);
	if (header < TCP_MIN)
		d->broken = "tcp";
	else if (have(d, header, "tcp"))
		d->at += header;
}

static void icmp(struct decode *d)
{
	const char *title = protocol_find(d->proto)->title;
	const uint8_t *b = here(d);
	const struct icmp_kind *kind;

	say_addresses(d, false);
	say(d, " %s", title);
	if (!have(d, ICMP_LEN, "icmp"))
		return;
	kind = icmp_kind_find(d->proto, b[0]);
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
	bool ports = d->proto == IPPROTO_SCTP && !d->fragment && have(d, SCTP_LEN, "sctp");
	const struct protocol *known = protocol_find(d->proto);

	say_addresses(d, ports);
	if (known)
		say(d, " %s", known->title);
	else
		say(d, " protocol %u", d->proto);
	if (!d->fragment)
		say(d, ", length %u", d->payload);
	if (ports)
		d->at += SCTP_LEN;
}

static void transport(struct decode *d)
{
	if (d->fragment)
		other(d);
	else if (d->proto == IPPROTO_UDP)
		udp(d);
	else if (d->proto == IPPROTO_TCP)
		tcp(d);
	else if (d->proto == IPPROTO_ICMP || d->proto == IPPROTO_ICMPV6)
		icmp(d);
	else
		other(d);
	if (d->fragment || d->more)
		say(d, ", fragment %u@%u%s", d->payload, d->offset, d->more ? "+" : "");
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
	if (d->type == ETH_P_IP)
		ip4(d);
	else if (d->type == ETH_P_IPV6)
		ip6(d);
	if (d->family && !d->broken)
		transport(d);
	else if (d->family)
		say_addresses(d, false);
	else if (d->type == ETH_P_IP || d->type == ETH_P_IPV6)
		say(d, "%s", d->type == ETH_P_IP ? "IP" : "IP6");
	else if (d->type == ETH_P_ARP)
		arp(d);
	else if (d->type && d->type < ETH_P_802_3_MIN)
		say(d, "802.3, length %u", d->p->wire_len);
	else
		say(d, "ethertype 0x%04x, length %u", d->type, d->p->wire_len);
}

static uint32_t decode(const struct packet_view *p, char *buf, size_t size)
{
	struct decode d = {.p = p, .out = buf, .room = size};

	link_layer(&d);
	if (d.broken)
		say(&d, "Ethernet, length %u", p->wire_len);
	else
		network(&d);
	if (d.broken) {
		say(&d, " [|%s]", d.broken);
		return p->len < d.at ? p->len : d.at;
	}
	return d.at;
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
