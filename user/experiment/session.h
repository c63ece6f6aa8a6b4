/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One client of a server, from its first word to its last: it proves who it is, and what it asks is
 * done for it, one experiment after the other.
 */
#ifndef PKTLEDGER_EXPERIMENT_SESSION_H
#define PKTLEDGER_EXPERIMENT_SESSION_H

#include <net/if.h>

#include "experiment/auth.h"
#include "experiment/conn.h"
#include "experiment/msg.h"
#include "experiment/server.h"
#include "experiment/site.h"

struct session {
	const struct server_config *cfg;
	struct conn conn;
	struct endpoint peer;
	struct peer_hello hello;
	bool greeted, let_in;
	uint64_t heard_ns; /* when it was greeted, or was heard last */
	char host[65];	   /* as it calls itself */
	struct peer_plan plan;
	char device[IF_NAMESIZE]; /* by which the client is reached; "" unknown */
	struct run_spec spec;	  /* of the plan */
	struct site *site;	  /* while there is an experiment; else NULL */
	bool stopped;		  /* its ends have */
	struct runs runs;
	struct server_served served;
};

/* Takes the descriptor. 0 or -errno; session_close() is due all the same. */
int session_open(struct session *s, const struct server_config *cfg, int fd);

/* Says hello, once: the login is due; or that somebody else is served first. 0 or -errno. */
int session_greet(struct session *s);
int session_put_off(struct session *s);

/*
 * Waits for a request, at most so long, and answers it; the first has to be the login. 1: done; 0:
 * none came; -EPIPE: the client is done, or gone; -EBADMSG: it does not speak the protocol;
 * -EACCES, -EPROTONOSUPPORT: it is not let in.
 */
int session_step(struct session *s, int timeout_ms);

/* Ends its experiment, if there is one. */
void session_close(struct session *s);

#endif
