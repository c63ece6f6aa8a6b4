// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/xdprows.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nic.h"
#include "monitor/describe.h"
#include "monitor/resolve.h"
#include "drops/xdplosses.h"

struct xdprows {
	struct live_spec spec;
	struct xdplosses *losses;
	struct live_source source;
	enum xdploss_books books;
	uint32_t netns; /* filter; 0: all */
	struct xdploss now[XDPLOSS_KEYS];
	int n;
	uint64_t told[XDPLOSS_KEYS]; /* packets already given away; keys keep their order */
	struct xdploss_key key[XDPLOSS_KEYS];
	int keys;
	uint64_t uncounted;
};

static bool is_packet_filter(const struct live_spec *spec)
{
	return spec->expr || spec->pid || spec->cgroup || spec->reasons;
}

/* The place of a key in `told`: it is looked for, since the map has no order. */
static int place_of(struct xdprows *x, const struct xdploss_key *key)
{
	for (int i = 0; i < x->keys; i++) {
		if (!memcmp(&x->key[i], key, sizeof(*key)))
			return i;
	}
	if (x->keys == XDPLOSS_KEYS)
		return -1;
	x->key[x->keys] = *key;
	return x->keys++;
}

static int start(void *arg, struct error *err)
{
	return xdplosses_attach(((struct xdprows *)arg)->losses, err);
}

/*
 * A failed redirect in generic mode is told here, with errno and map, and so left out there, where
 * its reason XDP says nothing more.
 */
static bool claims(void *arg, const struct watch_entry *e, const struct live_row *row)
{
	const struct xdprows *x = arg;

	(void)e;
	return x->books == XDPLOSS_INSTEAD_OF_KFREE && !strcmp(row->text[LIVE_REASON], "XDP") &&
	       !strcmp(row->text[LIVE_LOCATION], "do_xdp_generic");
}

struct texts {
	char location[128], ifname[XDPLOSS_IFNAME], netns[OWNER_NETNS], program[40], map[40];
};

/* "xdp_redirect_err program filter[12] map xsks[3]" */
static void put_location(const struct xdploss_key *key, struct texts *t)
{
	xdplosses_program(key->prog_id, t->program, sizeof(t->program));
	xdplosses_map(key->map_id, t->map, sizeof(t->map));
	snprintf(t->location, sizeof(t->location), "%s%s%s%s%s", xdplosses_location(key),
		 *t->program ? " program " : "", t->program, *t->map ? " map " : "", t->map);
}

static bool is_wanted(const struct xdprows *x, const struct xdploss_key *key, const char *ifname)
{
	if (x->netns && key->netns != x->netns)
		return false;
	return !x->spec.ifname || !strcmp(ifname, x->spec.ifname);
}

static void add_row(struct xdprows *x, struct live *l, const struct xdploss *loss, uint64_t packets)
{
	const struct xdploss_key *key = &loss->key;
	struct verdict v = xdplosses_judge(key, x->books);
	struct texts t;
	struct live_row row = {
		.stage = v.stage,
		/* of a filter on packets, an event without one can only say "perhaps" */
		.noise = x->spec.expr ? NOISE_SUSPECT : NOISE_LOSS,
		.note = v.note,
		.counts = {.events = packets, .packets = packets},
	};

	xdplosses_device(x->losses, key->netns, key->ifindex, t.ifname);
	if (v.class != VERDICT_LOSS || !is_wanted(x, key, t.ifname))
		return;
	put_location(key, &t);
	live_row_begin(&row, "event", key->ifindex ? "interface" : "host");
	row.text[LIVE_DIRECTION] = direction_name(v.direction);
	row.text[LIVE_REASON] = xdplosses_reason(key);
	row.text[LIVE_LOCATION] = t.location;
	row.text[LIVE_IFNAME] = t.ifname;
	row.text[LIVE_NETNS] = describe_netns(x->spec.owners, key->netns, t.netns);
	live_add(l, &row);
}

/* Losses whose key found no room are told as what they are: unknown. */
static void add_uncounted(struct xdprows *x, struct live *l)
{
	struct xdploss rest = {.key = {.kind = XDPLOSS_REDIRECT}};
	struct xdplosses_own own;

	xdplosses_own(x->losses, &own);
	if (own.uncounted > x->uncounted)
		add_row(x, l, &rest, own.uncounted - x->uncounted);
	x->uncounted = own.uncounted;
}

static void collect(void *arg, struct live *l)
{
	struct xdprows *x = arg;
	int n = xdplosses_read(x->losses, x->now, XDPLOSS_KEYS);

	if (n < 0)
		return; /* the next time tells all */
	x->n = n;
	for (int i = 0; i < n; i++) {
		uint64_t packets = x->now[i].count.packets;
		int at = place_of(x, &x->now[i].key);

		if (at < 0 || packets <= x->told[at])
			continue;
		add_row(x, l, &x->now[i], packets - x->told[at]);
		x->told[at] = packets;
	}
	add_uncounted(x, l);
}

int xdprows_open(struct xdprows **out, const struct live_spec *spec, const struct live *l,
		 struct error *err)
{
	struct xdprows *x = calloc(1, sizeof(*x));
	struct netns ns = NETNS_NONE;
	int rc = 0;

	if (!x)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	x->spec = *spec;
	x->books = is_packet_filter(spec) ? XDPLOSS_BESIDE_KFREE : XDPLOSS_INSTEAD_OF_KFREE;
	if (spec->netns || spec->ifname) {
		rc = resolve_netns(spec, &ns, err);
		x->netns = ns.inum;
		netns_close(&ns);
	}
	if (!rc)
		rc = xdplosses_open(&x->losses, live_reasons(l), live_ksyms(l), err);
	if (rc) {
		free(x);
		return rc;
	}
	x->source = (struct live_source){
		.start = start, .claims = claims, .collect = collect, .arg = x};
	*out = x;
	return 0;
}

void xdprows_close(struct xdprows *x)
{
	if (!x)
		return;
	xdplosses_close(x->losses);
	free(x);
}

const struct live_source *xdprows_source(struct xdprows *x)
{
	return &x->source;
}

static bool tells(const struct xdploss_key *key, unsigned events)
{
	switch (key->kind) {
	case XDPLOSS_REDIRECT:
		return events & NIC_EV_REDIRECT;
	case XDPLOSS_EXCEPTION:
		return events & (key->act == XDP_TX ? NIC_EV_EXCEPTION_TX : NIC_EV_EXCEPTION);
	default:
		return false;
	}
}

/* Native mode only: generic mode has no counters of the driver. */
uint64_t xdprows_told(const struct xdprows *x, uint32_t netns, uint32_t ifindex, unsigned events)
{
	uint64_t sum = 0;

	for (int i = 0; i < x->n; i++) {
		const struct xdploss_key *key = &x->now[i].key;

		if (key->netns == netns && key->ifindex == ifindex && !key->flags &&
		    tells(key, events))
			sum += x->now[i].count.packets;
	}
	return sum;
}

uint64_t xdprows_told_xsk(const struct xdprows *x, uint32_t netns, uint32_t ifindex)
{
	uint64_t sum = 0;

	for (int i = 0; i < x->n; i++) {
		const struct xdploss_key *key = &x->now[i].key;

		if (key->netns == netns && key->ifindex == ifindex &&
		    key->kind == XDPLOSS_REDIRECT && key->map_type == BPF_MAP_TYPE_XSKMAP)
			sum += x->now[i].count.packets;
	}
	return sum;
}

const char *xdprows_gaps(const struct xdprows *x)
{
	return xdplosses_missing(x->losses);
}
