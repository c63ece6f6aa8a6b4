// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "report/document.h"
#include "report/print.h"
#include "experiment/experiment.h"
#include "cli/report.h"

#define SCHEMA	   "pktledger/search/1"
#define MRR_TRIALS 10
#define SHORT_NS   1000000000	/* for trials of the first, coarse targets */
#define RCVBUF	   (16 << 20)	/* absorbs packets that arrive while a receiver waits for a CPU */
#define TRIAL_NS   500000000	/* MLRsearch default. Without longer trials, */
#define MOST_NS	   120000000000 /* by default a search ends after this time */
#define BUSY	   10		/* one late trial in this many is reported as a busy host */

struct search_options {
	struct run_options run;
	struct search search; /* bounds and times for the search */
	bool sum_set, exceed_set, time_set;
	bool rfc2544, tst009, mrr;
	double pdr, precision, exceed;
	uint64_t sum_ns;
};

/* Goals and their trial lengths. The duration sum is this number of trials. */
static const struct method {
	const char *name;
	uint64_t trial_ns;
	unsigned sum; /* trials per rate */
	double exceed;
	bool pdr;
} methods[] = {
	{"MLRsearch", TRIAL_NS, 21, 0.5, true},
	{"rfc2544", 60000000000, 1, 0, false},
	{"tst009", 60000000000, 2, 0.5, false},
	{"mrr", 1000000000, 1, 0, false},
};

/* Parses a percentage below 100%. The grammar is the same as for a rate of 50%. */
static int parse_share(const char *value, void *field, struct error *err)
{
	struct rate rate;

	if (num_rate(value, &rate) || rate.unit != RATE_PERCENT || rate.value >= 100)
		return error_usage(err, NULL,
				   "'%.40s' is not a percentage below 100%% (examples: 0.5%%, 50%%)",
				   value);
	*(double *)field = rate.value / 100;
	return 0;
}

/* Parses --exceed. With 0, no trial may exceed the loss, as in RFC 2544. */
static int parse_exceed(const char *value, void *field, struct error *err)
{
	if (strcmp(value, "0%"))
		return parse_share(value, field, err);
	*(double *)field = 0;
	return 0;
}

#define AT(field)  offsetof(struct search_options, field)
#define SET(field) OPT_SET(struct search_options, field)

static const struct opt search_opts[] = {
	{"min-rate", 0, OPT_RATE, AT(search.min),
	 .help = "lowest rate"},
	{"max-rate", 0, OPT_RATE, AT(search.max), .set_offset = SET(search.max_set),
	 .default_text = "the maximum of this host", .help = "highest rate"},
	{"pdr", 0, OPT_CUSTOM, AT(pdr), .metavar = "PERCENT",
	 .parse = parse_share, .default_text = "0.5%",
	 .help = "loss allowed for the PDR"},
	{"precision", 0, OPT_CUSTOM, AT(precision), .metavar = "PERCENT", .parse = parse_share,
	 .default_text = "1%", .help = "stop when the two bounds are this close"},
	{"sum", 0, OPT_TIME, AT(sum_ns), .set_offset = SET(sum_set), .min = 1,
	 .default_text = "21 trials", .help = "total trial time that decides on a rate"},
	{"exceed", 0, OPT_CUSTOM, AT(exceed), .set_offset = SET(exceed_set), .metavar = "PERCENT",
	 .parse = parse_exceed, .default_text = "50%",
	 .help = "fraction of this time in which the loss may exceed the target"},
	{"warmup", 0, OPT_TIME, AT(search.warmup_ns), .min = 1000000,
	 .help = "length of each of the five warm-up trials (fewer if one reaches --max-rate)"},
	{"time-limit", 0, OPT_TIME, AT(search.most_ns), .set_offset = SET(time_set),
	 .default_text = "2m, none if a trial takes longer than 500ms",
	 .help = "do not start a trial after this time"},
	{"max-trials", 0, OPT_COUNT, AT(search.most_trials), .min = 1,
	 .help = "run at most N trials after the warm-up, show the bounds so far"},
	{"rfc2544", 0, OPT_FLAG, AT(rfc2544), .excludes = "tst009 mrr pdr",
	 .help = "follow RFC 2544: a single trial of 60 s without loss decides"},
	{"tst009", 0, OPT_FLAG, AT(tst009), .excludes = "mrr pdr",
	 .help = "follow ETSI TST 009 with loss verification: one of two trials of 60 s decides"},
	{"mrr", 0, OPT_FLAG, AT(mrr), .excludes = "pdr",
	 .help = "skip the search, measure ten trials at the highest rate"},
	{0},
};

static const struct opt_group search_groups[] = {
	{"Search", search_opts, 0},
	RUN_GROUPS,
	{0},
};

static int check(const struct search_options *o, struct error *err)
{
	const struct traffic_options *t = &o->run.traffic;
	const struct contradiction list[] = {
		{t->rate_set, "a search picks the rates itself",
		 "--min-rate and --max-rate bound them"},
		{t->count_set, "-c cannot be given to a search: the length of its trials is a time",
		 "-t is the time of a trial"},
		{t->profile.kind, "--profile sets rates, and a search picks them itself", NULL},
		{o->run.limits.n,
		 "--limit cannot be given to a search, which finds the limit itself", NULL},
		{(o->run.ports.n || o->run.far.target.to.family) && !o->search.max_set,
		 "outside a test network, search needs --max-rate", "for example --max-rate 1M"},
		{o->search.min.unit == RATE_MAX ||
			 (o->search.max_set && o->search.max.unit == RATE_MAX),
		 "--min-rate and --max-rate need numbers", NULL},
		{0},
	};

	return contradiction_check(list, err);
}

static const struct method *method_of(const struct search_options *o)
{
	return &methods[o->rfc2544 ? 1 : o->tst009 ? 2 : o->mrr ? 3 : 0];
}

static int plan_goals(const struct search_options *o, struct search *s, struct error *err)
{
	const struct method *m = method_of(o);
	uint64_t given = o->run.traffic.spec.duration_ns, trial = given ? given : m->trial_ns;
	uint64_t sum = o->sum_set ? o->sum_ns : trial * m->sum;
	uint64_t first = trial < SHORT_NS ? trial : SHORT_NS;
	struct mlr_goal goal = {
		.exceed_ratio = o->exceed_set ? o->exceed : m->exceed,
		.width = o->precision,
		.initial_s = (double)first * 1e-9,
		.final_s = (double)trial * 1e-9,
		.sum_s = (double)sum * 1e-9,
		.preceding = 2,
		.expansion = 2,
	};

	s->mrr_trials = MRR_TRIALS;
	s->mrr_ns = trial;
	if (!o->time_set && trial <= TRIAL_NS)
		s->most_ns = MOST_NS;
	if (o->mrr)
		return 0;
	if (sum < trial)
		return error_usage(err, NULL, "--sum is shorter than a trial");
	s->goal[s->goals] = goal;
	s->name[s->goals++] = "ndr";
	if (m->pdr) {
		goal.loss_ratio = o->pdr;
		s->goal[s->goals] = goal;
		s->name[s->goals++] = "pdr";
	}
	return 0;
}

/* Single trial. `spec` points into `options`, so they have the same lifetime. */
struct trial_plan {
	struct run_options options;
	struct run_spec spec;
};

/* Plans a trial using the search's options, except for rate, count and duration. */
static int plan_at(const struct report *r, const struct rate *rate, uint64_t time_ns,
		   uint64_t count, struct trial_plan *plan, struct error *err)
{
	struct traffic_options *t = &plan->options.traffic;

	plan->options = *r->o;
	t->rate_set = rate != NULL;
	if (rate)
		t->spec.rate = *rate;
	t->spec.duration_ns = time_ns;
	if (!t->spec.rcvbuf && !t->spec.faults.set && !r->o->far.target.to.family)
		t->spec.rcvbuf = RCVBUF;
	t->count_set = count != 0;
	if (count)
		t->spec.count = count;
	return run_plan(&plan->options, &plan->spec, err);
}

static int rate_pps(void *arg, const struct rate *rate, double *pps, struct error *err)
{
	struct trial_plan plan;
	int rc = plan_at(arg, rate, 1000000000, 0, &plan, err);

	if (!rc)
		rc = ports_rate(&plan.spec, pps, err);
	traffic_free(&plan.spec);
	return rc;
}

static int run_trial(void *arg, const struct rate *rate, const struct found_trial *t,
		     const char *title, const struct result **res, struct error *err)
{
	struct report *r = arg;
	struct trial_plan plan;
	int rc = plan_at(r, rate, t->time_ns, t->intended, &plan, err);

	if (!rc) {
		report_next(r, r->o, title);
		report_trial(r, &plan.spec, err);
		*res = r->recorded ? &r->res : NULL;
		if (r->interrupted || stdout_gone())
			rc = -EINTR;
		else if (err->status != STATUS_OK)
			rc = -EIO;
	}
	traffic_free(&plan.spec);
	return rc;
}

/* Prints a trial from its document, just as `report` does. */
static void on_trial(void *arg, const struct found_trial *t)
{
	struct report *r = arg;
	struct json_object *trial = report_series_trial(r, json_found_trial(t));
	static unsigned number; /* number of the trial being shown */

	log_progress_clear();
	if (!r->out.json)
		text_found_trial(stdout, ++number, t);
	json_object_put(trial);
	output_flush();
}

/* Reports that the search did not finish, and why if that is known. */
static void check_ended(const struct found *f, const struct search *s, struct error *err)
{
	char limit[64], busy[160] = "";
	const char *hint = "give a larger --time-limit";

	if (f->late * BUSY > f->trials)
		snprintf(busy, sizeof(busy), "; this host did not send %s of %s in time",
			 fmt_count(f->late), fmt_many(f->trials, "trial"));
	if (f->out_of_time) {
		snprintf(limit, sizeof(limit), "within %s", fmt_ns(s->most_ns));
	} else if (f->out_of_trials) {
		snprintf(limit, sizeof(limit), "with %s", fmt_many(s->most_trials, "trial"));
		hint = "give a larger --max-trials";
	} else {
		return;
	}
	error_set(err, STATUS_FAILED, -ETIME,
		  *busy ? "stop other work on this host, or try --nice -20" : hint,
		  "the search did not finish %s%s", limit, busy);
}

/* Reports a goal that is not met even at the lowest rate. */
static void check_found(const struct found *f, const struct search *s, struct error *err)
{
	check_ended(f, s, err);
	for (const struct found_rate *rate = f->goal; rate < f->goal + f->goals; rate++) {
		if (rate->has_lower || !rate->done)
			continue;
		error_set(err, STATUS_FAILED, -ERANGE,
			  "lower --min-rate, or find the cause of the "
			  "loss",
			  "%s: even the lowest rate, %s, loses more than %g %%%s%s", rate->name,
			  fmt_rate(f->min_pps), rate->loss_ratio * 100,
			  *found_culprit(rate) ? " at " : "", found_culprit(rate));
	}
	if (f->noise)
		error_set(
			err, STATUS_FAILED, -EDOM,
			"stop other work on this host, or try --nice -20, or longer trials with -t",
			"noise: some trials lost packets at %s and above, while other trials lost "
			"no packets up to %s, so the search stops: it cannot distinguish such "
			"noise "
			"from loss",
			fmt_rate(f->lost_from_pps), fmt_rate(f->held_to_pps));
}

/* Adds the spread of the lower bounds over all searches. */
static void put_spread(struct json_object *end, struct json_object *searches)
{
	struct json_object *all = json_object_new_object();

	json_put(end, "lower_pps_of_all", all);
	json_put(end, "searches", json_object_get(searches));
	for (unsigned g = 0; g < FOUND_GOALS; g++) {
		double lower[MAX_REPEAT];
		unsigned n = 0;

		for (struct json_each f = json_each(end, "searches"); json_next(&f);) {
			const struct json_object *rate = json_get(f.item, found_goals[g]);

			if (json_get(rate, "lower_pps") && json_get_bool(rate, "done"))
				lower[n++] = json_get_double(rate, "lower_pps");
		}
		if (n)
			json_put(all, found_goals[g], trials_summary_json(num_summary(lower, n)));
	}
}

/* Runs all searches. Returns the end of the document. */
static struct json_object *search_repeatedly(const struct search_options *o, const struct search *s,
					     struct report *report, struct error *err)
{
	const bool text = !report->out.json;
	struct json_object *searches = json_object_new_array(), *end;
	struct found found = {};
	int rc = 0;

	if (s->goals && s->most_trials)
		log_info("at most %s of %s after the warm-up%s%s",
			 fmt_many(s->most_trials, "trial"),
			 fmt_ns((uint64_t)(s->goal[0].final_s * 1e9)),
			 s->most_ns ? ", and none after " : "",
			 s->most_ns ? fmt_ns(s->most_ns) : "");
	for (unsigned i = 0; i < o->run.repeat && !rc; i++) {
		rc = search_run(s, &found, err);
		report_next(report, &o->run, "");
		log_progress_clear();
		end = json_found(&found);
		if (!rc)
			check_found(&found, s, err);
		json_object_array_add(searches, end);
		if (text && found.max_pps > 0)
			text_found(stdout, &found);
		else if (rc == -EINTR && !found.trials)
			log_warn("ended before the first trial was complete: there is no result");
	}
	end = json_found(&found);
	if (o->run.repeat > 1) {
		put_spread(end, searches);
		if (text)
			text_found_spread(stdout, end);
	}
	json_object_put(searches);
	return end;
}

static void put_start(const struct search_options *o, const struct search *s, struct report *report)
{
	struct json_object *start =
		json_origin(program_argc, program_argv,
			    (report->out.json || report->out.ledger) ? env_read(NULL) : NULL);
	const struct mlr_goal *goal = &s->goal[0];

	json_put_text(start, "method", method_of(o)->name);
	json_put_u64(start, "trial_ns", s->mrr_ns);
	if (s->goals) {
		json_put_double(start, "duration_sum_s", goal->sum_s);
		json_put(start, "exceed_ratio", json_object_new_double(goal->exceed_ratio));
		json_put(start, "precision", json_object_new_double(goal->width));
	}
	report_series(report, start);
}

static int run_search(void *options, struct error *err)
{
	struct search_options *o = options;
	struct report *report = report_new(&o->run, SCHEMA, err);
	struct search s = o->search;
	struct json_object *end;

	if (!report)
		return -EIO;
	s.threads = o->run.traffic.spec.threads;
	s.arg = report;
	if (!check(o, err) && !plan_goals(o, &s, err) && !caps_require(&cmd_search, NULL, err)) {
		run_prepare(err);
		put_start(o, &s, report);
		end = search_repeatedly(o, &s, report, err);
		report_series_end(report, end, err);
	}
	return report_finish(report, err);
}

static const struct search_options defaults = {
	.run = {.traffic = TRAFFIC_DEFAULTS, .repeat = 1},
	.search = {.min = {RATE_PPS, 1000},
		   .warmup_ns = TRIAL_NS,
		   .most_trials = 100,
		   .rate_pps = rate_pps,
		   .run = run_trial,
		   .on_trial = on_trial},
	.pdr = 0.005,
	.precision = 0.01,
};

static const struct opt_example examples[] = {
	{"search", "find the rates with no loss and with a given loss for a socket in a test "
		   "network"},
	{"search -t 200ms --precision 2%",
	 "use shorter trials, which are faster and less precise"},
	{"search --rx xsk --size 64 --max-rate 2M", "use AF_XDP and the smallest frames"},
	{"search --rfc2544 --rcvbuf 4m", "follow RFC 2544, one minute per trial"},
	{"search --mrr -j", "measure the throughput at full speed"},
	{0},
};

const struct command cmd_search = {
	.name = "search",
	.summary = "find the highest rate with no loss (NDR) and with a given loss (PDR)",
	.everyday = "min-rate max-rate pdr precision rfc2544 mrr tx rx rcvbuf limit ledger "
		    "interface to duration size length flows threads json verbose help",
	.description =
		"Runs trials at rates chosen by MLRsearch (RFC 9971) until two bounds are as close "
		"as --precision: a rate that passed, and a rate that failed, with the stage that "
		"lost most at that rate. A trial takes --duration (500 ms), and trials of --sum in "
		"total decide on a rate. A policer, or a queue with room for a burst, passes a "
		"higher rate in a short trial than over a long time. Use -t 60 or --rfc2544 to "
		"test this. Packets that the sender could not send count as lost. The receive "
		"buffer is 16 MiB unless --rcvbuf or a fault sets it, because a host that keeps "
		"the receiver waiting for its CPU would otherwise set the bound. With --to, the "
		"other host's buffer size is used. All other options are the same as for run.",
	.groups = search_groups,
	.defaults = &defaults,
	.size = sizeof(struct search_options),
	.needs = run_needs,
	.again = RUN_NEEDS_AGAIN,
	.examples = examples,
	.run = run_search,
};
