// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Handles all faults in path order: parses them, derives what the experiment needs so that slow and
 * fast hosts lose packets at the intended place, and runs the faults' steps during a run.
 *
 * Two rules recur in plans. A queue in the kernel overflows only if more packets can be in flight
 * than it holds, and SO_SNDBUF limits the packets in flight (veth keeps skb->sk). And if a queue is
 * meant to overflow, the run needs more packets than the queue holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/if_ether.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "drops/stagemap.h"
#include "experiment/faults/row.h"

#define ITEM_LEN       64
#define SHARE_DEFAULT  0.2
#define SKB_OVERHEAD   (320 + 64 + 14) /* skb_shared_info, headroom, link-layer header */
#define SKB_STRUCT     256	       /* sizeof(struct sk_buff), rounded up */
#define SKB_SMALL_HEAD 640	       /* SKB_SMALL_HEAD_CACHE_SIZE */
#define RCVBUF_ROOMY   (32 << 20)      /* bytes, enough for a reader to keep up */
#define LAB_PAYLOAD    128	       /* bytes, datagram size for which a test network's queues
					* are sized */
#define LAB_HEADERS    48	       /* bytes, size of the largest headers, IPv6 and UDP */

struct opt_value fault_values[FAULT_MAX + 1];

static const struct fault_row *rows[FAULT_MAX]; /* in path order */
static unsigned n_rows;

/* Exceptions to the rules of row.h. */
static const struct {
	const char *a, *b, *why;
} exceptions[] = {
	{"l2:address", "netfilter:forward", "the router accepts no frame"},
	{"l2:silent", "tc_egress:stolen", "a packet that is kept would be seen"},
	{"socket_filter", "socket_read:csum", "a socket filter verifies checksums early"},
};

static enum stage stage_of(const char *name)
{
	size_t len = strcspn(name, ":");

	for (int s = 0; s < STAGE_COUNT; s++) {
		if (strlen(stage_name(s)) == len && !strncmp(stage_name(s), name, len))
			return s;
	}
	return STAGE_OTHER;
}

/*
 * Lists faults by stage, and in row order within a stage. Runs before main(), because options refer
 * to the list.
 */
static __attribute__((constructor)) void list_faults(void)
{
	static const struct fault_row *const mechanisms[] = {
		faults_by_program, faults_by_nft, faults_by_qdisc,
		faults_by_link,	   faults_by_ip,  faults_by_socket,
	};

	for (int s = 0; s < STAGE_COUNT; s++) {
		for (unsigned m = 0; m < LENGTH(mechanisms); m++) {
			for (const struct fault_row *r = mechanisms[m]; r->name; r++) {
				if ((int)stage_of(r->name) != s || n_rows == FAULT_MAX)
					continue;
				fault_values[n_rows] =
					(struct opt_value){r->name, (int)n_rows, r->title};
				rows[n_rows++] = r;
			}
		}
	}
}

unsigned fault_count(void)
{
	return n_rows;
}

const struct fault_row *fault_row(unsigned fault)
{
	return rows[fault];
}

enum stage fault_stage(unsigned fault)
{
	return stage_of(rows[fault]->name);
}

/* Returns the listed faults that have any of the properties. */
static uint64_t fault_with(const struct fault_list *list, unsigned properties)
{
	uint64_t set = 0;

	for (unsigned i = 0; i < n_rows; i++) {
		if (fault_has(list, i) && fault_is(i, properties))
			set |= FAULT_BIT(i);
	}
	return set;
}

static const char *first_name(uint64_t set)
{
	return rows[__builtin_ctzll(set)]->name;
}

static int unknown_name(const char *name, struct error *err)
{
	const char *names[FAULT_MAX], *near;
	char hint[96] = "use the value help to list all faults";

	for (unsigned i = 0; i < n_rows; i++)
		names[i] = rows[i]->name;
	/* A stage without a fault is not a typo. */
	for (int s = 0; s < STAGE_COUNT; s++) {
		unsigned i = 0;

		while (i < n_rows && (int)fault_stage(i) != s)
			i++;
		if (!strcmp(name, stage_name(s)) && i == n_rows)
			return error_set(err, STATUS_UNABLE, -EOPNOTSUPP,
					 "pktledger-stages(7) describes every stage",
					 "nothing to inject at the stage %s: %s", name,
					 stage_facts[s].limit ? stage_facts[s].limit
							      : stage_facts[s].mechanism);
	}
	near = opt_nearest(name, names, n_rows);
	if (near)
		snprintf(hint, sizeof(hint), "did you mean %s?", near);
	return error_usage(err, hint, "there is no fault %s", name);
}

static int set_value(struct fault_list *list, unsigned fault, const char *value, struct error *err)
{
	struct rate rate;

	switch (rows[fault]->value) {
	case FAULT_VALUE_SHARE:
		list->share[fault] = SHARE_DEFAULT;
		if (!value)
			return 0;
		if (num_rate(value, &rate) || rate.unit != RATE_PERCENT)
			return error_usage(
				err, "give a percentage above 0% and up to 100%, for example 20%",
				"%s: the value is not a percentage", rows[fault]->name);
		list->share[fault] = rate.value / 100;
		return 0;
	case FAULT_VALUE_RATE:
		list->rate = (struct rate){.unit = RATE_MAX};
		if (value && (num_rate(value, &list->rate) || list->rate.unit == RATE_MAX ||
			      list->rate.unit == RATE_PERCENT))
			return error_usage(
				err, "give bits or packets a second, as in 50Mbit or 20k",
				"%s: the value is not a rate", rows[fault]->name);
		return 0;
	case FAULT_VALUE_NONE:
		break;
	}
	return value ? error_usage(err, NULL, "%s: takes no value", rows[fault]->name) : 0;
}

static int add(struct fault_list *list, char *item, struct error *err)
{
	char *value = strchr(item, '=');
	unsigned i = 0;

	if (value)
		*value++ = '\0';
	while (i < n_rows && strcmp(item, rows[i]->name))
		i++;
	if (i == n_rows)
		return unknown_name(item, err);
	if (fault_has(list, i))
		return error_usage(err, NULL, "%s: given twice", item);
	list->set |= FAULT_BIT(i);
	return set_value(list, i, value, err);
}

/* Returns the reason why `a` excludes `b`, or NULL. */
static const char *excludes(const struct fault_row *a, const struct fault_row *b, char why[96])
{
	for (unsigned i = 0; i < LENGTH(exceptions); i++) {
		if (!strcmp(a->name, exceptions[i].a) && !strcmp(b->name, exceptions[i].b))
			return exceptions[i].why;
	}
	if (a->slot && !strcmp(a->slot, SLOT_BACKLOG) && b->is & NO_BACKLOG)
		return "if NAPI is on, the veth does not use the backlog";
	if (a->is & ALL_LOST && b->at >= a->at)
		snprintf(why, 96, "no packet passes %s", a->name);
	else if (a->in && b->in && !(a->in & b->in))
		snprintf(why, 96, "they need different topologies");
	else if (a->slot && b->slot && !strcmp(a->slot, b->slot))
		snprintf(why, 96, "both need %s", a->slot);
	else
		return NULL;
	return why;
}

static int check_conflicts(const struct fault_list *list, struct error *err)
{
	char buf[96];

	for (unsigned i = 0; i < n_rows * n_rows; i++) {
		unsigned a = i / n_rows, b = i % n_rows;
		const char *why = a != b && fault_has(list, a) && fault_has(list, b)
					  ? excludes(rows[a], rows[b], buf)
					  : NULL;

		if (why)
			return error_usage(err, "inject them one by one",
					   "%s and %s contradict each other: %s", rows[a]->name,
					   rows[b]->name, why);
	}
	return 0;
}

int fault_parse(const char *text, bool each, struct fault_list *list, struct error *err)
{
	struct fault_list copy = *list;
	char item[ITEM_LEN];
	size_t len;
	int ret = 0;

	for (bool more = true; more && !ret; text += len + 1) {
		len = strcspn(text, ",");
		more = text[len];
		if (!len)
			return error_usage(err, NULL, "an empty name in the list of faults");
		if (len >= sizeof(item))
			return error_usage(err, "use the value help to list all faults",
					   "no fault has such a long name");
		memcpy(item, text, len);
		item[len] = '\0';
		ret = add(&copy, item, err);
	}
	if (!ret && !each)
		ret = check_conflicts(&copy, err);
	if (!ret)
		*list = copy;
	return ret;
}

static void measure(struct fault_plan *p)
{
	const struct run_spec *spec = p->spec;
	unsigned ip = spec->ipv6 ? 40 : 20;
	unsigned mtu = spec->wish.mtu ? spec->wish.mtu : 1500;
	unsigned udp = 8 + spec->payload, frame, fragment;
	unsigned need, alloc;

	p->frames = 1;
	if (ip + udp > mtu) {
		if (spec->ipv6)
			ip += 8; /* size of a fragment header */
		fragment = (mtu - ip) & ~7U;
		p->frames = (udp + fragment - 1) / fragment;
	}
	p->bytes = udp + (uint64_t)p->frames * (ETH_HLEN + ip);
	frame = p->frames > 1 ? mtu : ip + udp;
	need = frame + SKB_OVERHEAD;
	alloc = SKB_SMALL_HEAD;
	if (need > alloc) {
		for (alloc = 1024; alloc < need; alloc *= 2)
			; /* kmalloc_reserve() */
	}
	p->truesize = p->frames * (alloc + SKB_STRUCT);
	p->segments = spec->tuning.send.gso
			      ? socket_segments(spec->ipv6 ? AF_INET6 : AF_INET, spec->payload)
			      : 1;
	p->threads = spec->threads ? spec->threads : 1;
	p->passing = 1;
	for (unsigned i = 0; i < n_rows; i++)
		p->passing *= 1 - spec->faults.share[i];
}

int fault_plan_ask(uint64_t bytes)
{
	return bytes < INT_MAX / 2 ? bytes : INT_MAX / 2; /* the kernel doubles it */
}

void fault_plan_flight(struct fault_plan *p, uint64_t frames)
{
	int bytes = fault_plan_ask(frames * (p->truesize / p->frames) * p->segments);

	if (bytes > p->fx->sndbuf)
		p->fx->sndbuf = bytes;
}

int fault_plan_refuse(struct fault_plan *p, int code, const char *hint, const char *fmt, ...)
{
	char why[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return error_set(p->err, code == -EOPNOTSUPP ? STATUS_UNABLE : STATUS_USAGE, code, hint,
			 "--fault %s%s", rows[p->fault]->name, why);
}

int fault_plan_count(struct fault_plan *p, uint64_t frames, const char *what)
{
	uint64_t queue = frames / p->frames * p->segments + 1;
	char hint[96];

	if (p->spec->count / 2 >= queue)
		return 0;
	snprintf(hint, sizeof(hint), "use --count %" PRIu64 " or more", 2 * queue);
	return fault_plan_refuse(p, -EINVAL, hint, ": %" PRIu64 " packets fit in %s", queue, what);
}

/* Returns the first topology that allows all faults, given that no two exclude each other. */
static enum lab_topology needed_topology(const struct fault_list *list)
{
	unsigned in = ~0U;

	for (unsigned i = 0; i < n_rows; i++)
		in &= fault_has(list, i) && rows[i]->in ? rows[i]->in : ~0U;
	return (enum lab_topology)__builtin_ctz(in);
}

/* Checks that packets pass through the place of the loss. */
static int plan_topology(struct fault_plan *p)
{
	const struct run_spec *spec = p->spec;
	const bool fixed = spec->topology_set || spec->lab || spec->port_a;
	enum lab_topology needed = needed_topology(&spec->faults);

	p->fx->topology = fixed ? spec->topology : needed;
	for (p->fault = 0; p->fault < n_rows; p->fault++) {
		unsigned in = rows[p->fault]->in;

		if (fault_has(&spec->faults, p->fault) && in && !(in >> p->fx->topology & 1))
			return fault_plan_refuse(p, -EINVAL, "remove --lab and --topology",
						 " needs the topology %s, not %s",
						 lab_topologies[needed].name,
						 lab_topologies[p->fx->topology].name);
	}
	return 0;
}

static int check_row(struct fault_plan *p)
{
	const struct fault_row *row = rows[p->fault];
	const char *tx = p->spec->tx->name, *rx = p->spec->rx->name;

	if (row->tx && strcmp(row->tx, tx))
		return fault_plan_refuse(p, -EINVAL, NULL, " needs --tx %s, not %s", row->tx, tx);
	if (row->not_tx && !strcmp(row->not_tx, tx))
		return fault_plan_refuse(p, -EINVAL, "use --tx socket or --tx xsk",
					 " cannot be seen with --tx %s", tx);
	if (row->rx && strcmp(row->rx, rx))
		return fault_plan_refuse(p, -EINVAL, NULL, " needs --rx %s, not %s", row->rx, rx);
	if (row->family && row->family != (p->spec->ipv6 ? AF_INET6 : AF_INET))
		return fault_plan_refuse(p, -EINVAL,
					 p->spec->ipv6 ? "leave --ipv6 out" : "use --ipv6",
					 ": IPv%c has no such loss", p->spec->ipv6 ? '6' : '4');
	p->fx->xdp |= (row->programs & PROGRAM(XDP)) != 0;
	p->fx->socket_filter |= (row->programs & PROGRAM(FILTER)) != 0;
	return 0;
}

/* Adds a row's requirements. If several rows set a value, the largest wins. */
static void merge(struct fault_effects *fx, const struct fault_effects *row)
{
	fx->no_receiver |= row->no_receiver;
	fx->reader = larger(fx->reader, row->reader);
	fx->xsk_frames = larger(fx->xsk_frames, row->xsk_frames);
	fx->ttl = larger(fx->ttl, row->ttl);
	fx->other_vni |= row->other_vni;
	fx->consumed |= row->consumed;
	fx->xdp_generic |= row->xdp_generic;
	fx->qdisc_replaced |= row->qdisc_replaced;
	fx->settle_ns += row->settle_ns;
	fx->tx_csum_off |= row->tx_csum_off;
	fx->threaded_napi |= row->threaded_napi;
	fx->tbf_bps = larger(fx->tbf_bps, row->tbf_bps);
}

int fault_plan(const struct run_spec *spec, struct fault_effects *fx, struct error *err)
{
	const struct fault_list *list = &spec->faults;
	struct fault_plan p = {.spec = spec, .fx = fx, .err = err};
	int ret;

	*fx = (struct fault_effects){.port = (uint16_t)spec->port, .tx_cpu = -1, .busy_cpu = -1};
	ret = plan_topology(&p);
	if (ret || !list->set)
		return ret;
	measure(&p);
	if (spec->rx->socket)
		fx->rcvbuf = RCVBUF_ROOMY;
	for (p.fault = 0; p.fault < n_rows && !ret; p.fault++)
		ret = fault_has(list, p.fault) ? check_row(&p) : 0;
	for (p.fault = 0; p.fault < n_rows && !ret; p.fault++) {
		const struct fault_row *row = rows[p.fault];

		if (!fault_has(list, p.fault))
			continue;
		merge(fx, &row->fx);
		if (row->flight)
			fault_plan_flight(&p, row->flight);
		if (row->plan)
			ret = row->plan(&p);
		if (!ret && row->holds)
			ret = fault_plan_count(&p, row->holds, row->where);
	}
	return ret;
}

/*
 * Runs a step, given by its offset in the row, for each listed fault. Every fault is ended, even
 * after an error.
 */
static int act(struct fault_state *s, size_t at, struct error *err)
{
	const bool all = at == offsetof(struct fault_row, end);
	int ret = 0, one;

	for (s->fault = 0; s->fault < n_rows && (!ret || all); s->fault++) {
		int (*const *step)(struct fault_state *, struct error *) =
			(const void *)((const char *)rows[s->fault] + at);

		one = fault_has(s->list, s->fault) && *step ? (*step)(s, err) : 0;
		ret = ret ? ret : one;
	}
	return ret;
}

#define ACT(s, step, err) act(s, offsetof(struct fault_row, step), err)

/* Replaces each {WORD} in the text. */
static void fill(const struct fault_state *s, const char *text, char *out, size_t size)
{
	const struct lab *lab = s->lab;
	const struct lab_text tx = lab_text(&lab->tx), rx = lab_text(&lab->rx);
	struct lab_port next = *lab_next_hop(lab);
	const struct lab_text hop = lab_text(&next);
	char port[8], dport[16] = "", udp[24] = "meta l4proto udp", mark[16], random[48] = "";
	struct lab_text nobody;
	const struct {
		const char *word, *value;
	} words[] = {
		{"{tx}", lab->tx.ifname},	{"{rx}", lab->rx.ifname},
		{"{in}", lab->router_tx.ifname}, {"{out}", lab->router_rx.ifname},
		{"{tx4}", tx.ip4},		{"{rx4}", rx.ip4},
		{"{rx6}", rx.ip6},		{"{hop4}", hop.ip4},
		{"{hop6}", hop.ip6},		{"{nobody}", nobody.mac},
		{"{port}", port},		{"{dport}", dport},
		{"{mark}", mark},		{"{udp}", udp},
		{"{random}", random},
	};
	size_t n = 0;

	next.mac[5] ^= 0x80;
	nobody = lab_text(&next);
	snprintf(port, sizeof(port), "%u", s->fx->port);
	snprintf(mark, sizeof(mark), "%#x", FAULT_MARK_POLICY);
	if (s->fx->port) {
		snprintf(dport, sizeof(dport), " dport %u", s->fx->port);
		snprintf(udp, sizeof(udp), "udp%s", dport);
	}
	if (s->list->share[s->fault] < 1)
		snprintf(random, sizeof(random), "numgen random mod 1000000 < %u ",
			 (unsigned)(s->list->share[s->fault] * 1000000 + 0.5));
	while (*text && n + 1 < size) {
		unsigned i = 0;

		while (i < LENGTH(words) && strncmp(text, words[i].word, strlen(words[i].word)))
			i++;
		n += i < LENGTH(words)
			     ? (size_t)snprintf(out + n, size - n, "%s", words[i].value)
			     : (size_t)snprintf(out + n, size - n, "%c", *text);
		text += i < LENGTH(words) ? strlen(words[i].word) : 1;
	}
}

/*
 * Adds a row's step, "NS TOOL TEXT". NS is tx, rx or mid (the middle), followed by 6 for steps that
 * apply only if the kernel has IPv6. TOOL is ip, bridge, ethtool, nft or file. TEXT may contain the
 * words that fill() replaces.
 */
static void add_step(struct fault_state *s, const char *step)
{
	const struct lab *lab = s->lab;
	char text[2 * sizeof(((struct recipe_step *)0)->text)], where[8], tool[8];
	int at = 0;

	sscanf(step, "%7s %7s %n", where, tool, &at);
	if (strchr(where, '6') && IN6_IS_ADDR_UNSPECIFIED(&lab->rx.ip6))
		return;
	fill(s, step + at, text, sizeof(text));
	recipe_add(&s->recipe,
		   *tool == 'i'	  ? RECIPE_IP
		   : *tool == 'b' ? RECIPE_BRIDGE
		   : *tool == 'e' ? RECIPE_ETHTOOL
		   : *tool == 'n' ? RECIPE_NFT
				  : RECIPE_FILE,
		   *where == 't'   ? &lab->tx_ns
		   : *where == 'r' ? &lab->rx_ns
				   : &lab->router_ns,
		   "%s", text);
}

/* Adds steps for all faults to the recipe. */
static int add_steps(struct fault_state *s, struct error *err)
{
	int ret = fault_apply_devices(s, err);

	for (s->fault = 0; s->fault < n_rows && !ret; s->fault++) {
		const struct fault_row *row = rows[s->fault];

		if (!fault_has(s->list, s->fault))
			continue;
		for (unsigned i = 0; i < FAULT_STEPS && row->steps[i]; i++)
			add_step(s, row->steps[i]);
		if (row->apply)
			row->apply(s);
	}
	return ret;
}

int fault_apply(const struct fault_list *list, const struct fault_effects *fx, struct lab *lab,
		const struct tracer *tracer, struct fault_state **state, struct error *err)
{
	struct fault_state *s = mem_new(s);
	int ret;

	*state = NULL;
	*s = (struct fault_state){.list = list,
				  .fx = fx,
				  .lab = lab,
				  .recipe = RECIPE,
				  .xdp_link = -1,
				  .cgroup_link = -1};
	ret = add_steps(s, err);
	if (!ret)
		ret = recipe_run(&s->recipe, "apply the faults", err);
	if (!ret)
		ret = fault_programs_open(s, tracer, err);
	if (ret)
		fault_close(s);
	else
		*state = s;
	return ret;
}

int fault_check_named(const struct fault_list *list, const char *lab, struct error *err)
{
	uint64_t staying = list->set & ~fault_with(list, GOES);

	if (!staying)
		return 0;
	return error_usage(err, "leave --lab out; or make a lab that has it: lab up --fault",
			   "--fault %s would stay in the lab '%s'", first_name(staying), lab);
}

int fault_lab_topology(const struct fault_list *list, bool any, enum lab_topology *topology,
		       struct error *err)
{
	uint64_t others = any ? 0 : fault_with(list, OF_PROGRAM);

	if (others)
		return error_usage(err, "use run --fault",
				   "a lab cannot have --fault %s, which acts on the sending or "
				   "receiving program",
				   first_name(others));
	if (needed_topology(list) != LAB_PAIR)
		*topology = needed_topology(list);
	return 0;
}

/*
 * Plans for unknown senders, assuming only ordinary sockets and possibly small datagrams. A queue
 * must therefore be short enough to overflow within the senders' SO_SNDBUF.
 */
static int plan_lab(const struct fault_list *list, const struct lab *lab, struct fault_effects *fx,
		    struct error *err)
{
	struct run_spec spec = {
		.tx = &tx_socket,
		.rx = &rx_socket,
		.topology = lab->topology,
		.topology_set = true,
		.faults = *list,
		.payload = LAB_PAYLOAD,
		.wish.mtu = lab->rx.mtu,
		.threads = 1,
		.count = UINT64_MAX,
	};

	/* If a row requires a length, that length is for MTUs of 1500. */
	for (unsigned i = 0; i < n_rows; i++) {
		if (fault_has(list, i) && rows[i]->payload)
			spec.payload = rows[i]->payload > 1500 ? 2 * lab->rx.mtu
							       : lab->tx.mtu - LAB_HEADERS;
	}
	return fault_plan(&spec, fx, err);
}

int fault_lab_apply(const struct fault_list *list, struct lab *lab, struct error *err)
{
	struct fault_state *state;
	struct fault_effects fx;
	int ret = plan_lab(list, lab, &fx, err);

	if (ret)
		return ret;
	ret = fault_apply(list, &fx, lab, NULL, &state, err);
	if (!ret && fx.xdp)
		ret = fault_attach_xdp(state, true, err);
	fault_close(state);
	return ret;
}

/*
 * Adds a note instead of commands for our BPF programs and for faults in the ends themselves,
 * because no command has the same effect.
 */
int fault_lab_recipe(const struct fault_list *list, struct lab *lab, struct recipe *r,
		     struct error *err)
{
	struct fault_effects fx;
	struct fault_state s = {.list = list, .fx = &fx, .lab = lab, .recipe = *r};
	int ret = plan_lab(list, lab, &fx, err);

	if (!ret)
		ret = add_steps(&s, err);
	for (unsigned i = 0; i < n_rows; i++) {
		bool ours = rows[i]->programs || (!rows[i]->apply && !*rows[i]->steps);

		if (fault_has(list, i) && ours)
			recipe_add(&s.recipe, RECIPE_NOTE, NULL, "%s: pktledger itself: %s",
				   rows[i]->name, rows[i]->title);
	}
	*r = s.recipe;
	return ret;
}

int fault_begin(struct fault_state *state, struct error *err)
{
	state->midway_due = state->fx->midway != 0;
	return ACT(state, begin, err);
}

/* Runs once, at the end if not earlier. */
static int midway(struct fault_state *state, struct error *err)
{
	bool due = state->midway_due;

	state->midway_due = false;
	return due ? ACT(state, midway, err) : 0;
}

int fault_watch(struct fault_state *state, uint64_t sent, struct error *err)
{
	return state && sent >= state->fx->midway ? midway(state, err) : 0;
}

int fault_end(struct fault_state *state, struct error *err)
{
	int ret = state ? ACT(state, end, err) : 0;

	return ret || !state ? ret : midway(state, err);
}

void fault_close(struct fault_state *state)
{
	if (!state)
		return;
	fault_end(state, NULL);
	journal_restore(state->flow_limit, NULL);
	fault_programs_close(state);
	list_free(&state->recipe.steps);
	free(state);
}
