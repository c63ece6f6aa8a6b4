// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The screen of `top`, drawn without a terminal. */
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cli/top.h"

#define SECOND 1000000000ULL

/* Everything that is shown, as set by set_up(). */
static struct {
	struct live_table now, total;
	struct view_device devices[2];
	struct view_input in;
	struct view view;
} f;

static const char *netns = ""; /* of the rows that are added */
static uint32_t inum;

static void add(struct live_table *t, enum stage stage, enum drop_class class, const char *reason,
		const char *socket, const char *process, uint64_t packets)
{
	struct live_row row = {.stage = stage, .class = class, .netns = inum};

	live_row_begin(&row, "", "");
	row.text[LIVE_DIRECTION] = "rx";
	row.text[LIVE_REASON] = reason;
	row.text[LIVE_IFNAME] = "eth0";
	row.text[LIVE_NETNS] = netns;
	row.text[LIVE_SOCKET] = socket;
	row.text[LIVE_PROCESS] = process;
	row.text[LIVE_FLOW] = "udp 198.18.0.1:40000 > 198.18.0.2:5060";
	row.counts =
		(struct live_counts){.events = packets, .packets = packets, .bytes = packets * 540};
	assert_true(table_add(t, &row, ~0u));
}

static void set_size(unsigned cols, unsigned rows)
{
	assert_int_equal(resizeterm((int)rows, (int)cols), OK);
}

static void set_up(unsigned cols, unsigned rows)
{
	table_free(&f.now);
	table_free(&f.total);
	table_free(&f.view.opened);
	memset(&f, 0, sizeof(f));
	table_init(&f.now, LIVE_ROWS);
	table_init(&f.total, LIVE_ROWS);
	add(&f.now, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "198.18.0.2:5060", "sipd", 60240);
	add(&f.now, STAGE_NETFILTER, CLASS_LOSS, "NETFILTER_DROP", "", "", 622);
	add(&f.total, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "198.18.0.2:5060", "sipd",
	    1203112);
	add(&f.total, STAGE_NETFILTER, CLASS_LOSS, "NETFILTER_DROP", "", "", 9000);
	add(&f.total, STAGE_QDISC, CLASS_LOSS, "QDISC_DROP", "", "", 17);
	add(&f.total, STAGE_L2, CLASS_EXPECTED, "OTHERHOST", "", "", 4000);
	f.devices[0] = (struct view_device){"eth0", "", 1, 812000, 3.4e9, 1200, 1e6, 311};
	f.devices[1] = (struct view_device){"v-rx", "lab-rx", 2, 5, 4000, 0, 0, 0};
	f.in = (struct view_input){
		.now = &f.now,
		.total = &f.total,
		.time_ns = 60 * SECOND,
		.interval_ns = 2 * SECOND,
		.traffic = {812000, 3.4e9, 1200, 1e6, 781000, 1100},
		.devices = f.devices,
		.n_devices = 2,
		.what = "udp port 5060",
		.scope = "all namespaces",
		.host = "sick",
		.clock_text = "12:03:44",
	};
	set_size(cols, rows);
}

/* The screen as text; to be looked at with TOP_SHOW=1. */
static const char *drawn(void)
{
	static char text[65536];
	char *to = text;

	view_draw(&f.view, &f.in);
	for (int y = 0; y < LINES; y++) {
		int n = mvinnstr(y, 0, to, 1000);

		while (n > 0 && to[n - 1] == ' ')
			n--;
		to += n > 0 ? n : 0;
		*to++ = '\n';
	}
	*to = '\0';
	if (getenv("TOP_SHOW"))
		fprintf(stderr, "%s\n", text);
	return text;
}

static void check_screen(bool shown, const char *const *texts)
{
	const char *screen = drawn();

	for (; *texts; texts++) {
		if (!strstr(screen, *texts) == shown)
			fail_msg("%s \"%s\" in:\n%s", shown ? "no" : "a", *texts, screen);
	}
}

#define shows(...) check_screen(true, (const char *[]){__VA_ARGS__, NULL})
#define hides(...) check_screen(false, (const char *[]){__VA_ARGS__, NULL})

/* The stage of the selected row, and all losses of its group. */
static enum stage chosen_stage(uint64_t *packets)
{
	enum stage stage = STAGE_NONE;
	struct live_table rows;

	view_chosen(&f.view, &f.in, &rows);
	*packets = table_sum(&rows, 0, STAGE_NONE).packets;
	for (unsigned i = 0; i < rows.n; i++) {
		assert_true(!i || rows.rows[i].stage == stage);
		stage = rows.rows[i].stage;
	}
	table_free(&rows);
	return stage;
}

static void press(const char *keys)
{
	while (*keys)
		view_key(&f.view, *keys++, &f.in);
}

CASE(test_sizes)
{
	static const unsigned sizes[][2] = {{80, 24}, {200, 60}, {60, 16}, {133, 40}, {50, 15}};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const unsigned cols = sizes[i][0], rows = sizes[i][1];
		const char *screen;

		set_up(cols, rows);
		view_add(&f.view, &f.now, f.in.interval_ns);
		screen = drawn();
		shows("pktledger top  sick  udp port 5060", "12:03:44  2 s");
		shows("all namespaces, by sockets");
		/* stages without loss collapse */
		shows(rows < 30 ? "in 812k/s ▶ ... ─ netfilter▼311 ─ ..."
					       : "in 812k/s ▶ nic_ring ─ xdp");
		shows("netfilter▼311 ─", "rcvbuf▼30.1k ─", "read 781k/s", "lost 30.4k/s 3.74 %");
		shows("pps↓");
		shows(cols < 80	 ? "\n>   30.1k   99.26 %  rcvbuf"
				     : cols < 100 ? "\n>   30.1k     1.20M   99.26 %  rcvbuf"
						  : "\n>   30.1k     16.3M     1.20M   99.26 %  rcvbuf");
		shows(cols < 80 ? "   <0.01 %  qdisc" : " 17   <0.01 %  qdisc");
		shows("q quit  ? help  Enter open");
		/* a wide screen also has the cause and the interface */
		assert_int_equal(strstr(screen, "SOCKET_RCVBUFF  eth0") != NULL, cols >= 132);
		if (rows >= 24)
			shows("out 1.20k/s");
		hides("too small");
	}
}

CASE(test_too_small)
{
	static const unsigned sizes[][2] = {{20, 5}, {1, 1}, {49, 40}, {80, 14}};

	for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		set_up(sizes[i][0], sizes[i][1]);
		if (sizes[i][0] >= 20)
			shows("too small");
		else
			drawn();
	}
}

CASE(test_table)
{
	const char *screen;

	set_up(120, 40);
	screen = drawn();
	add(&f.total, STAGE_RCVBUF, CLASS_SUSPECTED, "", "198.18.0.2:5060", "sipd", 5);
	shows("30.1k     16.3M     1.20M   99.26 %  rcvbuf ", "198.18.0.2:5060  sipd");
	shows("         5            rcvbuf?    198.18.0.2:5060  sipd"); /* apart */
	hides("OTHERHOST");
	press("g");
	screen = drawn();
	shows("SOCKET_RCVBUFF", "by reasons");
	/* rows with earlier losses follow rows with current losses */
	assert_true(strstr(screen, "QDISC_DROP") > strstr(screen, "NETFILTER_DROP"));
	press("b");
	shows("OTHERHOST");
	press("d");
	screen = drawn();
	shows("v-rx in lab-rx", "3.40G");
	press("h");
	shows("group by sockets");
	press("x"); /* any key leaves it */
	hides("group by sockets");
}

/* In place of the last minute, above rows; t shows more of these. */
CASE(test_balance_of_tcp)
{
	set_up(120, 40);
	f.in.tcp = "retransmitted   56\n  lost here     55  98.21 %  netfilter 55\n";
	shows("\n retransmitted   56", "\n   lost here     55  98.21 %  netfilter 55");
	shows("198.18.0.2:5060  sipd");
	press("d");
	hides("retransmitted");
	press("dt");
	hides("retransmitted");
	shows("198.18.0.2:5060  sipd");
	press("t");
	shows("retransmitted");
	set_size(VIEW_MIN_COLS, VIEW_MIN_ROWS);
	shows("retransmitted");
}

/* A namespace may be called by its pod: its name is cut, interfaces are told apart. */
CASE(test_long_names)
{
	char pod[50];

	memset(pod, 'p', sizeof(pod) - 1);
	pod[sizeof(pod) - 1] = '\0';
	set_up(80, 24);
	f.devices[0].netns = pod;
	f.view.devices = true;
	shows("\n>eth0 in pppppppppppppppppppp…      812k     3.40G");
	set_up(50, 15); /* no room for bits/s */
	f.view.devices = true;
	shows("\n interface         rx pps    tx pps   drops/s");
}

/* On a large screen, another grouping and the busy interfaces follow below. */
CASE(test_large)
{
	const char *screen, *at;

	set_up(200, 60);
	f.devices[1].rx_pps = 0; /* idle */
	f.view.grouping = 1;
	screen = drawn();
	at = strstr(screen, "SOCKET_RCVBUFF");
	at = at ? strstr(at, "stage      process") : NULL;
	at = at ? strstr(at, "rcvbuf     sipd") : NULL;
	at = at ? strstr(at, "interface") : NULL;
	if (!at)
		fail_msg("no processes and interfaces below the reasons:\n%s", screen);
	assert_non_null(strstr(at, "\n eth0           812k"));
	assert_null(strstr(at, "v-rx"));
	f.in.by_flow = true;
	shows("stage      flow");
}

/* A history longer than the screen is wide is shown whole, with its peak. */
CASE(test_long_history)
{
	set_up(80, 24);
	for (unsigned i = 0; i < 500; i++) {
		f.in.interval_ns = i == 3 ? SECOND : 100 * SECOND; /* the most, a hundred times */
		view_add(&f.view, &f.now, f.in.interval_ns);
	}
	f.view.open = true;
	shows("losses at this stage in the last 500 intervals, at most 60.2k/s", "\n █▁▁▁▁");
}

/* Nothing of the help is cut on the smallest screen. */
CASE(test_help_fits)
{
	set_up(VIEW_MIN_COLS, VIEW_MIN_ROWS);
	press("?");
	shows("interfaces: packets and bits/s\n", "q  leave\n");
}

/* `s` goes through the columns, numbers first, and marks the one it sorts by. */
CASE(test_sort)
{
	static const struct {
		const char *title, *marked, *first, *then;
	} table[] = {
		{"sorted by pps", "pps↓", "1.20M   37.46 %  rcvbuf", "2.00M   62.26 %  l2"},
		{"sorted by bytes/s", "bytes/s↓", "%  rcvbuf", "%  l2"},
		{"sorted by packets", "packets↓", "2.00M   62.26 %  l2", "1.20M   37.46 %  rcvbuf"},
		{"sorted by stage", "stage↓", "%  netfilter", "%  rcvbuf"},
		{"sorted by pps", "pps↓", "%  rcvbuf", "%  l2"},
	};

	set_up(120, 40);
	add(&f.total, STAGE_L2, CLASS_LOSS, "", "", "zed", 2000000);
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const char *screen = drawn();

		shows(table[i].title, table[i].marked);
		assert_true(strstr(screen, table[i].first) < strstr(screen, table[i].then));
		press("s");
	}
}

CASE(test_filter_of_rows)
{
	uint64_t packets;

	set_up(120, 40);
	press("/");
	for (const char *k = "Qdix"; *k; k++) /* of which q does not leave */
		assert_false(view_key(&f.view, *k, &f.in));
	shows("no row has \"Qdix\"");
	view_key(&f.view, KEY_BACKSPACE, &f.in);
	shows("rows with \"Qdi_", "<0.01 %  qdisc");
	hides("%  rcvbuf");
	assert_int_equal(chosen_stage(&packets), STAGE_QDISC);
	assert_int_equal(packets, 17);
	press("\r");
	shows("rows with \"Qdi\"");
	assert_true(view_key(&f.view, 'q', &f.in));
	view_key(&f.view, 0x1b, &f.in);
	hides("rows with");
	shows("%  rcvbuf");
	press("d/v");
	shows("v-rx in lab-rx");
	hides("eth0");
}

/* `n` takes the namespace of the chosen row, where it lost most, or of the device. */
CASE(test_scope)
{
	set_up(120, 40);
	inum = 7;
	netns = "small";
	add(&f.total, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "198.18.0.2:5060", "sipd", 10);
	add(&f.now, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "198.18.0.2:5060", "sipd", 70000);
	inum = 9;
	netns = "large";
	add(&f.total, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "198.18.0.2:5060", "sipd", 80);
	inum = 0;
	netns = "";
	view_add(&f.view, &f.now, f.in.interval_ns);
	press("n"); /* by sockets: each namespace has its row */
	assert_int_equal(f.view.netns, 7);
	assert_int_equal(f.view.shown, 1); /* the history is kept */
	press("n");
	assert_int_equal(f.view.netns, 0);
	press("g"); /* by reasons: both are one row */
	press("n");
	assert_int_equal(f.view.netns, 9);
	press("nd");
	view_key(&f.view, KEY_DOWN, &f.in);
	press("n");
	assert_int_equal(f.view.netns, 2);
	press("n");
	f.in.one_scope = true;
	press("n");
	assert_int_equal(f.view.netns, 0);
}

/* Where there is no room for all columns, the longest names are cut. */
CASE(test_columns_fit)
{
	netns = "cni-8d0f4bd7-ffa6-27c1-5a55-b98abf5b0cbd";
	set_up(80, 24);
	netns = "";
	shows("rcvbuf     cni-8d0f4bd…  198.18.0.2:5060  sipd\n");
	f.in.one_scope = true; /* that all rows are of it is said above */
	hides("cni-");
	shows("rcvbuf     198.18.0.2:5060  sipd\n");
	set_size(50, 15); /* no room for all: which program it is stays */
	shows("rcvbuf     sipd\n");
}

/* The chosen row is open: all of its texts, what to do, its last minutes. */
CASE(test_open_row)
{
	uint64_t packets;

	set_up(80, 24);
	add(&f.total, STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", "*:53", "named", 40);
	for (unsigned i = 0; i < 70; i++)
		view_add(&f.view, &f.now, f.in.interval_ns);
	/* not what another socket lost at the same stage */
	assert_int_equal(chosen_stage(&packets), STAGE_RCVBUF);
	assert_int_equal(packets, 1203112);
	f.in.advice = "\nrcvbuf - full\n  fix  read faster";
	press("\r");
	shows("stage rcvbuf  socket 198.18.0.2:5060  process sipd  packets 1.20M");
	shows("losses at this stage in the last 70 intervals, at most ", "\n   fix  read faster");
	hides("  stage      socket");
	view_key(&f.view, KEY_DOWN, &f.in);
	f.in.advice = NULL;
	assert_int_not_equal(chosen_stage(&packets), STAGE_RCVBUF);
	hides("process sipd");
	for (unsigned i = 0; i < 100; i++) /* no further than to the last row */
		view_key(&f.view, KEY_DOWN, &f.in);
	drawn();
	assert_in_range(f.view.at, 1, 20);
	view_key(&f.view, KEY_ENTER, &f.in);
	shows("  stage      socket");
}

/* Other rows lose more now, but the opened row stays open. */
CASE(test_open_row_stays)
{
	uint64_t packets;

	set_up(80, 24);
	view_key(&f.view, KEY_DOWN, &f.in);
	press("\r");
	assert_int_equal(chosen_stage(&packets), STAGE_NETFILTER);
	assert_int_equal(f.view.openings, 1);
	add(&f.now, STAGE_NETFILTER, CLASS_LOSS, "NETFILTER_DROP", "", "", 1000000);
	shows("\n stage netfilter");
	assert_int_equal(f.view.at, 0); /* where it stands now */
	add(&f.now, STAGE_QDISC, CLASS_LOSS, "QDISC_DROP", "", "", 2000000);
	press("b");
	assert_int_equal(chosen_stage(&packets), STAGE_NETFILTER);
	assert_int_equal(f.view.openings, 1);
	view_key(&f.view, KEY_UP, &f.in); /* the next to it, as they are sorted now */
	assert_int_equal(chosen_stage(&packets), STAGE_QDISC);
	assert_int_equal(f.view.openings, 2);
	shows("\n stage qdisc");
}

/* With little room: what to do, the newest packets, the last minutes, in that order. */
CASE(test_open_row_shares_room)
{
	static const char advice[] =
		"\nrcvbuf - full\n  loss      1\n            2\n            3\n"
		"            4\n            5\n            6\n  fix       7\n";
	static const char packets[] = "first\nb\nc\nd\ne\nf\ng\nlast\n";
	for (unsigned rows = 60; rows >= 15; rows--) {
		set_up(rows < 20 ? 50 : 80, rows);
		view_add(&f.view, &f.now, f.in.interval_ns);
		f.in.advice = advice;
		f.in.packets = packets;
		press("\r");
		shows("\n stage rcvbuf  socket 198.18.0.2:5060", "\n rcvbuf - full\n");
		shows("Enter close");
		if (rows >= 17)
			shows("\n   fix       7\n");
		if (rows >= 20)
			shows("\n last lost packets\n");
		if (rows >= 20)
			shows("\n g\n last\n");
		if (rows >= 28)
			shows("\n first\n");
		if (rows >= 28)
			shows("losses at this stage in the last 1 intervals");
	}
	set_up(50, 15);
	f.in.advice = "1\n2\n3\n4\n5\n6\n7\nas far as it goes\n9\n";
	press("\r");
	shows("\n as far as it goes …\n");
}

/* Space: nothing that is drawn changes, and the history has no gap afterwards. */
CASE(test_pause_freezes)
{
	char before[65536];

	set_up(80, 24);
	view_add(&f.view, &f.now, f.in.interval_ns);
	press(" ");
	strcpy(before, drawn());
	shows("PAUSED");
	for (unsigned i = 0; i < VIEW_LAST; i++)
		view_add(&f.view, &f.now, f.in.interval_ns);
	assert_string_equal(drawn(), before);
	press(" ");
	shows("█████");
	press(" ");
	for (unsigned i = 0; i <= VIEW_HISTORY; i++)
		view_add(&f.view, &f.now, f.in.interval_ns);
	hides("█"); /* all that was shown is overwritten by now */
}

CASE(test_keys)
{
	struct view_input in = {0};
	struct view v = {0};

	for (unsigned flows = 0; flows < 2; flows++) { /* which are one more to group by */
		in.by_flow = flows;
		for (unsigned i = 0; i < 6 + flows; i++)
			assert_false(view_key(&v, 'g', &in));
		assert_int_equal(v.grouping, 0);
	}
	view_key(&v, KEY_UP, &in);
	assert_int_equal(v.at, 0);
	view_key(&v, KEY_NPAGE, &in);
	view_key(&v, KEY_UP, &in);
	assert_int_equal(v.at, 9);
	view_key(&v, KEY_PPAGE, &in);
	assert_int_equal(v.at, 0);
	assert_false(view_key(&v, 'x', &in));
	assert_true(view_key(&v, 'q', &in));
}

/* The last minute: older values are removed. */
CASE(test_history)
{
	set_up(120, 40);
	view_add(&f.view, &f.now, f.in.interval_ns);
	assert_true(f.view.history[0][STAGE_RCVBUF] == 30120);
	assert_true(f.view.history[0][STAGE_NETFILTER] == 311);
	assert_true(f.view.history[0][STAGE_L2] == 0);
	shows("█");
	table_clear(&f.now);
	for (unsigned i = 0; i < VIEW_HISTORY; i++)
		view_add(&f.view, &f.now, f.in.interval_ns);
	assert_true(f.view.history[0][STAGE_RCVBUF] == 0);
	hides("█");
}

CASE(test_plain_characters)
{
	set_up(80, 24);
	f.view.ascii = true;
	f.in.host = "h\x01\xff\xc3\xa4\xe4\xb8\x96";
	view_add(&f.view, &f.now, f.in.interval_ns);
	shows("in 812k/s > ... - netfilterv311 - ... - rcvbufv30.1k");
	shows("h????  udp"); /* nothing else than ASCII */
}

int main(void)
{
	FILE *nowhere = fopen("/dev/null", "r+");
	SCREEN *screen;
	int failed;

	setlocale(LC_CTYPE, "C.UTF-8");
	screen = newterm("xterm", nowhere, nowhere);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = screen ? run_cases(NULL, NULL) : 1;
	endwin();
	delscreen(screen);
	fclose(nowhere);
	return failed;
}
