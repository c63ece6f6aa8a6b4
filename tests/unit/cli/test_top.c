// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The screen of `top`, drawn without a terminal: tests/fixtures/top. */
#include <locale.h>
#include <ncurses.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cli/top.h"
#include "recorded.h"

#define SECOND 1000000000ULL

/* Everything that is shown, as set by set_up(). */
static struct {
	struct live_table now, total;
	struct view_device devices[2];
	struct view_input in;
	struct view view;
} f;

static char netns[64]; /* of the rows that are added */
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

/* The stage of the selected row, and all losses of its group. */
static void tell_chosen(void)
{
	enum stage stage = STAGE_NONE;
	struct live_table rows;

	view_chosen(&f.view, &f.in, &rows);
	for (unsigned i = 0; i < rows.n; i++) {
		assert_true(!i || rows.rows[i].stage == stage);
		stage = rows.rows[i].stage;
	}
	tell("%s %u", stage_name(stage), (unsigned)table_sum(&rows, 0, STAGE_NONE).packets);
	table_free(&rows);
}

/* Keys that are no letters have capital names of several. "left": the program is to end. */
static void press(char *text)
{
	static const struct {
		const char *name;
		int key;
	} keys[] = {{"UP", KEY_UP},	   {"DOWN", KEY_DOWN},	    {"ENTER", KEY_ENTER},
		    {"PAGEUP", KEY_PPAGE}, {"PAGEDOWN", KEY_NPAGE}, {"DELETE", KEY_BACKSPACE},
		    {"ESC", 0x1b},	   {"RETURN", '\r'},	    {"SPACE", ' '}};

	for (char *word; *(word = recorded_word(&text));) {
		unsigned i = 0;

		while (i < LENGTH(keys) && strcmp(keys[i].name, word))
			i++;
		if (i < LENGTH(keys)) {
			view_key(&f.view, keys[i].key, &f.in);
			continue;
		}
		for (; *word; word++) {
			if (view_key(&f.view, *word, &f.in))
				tell("left");
		}
	}
}

/* "now rcvbuf loss SOCKET_RCVBUFF *:53 named 40", "-" for no text. */
static void add_row(char *text)
{
	struct live_table *to = !strcmp(recorded_word(&text), "now") ? &f.now : &f.total;
	const char *name = recorded_word(&text), *class = recorded_word(&text), *word[3];
	enum stage stage = 0;

	while (strcmp(stage_name(stage), name))
		stage++;
	for (unsigned i = 0; i < 3; i++) {
		word[i] = recorded_word(&text);
		word[i] = strcmp(word[i], "-") ? word[i] : "";
	}
	add(to, stage, *class == 's' ? CLASS_SUSPECTED : CLASS_LOSS, word[0], word[1], word[2],
	    strtoull(text, NULL, 10));
}

/* What else is shown; a text has "|" for the end of a line. */
static const char *shown_text(char *text)
{
	static char kept[4][512];
	static unsigned last;
	char *to = kept[++last % 4];

	snprintf(to, sizeof(kept[0]), "%s", text);
	for (char *p = to; (p = strchr(p, '|'));)
		*p = '\n';
	return to;
}

static void set(char *text)
{
	const char *what = recorded_word(&text);

	if (!strcmp(what, "tcp")) {
		f.in.tcp = shown_text(text);
	} else if (!strcmp(what, "advice")) {
		f.in.advice = *text ? shown_text(text) : NULL;
	} else if (!strcmp(what, "packets")) {
		f.in.packets = shown_text(text);
	} else if (!strcmp(what, "device")) {
		f.devices[0].netns = shown_text(text);
	} else if (!strcmp(what, "idle")) {
		f.devices[1].rx_pps = 0;
	} else if (!strcmp(what, "by_flow")) {
		f.in.by_flow = true;
	} else if (!strcmp(what, "one_scope")) {
		f.in.one_scope = true;
	} else if (!strcmp(what, "interval")) {
		f.in.interval_ns = strtoull(text, NULL, 10) * SECOND;
	} else if (!strcmp(what, "netns")) { /* of the rows that are added from now on */
		inum = (uint32_t)strtoul(recorded_word(&text), NULL, 10);
		snprintf(netns, sizeof(netns), "%s", text);
	} else {
		assert_string_equal(what, "ascii");
		f.view.ascii = true;
		f.in.host = "h\x01\xff\xc3\xa4\xe4\xb8\x96";
	}
}

/* Asserts that the screen has a text. */
static void look(const char *verb, char *text)
{
	const char *screen = drawn();

	if (!strstr(screen, text) != !strcmp(verb, "hides"))
		fail_msg("%s \"%s\" in:\n%s", verb, text, screen);
}

static void take_line(void *arg, const char *verb, char *text)
{
	static char before[65536];
	unsigned n = 0, rows = 0;

	sscanf(text, "%u %u", &n, &rows);
	for (char *p = text; *p; p++) /* the ends of a line */
		*p = *p == '^' || *p == '$' ? '\n' : *p;
	if (!strcmp(verb, "size")) {
		set_up(n, rows);
	} else if (!strcmp(verb, "resize")) {
		set_size(n, rows);
	} else if (!strcmp(verb, "press")) {
		press(text);
	} else if (!strcmp(verb, "add")) {
		add_row(text);
	} else if (!strcmp(verb, "set")) {
		set(text);
	} else if (!strcmp(verb, "intervals")) {
		while (n--)
			view_add(&f.view, &f.now, f.in.interval_ns);
	} else if (!strcmp(verb, "silence")) { /* nothing is lost from now on */
		table_clear(&f.now);
	} else if (!strcmp(verb, "chosen")) {
		tell_chosen();
	} else if (!strcmp(verb, "view")) {
		tell("row %u, %u openings, namespace %u, grouping %u", f.view.at, f.view.openings,
		     f.view.netns, f.view.grouping);
	} else if (!strcmp(verb, "keep")) {
		strcpy(before, drawn());
	} else if (!strcmp(verb, "same")) {
		assert_string_equal(drawn(), before);
	} else if (!strcmp(verb, "order")) { /* FIRST, then a text that comes later */
		char *first = strsep(&text, ",");
		const char *screen = drawn(), *at = strstr(screen, first);

		if (!at || !strstr(at, text + 1))
			fail_msg("no \"%s\" before \"%s\" in:\n%s", first, text + 1, screen);
	} else if (!strcmp(verb, "draw")) {
		drawn();
	} else if (strcmp(verb, "case")) {
		look(verb, text);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/top", take_line, NULL);
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
