/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the devices of a lab are set up, beyond how lab_open() leaves them. */
#ifndef PKTLEDGER_EXPERIMENT_LAB_TUNE_H
#define PKTLEDGER_EXPERIMENT_LAB_TUNE_H

#include "host/lab.h"

/* What the user asked for; all 0: nothing. */
struct lab_wish {
	unsigned mtu;	    /* 0: 1500 */
	unsigned queues;    /* of each device; 0: as many as the engines need */
	bool gro;	    /* of the receiving device */
	bool threaded_napi; /* of the receiving device: a kernel thread instead of softirq */
	bool rps_set;
	unsigned rps_cpu; /* to which the receiving device hands its packets */
};

/* Whether packets are received elsewhere than in the context of their sender. */
static inline bool lab_wish_moves(const struct lab_wish *wish)
{
	return wish->gro || wish->threaded_napi || wish->rps_set;
}

/* STATUS_UNABLE if the kernel refuses. Nothing is put back: it dies with the lab. */
int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err);

/*
 * Moves the NAPI of `to` into a kernel thread; `from` is the device that sends to it. GRO gives a
 * veth its NAPI, but packets go there only if the sending side does no TSO
 * (veth_skb_is_eligible_for_gro()). UDP is not merged by it unless a socket asks.
 */
int lab_thread_napi(const struct lab_port *from, const struct lab_port *to, struct error *err);

/*
 * A port of a router, which has NAPI already, merges UDP that is forwarded, and waits so long for
 * more of it.
 */
int lab_merge_udp(const struct lab_port *port, uint64_t ns, struct error *err);

/* All queues of the port to one CPU (RPS). */
int lab_steer(const struct lab_port *port, unsigned cpu, struct error *err);

/*
 * A mask with one CPU as bitmap_parse() reads it: words of 32 bits in hex, by comma. `size` of
 * LAB_MASK_LEN holds any.
 */
#define LAB_MASK_LEN 1024
char *lab_cpu_mask(char *buf, size_t size, unsigned cpu);

/* 0, or for -errno STATUS_UNABLE: "cannot WHAT of PORT: ..."; port NULL: in the lab. */
int lab_failed(int ret, const char *what, const struct lab_port *port, struct error *err);

#endif
