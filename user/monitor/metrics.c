// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/list.h"

#define FILE_MODE 0644 /* node_exporter is another user */

enum type { COUNTER, GAUGE, INFO };

struct family {
	const char *name; /* without suffix; ends with the unit */
	enum type type;
	const char *unit; /* NULL: none */
	const char *help; /* a sentence */
};

/* The labels of a series, in the words of Prometheus and Kubernetes. */
enum label_id { STAGE, REASON, IFNAME, NETNS, POD_NAMESPACE, POD, CONTAINER, LABELS };

static const char *const label_names[LABELS] = {"stage",	 "reason", "ifname",   "netns",
						"pod_namespace", "pod",	   "container"};

/* Sums of one set of labels. */
struct series {
	const char *label[LABELS]; /* never NULL; "": not known */
	enum noise noise;
	uint64_t packets, bytes;
	uint64_t moved_ns; /* when it did last */
};

struct metrics {
	unsigned max;	 /* series that are told apart */
	unsigned series; /* that there are of them */
	uint64_t merged; /* additions that went to others */
	uint64_t expired;
	struct list all;    /* struct series *, in the order of compare() */
	uint64_t oldest_ns; /* no series moved before that */

	bool xdp_gaps;
	uint64_t lost[STAGE_COUNT];
	struct live_own own;	       /* as of the last interval */
	uint64_t time_ns, realtime_ns; /* its end */
};

struct metrics *metrics_new(unsigned max_series, bool xdp_gaps)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (m) {
		m->all.size = sizeof(struct series *);
		m->max = max_series;
		m->xdp_gaps = xdp_gaps;
	}
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->all.n; i++)
		free(((struct series **)m->all.at)[i]);
	list_free(&m->all);
	free(m);
}

/* Labels */

/*
 * A namespace that is known by a process only, "process[pid]", is called by its name, whose digits
 * say nothing tomorrow; one that is known by its inode number only has no label: both would have
 * ever new values.
 */
static const char *label_netns(const struct live_row *row, char buf[OWNER_NETNS])
{
	char number[16], *open;

	snprintf(number, sizeof(number), "%u", row->netns);
	if (!strcmp(row->text[LIVE_NETNS], number))
		return "";
	snprintf(buf, OWNER_NETNS, "%s", row->text[LIVE_NETNS]);
	open = strrchr(buf, '[');
	if (open && !strcmp(open + 1 + strspn(open + 1, "0123456789"), "]"))
		*open = '\0';
	return buf;
}

/* The part behind the last '/'; Kubernetes allows none in its names. */
static const char *last_part(const char *text)
{
	const char *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

/* Series */

static int compare(const struct series *a, const struct series *b)
{
	int rc = (a->noise > b->noise) - (a->noise < b->noise);

	for (unsigned i = 0; i < LABELS && !rc; i++)
		rc = strcmp(a->label[i], b->label[i]);
	return rc;
}

/* Where the series of these labels is (`found`), or where it is to be. */
static unsigned place_of(const struct metrics *m, const struct series *key, bool *found)
{
	struct series *const *all = m->all.at;
	unsigned low = 0, high = m->all.n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (compare(all[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*found = low < m->all.n && !compare(all[low], key);
	return low;
}

/* A copy with its texts behind it. */
static struct series *copy_of(const struct series *from)
{
	size_t size = sizeof(*from);
	struct series *copy;
	char *text;

	for (unsigned i = 0; i < LABELS; i++)
		size += strlen(from->label[i]) + 1;
	copy = malloc(size);
	if (!copy)
		return NULL;
	*copy = *from;
	text = (char *)(copy + 1);
	for (unsigned i = 0; i < LABELS; i++) {
		copy->label[i] = text;
		text = stpcpy(text, from->label[i]) + 1;
	}
	return copy;
}

static struct series *insert(struct metrics *m, const struct series *key, unsigned at)
{
	struct series *copy = copy_of(key), **to;

	if (!copy || !list_add(&m->all)) {
		free(copy);
		return NULL;
	}
	to = (struct series **)m->all.at + at;
	memmove(to + 1, to, (m->all.n - 1 - at) * sizeof(*to));
	*to = copy;
	return copy;
}

/* Makes room by what has not moved for long. All are looked at only if there can be one. */
static bool expire(struct metrics *m, uint64_t now_ns)
{
	struct series **all = m->all.at;
	unsigned n = m->all.n, oldest = n;

	if (now_ns - m->oldest_ns < METRICS_IDLE_NS)
		return false;
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(all[i]->label[REASON], LIVE_OTHERS) &&
		    (oldest == n || all[i]->moved_ns < all[oldest]->moved_ns))
			oldest = i;
	}
	if (oldest == n)
		return false;
	m->oldest_ns = all[oldest]->moved_ns;
	if (now_ns - m->oldest_ns < METRICS_IDLE_NS)
		return false;
	free(all[oldest]);
	memmove(&all[oldest], &all[oldest + 1], (--m->all.n - oldest) * sizeof(*all));
	m->series--;
	m->expired++;
	return true;
}

/* The series of these labels or, for want of room, that of others. NULL: no memory. */
static struct series *series_of(struct metrics *m, struct series *key, uint64_t now_ns)
{
	bool found;
	unsigned at = place_of(m, key, &found);
	struct series *one;

	if (found)
		return ((struct series **)m->all.at)[at];
	if (m->series < m->max || expire(m, now_ns)) {
		one = insert(m, key, place_of(m, key, &found));
		m->series += one != NULL;
		return one;
	}
	m->merged++;
	for (unsigned i = STAGE + 1; i < LABELS; i++)
		key->label[i] = LIVE_OTHERS;
	at = place_of(m, key, &found);
	return found ? ((struct series **)m->all.at)[at] : insert(m, key, at);
}

static int add_row(struct metrics *m, const struct live_row *row, uint64_t now_ns)
{
	const char *pod = row->text[LIVE_POD], *name = last_part(pod);
	char netns[OWNER_NETNS], pod_namespace[CONTAINER_K8S_NS] = "";
	struct series *one, key = {
				    .label = {row->text[LIVE_STAGE], row->text[LIVE_REASON], "", "",
					      "", "", ""},
				    .noise = row->noise,
			    };

	if (row->noise == NOISE_LOSS && row->stage < STAGE_COUNT)
		m->lost[row->stage] += row->counts.packets;
	if (row->noise == NOISE_NOTHING)
		return 0;
	if (row->noise != NOISE_BENIGN) {
		if (name != pod)
			snprintf(pod_namespace, sizeof(pod_namespace), "%.*s",
				 (int)(name - pod - 1), pod);
		key.label[IFNAME] = row->text[LIVE_IFNAME];
		key.label[NETNS] = label_netns(row, netns);
		key.label[POD_NAMESPACE] = pod_namespace;
		key.label[POD] = name;
		key.label[CONTAINER] = last_part(row->text[LIVE_CONTAINER]);
	}
	one = series_of(m, &key, now_ns);
	if (!one)
		return -ENOMEM;
	one->packets += row->counts.packets;
	one->bytes += row->counts.bytes;
	one->moved_ns = now_ns;
	return 0;
}

int metrics_take(struct metrics *m, const struct metrics_interval *in)
{
	int rc = 0;

	for (unsigned i = 0; i < in->rows->n && !rc; i++)
		rc = add_row(m, &in->rows->rows[i], in->time_ns);
	m->own = *in->own;
	m->time_ns = in->time_ns;
	m->realtime_ns = in->realtime_ns;
	return rc;
}

/* Text */

struct writer {
	FILE *out;
	enum expose_format format;
	const struct family *family; /* whose samples follow */
};

/* In OpenMetrics a family has the name, its samples a suffix; in the older format both have it. */
static const char *suffix(const struct family *f)
{
	static const char *const suffixes[] = {
		[COUNTER] = "_total", [GAUGE] = "", [INFO] = "_info"};

	return suffixes[f->type];
}

static void begin(struct writer *w, const struct family *f)
{
	static const char *const types[] = {
		[COUNTER] = "counter", [GAUGE] = "gauge", [INFO] = "info"};
	bool text = w->format == EXPOSE_TEXT;
	const char *end = text ? suffix(f) : "";

	w->family = f;
	fprintf(w->out, "# TYPE %s%s %s\n", f->name, end,
		types[text && f->type == INFO ? GAUGE : f->type]);
	if (f->unit && !text)
		fprintf(w->out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(w->out, "# HELP %s%s %s\n", f->name, end, f->help);
}

/* Both formats escape these three in a label; what is not UTF-8 becomes U+FFFD. */
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

/* An empty label is as none. */
static void put_sample(const struct writer *w, const char *const *names, const char *const *labels,
		       unsigned n, uint64_t value)
{
	char before = '{';

	fprintf(w->out, "%s%s", w->family->name, suffix(w->family));
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

/* A sample with one label. */
static void put_by(const struct writer *w, const char *name, const char *label, uint64_t value)
{
	put_sample(w, &name, &label, 1, value);
}

/* The series of a class. */
static void put_series(struct writer *w, const struct metrics *m, const struct family *f,
		       enum noise noise, bool bytes)
{
	begin(w, f);
	for (unsigned i = 0; i < m->all.n; i++) {
		const struct series *one = ((struct series *const *)m->all.at)[i];

		if (one->noise == noise)
			put_sample(w, label_names, one->label, LABELS,
				   bytes ? one->bytes : one->packets);
	}
}

static void put_lost(struct writer *w, const struct metrics *m)
{
	static const struct family stages = {
		"pktledger_stage_lost_packets", COUNTER, "packets",
		"Packets lost at a stage; all stages are there from the start."};
	static const struct {
		struct family family;
		enum noise noise;
		bool bytes;
	} rows[] = {
		{{"pktledger_lost_packets", COUNTER, "packets",
		  "Packets lost, by stage, reason and whose they were."},
		 NOISE_LOSS,
		 false},
		{{"pktledger_lost_bytes", COUNTER, "bytes",
		  "Bytes of lost packets; counters of devices do not tell them."},
		 NOISE_LOSS,
		 true},
		{{"pktledger_suspect_packets", COUNTER, "packets",
		  "Packets dropped that may be losses; what they were is not known."},
		 NOISE_SUSPECT,
		 false},
		{{"pktledger_benign_packets", COUNTER, "packets",
		  "Packets dropped as they should be; nobody misses them."},
		 NOISE_BENIGN,
		 false},
	};

	begin(w, &stages); /* the first: see METRICS_BEGIN */
	for (int s = 0; s < STAGE_COUNT; s++) {
		if (s != STAGE_WIRE) /* lies between hosts: here nobody can know */
			put_by(w, label_names[STAGE], stage_name(s), m->lost[s]);
	}
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_series(w, m, &rows[i].family, rows[i].noise, rows[i].bytes);
}

/* What the exporter misses. */
static void put_gaps(struct writer *w, const struct metrics *m)
{
	static const struct family own = {
		"pktledger_own_losses", COUNTER, NULL,
		"What the observer itself missed or could not tell apart."};
	static const struct family seen = {"pktledger_observed", GAUGE, NULL,
					   "Whether this host lets the observer see it: 1, or 0."};
	const struct {
		const char *what;
		bool gap;
	} observed[] = {
		{"places", m->own.no_places},
		{"reasons", m->own.no_reasons},
		{"sockets", m->own.no_sockets},
		{"xdp", m->xdp_gaps},
	};
	struct live_own_loss losses[LIVE_OWN_LOSSES];

	begin(w, &own);
	live_own_losses(&m->own, losses);
	for (unsigned i = 0; i < LIVE_OWN_LOSSES; i++)
		put_by(w, "kind", losses[i].name, losses[i].n);
	begin(w, &seen);
	for (unsigned i = 0; i < sizeof(observed) / sizeof(observed[0]); i++)
		put_by(w, "what", observed[i].what, !observed[i].gap);
}

/* What it says of itself. Of the unit seconds the value is in ns. */
static void put_self(struct writer *w, const struct metrics *m)
{
	static const struct family build = {"pktledger_build", INFO, NULL, "This program."};
	const struct {
		struct family family;
		uint64_t value;
	} rows[] = {
		{{"pktledger_events", COUNTER, NULL,
		  "Drops that the kernel has told, of any class."},
		 m->own.events},
		{{"pktledger_series", GAUGE, NULL, "Sets of labels that are told apart now."},
		 m->series},
		{{"pktledger_series_limit", GAUGE, NULL,
		  "Sets of labels that are told apart at most."},
		 m->max},
		{{"pktledger_series_merged", COUNTER, NULL,
		  "Additions to series of others, for want of room."},
		 m->merged},
		{{"pktledger_series_expired", COUNTER, NULL,
		  "Series that gave way after an hour without change."},
		 m->expired},
		{{"pktledger_cpu_seconds", COUNTER, "seconds",
		  "CPU time of the exporter, user and system."},
		 m->own.cpu_ns},
		{{"pktledger_maps_bytes", GAUGE, "bytes", "Kernel memory of the observer's maps."},
		 m->own.map_bytes},
		{{"pktledger_start_time_seconds", GAUGE, "seconds",
		  "When counting began, since the epoch."},
		 m->realtime_ns - m->time_ns},
		{{"pktledger_collected_time_seconds", GAUGE, "seconds",
		  "When these numbers were read from the kernel, since the epoch."},
		 m->realtime_ns},
		{{"pktledger_collect_duration_seconds", GAUGE, "seconds", "How long that took."},
		 m->own.collect_ns},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct family *f = &rows[i].family;
		uint64_t value = rows[i].value;

		begin(w, f);
		if (f->unit && !strcmp(f->unit, "seconds"))
			fprintf(w->out, "%s%s %" PRIu64 ".%09" PRIu64 "\n", f->name, suffix(f),
				value / 1000000000, value % 1000000000);
		else
			put_sample(w, NULL, NULL, 0, value);
	}
	begin(w, &build);
	put_by(w, "version", PKTLEDGER_VERSION, 1);
}

static int write_all(const struct metrics *m, enum expose_format format, FILE *out)
{
	struct writer w = {.out = out, .format = format};

	put_lost(&w, m);
	put_gaps(&w, m);
	put_self(&w, m);
	if (format == EXPOSE_OPENMETRICS)
		fputs("# EOF\n", out);
	return ferror(out) ? -EIO : 0;
}

char *metrics_text(const struct metrics *m, enum expose_format format, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);
	bool bad;

	if (!out)
		return NULL;
	bad = write_all(m, format, out) != 0;
	if (fclose(out) == EOF || bad) {
		free(text);
		return NULL;
	}
	return text;
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
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "cannot write %s: %s", path,
			      strerror(-rc))
		  : 0;
}

const char *expose_content_type(enum expose_format format)
{
	return format == EXPOSE_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
