// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/record.h"
#include "diagnosis/look.h"
#include "drops/stagemap.h"
#include "report/json.h"
#include "report/ledgerfile.h"
#include "report/page.h"
#include "report/print.h"

#define COMMANDS_SHOWN	8      /* commands shown per finding (JSON contains all) */

/* The document */

struct json_object *json_change(const struct change *c)
{
	static const struct record_field rows[] = {
		RECORD("ifname", TEXT, change, ifname),
		RECORD("name", TEXT, change, name),
		RECORD("old", TEXT, change, old),
		RECORD("wanted", TEXT, change, wanted),
		{0},
	};
	struct json_object *o = json_object_new_object();
	char text[2 * CHANGE_COMMAND_SIZE];

	json_put_text(o, "title", change_title(c, text, sizeof(text)));
	record_put(o, rows, c);
	json_put_text(o, "command", change_command(c, false, text, sizeof(text)));
	json_put_text(o, "undo", change_command(c, true, text, sizeof(text)));
	json_put_text(o, "risk", change_risk(c));
	json_put_text(o, "effect", *change_effect(c) ? change_effect(c) : NULL);
	return o;
}

/* Outcome of a change, for JSON and text. */
static const struct {
	const char *name, *label;
	enum style style;
} outcomes[] = {
	[CHANGE_DONE] = {"done", "done     ", STYLE_GOOD},
	[CHANGE_NOTHING] = {"nothing", "was so   ", STYLE_DIM},
	[CHANGE_FOREIGN] = {"foreign", "left     ", STYLE_WARN},
	[CHANGE_GONE] = {"gone", "gone     ", STYLE_DIM},
	[CHANGE_KEPT] = {"kept", "not done ", STYLE_BAD},
	[CHANGE_FAILED] = {"failed", "failed   ", STYLE_BAD},
	[CHANGE_BACK] = {"back", "put back ", STYLE_WARN},
};

struct json_object *json_change_report(const struct change_report *report)
{
	struct json_object *o =
		report->change ? json_change(report->change) : json_object_new_object();

	json_put_text(o, "title", report->title);
	json_put_text(o, "outcome", outcomes[report->outcome].name);
	json_put_text(o, "current", report->current);
	json_put_text(o, "why", report->why);
	return o;
}

static const char *const remedy_words[] = {"helped", "no_help", "no_traffic"};

struct json_object *json_remedy(const struct remedy *r)
{
	static const struct record_field rows[] = {
		RECORD("id", TEXT, remedy, id),
		RECORD("subject", TEXT, remedy, subject),
		RECORD("netns", TEXT, remedy, netns),
		RECORD("lost_pps", DOUBLE, remedy, lost_pps),
		RECORD("lost_pps_after", DOUBLE, remedy, lost_pps_after),
		RECORD("arrived_pps", DOUBLE, remedy, arrived_pps),
		RECORD("arrived_pps_after", DOUBLE, remedy, arrived_pps_after),
		RECORD("outcome", ENUM, remedy, outcome, RECORD_NAMES(remedy_words)),
		{0},
	};

	return record_write(rows, r);
}

void print_remedy(const struct print_view *v, const struct remedy *r)
{
	static const enum style styles[] = {STYLE_GOOD, STYLE_BAD, STYLE_WARN};
	static const char *const ends[] = {"", ", so the change is undone",
					   ", with too little traffic for a comparison"};
	struct page p = print_page(v, 0);

	page_line(&p, 0, styles[r->outcome], "measured ", STYLE_PLAIN,
		  "%s%s%s%s%s: %s lost before, %s after%s", r->id, *r->subject ? ", " : "",
		  r->subject, *r->netns ? " in " : "", r->netns, fmt_rate(r->lost_pps),
		  fmt_rate(r->lost_pps_after), ends[r->outcome]);
}

static struct json_object *finding_json(const struct check_finding *c)
{
	struct json_object *o = json_finding(&c->finding), *changes;

	json_put_text(o, "scope", check_scope_names[c->scope]);
	json_put_text(o, "subject", c->subject);
	json_put_bool(o, "losing", c->losing);
	json_put_double(o, "loss_pps", c->loss_pps);
	changes = json_put_list(o, "changes");
	for (unsigned i = 0; i < c->n_changes; i++)
		json_object_array_add(changes, json_change(&c->changes[i]));
	return o;
}

static const struct record_field history_rows[] = {
	RECORD("stage", ENUM, check_history, stage, RECORD_NAMES(stage_names)),
	RECORD("host", BOOL, check_history, host),
	RECORD("counter", TEXT, check_history, counter),
	RECORD("total", UINT, check_history, total),
	{0},
};

static const struct record_field end_rows[] = {
	RECORD_LIST("unread", NESTED, facts, unread, .rows = facts_unread_rows,
		    RECORD_COUNT(facts, n_unread)),
	RECORD("abilities", NESTED, facts, self, .rows = facts_self_rows),
	{0},
};

/* Adds an item from a namespace that was read, with the namespace's name. */
static void add_of(struct json_object *list, struct json_object *one, const char *netns)
{
	if (*netns)
		json_put_text(one, "netns", netns);
	json_object_array_add(list, one);
}

struct json_object *json_check_end(const struct look *l)
{
	struct json_object *o = json_object_new_object(), *findings, *links, *socks;
	const struct check_findings *list = &l->findings;
	const struct facts *f = &l->at[0]->facts; /* facts about the whole host */

	json_put_u64(o, "window_ns", l->window_ns);
	json_put_u64(o, "namespaces", l->spaces > l->n ? l->spaces : l->n);
	json_put_u64(o, "namespaces_losing_unread", l->losing);
	json_put_u64(o, "namespaces_unread", l->unread);
	json_put_bool(o, "compared", l->compared);
	json_put_u64(o, "cpus_online", f->cpus.online);
	findings = json_put_list(o, "findings");
	for (unsigned i = 0; i < list->n; i++)
		json_object_array_add(findings, finding_json(&list->at[i]));
	json_put(o, "history",
		 record_items(history_rows, &(struct list){.at = list->history,
							   .size = sizeof(*list->history),
							   .n = list->n_history}));
	record_put(o, end_rows, f);
	json_put_bool(json_get(o, "abilities"), "udp_diag", !f->socks.no_buffer);
	links = json_put_list(o, "interfaces");
	socks = json_put_list(o, "sockets");
	for (unsigned i = 0; i < l->n; i++) {
		const struct look_place *p = l->at[i];

		for (unsigned j = 0; j < p->facts.n_links; j++)
			add_of(links, record_write(facts_link_rows, &p->facts.link[j]), p->name);
		for (unsigned j = 0; j < p->facts.socks.n; j++)
			add_of(socks, record_write(facts_sock_rows, &p->facts.socks.at[j]), p->name);
	}
	return o;
}

/*
 * A bundle is a ledger file (report/ledgerfile.h) that contains these lines:
 *
 *	{"event":"start","schema":"pktledger/check/1","data":{..}}	as in the document
 *	{"event":"facts","data":{..}}			input of the judge, a line per namespace
 *	{"event":"selftest","data":{"rows":[..]}}
 *	{"event":"end","data":{..}}			the findings at that time
 *
 * Host names and addresses are replaced (redact_apply()).
 */

int bundle_try(const char *path, struct error *err)
{
	struct ledgerfile *lf = NULL;
	int rc = ledgerfile_open(&lf, path, err);

	return rc ? rc : ledgerfile_close(lf, err);
}

int bundle_write(const char *path, struct json_object *start, const struct look *l,
		 struct json_object *rows, struct error *err)
{
	struct json_object *part[LOOK_PLACES + 3], *tests = json_object_new_object();
	struct redact *r = redact_new();
	struct ledgerfile *lf = NULL;
	struct error closing = {};
	unsigned n = 0;
	int rc = ledgerfile_open(&lf, path, err), ret;

	json_put(tests, "rows", rows);
	part[n++] = start;
	for (unsigned i = 0; i < l->n; i++) {
		part[n] = facts_write(&l->at[i]->facts);
		json_put_text(part[n++], "netns", l->at[i]->name);
	}
	part[n++] = tests;
	part[n++] = json_check_end(l);
	for (unsigned i = 0; i < n; i++)
		redact_learn(r, part[i]);
	for (unsigned i = 0; i < n; i++) {
		const char *event = i + 1 == n ? "end" : i + 2 == n ? "selftest" : "facts";

		redact_apply(r, part[i]);
		if (!rc && !i)
			ledgerfile_start(lf, "pktledger/check/1", part[i]);
		else if (!rc)
			ledgerfile_event(lf, event, NULL, part[i]);
		json_object_put(part[i]);
	}
	ret = ledgerfile_close(lf, rc ? &closing : err);
	redact_free(r);
	return rc ? rc : ret;
}

struct bundle_reading {
	struct look *look;
	struct json_object *start;
};

static int read_line(void *arg, const char *json, size_t len)
{
	struct bundle_reading *r = arg;
	struct json_object *line = ledgerline_parse(json, len), *data = json_get(line, "data");
	const char *event = json_get_text(line, "event");
	struct look *l = r->look;

	if (!strcmp(event, "start")) { /* the last start in a file wins */
		look_close(l);
		*l = (struct look){};
		json_object_put(r->start);
		r->start = strcmp(json_get_text(line, "schema"), "pktledger/check/1")
				   ? NULL
				   : json_object_get(data);
	} else if (r->start && !strcmp(event, "facts") && l->n < LOOK_PLACES) {
		struct look_place *p = l->at[l->n++] = mem_new(p);
		const char *netns = json_get_text(data, "netns");

		facts_load(data, &p->facts);
		utf8_tame(memcpy(p->name, netns, strnlen(netns, sizeof(p->name) - 1)));
		p->ns = NETNS_NONE;
	} else if (r->start && !strcmp(event, "end")) {
		l->window_ns = json_get_u64(data, "window_ns");
		l->spaces = (unsigned)json_get_u64(data, "namespaces");
		l->losing = (unsigned)json_get_u64(data, "namespaces_losing_unread");
		l->unread = (unsigned)json_get_u64(data, "namespaces_unread");
	}
	json_object_put(line);
	return 0;
}

/* Reports the result of facts_text(). */
static int text_refused(int ret, const char *paths, struct error *err)
{
	if (ret == -EXDEV)
		return error_usage(err, "take both texts with the same command",
				   "%s have no counter in common", paths);
	if (ret == -ERANGE)
		return error_usage(err,
				   "exchange the texts, or give only the second one if the host "
				   "restarted",
				   "%s: counters decreased between the two texts", paths);
	return error_usage(err,
			   "write one by check --bundle, or take the text of nstat -az, netstat -s, "
			   "ethtool -S, ss -uam, /proc/net/snmp or softnet_stat",
			   "%s contains nothing that check can analyze", paths);
}

/*
 * Reads output of other programs from FILE or BEFORE,AFTER. Sets `*text` if the files contain such
 * output.
 */
static int texts_read(const char *paths, struct look *l, bool *text, struct error *err)
{
	const char *comma = strchr(paths, ',');
	char *at[2] = {NULL, NULL}, name[PATH_MAX];
	int rc = 0;

	if (comma && strchr(comma + 1, ','))
		rc = error_usage(err, NULL, "--from takes FILE or BEFORE,AFTER, not '%s'", paths);
	for (unsigned i = 0; i < (comma ? 2 : 1) && !rc; i++) {
		const char *path = i ? comma + 1 : paths;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(path, ","), path);
		rc = file_read(name, &at[i], NULL);
		if (rc)
			error_errno(err, STATUS_FAILED, rc, NULL, "cannot read %s", name);
	}
	*text = !rc && (comma || !strstr(at[0], "\"event\":"));
	if (*text) {
		l->at[0] = mem_new(l->at[0]);
		l->at[0]->ns = NETNS_NONE;
		l->n = 1;
		l->compared = comma;
		rc = facts_text(&l->at[0]->facts, comma ? at[0] : NULL, at[comma ? 1 : 0]);
		if (rc)
			rc = text_refused(rc, paths, err);
		else
			look_judge(l);
	}
	free(at[0]);
	free(at[1]);
	return rc;
}

int bundle_read(const char *path, struct look *l, struct json_object **start, struct error *err)
{
	struct bundle_reading r = {.look = l};
	struct ledgerfile_state state;
	bool text;
	int rc = texts_read(path, l, &text, err);

	*start = NULL;
	if (rc || text)
		return rc;
	rc = ledgerfile_read(path, read_line, &r, &state, err);
	*start = r.start;
	if (rc)
		return rc;
	if (!r.start || !l->n)
		return error_usage(err, "check --bundle FILE writes one",
				   "%s contains nothing that check can analyze", path);
	look_judge(l);
	return 0;
}

/* Text */

/* Returns true for findings without a current or future loss. */
static bool is_note(const struct json_object *finding)
{
	return !json_get_bool(finding, "losing") &&
	       !strcmp(json_get_text(finding, "severity"), severity_names[SEVERITY_INFO]);
}

/* Prints a line for pasting. */
static void put_command(struct page *p, unsigned indent, const char *label, const char *command)
{
	page_text(p, indent, STYLE_DIM, label);
	page_command(p, command);
	page_end(p);
}

static void put_finding(struct page *p, const struct json_object *o)
{
	const char *subject = json_get_text(o, "subject"), *netns = json_get_text(o, "netns");
	const size_t n = json_get_length(o, "changes");
	double loss_pps = json_get_double(o, "loss_pps");
	char label[384];

	snprintf(label, sizeof(label), "%s%s%s%s%s%s%s%s%s",
		 json_get_text(o, "severity"), ": ",
		 json_get_text(o, "id"), *subject ? ", " : "", subject, *netns ? " in " : "", netns,
		 loss_pps > 0 ? ", " : "", loss_pps > 0 ? fmt_rate(loss_pps) : "");
	page_finding(p, label, o);
	for (size_t i = 1; i < n && i < COMMANDS_SHOWN; i++)
		put_command(p, 2, "and       ",
			    json_get_text(json_get_item(o, "changes", i), "command"));
	if (n > COMMANDS_SHOWN)
		page_line(p, 2, STYLE_DIM, "and       ", STYLE_PLAIN,
			  "%zu more like them: see --json", n - COMMANDS_SHOWN);
}

/* Starts a line with `label`. Continuation lines are indented. */
static void begin_line(struct page *p, enum style style, const char *label)
{
	page_text(p, 0, style, label);
	p->indent = 2;
}

/* Prints losses since boot and data that could not be read. */
static void put_beside(struct page *p, const struct json_object *end)
{
	size_t n = json_get_length(end, "history");

	if (n)
		begin_line(p, STYLE_DIM, "lost earlier");
	for (struct json_each h = json_each(end, "history"); json_next(&h);)
		page_fill(p, STYLE_PLAIN, h.item,
			  h.next < n ? "{stage}\v{total#}\v({counter}{host|, whole\vhost|}),"
			  : json_get_u64(end, "window_ns")
				  ? "{stage}\v{total#}\v({counter}{host|, whole\vhost|}); -t watches for longer"
				  : "{stage}\v{total#}\v({counter})");
	if (n)
		page_end(p);
	for (struct json_each o = json_each(end, "unread"); json_next(&o);) {
		begin_line(p, STYLE_DIM, "not read");
		page_fill(p, STYLE_PLAIN, o.item, "{what}: {why}");
		page_end(p);
	}
}

/* Prints the interface settings that were read and judged. */
static void put_link(struct page *p, const struct json_object *l)
{
	static const char *const parts[] = {
		"{driver:no driver}, MTU\v{mtu},",
		"queues\v{rx_queues},",
		"{?channels}at\vmost\v{channels.combined_max},",
		"{?ring}ring\v{ring.rx} of\v{ring.rx_max},",
		"{?coalesce}rx-usecs\v{coalesce.rx_usecs}{coalesce.adaptive_rx|\vadaptive},",
		"{?pause}pause rx\v{pause.rx|on|off} tx\v{pause.tx|on|off},",
		"{?rss}RSS over\v{rss.used},",
		"qdisc\v{qdisc:none},",
		"{?rp_filter}rp_filter\v{rp_filter},",
		"GSO\v{gso|on|off}, GRO\v{gro|on|off}{gro_hw|\vin\vhardware}{lro|, LRO\von},",
		"NAPI\v{threaded_napi|threads|softirq}, XDP\v{xdp:none}",
		"{?native_xdp}(AF_XDP {zero_copy|zero-copy|native})",
	};
	const char *netns = json_get_text(l, "netns");
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s", json_get_text(l, "ifname"), *netns ? " in " : "",
		 netns);
	begin_line(p, STYLE_BOLD, name);
	for (unsigned i = 0; i < LENGTH(parts); i++)
		page_fill(p, STYLE_PLAIN, l, parts[i]);
	for (struct json_each q = json_each(l, "irqs"); json_next(&q);)
		page_fill(p, STYLE_PLAIN, q.item, "{?fired}, IRQ\v{irq}\von\vCPU\v{cpu}");
	page_end(p);
}

/* Prints which kernel features pktledger can use. */
static void put_self(struct page *p, const struct json_object *o)
{
	begin_line(p, STYLE_BOLD, "pktledger");
	page_fill(p, STYLE_PLAIN, o,
		  "BTF\v{btf|on|off}, drop\vreasons\v{drop_reasons}{drop_socket|\vwith\vsocket}, "
		  "AF_XDP\v{af_xdp|on|off}, features of drivers\v{xdp_features|on|off}, buffers of "
		  "sockets\v{udp_diag|on|off}");
	page_fill(p, STYLE_PLAIN, o, "{?missing_capabilities}; without {missing_capabilities}");
	page_end(p);
}

/* Prints a one-line verdict, even if the host has no findings. */
static void put_verdict(struct page *p, const struct json_object *end, bool losing, bool likely)
{
	p->indent = 0;
	if (!json_get_u64(end, "window_ns")) {
		page_words(p, STYLE_PLAIN, "%s",
			   losing ? "compared two texts"
			   : json_get_bool(end, "compared")
				   ? "no loss counter increased between the two texts"
				   : "counted since boot; --from BEFORE,AFTER compares two texts, "
				     "and shows current losses");
		page_end(p);
		return;
	}
	if (!losing)
		page_fill(p, likely ? STYLE_WARN : STYLE_GOOD, end,
			  likely ? "no loss counter increased in {window_ns#};"
				 : "no loss counter increased in {window_ns#}, and no limit is "
				   "near;");
	page_fill(p, STYLE_PLAIN, end,
		  "watched {interfaces#interface}, {sockets#UDP socket}, {cpus_online#CPU}");
	page_fill(p, STYLE_PLAIN, end, losing ? "for {window_ns#}" : "");
	if (json_get_u64(end, "namespaces") > 1)
		page_fill(p, STYLE_PLAIN, end,
			  "and the counters of {namespaces} network namespaces");
	page_fill(p, STYLE_WARN, end,
		  "{?namespaces_losing_unread}({namespaces_losing_unread} more of these lose "
		  "packets: --netns looks at one)");
	page_fill(p, STYLE_WARN, end,
		  "{?namespaces_unread}(at least {namespaces_unread#other network namespace} "
		  "could not be read)");
	page_end(p);
	begin_line(p, STYLE_DIM, "not covered");
	page_words(p, STYLE_PLAIN,
		   "drops by rules without counters, bridges, tcx and XDP programs; `pktledger trace` "
		   "shows these");
	page_end(p);
}

void print_check(const struct print_view *v, const struct json_object *end)
{
	struct page p = print_page(v, 0);
	bool losing = false, likely = false;

	for (struct json_each finding = json_each(end, "findings"); json_next(&finding);) {
		if (is_note(finding.item))
			continue;
		losing |= json_get_bool(finding.item, "losing");
		likely |= !json_get_bool(finding.item, "losing");
		put_finding(&p, finding.item);
	}
	if (losing || likely)
		page_end(&p);
	put_verdict(&p, end, losing, likely);
	if (v->verbosity < 0)
		return;
	for (struct json_each note = json_each(end, "findings"); json_next(&note);) {
		if (!is_note(note.item))
			continue;
		begin_line(&p, STYLE_DIM, "note");
		page_fill(&p, STYLE_PLAIN, note.item, "{id}: {cause}");
		page_fill(&p, STYLE_PLAIN, json_get(note.item, "facts"), "{?seen}({seen})");
		page_end(&p);
	}
	put_beside(&p, end);
	if (v->verbosity == 0)
		return;
	for (struct json_each link = json_each(end, "interfaces"); json_next(&link);)
		put_link(&p, link.item);
	put_self(&p, json_get(end, "abilities"));
}

void print_about(const struct print_view *v, const char *title, const char *proof,
		 const char *about)
{
	struct page p = print_page(v, 0);
	char label[96];

	snprintf(label, sizeof(label), proof ? "%-21s" : "%s", title);
	page_text(&p, 0, STYLE_BOLD, label);
	if (proof)
		page_words(&p, STYLE_DIM, "proven: %s", proof);
	page_end(&p);
	page_line(&p, 4, STYLE_PLAIN, "", STYLE_PLAIN, "%s", about);
}

/* Changes */

void print_change(const struct print_view *v, const struct json_object *change, const char *risk)
{
	struct page p = print_page(v, 0);

	page_fill_line(&p, 0, STYLE_BOLD, json_get_text(change, "title"), STYLE_PLAIN, change,
		       ": {old:(empty)} ->\v{wanted:(empty)}");
	put_command(&p, 2, "command   ", json_get_text(change, "command"));
	put_command(&p, 2, "undo      ", json_get_text(change, "undo"));
	if (*risk)
		page_line(&p, 2, STYLE_DIM, "risk      ", STYLE_PLAIN, "%s", risk);
	page_fill_line(&p, 2, STYLE_DIM, "effect    ", STYLE_PLAIN, change,
		       "{?effect}for {effect}");
}

void print_change_report(const struct print_view *v, const struct change_report *report)
{
	struct page p = print_page(v, 0);
	char command[CHANGE_COMMAND_SIZE];

	page_line(&p, 0, outcomes[report->outcome].style, outcomes[report->outcome].label,
		  STYLE_PLAIN, "%s%s%s%s%s", report->title, *report->current ? ": " : "",
		  report->current, *report->why ? "; " : "", report->why);
	if ((report->outcome == CHANGE_FOREIGN || report->outcome == CHANGE_KEPT) && report->change)
		put_command(&p, 9, "to restore it anyway: ",
			    change_command(report->change, true, command, sizeof(command)));
}
