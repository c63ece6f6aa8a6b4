/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How both ends work, as far as it is no property of the traffic. All 0: as by default. */
#ifndef PKTLEDGER_TRAFFIC_TUNING_H
#define PKTLEDGER_TRAFFIC_TUNING_H

#include "traffic/socket.h"
#include "traffic/reader.h"
#include "traffic/worker.h"

struct tuning {
	struct socket_send send;
	struct socket_receive receive;
	unsigned rx_threads; /* sockets and threads that share the port; 0: 1 */
	bool per_flow;	     /* what the receiver reports is told apart by 5-tuple */
	struct worker_wish tx, rx;
	int nice;    /* of all threads, -20 .. 19; 0: as we are */
	unsigned rt; /* their SCHED_FIFO priority, 1 .. 99; 0: off */
	struct reader reader;
};

#endif
