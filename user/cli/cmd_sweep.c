// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "base/opt.h"
#include "cli/options.h"
#include "cli/report.h"

struct sweep_options {
	struct run_options run; /* must come first for series_run() */
	struct opt_args vary;	/* at most POINTS_COLUMNS */
	const char *preset;
	bool csv;
};

static int add_vary(const char *value, void *field, struct error *err)
{
	struct opt_args *vary = field;

	if (vary->n == POINTS_COLUMNS)
		return error_usage(err, NULL, "more than %u options in --vary", POINTS_COLUMNS);
	vary->at[vary->n++] = value;
	return 0;
}

static const struct opt sweep_opts[] = {
	{"vary", 0, OPT_CUSTOM, offsetof(struct sweep_options, vary), .metavar = "OPTION=LIST",
	 .parse = add_vary, .default_text = "",
	 .help = "values of a run option: 64k,1m or 100k..1M/100k or 64k..4m/x2 or on,off "
		 "(`default` omits it, several --vary: all combinations)"},
	{"preset", 0, OPT_STRING, offsetof(struct sweep_options, preset), .metavar = "NAME",
	 .excludes = "vary", .default_text = "none",
	 .help = "run the lines of a preset, or of a file with a / in its name (`help` lists "
		 "presets)"},
	{"csv", 0, OPT_FLAG, offsetof(struct sweep_options, csv), .excludes = "json json-lines",
	 .help = "print CSV, one line per trial"},
	{0},
};

static const struct opt_group sweep_groups[] = {
	{"Sweep", sweep_opts, 0},
	RUN_GROUPS,
	{0},
};

static int check_name(const struct opt_vary *vary, unsigned n, struct error *err)
{
	const struct opt *opt = vary[n].ref.opt;

	if (opt->type != OPT_FLAG && opt_given(&program_options, opt))
		return error_usage(err, "leave it to --vary", "--%s is given, and also in --vary",
				   opt->name);
	for (unsigned i = 0; i < n; i++) {
		if (vary[i].ref.opt == opt)
			return error_usage(err, "put all values into one list",
					   "--vary %s is given twice", opt->name);
	}
	return 0;
}

static int parse_all(const struct sweep_options *o, struct opt_vary *vary, struct error *err)
{
	int rc = 0;

	if (!o->vary.n)
		return error_usage(err, "for example --vary rate=100k..1M/100k", "nothing varies");
	for (unsigned i = 0; i < o->vary.n && !rc; i++) {
		rc = opt_vary_parse(&cmd_sweep, o->vary.at[i], &vary[i], err);
		if (!rc)
			rc = check_name(vary, i, err);
	}
	return rc;
}

static int points_of(const struct sweep_options *o, struct points *points, struct error *err)
{
	static struct opt_vary vary[POINTS_COLUMNS];

	if (o->preset)
		return preset_open(points, o->preset, program_argc - 2, program_argv + 2, err);
	if (parse_all(o, vary, err))
		return -EINVAL;
	return points_product(vary, o->vary.n, program_argc - 1, program_argv + 1, points, err);
}

static int run_sweep(void *options, struct error *err)
{
	struct sweep_options *o = options;
	struct points points = {};
	struct report *report;

	if (o->preset && !strcmp(o->preset, "help"))
		return preset_list(err);
	report = report_new(&o->run, SERIES_SCHEMA, err);
	if (!report)
		return -EIO;
	if (!points_of(o, &points, err))
		series_run(&points, o->csv, report, &o->run, err);
	points_free(&points);
	return report_finish(report, err);
}

/* All trials have the same duration so that they can be compared. */
static const struct sweep_options defaults = {
	.run = {.traffic = TRAFFIC_DEFAULTS, .traffic.timed = true, .repeat = 1}};

static const struct opt_example examples[] = {
	{"sweep --vary rate=100k..1M/100k", "show loss and stage as the rate grows"},
	{"sweep --vary rcvbuf=64k..4m/x2 --rate 300k --repeat 5",
	 "measure the effect of a larger receive buffer (medians of five)"},
	{"sweep --vary gro=on,off --vary rx-threads=1,2 -t 1 --csv > sweep.csv",
	 "test four combinations, with CSV for a spreadsheet"},
	{"sweep --preset million -t 2", "step up to a million pps, two seconds per step"},
	{0},
};

const struct command cmd_sweep = {
	.name = "sweep",
	.summary = "repeat `run` for each value of an option, one row per run",
	.everyday = "vary preset csv tx rx rcvbuf fault repeat ledger to count duration "
		    "rate size length flows json verbose help",
	.description =
		"Repeats `run` with each combination of the values that --vary lists, or with each "
		"line of a preset. All other "
		"options are the same as for run. A row shows the rate, the loss and the stage "
		"that lost most. A failed trial is marked as failed, and the sweep continues.",
	.groups = sweep_groups,
	.defaults = &defaults,
	.size = sizeof(struct sweep_options),
	.needs = run_needs,
	.again = RUN_NEEDS_AGAIN,
	.examples = examples,
	.run = run_sweep,
};
