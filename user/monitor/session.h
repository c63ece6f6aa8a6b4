/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A collector at work: starts it, ends each interval in time, and the whole when it is over, when a
 * signal comes, or with the command that it was started for.
 */
#ifndef PKTLEDGER_MONITOR_SESSION_H
#define PKTLEDGER_MONITOR_SESSION_H

#include "base/num.h"
#include "base/opt.h"
#include "monitor/live.h"

struct session_spec {
	const struct live_spec *live;
	uint64_t interval_ns, duration_ns;			      /* duration 0: no limit */
	char *const *command;					      /* NULL: none */
	bool stdout_to_stderr;					      /* of the command */
	int (*on_open)(void *arg, struct live *l, struct error *err); /* sources may be added */
	void (*on_start)(void *arg, const struct live *l);	      /* drops are counted */
	void (*on_tick)(void *arg);				      /* some times a second */
	bool (*on_interval)(void *arg, const struct live *l); /* one has ended; false: stop */
	int input_fd;		     /* what on_input() waits for; 0 is stdin */
	bool (*on_input)(void *arg); /* it has something, or a signal came; NULL: not asked */
	int (*on_over)(void *arg, struct error *err); /* before the last one ends; or NULL */
	void *arg;
};

struct session_result {
	struct live *live; /* to be closed by the caller; NULL: it was not started */
	bool interrupted;  /* by a signal */
	int command_status;
};

/*
 * Runs to the end. SIGINT, SIGTERM and SIGHUP end it with the books closed; a second one kills.
 * A command gets them first, and its end is waited for.
 */
int session_run(const struct session_spec *spec, struct session_result *res, struct error *err);

/* --limit of a collector that goes on: when one is crossed. */
struct limits {
	struct {
		struct limit limit;
		double measured; /* when it was asked last: packets in all, or packets/s */
		bool above;	 /* it was broken then */
		uint64_t crossings;
	} at[OPT_LIST_MAX];
	unsigned n;
};

/* STATUS_USAGE: a share, because nobody knows what was sent. */
int limits_init(struct limits *l, const struct limit *limit, unsigned n, struct error *err);

/*
 * Whether limit `i` was not broken before this interval, and is now. Per second: in this interval;
 * packets: since the start.
 */
bool limits_crossed(struct limits *l, unsigned i, const struct live_table *interval,
		    const struct live_table *total, uint64_t interval_ns);

/* Any of them was. */
bool limits_broken(const struct limits *l);

#endif
