/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the screen. Private to top/. Each returns the line behind what it drew. */
#ifndef PKTLEDGER_CLI_TOP_DRAW_H
#define PKTLEDGER_CLI_TOP_DRAW_H

#include "cli/top/view.h"

/* A heading of the table: fields that rows are grouped by. */
struct view_grouping {
	const char *name;
	unsigned by; /* LIVE_BIT()s */
};

extern const struct view_grouping view_groupings[];
unsigned view_grouping_count(bool by_flow); /* those with flows come last */

/* Packets/s lost at each stage in a table that covers `ns`; benign ones and copies are no loss. */
void draw_losses(const struct live_table *t, uint64_t ns, double pps[STAGE_COUNT]);

unsigned draw_path(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y);
unsigned draw_history(const struct view *v, struct canvas *c, unsigned y, unsigned lines);
void draw_table(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y);
void draw_devices(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y);

/* "30.1k", "812", "0.5": at most 6 characters. */
char *draw_number(char *buf, unsigned size, double v);

#endif
