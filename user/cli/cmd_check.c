// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "diagnosis/findings.h"
#include "host/caps.h"
#include "host/nic.h"
#include "diagnosis/look.h"
#include "cli/options.h"
#include "report/document.h"
#include "base/watch.h"
#include "ledger/ledger.h"
#include "drops/stagemap.h"
#include "report/print.h"

struct apply_options {
	bool apply, yes, undo, persist;
	const char *undo_file;
	struct opt_strings ids;
};

/* Changes for findings */

#define OF(member) offsetof(struct apply_options, member)
#define CHECKED	   "interface port pid netns pod mtu duration" /* options of what is read */

static const struct opt apply_opts[] = {
	{"apply", 0, OPT_FLAG, OF(apply),
	 .help = "apply the suggested fixes (notes only if named by ID)"},
	{"yes", 0, OPT_FLAG, OF(yes), .needs = "apply", .help = "do not ask before each change"},
	{"undo", 0, OPT_FLAG, OF(undo), .excludes = "apply persist bundle limit " CHECKED,
	 .help = "undo all changes made by --apply since the last boot, without a check"},
	{"persist", 0, OPT_FLAG, OF(persist), .excludes = "apply",
	 .help = "print files that make these and earlier changes at each boot"},
	{"undo-file", 0, OPT_STRING, OF(undo_file), .metavar = "FILE",
	 .default_text = CHANGE_UNDO_FILE, .needs = "apply undo persist",
	 .help = "record the changes in FILE"},
	{0},
};

/* Change that was chosen, with its finding's texts. */
struct chosen {
	struct change *at;
	const struct check_finding **why;
	unsigned n;
};

struct applied {
	struct json_object *list; /* NULL: print text to stdout */
	unsigned all, others;	  /* number of settings, and how many are not as before */
};

/* Checks that the options go together, and that stdin is a terminal if required. */
static int apply_check(const struct apply_options *o, struct error *err)
{
	if (o->ids.n && !o->apply && !o->persist)
		return error_usage(err, "add --apply, --persist or --explain",
				   "'%s' needs an option that uses it", o->ids.at[0]);
	for (unsigned i = 0; i < o->ids.n; i++) {
		if (!finding_row(o->ids.at[i]))
			return error_usage(err, "--explain all lists them",
					   "unknown finding '%s'", o->ids.at[i]);
	}
	if (o->apply && !o->yes && !isatty(STDIN_FILENO))
		return error_usage(err, "read the output of `check` first, then add --yes",
				   "--apply asks before each change, and stdin is not a terminal");
	return 0;
}

/* Checks that each ID given is a finding on this host that has a change. */
static int check_ids(const struct opt_strings *ids, const struct check_findings *list,
		     struct error *err)
{
	for (unsigned i = 0; i < ids->n; i++) {
		bool here = false, changes = false;

		for (unsigned j = 0; j < list->n; j++) {
			if (finding_row(ids->at[i])->id == list->at[j].finding.id) {
				here = true;
				changes |= list->at[j].n_changes;
			}
		}
		if (!changes)
			return error_set(err, STATUS_FAILED, -ENOENT,
					 "`check` shows the findings of this host, and "
					 "`check --explain ID` explains a finding",
					 here ? "the finding '%s' has no change to apply"
					      : "this host has no finding '%s'",
					 ids->at[i]);
	}
	return 0;
}

/*
 * Adds a change unless an earlier finding changes the same setting. Findings are sorted by
 * importance.
 */
static void choose(struct chosen *c, const struct change *change, const struct check_finding *why)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (change_same_setting(&c->at[i], change))
			return;
	}
	c->at[c->n] = *change;
	c->why[c->n++] = why;
}

/* Collects the changes. `more`: number of additional changes to leave room for. */
static int collect(const struct apply_options *o, const struct check_findings *list, unsigned more,
		   struct chosen *c, struct error *err)
{
	unsigned n = more;
	int ret = check_ids(&o->ids, list, err);

	*c = (struct chosen){};
	if (ret)
		return ret;
	for (unsigned i = 0; i < list->n; i++)
		n += list->at[i].n_changes;
	c->at = mem_zero(n, sizeof(*c->at));
	c->why = mem_zero(n, sizeof(*c->why));
	for (unsigned i = 0; i < list->n; i++) {
		const struct check_finding *f = &list->at[i];

		bool chosen = !o->ids.n && f->finding.severity > SEVERITY_INFO;

		for (unsigned j = 0; j < o->ids.n; j++)
			chosen |= finding_row(o->ids.at[j])->id == f->finding.id;
		for (unsigned j = 0; j < f->n_changes && chosen; j++)
			choose(c, &f->changes[j], f);
	}
	return 0;
}

/* Returns the first letter of a line, or 'q' at the end of the input. */
static char answer(void)
{
	char line[64];
	char c;

	fputs("Make this change? [y]es, [n]o, [a]ll from here, [q]uit without any: ", stderr);
	fflush(stderr);
	if (!fgets(line, sizeof(line), stdin))
		return 'q';
	c = *line;
	while (!strchr(line, '\n') && fgets(line, sizeof(line), stdin))
		;
	return c;
}

/*
 * Keeps only the changes that the user confirms. Nothing has been changed yet, so a signal may end
 * the command.
 */
static void ask(struct chosen *c)
{
	const struct print_view view = {.out = stderr, .colour = log_colour(STDERR_FILENO)};
	unsigned kept = 0;
	bool all = false;

	watch_unblock_signals();
	for (unsigned i = 0; i < c->n; i++) {
		const struct finding *f = &c->why[i]->finding;
		char said = 'y';

		if (!all) {
			struct json_object *change = json_change(&c->at[i]);

			fputc('\n', stderr);
			print_change(&view, change,
				     *f->risk ? f->risk : json_get_text(change, "risk"));
			json_object_put(change);
			said = answer();
		}
		if (said == 'q') {
			kept = 0;
			break;
		}
		all |= said == 'a';
		if (said == 'y' || said == 'a')
			c->at[kept++] = c->at[i];
	}
	c->n = kept;
	watch_block_signals();
}

static void show_change(void *arg, const struct change_report *report)
{
	const struct print_view view = global_view(NULL);
	struct applied *t = arg;

	t->all++;
	t->others += report->outcome == CHANGE_FOREIGN || report->outcome == CHANGE_KEPT;
	if (t->list)
		json_object_array_add(t->list, json_change_report(report));
	else
		print_change_report(&view, report);
}

/* Returns how many different changes were made for one finding. */
static unsigned changes_of(const struct chosen *c, const struct check_finding *why,
			   struct change *out)
{
	unsigned n = 0;

	for (unsigned i = 0; i < c->n; i++) {
		if (c->why[i] == why)
			out[n++] = c->at[i];
	}
	return n;
}

/*
 * Measures how each change that takes effect at once affects its loss, and reverts changes that do
 * not help.
 */
static int measure(const struct apply_options *o, const struct chosen *c, const struct look *l,
		   const struct look_spec *spec, struct applied *t, struct json_object *json,
		   struct error *err)
{
	struct json_object *list = json ? json_put_list(json, "measured") : NULL;
	struct change *made = mem_zero(c->n, sizeof(*made));
	const struct print_view view = global_view(NULL);
	int rc = 0;

	for (unsigned i = 0; i < c->n && !rc; i++) {
		unsigned n = changes_of(c, c->why[i], made);
		bool first = true, later = false;
		struct error ignored = {};
		struct remedy remedy;

		for (unsigned j = 0; j < i; j++)
			first &= c->why[j] != c->why[i];
		for (unsigned j = 0; j < n; j++)
			later |= *change_effect(&made[j]);
		if (later)
			log_info("%s: the change applies to %s", c->why[i]->finding.id,
				 change_effect(&c->at[i]));
		if (!first || later || look_again(l, spec, c->why[i], &remedy, &ignored))
			continue;
		if (list)
			json_object_array_add(list, json_remedy(&remedy));
		else
			print_remedy(&view, &remedy);
		if (remedy.outcome == REMEDY_NO_HELP)
			rc = change_undo(o->undo_file, made, n, show_change, t, err);
	}
	free(made);
	return rc;
}

/* Explains why some findings that `check` shows are not being changed. */
static void say_left(const struct apply_options *o, const struct check_findings *list)
{
	for (unsigned i = 0; i < list->n && !o->ids.n; i++) {
		const struct check_finding *f = &list->at[i];

		if (f->finding.severity > SEVERITY_INFO && !f->n_changes)
			log_info("%s: %s", f->finding.id,
				 "no setting of this host fixes this: see the fix of the finding");
		else if (f->finding.severity == SEVERITY_INFO && f->scope == CHECK_HOST &&
			 f->n_changes)
			log_info("%s concerns the whole host: --apply %s applies its fix",
				 f->finding.id, f->finding.id);
	}
}

/*
 * Asks about each change for the chosen findings (unless `--yes` is given), makes the confirmed
 * changes, all or none of them, and measures again. Reports in `json` as "applied" and "measured",
 * or as text to stdout if `json` is NULL.
 */
static int apply_make(const struct apply_options *o, const struct look *l,
		      const struct look_spec *spec, struct json_object *json, struct error *err)
{
	struct applied t = {};
	struct chosen c;
	int ret = collect(o, &l->findings, 0, &c, err);

	if (!ret && !o->yes)
		ask(&c);
	if (!ret && json)
		t.list = json_put_list(json, "applied");
	if (!ret && c.n)
		ret = change_apply(c.at, c.n, o->undo_file, show_change, &t, err);
	if (!ret && c.n)
		ret = measure(o, &c, l, spec, &t, json, err);
	if (!ret)
		say_left(o, &l->findings);
	if (!ret && !c.n)
		log_info("no setting was changed");
	else if (!ret)
		log_info("undo: pktledger check --undo%s%s",
			 o->undo_file ? " --undo-file " : "", o->undo_file ? o->undo_file : "");
	free(c.at);
	free(c.why);
	return ret;
}

/* Reverts all changes in all namespaces and reports them as "undone". */
static int apply_undo(const struct apply_options *o, struct json_object *json, struct error *err)
{
	struct applied t = {};
	int ret;

	t.list = json ? json_put_list(json, "undone") : NULL;
	ret = change_undo(o->undo_file, NULL, 0, show_change, &t, err);
	if (!ret && t.others)
		ret = error_set(err, STATUS_FAILED, -ESTALE, NULL,
				"%u of %u settings do not have their original value",
				t.others, t.all);
	if (!ret && !t.all)
		log_info("there is nothing to undo");
	return ret;
}

/*
 * Prints the files that make changes permanent, for the chosen findings and for earlier changes, as
 * "persist".
 */
static int apply_persist(const struct apply_options *o, const struct check_findings *list,
			 const struct netns *ns, struct json_object *json, struct error *err)
{
	struct change *made = NULL;
	char *text;
	unsigned n = 0;
	struct chosen c;
	struct error unread = {};
	int ret;

	if (!o->ids.n && change_made(ns, o->undo_file, &made, &n, &unread))
		log_warn("earlier changes are left out: %s", unread.message);
	ret = collect(o, list, n, &c, err);
	for (unsigned i = 0; i < n && !ret; i++)
		choose(&c, &made[i], NULL);
	text = change_persist(c.at, c.n);
	if (!ret && !c.n)
		log_info("no change was made, and no finding here has a change to persist");
	if (!ret && json)
		json_put(json, "persist", json_object_new_string(text));
	else if (!ret)
		fputs(text, stdout);
	free(text);
	free(made);
	free(c.at);
	free(c.why);
	return ret;
}

struct check_options {
	struct global_options global;
	struct apply_options apply;
	const char *ifname, *netns, *pod, *explain, *bundle, *from, *mtu;
	uint64_t port, pid, window_ns;
	int limit;
};

enum { FAIL_NEVER = SEVERITY_ERROR + 1 };

static const struct check_options defaults = {.limit = FAIL_NEVER};

static const struct opt_value severities[] = {
	{"info", SEVERITY_INFO, "worth knowing"},
	{"warning", SEVERITY_WARNING, "packets are lost, or will be"},
	{"error", SEVERITY_ERROR, "no packets pass, or the wrong packets"},
	{"never", FAIL_NEVER, "findings do not fail the check"},
	{0},
};

#define AT(member) offsetof(struct check_options, member)

static const struct opt check_opts[] = {
	{"interface", 'i', OPT_STRING, AT(ifname), .metavar = "IFNAME",
	 .default_text = "all that are up",
	 .help = "check only this interface of this namespace or of --netns"},
	{"port", 'p', OPT_U64, AT(port), .min = 1, .max = 65535, .excludes = "pid",
	 .default_text = "all sockets",
	 .help = "check only this UDP port, in every namespace where it is open"},
	{"pid", 0, OPT_U64, AT(pid), .min = 1, .max = INT32_MAX, .excludes = "netns",
	 .default_text = "all processes",
	 .help = "check only sockets of this process, in its namespace"},
	{"netns", 'n', OPT_STRING, AT(netns), .metavar = "NAME",
	 .default_text = "this namespace and all that lose packets",
	 .help = "check only this network namespace: name or path"},
	{"pod", 0, OPT_STRING, AT(pod), .metavar = "NAMESPACE/NAME", .default_text = "all",
	 .excludes = "netns pid",
	 .help = "check only the network namespace of this Kubernetes pod"},
	{"duration", 't', OPT_TIME, AT(window_ns), .min = 10000000,
	 .default_text = "1s, up to 10s while packets are lost",
	 .help = "sample the counters for this long"},
	{"mtu", 0, OPT_STRING, AT(mtu), .metavar = "ADDRESS", .default_text = "",
	 .excludes = "port",
	 .help = "ping ADDRESS with packets of several sizes: find the largest that arrives, and the "
		 "hop after which larger ones are lost"},
	{"limit", 0, OPT_ENUM, AT(limit), .values = severities, .metavar = "SEVERITY",
	 .help = "exit with 4 for a finding of this severity or worse"},
	{"bundle", 0, OPT_STRING, AT(bundle), .metavar = "FILE", .excludes = "from",
	 .help = "write all data and a selftest (one minute) to FILE, with names replaced as in "
		 "report --redact"},
	{"from", 0, OPT_STRING, AT(from), .metavar = "FILE", .excludes = "apply undo persist " CHECKED,
	 .help = "analyze a --bundle file or text of nstat, netstat -s, ethtool -S or ss -uam, or two "
		 "texts as BEFORE,AFTER"},
	{"explain", 0, OPT_STRING, AT(explain), .metavar = "ID", .default_text = "",
	 .excludes = "from bundle limit apply undo persist json json-lines " CHECKED,
	 .help = "explain a finding, stage, drop reason (NO_SOCKET) or counter (RcvbufErrors), or "
		 "list `all` findings"},
	{0},
};

static const struct opt check_args[] = {
	{"ID,...", 0, OPT_STRINGS, AT(apply.ids),
	 .help = "with --apply or --persist: only these findings"},
	{0},
};

static const struct opt_group check_groups[] = {
	{"Check", check_opts, 0},
	{"Changes", apply_opts, AT(apply)},
	{"Output", global_opts, AT(global)},
	{0},
};

static void explain_stage(const struct print_view *v, const char *title, enum stage s)
{
	print_about(v, title, NULL, stage_facts[s].what);
	print_about(v, "Causes", NULL, stage_facts[s].causes);
	print_about(v, "What to do", NULL, stage_facts[s].remedy);
}

/* Explains a kernel drop reason: lists every place in the stage map with this reason. */
static bool explain_reason(const struct print_view *v, const char *name)
{
	enum stage last = STAGE_NONE;
	bool found = false;
	char title[256];

	for (unsigned i = 0; i < stagemap_row_count; i++) {
		const struct stagemap_row *row = &stagemap_rows[i];

		if (!row->reasons || !stagemap_listed(row->reasons, name))
			continue;
		snprintf(title, sizeof(title), "%s: drop reason of stage %s (%s)", name,
			 stage_name(row->stage), class_name(row->class));
		print_about(v, title, NULL, row->note);
		if (row->stage != last)
			explain_stage(v, stage_title(row->stage), row->stage);
		last = row->stage;
		found = true;
	}
	return found;
}

static void explain_finding(const struct print_view *v, const struct finding_row *row)
{
	char cause[FINDING_TEXT], fix[FINDING_TEXT], text[4 * FINDING_TEXT];

	finding_outline(cause, sizeof(cause), row->cause);
	finding_outline(fix, sizeof(fix), row->fix);
	snprintf(text, sizeof(text), "%s%s%s What to do: %s.", cause, row->about ? " " : "",
		 row->about ? row->about : "", fix);
	print_about(v, row->id, finding_proofs[row->proof], text);
}

/* Counters that one finding explains, other than losses at a stage. */
static const struct {
	const char *counter, *finding;
} explained[] = {
	{"tp_drops", "capture-ring"},
	{"Tcp:RetransSegs", "tcp-retransmitted"},
	{"Udp:SndbufErrors", "sndbuf"},
	{"time_squeeze", "cpu-budget"},
	{"flow_limit", "backlog-flow-limit"},
	{"insert_failed", "netfilter-clash"},
	{"rx_dropped", "l2-stray"},
	{"rx_otherhost_dropped", "l2-stray"},
	{"queue_dropped", "nfqueue"},
	{"Ip:ReasmReqds", "frag-arriving"},
	{"Ip:FragCreates", "frag-leaving"},
	{"TcpExt:ListenOverflows", "tcp-listen-own"},
	{"TcpExt:PruneCalled", "tcp-prune"},
	{"TcpExt:SyncookiesFailed", "tcp-cookie"},
	{"TcpExt:TCPReqQFullDrop", "tcp-listen-syn"},
	{"TcpExt:TCPMD5NotFound", "tcp-signature"},
};

/* Explains a kernel counter that the counter check compares with several stages. */
static bool explain_sum(const struct print_view *v, const char *name)
{
	bool found = false;

	for (unsigned i = 0; i < counter_rules_n; i++) {
		const struct counter_rule *rule = &counter_rules[i];
		const bool v4 = judge_counter_called(rule->name4, name);
		char title[256], text[512] = "";
		uint64_t listed = 0;

		if (rule->scope != COUNTER_HOST ||
		    (!v4 && !judge_counter_called(rule->name6, name)))
			continue;
		for (const struct counter_member *m = rule->set; m->stage != STAGE_NONE; m++) {
			const size_t n = strlen(text);

			if (!(listed >> m->stage & 1))
				snprintf(text + n, sizeof(text) - n, "%s%s",
					 n ? ", " : "Stages: ", stage_name(m->stage));
			listed |= 1ULL << m->stage;
		}
		if (rule->note)
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 ". The counter %s.", rule->note);
		snprintf(title, sizeof(title), "%s: counts lost packets",
			 v4 ? rule->name4 : rule->name6);
		print_about(v, title, NULL, text);
		found = true;
	}
	return found;
}

/* Explains a kernel or driver counter, named as in nstat, netstat and ethtool -S. */
static bool explain_counter(const struct print_view *v, const char *name)
{
	static const char *const classes[] = {"every count is a lost packet",
					      "at most this many were "
								       "lost",
					      "an event, no number of packets", "no loss"};
	enum stage stage;
	bool found = judge_counter_stage(name, &stage);
	char title[256], text[512];

	if (found) {
		snprintf(title, sizeof(title), "%s: counts packets lost at stage %s (%s)", name,
			 stage_name(stage), stage_title(stage));
		explain_stage(v, title, stage);
	}
	for (unsigned i = 0; i < LENGTH(explained); i++) {
		if (!judge_counter_called(explained[i].counter, name))
			continue;
		explain_finding(v, finding_row(explained[i].finding));
		found = true;
	}
	for (unsigned i = 0; i < nic_driver_count; i++) {
		const struct nic_row *row = nic_row_find(nic_drivers[i].rows, name, NULL);

		if (!row)
			continue;
		snprintf(title, sizeof(title), "%s: counter of %s (%s)", name, nic_drivers[i].names,
			 classes[row->class]);
		snprintf(text, sizeof(text), "%s%s%s", row->what,
			 row->stage == STAGE_NONE ? "" : "; stage ",
			 row->stage == STAGE_NONE ? "" : stage_name(row->stage));
		print_about(v, title, NULL, text);
		found = true;
	}
	return found || explain_sum(v, name);
}

/*
 * Explains a name. `named` may end in a question mark, which tables use to mark a suspected loss.
 */
static int explain(const char *named, struct error *err)
{
	char id[64];
	const struct finding_row *row;
	const struct print_view v = global_view(NULL);
	bool found;

	snprintf(id, sizeof(id), "%.*s", (int)strcspn(named, "?"), named);
	row = finding_row(id);
	if (row) /* spelled as its stage is */
		snprintf(id, sizeof(id), "%s", row->id);
	found = row || !strcmp(id, "all");

	for (enum stage s = 0; s < STAGE_COUNT; s++) {
		if (strcmp(stage_name(s), id))
			continue;
		explain_stage(&v, stage_title(s), s);
		found = true;
	}
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (row == &finding_rows[i] || !strcmp(id, "all"))
			explain_finding(&v, &finding_rows[i]);
	}
	if (found || explain_reason(&v, id) || explain_counter(&v, id))
		return 0;
	return error_usage(err, "--explain all lists the findings",
			   "unknown finding, stage, drop reason or counter '%s'", id);
}

/* Shows the findings, and applies changes if requested. */
static int show(const struct check_options *o, const struct look *l, const struct look_spec *spec,
		struct json_out *json, struct error *err)
{
	const struct print_view v = global_view(&o->global);
	const struct check_findings *list = &l->findings;
	const struct netns *first = &l->at[0]->ns;
	struct json_object *end = json_check_end(l);
	struct json_object *to = json ? end : NULL;
	int rc = STATUS_OK;

	for (unsigned i = 0; i < list->n; i++) {
		if ((int)list->at[i].finding.severity >= o->limit)
			rc = STATUS_BROKEN;
	}
	if (!json && !o->apply.persist)
		print_check(&v, end);
	output_flush();
	if (o->apply.apply)
		rc = apply_make(&o->apply, l, spec, to, err);
	else if (o->apply.persist)
		rc = apply_persist(&o->apply, list, first->fd < 0 ? NULL : first, to, err);
	json_out_once(json, "end", end);
	return rc;
}

static void show_second(uint64_t elapsed_ns, uint64_t all_ns, unsigned losing)
{
	char why[64] = "";

	if (losing)
		snprintf(why, sizeof(why), ": %s packets",
			 fmt_many(losing, "network namespace loses|network namespaces lose"));
	log_progress("watching for %.0f s of %s%.0f s%s", (double)elapsed_ns * 1e-9,
		     losing ? "at most " : "", (double)all_ns * 1e-9, why);
}

/* Writes the bundle. Leaves out the selftest rows without the privileges for selftest. */
static int write_bundle(const struct check_options *o, const struct look *l, struct error *err)
{
	struct json_object *start = json_origin(program_argc, program_argv, env_read(NULL));
	struct error unable = {};
	struct json_object *rows;

	if (caps_require(&cmd_selftest, NULL, &unable)) {
		log_warn("the bundle is without selftest: %s", unable.message);
		rows = json_object_new_array();
	} else {
		rows = selftest_rows();
	}
	return bundle_write(o->bundle, start, l, rows, err);
}

static int look_and_show(const struct check_options *o, struct json_out *json, struct error *err)
{
	struct look_spec spec = {
		.netns = o->netns,
		.ifname = o->ifname,
		.port = (uint16_t)o->port,
		.pid = (pid_t)o->pid,
		.window_ns = o->window_ns,
		.mtu_to = o->mtu,
		.on_second = show_second,
	};
	struct look l = {};
	struct endpoint to;
	int rc = pod_netns(o->pod, &spec.netns, err);

	if (!rc && o->mtu && (num_endpoint(o->mtu, &to) || to.port))
		rc = error_usage(err, NULL, "--mtu takes an IP address, not '%s'", o->mtu);
	if (!rc && o->bundle)
		rc = bundle_try(o->bundle, err);
	if (!rc)
		rc = look(&l, &spec, err);
	log_progress_clear();
	if (!rc && !o->apply.apply && !o->apply.persist && !o->bundle)
		caps_give_up(cmd_check.needs, NULL, CAPS_ONCE);
	if (!rc && o->bundle)
		rc = write_bundle(o, &l, err);
	if (!rc)
		rc = show(o, &l, &spec, json, err);
	look_close(&l);
	return rc;
}

/* Analyzes data that was read elsewhere. */
static int judge_bundle(const struct check_options *o, struct json_out *json, struct error *err)
{
	struct json_object *start = NULL;
	struct look l = {};
	int rc = bundle_read(o->from, &l, &start, err);

	if (!rc && !start) { /* the texts do not identify the host */
		struct json_object *env = json_object_new_object();

		json_put_text(env, "version", PKTLEDGER_VERSION);
		start = json_origin(program_argc, program_argv, env);
	}
	if (!rc) {
		json_out_once(json, "start", json_object_get(start));
		rc = show(o, &l, NULL, json, err);
	}
	json_object_put(start);
	look_close(&l);
	return rc;
}

static int check_run(void *options, struct error *err)
{
	const struct check_options *o = options;
	struct json_out *json = NULL;
	struct json_object *end;
	int rc;

	if (o->explain)
		return explain(o->explain, err);
	json = global_json_out(&o->global, "pktledger/check/1");
	rc = apply_check(&o->apply, err);
	if (!rc && o->from) {
		rc = judge_bundle(o, json, err);
		output_end(json, err);
		return rc;
	}
	watch_block_signals();
	json_out_once(json, "start",
		      json ? json_origin(program_argc, program_argv, env_read(NULL)) : NULL);
	if (!rc && o->apply.undo) {
		end = json ? json_object_new_object() : NULL;
		rc = apply_undo(&o->apply, end, err);
		json_out_once(json, "end", end);
	} else if (!rc) {
		mem_keep(); /* because several programs are loaded */
		rc = look_and_show(o, json, err);
	}
	output_end(json, err);
	return rc;
}

static const struct opt_need needs[] = {
	{OPT_CAP(NET_ADMIN), "to change settings", .when = "--apply, --undo"},
	{OPT_CAP(NET_ADMIN), "to read rings and queues of some drivers",
	 .without = "the report names the data that is missing"},
	{OPT_CAP(SYS_PTRACE), "to read other users' processes",
	 .without = "other users' sockets are shown without a process"},
	{OPT_CAP(NET_RAW), "to send pings", .when = "--mtu"},
	{OPT_CAP(SYS_ADMIN), "to enter another network namespace", .when = "--netns, --pid"},
	{OPT_CAP(SYS_ADMIN), "to read the counters of all network namespaces",
	 .without = "only the current namespace is checked"},
	{0},
};

static const struct opt_example examples[] = {
	{"check", "show current losses and settings that will cause losses"},
	{"check -p 5001 -t 5", "check the sockets on a port and the path to them for five seconds"},
	{"check --limit warning -q", "for scripts: exit status 4 if anything is wrong"},
	{"check --explain rcvbuf-slow", "explain a finding"},
	{"check --apply", "apply the suggested fixes, asking before each change"},
	{"check --apply --yes nic_ring", "apply the fixes of one finding without asking"},
	{"check --undo", "restore the previous settings"},
	{"check --bundle bug.ledger", "write all data to one file for a bug report"},
	{"check --from bug.ledger", "analyze this file on any host"},
	{"check --persist", "print sysctl.d and udev files that keep the changes after a reboot"},
	{0},
};

const struct command cmd_check = {
	.name = "check",
	.summary = "find packet loss on this host and suggest fixes",
	.everyday = "interface port netns pod duration limit explain apply undo bundle json "
		    "verbose help",
	.description =
		"Reads settings and counters from the NIC to the application, the counters twice, "
		"and reports losses between the two readings, limits that are nearly reached, and "
		"settings that will cause losses. Each finding shows the evidence, a command that "
		"fixes it, a command that undoes the fix, and the risk. Nothing "
		"is changed unless --apply is given. Losses since boot that have stopped are not "
		"reported.",
	.groups = check_groups,
	.args = check_args,
	.defaults = &defaults,
	.size = sizeof(struct check_options),
	.needs = needs,
	.again = "With --apply, --undo and --persist, no capability is dropped.",
	.examples = examples,
	.run = check_run,
};
