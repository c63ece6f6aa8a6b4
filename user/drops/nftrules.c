// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nftrules.h"

#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "host/counters.h"
#include "host/nl.h"

#define JUMPS_DEEP 16		 /* NFT_JUMP_STACK_SIZE */
#define TRIES	   8		 /* attempts to list rules that change during listing */
#define ROWS_MOST  (1U << 18)	 /* maximum chains, counters or rules in one namespace */
#define FRESH_NS   1000000000ULL /* a second list serves all hooks requested within this time */

/* A name in a table of a family. */
struct name {
	uint32_t family; /* NFPROTO_* */
	char table[NFT_NAME], name[NFT_NAME];
};

struct table {
	struct name id; /* without a name of its own */
	uint64_t handle;
};

struct chain {
	struct name id;
	unsigned hooks; /* hooks from which it is reached: bits of enum netfilter_hook */
	bool drops;	/* its policy is drop */
};

struct counter_object {
	struct name id;
	uint64_t packets, bytes;
};

/* A jump or goto from one chain to another. */
struct jump {
	unsigned from, to;
};

struct reader {
	struct list tables;   /* struct table */
	struct list chains;   /* struct chain, sorted; chains are identified by their index */
	struct list counters; /* struct counter_object: named counters */
	struct list jumps;    /* struct jump */
	struct list *rules;   /* struct nft_rule. `hooks`: initially the index of the chain */
};

/* The value most recently loaded by a rule, if it matters here. */
enum loaded { LOADED_OTHER, LOADED_PROTOCOL, LOADED_DPORT };

struct place {
	uint32_t inum;
	uint64_t cookie;	      /* netns_identity() */
	struct list before, after;    /* struct nft_rule; `before` is sorted */
	uint64_t before_at, after_at; /* clock_now() */
	bool late, failed, legacy;    /* failed: there is no first list to compare with */
	char problem[160];	      /* problem with the last list */
};

struct nftrules {
	struct list places;
};

/* Requests */

static struct nlmsghdr *request(char *buf, uint16_t message, uint32_t family)
{
	struct nlmsghdr *nlh = nl_header(buf, NFNL_SUBSYS_NFTABLES << 8 | message, NLM_F_DUMP);
	struct nfgenmsg *nfg = mnl_nlmsg_put_extra_header(nlh, sizeof(*nfg));

	nfg->nfgen_family = (uint8_t)family;
	return nlh;
}

static const struct nlattr *attr(const struct nlmsghdr *nlh, uint16_t type)
{
	return nl_attr(nlh, sizeof(struct nfgenmsg), type);
}

static uint32_t be32_of(const struct nlattr *a)
{
	return be32toh((uint32_t)nl_uint(a));
}

static uint64_t be64_of(const struct nlattr *a)
{
	return be64toh(nl_uint(a));
}

static struct name name_of(const struct nlmsghdr *nlh, const struct nlattr *table,
			   const struct nlattr *name)
{
	const struct nfgenmsg *nfg = mnl_nlmsg_get_payload(nlh);
	struct name n = {.family = nfg->nfgen_family};

	nl_text(table, n.table, sizeof(n.table));
	nl_text(name, n.name, sizeof(n.name));
	return n;
}

static int compare_names(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int ret = x->family < y->family ? -1 : x->family > y->family;

	ret = ret ? ret : strcmp(x->table, y->table);
	return ret ? ret : strcmp(x->name, y->name);
}

/* Adds a row. Returns NULL if there are too many, which ends the list with an error. */
static void *add(struct list *l)
{
	if (l->n < ROWS_MOST)
		return list_add(l);
	errno = E2BIG;
	return NULL;
}

struct sought {
	const char *type;
	int found;
};

static int count_chain(const struct nlmsghdr *nlh, void *arg)
{
	struct sought *s = arg;
	char type[16];

	nl_text(attr(nlh, NFTA_CHAIN_TYPE), type, sizeof(type));
	s->found += !s->type || !strcmp(type, s->type);
	return MNL_CB_OK;
}

int nft_chains(const struct netns *ns, const char *type)
{
	char buf[NL_REQUEST_SIZE];
	struct sought s = {.type = type};
	int ret = nl_query_bus(ns, NETLINK_NETFILTER, request(buf, NFT_MSG_GETCHAIN, AF_UNSPEC),
			       count_chain, &s);

	return ret ? ret : s.found;
}

/* Chains and counters */

enum netfilter_hook nft_hook(const char *name)
{
	for (unsigned h = HOOK_NONE + 1; h < HOOK_COUNT; h++) {
		if (!strcmp(name, netfilter_hook_names[h]))
			return (enum netfilter_hook)h;
	}
	return HOOK_NONE;
}

static unsigned hook_bit(uint32_t family, uint32_t number)
{
	static const enum netfilter_hook ip[] = {HOOK_PREROUTING, HOOK_INPUT, HOOK_FORWARD,
						 HOOK_OUTPUT, HOOK_POSTROUTING, HOOK_INGRESS},
					 bridge[] = {HOOK_BRIDGE_PREROUTING, HOOK_BRIDGE_INPUT,
						     HOOK_BRIDGE_FORWARD, HOOK_BRIDGE_OUTPUT,
						     HOOK_BRIDGE_POSTROUTING},
					 arp[] = {HOOK_ARP_INPUT, HOOK_ARP_OUTPUT},
					 device[] = {HOOK_INGRESS, HOOK_EGRESS};
	const enum netfilter_hook *hooks = ip;
	size_t n = LENGTH(ip);

	if (family == NFPROTO_BRIDGE)
		hooks = bridge, n = LENGTH(bridge);
	else if (family == NFPROTO_ARP)
		hooks = arp, n = LENGTH(arp);
	else if (family == NFPROTO_NETDEV)
		hooks = device, n = LENGTH(device);
	return number < n ? 1U << hooks[number] : 0;
}

static int take_table(const struct nlmsghdr *nlh, void *arg)
{
	struct reader *r = arg;
	struct table *t = add(&r->tables);

	if (!t)
		return MNL_CB_ERROR;
	t->id = name_of(nlh, attr(nlh, NFTA_TABLE_NAME), NULL);
	t->handle = be64_of(attr(nlh, NFTA_TABLE_HANDLE));
	return MNL_CB_OK;
}

/* Returns the handle of the table that contains a chain, 0: unknown. */
static uint64_t table_of(const struct reader *r, const struct chain *c)
{
	const struct table *t = r->tables.at;

	for (unsigned i = 0; i < r->tables.n; i++) {
		if (t[i].id.family == c->id.family && !strcmp(t[i].id.table, c->id.table))
			return t[i].handle;
	}
	return 0;
}

static int take_chain(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *hook = attr(nlh, NFTA_CHAIN_HOOK),
			    *policy = attr(nlh, NFTA_CHAIN_POLICY);
	struct reader *r = arg;
	struct chain *c = add(&r->chains);

	if (!c)
		return MNL_CB_ERROR;
	c->id = name_of(nlh, attr(nlh, NFTA_CHAIN_TABLE), attr(nlh, NFTA_CHAIN_NAME));
	c->hooks = hook ? hook_bit(c->id.family, be32_of(nl_nested(hook, NFTA_HOOK_HOOKNUM))) : 0;
	c->drops = hook && policy && be32_of(policy) == NF_DROP;
	return MNL_CB_OK;
}

static const struct chain *find_chain(const struct reader *r, const struct name *id)
{
	return r->chains.n ? bsearch(id, r->chains.at, r->chains.n, sizeof(struct chain),
				     compare_names)
			   : NULL;
}

static unsigned number_of(const struct reader *r, const struct chain *c)
{
	return (unsigned)(c - (const struct chain *)r->chains.at);
}

static int take_counter(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *data = attr(nlh, NFTA_OBJ_DATA);
	struct reader *r = arg;
	struct counter_object *c;

	if (be32_of(attr(nlh, NFTA_OBJ_TYPE)) != NFT_OBJECT_COUNTER)
		return MNL_CB_OK;
	c = add(&r->counters);
	if (!c)
		return MNL_CB_ERROR;
	c->id = name_of(nlh, attr(nlh, NFTA_OBJ_TABLE), attr(nlh, NFTA_OBJ_NAME));
	c->packets = be64_of(nl_nested(data, NFTA_COUNTER_PACKETS));
	c->bytes = be64_of(nl_nested(data, NFTA_COUNTER_BYTES));
	return MNL_CB_OK;
}

/* Rules */

/* Returns the verdict that ends the packet, otherwise NULL. Records jumps. */
static const char *read_verdict(struct reader *r, const struct name *chain,
				const struct nlattr *data)
{
	const struct nlattr *verdict = nl_nested(data, NFTA_DATA_VERDICT);
	const int code = (int)be32_of(nl_nested(verdict, NFTA_VERDICT_CODE));
	const struct chain *from = find_chain(r, chain), *to;
	struct name target = *chain;

	if (!verdict)
		return NULL;
	if (code >= 0)
		return (code & NF_VERDICT_MASK) == NF_DROP    ? "drop"
		       : (code & NF_VERDICT_MASK) == NF_QUEUE ? "queue"
							      : NULL;
	nl_text(nl_nested(verdict, NFTA_VERDICT_CHAIN), target.name, sizeof(target.name));
	to = code == NFT_JUMP || code == NFT_GOTO ? find_chain(r, &target) : NULL;
	if (from && to)
		*(struct jump *)list_add(&r->jumps) =
			(struct jump){number_of(r, from), number_of(r, to)};
	return NULL;
}

/* Returns the verdict of an x_tables target, or NULL. */
static const char *read_target(const struct nlattr *data)
{
	static const char *const ends[][2] = {
		{"DROP", "drop"}, {"REJECT", "reject"}, {"NFQUEUE", "queue"}};
	char name[32];

	nl_text(nl_nested(data, NFTA_TARGET_NAME), name, sizeof(name));
	for (unsigned i = 0; i < LENGTH(ends); i++) {
		if (!strcmp(name, ends[i][0]))
			return ends[i][1];
	}
	return NULL;
}

static void set_counter(struct nft_rule *rule, uint64_t packets, uint64_t bytes)
{
	rule->kind = NFT_RULE_MOVED;
	rule->exact = true;
	rule->packets = packets;
	rule->bytes = bytes;
}

static void read_object(const struct reader *r, struct nft_rule *rule, const struct name *chain,
			const struct nlattr *data)
{
	const struct counter_object *c = r->counters.at;
	struct name id = *chain;

	nl_text(nl_nested(data, NFTA_OBJREF_IMM_NAME), id.name, sizeof(id.name));
	for (unsigned i = 0; i < r->counters.n; i++, c++) {
		if (be32_of(nl_nested(data, NFTA_OBJREF_IMM_TYPE)) == NFT_OBJECT_COUNTER &&
		    !compare_names(&c->id, &id))
			set_counter(rule, c->packets, c->bytes);
	}
}

static enum loaded loaded_by(const char *name, const struct nlattr *data)
{
	const uint32_t base = be32_of(nl_nested(data, NFTA_PAYLOAD_BASE));
	const uint32_t offset = be32_of(nl_nested(data, NFTA_PAYLOAD_OFFSET));
	const uint32_t len = be32_of(nl_nested(data, NFTA_PAYLOAD_LEN));

	if (!strcmp(name, "meta"))
		return be32_of(nl_nested(data, NFTA_META_KEY)) == NFT_META_L4PROTO
			       ? LOADED_PROTOCOL
			       : LOADED_OTHER;
	if (strcmp(name, "payload"))
		return LOADED_OTHER;
	if (base == NFT_PAYLOAD_TRANSPORT_HEADER && offset == 2 && len == 2)
		return LOADED_DPORT;
	return base == NFT_PAYLOAD_NETWORK_HEADER && (offset == 9 || offset == 6) && len == 1
		       ? LOADED_PROTOCOL
		       : LOADED_OTHER;
}

/* Reads matches such as "tcp dport 53". Sets and ranges count as any port. */
static void read_match(struct nft_rule *rule, enum loaded what, bool *tcp,
		       const struct nlattr *data)
{
	const struct nlattr *value =
		nl_nested(nl_nested(data, NFTA_CMP_DATA), NFTA_DATA_VALUE);

	if (be32_of(nl_nested(data, NFTA_CMP_OP)) != NFT_CMP_EQ)
		return;
	if (what == LOADED_PROTOCOL)
		*tcp = nl_uint(value) == IPPROTO_TCP;
	else if (what == LOADED_DPORT)
		rule->dport = be16toh((uint16_t)nl_uint(value)) | (uint32_t)*tcp << 16;
}

/*
 * Returns true for expressions that let every packet pass. Only these may come between a counter
 * and the verdict.
 */
static bool passes_all(const char *name)
{
	static const char *const all[] = {"counter", "objref", "log",	  "immediate", "meta",
					  "payload", "bitwise", "byteorder", "reject",    "queue",
					  "target"};

	for (unsigned i = 0; i < LENGTH(all); i++) {
		if (!strcmp(name, all[i]))
			return true;
	}
	return false;
}

static void read_expressions(struct reader *r, struct nft_rule *rule, const struct name *chain,
			     const struct nlattr *list)
{
	enum loaded loaded = LOADED_OTHER;
	const struct nlattr *e;
	bool tcp = false;

	mnl_attr_for_each_nested(e, list)
	{
		const struct nlattr *data = nl_nested(e, NFTA_EXPR_DATA);
		char name[32];

		nl_text(nl_nested(e, NFTA_EXPR_NAME), name, sizeof(name));
		if (!strcmp(name, "counter"))
			set_counter(rule, be64_of(nl_nested(data, NFTA_COUNTER_PACKETS)),
				    be64_of(nl_nested(data, NFTA_COUNTER_BYTES)));
		else if (!strcmp(name, "objref"))
			read_object(r, rule, chain, data);
		else if (!strcmp(name, "cmp"))
			read_match(rule, loaded, &tcp, data);
		else if (!strcmp(name, "immediate"))
			rule->verdict =
				read_verdict(r, chain, nl_nested(data, NFTA_IMMEDIATE_DATA));
		else if (!strcmp(name, "reject"))
			rule->verdict = "reject";
		else if (!strcmp(name, "queue"))
			rule->verdict = "queue";
		else if (!strcmp(name, "target"))
			rule->verdict = read_target(data);
		else if (!strcmp(name, "lookup") && nl_nested(data, NFTA_LOOKUP_DREG) &&
			 be32_of(nl_nested(data, NFTA_LOOKUP_DREG)) == NFT_REG_VERDICT)
			rule->verdict = "drop"; /* may drop: a verdict map */
		rule->exact &= passes_all(name);
		loaded = loaded_by(name, data);
		if (rule->verdict)
			return;
	}
}

/*
 * Reads a comment in nft's format: attributes that consist of a type, a length and bytes. The
 * comment has type 0.
 */
static void read_comment(struct nft_rule *rule, const struct nlattr *userdata)
{
	const uint8_t *at = userdata ? mnl_attr_get_payload(userdata) : NULL;
	const uint8_t *end = at ? at + mnl_attr_get_payload_len(userdata) : NULL;

	for (; end - at > 2 && at[1] <= end - at - 2; at += 2 + at[1]) {
		if (!at[0])
			snprintf(rule->comment, sizeof(rule->comment), "%.*s", at[1], at + 2);
	}
}

/* Adds a row for a rule or policy that can end packets in a chain. */
static struct nft_rule *add_rule(struct reader *r, const struct chain *chain, enum nft_kind kind)
{
	static const char *const families[NFPROTO_NUMPROTO] = {
		[NFPROTO_INET] = "inet",     [NFPROTO_IPV4] = "ip",	[NFPROTO_ARP] = "arp",
		[NFPROTO_NETDEV] = "netdev", [NFPROTO_BRIDGE] = "bridge", [NFPROTO_IPV6] = "ip6"};
	const uint32_t family = chain->id.family;
	struct nft_rule *rule = add(r->rules);

	if (!rule)
		return NULL;
	*rule = (struct nft_rule){
		.kind = kind, .table_handle = table_of(r, chain), .hooks = number_of(r, chain)};
	snprintf(rule->family, sizeof(rule->family), "%s",
		 family < NFPROTO_NUMPROTO && families[family] ? families[family] : "");
	memcpy(rule->table, chain->id.table, sizeof(rule->table));
	memcpy(rule->chain, chain->id.name, sizeof(rule->chain));
	return rule;
}

static int take_rule(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *expressions = attr(nlh, NFTA_RULE_EXPRESSIONS);
	struct name id = name_of(nlh, attr(nlh, NFTA_RULE_TABLE), attr(nlh, NFTA_RULE_CHAIN));
	struct reader *r = arg;
	const struct chain *chain = find_chain(r, &id);
	struct nft_rule *rule;

	if (!chain || !expressions)
		return MNL_CB_OK;
	rule = add_rule(r, chain, NFT_RULE_BLIND);
	if (!rule)
		return MNL_CB_ERROR;
	rule->handle = be64_of(attr(nlh, NFTA_RULE_HANDLE));
	read_comment(rule, attr(nlh, NFTA_RULE_USERDATA));
	read_expressions(r, rule, &id, expressions);
	if (!rule->verdict)
		r->rules->n--;
	return MNL_CB_OK;
}

/*
 * Computes which hooks reach each chain and rule. A chain is reached from the hooks of the chains
 * that jump to it, and a rule from the hooks of its chain. Jumps in maps are not read, so a chain
 * without any other jump to it may be reached from any hook.
 */
static void spread_hooks(const struct reader *r)
{
	const struct jump *jumps = r->jumps.at;
	struct chain *chains = r->chains.at;
	struct nft_rule *rules = r->rules->at;
	bool changed = true;

	for (unsigned depth = 0; changed && depth <= JUMPS_DEEP; depth++) {
		changed = false;
		for (unsigned i = 0; i < r->jumps.n; i++) {
			const struct chain *from = &chains[jumps[i].from];
			struct chain *to = &chains[jumps[i].to];

			changed |= from->hooks & ~to->hooks;
			to->hooks |= from->hooks;
		}
	}
	for (unsigned i = 0; i < r->rules->n; i++) {
		const unsigned hooks = chains[rules[i].hooks].hooks;

		rules[i].hooks = hooks ? hooks : ~0U;
	}
}

static int read_all(struct reader *r, const struct netns *ns)
{
	static const struct {
		uint16_t message;
		mnl_cb_t take;
	} dumps[] = {{NFT_MSG_GETCHAIN, take_chain},
		     {NFT_MSG_GETTABLE, take_table},
		     {NFT_MSG_GETOBJ, take_counter},
		     {NFT_MSG_GETRULE, take_rule}};
	int ret = 0;

	for (unsigned i = 0; i < LENGTH(dumps) && !ret; i++) {
		char buf[NL_REQUEST_SIZE];

		ret = nl_query_bus(ns, NETLINK_NETFILTER,
				   request(buf, dumps[i].message, AF_UNSPEC), dumps[i].take, r);
		if (!i && r->chains.n)
			qsort(r->chains.at, r->chains.n, sizeof(struct chain), compare_names);
		if (!r->chains.n) /* the usual case */
			return ret;
	}
	for (unsigned i = 0; i < r->chains.n && !ret; i++) {
		const struct chain *c = (const struct chain *)r->chains.at + i;
		struct nft_rule *policy = c->drops ? add_rule(r, c, NFT_POLICY_BLIND) : NULL;

		if (policy)
			policy->verdict = "drop";
	}
	if (!ret)
		spread_hooks(r);
	return ret;
}

static int read_list(const struct netns *ns, struct list *rules, char problem[160])
{
	int ret = -EINTR;

	for (unsigned i = 0; i < TRIES && ret == -EINTR; i++) {
		struct reader r = {.tables.size = sizeof(struct table),
				   .chains.size = sizeof(struct chain),
				   .counters.size = sizeof(struct counter_object),
				   .jumps.size = sizeof(struct jump),
				   .rules = rules};

		list_free(rules);
		*rules = (struct list){.size = sizeof(struct nft_rule)};
		ret = read_all(&r, ns);
		list_free(&r.tables);
		list_free(&r.chains);
		list_free(&r.counters);
		list_free(&r.jumps);
	}
	problem[0] = '\0';
	if (!ret || ret == -EPROTONOSUPPORT) /* a kernel without netfilter or nftables */
		return 0;
	list_free(rules);
	snprintf(problem, 160, "cannot list the firewall rules: %s",
		 ret == -EINTR ? "they change constantly" : strerror(-ret));
	return ret;
}

/* Comparing */

static int compare_rules(const void *a, const void *b)
{
	const struct nft_rule *x = a, *y = b;
	int ret = strcmp(x->family, y->family);

	ret = ret ? ret : strcmp(x->table, y->table);
	ret = ret ? ret : strcmp(x->chain, y->chain);
	if (!ret && x->table_handle != y->table_handle)
		return x->table_handle < y->table_handle ? -1 : 1;
	return ret ? ret : x->handle < y->handle ? -1 : x->handle > y->handle;
}

/* Sorts rules that moved first, then by packets in descending order. */
static int by_packets(const void *a, const void *b)
{
	const struct nft_rule *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->packets < y->packets ? 1 : x->packets > y->packets ? -1 : 0;
}

/* Compares the lists. A rule that did not exist before counts from 0. */
static void compare(const struct place *p, enum netfilter_hook hook, struct nft_result *out)
{
	struct list rows = {.size = sizeof(struct nft_rule)};
	const unsigned n = p->late ? 0 : p->before.n;
	unsigned hooks = hook ? 1U << hook : ~0U;

	/* on Linux 6.1 the stage map cannot always tell them apart */
	if (hook == HOOK_PREROUTING)
		hooks |= 1U << HOOK_INGRESS;
	if (hook == HOOK_POSTROUTING)
		hooks |= 1U << HOOK_EGRESS;
	for (unsigned i = 0; i < p->after.n; i++) {
		struct nft_rule row = ((const struct nft_rule *)p->after.at)[i];
		const struct nft_rule *was =
			n ? bsearch(&row, p->before.at, n, sizeof(row), compare_rules) : NULL;

		row.packets = counter_moved(was ? was->packets : 0, row.packets);
		row.bytes = counter_moved(was ? was->bytes : 0, row.bytes);
		row.exact &= !p->late;
		if (row.hooks & hooks && (row.packets || row.kind != NFT_RULE_MOVED))
			*(struct nft_rule *)list_add(&rows) = row;
	}
	if (rows.n)
		qsort(rows.at, rows.n, rows.size, by_packets);
	out->n = rows.n < NFT_RULES ? rows.n : NFT_RULES;
	if (out->n)
		memcpy(out->rule, rows.at, out->n * rows.size);
	list_free(&rows);
}

/* Namespaces */

struct nftrules *nftrules_new(void)
{
	struct nftrules *n = mem_new(n);

	n->places.size = sizeof(struct place);
	return n;
}

static struct place *find(const struct nftrules *n, uint32_t inum)
{
	return list_find(&n->places, offsetof(struct place, inum), &inum, sizeof(inum));
}

static void free_lists(struct place *p)
{
	list_free(&p->before);
	list_free(&p->after);
}

bool nftrules_note(struct nftrules *n, uint32_t inum, const struct netns *ns, bool late)
{
	struct place *p = find(n, inum);
	const uint64_t cookie = netns_identity(ns);

	if (p && p->cookie == cookie)
		return false;
	if (p)
		free_lists(p);
	else
		p = list_add(&n->places);
	*p = (struct place){.inum = inum, .cookie = cookie, .late = late};
	p->failed = read_list(ns, &p->before, p->problem);
	p->before_at = clock_now();
	if (p->before.n)
		qsort(p->before.at, p->before.n, p->before.size, compare_rules);
	return true;
}

void nftrules_compare(struct nftrules *n, uint32_t inum, const struct netns *ns,
		      enum netfilter_hook hook, struct nft_result *out)
{
	struct place *p;

	memset(out, 0, sizeof(*out));
	nftrules_note(n, inum, ns, true);
	p = find(n, inum);
	if (!p->failed && (!p->after_at || clock_now() - p->after_at > FRESH_NS)) {
		read_list(ns, &p->after, p->problem);
		p->after_at = clock_now();
		p->legacy = netns_has_xtable(ns, "");
	}
	if (!p->failed)
		compare(p, hook, out);
	memcpy(out->problem, p->problem, sizeof(out->problem));
	out->legacy = p->legacy;
	out->late = p->late;
	out->window_ns = p->after_at - p->before_at;
}

void nftrules_close(struct nftrules *n)
{
	struct place *p = n ? n->places.at : NULL;

	if (!n)
		return;
	for (unsigned i = 0; i < n->places.n; i++)
		free_lists(&p[i]);
	list_free(&n->places);
	free(n);
}

void nft_rule_text(const struct nft_rule *r, char *buf, size_t size)
{
	char what[64] = "the policy", count[64] = "";

	if (r->kind != NFT_POLICY_BLIND)
		snprintf(what, sizeof(what), "rule with handle %llu",
			 (unsigned long long)r->handle);
	if (r->kind == NFT_RULE_MOVED)
		snprintf(count, sizeof(count), ": %s%s", r->exact ? "" : "at most ",
			 fmt_many(r->packets, "packet"));
	snprintf(buf, size, "%s of chain %s %s %s%s%s%s%s", what, r->family, r->table, r->chain,
		 *r->comment ? " (" : "", r->comment, *r->comment ? ")" : "", count);
}
