/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The display of `top`: the path of a packet with the losses at each stage, the last minute, and a
 * table of the worst. This is the state of the screen and its drawing, without terminal or tracing.
 *
 *	in 812k/s > nic_ring - xdp - backlog - ip_header - netfilter - ... - rcvbuf > read 781k/s
 *	                                                   v 311                v 30.1k
 */
#ifndef PKTLEDGER_CLI_TOP_H
#define PKTLEDGER_CLI_TOP_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/live.h"
#include "report/page.h"

/* The view */

#define VIEW_HISTORY  600 /* intervals kept, for an open row */
#define VIEW_LAST     60  /* intervals shown next to each other */
#define VIEW_MIN_COLS 50
#define VIEW_MIN_ROWS 15

/* Rates of the last interval, per second. Negative if unknown. */
struct view_traffic {
	double in_pps, in_bps, out_pps, out_bps; /* at all interfaces except loopback */
	double read_pps, sent_pps;		 /* by UDP sockets */
};

struct view_device {
	char ifname[16];
	const char *netns; /* "" for the own namespace */
	uint32_t inum;	   /* inode of that namespace */
	double rx_pps, rx_bps, tx_pps, tx_bps, dropped_pps;
};

/* Data to show next, borrowed while it is drawn. */
struct view_input {
	const struct live_table *now, *total;
	uint64_t time_ns, interval_ns;
	struct view_traffic traffic;
	const struct view_device *devices;
	unsigned n_devices;
	struct live_own own;
	const char *what;	/* the filter for the title, NULL: all */
	const char *scope;	/* "all namespaces": scope of losses and traffic */
	bool one_scope;		/* the scope cannot be switched */
	const char *host;	/* name of the host */
	const char *clock_text; /* "12:03:44" */
	bool by_flow;		/* flows are counted separately */
	const char *advice;	/* lines about the open row, or NULL */
	const char *packets;	/* lines about recently lost packets of the open row */
	const char *tcp;	/* lines of the TCP balance so far, NULL without a balance */
};

struct view {
	unsigned grouping; /* index of a list */
	unsigned sort;	   /* sort column, from the left */
	bool paused; /* everything stays as it is */
	bool benign, devices, help;
	bool ascii;		  /* the terminal only has ASCII: lines are plain characters */
	bool wide;		  /* the screen has room for more columns */
	bool no_tcp;		  /* show rows instead of the TCP balance */
	bool open;		  /* the chosen row fills the screen: */
	struct live_table opened; /* a copy of the row, freed by the caller */
	unsigned opened_by;	  /* grouping of the row */
	unsigned openings;	  /* incremented for each opened row */
	bool typing;		  /* keys are letters of `text` */
	char text[48];		  /* only show rows with this text, "": all */
	unsigned at;		  /* index of the chosen row or interface */
	uint32_t netns;		  /* inode of the only namespace to show, 0: all */
	double history[VIEW_HISTORY][STAGE_COUNT]; /* lost packets/s of each interval, in a ring */
	uint64_t added, shown; /* intervals added to the history, and those that are shown */
};

/*
 * Copies the rows of `in->total` that the chosen row stands for. The caller frees them. Empty if no
 * row is chosen.
 */
void view_chosen(const struct view *v, const struct view_input *in, struct live_table *rows);

/* Returns whether the row is among those that the open row stands for. */
bool view_is_open(const struct view *v, const struct live_row *row);

/* Adds an interval to the history. Call this function even while the view is paused. */
void view_add(struct view *v, const struct live_table *now, uint64_t interval_ns);

/* Draws on the current screen of ncurses, without refresh(). */
void view_draw(struct view *v, const struct view_input *in);

/*
 * Handles a character, or KEY_UP and similar keys of ncurses. Returns true if the user quits. `in`
 * has the data shown. If the namespace has changed afterwards, `in` must be read again for it.
 */
bool view_key(struct view *v, int key, const struct view_input *in);

#endif
