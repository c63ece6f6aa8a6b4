// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The path: a chain of stages for each direction, as many lines as it takes. Below the name of a
 * stage stands what is lost there now.
 */
#include <stdio.h>
#include <string.h>

#include "cli/top/draw.h"

#define INDENT 2

static const enum stage receiving[] = {
	STAGE_NIC_RING,	   STAGE_XDP,		STAGE_XSK,	  STAGE_GSO,
	STAGE_BACKLOG,	   STAGE_TC_INGRESS,	STAGE_L2,	  STAGE_IP_HEADER,
	STAGE_NETFILTER,   STAGE_IP_ROUTE,	STAGE_IP_FRAG,	  STAGE_IP_FORWARD,
	STAGE_TUNNEL,	   STAGE_XFRM,		STAGE_UDP_LOOKUP, STAGE_UDP_HEADER,
	STAGE_UDP_CSUM,	   STAGE_SOCKET_FILTER, STAGE_UDP_MEM,	  STAGE_RCVBUF,
	STAGE_SOCKET_READ, STAGE_SOCKET_CLOSE,
};

static const enum stage sending[] = {
	STAGE_TX_SOCKET, STAGE_TX_ROUTE, STAGE_NEIGH, STAGE_TC_EGRESS, STAGE_QDISC, STAGE_TX_DEVICE,
};

/* Of no place on the path of a datagram: told behind it. */
static const enum stage elsewhere[] = {STAGE_TCP, STAGE_ICMP, STAGE_OTHER};

struct chain {
	struct canvas *c;
	unsigned x, y;
	bool lost; /* something stands below the names of this line */
};

static void next_line(struct chain *k)
{
	k->x = INDENT;
	k->y += k->lost ? 2 : 1;
	k->lost = false;
}

/* For a word of this width. */
static void make_room(struct chain *k, unsigned width)
{
	if (k->x + width > k->c->cols)
		next_line(k);
}

static void join(struct chain *k, const char *with)
{
	if (k->x + 3 < k->c->cols)
		k->x = canvas_printf(k->c, k->x, k->y, STYLE_DIM, " %s ", with);
}

static void add_end(struct chain *k, const char *label, double pps, bool first)
{
	const char *arrow = k->c->ascii ? ">" : "▶";
	char number[16], text[48];

	if (pps < 0)
		snprintf(text, sizeof(text), "%s", label);
	else
		snprintf(text, sizeof(text), "%s %s/s", label,
			 draw_number(number, sizeof(number), pps));
	if (!first) {
		make_room(k, (unsigned)strlen(text) + 3);
		join(k, arrow);
	}
	k->x = canvas_text(k->c, k->x, k->y, STYLE_BOLD, text);
	if (first)
		join(k, arrow);
}

static void add_stage(struct chain *k, enum stage stage, double pps, uint64_t ever, bool joined)
{
	const char *name = stage_name(stage), *mark = k->c->ascii ? "v" : "▼";
	unsigned width = (unsigned)strlen(name), room;
	unsigned style = pps > 0 ? STYLE_BAD | CANVAS_REVERSED : ever ? STYLE_WARN : STYLE_PLAIN;
	char number[16], lost[32] = "";

	if (pps > 0)
		snprintf(lost, sizeof(lost), "%s%s", mark,
			 draw_number(number, sizeof(number), pps));
	room = (unsigned)strlen(lost) - (*lost && !k->c->ascii ? 2 : 0); /* ▼ is three bytes */
	if (room < width)
		room = width;
	make_room(k, room + (joined ? 3 : 0));
	if (joined)
		join(k, k->c->ascii ? "-" : "─");
	canvas_text(k->c, k->x, k->y, style, name);
	canvas_text(k->c, k->x, k->y + 1, STYLE_BAD, lost);
	k->lost |= pps > 0;
	k->x += room;
}

static unsigned draw_chain(struct canvas *c, unsigned y, const enum stage *stages, unsigned n,
			   const double pps[], const uint64_t ever[], const char *from,
			   double from_pps, const char *to, double to_pps)
{
	struct chain k = {.c = c, .x = 1, .y = y};

	add_end(&k, from, from_pps, true);
	for (unsigned i = 0; i < n; i++)
		add_stage(&k, stages[i], pps[stages[i]], ever[stages[i]], i);
	add_end(&k, to, to_pps, false);
	next_line(&k);
	return k.y;
}

static unsigned draw_elsewhere(struct canvas *c, unsigned y, const double pps[])
{
	char number[16];
	unsigned x = 1;

	for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
		enum stage s = elsewhere[i];

		if (pps[s] <= 0)
			continue;
		x = canvas_printf(c, x, y, STYLE_BAD, "%s%s %s/s",
				  x > 1 ? ", " : "also lost: ", stage_name(s),
				  draw_number(number, sizeof(number), pps[s]));
	}
	return x > 1 ? y + 1 : y;
}

unsigned draw_path(const struct view *v, const struct view_input *in, struct canvas *c, unsigned y)
{
	double pps[STAGE_COUNT], total[STAGE_COUNT];
	uint64_t ever[STAGE_COUNT];

	(void)v;
	draw_losses(in->now, in->interval_ns, pps);
	draw_losses(in->total, 1000000000, total);
	for (unsigned s = 0; s < STAGE_COUNT; s++)
		ever[s] = (uint64_t)total[s];
	y = draw_chain(c, y, receiving, sizeof(receiving) / sizeof(*receiving), pps, ever, "in",
		       in->traffic.in_pps, "read", in->traffic.read_pps) +
	    1;
	y = draw_chain(c, y, sending, sizeof(sending) / sizeof(*sending), pps, ever, "sent",
		       in->traffic.sent_pps, "out", in->traffic.out_pps);
	return draw_elsewhere(c, y, pps);
}
