/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `recv --serve`: answers `run --to`, one client at a time; others wait their turn. Those that are
 * not let in yet are heard beside each other, so that a silent one keeps nobody out. It sends to
 * the address of the client only, not faster than allowed, and changes no setting of the host.
 */
#ifndef PKTLEDGER_EXPERIMENT_SERVER_H
#define PKTLEDGER_EXPERIMENT_SERVER_H

#include "experiment/wire.h"

struct server_config {
	const struct run_spec *spec; /* port, UDP; ifname, for AF_XDP and XDP, NULL: by the route to
					the client; stay: goes on after the first client */
	uint16_t control_port;	     /* TCP */
	struct auth_token token;
	double max_pps; /* that is sent at most; 0: no limit */
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
	void (*on_listening)(void *arg);
	void (*on_served)(void *arg, const struct server_served *served);
	void *arg;
};

/* Until a signal, or until the first client that was let in is done. SIGINT .. must be blocked. */
int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err);

#endif
