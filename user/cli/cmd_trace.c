// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "cli/options.h"
#include "monitor/child.h"
#include "cli/trace_session.h"

static const struct trace_options defaults = {
	.view = TRACE_VIEW_DEFAULTS, .balance = BALANCE_DEFAULTS, .ledger = TRACE_LEDGER_DEFAULTS};

static const struct opt trace_opts[] = {
	{"duration", 't', OPT_TIME, offsetof(struct trace_options, duration_ns), .min = 1,
	 .default_text = "until a signal, or the end of COMMAND", .help = "end after so long"},
	{"limit", 0, OPT_LIMITS, offsetof(struct trace_options, limits), .default_text = "none",
	 .help = "exit with 4 if more is lost: loss or a stage, in all or per second"},
	{"until-limit", 0, OPT_FLAG, offsetof(struct trace_options, until_limit),
	 .help = "end as soon as a limit is broken"},
	{"microburst", 0, OPT_TIME, offsetof(struct trace_options, burst_ns), .min = BURST_NS_MIN,
	 .max = BURST_NS_MAX, .default_text = "off",
	 .help = "tell in which windows of so long packets were lost, and which were the worst"},
	{0},
};

static const struct opt trace_args[] = {
	{"EXPR", 0, OPT_WORDS, offsetof(struct trace_options, expr),
	 .help = "which packets, in the language of pcap-filter(7)", .default_text = "all"},
	{"-- COMMAND", 0, OPT_COMMAND, offsetof(struct trace_options, command),
	 .help = "run it and trace while it lives; its exit status is ours"},
	{0},
};

static const struct opt_group trace_groups[] = {
	{"What", trace_filter_opts, offsetof(struct trace_options, filters)},
	{"How long", trace_opts, 0},
	{"Books of a flow", balance_opts, offsetof(struct trace_options, balance)},
	{"Single packets", events_opts, offsetof(struct trace_options, events)},
	{"For days", trace_ledger_opts, offsetof(struct trace_options, ledger)},
	{"Tables", trace_view_opts, offsetof(struct trace_options, view)},
	{"Output", global_opts, offsetof(struct trace_options, global)},
	{0},
};

static int trace_run(void *options, struct error *err)
{
	const struct trace_options *o = options;
	enum output output = global_output(&o->global);
	struct json_out *json = NULL;
	int status;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (o->filters.reasons && !strcmp(o->filters.reasons, "help"))
		return trace_list_reasons(stdout, err) ? (int)err->status : STATUS_OK;
	if (output != OUTPUT_TEXT)
		json = json_out_new(stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES,
				    "pktledger/trace/1");
	status = trace_session(o, json, err);
	log_progress_clear();
	if (json && err->status != STATUS_OK)
		json_out_error(json, err);
	if (output_end(json, err) && status == STATUS_OK)
		status = o->command ? CHILD_OURS : STATUS_FAILED;
	return status;
}

static const struct opt_need needs[] = {
	TRACE_NEEDS,
	{OPT_CAP(DAC_OVERRIDE), "to write in directories of others", .when = "--keep",
	 .without = "the ledger must be where this user may write",
	 .keeps = "to make the ledger anew"},
	{0},
};

static const struct opt_example examples[] = {
	{"trace", "what this host drops, each second, until Ctrl-C"},
	{"trace udp port 53 -- dig @198.18.0.2 example.org",
	 "of one protocol, while a command runs"},
	{"trace --by process,netns", "whose packets they are"},
	{"trace --balance udp port 5060", "does what arrives for this application reach it?"},
	{"trace --stage rcvbuf,backlog --limit loss=100/s --until-limit", "wait for it to happen"},
	{"trace --counters -i eth0", "the rates of devices, queues and counters beside it"},
	{"trace --events -w lost.pcapng udp port 5060", "each packet, for people and Wireshark"},
	{"trace --microburst 1ms udp port 5060", "did it come all at once, and when?"},
	{"trace -t 60 -j", "a minute, as JSON"},
	{0},
};

const struct command cmd_trace = {
	.name = "trace",
	.summary = "live drop attribution of any traffic here",
	.synopsis = "[options] [EXPR] [-- COMMAND]",
	.description =
		"Shows what the kernel drops on this host, in all network namespaces: the stage on "
		"the packet's path, the kernel's reason and function, interface, namespace, and "
		"where a socket dropped it, that socket and its process. A stage with a question "
		"mark may be no loss. What nobody misses, as multicast that no one has joined, is "
		"only summed up.",
	.groups = trace_groups,
	.args = trace_args,
	.defaults = &defaults,
	.size = sizeof(struct trace_options),
	.needs = needs,
	.examples = examples,
	.run = trace_run,
};
