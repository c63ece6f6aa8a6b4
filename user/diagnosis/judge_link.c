// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/judge_parts.h"

#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

#define KERNEL_QUEUE 1000 /* DEFAULT_TX_QUEUE_LEN */
#define VLAN_HLEN    4

static struct about about_link(const struct facts_link *link, uint64_t lost)
{
	return (struct about){CHECK_INTERFACE, link->dev.ifname, lost};
}

/* What the driver lost. */

static void lose_ring(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link, const struct link_loss *l)
{
	const struct about about = about_link(link, l->lost);
	struct finding_facts facts = {
		.ifname = link->dev.ifname,
		.counter = l->counter,
		.total = l->total,
		.ring_now = link->set.ring.rx,
		.ring_max = link->set.ring.rx_max,
	};

	judge_loss(out, f, STAGE_NIC_RING, &about, &facts);
}

/* A packet that found a CPU's backlog full is counted by the sender's veth as well. */
static bool is_backlog(const struct facts *f, const struct facts_link *link, uint64_t lost)
{
	return !strcmp(link->dev.driver, "veth") && judge_softnet(f, "dropped", false) >= lost;
}

static void lose_elsewhere(const struct facts *f, struct check_findings *out,
			   const struct facts_link *link, const struct link_loss *l)
{
	const struct about about = about_link(link, l->lost);
	struct finding_facts facts = {
		.ifname = link->dev.ifname,
		.counter = l->counter,
		.total = l->total,
	};

	if (l->cause == NIC_SEND && is_backlog(f, link, l->lost))
		return;
	judge_loss(out, f, l->cause == NIC_SEND ? STAGE_TX_DEVICE : STAGE_XDP, &about, &facts);
}

static void lose_state(const struct facts *f, struct check_findings *out,
		       const struct facts_link *link, const struct link_loss *l, const char *id)
{
	/* A number of events is no number of packets. */
	const struct about about =
		about_link(link, l->class == NIC_EVENT || l->cause == NIC_PAUSE ? 0 : l->lost);
	const struct netdev_settings *s = &link->set;
	struct binds b = {.n = 0};

	bind_loss(&b, f, l->counter, l->lost, l->total);
	bind_text(&b, "ifname", link->dev.ifname);
	if (s->pause.known) {
		bind_text(&b, "pause_tx", s->pause.tx ? "on" : "off");
		bind_text(&b, "pause_rx", s->pause.rx ? "on" : "off");
		bind_text(&b, "pause_wanted", s->pause.tx ? NULL : "on");
	}
	judge_state(out, f, id, &about, &b);
}

static void judge_loss_of(const struct facts *f, struct check_findings *out,
			  const struct facts_link *link, const struct link_loss *l)
{
	switch (l->cause) {
	case NIC_RING:
		if (l->class != NIC_EVENT)
			lose_ring(f, out, link, l);
		break;
	case NIC_PORT:
		if (l->class != NIC_EVENT)
			lose_state(f, out, link, l, "nic-port");
		break;
	case NIC_ALLOC:
		lose_state(f, out, link, l, "nic-memory");
		break;
	case NIC_DAMAGED:
		lose_state(f, out, link, l, "nic-crc");
		break;
	case NIC_SHAPER:
		lose_state(f, out, link, l, "nic-allowance");
		break;
	case NIC_PAUSE:
		lose_state(f, out, link, l, "nic-paused");
		break;
	case NIC_SEND:
	case NIC_XDP:
	case NIC_REDIRECT:
		if (l->class == NIC_LOSS)
			lose_elsewhere(f, out, link, l);
		break;
	default: /* no loss, or the stack's own decision, which it counts itself */
		break;
	}
}

/* A queue of packets that is shorter than the kernel's own; a longer one would only delay. */
static bool larger_queue(const struct facts_link *link, char *buf, size_t size)
{
	unsigned limit, usual = link->txqueuelen > 1 ? link->txqueuelen : KERNEL_QUEUE;
	int n = 0;

	if (sscanf(link->qdisc, "pfifo limit %u%n", &limit, &n) != 1 || link->qdisc[n] ||
	    limit >= usual)
		return false;
	snprintf(buf, size, "pfifo limit %u", usual);
	return true;
}

static void judge_qdisc(const struct facts *f, struct check_findings *out,
			const struct facts_link *link)
{
	struct finding_facts facts = {.ifname = link->dev.ifname};
	char name[COUNTER_NAME_LEN], kind[32], wanted[48];
	struct about about = about_link(link, 0);

	snprintf(name, sizeof(name), "%s:qdisc:drops", link->dev.ifname);
	about.lost = facts_moved(f, FACTS_HERE, name);
	facts.total = facts_total(f, FACTS_HERE, name);
	facts.counter = name;
	if (!about.lost) {
		if (facts.total)
			judge_history(out, STAGE_QDISC, name, facts.total);
		return;
	}
	snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(link->qdisc, " "), link->qdisc);
	if (larger_queue(link, wanted, sizeof(wanted)))
		facts.qdisc_wanted = wanted;
	facts.qdisc = kind;
	facts.qdisc_limit = strchr(link->qdisc, ' ') ? strchr(link->qdisc, ' ') + 1 : NULL;
	judge_loss(out, f, STAGE_QDISC, &about, &facts);
}

/* What will lose. */

/* Packets of one queue in the time that nobody looks at it, in shares of its ring. */
static double ring_filled(const struct facts *f, const struct facts_link *link, unsigned us)
{
	const struct netdev_settings *s = &link->set;
	unsigned queues = link->dev.rx_queues ? link->dev.rx_queues : 1;
	double seconds = (double)f->window_ns * 1e-9;

	if (!s->ring.known || !s->ring.rx || seconds <= 0)
		return 0;
	return (double)link->rx_packets / seconds / queues * us * 1e-6 / s->ring.rx;
}

static void bind_ring(struct binds *b, const struct facts *f, const struct facts_link *link)
{
	double seconds = (double)f->window_ns * 1e-9;
	double pps = seconds > 0 ? (double)link->rx_packets / seconds : 0;
	unsigned queues = link->dev.rx_queues ? link->dev.rx_queues : 1;

	bind_text(b, "ifname", link->dev.ifname);
	bind_count(b, "ring", link->set.ring.rx);
	bind_rate(b, "arrival", pps);
	if (pps > 0)
		bind_time(b, "ring_time", (uint64_t)(link->set.ring.rx * queues / pps * 1e9));
}

static void judge_coalesce(const struct facts *f, struct check_findings *out,
			   const struct facts_link *link)
{
	const struct netdev_settings *s = &link->set;
	const struct about about = about_link(link, 0);
	double filled = ring_filled(f, link, s->coalesce.rx_usecs);
	struct binds b = {.n = 0};
	unsigned wanted;

	if (!s->coalesce.known || s->coalesce.adaptive_rx || filled < 0.5)
		return;
	/* At most an eighth of the ring. */
	wanted = (unsigned)(s->coalesce.rx_usecs / filled / 8);
	bind_ring(&b, f, link);
	bind_count(&b, "rx_usecs", s->coalesce.rx_usecs);
	bind_zero(&b, "rx_usecs_wanted", wanted);
	judge_state(out, f, "nic-coalesce", &about, &b);
}

static void judge_idle(const struct facts *f, struct check_findings *out,
		       const struct facts_link *link)
{
	const struct about about = about_link(link, 0);
	const struct facts_cpu *worst = NULL;
	struct binds b = {.n = 0};
	double filled;

	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];

		if (cpu->online && (!worst || cpu->idle_latency_us > worst->idle_latency_us))
			worst = cpu;
	}
	if (!worst)
		return;
	filled = ring_filled(f, link, worst->idle_latency_us);
	if (filled < 0.5)
		return;
	bind_ring(&b, f, link);
	bind_text(&b, "idle_state", worst->idle_state);
	bind_count(&b, "latency", worst->idle_latency_us);
	bind_zero(&b, "latency_wanted", (uint64_t)(worst->idle_latency_us / filled / 8));
	judge_state(out, f, "cpu-idle", &about, &b);
}

static void judge_xdp(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	const struct about about = about_link(link, 0);
	struct binds b = {.n = 0};

	if (link->xdp != LINK_XDP_GENERIC || !link->features_known || !link->native_xdp)
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_text(&b, "driver", link->dev.driver);
	judge_state(out, f, "xdp-generic", &about, &b);
}

static void judge_rfs(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	const struct about about = about_link(link, 0);
	struct binds b = {.n = 0};

	if (!link->rps_flow_cnt || !f->stack.flow_entries_known || f->stack.flow_entries)
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_count(&b, "flow_cnt", link->rps_flow_cnt);
	/* As Documentation/networking/scaling.rst: the sum over the queues. */
	bind_count(&b, "flow_entries_wanted",
		   (uint64_t)link->rps_flow_cnt * (link->dev.rx_queues ? link->dev.rx_queues : 1));
	judge_state(out, f, "rfs-half", &about, &b);
}

/* Told once for each port, against the largest of its bridge. */
static void judge_mtu(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	const struct about about = about_link(link, 0);
	const struct facts_link *largest = NULL;
	struct binds b = {.n = 0};

	for (unsigned i = 0; link->bridge_port && i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		if (l->bridge_port && l->master == link->master && l->dev.mtu > link->dev.mtu &&
		    (!largest || l->dev.mtu > largest->dev.mtu))
			largest = l;
	}
	if (!largest)
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_text(&b, "other", largest->dev.ifname);
	bind_count(&b, "mtu", link->dev.mtu);
	bind_count(&b, "other_mtu", largest->dev.mtu);
	bind_text(&b, "master", link->master_name);
	judge_state(out, f, "mtu-mismatch", &about, &b);
}

/* A VLAN tag may come on top (__is_skb_forwardable()). */
static void judge_peer(const struct facts *f, struct check_findings *out,
		       const struct facts_link *link)
{
	const struct about about = about_link(link, 0);
	struct binds b = {.n = 0};

	if (!link->peer_mtu || (link->dev.mtu <= link->peer_mtu + VLAN_HLEN &&
				link->peer_mtu <= link->dev.mtu + VLAN_HLEN))
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_count(&b, "mtu", link->dev.mtu);
	bind_count(&b, "other_mtu", link->peer_mtu);
	judge_state(out, f, "mtu-peer", &about, &b);
}

void judge_links(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *link = &f->link[i];

		for (unsigned j = 0; j < link->n_losses; j++)
			judge_loss_of(f, out, link, &link->loss[j]);
		judge_qdisc(f, out, link);
		judge_coalesce(f, out, link);
		judge_idle(f, out, link);
		judge_xdp(f, out, link);
		judge_rfs(f, out, link);
		judge_mtu(f, out, link);
		judge_peer(f, out, link);
	}
}
