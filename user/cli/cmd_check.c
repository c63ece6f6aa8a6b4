// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "diagnosis/findings_data.h"
#include "drops/stages_text.h"
#include "diagnosis/plan.h"
#include "cli/options.h"
#include "host/caps.h"
#include "diagnosis/env.h"
#include "cli/mend.h"
#include "report/json_check.h"
#include "report/json_solo.h"
#include "report/text_check.h"
#include "base/watch.h"
#include "drops/stagemap.h"

struct check_options {
	struct global_options global;
	struct mend_options mend;
	const char *ifname, *netns, *explain;
	uint64_t port, pid, window_ns;
	int fail_on;
};

enum { FAIL_NEVER = SEVERITY_ERROR + 1 };

static const struct check_options defaults = {.window_ns = 1000000000, .fail_on = FAIL_NEVER};

static const struct opt_value severities[] = {
	{"info", SEVERITY_INFO, "worth knowing"},
	{"warning", SEVERITY_WARNING, "loses packets, or will"},
	{"error", SEVERITY_ERROR, "nothing gets through, or not what was meant"},
	{"never", FAIL_NEVER, "findings are no failure"},
	{0},
};

static const struct opt check_opts[] = {
	{"interface", 'i', OPT_STRING, offsetof(struct check_options, ifname), .metavar = "IFNAME",
	 .default_text = "all that are up", .help = "interface to look at"},
	{"port", 'p', OPT_U64, offsetof(struct check_options, port), .min = 1, .max = 65535,
	 .excludes = "pid", .default_text = "all sockets", .help = "UDP port whose sockets matter"},
	{"pid", 0, OPT_U64, offsetof(struct check_options, pid), .min = 1, .max = INT32_MAX,
	 .excludes = "netns", .default_text = "all processes",
	 .help = "process whose sockets matter; its network namespace is looked at"},
	{"netns", 0, OPT_STRING, offsetof(struct check_options, netns), .metavar = "NAME",
	 .default_text = "this one", .help = "network namespace, as `ip netns` has it"},
	{"duration", 't', OPT_TIME, offsetof(struct check_options, window_ns), .min = 10000000,
	 .help = "how long counters are watched"},
	{"fail-on", 0, OPT_ENUM, offsetof(struct check_options, fail_on), .values = severities,
	 .metavar = "SEVERITY",
	 .help = "exit status 4 if there is a finding of it, or a worse one"},
	{"explain", 0, OPT_STRING, offsetof(struct check_options, explain), .metavar = "ID",
	 .default_text = "",
	 .help = "tell what a finding or a stage means, or `all` findings, and end"},
	{0},
};

static const struct opt check_args[] = {
	{MEND_ARG, 0, OPT_STRINGS, offsetof(struct check_options, mend.ids),
	 .help = "with --apply or --persist: of these findings only"},
	{0},
};

static const struct opt_group check_groups[] = {
	{"Check", check_opts, 0},
	{"Changes", mend_opts, offsetof(struct check_options, mend)},
	{"Output", global_opts, offsetof(struct check_options, global)},
	{0},
};

/* A stage, if that is its name. */
static bool explain_stage(const char *name, bool colour)
{
	for (enum stage s = 0; s < STAGE_COUNT; s++) {
		if (strcmp(stage_name(s), name))
			continue;
		text_about(stdout, stage_title(s), stage_texts[s].what, colour);
		text_about(stdout, "Causes", stage_texts[s].causes, colour);
		text_about(stdout, "What to do", stage_texts[s].remedy, colour);
		return true;
	}
	return false;
}

static int explain(const char *id, struct error *err)
{
	const char *about = finding_about(id);
	bool colour = log_colour(STDOUT_FILENO);
	bool stage = explain_stage(id, colour);

	if (about)
		text_about(stdout, id, about, colour);
	if (about || stage)
		return STATUS_OK;
	if (strcmp(id, "all")) {
		error_set(err, STATUS_USAGE, -EINVAL, "--explain all lists the findings",
			  "there is no finding and no stage '%s'", id);
		return err->status;
	}
	for (unsigned i = 0; i < finding_abouts_n; i++)
		text_about(stdout, finding_abouts[i].id, finding_abouts[i].text, colour);
	return STATUS_OK;
}

/* The namespace to look at: by its name, that of the process, or NETNS_NONE: our own. */
static int open_namespace(const struct check_options *o, struct netns *ns, struct error *err)
{
	char path[48];

	*ns = NETNS_NONE;
	if (o->netns)
		return netns_open(ns, o->netns, err);
	if (!o->pid)
		return 0;
	snprintf(path, sizeof(path), "/proc/%u", (unsigned)o->pid);
	if (access(path, F_OK))
		return error_set(err, STATUS_FAILED, -ESRCH, NULL, "there is no process %u",
				 (unsigned)o->pid);
	snprintf(path, sizeof(path), "/proc/%u/ns/net", (unsigned)o->pid);
	return netns_open(ns, path, err);
}

static bool fails(const struct check_findings *list, int fail_on)
{
	for (unsigned i = 0; i < list->n; i++) {
		if ((int)list->at[i].finding.severity >= fail_on)
			return true;
	}
	return false;
}

/* What was found, and what is done about it. */
static int show(const struct check_options *o, const struct netns *ns, const struct facts *f,
		const struct check_findings *list, struct json_out *json, struct error *err)
{
	struct json_object *end = json ? json_check_end(f, list, o->netns) : NULL;
	int rc = fails(list, o->fail_on) ? STATUS_BROKEN : STATUS_OK;

	if (!json && !o->mend.persist)
		text_check(stdout, f, list, o->netns, log_colour(STDOUT_FILENO),
			   o->global.quiet ? -1 : (int)o->global.verbose);
	output_flush();
	if (o->mend.apply)
		rc = mend_apply(&o->mend, list, o->netns, end, err);
	else if (o->mend.persist)
		rc = mend_persist(&o->mend, list, ns, end, err);
	if (json)
		json_out_once(json, "end", end);
	return rc;
}

static int undo(const struct check_options *o, struct json_out *json, struct error *err)
{
	struct json_object *end = json ? json_object_new_object() : NULL;
	int status = mend_undo(&o->mend, end, err);

	if (json)
		json_out_once(json, "end", end);
	return status;
}

static int look(const struct check_options *o, const struct netns *ns, struct json_out *json,
		struct error *err)
{
	const struct facts_spec spec = {
		.ns = ns->fd < 0 ? NULL : ns,
		.ifname = o->ifname,
		.port = (uint16_t)o->port,
		.pid = (pid_t)o->pid,
		.window_ns = o->window_ns,
	};
	struct facts *facts = calloc(1, sizeof(*facts));
	struct check_findings list = {0};
	int rc = facts ? facts_read(&spec, facts, err) : -ENOMEM;

	if (!rc)
		rc = judge(facts, &list);
	if (rc)
		error_set(err, STATUS_FAILED, rc, NULL, "%s", strerror(-rc));
	if (!rc) {
		check_plan(&list, spec.ns, o->netns);
		if (!o->mend.apply && !o->mend.persist)
			caps_give_up(cmd_check.needs, NULL, CAPS_ONCE);
		rc = show(o, spec.ns, facts, &list, json, err);
	}
	check_findings_free(&list);
	if (facts)
		facts_free(facts);
	free(facts);
	return rc < 0 ? (int)err->status : rc;
}

static int check_run(void *options, struct error *err)
{
	const struct check_options *o = options;
	enum output output = global_output(&o->global);
	struct json_out *json = NULL;
	struct netns ns;
	int status;

	log_init(o->global.quiet ? -1 : (int)o->global.verbose);
	if (o->explain)
		return explain(o->explain, err);
	watch_block_signals();
	if (output != OUTPUT_TEXT) {
		json = json_out_new(stdout, output == OUTPUT_JSON ? JSON_DOC : JSON_LINES,
				    "pktledger/check/1");
		if (!json)
			return STATUS_FAILED;
		json_out_once(json, "start",
			      json_solo_origin(program_argc, program_argv, env_read(NULL)));
	}
	if (mend_check(&o->mend, err)) {
		status = err->status;
	} else if (o->mend.undo) {
		status = undo(o, json, err);
	} else {
		status = open_namespace(o, &ns, err) ? (int)err->status : look(o, &ns, json, err);
		netns_close(&ns);
	}
	if (json && err->status)
		json_out_error(json, err);
	return output_end(json, err) && status == STATUS_OK ? STATUS_FAILED : status;
}

static const struct opt_need needs[] = {
	{OPT_CAP(NET_ADMIN), "to change settings", .when = "--apply, --undo"},
	{OPT_CAP(NET_ADMIN), "to read rings and queues of some drivers",
	 .without = "what was not read is named"},
	{OPT_CAP(SYS_PTRACE), "to look at processes of others",
	 .without = "sockets of others have no process"},
	{OPT_CAP(SYS_ADMIN), "to enter another network namespace", .when = "--netns, --pid"},
	{0},
};

static const struct opt_example examples[] = {
	{"check", "what loses packets now, and what will"},
	{"check -p 5001 -t 5", "the sockets on a port and what feeds them, for five seconds"},
	{"check --fail-on warning -q", "for scripts: exit status 4 if anything is wrong"},
	{"check --explain rcvbuf-slow", "what a finding means"},
	{"check --apply", "change what it advises, after a question for each"},
	{"check --apply --yes nic-ring", "the changes of one finding, without a question"},
	{"check --undo", "all settings as they were before"},
	{"check --persist", "sysctl.d and udev files that keep them over the next boot"},
	{0},
};

const struct command cmd_check = {
	.name = "check",
	.summary = "what on this host loses packets or will, and the command that mends it",
	.description =
		"Reads settings and counters from the NIC to the application, the counters twice, "
		"and tells what lost packets in between, which limits are near, and which settings "
		"will lose packets together with what was measured: the evidence, a command that "
		"changes it, one that takes it back, and the risk. It changes nothing unless "
		"--apply is given. What stood "
		"still since boot is history, no finding.",
	.groups = check_groups,
	.args = check_args,
	.defaults = &defaults,
	.size = sizeof(struct check_options),
	.needs = needs,
	.again = "With --apply, --undo and --persist nothing is given up.",
	.examples = examples,
	.run = check_run,
};
