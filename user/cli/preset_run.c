// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/preset_run.h"

#include <errno.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/preset.h"
#include "cli/series.h"

/* What is of all trials together stands on the command line, not in a preset. */
static int check_line(const void *arg, const struct point *point, const void *options,
		      struct error *err)
{
	const struct run_options *all = arg, *line = options;

	if (line->repeat == all->repeat && line->ledger == all->ledger &&
	    !memcmp(&line->global, &all->global, sizeof(line->global)))
		return 0;
	return error_set(err, STATUS_FAILED, -EINVAL, NULL,
			 "the line of the preset for '%.80s' has options that are of all lines: "
			 "--repeat, --ledger or output",
			 point->text[0]);
}

int preset_run(const struct run_options *o, struct error *err)
{
	struct points points = {};
	struct series series = {.cmd = &cmd_run, .points = &points, .check = check_line, .arg = o};
	struct preset *p = NULL;
	struct report *report;

	if (!strcmp(o->preset, "help"))
		return preset_list(stdout, err) ? (int)err->status : STATUS_OK;
	report = report_new(o, SERIES_SCHEMA, err);
	if (!report)
		return err->status;
	if (!preset_open(&p, o->preset, err) &&
	    !preset_points(p, program_argc - 2, program_argv + 2, &points, err)) {
		series.title = preset_title(p);
		series.about = preset_prose(p);
		series_run(&series, report, o, err);
	}
	points_free(&points);
	preset_free(p);
	return report_finish(report, err);
}
