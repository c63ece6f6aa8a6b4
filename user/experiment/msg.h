/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages between two hosts. The client sends requests, and the server answers each of them. Every
 * message is an object with a "type". conn.h describes the connection, and via.h the programs that
 * carry it.
 *
 *	server: hello     {protocol, version, host}
 *	        busy      {}    another experiment is running, the answer follows later
 *	client: login     {protocol, version, host}
 *	server: welcome   {port, max_pps}
 *
 *	client: probe -> seen {address}
 *	        plan  ->  ready {mode, place, .., env}
 *	        start ->  status
 *	        status -> status {running, idle, caught_up, delivered, dropped, in_queues, next}
 *	        mark {upto} -> status
 *	        stop  ->  status
 *	        fold {upto} -> cause {..} *, outcomes {slot, first, kinds, runs} *, folded
 *	        end   ->  end {..}
 *	        time  ->  time {tai_ns}
 *
 * Any answer may be error {message, hint, status} instead. Only a TCP control connection shows
 * addresses. Without TCP, see struct peer_probe. Sums cover the numbers of the plan, which the
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
 * Outcomes of consecutive numbers in a stream, as text that fits on a single line between two
 * hosts. Each run of the same outcome is the count of numbers, in hexadecimal, followed by a letter
 * from g for the kind of outcome, so that two runs of a random loss take about five bytes.
 */
#define RUNS_TEXT  49152 /* bytes in a text, including its NUL */
#define RUN_TEXT   18	 /* maximum bytes of a run, with the NUL */
#define RUNS_KINDS 20	 /* letters from g to z */

struct runs {
	uint16_t slot;
	uint64_t first, next; /* numbers from 0, the first in the text, and the first after the
			       * text */
	uint16_t kind[RUNS_KINDS]; /* 8 bits of detail as in struct range, 8 of enum outcome */
	unsigned kinds;
	char text[RUNS_TEXT];
	size_t used;
};

/*
 * Appends a run. Set `used` to 0 before the first run. Returns -ENOSPC if there is no room or the
 * run does not continue the text.
 */
int runs_put(struct runs *r, const struct range *run);

/*
 * Reads the next run, which starts at number run->last + 1, and advances *at, which starts as
 * r->text. Returns false if no run follows. The run may be impossible, see join_check().
 */
bool runs_next(const struct runs *r, const char **at, struct range *run);

#define PEER_PROTOCOL 7

#define PEER_BUFFER_MAX (INT32_MAX / 2) /* bytes requested, which the kernel doubles */

struct peer_hello { /* also the login */
	uint32_t protocol;
	char version[32], host[65];
};

struct peer_welcome {
	uint16_t port;	/* UDP port of the receiving server */
	double max_pps; /* maximum rate at which the server sends, 0: unlimited */
};

/*
 * A probe is a datagram without a number, sent to the data port as packets are. The server reports
 * the probe's source address and replies from a separate socket, along the path that its own
 * packets take.
 */
struct peer_probe {
	uint16_t port; /* UDP port of the server */
	bool ipv6;
	uint64_t mark; /* mark that a probe must have */
};

struct peer_seen {
	char address[FMT_MAX]; /* the client's address and port, "" before the first probe */
};

/* Opens a non-blocking UDP socket at `port`, or at any port if 0. Returns the socket or -errno. */
int probe_open(bool ipv6, unsigned port);

void probe_send(int fd, const struct endpoint *to, uint64_t mark);

/* Waits for a probe with this mark and returns its source. Skips other datagrams. */
bool probe_take(int fd, uint64_t mark, int timeout_ms, struct endpoint *from);

struct peer_plan {
	char engine[8]; /* for the server: "socket", "xsk", "xdp" */
	struct outcomes_numbers numbers;
	struct worker_wish wish; /* for the server's threads */
	struct run_spec spec;	 /* other fields that the site needs, payload 0 if lengths differ */
};

struct peer_ready {
	char mode[32];
	char place[32];		       /* location of the site's probe */
	struct finding_facts settings; /* receiver only: its buffers */
};

/* Numbers to fold, or numbers sent before the mark (site_mark()), are below these. */
struct peer_upto {
	uint64_t upto[TRACE_STREAMS]; /* from 0 */
};

struct peer_time {
	uint64_t tai_ns;
};

extern const struct record_field msg_hello[], msg_welcome[], msg_probe[], msg_seen[], msg_plan[],
	msg_ready[], msg_status[], msg_upto[], msg_time[], msg_error[];

/* Members of struct result with the results that an end reports when it ends. */
extern const struct record_field msg_end[];

/* Members of struct runs. */
extern const struct record_field msg_outcomes[];

/* Members of struct ledger_cause: its names, raw.count and raw.index. */
extern const struct record_field msg_cause[];

/*
 * Creates a message with the members of `from` that `rows` lists (NULL: no members). record_read()
 * reads the message and treats it as invalid if any member is missing or out of range.
 */
struct json_object *msg_make(const char *type, const struct record_field *rows, const void *from);

/* Returns the type of a message, or "". */
const char *msg_type(struct json_object *msg);

/* Reads a cause with its number. Sets other fields to zero. Returns -EBADMSG if it is invalid. */
int msg_take_cause(struct json_object *msg, struct ledger_cause *c);

/*
 * Returns whether a plan is consistent: its numbers are possible, and it has a direction and a
 * shape.
 */
bool msg_plan_valid(const struct peer_plan *plan);

#endif
