// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/verdictrows.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/links.h"
#include "host/netdev_ethtool.h"
#include "host/nic.h"
#include "monitor/describe.h"
#include "monitor/resolve.h"
#include "drops/xdplosses.h"

#define PROGRAMS_MAX 16

/* A device with its program. */
struct watched {
	struct xdpverdicts *verdicts;
	uint32_t ifindex, prog_id;
	char ifname[16];
	uint64_t told; /* packets dropped that are told, or were before the start */
};

struct verdictrows {
	struct live_spec spec;
	struct live_source source;
	struct watched at[PROGRAMS_MAX];
	unsigned n;
	uint32_t netns;
	char gaps[400];
};

/* Whether the table of counters has one for what a program drops. */
static bool driver_counts(const char *driver)
{
	const struct nic_driver *d = nic_driver_find(driver);

	for (const struct nic_row *r = d ? d->rows : NULL; r && r->counter; r++) {
		if (r->stage == STAGE_XDP && r->cause == NIC_XDP)
			return true;
	}
	return false;
}

static void add(struct verdictrows *v, const struct netns *ns, const struct link_info *link)
{
	struct netdev dev = {.ifindex = link->ifindex};
	struct error err = {.status = STATUS_OK};
	struct watched *w = &v->at[v->n];

	memcpy(dev.ifname, link->ifname, sizeof(dev.ifname));
	if (v->n == PROGRAMS_MAX || netdev_ethtool_fill(ns, &dev) || driver_counts(dev.driver))
		return;
	if (xdpverdicts_open(&w->verdicts, link->xdp_prog, &err)) {
		if (!*v->gaps)
			snprintf(v->gaps, sizeof(v->gaps), "what XDP drops at %s is not seen: %s",
				 link->ifname, err.message);
		return;
	}
	w->ifindex = link->ifindex;
	w->prog_id = link->xdp_prog;
	memcpy(w->ifname, link->ifname, sizeof(w->ifname));
	v->n++;
}

static uint64_t dropped(const struct verdictrows *v, const struct watched *w)
{
	uint64_t packets[XDPVERDICTS];

	xdpverdicts_read(w->verdicts, v->netns, w->ifindex, packets);
	return packets[XDP_DROP]; /* xdp_exception tells the others that are losses */
}

static int start(void *arg, struct error *err)
{
	struct verdictrows *v = arg;

	(void)err;
	for (unsigned i = 0; i < v->n; i++)
		v->at[i].told = dropped(v, &v->at[i]);
	return 0;
}

static void add_row(const struct verdictrows *v, struct live *l, const struct watched *w,
		    uint64_t packets)
{
	char program[40], location[64], netns[OWNER_NETNS];
	struct live_row row = {
		.stage = STAGE_XDP,
		.noise = v->spec.expr ? NOISE_SUSPECT : NOISE_LOSS,
		.note = "verdict of the XDP program, which the driver does not count",
		.counts = {.events = packets, .packets = packets},
	};

	snprintf(location, sizeof(location), "program %s",
		 xdplosses_program(w->prog_id, program, sizeof(program)));
	live_row_begin(&row, "event", "interface");
	row.text[LIVE_DIRECTION] = direction_name(DIRECTION_RX);
	row.text[LIVE_REASON] = "DROP";
	row.text[LIVE_LOCATION] = location;
	row.text[LIVE_IFNAME] = w->ifname;
	row.text[LIVE_NETNS] = describe_netns(v->spec.owners, v->netns, netns);
	live_add(l, &row);
}

static void collect(void *arg, struct live *l)
{
	struct verdictrows *v = arg;

	for (unsigned i = 0; i < v->n; i++) {
		struct watched *w = &v->at[i];
		uint64_t now = dropped(v, w);

		if (now > w->told)
			add_row(v, l, w, now - w->told);
		w->told = now;
	}
}

int verdictrows_open(struct verdictrows **out, const struct live_spec *spec, struct error *err)
{
	struct verdictrows *v = calloc(1, sizeof(*v));
	struct netns ns = NETNS_NONE;
	struct link_info *links = NULL;
	int n, rc;

	if (!v)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	v->spec = *spec;
	v->source = (struct live_source){.start = start, .collect = collect, .arg = v};
	rc = resolve_netns(spec, &ns, err);
	if (rc) {
		free(v);
		return rc;
	}
	v->netns = ns.inum;
	n = links_read(&ns, &links);
	for (int i = 0; i < n; i++) {
		if (links[i].xdp_prog && (!spec->ifname || !strcmp(links[i].ifname, spec->ifname)))
			add(v, &ns, &links[i]);
	}
	free(links);
	netns_close(&ns);
	*out = v;
	return 0;
}

void verdictrows_close(struct verdictrows *v)
{
	if (!v)
		return;
	for (unsigned i = 0; i < v->n; i++)
		xdpverdicts_close(v->at[i].verdicts);
	free(v);
}

const struct live_source *verdictrows_source(struct verdictrows *v)
{
	return &v->source;
}

const char *verdictrows_gaps(const struct verdictrows *v)
{
	return v->gaps;
}
