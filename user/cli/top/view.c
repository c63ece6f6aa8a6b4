// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/top/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/top/draw.h"

#define HISTORY_LINES 4 /* on a small screen; half of the rest on a large one */
#define PAGE_LINES    10
#define WIDE_COLS     80
#define TALL_ROWS     24

static const char *const help[] = {
	"The upper part is the path of a packet, from the device to the socket and back.",
	"A stage in red loses packets now, one in yellow has lost some.",
	"",
	"g       group by sockets, reasons, interfaces, processes, cgroups, CPUs, flows",
	"o       order: most packets first, or along the path",
	"b       show benign ends too (copies for taps, teardown)",
	"d       devices: packets and bits a second",
	"space   pause; counting goes on",
	"up/down scroll",
	"q       leave, with the sum on the terminal",
};

void view_add(struct view *v, const struct view_input *in)
{
	double pps[STAGE_COUNT];

	draw_losses(in->now, in->interval_ns, pps);
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		v->history[s][v->head] = pps[s];
	v->head = (v->head + 1) % VIEW_HISTORY;
	if (v->filled < VIEW_HISTORY)
		v->filled++;
}

static void draw_title(const struct view *v, const struct view_input *in, struct canvas *c)
{
	double seconds = round((double)in->interval_ns / 5e7) / 20; /* as it was asked for */
	double lost = 0, pps[STAGE_COUNT];
	char right[96], number[16], in_bits[16], out_bits[16];

	canvas_printf(c, 1, 0, STYLE_BOLD, "pktledger top  %s%s%s", in->host, in->what ? "  " : "",
		      in->what ? in->what : "");
	snprintf(right, sizeof(right), " %s%s  %.3g s ", v->paused ? "PAUSED  " : "",
		 in->clock_text, seconds);
	canvas_right(c, c->cols, 0, STYLE_BOLD, right);
	canvas_style(c, 0, STYLE_BOLD | CANVAS_REVERSED);

	draw_losses(in->now, in->interval_ns, pps);
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		lost += pps[s];
	canvas_printf(c, 1, 1, lost > 0 ? STYLE_BAD : STYLE_GOOD, "lost %s/s",
		      draw_number(number, sizeof(number), lost));
	if (in->traffic.in_bps >= 0)
		canvas_printf(c, 18, 1, STYLE_PLAIN, "in %sbit/s, out %sbit/s",
			      draw_number(in_bits, sizeof(in_bits), in->traffic.in_bps),
			      draw_number(out_bits, sizeof(out_bits), in->traffic.out_bps));
	if (c->cols < WIDE_COLS)
		return;
	snprintf(right, sizeof(right), "own cost: %.1f %% of a CPU ",
		 in->time_ns ? 100.0 * (double)(in->own.cpu_ns + in->own.watch.run_ns) /
				       (double)in->time_ns
			     : 0);
	canvas_right(c, c->cols, 1, STYLE_DIM, right);
}

static void draw_help(struct canvas *c, unsigned y)
{
	for (unsigned i = 0; i < sizeof(help) / sizeof(*help); i++)
		canvas_text(c, 1, y + i, STYLE_PLAIN, help[i]);
}

static void draw_footer(const struct view *v, struct canvas *c)
{
	char right[64];

	snprintf(right, sizeof(right), " by %s%s  g o b d space h q ",
		 view_groupings[v->grouping].name, v->order == TABLE_BY_PATH ? ", path" : "");
	canvas_right(c, c->cols, c->rows - 1, STYLE_DIM, right);
}

void view_draw(const struct view *v, const struct view_input *in, struct canvas *c)
{
	unsigned y, lines;

	canvas_clear(c);
	if (c->cols < VIEW_MIN_COLS || c->rows < VIEW_MIN_ROWS) {
		canvas_printf(c, 0, 0, STYLE_BAD, "too small: %ux%u", c->cols, c->rows);
		canvas_printf(c, 0, 1, STYLE_PLAIN, "%ux%u at least", VIEW_MIN_COLS, VIEW_MIN_ROWS);
		return;
	}
	draw_title(v, in, c);
	if (v->help) {
		draw_help(c, 3);
		return;
	}
	y = draw_path(v, in, c, 3) + (c->rows >= TALL_ROWS);
	lines = c->rows > y + 4 * HISTORY_LINES ? (c->rows - y) / 2 : HISTORY_LINES;
	if (y + lines + 4 < c->rows)
		y = draw_history(v, c, y, lines) + 1;
	if (v->devices)
		draw_devices(v, in, c, y);
	else
		draw_table(v, in, c, y);
	draw_footer(v, c);
}

static void scroll(struct view *v, int by)
{
	v->scroll = by < 0 && v->scroll < (unsigned)-by ? 0 : v->scroll + (unsigned)by;
}

bool view_key(struct view *v, int key, bool by_flow)
{
	if (key != 'h' && key != '?')
		v->help = false;
	switch (key) {
	case 'q':
	case 'Q':
		return true;
	case 'g':
		v->grouping = (v->grouping + 1) % view_grouping_count(by_flow);
		v->scroll = 0;
		break;
	case 'o':
		v->order = v->order == TABLE_BY_PATH ? TABLE_BY_PACKETS : TABLE_BY_PATH;
		break;
	case 'b':
		v->benign = !v->benign;
		break;
	case 'd':
		v->devices = !v->devices;
		v->scroll = 0;
		break;
	case ' ':
	case 'p':
		v->paused = !v->paused;
		break;
	case 'h':
	case '?':
		v->help = !v->help;
		break;
	case VIEW_UP:
		scroll(v, -1);
		break;
	case VIEW_DOWN:
		scroll(v, 1);
		break;
	case VIEW_PAGE_UP:
		scroll(v, -PAGE_LINES);
		break;
	case VIEW_PAGE_DOWN:
		scroll(v, PAGE_LINES);
		break;
	}
	return false;
}
