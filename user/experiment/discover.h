/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The streams of a receiver alone, which it discovers by what arrives. Numbers older than the time
 * to settle are counted and forgotten, so that memory does not grow with time; and neither memory
 * nor time grow with the numbers that somebody writes into packets.
 */
#ifndef PKTLEDGER_EXPERIMENT_DISCOVER_H
#define PKTLEDGER_EXPERIMENT_DISCOVER_H

#include "experiment/site.h"
#include "experiment/window.h"

struct discovery {
	struct window window;
	struct discovered {
		uint64_t counted;   /* numbers below are; 0: nothing yet */
		uint64_t first;	    /* below, nothing was looked at */
		uint64_t delivered; /* of those */
		uint64_t missing;   /* the run of numbers not delivered that is still open */
		uint64_t next;	    /* beyond the highest of which anything was known last */
		bool blind; /* numbers came that could not be noted, up to the first that is */
	} at[TRACE_STREAMS];
	struct gaps gaps;
	struct site *site;
	bool tells; /* of the fates of the site, to view->on_fates */
	const struct experiment_view *view;
};

/* Of an open site. */
void discover_init(struct discovery *d, struct site *s, const struct experiment_view *view);

/* Numbers to be kept of each of so many streams whose fates are told. */
uint64_t discover_window(unsigned streams);

/* To be called often while the receiver runs. */
void discover_move(struct discovery *d, uint64_t now_ns);

/*
 * The receiver has stopped, its causes are named: counts the rest, and fills streams and losses of
 * `out`.
 */
void discover_close(struct discovery *d, struct recv_result *out);

#endif
