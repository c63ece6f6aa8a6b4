// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "monitor/session.h"
#include "monitor/sources.h"
#include "cli/top.h"
#include "report/trace.h"

#define TRAFFIC_DEVICES 1024 /* maximum number of interfaces shown */
#define PACKETS		8    /* packets shown for the open row */
#define PACKET_LINE	(PACKET_TEXT + 24)
#define PACKETS_NS	5000000 /* ns, maximum time to read these packets */
#define WORK_SHARE	400	/* read the balance with at most this fraction of a CPU: 1/400 */

struct top {
	const struct live_options *o;
	struct session session;
	struct view view;
	struct view_input in;
	struct live_table now, total; /* rows in the scope. `now` is frozen while paused */
	struct view_device devices[TRAFFIC_DEVICES];
	char clock_text[16], host[64], scope[OWNER_NETNS + 64], *advice;
	unsigned openings; /* value of `view.openings` when `packets` was cleared */
	char packets[PACKETS * PACKET_LINE + 1]; /* one line per packet, oldest first */
	unsigned n_packets;
	struct tcp_balance balance;   /* as of the last read */
	char *tcp_text;		      /* balance as text */
	uint64_t looked_ns, look_ns;  /* ns, time of the last read, and its CPU time */
	bool unbalanced;
};

/* Terminal access through ncurses */

static SCREEN *terminal;

/* Colour for each style. The colour pair has the same number. 0 is the terminal's default. */
static const short colours[] = {
	[STYLE_GOOD] = COLOR_GREEN,
	[STYLE_BAD] = COLOR_RED,
	[STYLE_WARN] = COLOR_YELLOW,
};

#define ESCAPE_MS 25 /* maximum time between Esc and the next character of another key's code */

/*
 * Removes variables that name terminal descriptions. A process with more capabilities than its user
 * must not read such files.
 */
static void forget_descriptions(void)
{
	static const char *const names[] = {"TERMINFO", "TERMINFO_DIRS", "TERMCAP", "TERMPATH",
					    "HOME"};

	for (size_t i = 0; getauxval(AT_SECURE) && i < LENGTH(names); i++)
		unsetenv(names[i]);
}

/*
 * Opens the terminal. Returns -ENOTTY if stdin or stdout is not a terminal or ncurses does not
 * support it.
 */
static int screen_open(struct error *err)
{
	const char *name = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return error_set(err, STATUS_UNABLE, -ENOTTY, NULL, "no terminal");
	setlocale(LC_CTYPE, "");
	forget_descriptions();
	if (name && strcmp(name, "dumb"))
		terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return error_set(err, STATUS_UNABLE, -ENOTTY, NULL,
				 "TERM=%s is no terminal with a screen", name ? name : "");
	set_escdelay(ESCAPE_MS);
	cbreak();
	noecho();
	curs_set(0);
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	if (has_colors() && log_colour(STDOUT_FILENO)) {
		start_color();
		use_default_colors();
		for (unsigned i = 0; i < LENGTH(colours); i++)
			init_pair((short)i, (short)(colours[i] ? colours[i] : -1), -1);
	}
	return 0;
}

static void show(struct top *t)
{
	view_draw(&t->view, &t->in);
	refresh();
}

/* Traffic shown next to the losses, from interface and socket counters */

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

/* Adds a namespace's traffic in its last interval. `ifname`: only this interface (NULL: all). */
static void traffic_add(struct top *t, const struct rates *r, const char *ifname)
{
	struct view_traffic *sum = &t->in.traffic;
	const struct rates_device *d = r->devices.at;
	const uint64_t ns = r->interval;

	/* the names used by procnet_snmp() and in snmp6 */
	sum->read_pps += sum_of(r, "Udp:InDatagrams", "Udp6InDatagrams");
	sum->sent_pps += sum_of(r, "Udp:OutDatagrams", "Udp6OutDatagrams");
	for (unsigned i = 0; i < r->devices.n; i++, d++) {
		const struct rtnl_link_stats64 *s = &d->link.stats;
		struct view_device *v = &t->devices[t->in.n_devices];

		if (t->in.n_devices == TRAFFIC_DEVICES ||
		    (ifname && strcmp(d->link.ifname, ifname)))
			continue;
		*v = (struct view_device){
			.netns = r->netns,
			.inum = r->inum,
			.rx_pps = per_second(s->rx_packets, ns),
			.rx_bps = per_second(s->rx_bytes * 8, ns),
			.tx_pps = per_second(s->tx_packets, ns),
			.tx_bps = per_second(s->tx_bytes * 8, ns),
			.dropped_pps = per_second(s->rx_dropped + s->tx_dropped +
							  s->rx_missed_errors + d->qdisc.drops,
						  ns),
		};
		memcpy(v->ifname, d->link.ifname, sizeof(v->ifname));
		if (strcmp(v->ifname, "lo") || ifname) {
			sum->in_pps += v->rx_pps;
			sum->in_bps += v->rx_bps;
			sum->out_pps += v->tx_pps;
			sum->out_bps += v->tx_bps;
		}
		t->in.n_devices += d->up;
	}
}

/* Reads the traffic for the same scope as the losses shown next to it. */
static void traffic_read(struct top *t)
{
	const struct live_spec *spec = &t->session.spec;
	const struct rates *first = sources_rates(t->session.sources);
	const struct rates *other;
	const uint32_t only = t->view.netns;
	bool known = only, alone = true;
	struct view_input *in = &t->in;
	unsigned at = 0;

	if (!first || !first->interval)
		return;
	in->traffic = (struct view_traffic){};
	in->n_devices = 0;
	if (!only || only == first->inum)
		traffic_add(t, first, spec->ifname);
	while ((other = sources_others(t->session.sources, &at))) {
		alone = false;
		known |= other->interval;
		if (other->interval && (!only || only == other->inum))
			traffic_add(t, other, NULL);
	}
	if (!known && !alone)
		in->traffic = (struct view_traffic){-1, -1, -1, -1, -1, -1};
	else if (spec->ifname) /* socket counters cover all interfaces */
		in->traffic.read_pps = in->traffic.sent_pps = -1;
}

/* Builds the title's description of which losses and traffic are shown. */
static void name_scope(struct top *t)
{
	const struct live_spec *spec = &t->session.spec;
	const char *given = t->o->pod ? t->o->pod : spec->netns;
	char netns[OWNER_NETNS] = "";

	if (t->view.netns)
		owners_netns(spec->owners, t->view.netns, netns);
	else if (given)
		snprintf(netns, sizeof(netns), "%s", given);
	if (spec->ifname)
		snprintf(t->scope, sizeof(t->scope), "%s of %s", spec->ifname,
			 *netns ? netns : "this namespace");
	else
		snprintf(t->scope, sizeof(t->scope), "%s%s",
			 *netns ? "namespace " : "all namespaces", netns);
}

static const struct live_options defaults = {.interval_ns = 1000000000, .flows = TCP_FLOWS};

static const struct opt top_opts[] = {
	{"duration", 't', OPT_TIME, offsetof(struct live_options, duration_ns), .min = 1,
	 .default_text = "until q is typed", .help = "stop after this long"},
	{0},
};

static const struct opt_group top_groups[] = {
	{"Filter", trace_filter_opts, 0},
	{"TCP balance", trace_tcp_opts, 0},
	{"Duration", top_opts, 0},
	{"Tables", trace_view_opts, 0},
	{"Output", global_opts, offsetof(struct live_options, global)},
	{0},
};

/* Copies the rows in scope, as far as memory allows. */
static void rows_in_scope(const struct top *t, const struct live_table *from, struct live_table *to)
{
	table_init(to, LIVE_ROWS);
	for (unsigned i = 0; i < from->n; i++) {
		if (!t->view.netns || from->rows[i].netns == t->view.netns)
			table_add(to, &from->rows[i], ~0u);
	}
}

/*
 * Takes over the collector's counts for display. `ended`: an interval has ended and is added to the
 * history.
 */
static void take(struct top *t, bool ended)
{
	const struct live *l = t->session.live;
	uint64_t interval_ns, time_ns = live_time(l, &interval_ns);
	struct live_table rows;

	rows_in_scope(t, live_interval(l), &rows);
	if (ended)
		view_add(&t->view, &rows, interval_ns);
	if (ended && t->view.paused) {
		table_free(&rows);
		return;
	}
	t->in.time_ns = time_ns;
	t->in.interval_ns = interval_ns;
	table_free(&t->now);
	table_free(&t->total);
	t->now = rows;
	rows_in_scope(t, live_total(l), &t->total);
	live_own(l, &t->in.own);
	traffic_read(t);
	name_scope(t);
	snprintf(t->clock_text, sizeof(t->clock_text), "%s", when_text(when_now(), false));
}

static void on_drop(void *arg, const struct live_drop *drop)
{
	struct top *t = arg;
	char text[PACKET_TEXT], *second = strchr(t->packets, '\n');

	if (!view_is_open(&t->view, &drop->what->row))
		return;
	if (t->n_packets == PACKETS)
		memmove(t->packets, second + 1, strlen(second + 1) + 1);
	else
		t->n_packets++;
	snprintf(t->packets + strlen(t->packets), PACKET_LINE, "%s.%06u  %s\n",
		 when_text(drop->realtime_ns, false),
		 (unsigned)(drop->realtime_ns % 1000000000 / 1000),
		 packet_text(&drop->packet, text, sizeof(text)));
}

/* Reads packets that the open row lost. Samples are taken only while a row is open. */
static void read_packets(struct top *t)
{
	live_sampling(t->session.live, t->view.open);
	if (t->openings != t->view.openings) {
		t->n_packets = 0;
		*t->packets = '\0';
	}
	t->openings = t->view.openings;
	live_read_drops(t->session.live, PACKETS_NS); /* if this fails, no new packets are shown */
}

/*
 * Opens a page whose text replaces *text once page->out is closed. Returns false if out of memory.
 */
static bool text_begin(const struct top *t, struct page *page, char **text)
{
	static size_t size;
	FILE *out;

	free(*text);
	*text = NULL;
	out = open_memstream(text, &size);
	if (out) {
		*page = page_open(out, false, t->balance.sum.retransmitted);
		page->width = (unsigned)COLS - 2;
	}
	return out;
}

/* Reads the outcomes of TCP retransmissions so far, as text from print_tcp(). */
static void read_tcp(struct top *t)
{
	const uint64_t begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct page page;

	if (!t->session.tcp || clock_now() - t->looked_ns <= WORK_SHARE * t->look_ns)
		return;
	t->looked_ns = clock_now();
	if (tcp_account_look(t->session.tcp, &t->balance))
		return;
	t->look_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	if (text_begin(t, &page, &t->tcp_text)) {
		print_tcp(&page, &t->balance, true);
		fclose(page.out);
	}
	t->in.tcp = t->tcp_text;
}

static bool on_interval(void *arg)
{
	struct top *t = arg;

	take(t, true);
	if (!t->view.paused) {
		read_packets(t);
		read_tcp(t);
		show(t);
	}
	return true;
}

static int on_open(void *arg, struct error *err)
{
	struct top *t = arg;

	return live_open_drops(t->session.live, false, true, on_drop, t, err);
}

static void on_start(void *arg)
{
	const struct top *t = arg;

	why_tick(t->session.why); /* attaches a program while that is still permitted */
	caps_give_up(cmd_top.needs, NULL, CAPS_ONCE);
	caps_bar_calls(true, t->session.tcp);
}

/* Explains the open row as trace does. This may take a second. */
static void explain(struct top *t)
{
	static struct live_summary s;
	struct live_table rows;
	struct json_object *finding;
	struct page page;

	if (text_begin(t, &page, &t->advice)) {
		view_chosen(&t->view, &t->in, &rows);
		live_summarise(t->session.live, t->session.why, &rows, &s);
		for (unsigned i = 0; i < s.n_findings; i++) {
			finding = json_finding(&s.finding[i]);
			if (LINES < VIEW_MIN_ROWS + 5) /* the advice is drawn first */
				json_object_object_del(finding, "facts");
			page_finding(&page, NULL, finding);
			json_object_put(finding);
		}
		table_free(&rows);
		fclose(page.out);
	}
	t->in.advice = t->advice;
}

static bool on_input(void *arg)
{
	struct top *t = arg;
	const uint32_t netns = t->view.netns;
	unsigned keys = 0;
	int key;

	for (; (key = getch()) != ERR; keys++) {
		if (key != KEY_RESIZE && view_key(&t->view, key, &t->in))
			return false;
	}
	if (!keys)
		return true;
	if (t->view.netns != netns) {
		sources_select(t->session.sources, t->view.netns);
		take(t, false);
	}
	if (t->view.open)
		explain(t);
	if (!t->view.paused)
		read_packets(t);
	show(t);
	return true;
}

static int open_parts(struct top *t, struct error *err)
{
	struct live_spec *spec = &t->session.spec;
	int rc;

	if (balance_spec(t->o, cmd_top.name, &t->session, err) || caps_require(&cmd_top, NULL, err))
		return -EINVAL;
	t->in.by_flow = spec->by & LIVE_BIT(LIVE_FLOW);
	/* the user chooses the grouping with a key */
	spec->by |= LIVE_BY_DEFAULT | LIVE_BIT(LIVE_CGROUP) | LIVE_BIT(LIVE_CONTAINER) |
		    LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CPU);
	spec->snaplen = LIVE_SNAPLEN;
	spec->few_samples = true;
	gethostname(t->host, sizeof(t->host) - 1);
	t->in.what = *t->o->expr.text ? t->o->expr.text : NULL;
	t->in.scope = t->scope;
	t->in.one_scope = spec->netns || spec->ifname;
	t->view.benign = t->o->all;
	rc = screen_open(err);
	t->view.ascii = strcmp(nl_langinfo(CODESET), "UTF-8");
	return rc;
}

/* Prints the result that stays on the terminal once the screen is closed. */
static void print_sum(struct top *t, struct error *err)
{
	const struct print_view text = global_view(NULL);
	const struct trace_shown shown = {.all = t->o->all,
					  .netns = "",
					  .filtered = t->in.what,
					  .one_netns = t->session.spec.netns};
	static struct live_summary s;
	struct live_table rows;

	live_summarise(t->session.live, t->session.why, NULL, &s);
	table_group(&rows, s.total, LIVE_BY_DEFAULT, 0);
	s.total = &rows;
	t->unbalanced = !session_balance(&t->session, &t->balance, &s, err);
	print_trace_end(&text, &shown, &s);
	table_free(&rows);
}

static int top_run(void *options, struct error *err)
{
	const struct live_options *o = options;
	static struct top t = {
		.session = {.with_why = true,
			    .counters = COUNTERS_OF_ALL,
			    .tcp_ends = true,
			    .on_open = on_open,
			    .on_start = on_start,
			    .on_tick = on_input, /* no signal announces a resize while drawing */
			    .on_interval = on_interval,
			    .on_input = on_input,
			    .arg = &t},
		.in = {.now = &t.now,
		       .total = &t.total,
		       .host = t.host,
		       .clock_text = t.clock_text,
		       .devices = t.devices,
		       .packets = t.packets,
		       .traffic = {-1, -1, -1, -1, -1, -1}},
	};
	int rc;

	t.o = o;
	t.session.interval_ns = o->interval_ns;
	t.session.duration_ns = o->duration_ns;
	if (global_json(&o->global))
		rc = error_usage(err, "use trace --json-lines", "top prints no JSON");
	else
		rc = open_parts(&t, err);
	if (rc == -ENOTTY) {
		log_info("%s: printing lines as trace does", err->message);
		*err = (struct error){};
		return trace_lines(o, err);
	}
	if (!rc)
		rc = session_run(&t.session, err);
	if (terminal) {
		endwin();
		delscreen(terminal);
	}
	if (t.session.started)
		print_sum(&t, err);
	session_end(&t.session);
	free(t.advice);
	free(t.tcp_text);
	table_free(&t.now);
	table_free(&t.total);
	table_free(&t.view.opened);
	return !rc && t.unbalanced ? STATUS_BROKEN : rc;
}

static const struct opt_need needs[] = {TRACE_NEEDS, {0}};

static const struct opt_example examples[] = {
	{"top", "show the whole host"},
	{"top udp port 5060", "show the packets of one application"},
	{"top --by flow -I 5", "also show flows, updated every five seconds"},
	{"top --balance tcp port 443", "show the outcome of each retransmitted segment"},
	{0},
};

const struct command cmd_top = {
	.name = "top",
	.summary = "show packet drops live on the full screen",
	.everyday = "netns interface pid stage balance duration by interval help",
	.description =
		"Shows the path of packets from the interface to the socket and back, with current "
		"losses at each stage, the last minute, and the sockets, interfaces, processes or "
		"flows with the most losses. Losses and traffic cover all network namespaces, or "
		"the namespace given by --netns. Press n to show only the namespace of the "
		"selected row and n again to show all, g to change the grouping, s to change the "
		"sort column, / to filter rows by a text, Enter to open the selected row with "
		"advice and its last packets, ? to show all keys, q to quit. Counts are the same "
		"as in `trace`. Without a terminal, or on a dumb terminal, top prints the lines of "
		"`trace` instead.",
	.groups = top_groups,
	.args = expr_arg,
	.defaults = &defaults,
	.size = sizeof(struct live_options),
	.needs = needs,
	.examples = examples,
	.run = top_run,
};
