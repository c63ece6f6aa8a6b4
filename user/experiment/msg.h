/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What two hosts say to each other. The client asks, the server answers each request; each message
 * is an object with a "type".
 *
 *	server: hello     {protocol, version, host, challenge, token}
 *	        busy      {}    another experiment is running: hello or welcome come later
 *	client: login     {protocol, version, host, challenge, proof}
 *	server: welcome   {proof, port, max_pps}
 *
 *	client: plan  ->  ready {mode, place, .., env}
 *	        start ->  status
 *	        status -> status {running, idle, delivered, dropped, in_queues, next}
 *	        stop  ->  status
 *	        fold {upto} -> cause {..} *, fates {slot, first, runs} *, folded
 *	        end   ->  counter {..} *, flow {..} *, end {..}
 *	        time  ->  time {tai_ns}
 *
 * or, instead of any answer, error {message, hint, status}. What the sums are of is decided by the
 * numbers of the plan, which the client draws. The tables of their members: base/record.h.
 */
#ifndef PKTLEDGER_EXPERIMENT_MSG_H
#define PKTLEDGER_EXPERIMENT_MSG_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/record.h"
#include "ledger/join.h"
#include "ledger/ledger.h"
#include "traffic/shape.h"
#include "experiment/auth.h"
#include "experiment/site.h"

/*
 * Fates as text, for a line between two hosts: runs that follow each other without a gap,
 *
 *	d0x70212,c3x2,d0x9,o1x1
 *
 * A letter (d delivered, c dropped, r refused, g left out, o open), its detail as fates_visitor
 * tells it, and how many numbers. Pure.
 */
#define RUNS_TEXT 49152 /* bytes of one text, its NUL included */

struct runs {
	char text[RUNS_TEXT];
	size_t used;
	uint16_t slot;
	uint64_t first, next; /* numbers from 0: of the text, and behind it */
};

/* -ENOSPC: there is no room, or the run does not follow: begin another text with runs_begin(). */
int runs_put(struct runs *r, const struct join_run *run);

/* Empties the text; the next run may be any. */
void runs_begin(struct runs *r);

/*
 * The next run of a text, which begins with the number run->last + 1. *at moves behind it. 1; 0 at
 * the end; -EBADMSG.
 */
int runs_next(const char **at, struct join_run *run);

#define PEER_PROTOCOL 2
#define PEER_NICE_0   20 /* no nice value asked for */

struct peer_hello {
	uint32_t protocol;
	char version[32], host[65];
	char challenge[AUTH_HEX];
	bool token; /* one is needed */
};

struct peer_login {
	uint32_t protocol;
	char version[32], host[65];
	char challenge[AUTH_HEX], proof[AUTH_HEX];
};

struct peer_welcome {
	char proof[AUTH_HEX];
	uint16_t port;	/* UDP, at which the server receives */
	double max_pps; /* that the server sends at most; 0: no limit */
};

struct peer_plan {
	bool reverse;	/* the server sends */
	char engine[8]; /* that the server is to use: "socket", "xsk", "xdp" */
	bool ipv6;
	uint16_t port; /* UDP, at which the client receives */
	struct fates_numbers numbers;
	uint64_t count, duration_ns, settle_ns;
	double rate_pps;  /* 0: unthrottled */
	uint32_t payload; /* bytes; 0: they differ */
	uint32_t flows;
	uint64_t sndbuf, rcvbuf;
	bool no_wait, gso, unconnected, gro, pass, per_flow, fragments;
	uint32_t busy_poll_us, rx_threads;
	/* of the server's threads */
	bool cpu_set;
	uint32_t cpu, rt;
	uint32_t nice; /* + PEER_NICE_0 */
	uint64_t work_ns, pause_ns, read_ns;
	/* of what the server sends */
	bool shaped;
	struct shape shape; /* sizes are its own */
	uint32_t vlan, tos, ttl;
};

struct peer_ready {
	char mode[32];
	char place[32]; /* of its checkpoint */
	/* a receiver: as struct finding_facts has it */
	uint64_t rcvbuf, rmem_max, udp_mem[3];
	uint32_t netdev_max_backlog;
};

struct peer_fold {
	uint64_t upto[TRACE_STREAMS]; /* numbers from 0 */
};

struct peer_fates {
	uint16_t slot;
	uint64_t first;
	char runs[RUNS_TEXT];
};

struct peer_time {
	uint64_t tai_ns;
};

extern const struct record_field msg_hello[], msg_login[], msg_welcome[], msg_plan[], msg_ready[],
	msg_status[], msg_fold[], msg_fates[], msg_time[], msg_error[];

/* Of struct result: what an end knows of itself when it is over. */
extern const struct record_field msg_end[];

/* Of struct arrivals_flow. */
extern const struct record_field msg_flow[];

/* Of struct ledger_cause: its names, raw.count and raw.index. */
extern const struct record_field msg_cause[];

/* Of struct result_counter, but no note. */
extern const struct record_field msg_counter[];

/*
 * A new message with the members that `rows` tell of `from`; rows NULL: none. It is read by
 * record_read(); what is out of its bounds, or missing, makes the whole message a bad one.
 */
struct json_object *msg_make(const char *type, const struct record_field *rows, const void *from);

/* The type of a message; "" if it has none. */
const char *msg_type(struct json_object *msg);

/* Of a cause with a number, of a counter with a scope; the rest of them is zero. -EBADMSG. */
int msg_take_cause(struct json_object *msg, struct ledger_cause *c);
int msg_take_counter(struct json_object *msg, struct result_counter *c);

/* A plan that makes sense: numbers that can be, a direction, a shape. */
bool msg_plan_valid(const struct peer_plan *plan);

#endif
