// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/facts.h"
#include "report/document.h"
#include "experiment/faults/fault.h"
#include "base/watch.h"
#include "drops/stagemap.h"

struct selftest_options {
	struct global_options global;
	uint64_t count;
	bool ipv6, host_global;
	struct fault_list faults;
};

static const struct selftest_options defaults = {.count = 10000};

static int parse_faults(const char *value, void *field, struct error *err)
{
	return fault_parse(value, true, field, err);
}

#define AT(member) offsetof(struct selftest_options, member)

static const struct opt selftest_opts[] = {
	{"fault", 0, OPT_CUSTOM, AT(faults), .metavar = "LIST", .values = fault_values,
	 .parse = parse_faults, .default_text = "all",
	 .help = "inject only these faults, comma-separated"},
	{"count", 'c', OPT_COUNT, AT(count), .min = 10000, .max = 1000000, .metavar = "N",
	 .help = "number of packets per fault"},
	{"ipv6", '6', OPT_FLAG, AT(ipv6), .help = "use IPv6"},
	{"host-global", 0, OPT_FLAG, AT(host_global),
	 .help = "also inject faults that affect the whole host (udp_mem, backlog:flow_limit)"},
	{0},
};

static const struct opt_group selftest_groups[] = {
	{"Test", selftest_opts, 0},
	{"Output", global_opts, AT(global)},
	{0},
};

/* Returns "flow_limit" from "backlog:flow_limit", or NULL. */
static const char *variant_of(unsigned fault)
{
	const char *colon = strchr(fault_values[fault].name, ':');

	return colon ? colon + 1 : NULL;
}

static struct json_object *row_json(const struct selftest_row *row)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "stage", stage_name(row->stage));
	json_put_text(o, "variant", variant_of(row->fault));
	json_put_u64(o, "injected", row->injected);
	json_put_u64(o, "events", row->events);
	json_put_u64(o, "settled", row->settled);
	json_put_u64(o, "counters", row->counters);
	json_put_u64(o, "counters_agreeing", row->agreeing);
	json_put_text(o, "verdict", selftest_verdict_name(row->verdict));
	json_put_u64(o, "repeated", row->repeated);
	json_put_text(o, "note", row->note);
	return o;
}

static void print_repeated(const char *before, unsigned runs, const char *behind)
{
	if (runs)
		printf("%s%s repeated, since the host may have hidden drops from tracing%s", before,
		       fmt_many(runs, "run was|runs were"), behind);
}

static void print_row(const struct selftest_row *row)
{
	char counters[32] = "none";

	log_progress_clear();
	if (row->verdict == SELFTEST_SKIPPED) {
		printf("%-22s %9s %9s  %-10s  skipped: %s\n", fault_values[row->fault].name, "", "",
		       "", row->note);
		return;
	}
	if (row->counters)
		snprintf(counters, sizeof(counters), "%u of %u", row->agreeing, row->counters);
	printf("%-22s %9s %9s  %-10s  %s%s%s", fault_values[row->fault].name,
	       fmt_count(row->injected), fmt_count(row->events), counters,
	       selftest_verdict_name(row->verdict), *row->note ? ": " : "", row->note);
	print_repeated(" (", row->repeated, ")");
	putchar('\n');
	output_flush();
}

/* Results for all requested faults. */
struct tested {
	bool text;		  /* print each row once its fault has been tested */
	struct json_object *rows; /* NULL: do not keep rows */
	unsigned seen[SELFTEST_SKIPPED + 1], repeated;
};

/* Tests the faults. Returns nonzero if interrupted before the last one. */
static int run_faults(const struct selftest_options *o, const char *title, struct tested *t)
{
	const struct selftest_spec spec = {o->count, o->ipv6, o->host_global, &o->faults};
	const uint64_t start = clock_now();
	unsigned all = 0, done = 0;
	struct selftest_row row;
	int rc = 0;

	for (unsigned f = 0; f < fault_count(); f++)
		all += !o->faults.set || fault_has(&o->faults, f);
	for (unsigned f = 0; f < fault_count() && !rc; f++) {
		if (o->faults.set && !fault_has(&o->faults, f))
			continue;
		log_progress("%s%u of %u: %s%s", title, done + 1, all, fault_values[f].name,
			     fmt_left(done, all, clock_now() - start));
		done++;
		rc = selftest_fault(&spec, f, &row);
		if (rc)
			break;
		t->seen[row.verdict]++;
		t->repeated += row.repeated;
		if (t->rows)
			json_object_array_add(t->rows, row_json(&row));
		if (t->text)
			print_row(&row);
		rc = stdout_gone() ? -EPIPE : 0;
	}
	log_progress_clear();
	return rc;
}

struct json_object *selftest_rows(void)
{
	struct tested t = {.rows = json_object_new_array()};

	run_faults(&defaults, "selftest, ", &t);
	return t.rows;
}

static int run_all(const struct selftest_options *o, struct json_out *json)
{
	struct tested t = {.text = !json, .rows = json ? json_object_new_array() : NULL};
	const unsigned *seen = t.seen;
	struct json_object *end;
	int rc;

	watch_block_signals();
	if (!json)
		printf("%-22s %9s %9s  %-10s  %s\n", "fault", "injected", "events", "counters",
		       "verdict");
	rc = run_faults(o, "", &t);
	if (json) {
		end = json_object_new_object();
		json_put(end, "rows", t.rows);
		json_put_bool(end, "interrupted", rc != 0);
		json_out_once(json, "end", end);
	} else {
		printf("%u agree, %u disagree, %u skipped", seen[SELFTEST_AGREES],
		       seen[SELFTEST_DISAGREES], seen[SELFTEST_SKIPPED]);
		print_repeated("; ", t.repeated, "");
		putchar('\n');
		for (enum quirk q = 0; q < QUIRK_COUNT; q++) {
			if (quirks_found()[q] == QUIRK_FOUND)
				printf("this kernel: %s\n", quirk_words[q].text);
		}
	}
	if (seen[SELFTEST_DISAGREES])
		return STATUS_BROKEN;
	return seen[SELFTEST_AGREES] ? STATUS_OK : STATUS_UNABLE;
}

static int selftest_run(void *options, struct error *err)
{
	const struct selftest_options *o = options;
	struct json_out *json = global_json_out(&o->global, "pktledger/selftest/1");
	int rc = caps_require(&cmd_selftest, NULL, err);

	if (!rc && json)
		json_out_once(json, "start",
			      json_origin(program_argc, program_argv, env_read(NULL)));
	if (!rc) {
		caps_give_up(cmd_selftest.needs, NULL, CAPS_AGAIN);
		rc = run_all(o, json);
	}
	output_end(json, err);
	return rc;
}

static const struct opt_need needs[] = {
	{OPT_CAP(SYS_ADMIN), "to create and enter network namespaces"},
	{OPT_CAP(NET_ADMIN), "to create links, addresses and routes, and to attach programs"},
	EXPERIMENT_NEEDS,
	{OPT_CAP(IPC_LOCK), "for AF_XDP memory", .without = "the AF_XDP fault is skipped"},
	{0},
};

static const struct opt_example examples[] = {
	{"selftest", "check that losses on this host are reported at the right stage, and only "
		     "there"},
	{"selftest --host-global -6", "use IPv6, and also inject faults that affect the whole "
				      "host"},
	{0},
};

const struct command cmd_selftest = {
	.name = "selftest",
	.summary = "inject known losses and check that all of them are reported",
	.description = "Runs each fault of `run --fault` in separate namespaces and compares three "
		       "counts: the packets counted at both ends, the drops seen by the tracer, "
		       "and the kernel's counters. A counter that does not record the loss on this "
		       "kernel is noted and is not a disagreement.",
	.groups = selftest_groups,
	.defaults = &defaults,
	.size = sizeof(struct selftest_options),
	.needs = needs,
	.again = "All capabilities are kept for the next fault. Sending and receiving threads have "
		 "none.",
	.examples = examples,
	.run = selftest_run,
};
