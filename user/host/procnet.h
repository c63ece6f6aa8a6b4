/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsers of the files below /proc/net. Pure: text in, counters out. Unknown columns are taken
 * as they come, lines out of shape are skipped, and a number at the very end of a text that does
 * not end in a newline is not believed, since its last digits may be missing.
 * All return 0 or -ENOMEM. `len` is without a terminating NUL; none is needed.
 */
#ifndef PKTLEDGER_HOST_PROCNET_H
#define PKTLEDGER_HOST_PROCNET_H

#include <stddef.h>
#include <stdint.h>

#include "host/counters.h"

/* snmp and netstat: a line of names and a line of values, both beginning with "Group:". */
int procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * snmp6 and xfrm_stat: "Name value" per line. Counters per ICMP type are left out, here and in
 * IcmpMsg above: the kernel prints them only once they are not zero.
 */
int procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * softnet_stat: a line per online CPU, hexadecimal (softnet_seq_show()). Columns: 1 processed,
 * 2 dropped, 3 time_squeeze, 11 flow_limit, 12 length of the backlog now (a level), 13 CPU.
 * Kernels without column 13 leave only the line: then the name has "row" instead of "cpu",
 * because offline CPUs have no line.
 */
int procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len);

/*
 * stat/arp_cache and stat/ndisc_cache (neigh_stat_seq_show()): a line of names, then hexadecimal
 * values per CPU. Adds "<table>:unresolved_discards", ":res_failed", ":table_fulls" over all CPUs.
 */
int procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
		       size_t len);

/* The sockets of udp or udp6 that match: on a port (host order), with an inode; 0: any. */
struct procnet_udp {
	uint16_t port;
	uint64_t inode;

	unsigned sockets;	 /* how many matched */
	uint64_t drops;		 /* their drops, 32 bits each in the kernel */
	uint64_t rx_queue_bytes; /* truesize waiting in their queues, not payload */
};
void procnet_udp(struct procnet_udp *udp, const char *text, size_t len);

#endif
