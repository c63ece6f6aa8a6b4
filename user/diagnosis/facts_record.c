// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fact rows for documents and bundles. */
#include "diagnosis/facts.h"

#include <ctype.h>
#include <linux/if_link.h>

#include "base/json.h"
#include "base/record.h"

#define BUNDLE_COUNTERS 100000 /* more counters than in any namespace */

#define ROWS(list)	     list(ROW_U, ROW_U, ROW_B, ROW_T, ROW_K, ROW_L, ROW_X)
#define ROW_U(member)	     RECORD(#member, UINT, OF, member),
#define ROW_B(member)	     RECORD(#member, BOOL, OF, member),
#define ROW_T(member, size)  RECORD(#member, TEXT, OF, member),
#define ROW_K(member, key)   RECORD(key, UINT, OF, member),
#define ROW_L(member, n)     RECORD_LIST(#member, UINT, OF, member),
#define ROW_X(declaration, kind, key, member, ...)                                                 \
	RECORD(key, kind, OF, member, ##__VA_ARGS__),

#define OF facts_cpu
static const struct record_field cpu_rows[] = {ROWS(FACTS_CPU){0}};
#undef OF
#define OF facts_irq
static const struct record_field irq_rows[] = {ROWS(FACTS_IRQ){0}};
#undef OF
#define OF link_loss
static const struct record_field loss_rows[] = {ROWS(FACTS_LOSS){0}};
#undef OF
#define OF reading
const struct record_field facts_reading_rows[] = {ROWS(READING){0}};
#undef OF
#define OF facts_capture
static const struct record_field capture_rows[] = {ROWS(FACTS_CAPTURE){0}};
#undef OF
#define OF stack_sample
static const struct record_field sample_rows[] = {ROWS(FACTS_SAMPLE){0}};
#undef OF
#define OF facts_self
const struct record_field facts_self_rows[] = {ROWS(FACTS_SELF){0}};
#undef OF

#define OF facts_stack
static const struct record_field stack_rows[] = {
	ROWS(FACTS_STACK)
	RECORD("before", NESTED, facts_stack, before, .rows = sample_rows),
	RECORD("after", NESTED, facts_stack, after, .rows = sample_rows),
	{0},
};
#undef OF

#define OF facts_sock
const struct record_field facts_sock_rows[] = {
	ROWS(FACTS_SOCK)
	RECORD("reading", NESTED, facts_sock, reading, .rows = facts_reading_rows),
	{0},
};
#undef OF

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

/* The index is XDP_ATTACHED_... Several attached programs are shown as native. */
static const char *const xdp_names[] = {NULL, "native", "generic", "offloaded", "native"};

#define OF facts_link
const struct record_field facts_link_rows[] = {
	RECORD("ifname", TEXT, facts_link, dev.link.ifname),
	RECORD("driver", TEXT, facts_link, dev.driver),
	RECORD("speed_mbit", INT, facts_link, dev.speed_mbit),
	RECORD("mtu", UINT, facts_link, dev.link.mtu),
	RECORD("txqueuelen", UINT, facts_link, dev.link.txqueuelen),
	RECORD("rx_queues", UINT, facts_link, dev.link.rx_queues),
	RECORD("tx_queues", UINT, facts_link, dev.link.tx_queues),
	RECORD("flags", UINT, facts_link, dev.link.flags),
	RECORD("bridge_port", BOOL, facts_link, dev.link.bridge_port),
	RECORD("master_index", UINT, facts_link, dev.link.master),
	RECORD("tunnel_port", UINT, facts_link, dev.link.tunnel_port),
	RECORD("xdp", ENUM, facts_link, dev.link.xdp_attached, RECORD_NAMES(xdp_names)),
	RECORD("xdp_program_id", UINT, facts_link, dev.link.xdp_program, .how = RECORD_NULL),
	RECORD_PART("ring", ring_rows, RECORD_WHEN(facts_link, set.ring.known)),
	RECORD_PART("coalesce", coalesce_rows, RECORD_WHEN(facts_link, set.coalesce.known)),
	RECORD_PART("pause", pause_rows, RECORD_WHEN(facts_link, set.pause.known)),
	RECORD_PART("channels", channel_rows, RECORD_WHEN(facts_link, set.channels.known)),
	RECORD_PART("rss", rss_rows, RECORD_WHEN(facts_link, set.rss.known)),
	ROWS(FACTS_LINK)
	RECORD("stray", TEXT, facts_link, stray.what),
	RECORD("stray_vlan", UINT, facts_link, stray.vlan),
	RECORD_LIST("irqs", NESTED, facts_link, irq, .rows = irq_rows,
		    RECORD_COUNT(facts_link, n_irqs)),
	RECORD_LIST("losses", NESTED, facts_link, loss, .rows = loss_rows,
		    RECORD_COUNT(facts_link, n_losses)),
	{0},
};
#undef OF

static const struct record_field cpus_rows[] = {
	RECORD_LIST("at", NESTED, facts_cpus, at, .rows = cpu_rows, RECORD_COUNT(facts_cpus, n)),
	RECORD("online", UINT, facts_cpus, online, .max = FACTS_CPUS),
	RECORD("steal", DOUBLE, facts_cpus, steal),
	{0},
};

static const struct record_field socks_rows[] = {
	RECORD_LIST("at", NESTED, facts_socks, at, .rows = facts_sock_rows,
		    RECORD_COUNT(facts_socks, n)),
	RECORD("all", UINT, facts_socks, all),
	RECORD("more", UINT, facts_socks, more),
	RECORD("no_buffer", BOOL, facts_socks, no_buffer),
	{0},
};

static const struct record_field rule_rows[] = {
	RECORD("family", TEXT, nft_rule, family),
	RECORD("table", TEXT, nft_rule, table),
	RECORD("chain", TEXT, nft_rule, chain),
	RECORD("handle", UINT, nft_rule, handle),
	RECORD("comment", TEXT, nft_rule, comment),
	RECORD("packets", UINT, nft_rule, packets),
	RECORD("dport", UINT, nft_rule, dport),
	RECORD("exact", BOOL, nft_rule, exact),
	{0},
};

const struct record_field facts_unread_rows[] = {
	RECORD("what", TEXT, facts_unread, what),
	RECORD("why", TEXT, facts_unread, why),
	{0},
};

static const struct record_field rows[] = {
	RECORD("window_ns", UINT, facts, window_ns),
	RECORD("port", UINT, facts, port),
	RECORD("pid", INT, facts, pid),
	RECORD("counters_only", BOOL, facts, counters_only),
	RECORD("cpus", NESTED, facts, cpus, .rows = cpus_rows),
	RECORD_LIST("interfaces", NESTED, facts, link, .rows = facts_link_rows,
		    RECORD_COUNT(facts, n_links)),
	RECORD("egress", TEXT, facts, egress),
	RECORD("settings", NESTED, facts, stack, .rows = stack_rows),
	RECORD("sockets", NESTED, facts, socks, .rows = socks_rows),
	RECORD("listeners", NESTED, facts, listeners, .rows = socks_rows, .how = RECORD_OPTIONAL),
	RECORD_LIST("captures", NESTED, facts, capture, .rows = capture_rows,
		    RECORD_COUNT(facts, n_captures), .how = RECORD_OPTIONAL),
	RECORD("nat_asked", TEXT, facts, dnat.asked),
	RECORD("nat_backend", TEXT, facts, dnat.backend),
	RECORD("nat_silent_on", TEXT, facts, dnat.ifname),
	RECORD("nat_rule", TEXT, facts, dnat.rule),
	RECORD("nat_unreachable", BOOL, facts, dnat.unreachable),
	RECORD("nat_unbridged", BOOL, facts, dnat.unbridged),
	RECORD("silent_address", TEXT, facts, silent.address),
	RECORD("silent_on", TEXT, facts, silent.ifname),
	RECORD("silent_in", TEXT, facts, silent.netns),
	RECORD("next", TEXT, facts, next.ifname),
	RECORD("next_mtu", UINT, facts, next.mtu),
	RECORD("path_to", TEXT, facts, path.to, .how = RECORD_OMITTED),
	RECORD("path_ifname", TEXT, facts, path.ifname, .how = RECORD_OMITTED),
	RECORD("path_via", TEXT, facts, path.via, .how = RECORD_OMITTED),
	RECORD("path_link_mtu", UINT, facts, path.mtu, .how = RECORD_OMITTED),
	RECORD("path_mtu", UINT, facts, path.fits, .how = RECORD_OMITTED),
	RECORD("path_silent", BOOL, facts, path.silent, .how = RECORD_OMITTED),
	RECORD("path_told_by", TEXT, facts, path.told_by, .how = RECORD_OMITTED),
	RECORD("path_before", TEXT, facts, path.before, .how = RECORD_OMITTED),
	RECORD("path_after", TEXT, facts, path.after, .how = RECORD_OMITTED),
	RECORD("closed_port", UINT, facts, closed_port),
	RECORD("back_source", TEXT, facts, back.source),
	RECORD("back_came_by", TEXT, facts, back.ifname),
	RECORD("back_leaves_by", TEXT, facts, back.by),
	RECORD_LIST("rules", NESTED, facts, rule, .rows = rule_rows, RECORD_COUNT(facts, n_rules)),
	RECORD_LIST("rules_text", TEXT, facts, rule_text, .how = RECORD_OPTIONAL),
	RECORD("rules_ns", UINT, facts, rules_ns),
	RECORD("abilities", NESTED, facts, self, .rows = facts_self_rows),
	RECORD_LIST("unread", NESTED, facts, unread, .rows = facts_unread_rows,
		    RECORD_COUNT(facts, n_unread)),
	{0},
};

/* Counter value at the end of the window, and its increase during the window. */
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

struct json_object *facts_write(const struct facts *facts)
{
	struct json_object *o = record_write(rows, facts), *list = json_put_list(o, "counters");

	for (size_t i = 0; i < facts->moved.n; i++) {
		const struct counter *moved = &facts->moved.items[i];
		struct bundle_counter c = {.moved = moved->value};

		memcpy(c.scope, moved->scope, sizeof(c.scope));
		memcpy(c.name, moved->name, sizeof(c.name));
		c.after = facts_total(facts, c.scope, c.name);
		if (c.after || c.moved)
			json_object_array_add(list, record_write(counter_rows, &c));
	}
	return o;
}

/* Clears the name unless it is a plain name or an address. */
static void keep_plain(char *name)
{
	for (const char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && !strchr("._:@-", *c))
			*name = '\0';
	}
}

void facts_load(const struct json_object *o, struct facts *facts)
{
	record_read(o, rows, facts);
	keep_plain(facts->back.source);
	keep_plain(facts->path.to);
	keep_plain(facts->path.via);
	keep_plain(facts->path.ifname);
	for (unsigned i = 0; i < facts->n_links; i++)
		keep_plain(facts->link[i].dev.link.ifname);
	for (struct json_each item = json_each(o, "counters"); json_next(&item);) {
		struct bundle_counter c;

		if (facts->moved.n == BUNDLE_COUNTERS)
			break;
		if (record_read(item.item, counter_rows, &c))
			continue;
		counters_add(&facts->moved, c.scope, c.name, c.moved);
		counters_add(&facts->after, c.scope, c.name, c.after);
	}
}
