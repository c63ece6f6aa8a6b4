// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The exported metrics: labels, bounds, both formats exactly, and the choice of the format. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cases.h"
#include "monitor/metrics.h"
#include "recorded.h"
#include "report/http.h"

#define HOUR METRICS_IDLE_NS

static struct live_row row(enum stage stage, enum drop_class class, const char *reason, uint64_t packets)
{
	struct live_row r = {
		.stage = stage, .class = class, .counts = {1, packets, 100 * packets, 0}};

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		r.text[f] = "";
	r.text[LIVE_STAGE] = stage == STAGE_NONE ? "" : stage_name(stage);
	r.text[LIVE_REASON] = reason;
	return r;
}

static const struct live_own no_own = {};

/* Adds a row, at the end of a separate interval. */
static void take(struct metrics *m, struct live_row *r, uint64_t now_ns)
{
	const struct live_table t = {.rows = r, .n = 1};

	metrics_take(m, &t, &no_own, now_ns, now_ns);
}

static char *text_of(const struct metrics *m, enum expose_format format)
{
	size_t len;
	char *text = metrics_text(m, format, &len);

	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	return text;
}

/* Returns the value of a sample by its name and labels, or UINT64_MAX. */
static uint64_t value_of(const struct metrics *m, const char *sample)
{
	char line[256], *text = text_of(m, EXPOSE_TEXT);
	uint64_t value = UINT64_MAX;
	const char *at;

	snprintf(line, sizeof(line), "\n%s ", sample);
	at = strstr(text, line);
	if (at)
		value = strtoull(at + strlen(line), NULL, 10);
	free(text);
	return value;
}

/* The labels of the one series of a row. */
static const char *labels_of(struct live_row *r)
{
	static const char name[] = "\npktledger_lost_packets_total{";
	static char labels[256];
	struct metrics *m = metrics_new(10, false);
	char *text;
	const char *at;

	take(m, r, 1);
	text = text_of(m, EXPOSE_TEXT);
	at = strstr(text, name);
	snprintf(labels, sizeof(labels), "%.*s", at ? (int)strcspn(at + 1, "\n") : 0,
		 at ? at + 1 : "");
	free(text);
	metrics_free(m);
	return labels + strlen(name) - 2;
}

/* "labels netns=host process=a": a row of losses with these texts. */
static void take_line(void *arg, const char *verb, char *text)
{
	static const struct {
		const char *name;
		enum live_field field;
	} names[] = {{"pod=", LIVE_POD},
		     {"container=", LIVE_CONTAINER},
		     {"cgroup=", LIVE_CGROUP},
		     {"process=", LIVE_PROCESS},
		     {"netns=", LIVE_NETNS}};
	struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "", 1);
	char *word[8];
	int n;

	if (!strcmp(verb, "accept")) {
		tell("%s",
		     http_accept(*text ? text : NULL) == EXPOSE_TEXT ? "text" : "openmetrics");
		return;
	}
	if (strcmp(verb, "labels"))
		return;
	r.netns = 4026531840;
	n = recorded_words(text, word, LENGTH(word));
	for (int i = 0; i < n; i++) {
		for (unsigned k = 0; k < LENGTH(names); k++) {
			const size_t len = strlen(names[k].name);

			if (!strncmp(word[i], names[k].name, len) && strcmp(word[i] + len, "-"))
				r.text[names[k].field] = word[i] + len;
		}
	}
	tell("%s", labels_of(&r));
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/export/labels", take_line, NULL);
}

CASE(labels_are_escaped)
{
	static const struct {
		const char *value, *labels;
	} rows[] = {
		{"plain", "{stage=\"l2\",reason=\"plain\"}"},
		{"", "{stage=\"l2\"}"},
		{"a\"b\\c\nd", "{stage=\"l2\",reason=\"a\\\"b\\\\c\\nd\"}"},
		{"\xc3\xa4\xff{}", "{stage=\"l2\",reason=\"\xc3\xa4\xef\xbf\xbd{}\"}"},
		{"\xe2\x82", "{stage=\"l2\",reason=\"\xef\xbf\xbd\xef\xbf\xbd\"}"},
		{"\033[2J\x7f", "{stage=\"l2\",reason=\"\xef\xbf\xbd[2J\xef\xbf\xbd\"}"},
		{"\xc2\x9b\xc2\xa0", "{stage=\"l2\",reason=\"\xef\xbf\xbd\xef\xbf\xbd\xc2\xa0\"}"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_L2, CLASS_LOSS, rows[i].value, UINT64_MAX - 1);
		const char *labels = labels_of(&r);

		assert_memory_equal(labels, rows[i].labels, strlen(rows[i].labels));
		assert_string_equal(labels + strlen(rows[i].labels), " 18446744073709551614");
	}
}

/* Who scrapes takes no sample twice. */
CASE(names_that_look_alike_are_one_series)
{
	struct metrics *m = metrics_new(10, false);
	struct live_row first = row(STAGE_L2, CLASS_LOSS, "a\xfe", 3),
			second = row(STAGE_L2, CLASS_LOSS, "a\x1b", 4);

	take(m, &first, 1);
	take(m, &second, 2);
	assert_int_equal(value_of(m, "pktledger_lost_packets_total{stage=\"l2\",reason=\"a"
				     "\xef\xbf\xbd\"}"),
			 7);
	metrics_free(m);
}

/* Bounds */

static void add(struct metrics *m, enum stage stage, enum drop_class class, unsigned number,
		uint64_t packets, uint64_t now_ns)
{
	char reason[16];
	struct live_row r;

	snprintf(reason, sizeof(reason), "R%u", number);
	r = row(stage, class, reason, packets);
	take(m, &r, now_ns);
}

struct sum {
	uint64_t value;
	unsigned n;
	char last[256]; /* line */
};

/* Over the series of a family. */
static struct sum sum_of(const struct metrics *m, const char *family)
{
	char *text = text_of(m, EXPOSE_TEXT), *rest = text, *line;
	struct sum sum = {};
	size_t len = strlen(family);

	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, family, len) || line[len] != '{')
			continue;
		sum.value += strtoull(strrchr(line, ' ') + 1, NULL, 10);
		sum.n++;
		snprintf(sum.last, sizeof(sum.last), "%s", line);
	}
	free(text);
	return sum;
}

CASE(what_has_no_room_is_told_as_others)
{
	struct metrics *m = metrics_new(10, false);

	for (unsigned i = 0; i < 1000; i++)
		add(m, STAGE_RCVBUF, CLASS_LOSS, i, 2, i);
	add(m, STAGE_QDISC, CLASS_LOSS, 0, 5, 1000); /* other rows of the same stage */
	add(m, STAGE_QDISC, CLASS_SUSPECTED, 0, 7, 1000);
	add(m, STAGE_RCVBUF, CLASS_LOSS, 3, 2, 1000); /* its own is still there */
	assert_int_equal(value_of(m, "pktledger_series"), 10);
	assert_int_equal(value_of(m, "pktledger_series_limit"), 10);
	assert_int_equal(value_of(m, "pktledger_series_merged_total"), 992);
	assert_int_equal(value_of(m, "pktledger_series_expired_total"), 0);
	assert_int_equal(sum_of(m, "pktledger_lost_packets_total").value, 2002 + 5);
	assert_int_equal(sum_of(m, "pktledger_lost_bytes_total").value, 200200 + 500);
	assert_int_equal(sum_of(m, "pktledger_lost_packets_total").n, 12);
	assert_int_equal(sum_of(m, "pktledger_suspected_packets_total").n, 1);
	assert_non_null(strstr(sum_of(m, "pktledger_suspected_packets_total").last,
			       "{stage=\"qdisc\",reason=\"others\",ifname=\"others\""));
	metrics_free(m);
}

CASE(what_does_not_move_gives_way)
{
	struct metrics *m = metrics_new(3, false);

	for (unsigned i = 0; i < 3; i++)
		add(m, STAGE_RCVBUF, CLASS_LOSS, i, 1, i);
	add(m, STAGE_RCVBUF, CLASS_LOSS, 9, 1, HOUR - 1); /* none is old enough */
	add(m, STAGE_RCVBUF, CLASS_LOSS, 0, 1, HOUR - 1); /* moves */
	add(m, STAGE_RCVBUF, CLASS_LOSS, 7, 4, HOUR + 1); /* instead of R1 */
	add(m, STAGE_RCVBUF, CLASS_LOSS, 8, 4, HOUR + 1); /* R2 is a ns too young */
	assert_int_equal(value_of(m, "pktledger_series"), 3);
	assert_int_equal(value_of(m, "pktledger_series_expired_total"), 1);
	assert_int_equal(value_of(m, "pktledger_series_merged_total"), 2);
	/* R0, R2, R7 and others */
	assert_int_equal(sum_of(m, "pktledger_lost_packets_total").n, 4);
	assert_int_equal(sum_of(m, "pktledger_lost_packets_total").value, 2 + 1 + 4 + 1 + 4);
	metrics_free(m);
}

CASE(what_is_benign_has_few_labels)
{
	struct live_row r = row(STAGE_NONE, CLASS_EXPECTED, "OTHERHOST", 1);
	struct metrics *m = metrics_new(10, false);

	for (unsigned i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "veth%u", i);
		r.text[LIVE_IFNAME] = name;
		take(m, &r, i);
	}
	r.class = CLASS_NONE;
	take(m, &r, 9);
	assert_int_equal(sum_of(m, "pktledger_expected_packets_total").n, 1);
	assert_int_equal(sum_of(m, "pktledger_expected_packets_total").value, 5);
	assert_int_equal(value_of(m, "pktledger_series"), 1);
	metrics_free(m);
}

/* TCP */

#define RESENT "pktledger_tcp_retransmits_total"

CASE(retransmissions_never_go_back)
{
	struct metrics *m = metrics_new(1, false);
	struct tcp_balance b = {.sum.beyond = 5, .own.unread = 7};

	assert_int_equal(sum_of(m, RESENT).n, 0); /* not asked for */
	metrics_tcp(m, &b);
	assert_int_equal(value_of(m, RESENT "{cause=\"downstream\"}"), 5);
	b.sum.beyond = 3; /* of two their device is now in doubt, one is new */
	b.sum.undecided[TCP_WHY_DEVICE] = 2;
	b.sum.lost_at[STAGE_QDISC] = 1;
	metrics_tcp(m, &b);
	assert_int_equal(sum_of(m, RESENT).value, 6);
	assert_int_equal(value_of(m, RESENT "{cause=\"lost_here\",stage=\"qdisc\"}"), 1);
	assert_int_equal(value_of(m, RESENT "{cause=\"downstream\"}"), 5);
	b.sum.beyond = 9;
	b.sum.not_lost = 1;
	metrics_tcp(m, &b); /* and all is as if it had been known */
	assert_int_equal(value_of(m, RESENT "{cause=\"undecided\",why=\"interface\"}"), 2);
	assert_int_equal(value_of(m, RESENT "{cause=\"spurious\"}"), 1);
	assert_int_equal(value_of(m, RESENT "{cause=\"downstream\"}"), 9);
	assert_int_equal(value_of(m, "pktledger_missed_events_total{kind=\"tcp_unread\"}"), 7);
	/* each stage of a host is there, and why it is not known */
	assert_int_equal(sum_of(m, RESENT).n, STAGE_COUNT - 1 + 2 + TCP_WHYS);
	metrics_free(m);
}

/* The whole */

static struct metrics *metrics_of(struct live_table *t, uint64_t time_ns)
{
	const struct live_own own = {
		.events = 9,
		.cpu_ns = 1500000000,
		.collect_ns = 12000000,
		.no_sockets = true,
		.map_bytes = 4096,
		.watch = {.recursion_misses = 2},
	};
	const uint64_t realtime_ns = 1700000000000000000;
	struct metrics *m = metrics_new(10, true);

	metrics_take(m, t, &own, time_ns, realtime_ns);
	metrics_take(m, t, &own, time_ns, realtime_ns);
	return m;
}

static char *sample_text(enum expose_format format)
{
	struct live_row rows[] = {
		row(STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", 3),
		row(STAGE_L2, CLASS_SUSPECTED, "OTHERHOST", 4),
		row(STAGE_NONE, CLASS_EXPECTED, "TCP_OLD_DATA", 5),
	};
	struct live_table t = {.rows = rows, .n = 3};
	struct metrics *m;
	char *text;

	rows[0].text[LIVE_NETNS] = "host";
	m = metrics_of(&t, 5000000000);
	text = text_of(m, format);
	metrics_free(m);
	return text;
}

/* All families, in the order and with the names of either format. UPDATE=1 writes them again. */
CASE(both_formats)
{
	for (unsigned format = 0; format < EXPOSE_FORMATS; format++) {
		char *text = sample_text(format), *version = strstr(text, PKTLEDGER_VERSION),
		     path[64];
		char *expected;
		FILE *f;

		assert_non_null(version);
		memmove(version + 1, version + strlen(PKTLEDGER_VERSION),
			strlen(version + strlen(PKTLEDGER_VERSION)) + 1);
		*version = '@';
		snprintf(path, sizeof(path), "tests/fixtures/export/metrics.%s",
			 format == EXPOSE_TEXT ? "txt" : "openmetrics");
		if (getenv("UPDATE")) {
			f = fopen(path, "w");
			assert_true(f && fputs(text, f) >= 0 && !fclose(f));
		}
		assert_int_equal(file_read(path, &expected, NULL), 0);
		assert_string_equal(text, expected);
		free(expected);
		free(text);
	}
}

/* A file */

CASE(a_file_is_replaced_but_not_one_of_others)
{
	struct live_table none = {};
	struct metrics *m = metrics_of(&none, 1);
	struct error err = {};
	char path[] = "/tmp/pl-export-XXXXXX", text[64] = "";
	struct stat st;
	FILE *f;

	close(mkstemp(path)); /* empty: it is taken */
	assert_int_equal(metrics_file(NULL, path, &err), 0);
	assert_int_equal(metrics_file(m, path, &err), 0);
	assert_int_equal(metrics_file(m, path, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	f = fopen(path, "r+");
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "# TYPE pktledger_stage_lost_packets_total counter\n");
	rewind(f);
	fputs("root:x:0:0", f);
	fclose(f);
	assert_int_equal(metrics_file(m, path, &err), -EEXIST);
	assert_int_equal(err.status, STATUS_USAGE);
	unlink(path);
	err = (struct error){};
	assert_int_equal(metrics_file(NULL, "/proc/none/x.prom", &err), -ENOENT);
	assert_int_equal(err.status, STATUS_FAILED);
	metrics_free(m);
}
