// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

#define BUNDLE_COUNTERS 100000 /* more counters than any namespace has */
#define COMMANDS_SHOWN	8      /* commands shown per finding, JSON contains all */

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

/* Outcome of a change, for JSON and for text. */
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
	static const struct {
		enum style style;
		const char *text;
	} texts[] = {
		[REMEDY_HELPED] = {STYLE_GOOD, ""},
		[REMEDY_NO_HELP] = {STYLE_BAD, "; that does not help, and is taken back"},
		[REMEDY_NO_TRAFFIC] = {STYLE_WARN,
				       "; too little came meanwhile to say that it helped"},
	};
	struct page p = print_page(v, 0);

	page_line(&p, 0, texts[r->outcome].style, "measured ", STYLE_PLAIN,
		  "%s%s%s%s%s: %s lost before, %s after%s", r->id, *r->subject ? ", " : "",
		  r->subject, *r->netns ? " in " : "", r->netns, fmt_rate(r->lost_pps),
		  fmt_rate(r->lost_pps_after), texts[r->outcome].text);
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

static const struct record_field irq_rows[] = {
	RECORD("irq", UINT, facts_irq, irq),	   RECORD("name", TEXT, facts_irq, name),
	RECORD("fired", UINT, facts_irq, fired),   RECORD("affinity", TEXT, facts_irq, allowed),
	RECORD("moving", BOOL, facts_irq, moving), RECORD("cpu", INT, facts_irq, cpu),
	RECORD("target", INT, facts_irq, target),  {0},
};

static struct json_object *irqs_json(const struct facts_link *l)
{
	struct json_object *list = json_object_new_array();

	for (unsigned i = 0; i < l->n_irqs; i++) {
		struct json_object *o = record_write(irq_rows, &l->irq[i]);

		if (l->irq[i].cpu < 0)
			json_put(o, "cpu", NULL);
		if (l->irq[i].target < 0)
			json_put(o, "target", NULL);
		json_object_array_add(list, o);
	}
	return list;
}

/* Index is XDP_ATTACHED_... Several attached programs are shown as native. */
static const char *const xdp_names[] = {NULL, "native", "generic", "offloaded", "native"};

static const struct record_field ring_rows[] = {
	RECORD("rx", UINT, facts_link, set.ring.rx),
	RECORD("rx_max", UINT, facts_link, set.ring.rx_max),
	RECORD("tx", UINT, facts_link, set.ring.tx),
	RECORD("tx_max", UINT, facts_link, set.ring.tx_max),
	{0},
};

static const struct record_field coalesce_rows[] = {
	RECORD("rx_usecs", UINT, facts_link, set.coalesce.rx_usecs),
	RECORD("rx_frames", UINT, facts_link, set.coalesce.rx_frames),
	RECORD("adaptive_rx", BOOL, facts_link, set.coalesce.adaptive_rx),
	{0},
};

static const struct record_field pause_rows[] = {
	RECORD("rx", BOOL, facts_link, set.pause.rx),
	RECORD("tx", BOOL, facts_link, set.pause.tx),
	{0},
};

static const struct record_field link_rows[] = {
	RECORD("ifname", TEXT, facts_link, dev.link.ifname),
	RECORD("driver", TEXT, facts_link, dev.driver),
	RECORD("mtu", UINT, facts_link, dev.link.mtu),
	RECORD("peer_mtu", UINT, facts_link, peer_mtu, .how = RECORD_NULL),
	RECORD("master", TEXT, facts_link, master_name),
	RECORD_PART("ring", ring_rows, RECORD_WHEN(facts_link, set.ring.known)),
	RECORD_PART("coalesce", coalesce_rows, RECORD_WHEN(facts_link, set.coalesce.known)),
	RECORD_PART("pause", pause_rows, RECORD_WHEN(facts_link, set.pause.known)),
	RECORD("qdisc", TEXT, facts_link, qdisc),
	RECORD("txqueuelen", UINT, facts_link, dev.link.txqueuelen),
	RECORD("rp_filter", TEXT, facts_link, rp_filter),
	RECORD("rps_cpus", TEXT, facts_link, rps_cpus),
	RECORD("rps_flow_cnt", UINT, facts_link, rps_flow_cnt),
	RECORD("xps_cpus", TEXT, facts_link, xps_cpus),
	RECORD("threaded_napi", BOOL, facts_link, threaded),
	RECORD("gro", BOOL, facts_link, gro),
	RECORD("gro_hw", BOOL, facts_link, gro_hw),
	RECORD("lro", BOOL, facts_link, lro),
	RECORD("gso", BOOL, facts_link, gso),
	RECORD("udp_gso", BOOL, facts_link, udp_gso),
	RECORD("rx_checksum", BOOL, facts_link, rx_csum),
	RECORD("xdp", ENUM, facts_link, dev.link.xdp_attached, RECORD_NAMES(xdp_names)),
	RECORD("rx_packets", UINT, facts_link, rx_packets),
	RECORD("tx_packets", UINT, facts_link, tx_packets),
	{0},
};

static struct json_object *link_json(const struct facts_link *l)
{
	const char *af_xdp = l->zero_copy ? "zero-copy" : l->native_xdp ? "native" : "generic";
	const unsigned combined = l->set.channels.combined_max;
	struct json_object *o = record_write(link_rows, l), *queues = json_put_object(o, "queues");

	json_put_u64(queues, "rx", l->dev.link.rx_queues);
	json_put_u64(queues, "tx", l->dev.link.tx_queues);
	if (l->set.channels.known)
		json_put_u64(queues, "rx_max", combined ? combined : l->set.channels.rx_max);
	if (l->set.rss.known)
		json_put_u64(queues, "rss_used", l->set.rss.used);
	json_put_text(o, "af_xdp", l->features_known ? af_xdp : NULL);
	json_put(o, "irqs", irqs_json(l));
	return o;
}

static const struct record_field sock_rows[] = {
	RECORD("port", UINT, facts_sock, port),
	RECORD("process", TEXT, facts_sock, process),
	RECORD("pid", INT, facts_sock, pid, .how = RECORD_NULL),
	RECORD("queued_bytes", UINT, facts_sock, queued),
	RECORD("rcvbuf_bytes", UINT, facts_sock, rcvbuf, .how = RECORD_NULL),
	RECORD("sndbuf_bytes", UINT, facts_sock, sndbuf, .how = RECORD_NULL),
	RECORD("drops", UINT, facts_sock, drops),
	RECORD("lost", UINT, facts_sock, lost),
	RECORD("reads", UINT, facts_sock, reads, RECORD_WHEN(facts_sock, reads_known)),
	{0},
};

static const struct record_field history_rows[] = {
	RECORD("stage", ENUM, check_history, stage, RECORD_NAMES(stage_names)),
	RECORD("counter", TEXT, check_history, counter),
	RECORD("total", UINT, check_history, total),
	{0},
};

static const struct record_field unread_rows[] = {
	RECORD("what", TEXT, facts_unread, what),
	RECORD("why", TEXT, facts_unread, why),
	{0},
};

/* Capabilities of pktledger on this host. */
static const struct record_field self_rows[] = {
	RECORD("btf", BOOL, facts_self, btf),
	RECORD("missing_capabilities", TEXT, facts_self, missing_caps),
	RECORD("drop_reasons", UINT, facts_self, reasons),
	RECORD("drop_socket", BOOL, facts_self, drop_socket),
	RECORD("af_xdp", BOOL, facts_self, af_xdp),
	RECORD("xdp_features", BOOL, facts_self, xdp_features),
	{0},
};

static const struct record_field end_rows[] = {
	RECORD_LIST("unread", NESTED, facts, unread, .rows = unread_rows,
		    RECORD_COUNT(facts, n_unread)),
	RECORD("abilities", NESTED, facts, self, .rows = self_rows),
	{0},
};

/* Adds an item of a namespace that was read, with the namespace's name. */
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
	const struct facts *f = &l->at[0]->facts; /* facts of the whole host */

	json_put_u64(o, "window_ns", l->window_ns);
	json_put_u64(o, "namespaces", l->spaces > l->n ? l->spaces : l->n);
	json_put_u64(o, "namespaces_losing_unread", l->losing);
	json_put_u64(o, "cpus_online", f->cpus.online);
	findings = json_put_list(o, "findings");
	for (unsigned i = 0; i < list->n; i++)
		json_object_array_add(findings, finding_json(&list->at[i]));
	json_put(o, "history",
		 record_items(history_rows, &(struct list){list->history, sizeof(*list->history),
							   list->n_history, 0}));
	record_put(o, end_rows, f);
	json_put_bool(json_get(o, "abilities"), "udp_diag", !f->socks.no_buffer);
	links = json_put_list(o, "interfaces");
	socks = json_put_list(o, "sockets");
	for (unsigned i = 0; i < l->n; i++) {
		const struct look_place *p = l->at[i];

		for (unsigned j = 0; j < p->facts.n_links; j++)
			add_of(links, link_json(&p->facts.link[j]), p->name);
		for (unsigned j = 0; j < p->facts.socks.n; j++)
			add_of(socks, record_write(sock_rows, &p->facts.socks.at[j]), p->name);
	}
	return o;
}

/*
 * A bundle is a ledger file (report/ledgerfile.h) of these lines:
 *
 *	{"event":"start","schema":"pktledger/check/1","data":{..}}	as in the document
 *	{"event":"facts","data":{..}}			input of the judge, a line per namespace
 *	{"event":"selftest","data":{"rows":[..]}}
 *	{"event":"end","data":{..}}			the findings at that time
 *
 * Names of hosts and addresses are replaced (redact_apply()).
 */

static const struct record_field cpu_rows[] = {
	RECORD("online", BOOL, facts_cpu, online),
	RECORD("ticked", BOOL, facts_cpu, ticked),
	RECORD("idle", DOUBLE, facts_cpu, idle),
	RECORD("softirq", DOUBLE, facts_cpu, softirq),
	RECORD("governor", TEXT, facts_cpu, governor),
	RECORD("mhz", UINT, facts_cpu, mhz),
	RECORD("mhz_max", UINT, facts_cpu, mhz_max),
	RECORD("idle_state", TEXT, facts_cpu, idle_state),
	RECORD("idle_latency_us", UINT, facts_cpu, idle_latency_us),
	{0},
};

static const struct record_field cpus_rows[] = {
	RECORD_LIST("at", NESTED, facts_cpus, at, .rows = cpu_rows, RECORD_COUNT(facts_cpus, n)),
	RECORD("online", UINT, facts_cpus, online, .max = FACTS_CPUS),
	RECORD("steal", DOUBLE, facts_cpus, steal),
	{0},
};

static const struct record_field loss_rows[] = {
	RECORD("cause", ENUM, link_loss, cause, RECORD_NAMES(nic_cause_names)),
	RECORD("class", ENUM, link_loss, class, RECORD_NAMES(nic_class_names)),
	RECORD("counter", TEXT, link_loss, counter),
	RECORD("lost", UINT, link_loss, lost),
	RECORD("total", UINT, link_loss, total),
	{0},
};

static const struct record_field channel_rows[] = {
	RECORD("rx", UINT, facts_link, set.channels.rx),
	RECORD("rx_max", UINT, facts_link, set.channels.rx_max),
	RECORD("combined", UINT, facts_link, set.channels.combined),
	RECORD("combined_max", UINT, facts_link, set.channels.combined_max),
	{0},
};

static const struct record_field rss_rows[] = {
	RECORD("entries", UINT, facts_link, set.rss.entries),
	RECORD("used", UINT, facts_link, set.rss.used),
	{0},
};

static const struct record_field bundle_link_rows[] = {
	RECORD_PART("shown", link_rows),
	RECORD("rx_queues", UINT, facts_link, dev.link.rx_queues),
	RECORD("tx_queues", UINT, facts_link, dev.link.tx_queues),
	RECORD("bridge_port", BOOL, facts_link, dev.link.bridge_port),
	RECORD("master_index", UINT, facts_link, dev.link.master),
	RECORD("tunnel_port", UINT, facts_link, dev.link.tunnel_port),
	RECORD("features_known", BOOL, facts_link, features_known),
	RECORD("native_xdp", BOOL, facts_link, native_xdp),
	RECORD("zero_copy", BOOL, facts_link, zero_copy),
	RECORD_PART("channels", channel_rows, RECORD_WHEN(facts_link, set.channels.known)),
	RECORD_PART("rss", rss_rows, RECORD_WHEN(facts_link, set.rss.known)),
	RECORD_LIST("irqs", NESTED, facts_link, irq, .rows = irq_rows,
		    RECORD_COUNT(facts_link, n_irqs)),
	RECORD_LIST("losses", NESTED, facts_link, loss, .rows = loss_rows,
		    RECORD_COUNT(facts_link, n_losses)),
	{0},
};

static const struct record_field reading_rows[] = {
	RECORD("pid", INT, reading, pid),
	RECORD("tid", INT, reading, tid),
	RECORD("process", TEXT, reading, process),
	RECORD("thread", TEXT, reading, thread),
	RECORD("threads", UINT, reading, threads),
	RECORD("holders", UINT, reading, holders),
	RECORD("seen", BOOL, reading, seen),
	RECORD("window_ns", UINT, reading, window_ns),
	RECORD("run_ns", UINT, reading, run_ns),
	RECORD("wait_ns", UINT, reading, wait_ns),
	RECORD("throttled_ns", UINT, reading, throttled_ns),
	RECORD("stopped", BOOL, reading, stopped),
	RECORD("sleeps_in", TEXT, reading, sleeps_in),
	RECORD("samples", UINT, reading, samples),
	RECORD("queue_bytes", UINT, reading, queue_bytes),
	RECORD("full", UINT, reading, full),
	RECORD("burst", UINT, reading, burst),
	RECORD("truesize", UINT, reading, truesize),
	RECORD("lost", UINT, reading, lost),
	RECORD("received_around", UINT, reading, received_around),
	{0},
};

static const struct record_field bundle_sock_rows[] = {
	RECORD_PART("shown", sock_rows),
	RECORD("bound", TEXT, facts_sock, bound, .how = RECORD_OPTIONAL),
	RECORD("peer", TEXT, facts_sock, peer, .how = RECORD_OPTIONAL),
	RECORD("queued_before_bytes", UINT, facts_sock, queued_before),
	RECORD("truesize_bytes", UINT, facts_sock, truesize),
	RECORD("holders", UINT, facts_sock, holders),
	RECORD("young", BOOL, facts_sock, young),
	RECORD("reading", NESTED, facts_sock, reading, .rows = reading_rows),
	{0},
};

static const struct record_field socks_rows[] = {
	RECORD_LIST("at", NESTED, facts_socks, at, .rows = bundle_sock_rows,
		    RECORD_COUNT(facts_socks, n)),
	RECORD("all", UINT, facts_socks, all),
	RECORD("more", UINT, facts_socks, more),
	RECORD("no_buffer", BOOL, facts_socks, no_buffer),
	{0},
};

static const struct record_field sample_rows[] = {
	RECORD("conntrack_drops", UINT, stack_sample, conntrack_drops),
	RECORD("conntrack_clashes", UINT, stack_sample, conntrack_clashes),
	RECORD("nfqueue_drops", UINT, stack_sample, nfqueue_drops),
	RECORD("ovs_lost", UINT, stack_sample, ovs_lost),
	{0},
};

static const struct record_field stack_rows[] = {
	RECORD("rmem_default", UINT, facts_stack, rmem_default),
	RECORD("rmem_max", UINT, facts_stack, rmem_max),
	RECORD("wmem_default", UINT, facts_stack, wmem_default),
	RECORD("wmem_max", UINT, facts_stack, wmem_max),
	RECORD_LIST("udp_mem", UINT, facts_stack, udp_mem),
	RECORD("udp_pages", UINT, facts_stack, udp_pages),
	RECORD("page_bytes", UINT, facts_stack, page_bytes),
	RECORD("netdev_max_backlog", UINT, facts_stack, max_backlog),
	RECORD("netdev_budget", UINT, facts_stack, budget),
	RECORD("netdev_budget_usecs", UINT, facts_stack, budget_usecs),
	RECORD("rps_sock_flow_entries", UINT, facts_stack, flow_entries,
	       RECORD_WHEN(facts_stack, flow_entries_known)),
	RECORD("flow_limit_cpu_bitmap", TEXT, facts_stack, flow_limit_cpus),
	RECORD("conntrack", UINT, facts_stack, conntrack),
	RECORD("conntrack_max", UINT, facts_stack, conntrack_max),
	RECORD_LIST("frag_high_thresh", UINT, facts_stack, frag_high),
	RECORD_LIST("frag_memory", UINT, facts_stack, frag_memory),
	RECORD_LIST("neighbours", UINT, facts_stack, neighbours),
	RECORD_LIST("neighbours_max", UINT, facts_stack, neighbours_max),
	RECORD("before", NESTED, facts_stack, before, .rows = sample_rows),
	RECORD("after", NESTED, facts_stack, after, .rows = sample_rows),
	{0},
};

static const struct record_field owner_rows[] = {
	RECORD("process", TEXT, facts_owner, process),
	RECORD("pid", INT, facts_owner, pid),
	{0},
};

static const struct record_field taps_rows[] = {
	RECORD("taps", UINT, facts_taps, taps),
	RECORD_LIST("tap", NESTED, facts_taps, tap, .rows = owner_rows),
	RECORD("raws", UINT, facts_taps, raws),
	RECORD_LIST("raw", NESTED, facts_taps, raw, .rows = owner_rows),
	{0},
};

static const struct record_field rule_rows[] = {
	RECORD("family", TEXT, nft_rule, family),   RECORD("table", TEXT, nft_rule, table),
	RECORD("chain", TEXT, nft_rule, chain),	    RECORD("handle", UINT, nft_rule, handle),
	RECORD("packets", UINT, nft_rule, packets), RECORD("dport", UINT, nft_rule, dport),
	RECORD("exact", BOOL, nft_rule, exact),	    {0},
};

static const struct record_field facts_rows[] = {
	RECORD("window_ns", UINT, facts, window_ns),
	RECORD("port", UINT, facts, port),
	RECORD("pid", INT, facts, pid),
	RECORD("cpus", NESTED, facts, cpus, .rows = cpus_rows),
	RECORD_LIST("interfaces", NESTED, facts, link, .rows = bundle_link_rows,
		    RECORD_COUNT(facts, n_links)),
	RECORD("settings", NESTED, facts, stack, .rows = stack_rows),
	RECORD("sockets", NESTED, facts, socks, .rows = socks_rows),
	RECORD("copies", NESTED, facts, taps, .rows = taps_rows),
	RECORD("nat_asked", TEXT, facts, dnat.asked),
	RECORD("nat_backend", TEXT, facts, dnat.backend),
	RECORD("nat_silent_on", TEXT, facts, dnat.ifname),
	RECORD("nat_rule", TEXT, facts, dnat.rule),
	RECORD("silent_address", TEXT, facts, silent.address),
	RECORD("silent_on", TEXT, facts, silent.ifname),
	RECORD("back_source", TEXT, facts, back.source),
	RECORD("back_came_by", TEXT, facts, back.ifname),
	RECORD("back_leaves_by", TEXT, facts, back.by),
	RECORD_LIST("rules", NESTED, facts, rule, .rows = rule_rows, RECORD_COUNT(facts, n_rules)),
	RECORD("rules_ns", UINT, facts, rules_ns),
	RECORD("abilities", NESTED, facts, self, .rows = self_rows),
	RECORD_LIST("unread", NESTED, facts, unread, .rows = unread_rows,
		    RECORD_COUNT(facts, n_unread)),
	{0},
};

/* Value at the end of the window, and its increment in the window. */
struct bundle_counter {
	char scope[COUNTER_SCOPE_LEN], name[COUNTER_NAME_LEN];
	uint64_t after, moved;
};

static const struct record_field counter_rows[] = {
	RECORD("scope", TEXT, bundle_counter, scope),
	RECORD("name", TEXT, bundle_counter, name),
	RECORD("after", UINT, bundle_counter, after),
	RECORD("moved", UINT, bundle_counter, moved),
	{0},
};

static struct json_object *facts_json(const struct look_place *p)
{
	struct json_object *o = record_write(facts_rows, &p->facts), *list;

	json_put_text(o, "netns", p->name);
	list = json_put_list(o, "counters");
	for (size_t i = 0; i < p->facts.moved.n; i++) {
		const struct counter *moved = &p->facts.moved.items[i];
		struct bundle_counter c = {.moved = moved->value};

		memcpy(c.scope, moved->scope, sizeof(c.scope));
		memcpy(c.name, moved->name, sizeof(c.name));
		c.after = facts_total(&p->facts, c.scope, c.name);
		if (c.after || c.moved)
			json_object_array_add(list, record_write(counter_rows, &c));
	}
	return o;
}

/* Clears the name unless it is a plain name or an address, because commands to be typed may contain
 * it. */
static void keep_plain(char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("._:@-", *c))
			*name = '\0';
	}
}

static void read_facts(struct look_place *p, const struct json_object *o)
{
	const char *netns = json_get_text(o, "netns");

	record_read(o, facts_rows, &p->facts);
	keep_plain(p->facts.back.source);
	for (unsigned i = 0; i < p->facts.n_links; i++)
		keep_plain(p->facts.link[i].dev.link.ifname);
	utf8_tame(memcpy(p->name, netns, strnlen(netns, sizeof(p->name) - 1)));
	for (struct json_each item = json_each(o, "counters"); json_next(&item);) {
		struct bundle_counter c;

		if (p->facts.moved.n == BUNDLE_COUNTERS)
			break;
		if (record_read(item.item, counter_rows, &c))
			continue;
		counters_add(&p->facts.moved, c.scope, c.name, c.moved);
		counters_add(&p->facts.after, c.scope, c.name, c.after);
	}
}

int bundle_try(const char *path, struct error *err)
{
	const bool made = access(path, F_OK) != 0;
	struct ledgerfile *lf = NULL;
	int rc = ledgerfile_open(&lf, path, err);

	if (!rc)
		rc = ledgerfile_close(lf, err);
	if (!rc && made)
		unlink(path);
	return rc;
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
	for (unsigned i = 0; i < l->n; i++)
		part[n++] = facts_json(l->at[i]);
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

	if (!strcmp(event, "start")) { /* the last start of a file is used */
		look_close(l);
		*l = (struct look){};
		json_object_put(r->start);
		r->start = strcmp(json_get_text(line, "schema"), "pktledger/check/1")
				   ? NULL
				   : json_object_get(data);
	} else if (r->start && !strcmp(event, "facts") && l->n < LOOK_PLACES) {
		l->at[l->n] = mem_new(l->at[0]);
		read_facts(l->at[l->n], data);
		l->at[l->n++]->ns = NETNS_NONE;
	} else if (r->start && !strcmp(event, "end")) {
		l->window_ns = json_get_u64(data, "window_ns");
		l->spaces = (unsigned)json_get_u64(data, "namespaces");
		l->losing = (unsigned)json_get_u64(data, "namespaces_losing_unread");
	}
	json_object_put(line);
	return 0;
}

int bundle_read(const char *path, struct look *l, struct json_object **start, struct error *err)
{
	struct bundle_reading r = {.look = l};
	struct ledgerfile_state state;
	int rc = ledgerfile_read(path, read_line, &r, &state, err);

	*start = r.start;
	if (rc)
		return rc;
	if (!r.start || !l->n)
		return error_usage(err, "check --bundle FILE writes one",
				   "%s has nothing that check could judge", path);
	look_judge(l);
	return 0;
}

/* Text */

/* Returns true for findings without current or future loss. */
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

/* Prints losses since boot, and data that could not be read. */
static void put_beside(struct page *p, const struct json_object *end)
{
	size_t n = json_get_length(end, "history");

	if (n)
		begin_line(p, STYLE_DIM, "lost earlier");
	for (struct json_each h = json_each(end, "history"); json_next(&h);)
		page_fill(p, STYLE_PLAIN, h.item,
			  h.next < n ? "{stage}\v{total#}\v({counter}),"
				     : "{stage}\v{total#}\v({counter}); -t watches for longer");
	if (n)
		page_end(p);
	for (struct json_each o = json_each(end, "unread"); json_next(&o);) {
		begin_line(p, STYLE_DIM, "not read");
		page_fill(p, STYLE_PLAIN, o.item, "{what}: {why}");
		page_end(p);
	}
}

/* Prints the settings of an interface that were read and judged. */
static void put_link(struct page *p, const struct json_object *l)
{
	static const char *const parts[] = {
		"{?ring}ring\v{ring.rx} of\v{ring.rx_max},",
		"{?coalesce}rx-usecs\v{coalesce.rx_usecs}{coalesce.adaptive_rx|\vadaptive},",
		"{?pause}pause rx\v{pause.rx|on|off} tx\v{pause.tx|on|off},",
		"{?queues.rss_used}RSS over\v{queues.rss_used},",
	};
	const char *netns = json_get_text(l, "netns");
	char name[256];

	snprintf(name, sizeof(name), "%s%s%s", json_get_text(l, "ifname"), *netns ? " in " : "",
		 netns);
	begin_line(p, STYLE_BOLD, name);
	page_fill(p, STYLE_PLAIN, l, "{driver:no driver}, MTU\v{mtu},");
	page_fill(p, STYLE_PLAIN, json_get(l, "queues"),
		  json_get(json_get(l, "queues"), "rx_max") ? "queues\v{rx} of\v{rx_max},"
							    : "queues\v{rx},");
	for (unsigned i = 0; i < LENGTH(parts); i++)
		page_fill(p, STYLE_PLAIN, l, parts[i]);
	page_fill(p, STYLE_PLAIN, l, "qdisc\v{qdisc:none},");
	page_fill(p, STYLE_PLAIN, l, "{?rp_filter}rp_filter\v{rp_filter},");
	for (struct json_each q = json_each(l, "irqs"); json_next(&q);)
		page_fill(p, STYLE_PLAIN, q.item, "{?fired}IRQ\v{irq}\von\vCPU\v{cpu:?},");
	page_fill(p, STYLE_PLAIN, l,
		  "GSO\v{gso|on|off}, GRO\v{gro|on|off}{gro_hw|\vin\vhardware}{lro|, LRO\von}, "
		  "NAPI\v{threaded_napi|threads|softirq}, XDP\v{xdp:none}, "
		  "AF_XDP\v{af_xdp:unknown}");
	page_end(p);
}

/* Prints the kernel features that pktledger can use. */
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

/* Prints one line, also for a host without findings. */
static void put_verdict(struct page *p, const struct json_object *end, bool losing, bool likely)
{
	p->indent = 0;
	if (!losing)
		page_fill(p, likely ? STYLE_WARN : STYLE_GOOD, end,
			  likely ? "no counter of losses moved in {window_ns#};"
				 : "no counter of losses moved in {window_ns#}, and no limit is "
				   "near;");
	page_fill(p, STYLE_PLAIN, end,
		  "watched {interfaces#interface}, {sockets#UDP socket}, {cpus_online#CPU}");
	page_fill(p, STYLE_PLAIN, end, losing ? "for {window_ns#}" : "");
	if (json_get_u64(end, "namespaces") > 1)
		page_fill(p, STYLE_PLAIN, end,
			  "and the counters of {namespaces} network namespaces");
	page_fill(p, STYLE_WARN, end,
		  "{?namespaces_losing_unread}; {namespaces_losing_unread} more of these lose "
		  "packets: --netns looks at one");
	page_end(p);
	begin_line(p, STYLE_DIM, "not counted");
	page_words(p, STYLE_PLAIN,
		   "what rules without a counter, bridges, tcx and XDP programs drop: `pktledger "
		   "trace` shows it");
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
		put_command(&p, 9, "to put it back all the same: ",
			    change_command(report->change, true, command, sizeof(command)));
}
