/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options of struct tuning: how sockets, threads and the reader work. Rows count from its start. */
#ifndef PKTLEDGER_CLI_OPTIONS_SOCKET_H
#define PKTLEDGER_CLI_OPTIONS_SOCKET_H

#include <linux/capability.h>

#include "base/opt.h"
#include "traffic/rx.h"
#include "traffic/tx.h"
#include "traffic/worker.h"

extern const struct opt socket_send_opts[], socket_recv_opts[], both_opts[], group_opts[];

/*
 * STATUS_USAGE if an option needs another engine, or --gso a smaller payload. `tx`, `rx`: NULL if
 * there is no such end; mtu 0: not known.
 */
int tuning_check(const struct tuning *t, const struct tx_ops *tx, const struct rx_ops *rx,
		 bool ipv6, unsigned payload, unsigned mtu, struct error *err);

/* Rows of what they need, and of what AF_XDP needs with those options that choose it. */
#define PRIORITY_NEED                                                                              \
	{                                                                                          \
		OPT_CAP(SYS_NICE), "for the priority of threads",                                  \
			.when = "--rt, --nice",                                                    \
			.without = "RLIMIT_RTPRIO and RLIMIT_NICE are the limits"                  \
	}
#define XSK_MEMORY_NEED(options)                                                                   \
	{                                                                                          \
		OPT_CAP(IPC_LOCK), "for the memory of AF_XDP",                                     \
			.when = options,                                                           \
			.without = "its limit is RLIMIT_MEMLOCK, which is mostly too small"        \
	}

/* Whether only --tx socket can do what is asked. */
bool tuning_needs_socket(const struct tuning *t);

#endif
