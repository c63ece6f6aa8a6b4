/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of what IP carries, and of the kinds of ICMP. */
#ifndef PKTLEDGER_DROPS_PROTOCOL_H
#define PKTLEDGER_DROPS_PROTOCOL_H

#include <stdbool.h>
#include <stdint.h>

struct protocol {
	uint8_t number;		  /* IPPROTO_* */
	const char *name, *title; /* "udp", "UDP" */
};

struct icmp_kind {
	uint8_t protocol; /* IPPROTO_ICMP, IPPROTO_ICMPV6 */
	uint8_t type;
	bool numbered; /* it has id and seq */
	const char *title;
};

/* NULL: not in the table, as most numbers are not. */
const struct protocol *protocol_find(uint8_t number);
const struct icmp_kind *icmp_kind_find(uint8_t protocol, uint8_t type);

#endif
