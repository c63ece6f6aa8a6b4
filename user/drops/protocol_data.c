// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/protocol.h"

#include <netinet/in.h>
#include <stddef.h>

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
