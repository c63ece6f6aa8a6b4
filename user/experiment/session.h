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
#include "experiment/near.h"
#include "experiment/server.h"

struct session {
	const struct server_config *cfg;
	struct conn conn;
	struct endpoint peer;
	struct peer_hello hello;
	bool let_in;
	char host[65]; /* as it calls itself */
	struct peer_plan plan;
	char device[IF_NAMESIZE]; /* by which the client is reached; "" unknown */
	struct near near;	  /* open while there is an experiment */
	struct runs runs;
	struct server_served served;
};

/* Takes the descriptor and says hello. 0 or -errno; session_close() is due all the same. */
int session_open(struct session *s, const struct server_config *cfg, int fd);

/*
 * Waits for a request, at most so long, and answers it; the first has to be the login. 1: done; 0:
 * none came; -EPIPE: the client is done, or gone; -EBADMSG: it does not speak the protocol;
 * -EACCES, -EPROTONOSUPPORT: it is not let in.
 */
int session_step(struct session *s, int timeout_ms);

/*
 * For session_step(). Whether the plan that came may be: `why` says why not. Then what it means for
 * the near end, with the client's own address as the only one to send to.
 */
int session_check_plan(const struct session *s, struct error *why);
void session_fill_plan(struct session *s);

/* Ends its experiment, if there is one. */
void session_close(struct session *s);

#endif
