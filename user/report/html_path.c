// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The path as a picture: a stream that is as wide as there are packets, and bends off what is lost.
 */
#include "report/html_parts.h"

#include <math.h>
#include <string.h>

#define EXITS	  (HTML_STAGES + 3) /* refused, in flight, unaccounted */
#define THINNEST  1.5		    /* px: less could not be seen */
#define LABEL	  106.0		    /* px of a label below its arrow */
#define ROW	  46.0		    /* px of a label beside its arrow */
#define SEAM	  0.7		    /* px of an exit below the stream, so that no gap shows */
#define OVERHANG  5.0		    /* px of an arrow's head at each side */
#define WIDE	  1000.0	    /* px of the picture from left to right */
#define NARROW	  360.0		    /* px of the one from top to bottom */
#define MOST_WIDE 8		    /* exits that have room below the wide one */

/*
 * Points are (along, across): along the path, and from its straight side to the side where things
 * leave. Drawn from left to right, or from top to bottom.
 */
struct picture {
	struct html *h;
	bool down;
	double width;	     /* px of the stream at its beginning */
	double bend;	     /* px, inner radius */
	double from, side;   /* px: where the path begins, where its straight side is */
	double length;	     /* px along, up to the head of the last arrow */
	double depth;	     /* px across, where the heads of the exits begin */
	double delivered;    /* px of what arrives */
	const char *arrival; /* what the packets at the end of the path are */
	double head;	     /* px of the longest head of an exit */
	struct html_way *out;
	unsigned n;
};

static void put_point(const struct picture *p, const char *command, double along, double across)
{
	double a = p->from + along, c = p->side + across;

	html_put(p->h->out, "%s%.1f %.1f", command, p->down ? c : a, p->down ? a : c);
}

/* A quarter of a circle to a point; `outward`: the turn that exits take. */
static void put_bend(const struct picture *p, double radius, bool outward, double along,
		     double across)
{
	char arc[64];

	snprintf(arc, sizeof(arc), "A%.1f %.1f 0 0 %d ", radius, radius, outward != p->down);
	put_point(p, arc, along, across);
}

static double head_length(double thick)
{
	return fmin(7 + thick * 0.4, 26);
}

static void put_gradient(const struct picture *p, const struct html_way *o, double width,
			 unsigned id)
{
	double x1 = p->from + o->at, y1 = p->side + width - o->thick;
	double x2 = x1 + p->bend + o->thick, y2 = p->side + p->depth;

	html_put(p->h->out,
		 "<linearGradient id=\"g%u\" gradientUnits=\"userSpaceOnUse\" x1=\"%.1f\" "
		 "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"><stop class=\"flow\"/>"
		 "<stop offset=\".6\" class=\"%s\"/></linearGradient>",
		 id, p->down ? y1 : x1, p->down ? x1 : y1, p->down ? y2 : x2, p->down ? x2 : y2,
		 o->class);
}

/* `width`: of the stream before it leaves. */
static void put_exit(const struct picture *p, const struct html_way *o, double width)
{
	double t = o->thick, at = o->at, r = p->bend, middle = at + r + t / 2;
	unsigned id = p->h->ids++;

	put_gradient(p, o, width, id);
	html_put(p->h->out, "<path fill=\"url(#g%u)\" d=\"", id);
	put_point(p, "M", at - SEAM, width - t);
	put_point(p, "L", at, width - t);
	put_bend(p, r + t, true, at + r + t, width + r);
	put_point(p, "L", at + r + t, p->depth);
	put_point(p, "L", at + r + t + OVERHANG, p->depth);
	put_point(p, "L", middle, p->depth + head_length(t));
	put_point(p, "L", at + r - OVERHANG, p->depth);
	put_point(p, "L", at + r, p->depth);
	put_point(p, "L", at + r, width + r);
	put_bend(p, r, false, at, width);
	put_point(p, "L", at - SEAM, width);
	html_put(p->h->out, "Z\"/>");
}

static void put_label(const struct picture *p, const struct html_way *o)
{
	double along = p->from + o->at + p->bend + o->thick / 2;
	double across = p->side + p->depth + p->head;
	char count[FMT_MAX], share[24];

	fmt_count(count, sizeof(count), o->packets);
	html_share(share, sizeof(share), o->packets, o->whole);
	if (p->down)
		html_put(p->h->out,
			 "<text x=\"%.1f\" y=\"%.1f\" class=\"name\">%s</text>"
			 "<text x=\"%.1f\" y=\"%.1f\">%s  %s</text>",
			 across + 10, along - 3, o->name, across + 10, along + 14, count, share);
	else
		html_put(p->h->out,
			 "<g text-anchor=\"middle\"><text x=\"%.1f\" y=\"%.1f\" class=\"name\">%s"
			 "</text><text x=\"%.1f\" y=\"%.1f\">%s</text>"
			 "<text x=\"%.1f\" y=\"%.1f\" class=\"dim\">%s</text></g>",
			 along, across + 18, o->name, along, across + 36, count, along, across + 53,
			 share);
}

/* The stream itself, narrower behind each exit, with a head if anything arrives. */
static void put_stream(const struct picture *p, uint64_t delivered)
{
	double width = p->width, end = p->delivered > 0 ? p->length : 0;
	double head = head_length(p->delivered);
	char count[FMT_MAX];

	html_put(p->h->out, "<g><title>%s packets %s</title><path class=\"flow\" d=\"",
		 fmt_count(count, sizeof(count), delivered), p->arrival);
	put_point(p, "M", 0, 0);
	put_point(p, "L", 0, width);
	for (unsigned i = 0; i < p->n; i++) {
		put_point(p, "L", p->out[i].at, width);
		width = fmax(width - p->out[i].thick, p->delivered);
		put_point(p, "L", p->out[i].at, width);
		end = fmax(end, p->out[i].at);
	}
	if (p->delivered > 0) {
		put_point(p, "L", end, width);
		put_point(p, "L", end, width + OVERHANG);
		put_point(p, "L", end + head, width / 2);
		put_point(p, "L", end, -OVERHANG);
	}
	put_point(p, "L", end, 0);
	html_put(p->h->out, "Z\"/></g>");
}

static void put_picture(struct picture *p, uint64_t delivered, const char *class)
{
	double across = p->side + p->depth + 26 + 60, width = p->width;
	double along = p->from + p->length + 30;

	if (!p->n)
		across = p->side + p->width + 12;
	if (p->down)
		across = NARROW;
	else
		along = WIDE;
	html_put(p->h->out,
		 "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" "
		 "aria-label=\"Path of the packets\">",
		 class, p->down ? across : along, p->down ? along : across);
	put_stream(p, delivered);
	for (unsigned i = 0; i < p->n; i++) {
		char count[FMT_MAX];

		html_put(p->h->out, "<g><title>%s: %s packets\n%s</title>", p->out[i].name,
			 fmt_count(count, sizeof(count), p->out[i].packets), p->out[i].why);
		put_exit(p, &p->out[i], width);
		put_label(p, &p->out[i]);
		html_put(p->h->out, "</g>");
		width = fmax(width - p->out[i].thick, p->delivered);
	}
	html_put(p->h->out, "</svg>");
}

/* Thickness of each exit and of what arrives. */
static void weigh(struct picture *p, uint64_t whole, uint64_t delivered)
{
	double a_packet = whole ? p->width / (double)whole : 0;

	p->head = 0;
	for (unsigned i = 0; i < p->n; i++) {
		p->out[i].thick = fmax((double)p->out[i].packets * a_packet, THINNEST);
		p->head = fmax(p->head, head_length(p->out[i].thick));
	}
	p->delivered = delivered ? fmax((double)delivered * a_packet, THINNEST) : 0;
}

/* Places the exits so that neither arrows nor labels touch. Returns the room that they need. */
static double place(struct picture *p, double label)
{
	double middle = 0;

	for (unsigned i = 0; i < p->n; i++) {
		double before = i ? p->out[i - 1].thick / 2 : 0;
		double arrows = before + p->out[i].thick / 2 + 2 * OVERHANG + 12;

		middle += i ? fmax(label, arrows) : fmax(label / 2, arrows + p->bend);
		p->out[i].at = middle - p->bend - p->out[i].thick / 2;
	}
	return p->n ? middle + fmax(label / 2, p->out[p->n - 1].thick / 2 + OVERHANG) : 0;
}

/* From left to right; false: there is not enough room. */
static bool plan_wide(struct picture *p, uint64_t whole, uint64_t delivered)
{
	double spare;

	p->down = false;
	p->width = 150;
	p->bend = 16;
	p->from = 2;
	p->side = OVERHANG + 2;
	weigh(p, whole, delivered);
	p->length = WIDE - p->from - 30;
	p->depth = p->width + p->bend + 24;
	spare = WIDE - p->from - place(p, LABEL);
	if (p->n > MOST_WIDE || spare < 0)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		p->out[i].at += spare * (i + 0.5) / p->n;
	return true;
}

static void plan_narrow(struct picture *p, uint64_t whole, uint64_t delivered)
{
	p->down = true;
	p->width = 110;
	p->bend = 12;
	p->from = 2;
	p->side = OVERHANG + 2;
	weigh(p, whole, delivered);
	p->depth = p->width + p->bend + 14;
	p->length = fmax(place(p, ROW) + 14, 90);
}

/* "SOCKET_RCVBUFF in udp_queue_rcv_one_skb at rx v-rx", of the first cause. */
static void tell_why(char *buf, size_t size, struct json_object *stage)
{
	struct json_object *list = json_get(stage, "causes"), *c = html_at(list, 0);
	const char *reason = json_get_text(c, "reason"), *place = json_get_text(c, "location");

	snprintf(buf, size, "%s", html_stage_title(json_get_text(stage, "stage")));
	if (*reason || *place)
		snprintf(buf + strlen(buf), size - strlen(buf), "\n%s%s%s%s", reason,
			 *place ? " in " : "", place, html_length(list) > 1 ? ", and others" : "");
}

static void add(struct picture *p, const char *name, const char *class, uint64_t packets,
		uint64_t whole)
{
	if (packets && p->n < EXITS)
		p->out[p->n++] = (struct html_way){
			.name = name, .class = class, .packets = packets, .whole = whole};
}

static void collect(struct picture *p, struct json_object *end)
{
	struct json_object *stages = json_get(end, "stages");
	uint64_t sent = json_get_u64(end, "sent");

	add(p, "refused", "refused", json_get_u64(end, "refused"), json_get_u64(end, "attempted"));
	for (size_t i = 0; i < html_length(stages); i++) {
		struct json_object *stage = html_at(stages, i);
		const char *name = json_get_text(stage, "stage");
		unsigned before = p->n;

		add(p, name, html_colour(p->h, name), json_get_u64(stage, "packets"), sent);
		if (p->n > before)
			tell_why(p->out[before].why, sizeof(p->out[before].why), stage);
	}
	add(p, "in flight", "waiting", json_get_u64(end, "in_flight"), sent);
	add(p, "unaccounted", "unknown", json_get_u64(end, "unaccounted"), sent);
}

/* "xsk (native copy) - v-tx 198.18.0.1" */
static void put_port(struct html *h, struct json_object *start, const char *side)
{
	struct json_object *port, *host = json_get(json_get(start, "hosts"), side);
	const char *mode, *address;
	char key[16];

	snprintf(key, sizeof(key), "%s_port", side);
	port = json_get(start, key);
	mode = json_get_text(json_get(start, "granted_mode"), side);
	address = json_get_text(port, "address");
	html_put(h->out, "<span class=\"dim\">%s", json_get_text(start, side));
	if (*mode)
		html_put(h->out, " (%s)", mode);
	if (*json_get_text(port, "ifname"))
		html_put(h->out, " · %s %s", json_get_text(port, "ifname"), address);
	if (json_get_u64(port, "port"))
		html_put(h->out, " port %lu", json_get_u64(port, "port"));
	if (*json_get_text(host, "name"))
		html_put(h->out, " on %s", json_get_text(host, "name"));
	html_put(h->out, "</span>");
}

/* What put_ends() is told. */
struct ends_of_path {
	struct json_object *start, *end;
};

static void put_ends(struct html *h, const void *arg)
{
	const struct ends_of_path *e = arg;
	uint64_t sent = json_get_u64(e->end, "sent"), attempted = json_get_u64(e->end, "attempted");
	uint64_t delivered = html_arrived(e->end);
	char count[FMT_MAX], share[24];

	html_put(h->out, "<div class=\"from\">");
	if (attempted != sent)
		html_put(h->out, "attempted <b>%s</b>, ",
			 fmt_count(count, sizeof(count), attempted));
	html_put(h->out, "sent <b>%s</b><br>", fmt_count(count, sizeof(count), sent));
	put_port(h, e->start, "tx");
	fmt_count(count, sizeof(count), delivered);
	html_share(share, sizeof(share), delivered, sent);
	html_put(h->out, "</div><div class=\"to\">%s <b>%s</b> %s<br>", html_arrival(e->end), count,
		 share);
	put_port(h, e->start, "rx");
	html_put(h->out, "</div>");
}

void html_picture(struct html *h, const struct html_picture *picture)
{
	struct picture p = {
		.h = h, .out = picture->way, .n = picture->n, .arrival = picture->arrival};
	double whole = (double)picture->arrived;
	bool wide;

	for (unsigned i = 0; i < p.n; i++)
		whole += (double)p.out[i].packets;
	wide = plan_wide(&p, (uint64_t)fmin(whole, 1e19), picture->arrived);
	html_put(h->out, "<div class=\"path%s\">", wide ? "" : " tall");
	picture->put_ends(h, picture->arg);
	if (wide)
		put_picture(&p, picture->arrived, "wide");
	plan_narrow(&p, (uint64_t)fmin(whole, 1e19), picture->arrived);
	put_picture(&p, picture->arrived, "narrow");
	html_put(h->out, "<p class=\"hint\">Widths are packets; what would be thinner than a "
			 "hair is drawn as one.</p></div>");
}

void html_path(struct html *h, struct json_object *start, struct json_object *end)
{
	const struct ends_of_path ends = {start, end};
	struct html_way out[EXITS];
	struct picture p = {.h = h, .out = out};

	if (!json_get_u64(end, "attempted"))
		return;
	collect(&p, end);
	html_picture(h, &(struct html_picture){.way = out,
					       .n = p.n,
					       .arrived = html_arrived(end),
					       .arrival = html_arrival(end),
					       .put_ends = put_ends,
					       .arg = &ends});
}
