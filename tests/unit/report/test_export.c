// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The exported metrics: labels, bounds, both formats exactly, and the choice of the format. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "monitor/metrics.h"
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

/* Labels: the one series of a row. */
static void assert_labels(struct live_row *r, const char *labels)
{
	struct metrics *m = metrics_new(10, false);
	char sample[256];

	take(m, r, 1);
	snprintf(sample, sizeof(sample), "pktledger_lost_packets_total%s", labels);
	if (value_of(m, sample) != r->counts.packets)
		fail_msg("%s\n%s", sample, text_of(m, EXPOSE_TEXT));
	metrics_free(m);
}

CASE(labels_are_in_the_words_of_kubernetes)
{
	static const struct {
		const char *pod, *container, *labels;
	} rows[] = {
		{"", "", ""},
		{"shop/cart-0", "shop/cart-0/app",
		 ",pod_namespace=\"shop\",pod=\"cart-0\",container=\"app\""},
		{"pod-0a1b", "0123456789ab", ",pod=\"pod-0a1b\",container=\"0123456789ab\""},
		{LIVE_OTHERS, LIVE_OTHERS, ",pod=\"others\",container=\"others\""},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "SOCKET_RCVBUFF", 1);
		char labels[200];

		r.text[LIVE_POD] = rows[i].pod;
		r.text[LIVE_CONTAINER] = rows[i].container;
		snprintf(labels, sizeof(labels), "{stage=\"rcvbuf\",reason=\"SOCKET_RCVBUFF\"%s}",
			 rows[i].labels);
		assert_labels(&r, labels);
	}
}

CASE(units_and_processes)
{
	static const struct {
		const char *cgroup, *process, *labels;
	} rows[] = {
		{"/system.slice/nginx.service", "nginx[417]",
		 ",unit=\"nginx.service\",process=\"nginx\""},
		{"/system.slice/system-a.slice/a@1.service/x", "", ",unit=\"a@1.service\""},
		{"/user.slice/user-0.slice/user@0.service/app.slice/b.service", "b[c][7]",
		 ",unit=\"user@0.service\",process=\"b[c]\""},
		{"/user.slice/user-0.slice/session-3.scope", "held by 3 processes", ""},
		{".service", "7", ""},
		{"/", LIVE_OTHERS, ""},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "", 1);
		char labels[200];

		r.text[LIVE_CGROUP] = rows[i].cgroup;
		r.text[LIVE_PROCESS] = rows[i].process;
		snprintf(labels, sizeof(labels), "{stage=\"rcvbuf\"%s}", rows[i].labels);
		assert_labels(&r, labels);
	}
}

CASE(namespaces_have_no_numbers)
{
	static const struct {
		const char *netns, *labels;
	} rows[] = {
		{"host", "{stage=\"rcvbuf\",netns=\"host\"}"},
		{"lab-rx", "{stage=\"rcvbuf\",netns=\"lab-rx\"}"},
		{"systemd-udevd[417]", "{stage=\"rcvbuf\",netns=\"systemd-udevd\"}"},
		{"a[b]", "{stage=\"rcvbuf\",netns=\"a[b]\"}"},
		/* the number of the row's: it has no name */
		{"4026531840", "{stage=\"rcvbuf\"}"},
		/* `ip netns add 4026531841` */
		{"4026531841", "{stage=\"rcvbuf\",netns=\"4026531841\"}"},
		{"shop/cart-0", "{stage=\"rcvbuf\",netns=\"shop/cart-0\"}"},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "", 1);

		r.netns = 4026531840;
		r.text[LIVE_NETNS] = rows[i].netns;
		assert_labels(&r, rows[i].labels);
	}
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

		assert_labels(&r, rows[i].labels);
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

/* Formats */

CASE(families_are_named_by_the_rules_of_their_format)
{
	static const struct {
		enum expose_format format;
		const char *text;
	} rows[] = {
		{EXPOSE_TEXT, "# TYPE pktledger_cpu_seconds_total counter\n"
			      "# HELP pktledger_cpu_seconds_total CPU time of the exporter, user "
			      "and system.\npktledger_cpu_seconds_total 0.000000000\n"
			      "# TYPE pktledger_maps_bytes gauge\n"
			      "# HELP pktledger_maps_bytes Kernel memory of the observer's maps.\n"
			      "pktledger_maps_bytes 0\n"},
		{EXPOSE_TEXT, "# TYPE pktledger_build_info gauge\n"
			      "# HELP pktledger_build_info This program.\n"
			      "pktledger_build_info{version="},
		{EXPOSE_OPENMETRICS,
		 "# TYPE pktledger_cpu_seconds counter\n# UNIT pktledger_cpu_seconds seconds\n"
		 "# HELP pktledger_cpu_seconds CPU time of the exporter, user and system.\n"
		 "pktledger_cpu_seconds_total 0.000000000\n"
		 "# TYPE pktledger_maps_bytes gauge\n# UNIT pktledger_maps_bytes bytes\n"
		 "# HELP pktledger_maps_bytes Kernel memory of the observer's maps.\n"
		 "pktledger_maps_bytes 0\n"},
		{EXPOSE_OPENMETRICS, "# TYPE pktledger_build info\n"
				     "# HELP pktledger_build This program.\n"
				     "pktledger_build_info{version="},
	};
	struct metrics *m = metrics_new(1, false);

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = text_of(m, rows[i].format);

		if (!strstr(text, rows[i].text))
			fail_msg("no %s in\n%s", rows[i].text, text);
		free(text);
	}
	metrics_free(m);
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && text[len - n - 1] == '_' && !strcmp(text + len - n, end);
}

/* In OpenMetrics format, which shows all parts of a family: TYPE, UNIT, HELP. */
CASE(the_table_of_families_is_sound)
{
	struct metrics *m = metrics_new(1, false);
	char *text = text_of(m, EXPOSE_OPENMETRICS), *rest = text, *line;
	char name[32][64], word[64], unit[64], help[256];
	unsigned n = 0, helps = 0;

	while ((line = strsep(&rest, "\n"))) {
		if (sscanf(line, "# TYPE %63s", word) == 1) {
			for (unsigned k = 0; k < n; k++)
				assert_string_not_equal(name[k], word);
			assert_true(!strncmp(word, "pktledger_", 10));
			assert_int_equal(strspn(word, "abcdefghijklmnopqrstuvwxyz_"), strlen(word));
			assert_false(ends_with(word, "total") || ends_with(word, "info"));
			strcpy(name[n++], word);
		} else if (sscanf(line, "# UNIT %63s %63s", word, unit) == 2) {
			assert_string_equal(word, name[n - 1]);
			assert_true(ends_with(word, unit));
		} else if (sscanf(line, "# HELP %63s %255[^\n]", word, help) == 2) {
			assert_string_equal(word, name[n - 1]);
			assert_int_equal(help[strlen(help) - 1], '.');
			assert_null(strpbrk(help, "\\\""));
			helps++;
		} else if (strcmp(line, "# EOF") && *line) {
			assert_true(!strncmp(line, name[n - 1], strlen(name[n - 1])));
		}
	}
	assert_int_equal(n, 19);
	assert_int_equal(helps, n);
	free(text);
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

static const char *const shown[] = {
	"pktledger_stage_lost_packets_total{stage=\"rcvbuf\"} 6\n",
	"pktledger_stage_lost_packets_total{stage=\"l2\"} 0\n",
	"pktledger_lost_packets_total{stage=\"rcvbuf\",reason=\"SOCKET_RCVBUFF\",netns=\"host\"} "
	"6\n",
	"pktledger_lost_bytes_total{stage=\"rcvbuf\",reason=\"SOCKET_RCVBUFF\",netns=\"host\"} "
	"600\n",
	"pktledger_suspected_packets_total{stage=\"l2\",reason=\"OTHERHOST\"} 8\n",
	"pktledger_expected_packets_total{reason=\"TCP_OLD_DATA\"} 10\n",
	"pktledger_missed_events_total{kind=\"recursion_misses\"} 2\n",
	"pktledger_missed_events_total{kind=\"without_cause\"} 0\n",
	"pktledger_observed{what=\"places\"} 1\n",
	"pktledger_observed{what=\"sockets\"} 0\n",
	"pktledger_observed{what=\"xdp\"} 0\n",
	"pktledger_events_total 9\n",
	"pktledger_series 3\n",
	"pktledger_series_limit 10\n",
	"pktledger_cpu_seconds_total 1.500000000\n",
	"pktledger_maps_bytes 4096\n",
	"pktledger_start_time_seconds 1699999995.000000000\n",
	"pktledger_collected_time_seconds 1700000000.000000000\n",
	"pktledger_collect_duration_seconds 0.012000000\n",
	"pktledger_build_info{version=\"" PKTLEDGER_VERSION "\"} 1\n",
};

CASE(all_is_told_in_both_formats)
{
	for (unsigned format = 0; format < EXPOSE_FORMATS; format++) {
		char *text = sample_text(format);

		for (unsigned i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
			if (!strstr(text, shown[i]))
				fail_msg("not shown: %s%s", shown[i], text);
		}
		assert_null(strstr(text, "stage=\"wire\""));
		assert_true(!strncmp(text, METRICS_BEGIN, strlen(METRICS_BEGIN)));
		assert_int_equal(!strcmp(text + strlen(text) - 7, "\n# EOF\n"),
				 format == EXPOSE_OPENMETRICS);
		free(text);
	}
}

/* Asking */

CASE(the_format_that_is_asked_for)
{
	static const struct {
		const char *accept;
		enum expose_format format;
	} rows[] = {
		{NULL, EXPOSE_TEXT},
		{"", EXPOSE_TEXT},
		{"*/*", EXPOSE_TEXT}, /* curl */
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", EXPOSE_TEXT},
		/* Prometheus 2.42, 3.0, 1.8 */
		{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
		 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		 EXPOSE_OPENMETRICS},
		{"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
		 "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
		 "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		 EXPOSE_OPENMETRICS},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
		 "encoding=delimited;q=0.7,text/plain;version=0.0.4;q=0.3,*/*;q=0.1",
		 EXPOSE_TEXT},
		{"application/openmetrics-text", EXPOSE_OPENMETRICS},
		{"Application/OpenMetrics-Text ; Version=1.0.0 ; Q=0.001", EXPOSE_OPENMETRICS},
		{"text/plain, application/openmetrics-text", EXPOSE_OPENMETRICS},
		{"application/openmetrics-text;q=0.5,text/plain;q=0.6", EXPOSE_OPENMETRICS},
		{"application/openmetrics-text;q=0,*/*", EXPOSE_TEXT},
		{"application/openmetrics-text;version=1.0.0;q=0.000,*/*;q=1", EXPOSE_TEXT},
		{"application/openmetrics-text-2", EXPOSE_TEXT},
		{"application/*", EXPOSE_TEXT},
		{"application/json", EXPOSE_TEXT},
		{"application/openmetrics-text;q=x,text/plain", EXPOSE_TEXT},
		{",,;;,=;q=,application/openmetrics-text;", EXPOSE_OPENMETRICS},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (http_accept(rows[i].accept) != rows[i].format)
			fail_msg("%s", rows[i].accept);
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
