/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Display for `top`: a packet's path with the losses at each stage, the last minute, and a table of
 * the worst losses. This module keeps the screen state and draws it. Terminal setup and tracing are
 * elsewhere.
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

#define VIEW_HISTORY  600 /* intervals kept for an open row */
#define VIEW_LAST     60  /* intervals shown side by side */
#define VIEW_MIN_COLS 50
#define VIEW_MIN_ROWS 15

/* Rates in the last interval, per second. Negative: unknown. */
struct view_traffic {
	double in_pps, in_bps, out_pps, out_bps; /* on all interfaces except loopback */
	double read_pps, sent_pps;		 /* by UDP sockets */
};

struct view_device {
	char ifname[16];
	const char *netns; /* "" for the caller's namespace */
	uint32_t inum;	   /* that namespace's inode */
	double rx_pps, rx_bps, tx_pps, tx_bps, dropped_pps;
};

/* Data for the next drawing, borrowed while it is drawn. */
struct view_input {
	const struct live_table *now, *total;
	uint64_t time_ns, interval_ns;
	struct view_traffic traffic;
	const struct view_device *devices;
	unsigned n_devices;
	struct live_own own;
	const char *what;	/* filter shown in the title (NULL: all) */
	const char *scope;	/* "all namespaces": scope of losses and traffic */
	bool one_scope;		/* the scope cannot be switched */
	const char *host;	/* host name */
	const char *clock_text; /* "12:03:44" */
	bool by_flow;		/* flows are counted separately */
	const char *advice;	/* lines about the open row, or NULL */
	const char *packets;	/* lines about packets the open row lost recently */
	const char *tcp;	/* lines about the TCP balance so far, or NULL */
};

struct view {
	unsigned grouping; /* index in the list of groupings */
	unsigned sort;	   /* sort column, counted from the left */
	bool paused; /* freeze the display */
	bool benign, devices, help;
	bool ascii;		  /* ASCII-only terminal: draw lines with plain characters */
	bool wide;		  /* the screen is wide enough for more columns */
	bool no_tcp;		  /* show rows instead of the TCP balance */
	bool open;		  /* the chosen row fills the screen */
	struct live_table opened; /* copy of the row, freed by the caller */
	unsigned opened_by;	  /* grouping in use when the row was opened */
	unsigned openings;	  /* incremented each time a row is opened */
	bool typing;		  /* keys are typed into `text` */
	char text[48];		  /* show only rows that contain this text ("": all) */
	unsigned at;		  /* index of the chosen row or interface */
	uint32_t netns;		  /* inode of the only namespace to show (0: all) */
	double history[VIEW_HISTORY][STAGE_COUNT]; /* packets/s lost in each interval, as a ring */
	uint64_t added, shown; /* intervals added to the history, and how many are shown */
};

/*
 * Copies the rows of `in->total` that make up the chosen row, which the caller frees. Copies
 * nothing if no row is chosen.
 */
void view_chosen(const struct view *v, const struct view_input *in, struct live_table *rows);

/* Returns true if the row is part of the open row. */
bool view_is_open(const struct view *v, const struct live_row *row);

/* Adds an interval to the history. Must be called even while the view is paused. */
void view_add(struct view *v, const struct live_table *now, uint64_t interval_ns);

/* Draws on the current ncurses screen, without refresh(). */
void view_draw(struct view *v, const struct view_input *in);

/*
 * Handles a character or an ncurses key such as KEY_UP. Returns true if the user quits. `in` is the
 * data shown. If the namespace has changed on return, `in` must be read again for the new
 * namespace.
 */
bool view_key(struct view *v, int key, const struct view_input *in);

#endif
