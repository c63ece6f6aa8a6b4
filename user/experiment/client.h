/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client's side of a control connection: to a `recv --serve` on another host, for one
 * experiment or several. All functions return 0 or -errno with `err`.
 */
#ifndef PKTLEDGER_EXPERIMENT_CLIENT_H
#define PKTLEDGER_EXPERIMENT_CLIENT_H

#include "base/err.h"
#include "base/num.h"
#include "experiment/msg.h"

struct peer;

struct peer_target {
	struct endpoint to;	 /* address and control port */
	struct auth_token token; /* len 0: none */
	bool shared_clock;	 /* both hosts' clocks agree: one-way delays mean something */
	/* The server is busy, and is waited for; may be NULL. */
	void (*on_wait)(void *arg);
	void *arg;
};

/* Connects and logs in. `target` is copied. Nobody answers within a second: STATUS_FAILED. */
int peer_connect(struct peer **peer, const struct peer_target *target, struct error *err);
void peer_close(struct peer *p);

const struct peer_target *peer_target(const struct peer *p);
const char *peer_host(const struct peer *p);		/* its name */
const struct endpoint *peer_self(const struct peer *p); /* our address, as it sees us */
uint16_t peer_data_port(const struct peer *p);		/* UDP */

/* The connection is lost: nothing more will be answered. */
bool peer_is_lost(const struct peer *p);

int peer_plan(struct peer *p, const struct peer_plan *plan, struct peer_ready *ready,
	      struct error *err);

/* The circumstances there, as env_read() tells them; borrowed. NULL before a plan is accepted. */
struct json_object *peer_env(const struct peer *p);

enum peer_question { PEER_START, PEER_STATUS, PEER_STOP };
int peer_ask(struct peer *p, enum peer_question what, struct site_status *st, struct error *err);

/* What the far end tells while it folds. Something else than 0 ends the telling. */
struct peer_teller {
	int (*cause)(void *arg, const struct ledger_cause *cause);
	int (*run)(void *arg, const struct join_run *run);
	void *arg;
};
int peer_fold(struct peer *p, const struct peer_fold *fold, const struct peer_teller *teller,
	      struct error *err);

/* The rows of msg_end, and counters behind those that `res` has; the rest of it stays. */
int peer_end(struct peer *p, struct result *res, struct error *err);

/*
 * The far host's CLOCK_TAI minus ours, by the quickest of some questions, and the most that it may
 * be wrong by: half of what that one took.
 */
int peer_clock(struct peer *p, int64_t *offset_ns, uint64_t *error_ns, struct error *err);

#endif
