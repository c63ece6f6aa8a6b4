// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The path as a picture: a stream as wide as there are packets, which bends off what is lost. */
#include <math.h>
#include <string.h>

#include "report/capfile.h"
#include "report/html_page.h"
#include "report/print.h"

#define EXITS	  48	 /* more are not drawn */
#define THINNEST  1.5	 /* px: less could not be seen */
#define SEAM	  0.7	 /* px of an exit below the stream, so that no gap shows */
#define OVERHANG  5.0	 /* px of an arrow's head at each side */
#define FROM	  2.0	 /* px: where the path begins, */
#define SIDE	  7.0	 /* and where its straight side is, see `transform` */
#define WIDE	  1000.0 /* px of the picture from left to right */
#define NARROW	  360.0	 /* px of the one from top to bottom */
#define MOST_WIDE 8	 /* exits that have room below the wide one */

/*
 * Paths are drawn along x, and things leave to the side where y grows. From top to bottom both are
 * exchanged, but for the labels.
 */
static const struct layout {
	const char *class, *transform;
	double width; /* px of the stream at its beginning */
	double bend;  /* px, inner radius */
	double depth; /* px across, where the heads of the exits begin */
	double label; /* px along that a label needs */
} wide = {"wide", "translate(2 7)", 150, 16, 190, 106},
  narrow = {"narrow", "matrix(0 1 1 0 7 2)", 110, 12, 136, 46};

/* What leaves a path on the way. */
struct way {
	const char *name, *class;
	uint64_t packets, whole; /* the share is of `whole` */
	char why[256];
	double thick; /* px, and */
	double at;    /* px along the path where its bend begins */
};

struct picture {
	struct html *h;
	const struct layout *as;
	double length;	  /* px along, up to the head of the last arrow */
	double delivered; /* px of what arrives */
	double whole;	  /* packets of all exits, and */
	uint64_t arrived; /* of what is `arrival` at the end of the path */
	const char *arrival;
	double head; /* px of the longest head of an exit */
	struct way out[EXITS];
	unsigned n;
};

static double head_length(double thick)
{
	return fmin(7 + thick * 0.4, 26);
}

/* `width`: of the stream before it leaves. */
static void put_exit(const struct picture *p, const struct way *o, double width)
{
	double t = o->thick, at = o->at, r = p->as->bend, depth = p->as->depth;
	unsigned id = p->h->ids++;

	html_put(p->h,
		 "<linearGradient id=\"g%u\" gradientUnits=\"userSpaceOnUse\" x1=\"%.1f\" "
		 "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"><stop class=\"flow\"/>"
		 "<stop offset=\".6\" class=\"%s\"/></linearGradient>",
		 id, at, width - t, at + r + t, depth, o->class);
	html_put(p->h, "<path transform=\"%s\" fill=\"url(#g%u)\" d=\"M%.1f %.1fL%.1f %.1f",
		 p->as->transform, id, at - SEAM, width - t, at, width - t);
	html_put(p->h, "A%.1f %.1f 0 0 1 %.1f %.1fV%.1fh%.1f", r + t, r + t, at + r + t, width + r,
		 depth, OVERHANG);
	html_put(p->h, "L%.1f %.1fL%.1f %.1fH%.1fV%.1f", at + r + t / 2, depth + head_length(t),
		 at + r - OVERHANG, depth, at + r, width + r);
	html_put(p->h, "A%.1f %.1f 0 0 0 %.1f %.1fL%.1f %.1fZ\"/>", r, r, at, width, at - SEAM,
		 width);
}

static void put_label(const struct picture *p, const struct way *o)
{
	double along = FROM + o->at + p->as->bend + o->thick / 2;
	double across = SIDE + p->as->depth + p->head;
	const char *count = fmt_count(o->packets);
	const char *share = page_share(o->packets, o->whole);

	if (p->as == &narrow)
		html_put(p->h,
			 "<text x=\"%.1f\" y=\"%.1f\" class=\"name\">%s</text>"
			 "<text x=\"%.1f\" y=\"%.1f\">%s  %s</text>",
			 across + 10, along - 3, o->name, across + 10, along + 14, count, share);
	else
		html_put(p->h,
			 "<g text-anchor=\"middle\"><text x=\"%.1f\" y=\"%.1f\" class=\"name\">%s"
			 "</text><text x=\"%.1f\" y=\"%.1f\">%s</text>"
			 "<text x=\"%.1f\" y=\"%.1f\" class=\"dim\">%s</text></g>",
			 along, across + 18, o->name, along, across + 36, count, along, across + 53,
			 share);
}

/* The stream itself, narrower behind each exit, with a head if anything arrives. */
static void put_stream(const struct picture *p)
{
	double width = p->as->width;

	html_put(p->h, "<g>");
	if (p->arrival)
		html_put(p->h, "<title>%s %s</title>", fmt_many(p->arrived, "packet"), p->arrival);
	html_put(p->h, "<path class=\"flow\" transform=\"%s\" d=\"M0 0V%.1f", p->as->transform,
		 width);
	for (unsigned i = 0; i < p->n; i++) {
		width = fmax(width - p->out[i].thick, p->delivered);
		html_put(p->h, "H%.1fV%.1f", p->out[i].at, width);
	}
	if (p->delivered > 0)
		html_put(p->h, "H%.1fv%.1fL%.1f %.1fL%.1f %.1f", p->length, OVERHANG,
			 p->length + head_length(p->delivered), width / 2, p->length, -OVERHANG);
	html_put(p->h, "V0Z\"/></g>");
}

static void draw(const struct picture *p)
{
	double along = FROM + p->length + 30, width = p->as->width;
	double across = SIDE + (p->n ? p->as->depth + 26 + 60 : width + 12);
	bool down = p->as == &narrow;

	html_put(p->h,
		 "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" "
		 "aria-label=\"Path of the packets\">",
		 p->as->class, down ? NARROW : along, down ? along : across);
	put_stream(p);
	for (unsigned i = 0; i < p->n; i++) {
		html_put(p->h, "<g><title>%s: %s\n%s</title>", p->out[i].name,
			 fmt_many(p->out[i].packets, "packet"), p->out[i].why);
		put_exit(p, &p->out[i], width);
		put_label(p, &p->out[i]);
		html_put(p->h, "</g>");
		width = fmax(width - p->out[i].thick, p->delivered);
	}
	html_put(p->h, "</svg>");
}

/*
 * How thick everything is, and the exits at places where neither arrows nor labels touch. Returns
 * the room along the path that they need.
 */
static double plan(struct picture *p, const struct layout *as)
{
	double a_packet = p->whole > 0 ? as->width / p->whole : 0, middle = 0, before = 0;

	p->as = as;
	p->head = 0;
	p->delivered = p->arrived ? fmax((double)p->arrived * a_packet, THINNEST) : 0;
	for (unsigned i = 0; i < p->n; i++) {
		struct way *o = &p->out[i];
		double arrows;

		o->thick = fmax((double)o->packets * a_packet, THINNEST);
		p->head = fmax(p->head, head_length(o->thick));
		arrows = before + o->thick / 2 + 2 * OVERHANG + 12;
		middle += i ? fmax(as->label, arrows) : fmax(as->label / 2, arrows + as->bend);
		o->at = middle - as->bend - o->thick / 2;
		before = o->thick / 2;
	}
	return p->n ? middle + fmax(as->label / 2, before + OVERHANG) : 0;
}

/* "SOCKET_RCVBUFF in udp_queue_rcv_one_skb", of the first cause. */
static void put_why(char *buf, size_t size, struct json_object *stage)
{
	struct json_object *c = json_get_item(stage, "causes", 0);
	const char *reason = json_get_text(c, "reason"), *site = json_get_text(c, "location");

	snprintf(buf, size, "%s", html_stage_title(json_get_text(stage, "stage")));
	if (*reason || *site)
		snprintf(buf + strlen(buf), size - strlen(buf), "\n%s%s%s%s", reason,
			 *site ? " in " : "", site,
			 json_get_length(stage, "causes") > 1 ? ", and others" : "");
}

static struct way *add(struct picture *p, const char *name, const char *class, uint64_t packets,
		       uint64_t whole)
{
	struct way *way = &p->out[p->n];

	if (!packets || p->n == EXITS)
		return NULL;
	*way = (struct way){.name = name, .class = class, .packets = packets, .whole = whole};
	p->n++;
	return way;
}

/* All that leaves is there: the pictures, with both ends. From left to right if there is room. */
static void put_picture(struct picture *p, const char *from, uint64_t whole, const char *what,
			const char *to)
{
	double spare;
	bool tall;

	p->whole = (double)p->arrived;
	for (unsigned i = 0; i < p->n; i++)
		p->whole += (double)p->out[i].packets;
	p->whole = fmin(p->whole, 1e19);
	spare = WIDE - FROM - plan(p, &wide);
	tall = p->n > MOST_WIDE || spare < 0;
	html_put(p->h,
		 "<div class=\"path%s\"><div>%s <b>%s</b><br><span class=\"dim\">%s</span></div>",
		 tall ? " tall" : "", what, fmt_count(whole), from);
	if (p->arrival)
		html_put(p->h,
			 "<div class=\"to\">%s <b>%s</b> %s<br><span class=\"dim\">%s</span></div>",
			 p->arrival, fmt_count(p->arrived), page_share(p->arrived, whole), to);
	for (unsigned i = 0; i < p->n; i++)
		p->out[i].at += spare * (i + 0.5) / p->n;
	p->length = WIDE - FROM - 30;
	if (!tall)
		draw(p);
	p->length = fmax(plan(p, &narrow) + 14, 90);
	draw(p);
	html_put(p->h, "<p class=\"hint\">Widths are packets; what would be thinner than a "
		       "hair is drawn as one.</p></div>");
}

void html_path(struct html *h, struct json_object *start, struct json_object *end)
{
	struct json_object *hosts = json_get(start, "hosts");
	uint64_t sent = json_get_u64(end, "sent"), attempted = json_get_u64(end, "attempted");
	const bool balance = !attempted && json_get_i64(end, "arrived") > 0; /* of `trace` */
	struct picture p = {.h = h, .arrived = html_arrived(end), .arrival = html_arrival(end)};

	if (balance) {
		sent = json_get_u64(end, "arrived");
	} else if (!attempted) { /* of what was not lost a trace knows no number */
		sent = json_sum(end, "stages", "packets");
		p.arrival = NULL;
	}
	add(&p, "refused", "refused", json_get_u64(end, "refused"), attempted);
	for (struct json_each stage = json_each(end, "stages"); json_next(&stage);) {
		const char *name = json_get_text(stage.item, "stage");
		struct way *way = add(&p, name, html_colour(h, name),
				      json_get_u64(stage.item, "packets"), sent);

		if (way)
			put_why(way->why, sizeof(way->why), stage.item);
	}
	add(&p, "in flight", "waiting", json_get_u64(end, "in_flight"), sent);
	add(&p, "unaccounted", "unknown", json_get_u64(end, "unaccounted"), sent);
	put_picture(&p, json_get_text(json_get(hosts, "tx"), "name"), sent,
		    balance	? "arrived"
		    : attempted ? "sent"
				: "lost",
		    json_get_text(json_get(hosts, "rx"), "name"));
}

void html_ends_head(struct html *h, struct json_object *doc)
{
	struct json_object *ends = json_get(doc, "between"), *unknown = json_get(ends, "unknown");
	uint64_t lost = json_get_u64(ends, "lost");
	uint64_t open = json_get_u64(unknown, "outside") + json_get_u64(unknown, "dropped_or_cut");

	if (lost)
		html_put(h, "<h1>%s lost between A and B</h1>",
			 page_share(lost, json_get_u64(json_get(ends, "a"), "compared")));
	else
		html_put(h, "<h1>Nothing was seen to be lost between A and B</h1>");
	if (open)
		html_put(h,
			 "<p class=\"warn\">of %s B cannot know: it was not there, "
			 "or its capture dropped or cut packets</p>",
			 fmt_many(open, "packet"));
	html_command(h, json_get(doc, "start"));
}

void html_ends(struct html *h, struct json_object *doc)
{
	struct json_object *ends = json_get(doc, "between"), *unknown = json_get(ends, "unknown");
	struct json_object *a = json_get(ends, "a"), *b = json_get(ends, "b");
	struct json_object *delay = json_get(ends, "latency_ns"), *end;
	uint64_t whole = json_get_u64(a, "compared");
	struct picture p = {
		.h = h, .arrived = json_get_u64(ends, "matched"), .arrival = "in A and B"};

	if (!ends)
		return;
	add(&p, "lost", "c0", json_get_u64(ends, "lost"), whole);
	add(&p, "B not there", "waiting", json_get_u64(unknown, "outside"), whole);
	add(&p, "dropped or cut", "unknown", json_get_u64(unknown, "dropped_or_cut"), whole);
	html_section(h, "From A to B", "");
	put_picture(&p, json_get_text(a, "file"), whole, "in A", json_get_text(b, "file"));
	html_section_end(h);
	if (json_get_i64(delay, "min") >= 0) { /* else the clocks differ: that is below */
		end = json_object_new_object();
		json_put(end, "latency_ns", json_object_get(delay));
		json_put(end, "latency_histogram",
			 json_object_get(json_get(ends, "latency_histogram")));
		json_put_u64(end, "delivered", json_get_u64(ends, "matched"));
		html_delay(h, end);
		json_object_put(end);
	}
	html_section(h, "In numbers", "");
	ends_print(&(struct print_view){.html = h}, ends);
	html_section_end(h);
}
