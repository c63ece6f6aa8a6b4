/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages between two hosts. The client sends requests, the server answers each. Each message
 * is an object with a "type". conn.h has the connection, via.h the programs that carry it.
 *
 *	server: hello     {protocol, version, host}
 *	        busy      {}    another experiment is running: the answer follows later
 *	client: login     {protocol, version, host}
 *	server: welcome   {port, max_pps}
 *
 *	client: probe -> seen {address}
 *	        plan  ->  ready {mode, place, .., env}
 *	        start ->  status
 *	        status -> status {running, idle, caught_up, delivered, dropped, in_queues, next}
 *	        mark {upto} -> status
 *	        stop  ->  status
 *	        fold {upto} -> cause {..} *, outcomes {slot, first, runs} *, folded
 *	        end   ->  end {..}
 *	        time  ->  time {tai_ns}
 *
 * or, instead of any answer, error {message, hint, status}. A control connection other than TCP
 * does not show addresses: see struct peer_probe. Sums cover the numbers of the plan, which the
 * client chooses. base/record.h describes the tables of members.
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
 * Outcomes of consecutive numbers of a stream as text, for one line between two hosts: a
 * hexadecimal word for each run of the same outcome, which is the count of numbers, 8 bits of
 * detail as in struct range, and 8 bits of enum outcome.
 */
#define RUNS_TEXT 49152 /* bytes of a text, including its NUL */
#define RUN_TEXT  18	/* bytes of a word at most, with the blank before it and the NUL */

struct runs {
	uint16_t slot;
	uint64_t first, next; /* numbers from 0: first in the text, and first after it */
	char text[RUNS_TEXT];
	size_t used;
};

/* Appends a run. -ENOSPC if there is no room or the run does not follow: set `used` to 0 first. */
int runs_put(struct runs *r, const struct range *run);

/*
 * Reads the next run of a text, from number run->last + 1, and advances *at. Returns false if no
 * word follows. The run may be impossible: join_check().
 */
bool runs_next(const char **at, struct range *run);

#define PEER_PROTOCOL 6
#define PEER_NICE_0   20 /* nice value not requested */

#define PEER_BUFFER_MAX (INT32_MAX / 2) /* bytes requested: the kernel doubles them */

struct peer_hello { /* also the login */
	uint32_t protocol;
	char version[32], host[65];
};

struct peer_welcome {
	uint16_t port;	/* UDP, of the receiving server */
	double max_pps; /* maximum sending rate of the server, 0: unlimited */
};

/*
 * Datagrams without a number, sent to the data port like packets: the server reports their source
 * address, and replies along the same path as its packets, from a separate socket.
 */
struct peer_probe {
	uint16_t port; /* UDP, of the server */
	bool ipv6;
	uint64_t mark; /* expected in a probe */
};

struct peer_seen {
	char address[FMT_MAX]; /* address and port of the client, "" before the first probe */
};

/* probe_open() opens a non-blocking UDP socket, at `port` or any port (0). Returns it or -errno. */
int probe_open(bool ipv6, unsigned port);

void probe_send(int fd, const struct endpoint *to, uint64_t mark);

/* Waits for a probe with the mark and returns its source. Skips other datagrams. */
bool probe_take(int fd, uint64_t mark, int timeout_ms, struct endpoint *from);

struct peer_plan {
	char engine[8]; /* for the server: "socket", "xsk", "xdp" */
	struct outcomes_numbers numbers;
	struct worker_wish wish; /* for the server's threads */
	uint32_t nice;		 /* + PEER_NICE_0 */
	struct run_spec spec;	 /* other fields that the site needs, payload 0: lengths differ */
};

struct peer_ready {
	char mode[32];
	char place[32];		       /* location of its probe */
	struct finding_facts settings; /* receiver only: its buffers */
};

/* Numbers below these are to be folded, or were sent before the mark: site_mark(). */
struct peer_upto {
	uint64_t upto[TRACE_STREAMS]; /* from 0 */
};

struct peer_time {
	uint64_t tai_ns;
};

extern const struct record_field msg_hello[], msg_welcome[], msg_probe[], msg_seen[], msg_plan[],
	msg_ready[], msg_status[], msg_upto[], msg_time[], msg_error[];

/* Members of struct result: an end's own results at the end. */
extern const struct record_field msg_end[];

/* Members of struct runs. */
extern const struct record_field msg_outcomes[];

/* Members of struct ledger_cause: its names, raw.count and raw.index. */
extern const struct record_field msg_cause[];

/*
 * Creates a message with the members of `from` listed in `rows` (NULL: no members). record_read()
 * reads it: a member that is missing or out of range invalidates the whole message.
 */
struct json_object *msg_make(const char *type, const struct record_field *rows, const void *from);

/* Returns the type of a message, or "". */
const char *msg_type(struct json_object *msg);

/* Reads a cause with its number. Other fields become zero. -EBADMSG. */
int msg_take_cause(struct json_object *msg, struct ledger_cause *c);

/* Returns whether a plan is consistent: possible numbers, a direction, a shape. */
bool msg_plan_valid(const struct peer_plan *plan);

#endif
