// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <asm/byteorder.h>
#include <errno.h>
#include <fnmatch.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/options.h"
#include "report/http.h"
#include "report/trace.h"
#include "monitor/metrics.h"
#include "host/caps.h"
#include "monitor/session.h"
#include "monitor/sources.h"

#define PORT 28780
/* Limits scrapes to a tenth of the time, however many there are. */
#define REST 9
/* The page shows the last hour's losses, in at most this many intervals. */
#define HOUR	  3600000000000ULL
#define INTERVALS 360

struct export_options {
	struct live_options live;
	struct endpoint listen;
	bool process;
	const char *textfile, *cert, *key, *token_file;
	unsigned max_series;
};

static const struct export_options defaults = {
	.listen = {.family = AF_INET,
		   .ip4 = {.s_addr = __constant_htonl(INADDR_LOOPBACK)},
		   .port = PORT},
	.live.interval_ns = 10000000000,
	.live.flows = TCP_FLOWS,
	.max_series = 2000,
};

#define AT(member) offsetof(struct export_options, member)

static const struct opt export_opts[] = {
	{"listen", 0, OPT_ENDPOINT, AT(listen),
	 .help = "serve /metrics and / over HTTP at this address ([::] is any), unless only "
		 "--textfile is given"},
	{"tls-cert", 0, OPT_STRING, AT(cert), .metavar = "FILE", .default_text = "none: HTTP", .needs = "tls-key",
	 .help = "serve over HTTPS with this certificate and its chain (PEM)"},
	{"tls-key", 0, OPT_STRING, AT(key), .metavar = "FILE", .default_text = "none", .needs = "tls-cert",
	 .help = "private key of --tls-cert (PEM)"},
	{"token-file", 0, OPT_STRING, AT(token_file), .metavar = "FILE", .default_text = "none",
	 .help = "require the token in the first line of FILE (`Authorization: Bearer` or browser "
		 "password)"},
	{"textfile", 0, OPT_STRING, AT(textfile), .metavar = "FILE", .default_text = "none",
	 .help = "write the metrics to FILE each interval for node_exporter's textfile collector"},
	{"interval", 'I', OPT_TIME, AT(live.interval_ns), .min = 100000000,
	 .help = "time between two readings of the counts (each scrape also reads them)"},
	{"duration", 't', OPT_TIME, AT(live.duration_ns), .min = 1,
	 .default_text = "until a signal", .help = "stop after this long"},
	MAX_CPU_OPT(AT(live.max_cpu)),
	{"max-series", 0, OPT_UINT, AT(max_series), .min = 1, .max = 100000,
	 .help = "limit the number of time series and sum the rest as \"others\""},
	{"process", 0, OPT_FLAG, AT(process),
	 .help = "add a label with the name of the process that owns the socket"},
	{0},
};

static const struct opt_group export_groups[] = {
	{"Destination", export_opts, 0},
	{"Filter", trace_filter_opts, AT(live)},
	{"TCP balance", trace_tcp_opts, AT(live)},
	{"Output", global_opts, AT(live.global)},
	{0},
};

struct export
{
	const struct export_options *o;
	struct session session;
	struct metrics *metrics;
	struct tcp_balance balance; /* of TCP, as of the last read */
	struct http *http;	    /* NULL: no port is open */
	/* Trace events for the page. */
	struct json_object *start, *intervals;
	struct overhead overhead;
	struct live_table since; /* losses that are not yet in an interval */
	uint64_t drawn_ns;	 /* ns, end of the last interval */
	struct endpoint where;
	bool unread; /* the last scrape failed to read the counts */
	int tcp_error;
	bool file_failed; /* the last write to the file failed */
};

/* Handles the end of a collector interval. */
static void take(struct export *e)
{
	const struct live *l = e->session.live;
	const struct live_table *now = live_interval(l);
	struct live_own own;

	live_own(l, &own);
	for (unsigned i = 0; e->http && i < now->n; i++)
		table_add(&e->since, &now->rows[i], LIVE_BY_STAGE);
	metrics_take(e->metrics, now, &own, live_time(l, NULL), when_now());
	if (e->http)
		http_forget(e->http);
}

/* Adds the losses since the page's last interval, by stage. */
static void draw_interval(struct export *e)
{
	uint64_t now = live_time(e->session.live, NULL);
	const struct trace_time time = {when_now(), now, now - e->drawn_ns};

	json_object_array_add(e->intervals,
			      json_trace_interval(&e->since, NULL, LIVE_BY_STAGE, &time));
	table_clear(&e->since);
	e->drawn_ns = now;
	while (json_object_array_length(e->intervals) > INTERVALS ||
	       now - json_get_u64(json_object_array_get_idx(e->intervals, 0), "time_ns") > HOUR)
		json_object_array_del_idx(e->intervals, 0, 1);
}

/* Returns the page for a trace, from its start until now. */
static char *drawn(void *arg, bool all, size_t *len)
{
	struct json_object *doc = json_object_new_object();
	struct ledgers_document document = {.json = doc, .command = "trace", .parts = true};
	struct html_page page = {.docs = &document, .n = 1, .live = true};
	static struct live_summary s;
	struct export *e = arg;
	char *text = NULL, *printed = NULL;
	size_t size;
	FILE *out = e->unread ? NULL : open_memstream(&text, len), *print;
	int rc;

	if (out) {
		live_summarise(e->session.live, NULL, NULL, &s);
		s.tcp = e->balance.so_far ? &e->balance : NULL;
		json_put_text(doc, "schema", "pktledger/trace/1");
		json_put(doc, "start", json_object_get(e->start));
		json_put(doc, "intervals", json_object_get(e->intervals));
		json_put(doc, "end", json_trace_end(&s, e->session.spec.by));
		print = open_memstream(&printed, &size);
		if (print) {
			print_trace(&(struct print_view){.out = print, .verbosity = -1}, &document);
			fclose(print);
		}
		page.text = printed;
		rc = (all ? html_write : html_live)(out, &page);
		free(printed);
		if (fclose(out) || rc) {
			free(text);
			text = NULL;
		}
	}
	json_object_put(doc);
	return text;
}

/*
 * Reads the counts, so that a scrape shows the losses up to now, not just up to the last interval.
 */
static void before_scrape(void *arg)
{
	struct export *e = arg;
	struct live_own own;

	live_own(e->session.live, &own);
	if (clock_now() - live_parts(e->session.live).start_ns - live_time(e->session.live, NULL) <
	    REST * own.collect_ns)
		return;
	e->unread = live_collect(e->session.live, &(struct error){}) != 0;
	if (!e->unread)
		take(e);
}

static char *scraped(void *arg, enum expose_format format, size_t *len)
{
	const struct export *e = arg;

	return e->unread ? NULL : metrics_text(e->metrics, format, len);
}

static void on_start(void *arg)
{
	const struct trace_shown shown = {.interval_ns = HOUR / INTERVALS};
	struct live_spec asked;
	struct export *e = arg;

	e->metrics = metrics_new(e->o->max_series, *sources_gaps(e->session.sources));
	asked = e->session.spec;
	asked.expr = e->o->live.expr.text;
	e->start = json_trace_start(program_argc, program_argv, NULL, &asked, &shown);
	e->intervals = json_object_new_array();
	table_init(&e->since, LIVE_ROWS);
	caps_give_up(cmd_export.needs, e->o->textfile ? "--textfile" : NULL, CAPS_ONCE);
	caps_bar_calls(false, e->session.tcp || e->o->live.max_cpu > 0);
	if (*sources_gaps(e->session.sources))
		log_warn("%s", sources_gaps(e->session.sources));
	trace_show_gaps(e->session.live);
	if (e->http)
		log_info("metrics at http%s://%s/metrics, live page at /",
			 e->o->cert ? "s" : "", num_text_endpoint(&e->where));
	if (e->o->textfile)
		log_info("metrics in %s", e->o->textfile);
}

/* Serves requests on a tick or on input. */
static bool serve(void *arg)
{
	struct export *e = arg;

	if (e->http && live_time(e->session.live, NULL) - e->drawn_ns >= HOUR / INTERVALS)
		draw_interval(e);
	if (e->http)
		http_run(e->http);
	return true;
}

/*
 * Reads the balance, but only at intervals, because it reads sockets and the interfaces in all
 * namespaces.
 */
static void take_tcp(struct export *e)
{
	if (!e->session.tcp || e->tcp_error)
		return;
	e->tcp_error = tcp_account_look(e->session.tcp, &e->balance);
	if (e->tcp_error)
		log_error(
			"cannot read the balance of TCP: %s (its metrics keep their last values)",
			strerror(-e->tcp_error));
	else
		metrics_tcp(e->metrics, &e->balance);
}

static bool on_interval(void *arg)
{
	struct export *e = arg;

	struct error err = {};
	bool failed;

	take(e);
	take_tcp(e);
	overhead_limit(&e->overhead, e->o->live.max_cpu, e->session.live);
	if (e->o->textfile) {
		failed = metrics_file(e->metrics, e->o->textfile, &err) != 0;
		if (failed && !e->file_failed)
			log_warn("%s (retrying at each interval)", err.message);
		else if (!failed && e->file_failed)
			log_warn("%s can be written again", e->o->textfile);
		e->file_failed = failed;
	}
	return true;
}

/* Opens the outputs before anything is loaded, so that errors are reported immediately. */
static int open_outlets(struct export *e, struct error *err)
{
	const char *file = e->o->textfile;
	struct http_spec http = {
		.listen = e->o->listen,
		.cert = e->o->cert,
		.key = e->o->key,
		.before = before_scrape,
		.text = scraped,
		.page = drawn,
		.arg = e,
	};
	int rc = file ? metrics_file(NULL, file, err) : 0;

	if (!rc && e->o->token_file)
		rc = token_read(&http.token, e->o->token_file, err);

	if (!http.listen.port)
		http.listen.port = PORT;
	e->where = http.listen;
	if (!rc && (option_given("listen") || !file))
		rc = http_open(&e->http, &http, err);
	if (!rc && http.token.len && !http.cert && !num_is_loopback(&http.listen))
		log_warn("the token can be read on the way to %s; --tls-cert and --tls-key encrypt "
			 "it",
			 num_text_endpoint(&http.listen));
	if (!rc && file && fnmatch("*.prom", file, 0) && strncmp(file, "/dev/", 5))
		log_warn("the name must end with .prom, or node_exporter ignores the file");
	return rc;
}

static int check(struct export *e, struct error *err)
{
	const struct live_options *o = &e->o->live;
	struct live_spec *spec = &e->session.spec;

	if (global_json(&o->global))
		return error_usage(err, "use trace --json-lines", "export prints no JSON");
	if (e->o->textfile && !option_given("listen") && (e->o->cert || e->o->token_file))
		return error_usage(err, "add --listen",
				   "%s protects a port, and --textfile alone opens no port",
				   e->o->cert ? "--tls-cert" : "--token-file");
	if (o->balance && (o->spec.netns || o->pod))
		return error_usage(err, "narrow EXPR instead",
				   "%s and --balance of export cannot be given together: --balance "
				   "needs both ends of a flow",
				   o->pod ? "--pod" : "--netns");
	if (balance_spec(o, cmd_export.name, &e->session, err) ||
	    caps_require(&cmd_export, NULL, err))
		return -EINVAL;
	spec->by = METRICS_BY | (e->o->process ? LIVE_BIT(LIVE_PROCESS) : 0);
	spec->total_by = spec->by;
	spec->senders = true;
	return open_outlets(e, err);
}

static int export_run(void *options, struct error *err)
{
	const struct export_options *o = options;
	struct export e = {
		.o = o,
		.session = {.interval_ns = o->live.interval_ns,
			    .duration_ns = o->live.duration_ns,
			    .on_start = on_start,
			    .on_tick = serve,
			    .on_interval = on_interval,
			    .arg = &e},
	};
	int rc = check(&e, err);

	if (!rc && e.http) {
		e.session.on_input = serve;
		e.session.input_fd = http_fd(e.http);
	}
	if (!rc)
		rc = session_run(&e.session, err);
	session_end(&e.session);
	http_close(e.http);
	metrics_free(e.metrics);
	table_free(&e.since);
	json_object_put(e.start);
	json_object_put(e.intervals);
	return !rc && e.file_failed ? STATUS_FAILED : rc;
}

static const struct opt_need needs[] = {
	TRACE_NEEDS,
	{OPT_CAP(DAC_OVERRIDE), "to write to other users' directories", .when = "--textfile",
	 .without = "the file must be in a directory that this user can write to",
	 .keeps = "to replace the file each time"},
	{0},
};

static const struct opt_example examples[] = {
	{"export", "serve Prometheus on this host: http://127.0.0.1:28780/metrics"},
	{"export --listen [::]",
	 "serve other hosts (anyone who can reach the port can read the metrics)"},
	{"export --listen :: --tls-cert cert --tls-key key --token-file token",
	 "serve over HTTPS, to clients with the token"},
	{"export --textfile /var/lib/prometheus/node-exporter/pktledger.prom",
	 "write a file for node_exporter instead of opening a port"},
	{"export --netns shop udp", "count UDP losses of one namespace"},
	{"export --balance", "add the cause of each TCP retransmission"},
	{0},
};

const struct command cmd_export = {
	.name = "export",
	.summary = "serve drop counters to Prometheus",
	.everyday = "listen textfile interval process netns interface balance verbose help",
	.description =
		"Counts drops on this host like `trace` and serves the totals as metrics. Losses "
		"have labels for stage, reason, interface, network namespace, pod, container, "
		"systemd service and, with --process, process. Suspected losses, expected drops, "
		"and events that the exporter missed are counted separately. Totals never decrease "
		"while it runs, and their number is bounded.\nThe format is OpenMetrics for "
		"clients that accept it, else the older text format. A scrape shows all losses up "
		"to that moment.\nThe page at / shows the same data live: where packets leave the "
		"path, how to fix it, and the last hour.",
	.groups = export_groups,
	.args = expr_arg,
	.defaults = &defaults,
	.size = sizeof(struct export_options),
	.needs = needs,
	.examples = examples,
	.run = export_run,
};
