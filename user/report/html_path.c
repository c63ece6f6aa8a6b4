// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The path as a picture: a stream that is as wide as there are packets, and bends off what is lost.
 */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/capfile.h"
#include "report/print.h"
#include "report/html_page.h"

#define EXITS	  (HTML_STAGES + 3) /* refused, in flight, unaccounted */
#define THINNEST  1.5		    /* px: less could not be seen */
#define LABEL	  106.0		    /* px of a label below its arrow */
#define ROW	  46.0		    /* px of a label beside its arrow */
#define SEAM	  0.7		    /* px of an exit below the stream, so that no gap shows */
#define OVERHANG  5.0		    /* px of an arrow's head at each side */
#define WIDE	  1000.0	    /* px of the picture from left to right */
#define NARROW	  360.0		    /* px of the one from top to bottom */
#define MOST_WIDE 8		    /* exits that have room below the wide one */

/* What leaves a path on the way. */
struct way {
	const char *name, *class;
	uint64_t packets, whole; /* the share is of `whole` */
	char why[256];
	double thick; /* px, and */
	double at;    /* px along the path where its bend begins */
};

/*
 * Points are (along, across): along the path, and from its straight side to the side where things
 * leave. Drawn from left to right, or from top to bottom.
 */
struct picture {
	struct html *h;
	bool down;
	double width;	   /* px of the stream at its beginning */
	double bend;	   /* px, inner radius */
	double from, side; /* px: where the path begins, where its straight side is */
	double length;	   /* px along, up to the head of the last arrow */
	double depth;	   /* px across, where the heads of the exits begin */
	double delivered;  /* px of what arrives */
	double whole;	   /* packets of all exits, and */
	uint64_t arrived;  /* of what is `arrival` at the end of the path */
	const char *arrival;
	double head; /* px of the longest head of an exit */
	struct way out[EXITS];
	unsigned n;
};

static void put_point(const struct picture *p, const char *command, double along, double across)
{
	double a = p->from + along, c = p->side + across;

	html_put(p->h, "%s%.1f %.1f", command, p->down ? c : a, p->down ? a : c);
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

static void put_gradient(const struct picture *p, const struct way *o, double width, unsigned id)
{
	double x1 = p->from + o->at, y1 = p->side + width - o->thick;
	double x2 = x1 + p->bend + o->thick, y2 = p->side + p->depth;

	html_put(p->h,
		 "<linearGradient id=\"g%u\" gradientUnits=\"userSpaceOnUse\" x1=\"%.1f\" "
		 "y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"><stop class=\"flow\"/>"
		 "<stop offset=\".6\" class=\"%s\"/></linearGradient>",
		 id, p->down ? y1 : x1, p->down ? x1 : y1, p->down ? y2 : x2, p->down ? x2 : y2,
		 o->class);
}

/* `width`: of the stream before it leaves. */
static void put_exit(const struct picture *p, const struct way *o, double width)
{
	double t = o->thick, at = o->at, r = p->bend, middle = at + r + t / 2;
	unsigned id = p->h->ids++;

	put_gradient(p, o, width, id);
	html_put(p->h, "<path fill=\"url(#g%u)\" d=\"", id);
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
	html_put(p->h, "Z\"/>");
}

static void put_label(const struct picture *p, const struct way *o)
{
	double along = p->from + o->at + p->bend + o->thick / 2;
	double across = p->side + p->depth + p->head;
	const char *count = html_count(p->h, o->packets);
	const char *share = html_share(p->h, o->packets, o->whole);

	if (p->down)
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
	double width = p->width, end = p->delivered > 0 ? p->length : 0;
	double head = head_length(p->delivered);

	html_put(p->h, "<g><title>%s packets %s</title><path class=\"flow\" d=\"",
		 html_count(p->h, p->arrived), p->arrival);
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
	html_put(p->h, "Z\"/></g>");
}

static void put_picture(struct picture *p, const char *class)
{
	double across = p->side + p->depth + 26 + 60, width = p->width;
	double along = p->from + p->length + 30;

	if (!p->n)
		across = p->side + p->width + 12;
	if (p->down)
		across = NARROW;
	else
		along = WIDE;
	html_put(p->h,
		 "<svg class=\"%s\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" "
		 "aria-label=\"Path of the packets\">",
		 class, p->down ? across : along, p->down ? along : across);
	put_stream(p);
	for (unsigned i = 0; i < p->n; i++) {
		html_put(p->h, "<g><title>%s: %s packets\n%s</title>", p->out[i].name,
			 html_count(p->h, p->out[i].packets), p->out[i].why);
		put_exit(p, &p->out[i], width);
		put_label(p, &p->out[i]);
		html_put(p->h, "</g>");
		width = fmax(width - p->out[i].thick, p->delivered);
	}
	html_put(p->h, "</svg>");
}

/* Thickness of each exit and of what arrives. */
static void measure(struct picture *p)
{
	double a_packet = p->whole > 0 ? p->width / p->whole : 0;

	p->head = 0;
	for (unsigned i = 0; i < p->n; i++) {
		p->out[i].thick = fmax((double)p->out[i].packets * a_packet, THINNEST);
		p->head = fmax(p->head, head_length(p->out[i].thick));
	}
	p->delivered = p->arrived ? fmax((double)p->arrived * a_packet, THINNEST) : 0;
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
static bool plan_wide(struct picture *p)
{
	double spare;

	p->down = false;
	p->width = 150;
	p->bend = 16;
	p->from = 2;
	p->side = OVERHANG + 2;
	measure(p);
	p->length = WIDE - p->from - 30;
	p->depth = p->width + p->bend + 24;
	spare = WIDE - p->from - place(p, LABEL);
	if (p->n > MOST_WIDE || spare < 0)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		p->out[i].at += spare * (i + 0.5) / p->n;
	return true;
}

static void plan_narrow(struct picture *p)
{
	p->down = true;
	p->width = 110;
	p->bend = 12;
	p->from = 2;
	p->side = OVERHANG + 2;
	measure(p);
	p->depth = p->width + p->bend + 14;
	p->length = fmax(place(p, ROW) + 14, 90);
}

/* "SOCKET_RCVBUFF in udp_queue_rcv_one_skb", of the first cause. */
static void put_why(char *buf, size_t size, struct json_object *stage)
{
	struct json_object *list = json_get(stage, "causes"), *c = html_at(list, 0);
	const char *reason = json_get_text(c, "reason"), *place = json_get_text(c, "location");

	snprintf(buf, size, "%s", html_stage_title(json_get_text(stage, "stage")));
	if (*reason || *place)
		snprintf(buf + strlen(buf), size - strlen(buf), "\n%s%s%s%s", reason,
			 *place ? " in " : "", place, html_length(list) > 1 ? ", and others" : "");
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

/* What leaves is there: the frame, in which the ends come next, then end_picture(). */
static void begin_picture(struct picture *p, uint64_t arrived, const char *arrival)
{
	double whole = (double)arrived;
	bool wide;

	for (unsigned i = 0; i < p->n; i++)
		whole += (double)p->out[i].packets;
	p->whole = fmin(whole, 1e19);
	p->arrived = arrived;
	p->arrival = arrival;
	wide = plan_wide(p);
	html_put(p->h, "<div class=\"path%s\">", wide ? "" : " tall");
	p->down = !wide;
}

static void end_picture(struct picture *p)
{
	if (!p->down)
		put_picture(p, "wide");
	plan_narrow(p);
	put_picture(p, "narrow");
	html_put(p->h, "<p class=\"hint\">Widths are packets; what would be thinner than a "
		       "hair is drawn as one.</p></div>");
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
	html_put(h, "<span class=\"dim\">%s", json_get_text(start, side));
	if (*mode)
		html_put(h, " (%s)", mode);
	if (*json_get_text(port, "ifname"))
		html_put(h, " · %s %s", json_get_text(port, "ifname"), address);
	if (json_get_u64(port, "port"))
		html_put(h, " port %lu", json_get_u64(port, "port"));
	if (*json_get_text(host, "name"))
		html_put(h, " on %s", json_get_text(host, "name"));
	html_put(h, "</span>");
}

void html_path(struct html *h, struct json_object *start, struct json_object *end)
{
	struct json_object *stages = json_get(end, "stages");
	uint64_t sent = json_get_u64(end, "sent"), attempted = json_get_u64(end, "attempted");
	struct picture p = {.h = h};

	if (!attempted)
		return;
	add(&p, "refused", "refused", json_get_u64(end, "refused"), attempted);
	for (size_t i = 0; i < html_length(stages); i++) {
		struct json_object *stage = html_at(stages, i);
		const char *name = json_get_text(stage, "stage");
		struct way *way =
			add(&p, name, html_colour(h, name), json_get_u64(stage, "packets"), sent);

		if (way)
			put_why(way->why, sizeof(way->why), stage);
	}
	add(&p, "in flight", "waiting", json_get_u64(end, "in_flight"), sent);
	add(&p, "unaccounted", "unknown", json_get_u64(end, "unaccounted"), sent);
	begin_picture(&p, html_arrived(end), html_arrival(end));
	html_put(h, "<div class=\"from\">");
	if (attempted != sent)
		html_put(h, "attempted <b>%s</b>, ", html_count(h, attempted));
	html_put(h, "sent <b>%s</b><br>", html_count(h, sent));
	put_port(h, start, "tx");
	html_put(h, "</div><div class=\"to\">%s <b>%s</b> %s<br>", html_arrival(end),
		 html_count(h, p.arrived), html_share(h, p.arrived, sent));
	put_port(h, start, "rx");
	html_put(h, "</div>");
	end_picture(&p);
}

void html_ends_head(struct html *h, struct json_object *doc)
{
	struct json_object *ends = json_get(doc, "between"), *unknown = json_get(ends, "unknown");
	uint64_t lost = json_get_u64(ends, "lost");
	uint64_t open = json_get_u64(unknown, "outside") + json_get_u64(unknown, "dropped_or_cut");

	if (lost)
		html_put(h, "<h1>%s lost between A and B</h1>",
			 html_share(h, lost, json_get_u64(json_get(ends, "a"), "compared")));
	else
		html_put(h, "<h1>Nothing was seen to be lost between A and B</h1>");
	if (open)
		html_put(h,
			 "<p class=\"verdict warn\">of %s packets B cannot know: it was not there, "
			 "or its capture dropped or cut packets</p>",
			 html_count(h, open));
	html_command(h, json_get(doc, "start"));
}

static void put_path_of_ends(struct html *h, struct json_object *ends)
{
	struct json_object *unknown = json_get(ends, "unknown");
	struct json_object *a = json_get(ends, "a"), *b = json_get(ends, "b");
	uint64_t whole = json_get_u64(a, "compared"), matched = json_get_u64(ends, "matched");
	struct picture p = {.h = h};

	add(&p, "lost", "c0", json_get_u64(ends, "lost"), whole);
	add(&p, "B not there", "waiting", json_get_u64(unknown, "outside"), whole);
	add(&p, "dropped or cut", "unknown", json_get_u64(unknown, "dropped_or_cut"), whole);
	html_section(h, "From A to B", "");
	begin_picture(&p, matched, "in A and B");
	html_put(h, "<div class=\"from\">in A <b>%s</b><br><span class=\"dim\">%s</span></div>",
		 html_count(h, whole), json_get_text(a, "file"));
	html_put(h,
		 "<div class=\"to\">in A and B <b>%s</b> %s<br><span class=\"dim\">%s</span></div>",
		 html_count(h, matched), html_share(h, matched, whole), json_get_text(b, "file"));
	end_picture(&p);
	html_section_end(h);
}

void html_ends(struct html *h, struct json_object *doc)
{
	struct json_object *ends = json_get(doc, "between"), *delay = json_get(ends, "delay_ns");
	struct json_object *end;

	if (!ends)
		return;
	put_path_of_ends(h, ends);
	if (json_get_i64(delay, "min") >= 0) { /* else the clocks differ: that is below */
		end = json_object_new_object();
		json_put(end, "latency_ns", json_object_get(delay));
		json_put(end, "latency_histogram",
			 json_object_get(json_get(ends, "delay_histogram")));
		json_put_u64(end, "delivered", json_get_u64(ends, "matched"));
		html_delay(h, end);
		json_object_put(end);
	}
	html_section(h, "In numbers", "");
	ends_print(&(struct print_view){.html = h}, ends);
	html_section_end(h);
}
