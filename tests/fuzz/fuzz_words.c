// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Texts with their own syntax: times, faults, series of values, presets, the journal. */
#include "fuzz.h"

#include "base/clock.h"
#include "cli/options.h"
#include "cli/report.h"
#include "host/journal.h"
#include "experiment/faults/fault.h"
#include "traffic/worker.h"

#define NOW 1714564800000000000ULL /* 2024-05-01T12:00:00Z */

static void moments(const char *text)
{
	uint64_t ns, read_ns, pause_ns;

	when_date(text, &ns);
	if (!when_moment(text, NOW, 0, &ns) && strchr(text, ':') == text + 2 && strlen(text) <= 8)
		MUST(ns <= NOW);
	when_moment(text, NOW, NOW - 1, &ns);
	reader_parse_pause(text, &pause_ns, &read_ns);
}

static void faults(const char *text)
{
	struct fault_list list = {0}, each = {0};
	struct error err = {0};

	MUST(fault_parse(text, false, &list, &err) ? err.status != STATUS_OK : list.set != 0);
	err = (struct error){0};
	MUST(fault_parse(text, true, &each, &err) ? err.status != STATUS_OK : each.set != 0);
}

static void values(const char *text)
{
	static struct opt_vary vary;
	struct error err = {0};

	if (!opt_vary_parse(&cmd_run, text, &vary, &err))
		MUST(vary.n && vary.n <= OPT_VARY_MAX);
	else
		MUST(err.status == STATUS_USAGE);
}

static void presets(const char *text)
{
	char *argv[] = {"run", "-j", NULL};
	struct points points = {0};
	struct error err = {0};

	if (preset_parse(&points, text, 2, argv, &err)) {
		MUST(err.status == STATUS_FAILED);
		return;
	}
	MUST(points.n && *points.at->text[0]);
	points_free(&points);
}

static void journal(const char *text)
{
	struct journal_record rec = {0}, again = {0};
	static char printed[JOURNAL_RECORD_SIZE];

	if (journal_record_parse(&rec, text))
		return;
	MUST(journal_record_print(&rec, printed, sizeof(printed)) > 0);
	MUST(!journal_record_parse(&again, printed));
	MUST(rec.pid == again.pid && rec.start == again.start && !strcmp(rec.old, again.old));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	moments(text);
	faults(text);
	values(text);
	presets(text);
	journal(text);
	free(text);
	return 0;
}
