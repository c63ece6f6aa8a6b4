// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Texts with their own syntax: times, faults, series of values, presets, the journal, media types
 * of a scrape. A parsed rate, size, time or limit, written as text, parses to the same value.
 */
#include "fuzz.h"

#include "base/clock.h"
#include "cli/options.h"
#include "cli/report.h"
#include "drops/balance.h"
#include "host/journal.h"
#include "experiment/faults/fault.h"
#include "report/http.h"
#include "traffic/shape.h"
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

static void plain(const char *text)
{
	static const struct {
		int (*read)(const char *s, uint64_t *out);
		char *(*write)(uint64_t v);
	} kinds[] = {
		{num_count, num_text_count}, {num_size, num_text_size}, {num_time, num_text_time}};
	uint64_t v, again;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].read(text, &v))
			continue;
		MUST(!kinds[i].read(kinds[i].write(v), &again));
		MUST(v == again);
	}
}

static void others(const char *text)
{
	struct endpoint to, to_again;
	struct limit limit, limit_again;
	struct rate rate, rate_again;

	if (!num_rate(text, &rate) && rate.value > 1e-6) { /* room for digits */
		MUST(!num_rate(num_text_rate(&rate), &rate_again));
		MUST(rate.unit == rate_again.unit && rate.value == rate_again.value);
	}
	if (!num_limit(text, &limit)) {
		MUST(!num_limit(num_text_limit(&limit), &limit_again));
		MUST(limit.stage == limit_again.stage && limit.value == limit_again.value);
	}
	if (!num_endpoint(text, &to)) {
		MUST(!num_endpoint(num_text_endpoint(&to), &to_again));
		MUST(to.family == to_again.family && to.port == to_again.port);
	}
}

static void shapes(const char *text)
{
	static struct imix imix;
	static struct rate_plan plan;
	struct balance_numbering numbering;
	struct shape_ports ports;
	struct shape_addrs addrs;
	struct error err = {0};

	if (!imix_parse(text, &imix, &err))
		MUST(imix.n && imix.n <= SHAPE_SIZES);
	if (!rate_plan_parse(text, &plan, &err))
		MUST(plan.kind != PLAN_NONE && plan.n <= PROFILE_PARTS);
	if (!ports_parse(text, &ports))
		MUST(ports.n);
	if (!addrs_parse(text, &addrs))
		MUST(addrs.n);
	err = (struct error){0};
	if (!numbering_parse(text, &numbering, &err)) {
		MUST(numbering.kind == NUMBERS_RTP ||
		     (numbering.bytes >= 1 && numbering.bytes <= 8));
		MUST(numbering.kind == NUMBERS_RTP || numbering.step);
	}
}

/* Unknown media types change nothing. */
static void media_types(const char *text)
{
	char *more = malloc(strlen(text) + 32);
	enum expose_format format = http_accept(text);

	MUST(format < EXPOSE_FORMATS);
	sprintf(more, "image/png;q=1,%s", text);
	MUST(http_accept(more) == format);
	free(more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	moments(text);
	faults(text);
	values(text);
	presets(text);
	journal(text);
	plain(text);
	others(text);
	shapes(text);
	media_types(text);
	free(text);
	return 0;
}
