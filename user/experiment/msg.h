/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages between two hosts. The client asks, the server answers each request; each is an
 * object with a "type". conn.h has the connection, via.h programs that carry it.
 *
 *	server: hello     {protocol, version, host}
 *	        busy      {}    another experiment is running: what is due comes later
 *	client: login     {protocol, version, host}
 *	server: welcome   {port, max_pps}
 *
 *	client: probe -> seen {address}
 *	        plan  ->  ready {mode, place, .., env}
 *	        start ->  status
 *	        status -> status {running, idle, caught_up, delivered, dropped, in_queues, next}
 *	        mark {upto} -> status
 *	        stop  ->  status
 *	        fold {upto} -> cause {..} *, fates {slot, first, runs} *, folded
 *	        end   ->  counter {..} *, flow {..} *, end {..}
 *	        time  ->  time {tai_ns}
 *
 * or, instead of any answer, error {message, hint, status}. Where the control connection is no TCP,
 * it shows no address: struct peer_probe. What the sums are of is decided by the
 * numbers of the plan, which the client draws. The tables of their members: base/record.h.
 */
#ifndef PKTLEDGER_EXPERIMENT_MSG_H
#define PKTLEDGER_EXPERIMENT_MSG_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "experiment/conn.h"
#include "experiment/site.h"
#include "ledger/join.h"

/*
 * Fates as text, for a line between two hosts: runs that follow each other without a gap,
 *
 *	d0x70212,c3x2,d0x9,o1x1
 *
 * A letter (d delivered, c dropped, r refused, g left out, o open), its detail as in
 * struct range, and how many numbers. Pure.
 */
#define RUNS_TEXT 49152 /* bytes of one text, its NUL included */

struct runs {
	uint16_t slot;
	uint64_t first, next; /* numbers from 0: of the text, and behind it */
	char text[RUNS_TEXT];
	size_t used;
};

/* -ENOSPC: there is no room, or the run does not follow: begin another text with runs_begin(). */
int runs_put(struct runs *r, const struct range *run);

/* Empties the text; the next run may be any. */
void runs_begin(struct runs *r);

/*
 * The next run of a text, from the number run->last + 1. *at moves behind it. 1; 0: end; -EBADMSG.
 */
int runs_next(const char **at, struct range *run);

#define PEER_PROTOCOL 4
#define PEER_NICE_0   20 /* no nice value asked for */

#define PEER_BUFFER_MAX (INT32_MAX / 2) /* bytes asked for: the kernel doubles them */

struct peer_hello { /* and login */
	uint32_t protocol;
	char version[32], host[65];
};

struct peer_welcome {
	uint16_t port;	/* UDP, at which the server receives */
	double max_pps; /* that the server sends at most; 0: no limit */
};

/*
 * Datagrams without a number, sent to the port of the data as data would be: the server reports the
 * address from which they come, and answers there as it would send, by a socket of its own.
 */
struct peer_probe {
	uint16_t port; /* UDP, of the server */
	bool ipv6;
	uint64_t mark; /* that a probe carries */
};

struct peer_seen {
	char address[FMT_MAX]; /* and port, of the client; "" no probe has come */
};

/* A UDP socket that never blocks, at a port, or any (0). -errno. */
int probe_open(bool ipv6, unsigned port);

void probe_send(int fd, const struct endpoint *to, uint64_t mark);

/* Whether one with the mark comes, and from where; other datagrams are passed over. */
bool probe_take(int fd, uint64_t mark, int timeout_ms, struct endpoint *from);

struct peer_plan {
	char engine[8]; /* that the server is to use: "socket", "xsk", "xdp" */
	struct fates_numbers numbers;
	struct worker_wish wish; /* of the server's threads */
	uint32_t nice;		 /* + PEER_NICE_0 */
	struct run_spec spec;	 /* the rest, as far as a site there needs it; a payload of 0: they
				    differ */
};

struct peer_ready {
	char mode[32];
	char place[32];		       /* of its checkpoint */
	struct finding_facts settings; /* of a receiver: its buffers */
};

/* Numbers below these are to be folded, or had been sent at the mark: site_mark(). */
struct peer_upto {
	uint64_t upto[TRACE_STREAMS]; /* from 0 */
};

struct peer_time {
	uint64_t tai_ns;
};

extern const struct record_field msg_hello[], msg_welcome[], msg_probe[], msg_seen[], msg_plan[],
	msg_ready[], msg_status[], msg_upto[], msg_time[], msg_error[];

/* Of struct result: what an end knows of itself when it is over. */
extern const struct record_field msg_end[];

/* Of struct runs. */
extern const struct record_field msg_fates[];

/* Of struct ledger_cause: its names, raw.count and raw.index. */
extern const struct record_field msg_cause[];

/* Of struct result_counter, but no note. */
extern const struct record_field msg_counter[];

/*
 * A new message with the members that `rows` list of `from`; rows NULL: none. It is read by
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
