/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `top` shows: the path of a packet with what is lost at each stage, the last minute, and a
 * table of the worst. The state of the screen and drawing; no terminal and no tracing here.
 *
 *	in 812k/s > nic_ring - xdp - backlog - ip_header - netfilter - ... - rcvbuf > read 781k/s
 *	                                                   v 311                v 30.1k
 */
#ifndef PKTLEDGER_CLI_TOP_H
#define PKTLEDGER_CLI_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

#include "monitor/live.h"
#include "report/page.h"

/* A grid of characters with styles: what is to be on the screen, drawn without a terminal. */

#define CANVAS_REVERSED 0x80 /* added to a style */

struct cell {
	wchar_t at;
	uint8_t style;
};

struct canvas {
	unsigned cols, rows;
	bool ascii; /* the terminal has no others: what draws lines chooses plain ones */
	struct cell *cells;
};

/* The size of a canvas may change. Its cells are to be freed. */
void canvas_resize(struct canvas *c, unsigned cols, unsigned rows);

/* The view */

#define VIEW_HISTORY  600 /* intervals kept, for a row that is open */
#define VIEW_LAST     60  /* of them, beside each other */
#define VIEW_MIN_COLS 50
#define VIEW_MIN_ROWS 15

/* Rates of the last interval, a second; negative: not known. */
struct view_traffic {
	double in_pps, in_bps, out_pps, out_bps; /* at all devices but loopback */
	double read_pps, sent_pps;		 /* by UDP sockets */
};

struct view_device {
	char ifname[16];
	int queue;	   /* of it; -1: all of it */
	const char *netns; /* "" the own one */
	uint32_t inum;	   /* of that namespace */
	double rx_pps, rx_bps, tx_pps, tx_bps, dropped_pps;
};

/* What to show next; borrowed while it is drawn. */
struct view_input {
	const struct live_table *now, *total;
	uint64_t time_ns, interval_ns;
	struct view_traffic traffic;
	const struct view_device *devices;
	unsigned n_devices;
	struct live_own own;
	const char *what;	/* the filter, for the title; NULL: all */
	const char *scope;	/* "all namespaces": of which losses and traffic are */
	bool one_scope;		/* it cannot be switched */
	const char *host;	/* its name */
	const char *clock_text; /* "12:03:44" */
	bool by_flow;		/* flows are counted apart */
	const char *advice;	/* about the open row, in lines; NULL: nothing */
	const char *packets;	/* of it, lost lately, in lines; NULL: nothing */
	const char *tcp;	/* its balance so far, in lines; NULL: none is made */
};

struct view {
	unsigned grouping; /* index of a preset */
	unsigned sort;	   /* the column that rows are sorted by, from the left */
	bool paused, benign, devices, help;
	bool no_tcp;		  /* rows in its place */
	bool open;		  /* the chosen row fills the screen: */
	struct live_table opened; /* a copy of it; to be freed */
	unsigned opened_by;	  /* what it is grouped by, for view_is_part() */
	unsigned openings;	  /* goes up with each row that is opened */
	bool typing;		  /* keys are letters of `text` */
	char text[48];		  /* rows that have it are shown; "": all */
	unsigned at;		  /* the chosen row, or device */
	uint32_t netns;		  /* inode number of the namespace to show alone; 0: all */
	double history[STAGE_COUNT][VIEW_HISTORY]; /* packets/s lost, newest at head - 1 */
	unsigned head, filled;
};

/* The rows of `in->total` that the chosen one stands for; to be freed. None: there is none. */
void view_chosen(const struct view *v, const struct view_input *in, struct live_table *rows);

/* `part` is among what the row stands for. */
bool view_is_part(const struct live_row *part, const struct live_row *row, unsigned by);

/* An interval has ended: the history goes on. To be called also while the view is paused. */
void view_add(struct view *v, const struct view_input *in);

void view_draw(struct view *v, const struct view_input *in, struct canvas *c);

/*
 * A character, or KEY_UP and the like of ncurses. True: the user wants to leave. `in` has what is
 * shown; where the namespace is another one afterwards, it is to be of that.
 */
bool view_key(struct view *v, int key, const struct view_input *in);

#endif
