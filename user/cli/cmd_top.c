// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "monitor/session.h"
#include "monitor/sources.h"
#include "cli/top.h"
#include "report/trace.h"

#define TRAFFIC_DEVICES 256 /* shown at most */

struct top {
	const struct live_options *o;
	struct session session;
	struct view view;
	struct view_input in;
	struct canvas canvas;
	struct live_table frozen_now, frozen_total; /* what a paused screen shows */
	struct view_device devices[TRAFFIC_DEVICES];
	char clock_text[16], host[64], *advice;
};

/* The terminal, by ncurses */

static SCREEN *terminal;

/* A pair of colours for each style; 0: as the terminal is. */
static const short colours[] = {
	[STYLE_GOOD] = COLOR_GREEN,
	[STYLE_BAD] = COLOR_RED,
	[STYLE_WARN] = COLOR_YELLOW,
};

#define N_COLOURS (sizeof(colours) / sizeof(*colours))

/* Takes the terminal; STATUS_UNABLE if stdin or stdout is none, or ncurses does not know it. */
static int screen_open(struct error *err)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, STATUS_UNABLE, -ENOTTY, "use trace, which prints lines",
				 "top needs a terminal");
	setlocale(LC_CTYPE, "");
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return error_set(err, STATUS_UNABLE, -ENOTTY, "set TERM, or use trace",
				 "this terminal (TERM=%s) is not known",
				 getenv("TERM") ? getenv("TERM") : "");
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	if (has_colors() && log_colour(STDOUT_FILENO)) {
		start_color();
		use_default_colors();
		for (unsigned i = 0; i < N_COLOURS; i++) {
			if (colours[i])
				init_pair((short)i, colours[i], -1);
		}
	}
	return 0;
}

/* As large as the terminal is now. */
static void show(struct top *t)
{
	struct canvas *c = &t->canvas;
	int rows, cols;

	getmaxyx(stdscr, rows, cols);
	c->ascii = strcmp(nl_langinfo(CODESET), "UTF-8");
	if (canvas_resize(c, cols > 0 ? (unsigned)cols : 0, rows > 0 ? (unsigned)rows : 0))
		return;
	view_draw(&t->view, &t->in, c);
	for (unsigned i = 0; i < c->cols * c->rows; i++) {
		const struct cell *cell = &c->cells[i];
		const unsigned style = cell->style & ~(unsigned)CANVAS_REVERSED;
		const bool coloured = has_colors() && style < N_COLOURS && colours[style];
		const wchar_t text[2] = {cell->at, 0};
		cchar_t out;

		setcchar(&out, text,
			 (cell->style & CANVAS_REVERSED ? A_REVERSE : A_NORMAL) |
				 (style == STYLE_BOLD  ? A_BOLD
				  : style == STYLE_DIM ? A_DIM
						       : A_NORMAL),
			 coloured ? (short)style : 0, NULL);
		mvadd_wch((int)(i / c->cols), (int)(i % c->cols), &out);
	}
	refresh();
}

/* What passes, beside what is lost: from the counters of devices and sockets */

static double sum_of(const struct rates *r, const char *name, const char *name6)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->deltas.n; i++) {
		const struct counter *d = &r->deltas.items[i];

		if (!strcmp(d->name, name) || !strcmp(d->name, name6))
			sum += d->value;
	}
	return per_second(sum, r->interval);
}

/* Of the last interval of `r`. Returns how many devices were written to `devices`. */
static unsigned traffic_read(const struct rates *r, struct view_traffic *sum,
			     struct view_device devices[TRAFFIC_DEVICES])
{
	const struct rates_device *d = r->devices.at;
	const uint64_t ns = r->interval;
	unsigned shown = 0;

	/* the names of procnet_snmp() and of snmp6 */
	*sum = (struct view_traffic){.read_pps = sum_of(r, "Udp:InDatagrams", "Udp6InDatagrams"),
				     .sent_pps = sum_of(r, "Udp:OutDatagrams", "Udp6OutDatagrams")};
	for (unsigned i = 0; i < r->devices.n; i++, d++) {
		const struct rtnl_link_stats64 *t = &d->link.stats;
		struct view_device v = {
			.netns = r->netns,
			.rx_pps = per_second(t->rx_packets, ns),
			.rx_bps = per_second(t->rx_bytes * 8, ns),
			.tx_pps = per_second(t->tx_packets, ns),
			.tx_bps = per_second(t->tx_bytes * 8, ns),
			.dropped_pps = per_second(t->rx_dropped + t->tx_dropped +
							  t->rx_missed_errors + d->qdisc.drops,
						  ns),
		};

		memcpy(v.ifname, d->link.ifname, sizeof(v.ifname));
		if (strcmp(v.ifname, "lo")) {
			sum->in_pps += v.rx_pps;
			sum->in_bps += v.rx_bps;
			sum->out_pps += v.tx_pps;
			sum->out_bps += v.tx_bps;
		}
		if (d->up && shown < TRAFFIC_DEVICES)
			devices[shown++] = v;
	}
	return shown;
}

static const struct live_options defaults = {.interval_ns = 1000000000};

static const struct opt top_opts[] = {
	{"duration", 't', OPT_TIME, offsetof(struct live_options, duration_ns), .min = 1,
	 .default_text = "until q is typed", .help = "end after so long"},
	{0},
};

static const struct opt_group top_groups[] = {
	{"What", trace_filter_opts, 0},
	{"How long", top_opts, 0},
	{"Tables", trace_view_opts, 0},
	{"Output", global_opts, offsetof(struct live_options, global)},
	{0},
};

static bool on_interval(void *arg)
{
	struct top *t = arg;
	const struct live *l = t->session.live;
	const struct rates *rates = sources_rates(t->session.sources);
	struct view_input last = t->in;

	t->in.now = live_interval(l);
	t->in.total = live_total(l);
	t->in.time_ns = live_time(l, &t->in.interval_ns);
	live_own(l, &t->in.own);
	view_add(&t->view, &t->in);
	if (t->view.paused) {
		t->in = last;
		return true;
	}
	if (rates && rates->interval)
		t->in.n_devices = traffic_read(rates, &t->in.traffic, t->devices);
	when_text(t->clock_text, sizeof(t->clock_text), when_now(), false);
	show(t);
	return true;
}

static void on_start(void *arg)
{
	(void)arg;
	caps_give_up(cmd_top.needs, NULL, CAPS_ONCE);
}

/* About the stage of the row that is open, as trace prints it. It may take a second. */
static void explain(struct top *t)
{
	const enum stage stage = view_stage(&t->view, &t->in);
	static struct live_summary s;
	struct json_object *finding;
	struct page page;
	size_t size;
	FILE *out;

	free(t->advice);
	t->in.advice = t->advice = NULL;
	out = open_memstream(&t->advice, &size);
	if (!out)
		return;
	page = page_open(out, false, 0);
	page.width = t->canvas.cols - 1;
	live_summarise(t->session.live, t->session.why, &s);
	for (unsigned i = 0; i < s.n_findings; i++) {
		if (s.finding[i].stage != stage)
			continue;
		finding = json_finding(&s.finding[i]);
		page_finding(&page, NULL, finding, true);
		json_object_put(finding);
	}
	fclose(out);
	t->in.advice = t->advice;
}

static bool on_input(void *arg)
{
	struct top *t = arg;
	int key;

	while ((key = getch()) != ERR) {
		if (key != KEY_RESIZE && view_key(&t->view, key, t->in.by_flow))
			return false;
	}
	if (t->view.open)
		explain(t);
	/* the tables of the collector go on; what a paused screen shows is a copy */
	if (t->view.paused && t->in.now != &t->frozen_now) {
		table_free(&t->frozen_now);
		table_free(&t->frozen_total);
		if (!table_group(&t->frozen_now, t->in.now, ~0u, 0) &&
		    !table_group(&t->frozen_total, t->in.total, ~0u, 0)) {
			t->in.now = &t->frozen_now;
			t->in.total = &t->frozen_total;
		}
	}
	show(t);
	return true;
}

static int open_parts(struct top *t, struct error *err)
{
	struct live_spec *spec = &t->session.spec;

	if (trace_spec(t->o, spec, err) || caps_require(&cmd_top, NULL, err))
		return -EINVAL;
	t->in.by_flow = spec->by & LIVE_BIT(LIVE_FLOW);
	/* what they are grouped by is chosen with a key */
	spec->by |= LIVE_BY_DEFAULT | LIVE_BIT(LIVE_CGROUP) | LIVE_BIT(LIVE_CONTAINER) |
		    LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CPU);
	gethostname(t->host, sizeof(t->host) - 1);
	t->in.what = spec->expr;
	t->view.benign = t->o->all;
	return screen_open(err);
}

/* What is left on the terminal when the screen is gone. */
static void print_sum(const struct top *t)
{
	const struct print_view text = {
		.out = stdout, .colour = log_colour(STDOUT_FILENO), .width = print_columns(stdout)};
	struct json_object *start = json_object_new_object(), *end;
	static struct live_summary s;

	live_summarise(t->session.live, t->session.why, &s);
	end = json_trace_end(&s, LIVE_BY_DEFAULT);
	json_put_bool(start, "all", t->o->all);
	print_trace_end(&text, start, end);
	json_object_put(end);
	json_object_put(start);
}

static int top_run(void *options, struct error *err)
{
	const struct live_options *o = options;
	static struct top t = {
		.session = {.with_why = true,
			    .counters = true,
			    .on_start = on_start,
			    .on_interval = on_interval,
			    .on_input = on_input,
			    .arg = &t},
		.view.order = TABLE_BY_PACKETS,
		.in = {.now = &t.frozen_now,
		       .total = &t.frozen_total,
		       .host = t.host,
		       .clock_text = t.clock_text,
		       .devices = t.devices,
		       .traffic = {-1, -1, -1, -1, -1, -1}},
	};
	int rc;

	t.o = o;
	t.session.interval_ns = o->interval_ns;
	t.session.duration_ns = o->duration_ns;
	if (global_json(&o->global))
		rc = error_usage(err, "use trace --json-lines", "top is for people");
	else
		rc = open_parts(&t, err);
	if (!rc)
		rc = session_run(&t.session, err);
	if (terminal) {
		endwin();
		delscreen(terminal);
	}
	if (t.session.started)
		print_sum(&t);
	session_end(&t.session);
	free(t.canvas.cells);
	free(t.advice);
	table_free(&t.frozen_now);
	table_free(&t.frozen_total);
	return rc;
}

static const struct opt_need needs[] = {TRACE_NEEDS, {0}};

static const struct opt_example examples[] = {
	{"top", "the whole host"},
	{"top udp port 5060", "the packets of one application"},
	{"top --by flow -I 5", "flows too, every five seconds"},
	{0},
};

const struct command cmd_top = {
	.name = "top",
	.summary = "what trace shows, full screen, along the path of a packet",
	.description = "The path of a packet from the device to the socket and back, with what is "
		       "lost at each stage now, the last minute, and the worst sockets, "
		       "interfaces, processes or flows. g changes what they are grouped by, "
		       "Enter opens the chosen row with what to do about it, h shows all keys, q "
		       "leaves. Counts are those of `trace`.",
	.groups = top_groups,
	.args = expr_arg,
	.defaults = &defaults,
	.size = sizeof(struct live_options),
	.needs = needs,
	.examples = examples,
	.run = top_run,
};
