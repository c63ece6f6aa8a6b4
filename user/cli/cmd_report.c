// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/clock.h"
#include "cli/options.h"
#include "host/caps.h"
#include "report/trace.h"
#include "report/capfile.h"
#include "report/junit.h"
#include "report/load.h"
#include "report/print.h"

struct report_options {
	struct global_options global;
	const char *since, *until;
	bool join, compare;
	const char *junit;
	int match;
	struct opt_args words;
	struct load_spec window;
	struct show_view view;
};

#define MATCH_AUTO (-1)

static const struct opt_value match_values[] = {
	{"auto", MATCH_AUTO, "header if present, else bytes"},
	{"header", PACKETID_STAMP, "number in pktledger's sequence header"},
	{"rtp", PACKETID_RTP, "RTP SSRC, sequence number and timestamp"},
	{"bytes", PACKETID_BYTES, "IPv4 ID, length, ports and first bytes of the payload"},
	{0},
};

static int parse_limits(const char *value, void *field, struct error *err)
{
	return compare_limits_parse(value, field, err);
}

#define AT(member) offsetof(struct report_options, member)

static const struct opt report_opts[] = {
	{"since", 0, OPT_STRING, AT(since), .metavar = "WHEN", .default_text = "the beginning",
	 .help = "start at this time: 2024-05-01T12:00:00Z, 03:12, -2h"},
	{"until", 0, OPT_STRING, AT(until), .metavar = "WHEN", .default_text = "the end",
	 .help = "stop at this time (a time of day is the first one after --since)"},
	{"number", 0, OPT_U64, AT(window.number), .min = 1, .default_text = "all",
	 .help = "select one run or trace of each file, counted from 1"},
	{"match", 0, OPT_ENUM, AT(match), .values = match_values,
	 .help = "match packets of two captures by"},
	{"join", 0, OPT_FLAG, AT(join),
	 .help = "join ledgers of `send` and `recv`, or TCP balances of several hosts"},
	{"compare", 0, OPT_FLAG, AT(compare), .excludes = "join matrix csv",
	 .help = "compare two results: different conditions and their effect"},
	{"limit", 0, OPT_CUSTOM, AT(view.limits), .metavar = "NAME=CHANGE", .parse = parse_limits,
	 .default_text = "none", .needs = "compare",
	 .help = "exit with 4 if the second is worse: loss=+0.1%, p99=+20%, "
		 "rx_pps=-5%"},
	{0},
};

static const struct opt form_opts[] = {
	{"csv", 0, OPT_FLAG, AT(view.csv), .excludes = "json json-lines",
	 .help = "print CSV, one row per interval and cause"},
	{"html", 0, OPT_STRING, AT(view.html), .metavar = "PAGE", .excludes = "csv",
	 .default_text = "none",
	 .help = "write a self-contained HTML page with charts (-: stdout)"},
	{"junit", 0, OPT_STRING, AT(junit), .metavar = "FILE", .default_text = "none",
	 .help = "write limits and findings as JUnit XML, for CI"},
	{"matrix", 0, OPT_FLAG, AT(view.matrix), .excludes = "csv",
	 .help = "print a loss matrix for runs between many hosts"},
	{"redact", 0, OPT_FLAG, AT(view.redact),
	 .help = "replace host names, addresses, namespaces, processes, cgroups and pods"},
	{0},
};

static const struct opt report_args[] = {
	{"FILE", 0, OPT_ARGS, AT(words), .required = true, .default_text = "",
	 .help = "a --ledger file, -j output or --html page, or two captures (one per end) and "
		 "EXPR, a pcap-filter(7) expression"},
	{0},
};

static const struct opt_group report_groups[] = {
	{"Selection", report_opts, 0},
	{"Format", form_opts, 0},
	{"Output", global_opts, AT(global)},
	{0},
};

static const struct report_options defaults = {.match = MATCH_AUTO};

static int parse_window(struct report_options *o, struct error *err)
{
	const struct {
		const char *option, *text;
		uint64_t *ns;
	} moments[] = {{"--since", o->since, &o->window.since_ns},
		       {"--until", o->until, &o->window.until_ns}};
	uint64_t now = when_now();

	o->window.until_ns = UINT64_MAX;
	for (unsigned i = 0; i < 2; i++) {
		if (moments[i].text &&
		    when_moment(moments[i].text, now, o->window.since_ns, moments[i].ns))
			return error_usage(
				err,
				"for example 2024-05-01T12:00:00Z, 2024-05-01, 03:12, -2h, now",
				"%s: '%s' is not a time", moments[i].option, moments[i].text);
	}
	if (o->window.since_ns > o->window.until_ns)
		return error_usage(err, NULL, "--since is after --until");
	return 0;
}

/*
 * Splits the arguments. Those before the first word that is not a file are files. After captures,
 * the remaining words form an expression.
 */
static int split_words(struct report_options *o, struct opt_words *expr, struct error *err)
{
	const struct opt_args *words = &o->words;
	size_t used = 0;
	struct stat st;
	unsigned n = 0;

	for (; n < words->n && !stat(words->at[n], &st); n++) {
		if (S_ISDIR(st.st_mode))
			return error_set(err, STATUS_USAGE, -EISDIR, "name the files in it",
					 "%s is a directory", words->at[n]);
		if (S_ISFIFO(st.st_mode))
			return error_usage(err,
					   "write it to a file first: it is read more than once",
					   "%s is a pipe", words->at[n]);
	}
	n += !n; /* the first word must be a file */
	o->window.path = words->at;
	o->window.n = n;
	if (n == words->n)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		if (!capfile_is(words->at[i]))
			return error_set(err, STATUS_FAILED, -ENOENT, NULL, "cannot open %s: %s",
					 words->at[n], strerror(ENOENT));
	}
	for (; n < words->n; n++) {
		if (used + strlen(words->at[n]) + 2 > sizeof(expr->text))
			return error_usage(err, NULL, "the expression is too long");
		used += (size_t)snprintf(expr->text + used, sizeof(expr->text) - used, "%s%s",
					 used ? " " : "", words->at[n]);
	}
	o->window.expr = expr->text;
	return 0;
}

/* Reports a file's missing and damaged lines. */
static void show_damage(const struct ledgers_file *f)
{
	const struct ledgerfile_state *s = &f->state;
	unsigned long long others = s->bad - s->cut;

	if (s->cut)
		log_warn("%s is truncated in line %llu, at byte %llu: using the lines before",
			 f->path, (unsigned long long)s->cut_line, (unsigned long long)s->cut_at);
	if (others)
		log_warn("%s: %s not match the checksum (first: line %llu), using all other lines",
			 f->path, fmt_many(others, "line does|lines do"),
			 (unsigned long long)s->bad_line);
	if (f->odd)
		log_warn("%s: left out: %s not in the format of this version", f->path,
			 fmt_many(f->odd, "line"));
	if (f->headless)
		log_warn("%s: left out: %s without their beginning", f->path,
			 fmt_many(f->headless, "line"));
}

static int nothing(const struct load_spec *window, const struct ledgers_file *f, struct error *err)
{
	char hint[192];

	snprintf(hint, sizeof(hint), "%.80s has %u, from %s to %s", f->path, f->documents,
		 when_text(f->from_ns, true), when_text(f->to_ns, true));
	if (window->number)
		return error_set(err, STATUS_FAILED, -ENODATA, hint,
				 "there is no run or trace number %llu",
				 (unsigned long long)window->number);
	return error_set(err, STATUS_FAILED, -ENODATA, hint, "there is no data in this time range");
}

static int compare_ends(const struct report_options *o, struct error *err)
{
	static const char *const others[] = {"number", "join",	 "limit",
					     "csv",    "matrix", "junit"};
	const struct ends_spec spec = {
		.a = o->window.path[0],
		.b = o->window.path[1],
		.expr = o->window.expr,
		.since_ns = o->window.since_ns,
		.until_ns = o->window.until_ns,
		.choose = o->match == MATCH_AUTO,
		.method = o->match == MATCH_AUTO ? PACKETID_BYTES : (enum packetid_method)o->match,
	};
	struct json_object *ends;
	int rc;

	for (unsigned i = 0; i < LENGTH(others); i++) {
		if (option_given(others[i]))
			return error_usage(err, NULL, "--%s is not for captures", others[i]);
	}
	rc = ends_compare(&spec, &ends, err);
	if (!rc)
		rc = show_ends(&o->view, ends, err);
	json_object_put(ends);
	return rc;
}

static int report(struct report_options *o, struct error *err)
{
	static struct opt_words expr;
	const struct ledgers_document *bad;
	struct ledgers *l;
	unsigned n = 0;
	int rc = 0;

	if (o->view.json && o->view.html && !strcmp(o->view.html, "-"))
		return error_usage(err, "name a file", "--html - and JSON both need stdout");
	if (parse_window(o, err) || split_words(o, &expr, err))
		return -EINVAL;
	while (n < o->window.n && capfile_is(o->window.path[n]))
		n++;
	if (n == 2 && o->window.n == 2)
		return compare_ends(o, err);
	if (option_given("match"))
		return error_usage(err, NULL, "--match is for two captures");
	if (ledgers_load(&l, &o->window, err))
		return -EINVAL;
	for (unsigned i = 0; i < l->files; i++)
		show_damage(&l->file[i]);
	if (!l->documents)
		rc = nothing(&o->window, l->file, err);
	else if (o->join || (o->view.matrix && joined_wanted(l)))
		rc = joined_tcp_wanted(l) ? joined_tcp_make(l, true, err) : joined_make(l, err);
	else if (o->compare)
		rc = choose_pair(l, &o->view.a, &o->view.b, err);
	else if (joined_tcp_wanted(l) || joined_wanted(l))
		log_info("join the files into one ledger with --join");
	if (!rc)
		rc = show_ledgers(&o->view, l, err);
	bad = rc ? NULL : show_unbalanced(l);
	if (bad && (o->view.a || o->view.matrix || o->view.csv)) /* other outputs show it */
		log_warn("%s, number %u: not balanced", document_file(bad), bad->number);
	if (bad)
		rc = STATUS_BROKEN;
	ledgers_free(l);
	return rc;
}

static int report_run(void *options, struct error *err)
{
	struct report_options *o = options;
	int rc;

	o->view.json = global_json_out(&o->global, "pktledger/report/1");
	o->view.argc = program_argc;
	o->view.argv = program_argv;
	o->view.text = global_view(&o->global);
	caps_give_up(cmd_report.needs, NULL, CAPS_ONCE);
	o->view.junit = o->junit ? junit_new("report") : NULL;
	rc = report(o, err);
	if (junit_write(o->view.junit, o->junit, err))
		rc = -EIO;
	if (output_end(o->view.json, err))
		rc = -EIO;
	return rc;
}

static const struct opt_need needs[] = {
	{OPT_CAP(DAC_OVERRIDE), "to read and write other users' files",
	 .without = "file permissions apply", .keeps = "for the same purpose"},
	{0},
};

static const struct opt_example examples[] = {
	{"report run.ledger", "show a saved run"},
	{"report --since 03:10 --until 03:15 trace.ledger", "show the losses around 03:12"},
	{"report --since -2h trace.ledger", "show the last two hours"},
	{"report --compare before.ledger after.ledger",
	 "show different conditions and their effect"},
	{"report --compare --limit loss=+0.1%,p99=+20% before.ledger after.ledger",
	 "for scripts: exit status 4 if the second is worse"},
	{"report --html run.html run.ledger", "write charts to one HTML file"},
	{"report --html search.html search.json", "write the same for the output of `search -j`"},
	{"report --matrix *.ledger", "show the losses between many hosts"},
	{"report --join a.ledger b.ledger recv.ledger",
	 "join senders and their receiver in one ledger"},
	{"report --join a.ledger b.ledger",
	 "join the TCP balances of two hosts: losses on each host and in between"},
	{"report here.pcap there.pcap udp", "find packets lost between two captures"},
	{"report --html lost.html here.pcap there.pcap", "write the same as an HTML page"},
	{0},
};

const struct command cmd_report = {
	.name = "report",
	.summary = "show, join and compare ledgers, JSON results and packet captures",
	.everyday = "since until join compare limit csv html junit redact json verbose help",
	.synopsis = "[options] FILE ... [EXPR]",
	.description = "Reads the --ledger files and -j output of run, sweep, search and trace, "
		       "and prints the same result again, with the time of each loss. Truncated or "
		       "damaged lines are reported, and the rest is used. --number selects single "
		       "trials of a sweep or search, which count from 2. --join combines ledgers "
		       "of `send` and `recv`: packets that left a sender and did not reach the "
		       "receiver are lost on the `wire`. --join also combines TCP ledgers of "
		       "`trace --balance` on several hosts and shows the outcome of each "
		       "retransmitted segment.",
	.groups = report_groups,
	.args = report_args,
	.defaults = &defaults,
	.size = sizeof(struct report_options),
	.needs = needs,
	.examples = examples,
	.run = report_run,
};
