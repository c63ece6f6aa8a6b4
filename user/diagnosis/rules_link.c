// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "diagnosis/judge.h"

#define KERNEL_QUEUE 1000 /* DEFAULT_TX_QUEUE_LEN */
#define VLAN_HLEN    4

#define AT_LIMIT      0.8  /* fraction of a CPU in softirq that leaves little for other work */
#define MUCH_IDLE     0.5  /* idle fraction with which a CPU could take over work */
#define STEAL_MUCH    0.05 /* fraction of all CPU time */
#define SLOW_CLOCK    0.9  /* fraction of the highest frequency */
#define IRQ_FRACTION  0.1  /* fraction of an interface's interrupts: the queue has traffic */
#define NAPI_WEIGHT   64   /* NAPI_POLL_WEIGHT, packets per poll */

#define POLLED_NS 100000000 /* time between two interrupts from which a queue is polled */

/* Driver losses, except for events that lose nothing and decisions that the stack counts. */

#define ALL_CLASSES (~0u)
#define NO_EVENTS   (~(1u << NIC_EVENT))
#define LOSSES	    (1u << NIC_LOSS)

static const struct {
	enum nic_cause cause;
	unsigned classes;
	enum stage stage;
} causes[] = {
	{NIC_RING, NO_EVENTS, STAGE_NIC_RING},	{NIC_PORT, NO_EVENTS, STAGE_NIC_RING},
	{NIC_ALLOC, ALL_CLASSES, STAGE_NIC_RING}, {NIC_DAMAGED, ALL_CLASSES, STAGE_WIRE},
	{NIC_SHAPER, ALL_CLASSES, STAGE_WIRE},	{NIC_PAUSE, ALL_CLASSES, STAGE_TX_DEVICE},
	{NIC_SEND, LOSSES, STAGE_TX_DEVICE},	{NIC_XDP, LOSSES, STAGE_XDP},
	{NIC_REDIRECT, LOSSES, STAGE_XDP},	{NIC_LINK, ALL_CLASSES, STAGE_WIRE},
	{NIC_TIMEOUT, ALL_CLASSES, STAGE_TX_DEVICE}, {NIC_STALL, ALL_CLASSES, STAGE_TX_DEVICE},
};

/*
 * Returns true if the other end of a veth has a smaller MTU, so it does not accept larger packets.
 * A VLAN tag may be added (__is_skb_forwardable()).
 */
static bool peer_is_smaller(const struct facts_link *link)
{
	return link->peer_mtu && link->dev.link.mtu > link->peer_mtu + VLAN_HLEN;
}

static void judge_loss_of(const struct facts *f, struct check_findings *out,
			  const struct facts_link *link, const struct link_loss *l)
{
	const struct netdev_settings *s = &link->set;
	struct finding_facts facts = {
		.ifname = link->dev.link.ifname,
		.counter = l->counter,
		.lost = l->lost,
		.total = l->total,
		.nic = l->cause,
	};
	enum stage stage;
	unsigned i = 0;

	while (i < LENGTH(causes) &&
	       (causes[i].cause != l->cause || !(causes[i].classes >> l->class & 1)))
		i++;
	/* A packet dropped because a CPU's backlog was full is also counted by the sending veth. */
	if (i == LENGTH(causes) || (l->cause == NIC_SEND && !strcmp(link->dev.driver, "veth") &&
				    judge_softnet(f, "dropped", false) >= l->lost))
		return;
	stage = causes[i].stage;
	if (!l->lost) { /* only the total is known */
		judge_history(out, stage, false, l->counter, l->total);
		return;
	}
	if (l->cause == NIC_RING) {
		facts.ring = s->ring.rx;
		facts.ring_max = s->ring.rx_max;
	}
	if (l->cause == NIC_SEND && link_has_no_carrier(&link->dev.link)) {
		facts.no_carrier = true;
		stage = STAGE_QDISC;
	} else if (l->cause == NIC_SEND && peer_is_smaller(link)) {
		facts.mtu = link->dev.link.mtu;
		facts.other_mtu = link->peer_mtu;
	} else if (l->cause == NIC_SEND && !strcmp(link->dev.driver, "tun")) {
		facts.txqueuelen = link->dev.link.txqueuelen;
		facts.txqueuelen_fix = larger(KERNEL_QUEUE, 2 * facts.txqueuelen);
		facts.process = *link->tun_reader ? link->tun_reader : NULL;
	}
	if (s->pause.known) {
		facts.pause_tx = s->pause.tx ? "on" : "off";
		facts.pause_rx = s->pause.rx ? "on" : "off";
		facts.pause_fix = s->pause.tx ? NULL : "on";
	}
	if (l->cause == NIC_TIMEOUT || l->cause == NIC_STALL) /* as in the rows of trace */
		facts.reason = l->cause == NIC_TIMEOUT ? "XMIT_TIMEOUT" : "DQL_STALL";
	/* Events are not packets. */
	if (l->class == NIC_EVENT || l->cause == NIC_PAUSE) {
		facts.events = l->lost;
		facts.lost = 0;
	}
	judge_add(out, f, stage, CHECK_INTERFACE, &facts);
}

static void judge_qdisc(const struct facts *f, struct check_findings *out,
			const struct facts_link *link)
{
	struct finding_facts facts = {.ifname = link->dev.link.ifname},
			     filters = {.ifname = link->dev.link.ifname, .clsact = true};
	char name[COUNTER_NAME_LEN], better[48];
	unsigned limit,
		usual = link->dev.link.txqueuelen > 1 ? link->dev.link.txqueuelen : KERNEL_QUEUE;
	int n;

	snprintf(name, sizeof(name), "%s:qdisc:drops", link->dev.link.ifname);
	if (judge_moved(f, out, STAGE_QDISC, FACTS_HERE, name, NULL, &facts)) {
		facts.qdisc = link->qdisc;
		/* A limit below the kernel's default. A longer queue would only add latency. */
		if (sscanf(link->qdisc, "pfifo limit %u%n", &limit, &n) == 1 && !link->qdisc[n] &&
		    limit < usual) {
			snprintf(better, sizeof(better), "pfifo limit %u", usual);
			facts.qdisc_fix = better;
		}
		judge_add(out, f, STAGE_QDISC, CHECK_INTERFACE, &facts);
	}
	snprintf(name, sizeof(name), "%s:qdisc:clsact", link->dev.link.ifname);
	if (judge_moved(f, out, STAGE_TC_INGRESS, FACTS_HERE, name, NULL, &filters))
		judge_add(out, f, STAGE_TC_INGRESS, CHECK_INTERFACE, &filters);
}

/* Settings that will lose packets. */

/* Returns the port with the largest MTU above this one on the same bridge, or NULL. */
static const struct facts_link *larger_port(const struct facts *f, const struct facts_link *link)
{
	const struct facts_link *largest = NULL;

	for (unsigned i = 0; link->dev.link.bridge_port && i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		if (l->dev.link.bridge_port && l->dev.link.master == link->dev.link.master &&
		    l->dev.link.mtu > link->dev.link.mtu &&
		    (!largest || l->dev.link.mtu > largest->dev.link.mtu))
			largest = l;
	}
	return largest;
}

/*
 * Returns the interface by which most packets leave the host if its MTU is smaller than this
 * interface's, which leads to containers or virtual machines. NULL: not so.
 */
static const struct facts_link *smaller_egress(const struct facts *f, const struct facts_link *link)
{
	const bool inside = !strcmp(link->dev.driver, "bridge") ||
			    (!strcmp(link->dev.driver, "veth") && !link->dev.link.bridge_port);

	for (unsigned i = 0; inside && i < f->n_links; i++) {
		if (&f->link[i] != link && !strcmp(f->link[i].dev.link.ifname, f->egress) &&
		    f->link[i].dev.link.mtu < link->dev.link.mtu)
			return &f->link[i];
	}
	return NULL;
}

static void judge_settings(const struct facts *f, struct check_findings *out,
			   const struct facts_link *link)
{
	const struct link_info *info = &link->dev.link;
	const struct facts_link *port = larger_port(f, link), *egress = smaller_egress(f, link);
	const struct finding_facts mtu = {.ifname = info->ifname, .mtu = info->mtu};
	struct finding_facts stray = {.ifname = info->ifname,
				      .counter = "rx_dropped, rx_otherhost_dropped",
				      .events = facts_strays(f, info->ifname),
				      .stray = link->stray.what,
				      .stray_vlan = link->stray.vlan};
	struct finding_facts bridge = mtu, peer = mtu;
	bool lossless = true;

	if (*link->stray.what)
		judge_add(out, f, STAGE_L2, CHECK_INTERFACE, &stray);
	if (info->xdp_attached == XDP_ATTACHED_SKB && link->features_known && link->native_xdp)
		judge_add(out, f, STAGE_XDP, CHECK_INTERFACE,
			  &(struct finding_facts){.generic_xdp = true,
						  .ifname = info->ifname,
						  .driver = link->dev.driver});
	if (port) {
		bridge.master = link->master_name;
		bridge.other = port->dev.link.ifname;
		bridge.other_mtu = port->dev.link.mtu;
		judge_add(out, f, STAGE_L2, CHECK_INTERFACE, &bridge);
	}
	if (egress) {
		peer.other = egress->dev.link.ifname;
		peer.other_mtu = egress->dev.link.mtu;
		judge_add(out, f, STAGE_TX_DEVICE, CHECK_INTERFACE, &peer);
		peer = mtu;
	}
	/* lost packets are already covered by a loss finding */
	for (unsigned i = 0; i < link->n_losses; i++)
		lossless &= link->loss[i].cause != NIC_SEND;
	peer.other_mtu = link->peer_mtu;
	if (link->peer_mtu && ((peer_is_smaller(link) && lossless) ||
			       link->peer_mtu > info->mtu + VLAN_HLEN))
		judge_add(out, f, STAGE_TX_DEVICE, CHECK_INTERFACE, &peer);
}

void judge_links(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *link = &f->link[i];

		for (unsigned j = 0; j < link->n_losses; j++)
			judge_loss_of(f, out, link, &link->loss[j]);
		judge_qdisc(f, out, link);
		judge_settings(f, out, link);
	}
}

/* CPUs */

/*
 * Returns true if the interrupt belongs to a receive queue. If the driver uses other names, all
 * interrupts count.
 */
static bool carries(const struct facts_link *link, const struct facts_irq *irq)
{
	for (unsigned i = 0; i < link->n_irqs; i++) {
		if (irq_receives(&link->irq[i]))
			return irq_receives(irq);
	}
	return true;
}

/* Returns how often the interrupts of the receive queues fired. */
static uint64_t count_fired(const struct facts_link *link)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < link->n_irqs; i++)
		all += carries(link, &link->irq[i]) ? link->irq[i].fired : 0;
	return all;
}

/*
 * Returns true if the link's queues are polled continuously. The interrupt of a queue that is never
 * empty stays disabled. An interrupt for a single poll is not delayed that long by coalescing, and
 * stands for at most NAPI_WEIGHT packets.
 */
static bool is_polled(const struct facts *f, const struct facts_link *link, uint64_t fired)
{
	return link->rx_packets > fired * NAPI_WEIGHT && fired * POLLED_NS < f->window_ns;
}

/* Counts the link's queues that a CPU serves, and finds the least busy queue. */
static unsigned irqs_on(const struct facts *f, const struct facts_link *link, unsigned cpu,
			const struct facts_irq **least, char *list, size_t size)
{
	const uint64_t all = count_fired(link);
	const bool polled = is_polled(f, link, all);
	unsigned n = 0;
	size_t at = 0;

	list[0] = '\0';
	for (unsigned i = 0; i < link->n_irqs; i++) {
		const struct facts_irq *irq = &link->irq[i];

		if (!carries(link, irq) || irq->moving ||
		    (polled ? irq->target != (int)cpu
			    : irq->cpu != (int)cpu ||
				      (double)irq->fired < IRQ_FRACTION * (double)all))
			continue;
		if (!n || irq->fired < (*least)->fired)
			*least = irq;
		n++;
		if (at < size)
			at += (size_t)snprintf(list + at, size - at, "%s%u", at ? ", " : "",
					       irq->irq);
	}
	return n;
}

/*
 * Returns the hardware interface whose interrupts this CPU serves most often, or the interface that
 * it polls continuously if that receives more, or NULL if there is neither.
 */
static const struct facts_link *served_by(const struct facts *f, unsigned cpu)
{
	const struct facts_link *best = NULL, *polled = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];
		const bool polls = is_polled(f, l, count_fired(l));

		for (unsigned j = 0; j < l->n_irqs; j++) {
			const struct facts_irq *irq = &l->irq[j];

			if (irq->cpu == (int)cpu && irq->fired > most) {
				best = l;
				most = irq->fired;
			}
			/* the target of a disabled interrupt is the CPU that polls */
			if (polls && irq->target == (int)cpu && carries(l, irq) &&
			    (!polled || l->rx_packets > polled->rx_packets))
				polled = l;
		}
	}
	return polled && (!best || polled->rx_packets > best->rx_packets) ? polled : best;
}

static int idlest(const struct facts *f)
{
	int best = -1;

	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];

		if (cpu->ticked && cpu->idle >= MUCH_IDLE &&
		    (best < 0 || cpu->idle > f->cpus.at[best].idle))
			best = (int)i;
	}
	return best;
}

/* Writes a mask of all online CPUs except one in sysfs format: "f,ffffffff". */
static void mask_without(const struct facts *f, unsigned without, char *buf, size_t size)
{
	unsigned words = (f->cpus.n + 31) / 32;
	size_t at = 0;

	buf[0] = '\0';
	for (unsigned w = words; w-- && at < size;) {
		uint32_t word = 0;

		for (unsigned bit = 0; bit < 32; bit++) {
			unsigned cpu = w * 32 + bit;

			if (cpu < f->cpus.n && cpu != without && f->cpus.at[cpu].online)
				word |= 1u << bit;
		}
		at += (size_t)snprintf(buf + at, size - at,
				       w + 1 == words ? "%" PRIx32 : ",%08" PRIx32, word);
	}
}

struct work {
	char list[96], mask[JOURNAL_VALUE_SIZE];
};

/* Selects a way to spread the work. The texts are stored in `w`. */
static void put_remedy(const struct facts *f, const struct facts_link *link, struct finding_facts *b,
		       struct work *w)
{
	const struct netdev_settings *s = &link->set;
	bool combined = s->channels.combined_max;
	unsigned max = combined ? s->channels.combined_max : s->channels.rx_max;
	unsigned now = combined ? s->channels.combined : s->channels.rx;
	unsigned most = max < f->cpus.online ? max : f->cpus.online;
	const struct facts_irq *least = NULL;
	int idle = idlest(f);
	unsigned irqs;

	b->ifname = link->dev.link.ifname;
	b->queues = now;
	if (s->channels.known && now && now < most) {
		b->queues_max = max;
		b->queues_fix = most;
		b->channel = combined ? "combined" : "rx";
		return;
	}
	if (s->rss.known && s->channels.known && s->rss.used < now) {
		b->rss_used = s->rss.used;
		return;
	}
	irqs = irqs_on(f, link, (unsigned)b->cpu, &least, w->list, sizeof(w->list));
	if (irqs > 1 && idle >= 0) {
		b->irqs = irqs;
		b->irq_list = w->list;
		b->irq = least->irq;
		b->idle_cpu = (unsigned)idle;
		return;
	}
	if (f->cpus.online > 1 && *link->rps_cpus && now <= 1 &&
	    link->rps_cpus[strspn(link->rps_cpus, "0,")] == '\0') {
		mask_without(f, (unsigned)b->cpu, w->mask, sizeof(w->mask));
		b->rps = link->rps_cpus;
		b->rps_fix = w->mask;
	}
}

static void judge_busy(const struct facts *f, struct check_findings *out, unsigned cpu)
{
	const struct facts_link *link = served_by(f, cpu);
	char name[COUNTER_NAME_LEN];
	struct finding_facts facts = {
		.of_cpu = true,
		.cpu = cpu,
		.cpus = f->cpus.online,
		.softirq_percent = (uint64_t)(100 * f->cpus.at[cpu].softirq + 0.5),
	};
	struct work work;

	snprintf(name, sizeof(name), "softnet:cpu%u:processed", cpu);
	facts.processed_pps =
		(double)facts_moved(f, FACTS_HOST, name) * 1e9 / (double)f->window_ns;
	if (link)
		put_remedy(f, link, &facts, &work);
	judge_add(out, f, STAGE_NIC_RING, link ? CHECK_INTERFACE : CHECK_HOST, &facts);
}

/* Returns true if a faster kernel would not have lost the packets. */
static bool kernel_was_late(const struct facts *f)
{
	if (judge_softnet(f, "dropped", false))
		return true;
	for (unsigned i = 0; i < f->n_links; i++) {
		if (facts_link_lost(&f->link[i], NIC_RING))
			return true;
	}
	return false;
}

static void judge_budget(const struct facts *f, struct check_findings *out)
{
	struct finding_facts facts = {
		.squeezed = judge_softnet(f, "time_squeeze", false),
		.budget = f->stack.budget,
		.budget_usecs = f->stack.budget_usecs,
	};
	struct change time = {.kind = CHANGE_SYSCTL};
	struct check_finding *c;

	if (!facts.squeezed || !f->stack.budget || !kernel_was_late(f))
		return;
	c = judge_add(out, f, STAGE_NIC_RING, CHECK_HOST, &facts);
	if (!c || !f->stack.budget_usecs)
		return;
	/* Either limit may have ended the poll (net_rx_action()). */
	snprintf(time.name, sizeof(time.name), "net/core/netdev_budget_usecs");
	snprintf(time.old, sizeof(time.old), "%" PRIu64, f->stack.budget_usecs);
	snprintf(time.wanted, sizeof(time.wanted), "%" PRIu64, f->stack.budget_usecs * 2);
	judge_add_change(c, &time);
}

/* Adds a change for each busy CPU with a slow clock. */
static void judge_governor(const struct facts *f, struct check_findings *out)
{
	struct check_finding *c = NULL;

	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];
		struct change change = {.kind = CHANGE_GOVERNOR, .wanted = "performance"};
		struct finding_facts facts = {
			.of_cpu = true,
			.cpu = i,
			.mhz = cpu->mhz,
			.mhz_max = cpu->mhz_max,
			.governor = cpu->governor,
		};

		if (!cpu->online || !cpu->ticked || cpu->idle >= MUCH_IDLE || !*cpu->governor ||
		    !strcmp(cpu->governor, "performance") || !cpu->mhz || cpu->mhz >= SLOW_CLOCK * cpu->mhz_max)
			continue;
		if (!c) {
			c = judge_add(out, f, STAGE_NIC_RING, CHECK_HOST, &facts);
			continue;
		}
		snprintf(change.name, sizeof(change.name), "%u", i);
		snprintf(change.old, sizeof(change.old), "%s", cpu->governor);
		judge_add_change(c, &change);
	}
}

void judge_cpus(const struct facts *f, struct check_findings *out)
{
	struct finding_facts facts = {.steal_percent = (unsigned)(100 * f->cpus.steal + 0.5)};

	for (unsigned i = 0; i < f->cpus.n; i++) {
		if (f->cpus.at[i].ticked && f->cpus.at[i].softirq >= AT_LIMIT)
			judge_busy(f, out, i);
	}
	judge_budget(f, out);
	if (!kernel_was_late(f) && !facts_moved(f, FACTS_HERE, "Udp:RcvbufErrors") &&
	    !facts_moved(f, FACTS_HERE, "Udp6RcvbufErrors"))
		return;
	judge_governor(f, out);
	if (f->cpus.steal >= STEAL_MUCH)
		judge_add(out, f, STAGE_NIC_RING, CHECK_HOST, &facts);
}
