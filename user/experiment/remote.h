/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other host in an experiment. There is a connection to its `recv --serve` and a proxy for its
 * site over the wire, with its configuration, its progress, and its outcomes, which are written
 * into the local site's outcomes.
 */
#ifndef PKTLEDGER_EXPERIMENT_REMOTE_H
#define PKTLEDGER_EXPERIMENT_REMOTE_H

#include <net/if.h>

#include "experiment/msg.h"
#include "experiment/via.h"

struct peer_target {
	struct endpoint to;    /* address of the data and control port */
	struct via_config via; /* `command` and `login` NULL: TCP */
	struct token token;    /* len 0: no token, plain TCP */
	bool shared_clock;     /* both hosts' clocks are synchronised, so one-way latency is
				* valid */
	void (*on_wait)(void); /* called when the server is busy and the client has to wait, or
				* NULL */
	/* Called with output that `via` prints before or instead of an answer, or NULL. */
	void (*on_noise)(char *text);
};

/* Returns whether the connection is not TCP, which would show both addresses. */
static inline bool peer_is_via(const struct peer_target *t)
{
	return t->via.command || t->via.login;
}

/* A connection to a server, for one or more experiments. Read-only for callers. */
struct peer {
	struct peer_target target;
	struct peer_hello hello;
	struct peer_welcome welcome;
	struct endpoint self;	 /* local address */
	struct endpoint seen;	 /* this host's address, as the server sees it with `via`, family
				  * 0: unknown */
	struct json_object *env; /* the server's environment, as read by env_read(), or NULL */
	bool lost;		 /* the connection is lost, so there will be no more answers */
	bool waits;		 /* on_wait() was called */
	struct conn conn;
	struct via via;
};

/*
 * Connects and logs in. Copies `target`, but not its texts. STATUS_FAILED if there is no answer
 * within a second, or if `via` exits. Waits without limit while the user enters a password.
 */
int peer_connect(struct peer **peer, const struct peer_target *target, struct error *err);
void peer_close(struct peer *p);

struct remote {
	struct peer *peer;
	struct site *local;
	bool sends;
	struct peer_ready ready;
	struct site_status status; /* last reported status */
	uint64_t told_ns;	   /* ns, when it was requested */
	struct join join;
	struct runs *runs;   /* while folding, the last message, */
	const char *runs_at; /* its next run, */
	struct range range;  /* and the run before */
	bool folded;	     /* all outcomes are reported, or the connection is lost */
	struct error *err;
	struct ledger_cause cause[TRACE_CAUSES]; /* by local index */
	struct {
		int64_t offset_ns;
		uint64_t error_ns;
	} clock;
	char host[65]; /* local host name */
};

/*
 * Plans the local end of an experiment with another host by filling `local`, with its strings in
 * `device`. If the control connection does not show addresses, both hosts first discover each
 * other's address with probes. Without a reply, --reverse is impossible and returns STATUS_FAILED.
 * Call it before the data port is used.
 */
int remote_plan_local(const struct run_spec *spec, const struct experiment_view *view,
		      char device[IF_NAMESIZE], struct run_spec *local, struct error *err);

/* Asks the other site to open once the local site is open. */
int remote_open(struct remote *r, struct site *local, struct error *err);

/* Describes how both ends work, and the two hosts. */
void remote_describe(const struct remote *r, struct result *res);

/* Describes the path when one end is known only by its address. */
void remote_ports(const struct remote *r, struct lab *lab);

/*
 * Sends "start", "stop", "status" or, with numbers (from 0), "mark". "mark" says that numbers below
 * `upto` were sent. caught_up in later statuses then reports whether the other site's receiver has
 * read all packets that are waiting for it now. The answer to each request is a status. Returns
 * false, with `err`, if the connection is lost or the request is impossible.
 */
bool remote_ask(struct remote *r, const char *what, const uint64_t *upto, struct error *err);

/* Requests the status if the latest one is older than `most_ns`. */
void remote_refresh(struct remote *r, uint64_t most_ns, struct error *err);

/*
 * Asks the other site to fold numbers below `upto` (from 0) before they are folded here. Its
 * reports arrive during site_fold(), and each outcome is decided from both sites' data. Call
 * remote_folded() afterwards.
 */
void remote_fold(struct remote *r, const uint64_t *upto, struct error *err);
void remote_folded(struct remote *r);

/*
 * Adds the other site's results to a result that is closed with both sites' outcomes. The local
 * site adds its results afterwards. If the connection was lost, reports when it was lost.
 */
void remote_end(struct remote *r, uint64_t start_ns, struct result *res, struct error *err);

/*
 * Adds both sites' findings and counters. Call this last, because afterwards the causes in `res` no
 * longer refer to the local ledger.
 */
void remote_close(struct remote *r, struct result *res);

/*
 * The server side, `recv --serve`, serves `run --to`, one client at a time. Other clients wait
 * until the current client ends or has had no experiment for 2 s, after which it queues behind
 * them. Clients that have not logged in are handled concurrently, so a silent client does not block
 * others. The server sends only to the client, within the rate limit, and changes no settings.
 * `recv --stdio` does the same for a single client, which the program that started it has
 * authorised, until end of input or 15 s of silence.
 */
struct server_config {
	const struct run_spec *spec; /* port: UDP. ifname: for AF_XDP and XDP, NULL: from the
				      * route to the client. stay: continue after the first
				      * client */
	struct endpoint listen;	     /* TCP, family 0: same port as the data port, on loopback,
				      * both families */
	bool stdio;		     /* serve over `in` and `out` instead, which have no other
				      * writer */
	int in, out;
	struct token token; /* if set, all traffic is encrypted */
	double max_pps;	    /* maximum rate at which the server sends, 0: unlimited */
};

/* A summary of a client's session. */
struct server_served {
	struct endpoint peer;
	char host[65]; /* name that the client gave */
	unsigned experiments;
	uint64_t delivered, sent; /* on this host, summed over all experiments */
	bool refused;		  /* the login was refused */
	char why[160];		  /* reason for refusal or early end, otherwise "" */
};

struct server_view {
	void (*on_listening)(void *arg); /* not called with `stdio` */
	void (*on_served)(void *arg, const struct server_served *served);
	void *arg;
};

/* Limits per client, in addition to `max_pps`. */
struct server_limits {
	uint64_t numbers; /* numbers per stream at a time */
	uint64_t bytes;	  /* memory for these numbers */
	unsigned threads; /* receiving or sending threads */
	uint64_t rcvbuf;  /* bytes of SO_RCVBUF, within the kernel's limit */
};

void server_limits(struct server_limits *limits);

/*
 * Serves until a signal, or until the first logged-in client is done. SIGINT etc. must be blocked.
 */
int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err);

#endif
