/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire between two hosts: the connection (conn.c), a program that carries it (via.c), who may
 * use it (tls.c), and what is said (msg.c). The client asks, the server answers each request; each
 * is an object with a "type".
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
#ifndef PKTLEDGER_EXPERIMENT_WIRE_H
#define PKTLEDGER_EXPERIMENT_WIRE_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "base/record.h"
#include "experiment/site.h"
#include "ledger/join.h"
#include "monitor/session.h"

/*
 * The control connection: TCP, or a pair of pipes; a JSON object a line. A line has a bounded
 * length, and whoever waits for one does so for a bounded time.
 */

#define CONN_LINE 65536 /* bytes of a line, its LF included */

struct conn {
	int in, out;	   /* -1: none */
	struct tls *tls;   /* NULL: in the clear */
	bool shaken;	   /* its handshake is done */
	size_t have, line; /* bytes read; of them those of the line given last */
	char bytes[CONN_LINE];
};

/*
 * Takes the descriptor of a connected socket, twice, or those of two pipes, which may be blocking.
 */
void conn_init(struct conn *c, int in, int out);

/*
 * Over TCP: the connection is lost when the kernel of the other host has confirmed nothing for so
 * long. A program there that is slow or stopped does not count: its kernel still confirms.
 */
void conn_patience(struct conn *c, unsigned ms);
void conn_close(struct conn *c);

struct token;

/*
 * What follows is encrypted, after the handshake: 0; -ENOSYS: this build has no TLS.
 * conn_handshake() returns as handshake() above does, but for -EAGAIN -ETIMEDOUT.
 */
int conn_secure(struct conn *c, const struct token *token, bool is_server);
int conn_handshake(struct conn *c, int timeout_ms);

/* Connects within `timeout_ms`. Returns a descriptor or -errno (-ETIMEDOUT: nobody answers). */
int conn_connect(const struct endpoint *to, int timeout_ms);

/* Listens at an address; [::] is all, of IPv4 too. Returns a descriptor or -errno. */
int conn_listen(const struct endpoint *at);

/* Of a sockaddr_in or _in6 (`addr`), which may be an IPv4 address as IPv6 has it. */
void conn_endpoint(const void *addr, struct endpoint *ep);

/* The address of a side, IPv4 also where it came as an IPv6 address. 0 or -errno. */
int conn_name(int fd, bool peer, struct endpoint *ep);

/*
 * Writes `msg`, which is taken, as a line; NULL: an empty one. 0; -EMSGSIZE: it is longer than a
 * line may be; -ETIMEDOUT, or what the connection died of (-EPIPE, -ECONNRESET).
 */
int conn_send(struct conn *c, struct json_object *msg, int timeout_ms);

/*
 * Waits for a line. *msg: an object, the caller's. 0; -ETIMEDOUT: none has come; -EPIPE: the other
 * side has closed; -EBADMSG: the line is no JSON object of moderate depth, and is the first
 * c->line of c->bytes until the next call; or it is too long, and c->line is 0.
 */
int conn_receive(struct conn *c, struct json_object **msg, int timeout_ms);

/*
 * Another way than TCP: a program whose stdin and stdout are those of `pktledger recv --stdio` on
 * the other host, and whose user is let in there. It is run without a shell. At the terminal it may
 * ask for a password, and its stderr is ours.
 */

#define VIA_TEXT  2048
#define VIA_WORDS 64

struct via_config {
	const char *command; /* words, divided by blanks; NULL: ssh, to: */
	const char *login;   /* text that begins with USER@; NULL: there is no such way at all */
	struct endpoint to;  /* port 0: ssh's own */
	const char *remote;  /* words that start pktledger there; NULL: it is in the PATH */
};

struct via {
	struct child child;
	char *argv[VIA_WORDS + 1];
	unsigned words;
	bool asks; /* there is a terminal at which it may ask for a password */
	char text[VIA_TEXT]; /* of all of them */
	size_t used;
};

/* Starts it, and makes `c` of its stdin and stdout. 0, or -errno: then conn_close(), via_close().
 */
int via_open(struct via *v, const struct via_config *cfg, struct conn *c, struct error *err);

/* When `c` is closed: waits for its end, or brings it about. Its status as of enum child_status. */
int via_close(struct via *v);

/*
 * Who may use a server: whoever knows the token, a pre-shared key of TLS 1.3. Nothing before the
 * handshake's end is taken for what it says, and nothing that follows can be read, changed or sent
 * again by others.
 */

#define TOKEN_MIN 32
#define TOKEN_MAX 256

struct token {
	uint8_t bytes[TOKEN_MAX];
	size_t len; /* 0: none, everybody may, and nothing is encrypted */
};

/*
 * The first line of a file that only its owner may read, 32 to 256 bytes; else STATUS_USAGE. Short
 * ones are refused: whoever has seen a handshake can try them at home.
 */
int token_read(struct token *token, const char *path, struct error *err);

/* Whether what was said is the token. It takes as long whatever byte of it is wrong. */
bool token_is(const struct token *token, const char *said);

/* Makes such a file with 32 random bytes, in hex; one that is there is left as it is: -EINVAL. */
int token_new(const char *path, struct error *err);

struct tls;

/* On a descriptor that does not block. */
struct tls_ops {
	/* 0 or -ENOMEM. */
	int (*open)(struct tls **t, int fd, const struct token *token, bool is_server);
	void (*close)(struct tls *t);
	/*
	 * 0: done; -EAGAIN: when poll() reports *events; -EACCES: they have not the same token;
	 * -EPROTO: the other side speaks no TLS; -EPIPE: it is gone.
	 */
	int (*handshake)(struct tls *t, short *events);
	/* As those of POSIX are; what is written again after EAGAIN has to be the same. */
	ssize_t (*read)(struct tls *t, void *to, size_t n);
	ssize_t (*write)(struct tls *t, const void *from, size_t n);
	bool (*holds_more)(struct tls *t); /* that poll() does not know of */
};

extern const struct tls_ops *const tls; /* NULL: built without */

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
