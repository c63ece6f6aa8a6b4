// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_MODE 0644 /* node_exporter runs as another user */

/*
 * A series is a row of a table. Its labels are the texts of these fields, except fields with many
 * values.
 */
#define SERIES_BY                                                                                  \
	((METRICS_BY & ~(LIVE_BIT(LIVE_SOURCE) | LIVE_BIT(LIVE_SCOPE))) | LIVE_BIT(LIVE_PROCESS))

/* Outcomes of retransmissions. Losses on this host are per stage, undecided retransmissions per
 * cause. All other outcomes are downstream. */
enum {
	TCP_NOT_LOST = STAGE_COUNT,
	TCP_UNDECIDED,
	TCP_BEYOND = TCP_UNDECIDED + TCP_WHYS,
	TCP_ROWS,
};

static const char *const tcp_missed_names[] = {"tcp_unranged", "tcp_unread", "tcp_unkept",
					       "tcp_recursion_misses"};

struct metrics {
	unsigned max;	 /* maximum number of separate series */
	unsigned series; /* number of separate series */
	uint64_t merged; /* additions to the "others" series */
	uint64_t expired;
	struct live_table all; /* `max` does not apply, because rows are never merged */
	uint64_t oldest_ns;    /* no series has changed before this time */

	bool xdp_gaps;
	bool has_tcp;
	uint64_t tcp_missed[LENGTH(tcp_missed_names)];
	uint64_t lost[STAGE_COUNT], tcp[TCP_ROWS];
	struct live_own own;	       /* state at the end of the last interval */
	uint64_t time_ns, realtime_ns; /* end of the last interval */
};

struct metrics *metrics_new(unsigned max_series, bool xdp_gaps)
{
	struct metrics *m = mem_new(m);

	m->max = max_series;
	m->xdp_gaps = xdp_gaps;
	table_init(&m->all, UINT32_MAX);
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	table_free(&m->all);
	free(m);
}

/* Labels */

/* Strips the PID from "name[pid]", because PIDs are not stable. Returns true if it found a PID. */
static bool cut_pid(char *text)
{
	char *open = strrchr(text, '[');
	bool is_pid = open && !strcmp(open + 1 + strspn(open + 1, "0123456789"), "]");

	if (is_pid)
		*open = '\0';
	return is_pid;
}

/*
 * Returns the namespace's label, which is its name or, if it has no name, the name of its process.
 * A namespace that is known only by number has no label, because every new namespace would add
 * another value.
 */
static const char *label_netns(const struct live_row *row, char buf[OWNER_NETNS])
{
	char number[16];

	snprintf(number, sizeof(number), "%u", row->netns);
	if (!strcmp(row->text[LIVE_NETNS], number))
		return "";
	snprintf(buf, OWNER_NETNS, "%s", row->text[LIVE_NETNS]);
	cut_pid(buf);
	return buf;
}

/* Returns "" if several processes share the socket. */
static const char *label_process(const struct live_row *row, char buf[OWNER_TEXT])
{
	snprintf(buf, OWNER_TEXT, "%s", row->text[LIVE_PROCESS]);
	return cut_pid(buf) ? buf : "";
}

/* Returns the cgroup's service unit. Scopes have no label, because each scope has a new name. */
static const char *label_unit(const struct live_row *row, char buf[OWNER_CGROUP])
{
	for (const char *p = row->text[LIVE_CGROUP]; *p; p += strspn(p, "/")) {
		size_t len = strcspn(p, "/");

		snprintf(buf, OWNER_CGROUP, "%.*s", (int)len, p);
		if (len > strlen(".service") && !strcmp(buf + len - strlen(".service"), ".service"))
			return buf;
		p += len;
	}
	return "";
}

/* Returns the part after the last '/'. Kubernetes does not allow '/' in names. */
static const char *last_part(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

/*
 * Replaces each byte that cannot be displayed with a byte that is not UTF-8 and is shown as U+FFFD.
 * As a result, names that look the same share a series, and no name can control a terminal.
 */
static const char *as_shown(const char *from, char to[OWNER_NETNS])
{
	snprintf(to, OWNER_NETNS, "%s", from);
	for (char *at = to; *at;) {
		unsigned len = *at == '\n' ? 1 : utf8_shown(at);

		if (!len)
			*at = '\xff';
		at += len ? len : 1;
	}
	return to;
}

/* Series */

/* Removes series that have not changed for METRICS_IDLE_NS. Scans all series only if there can be
 * such a series. */
static bool expire(struct metrics *m, uint64_t now_ns)
{
	struct live_row *oldest = NULL;

	if (now_ns - m->oldest_ns < METRICS_IDLE_NS)
		return false;
	for (unsigned i = 0; i < m->all.n; i++) {
		struct live_row *row = &m->all.rows[i];

		if (strcmp(row->text[LIVE_REASON], LIVE_OTHERS) &&
		    (!oldest || row->moved_ns < oldest->moved_ns))
			oldest = row;
	}
	if (!oldest)
		return false;
	m->oldest_ns = oldest->moved_ns;
	if (now_ns - m->oldest_ns < METRICS_IDLE_NS)
		return false;
	table_remove(&m->all, oldest);
	m->series--;
	m->expired++;
	return true;
}

/* Adds to the series with these labels, or to the "others" series if the limit is reached. */
static void add_series(struct metrics *m, struct live_row *key, uint64_t now_ns)
{
	bool known = table_find(&m->all, key, SERIES_BY);

	if (!known && (m->series < m->max || expire(m, now_ns))) {
		m->series++;
	} else if (!known) {
		m->merged++;
		for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++) {
			if (f != LIVE_STAGE && f != LIVE_CLASS)
				key->text[f] = LIVE_OTHERS;
		}
	}
	table_add(&m->all, key, SERIES_BY);
	table_find(&m->all, key, SERIES_BY)->moved_ns = now_ns;
}

static void add_row(struct metrics *m, const struct live_row *row, uint64_t now_ns)
{
	char netns[OWNER_NETNS], unit[OWNER_CGROUP], process[OWNER_TEXT];
	char shown[LIVE_FIELD_COUNT][OWNER_NETNS];
	struct live_row key = {.stage = row->stage,
			       .class = row->class == CLASS_COPY ? CLASS_EXPECTED : row->class,
			       .counts = row->counts};

	if (row->class == CLASS_LOSS && row->stage < STAGE_COUNT)
		m->lost[row->stage] += row->counts.packets;
	if (row->class == CLASS_NONE)
		return;
	live_row_begin(&key, "", "");
	key.text[LIVE_STAGE] = row->text[LIVE_STAGE];
	key.text[LIVE_REASON] = row->text[LIVE_REASON];
	if (key.class != CLASS_EXPECTED) {
		key.text[LIVE_IFNAME] = row->text[LIVE_IFNAME];
		key.text[LIVE_NETNS] = label_netns(row, netns);
		key.text[LIVE_POD] = row->text[LIVE_POD];
		key.text[LIVE_CONTAINER] = last_part(row->text[LIVE_CONTAINER]);
		key.text[LIVE_CGROUP] = label_unit(row, unit);
		key.text[LIVE_PROCESS] = label_process(row, process);
	}
	for (unsigned f = 0; f < LIVE_FIELD_COUNT; f++)
		key.text[f] = as_shown(key.text[f], shown[f]);
	add_series(m, &key, now_ns);
}

void metrics_take(struct metrics *m, const struct live_table *rows, const struct live_own *own,
		  uint64_t time_ns, uint64_t realtime_ns)
{
	for (unsigned i = 0; i < rows->n; i++)
		add_row(m, &rows->rows[i], time_ns);
	m->own = *own;
	m->time_ns = time_ns;
	m->realtime_ns = realtime_ns;
}

/*
 * The outcome of a retransmission may change, for example when an interface counts a loss later.
 * Metrics never decrease when that happens. Later increments compensate instead, so the sum is
 * always correct.
 */
void metrics_tcp(struct metrics *m, const struct tcp_balance *b)
{
	const uint64_t missed[] = {b->own.unranged, b->own.unread, b->own.unkept + b->refused,
				   b->missed};
	const struct tcp_sum *sum = &b->sum;
	uint64_t now[TCP_ROWS], new = 0;

	memcpy(now, sum->lost_at, sizeof(sum->lost_at));
	now[TCP_BEYOND] = sum->beyond;
	now[TCP_NOT_LOST] = sum->not_lost;
	memcpy(now + TCP_UNDECIDED, sum->undecided, sizeof(sum->undecided));
	for (unsigned i = 0; i < TCP_ROWS; i++)
		new += now[i] - m->tcp[i];
	for (unsigned i = 0; i < TCP_ROWS && (int64_t) new > 0; i++) {
		uint64_t more = now[i] > m->tcp[i] ? now[i] - m->tcp[i] : 0;

		more = more < new ? more : new;
		m->tcp[i] += more;
		new -= more;
	}
	memcpy(m->tcp_missed, missed, sizeof(m->tcp_missed));
	m->has_tcp = true;
}

/* Text */

/* In OpenMetrics, the family has the name and its samples have a suffix. In the older format, both
 * have the suffix. */
static const struct type {
	const char *name, *text_name, *suffix;
} counter = {"counter", "counter", "_total"}, gauge = {"gauge", "gauge", ""},
  info = {"info", "gauge", "_info"};

struct writer {
	FILE *out;
	const struct metrics *m;
	bool text;	  /* use the older text format */
	const char *name; /* name of the current family, with its unit */
	const struct type *type;
};

/* Writes a family's head. `unit`: suffix of the name, or NULL. `help`: a sentence. */
static void begin(struct writer *w, const char *name, const struct type *type, const char *unit,
		  const char *help)
{
	const char *end = w->text ? type->suffix : "";

	w->name = name;
	w->type = type;
	fprintf(w->out, "# TYPE pktledger_%s%s %s\n", name, end,
		w->text ? type->text_name : type->name);
	if (unit && !w->text)
		fprintf(w->out, "# UNIT pktledger_%s %s\n", name, unit);
	fprintf(w->out, "# HELP pktledger_%s%s %s\n", name, end, help);
}

/* Escapes the three characters that both formats escape in labels. Bytes that are not UTF-8 become
 * U+FFFD. */
static void put_escaped(FILE *out, const char *text)
{
	while (*text) {
		unsigned len = utf8_length(text);

		if (!len)
			fputs(UTF8_REPLACEMENT, out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
}

/* Writes a sample. An empty label is left out, which has the same meaning. */
static void put_sample(const struct writer *w, const char *const *names, const char *const *labels,
		       unsigned n, uint64_t value)
{
	char before = '{';

	fprintf(w->out, "pktledger_%s%s", w->name, w->type->suffix);
	for (unsigned i = 0; i < n; i++) {
		if (!*labels[i])
			continue;
		fprintf(w->out, "%c%s=\"", before, names[i]);
		put_escaped(w->out, labels[i]);
		fputc('"', w->out);
		before = ',';
	}
	fprintf(w->out, "%s %" PRIu64 "\n", before == ',' ? "}" : "", value);
}

/* Writes a sample with one label. */
static void put_by(const struct writer *w, const char *name, const char *label, uint64_t value)
{
	put_sample(w, &name, &label, 1, value);
}

/* Labels of a series, with the names that Prometheus and Kubernetes use. */
static const char *const label_names[] = {"stage", "reason",	"ifname", "netns",  "pod_namespace",
					  "pod",   "container", "unit",	  "process"};

static void put_series(struct writer *w, const char *name, enum drop_class class, bool bytes,
		       const char *help)
{
	begin(w, name, &counter, bytes ? "bytes" : "packets", help);
	for (unsigned i = 0; i < w->m->all.n; i++) {
		const struct live_row *row = &w->m->all.rows[i];
		const char *pod = row->text[LIVE_POD], *pod_name = last_part(pod);
		char k8s[CONTAINER_K8S_NS] = "";
		const char *const labels[LENGTH(label_names)] = {
			row->text[LIVE_STAGE],	   row->text[LIVE_REASON], row->text[LIVE_IFNAME],
			row->text[LIVE_NETNS],	   k8s,			   pod_name,
			row->text[LIVE_CONTAINER], row->text[LIVE_CGROUP], row->text[LIVE_PROCESS],
		};

		if (row->class != class)
			continue;
		if (pod_name != pod)
			snprintf(k8s, sizeof(k8s), "%.*s", (int)(pod_name - pod - 1), pod);
		else if (!strcmp(row->text[LIVE_REASON], LIVE_OTHERS))
			snprintf(k8s, sizeof(k8s), LIVE_OTHERS);
		put_sample(w, label_names, labels, LENGTH(labels),
			   bytes ? row->counts.bytes : row->counts.packets);
	}
}

static void put_value(struct writer *w, const char *name, const struct type *type, const char *unit,
		      uint64_t value, const char *help)
{
	begin(w, name, type, unit, help);
	put_sample(w, NULL, NULL, 0, value);
}

static void put_seconds(struct writer *w, const char *name, const struct type *type, uint64_t ns,
			const char *help)
{
	begin(w, name, type, "seconds", help);
	fprintf(w->out, "pktledger_%s%s %" PRIu64 ".%09" PRIu64 "\n", name, type->suffix,
		ns / 1000000000, ns % 1000000000);
}

static void put_tcp(struct writer *w)
{
	static const char *const names[] = {"cause", "stage", "why"};

	begin(w, "tcp_retransmits", &counter, NULL,
	      "Segments retransmitted by TCP, by outcome of the previous transmission.");
	for (unsigned i = 0; i < TCP_ROWS; i++) {
		const bool here = i < STAGE_COUNT, open = i >= TCP_UNDECIDED && i < TCP_BEYOND;
		const char *const labels[] = {here		  ? "lost_here"
					      : open		  ? "undecided"
					      : i == TCP_NOT_LOST ? "spurious"
								  : "downstream",
					      here ? stage_name((enum stage)i) : "",
					      open ? tcp_why_names[i - TCP_UNDECIDED] : ""};

		if (i != STAGE_WIRE)
			put_sample(w, names, labels, 3, w->m->tcp[i]);
	}
}

static int write_all(const struct metrics *m, enum expose_format format, FILE *out)
{
	struct writer w = {.out = out, .m = m, .text = format == EXPOSE_TEXT};

	errno = 0;
	/* this family comes first, see METRICS_BEGIN */
	begin(&w, "stage_lost_packets", &counter, "packets",
	      "Packets lost, by stage. All stages are present from the start.");
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (s != STAGE_WIRE) /* lost between hosts, which a single host cannot observe */
			put_by(&w, "stage", stage_name(s), m->lost[s]);
	}
	put_series(&w, "lost_packets", CLASS_LOSS, false,
		   "Packets lost, by stage, reason and owner.");
	put_series(&w, "lost_bytes", CLASS_LOSS, true,
		   "Bytes of lost packets. Losses known from interface counters have no bytes.");
	put_series(&w, "suspected_packets", CLASS_SUSPECTED, false,
		   "Packets dropped whose loss is suspected but not certain.");
	put_series(&w, "expected_packets", CLASS_EXPECTED, false,
		   "Expected drops, which do not count as loss.");
	if (m->has_tcp)
		put_tcp(&w);
	/* events that the exporter missed */
	begin(&w, "missed_events", &counter, NULL,
	      "Events that the exporter missed or could not distinguish.");
	for (const struct record_field *f = live_missed_rows; f->type == RECORD_UINT && f->key; f++)
		put_by(&w, "kind", f->key, *(const uint64_t *)((const char *)&m->own + f->offset));
	for (unsigned i = 0; m->has_tcp && i < LENGTH(m->tcp_missed); i++)
		put_by(&w, "kind", tcp_missed_names[i], m->tcp_missed[i]);
	begin(&w, "observed", &gauge, NULL, "Whether this host lets the exporter see it: 1, or 0.");
	put_by(&w, "what", "places", !m->own.no_places);
	put_by(&w, "what", "reasons", !m->own.no_reasons);
	put_by(&w, "what", "sockets", !m->own.no_sockets);
	put_by(&w, "what", "xdp", !m->xdp_gaps);
	/* metrics about the exporter itself */
	put_value(&w, "events", &counter, NULL, m->own.events,
		  "Drops that the kernel has reported, of any class.");
	put_value(&w, "series", &gauge, NULL, m->series, "Time series that exist now.");
	put_value(&w, "series_limit", &gauge, NULL, m->max, "Time series that may exist at most.");
	put_value(&w, "series_merged", &counter, NULL, m->merged,
		  "Additions to the series named other because the table was full.");
	put_value(&w, "series_expired", &counter, NULL, m->expired,
		  "Time series removed after an hour without change.");
	put_seconds(&w, "cpu_seconds", &counter, m->own.cpu_ns,
		    "CPU time of the exporter, user and system.");
	put_value(&w, "maps_bytes", &gauge, "bytes", m->own.map_bytes,
		  "Kernel memory of the observer's maps.");
	put_seconds(&w, "start_time_seconds", &gauge, m->realtime_ns - m->time_ns,
		    "When counting began, since the epoch.");
	put_seconds(&w, "collected_time_seconds", &gauge, m->realtime_ns,
		    "When these numbers were read from the kernel, since the epoch.");
	put_seconds(&w, "collect_duration_seconds", &gauge, m->own.collect_ns,
		    "How long that took.");
	put_seconds(&w, "paused_seconds", &counter, m->own.paused_ns,
		    "Time without counting drops, because of --max-cpu.");
	begin(&w, "build", &info, NULL, "This program.");
	put_by(&w, "version", PKTLEDGER_VERSION, 1);
	if (!w.text)
		fputs("# EOF\n", out);
	return fflush(out) != EOF && !ferror(out) ? 0 : errno ? -errno : -EIO;
}

char *metrics_text(const struct metrics *m, enum expose_format format, size_t *len)
{
	char *text = NULL;
	FILE *out = mem_need(open_memstream(&text, len));

	write_all(m, format, out);
	fclose(out);
	return mem_need(text);
}

int metrics_file(const struct metrics *m, const char *path, struct error *err)
{
	struct replace file;
	int rc = replace_begin(&file, path, METRICS_BEGIN, FILE_MODE);

	if (!rc && !m)
		replace_end(&file, -ECANCELED);
	else if (!rc)
		rc = replace_end(&file, write_all(m, EXPOSE_TEXT, file.out));
	if (rc == -EEXIST)
		return error_set(err, STATUS_USAGE, rc, "name another file, or remove it",
				 "%s is there, and was not written by pktledger", path);
	return error_errno(err, STATUS_FAILED, rc, file_hint(rc, NULL), "cannot write %s", path);
}

const char *expose_content_type(enum expose_format format)
{
	return format == EXPOSE_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
