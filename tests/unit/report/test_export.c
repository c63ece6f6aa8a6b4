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
#include "drops/stagemap.h"
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

/* "STAGE CLASS REASON PACKETS [TIME [ROWS]]": the rows are numbered, each a ns later. */
static void take_rows(struct metrics *m, char *const word[], int n)
{
	const uint64_t packets = strtoull(word[3], NULL, 10);
	const unsigned rows = n > 5 ? (unsigned)atoi(word[5]) : 1;
	char reason[32];
	uint64_t time_ns = 1;
	enum stage stage = 0;
	struct live_row r;

	while (stage < STAGE_COUNT && strcmp(stage_name(stage), word[0]))
		stage++;
	if (n > 4) /* "H+1": an hour, and a ns */
		time_ns = *word[4] == 'H' ? HOUR + (uint64_t)atoi(word[4] + 1)
					  : strtoull(word[4], NULL, 10);
	for (unsigned i = 0; i < rows; i++) {
		snprintf(reason, sizeof(reason), rows > 1 ? "%s%u" : "%s", word[2], i);
		r = row(stage < STAGE_COUNT ? stage : STAGE_NONE,
			*word[1] == 's'	  ? CLASS_SUSPECTED
			: *word[1] == 'e' ? CLASS_EXPECTED
			: *word[1] == 'n' ? CLASS_NONE
					  : CLASS_LOSS,
			*word[1] == 'e' ? "OTHERHOST" : reason, packets);
		r.text[LIVE_IFNAME] = *word[1] == 'e' ? reason : "";
		take(m, &r, time_ns + i);
	}
}

/* "FIELD=VALUE" of a balance of TCP, whose other fields stay. */
static void take_tcp(struct metrics *m, struct tcp_balance *b, char *const word[], int n)
{
	const struct recorded_field fields[] = {
		FIELD(struct tcp_balance, sum.beyond),
		FIELD(struct tcp_balance, own.unread),
		FIELD(struct tcp_balance, sum.not_lost),
		{"device", offsetof(struct tcp_balance, sum.undecided[TCP_WHY_DEVICE]),
		 sizeof(b->sum.undecided[0]), 1, NULL},
		{"qdisc", offsetof(struct tcp_balance, sum.lost_at[STAGE_QDISC]),
		 sizeof(b->sum.lost_at[0]), 1, NULL},
		{0}};

	for (int i = 0; i < n; i++)
		recorded_read(fields, word[i], b);
	metrics_tcp(m, b);
}

static const struct {
	const char *name;
	enum live_field field;
} names[] = {{"pod=", LIVE_POD},	 {"container=", LIVE_CONTAINER}, {"cgroup=", LIVE_CGROUP},
	     {"process=", LIVE_PROCESS}, {"netns=", LIVE_NETNS},	 {"reason=", LIVE_REASON}};

struct story {
	struct metrics *m;
	struct tcp_balance tcp;
};

static void take_line(void *arg, const char *verb, char *text)
{
	struct live_row r = row(STAGE_RCVBUF, CLASS_LOSS, "", 1);
	const bool begins = !strcmp(verb, "case");
	struct story *s = arg;
	struct sum sum;
	char *word[8] = {};
	int n;

	if (!strcmp(verb, "accept")) {
		tell("%s",
		     http_accept(*text ? text : NULL) == EXPOSE_TEXT ? "text" : "openmetrics");
		return;
	}
	n = begins ? 0 : recorded_words(text, word, LENGTH(word));
	if (begins || !strcmp(verb, "new")) {
		metrics_free(s->m);
		*s = (struct story){.m = begins ? NULL
						: metrics_new((unsigned)atoi(word[0]), false)};
	} else if (!strcmp(verb, "take")) {
		take_rows(s->m, word, n);
	} else if (!strcmp(verb, "tcp")) {
		take_tcp(s->m, &s->tcp, word, n);
	} else if (!strcmp(verb, "value")) {
		tell("%lld", (long long)value_of(s->m, word[0]));
	} else if (!strcmp(verb, "sum")) {
		sum = sum_of(s->m, word[0]);
		tell("%d in %u series", (int)sum.value, sum.n);
		if (n > 1) {
			tell(":");
			tell_escaped(sum.last);
		}
	} else if (!strcmp(verb, "labels")) {
		r.netns = 4026531840;
		for (int i = 0; i < n; i++) {
			for (unsigned k = 0; k < LENGTH(names); k++) {
				const size_t len = strlen(names[k].name);

				if (!strncmp(word[i], names[k].name, len) &&
				    strcmp(word[i] + len, "-"))
					r.text[names[k].field] = word[i] + len;
			}
			if (!strncmp(word[i], "packets=", 8))
				r.counts.packets = strtoull(word[i] + 8, NULL, 10);
		}
		tell_escaped(labels_of(&r));
	}
}

CASE(recorded)
{
	struct story s = {};

	recorded_stories("tests/fixtures/export/labels", take_line, &s);
	metrics_free(s.m);
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
