// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is exported: labels, bounds, both formats to the letter, and which of them is asked for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/http.h"
#include "monitor/families_data.h"
#include "monitor/store.h"
#include "monitor/textfile.h"

#define HOUR STORE_IDLE_NS

static struct live_row row(enum stage stage, enum noise noise, const char *reason, uint64_t packets)
{
	struct live_row r = {
		.stage = stage, .noise = noise, .counts = {1, packets, 100 * packets, 0}};

	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		r.text[f] = "";
	r.text[LIVE_STAGE] = stage == STAGE_NONE ? "" : stage_name(stage);
	r.text[LIVE_REASON] = reason;
	return r;
}

/* Labels */

static void labels_are_in_the_words_of_kubernetes(void **state)
{
	static const struct {
		const char *pod, *container;
		const char *pod_namespace, *pod_name, *name;
	} rows[] = {
		{"", "", "", "", ""},
		{"shop/cart-0", "shop/cart-0/app", "shop", "cart-0", "app"},
		{"pod-0a1b", "0123456789ab", "", "pod-0a1b", "0123456789ab"},
		{LIVE_OTHERS, LIVE_OTHERS, "", LIVE_OTHERS, LIVE_OTHERS},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_RCVBUF, NOISE_LOSS, "SOCKET_RCVBUFF", 1);
		struct labels l;

		r.text[LIVE_POD] = rows[i].pod;
		r.text[LIVE_CONTAINER] = rows[i].container;
		labels_of(&r, &l);
		assert_string_equal(l.at[LABEL_STAGE], "rcvbuf");
		assert_string_equal(l.at[LABEL_REASON], "SOCKET_RCVBUFF");
		assert_string_equal(l.at[LABEL_POD_NAMESPACE], rows[i].pod_namespace);
		assert_string_equal(l.at[LABEL_POD], rows[i].pod_name);
		assert_string_equal(l.at[LABEL_CONTAINER], rows[i].name);
	}
}

static void namespaces_have_no_numbers(void **state)
{
	static const struct {
		const char *netns, *label;
	} rows[] = {
		{"host", "host"},
		{"lab-rx", "lab-rx"},
		{"systemd-udevd[417]", "systemd-udevd"},
		{"a[b]", "a[b]"},
		{"4026531840", ""},	      /* the number of the row's: it has no name */
		{"4026531841", "4026531841"}, /* `ip netns add 4026531841` */
		{"shop/cart-0", "shop/cart-0"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct live_row r = row(STAGE_RCVBUF, NOISE_LOSS, "", 1);
		struct labels l;

		r.netns = 4026531840;
		r.text[LIVE_NETNS] = rows[i].netns;
		labels_of(&r, &l);
		assert_string_equal(l.at[LABEL_NETNS], rows[i].label);
	}
}

/* Bounds */

struct sum {
	uint64_t packets, bytes;
	unsigned n;
	char last[64]; /* reason of the last one */
};

static void add_up(void *arg, const struct series *one)
{
	struct sum *sum = arg;

	sum->packets += one->packets;
	sum->bytes += one->bytes;
	sum->n++;
	snprintf(sum->last, sizeof(sum->last), "%s", one->label[LABEL_REASON]);
}

static struct sum sum_of(const struct store *s, enum noise noise)
{
	struct sum sum = {};

	store_each(s, noise, add_up, &sum);
	return sum;
}

static void add(struct store *s, enum stage stage, enum noise noise, unsigned number,
		uint64_t packets, uint64_t now_ns)
{
	char reason[16];
	struct live_row r;

	snprintf(reason, sizeof(reason), "R%u", number);
	r = row(stage, noise, reason, packets);
	assert_int_equal(store_add(s, &r, now_ns), 0);
}

static void what_has_no_room_is_told_as_others(void **state)
{
	struct store *s = store_new(10);
	struct store_state st;

	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		add(s, STAGE_RCVBUF, NOISE_LOSS, i, 2, i);
	add(s, STAGE_QDISC, NOISE_LOSS, 0, 5, 1000); /* others of its own stage */
	add(s, STAGE_QDISC, NOISE_SUSPECT, 0, 7, 1000);
	add(s, STAGE_RCVBUF, NOISE_LOSS, 3, 2, 1000); /* its own is still there */
	store_state(s, &st);
	assert_int_equal(st.series, 10);
	assert_int_equal(st.max, 10);
	assert_int_equal(st.merged, 992);
	assert_int_equal(st.expired, 0);
	assert_int_equal(sum_of(s, NOISE_LOSS).packets, 2002 + 5);
	assert_int_equal(sum_of(s, NOISE_LOSS).bytes, 200200 + 500);
	assert_int_equal(sum_of(s, NOISE_LOSS).n, 12);
	assert_int_equal(sum_of(s, NOISE_SUSPECT).n, 1);
	assert_string_equal(sum_of(s, NOISE_SUSPECT).last, LIVE_OTHERS);
	store_free(s);
}

static void what_does_not_move_gives_way(void **state)
{
	struct store *s = store_new(3);
	struct store_state st;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(s, STAGE_RCVBUF, NOISE_LOSS, i, 1, i);
	add(s, STAGE_RCVBUF, NOISE_LOSS, 9, 1, HOUR - 1); /* none is old enough */
	add(s, STAGE_RCVBUF, NOISE_LOSS, 0, 1, HOUR - 1); /* moves */
	add(s, STAGE_RCVBUF, NOISE_LOSS, 7, 4, HOUR + 1); /* instead of R1 */
	add(s, STAGE_RCVBUF, NOISE_LOSS, 8, 4, HOUR + 1); /* R2 is a ns too young */
	store_state(s, &st);
	assert_int_equal(st.series, 3);
	assert_int_equal(st.expired, 1);
	assert_int_equal(st.merged, 2);
	/* R0, R2, R7 and others */
	assert_int_equal(sum_of(s, NOISE_LOSS).n, 4);
	assert_int_equal(sum_of(s, NOISE_LOSS).packets, 2 + 1 + 4 + 1 + 4);
	store_free(s);
}

static void what_is_benign_has_few_labels(void **state)
{
	struct live_row r = row(STAGE_NONE, NOISE_BENIGN, "OTHERHOST", 1);
	struct store *s = store_new(10);

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		char name[8];

		snprintf(name, sizeof(name), "veth%u", i);
		r.text[LIVE_IFNAME] = name;
		assert_int_equal(store_add(s, &r, i), 0);
	}
	r.noise = NOISE_NOTHING;
	assert_int_equal(store_add(s, &r, 9), 0);
	assert_int_equal(sum_of(s, NOISE_BENIGN).n, 1);
	assert_int_equal(sum_of(s, NOISE_BENIGN).packets, 5);
	assert_int_equal(sum_of(s, NOISE_NOTHING).n, 0);
	store_free(s);
}

/* Formats */

static char *sample_text(const struct family *f, const struct label *labels, unsigned n)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	expose_sample(out, f, labels, n, 18446744073709551615ULL);
	fclose(out);
	return text;
}

static void labels_are_escaped(void **state)
{
	static const struct family f = {"x", EXPOSE_COUNTER, NULL, "X."};
	static const struct {
		const char *value, *text;
	} rows[] = {
		{"plain", "x_total{a=\"plain\"} 18446744073709551615\n"},
		{"", "x_total 18446744073709551615\n"},
		{"a\"b\\c\nd", "x_total{a=\"a\\\"b\\\\c\\nd\"} 18446744073709551615\n"},
		{"\xc3\xa4\xff{}", "x_total{a=\"\xc3\xa4\xef\xbf\xbd{}\"} 18446744073709551615\n"},
		{"\xe2\x82", "x_total{a=\"\xef\xbf\xbd\xef\xbf\xbd\"} 18446744073709551615\n"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct label label = {"a", rows[i].value};
		char *text = sample_text(&f, &label, 1);

		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

static const struct label two[] = {{"a", ""}, {"b", "1"}};

static void families_are_named_by_the_rules_of_their_format(void **state)
{
	static const struct family counter = {"x_bytes", EXPOSE_COUNTER, "bytes", "Some."};
	static const struct family gauge = {"x_seconds", EXPOSE_GAUGE, "seconds", "Some."};
	static const struct family info = {"x", EXPOSE_INFO, NULL, "Some."};
	static const struct {
		enum expose_format format;
		const char *text;
	} rows[] = {
		{EXPOSE_TEXT, "# TYPE x_bytes_total counter\n# HELP x_bytes_total Some.\n"
			      "x_bytes_total{b=\"1\"} 5\n"
			      "# TYPE x_seconds gauge\n# HELP x_seconds Some.\n"
			      "x_seconds 1.000000002\n"
			      "# TYPE x_info gauge\n# HELP x_info Some.\n"
			      "x_info{b=\"1\"} 1\n"},
		{EXPOSE_OPENMETRICS,
		 "# TYPE x_bytes counter\n# UNIT x_bytes bytes\n# HELP x_bytes Some.\n"
		 "x_bytes_total{b=\"1\"} 5\n"
		 "# TYPE x_seconds gauge\n# UNIT x_seconds seconds\n# HELP x_seconds Some.\n"
		 "x_seconds 1.000000002\n"
		 "# TYPE x info\n# HELP x Some.\n"
		 "x_info{b=\"1\"} 1\n"
		 "# EOF\n"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		expose_family(out, rows[i].format, &counter);
		expose_sample(out, &counter, two, 2, 5);
		expose_family(out, rows[i].format, &gauge);
		expose_seconds(out, &gauge, 1000000002);
		expose_family(out, rows[i].format, &info);
		expose_sample(out, &info, two, 2, 1);
		expose_end(out, rows[i].format);
		fclose(out);
		assert_string_equal(text, rows[i].text);
		free(text);
	}
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len > n && text[len - n - 1] == '_' && !strcmp(text + len - n, end);
}

static void the_table_of_families_is_sound(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FAMILY_COUNT; i++) {
		const struct family *f = &families[i];

		assert_non_null(f->name);
		assert_true(!strncmp(f->name, "pktledger_", 10));
		assert_int_equal(strspn(f->name, "abcdefghijklmnopqrstuvwxyz_"), strlen(f->name));
		assert_false(ends_with(f->name, "total") || ends_with(f->name, "info"));
		assert_true(!f->unit || ends_with(f->name, f->unit));
		assert_int_equal(f->help[strlen(f->help) - 1], '.');
		assert_null(strpbrk(f->help, "\n\\\""));
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(families[k].name, f->name);
	}
}

/* The whole */

static struct model *model_of(struct live_table *t, uint64_t time_ns)
{
	const struct model_spec spec = {.max_series = 10, .xdp_gaps = true};
	const struct live_own own = {
		.events = 9,
		.cpu_ns = 1500000000,
		.collect_ns = 12000000,
		.no_sockets = true,
		.map_bytes = 4096,
		.watch = {.recursion_misses = 2},
	};
	const struct model_interval in = {t, &own, time_ns, 1700000000000000000};
	struct model *m = model_new(&spec);

	assert_int_equal(model_take(m, &in), 0);
	assert_int_equal(model_take(m, &in), 0);
	return m;
}

static char *text_of(enum expose_format format)
{
	struct live_row rows[] = {
		row(STAGE_RCVBUF, NOISE_LOSS, "SOCKET_RCVBUFF", 3),
		row(STAGE_L2, NOISE_SUSPECT, "OTHERHOST", 4),
		row(STAGE_NONE, NOISE_BENIGN, "TCP_OLD_DATA", 5),
	};
	struct live_table t = {.rows = rows, .n = 3};
	struct model *m;
	size_t len;
	char *text;

	rows[0].text[LIVE_NETNS] = "host";
	m = model_of(&t, 5000000000);
	text = model_text(m, format, &len);
	assert_non_null(text);
	assert_int_equal(strlen(text), len);
	model_free(m);
	return text;
}

static const char *const told[] = {
	"pktledger_stage_lost_packets_total{stage=\"rcvbuf\"} 6\n",
	"pktledger_stage_lost_packets_total{stage=\"l2\"} 0\n",
	"pktledger_lost_packets_total{stage=\"rcvbuf\",reason=\"SOCKET_RCVBUFF\",netns=\"host\"} "
	"6\n",
	"pktledger_lost_bytes_total{stage=\"rcvbuf\",reason=\"SOCKET_RCVBUFF\",netns=\"host\"} "
	"600\n",
	"pktledger_suspect_packets_total{stage=\"l2\",reason=\"OTHERHOST\"} 8\n",
	"pktledger_benign_packets_total{reason=\"TCP_OLD_DATA\"} 10\n",
	"pktledger_own_losses_total{kind=\"recursion_misses\"} 2\n",
	"pktledger_own_losses_total{kind=\"without_cause\"} 0\n",
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

static void all_is_told_in_both_formats(void **state)
{
	(void)state;
	for (unsigned format = 0; format < EXPOSE_FORMATS; format++) {
		char *text = text_of(format);

		for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
			if (!strstr(text, told[i]))
				fail_msg("not told: %s%s", told[i], text);
		}
		assert_null(strstr(text, "stage=\"wire\""));
		assert_true(!strncmp(text, EXPOSE_BEGIN, strlen(EXPOSE_BEGIN)));
		assert_int_equal(!strcmp(text + strlen(text) - 7, "\n# EOF\n"),
				 format == EXPOSE_OPENMETRICS);
		free(text);
	}
}

/* Asking */

static void the_format_that_is_asked_for(void **state)
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
		{"application/openmetrics-text;version=0.0.1", EXPOSE_TEXT},
		{"application/openmetrics-text;version=2.0.0,text/plain;q=0.1", EXPOSE_TEXT},
		{"application/openmetrics-text;q=0,*/*", EXPOSE_TEXT},
		{"application/openmetrics-text;q=0.5,text/plain;q=0.6", EXPOSE_TEXT},
		{"application/openmetrics-text,text/plain", EXPOSE_OPENMETRICS},
		{"application/openmetrics-text;q=0.2,*/*;q=0.3", EXPOSE_TEXT},
		{"text/*;q=0.2,application/*;q=0.3", EXPOSE_OPENMETRICS},
		{"application/json", EXPOSE_TEXT},
		{"application/json,text/plain;q=0.5", EXPOSE_TEXT},
		{"application/openmetrics-text;q=2", EXPOSE_OPENMETRICS},
		{"application/openmetrics-text;q=x,text/plain", EXPOSE_TEXT},
		{",,;;,=;q=,application/openmetrics-text;", EXPOSE_OPENMETRICS},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (http_accept(rows[i].accept) != rows[i].format)
			fail_msg("%s", rows[i].accept);
	}
}

/* A file */

static void a_file_is_replaced_but_not_one_of_others(void **state)
{
	struct live_table none = {};
	struct model *m = model_of(&none, 1);
	struct error err = {};
	char path[] = "/tmp/pl-export-XXXXXX", text[64] = "";
	struct stat st;
	FILE *f;

	(void)state;
	close(mkstemp(path)); /* empty: it is taken */
	assert_int_equal(textfile_check(path, &err), 0);
	assert_int_equal(textfile_write(path, m, &err), 0);
	assert_int_equal(textfile_write(path, m, &err), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	f = fopen(path, "r+");
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "# TYPE pktledger_stage_lost_packets_total counter\n");
	rewind(f);
	fputs("root:x:0:0", f);
	fclose(f);
	assert_int_equal(textfile_write(path, m, &err), -EEXIST);
	assert_int_equal(err.status, STATUS_USAGE);
	unlink(path);
	err = (struct error){};
	assert_int_equal(textfile_check("/proc/none/x.prom", &err), -ENOENT);
	assert_int_equal(err.status, STATUS_FAILED);
	model_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_in_the_words_of_kubernetes),
		cmocka_unit_test(namespaces_have_no_numbers),
		cmocka_unit_test(what_has_no_room_is_told_as_others),
		cmocka_unit_test(what_does_not_move_gives_way),
		cmocka_unit_test(what_is_benign_has_few_labels),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(families_are_named_by_the_rules_of_their_format),
		cmocka_unit_test(the_table_of_families_is_sound),
		cmocka_unit_test(all_is_told_in_both_formats),
		cmocka_unit_test(the_format_that_is_asked_for),
		cmocka_unit_test(a_file_is_replaced_but_not_one_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
