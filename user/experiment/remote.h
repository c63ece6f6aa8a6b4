/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The other host of an experiment: a connection to its `recv --serve`, and its site as the wire
 * brings it: what it is asked to do, how far it is, and what became of the numbers there, which is
 * written into the fates of the site here.
 */
#ifndef PKTLEDGER_EXPERIMENT_REMOTE_H
#define PKTLEDGER_EXPERIMENT_REMOTE_H

#include <net/if.h>

#include "base/list.h"
#include "experiment/msg.h"
#include "experiment/via.h"

struct peer_target {
	struct endpoint to;    /* address of the data, and control port */
	struct via_config via; /* to it; `command` and `login` NULL: TCP */
	struct token token;    /* len 0: none, by TCP in the clear */
	bool shared_clock;     /* both hosts' clocks agree: one-way delays mean something */
	void (*on_wait)(void); /* the server is busy, and is waited for; may be NULL */
	/* What came by `via` in place of, or before, an answer; may be NULL. */
	void (*on_noise)(char *text);
};

/* Not by TCP, which would show the addresses of both. */
static inline bool peer_is_via(const struct peer_target *t)
{
	return t->via.command || t->via.login;
}

/* For one experiment or several. To be read only. */
struct peer {
	struct peer_target target;
	struct peer_hello hello;
	struct peer_welcome welcome;
	struct endpoint self;	 /* our address */
	struct endpoint seen;	 /* the same as it sees us, by `via`; family 0: it does not */
	struct json_object *env; /* its circumstances, as env_read() reads them; NULL: not known */
	bool lost;		 /* nothing more will be answered */
	bool waits;		 /* on_wait() was called */
	struct conn conn;
	struct via via;
};

/*
 * Connects and logs in. `target` is copied, but for its texts. Nobody answers within a second, or
 * `via` ends: STATUS_FAILED. However long that asks for a password, it is waited for.
 */
int peer_connect(struct peer **peer, const struct peer_target *target, struct error *err);
void peer_close(struct peer *p);

struct remote {
	struct peer *peer;
	struct site *local;
	bool sends;
	struct peer_ready ready;
	struct site_status status;  /* the last one reported */
	uint64_t asked_ns, told_ns; /* the last question, and the last answer */
	struct join join;
	struct runs *runs; /* while numbers are folded: the last message, */
	struct list range; /* and its ranges */
	bool folded;	   /* it has reported all, or is lost */
	struct error *err;
	struct ledger_cause cause[TRACE_CAUSES]; /* by index here */
	struct {
		int64_t offset_ns;
		uint64_t error_ns;
	} clock;
	char host[65]; /* the local one */
};

/*
 * What the local end of an experiment with another host is to do: fills `local`, whose strings
 * are in `device`, from what was asked for. Where the control connection shows no address, both
 * hosts first find those of each other by probes; if none comes back, --reverse cannot be:
 * STATUS_FAILED. Before anything uses the port of the data.
 */
int remote_plan_local(const struct run_spec *spec, const struct experiment_view *view,
		      char device[IF_NAMESIZE], struct run_spec *local, struct error *err);

/* The local site is open: the other one is asked to open its own. */
int remote_open(struct remote *r, struct site *local, struct error *err);

/* How both ends work, and which hosts they are on. */
void remote_describe(const struct remote *r, struct result *res);

/* The testbed, of which one end is known by its address only. */
void remote_ports(const struct remote *r, struct lab *lab);

/*
 * "start", "stop" or "status", which is the answer to each. False: the connection is lost, or what
 * was asked for cannot be: `err`.
 */
bool remote_ask(struct remote *r, const char *what, struct error *err);

/*
 * Numbers below `upto` (from 0) were sent: whether the reader of the other site has read what waits
 * for it now is in later statuses, as caught_up.
 */
void remote_mark(struct remote *r, const uint64_t *upto, struct error *err);

/* Asks for the status if the last one is older. */
void remote_refresh(struct remote *r, uint64_t most_ns, struct error *err);

/*
 * Before numbers below `upto` (from 0) are folded here: the other site folds its own. It reports
 * them while site_fold() takes them here, and each is decided by what both know. After that,
 * remote_folded() is due.
 */
void remote_fold(struct remote *r, const uint64_t *upto, struct error *err);
void remote_folded(struct remote *r);

/*
 * What the other site knows of itself, for a result that is closed on the fates of both, and to
 * which the local site is yet to add what it knows; or since when that one is lost.
 */
void remote_end(struct remote *r, uint64_t start_ns, struct result *res, struct error *err);

/*
 * Then findings and the counters of both. `res` has lost its causes' claim on the local ledger
 * after that: it is the last thing.
 */
void remote_close(struct remote *r, struct result *res);

/*
 * The other side, `recv --serve`: answers `run --to`, one client at a time; others wait their turn,
 * which comes at the latest when that one has had no experiment for 2 s: it then waits in turn.
 * Those that are not let in yet are heard beside each other, so that a silent one keeps nobody out.
 * It sends to the client only, not faster than allowed, and changes no setting. `recv --stdio` is
 * the same for one client, which was let in by whatever has started it: until that has no more to
 * say, or says nothing for 15 s.
 */
struct server_config {
	const struct run_spec *spec; /* port, UDP; ifname, for AF_XDP and XDP, NULL: by the route to
					the client; stay: goes on after the first client */
	struct endpoint listen;	     /* TCP; family 0: at the port, on loopback of both families */
	bool stdio;		     /* instead: by `in` and `out`, to which nobody else writes */
	int in, out;
	struct token token; /* with one all is encrypted */
	double max_pps;	    /* that is sent at most; 0: no limit */
};

/* What was done for a client. */
struct server_served {
	struct endpoint peer;
	char host[65]; /* as it calls itself */
	unsigned experiments;
	uint64_t delivered, sent; /* here, of all of them */
	bool refused;		  /* not let in */
	char why[160];		  /* it was refused, or ended in the middle; "" neither */
};

struct server_view {
	void (*on_listening)(void *arg); /* not called with `stdio` */
	void (*on_served)(void *arg, const struct server_served *served);
	void *arg;
};

/* What a client gets at most, beside `max_pps`. */
struct server_limits {
	uint64_t numbers; /* at a time, of one stream */
	uint64_t bytes;	  /* of memory for them */
	unsigned threads; /* that read, or that send */
	uint64_t rcvbuf;  /* bytes of SO_RCVBUF, as far as the kernel allows */
};

void server_limits(struct server_limits *limits);

/* Until a signal, or until the first client that was let in is done. SIGINT .. must be blocked. */
int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err);

#endif
