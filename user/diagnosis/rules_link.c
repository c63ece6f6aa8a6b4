// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "diagnosis/judge.h"

#define KERNEL_QUEUE 1000 /* DEFAULT_TX_QUEUE_LEN */
#define VLAN_HLEN    4

static struct about about_link(const struct facts_link *link, uint64_t lost)
{
	return (struct about){
		.scope = CHECK_INTERFACE, .subject = link->dev.link.ifname, .lost = lost};
}

/* What the driver lost. Not here: no loss, or the stack's own decision, which it counts itself. */

#define ALL_CLASSES (~0u)
#define NO_EVENTS   (~(1u << NIC_EVENT))
#define LOSSES	    (1u << NIC_LOSS)

static const struct {
	enum nic_cause cause;
	unsigned classes;
	enum stage stage;
	const char *state; /* NULL: the row of the stage */
} causes[] = {
	{NIC_RING, NO_EVENTS, .stage = STAGE_NIC_RING},
	{NIC_PORT, NO_EVENTS, .state = "nic-port"},
	{NIC_ALLOC, ALL_CLASSES, .state = "nic-memory"},
	{NIC_DAMAGED, ALL_CLASSES, .state = "nic-crc"},
	{NIC_SHAPER, ALL_CLASSES, .state = "nic-allowance"},
	{NIC_PAUSE, ALL_CLASSES, .state = "nic-paused"},
	{NIC_SEND, LOSSES, .stage = STAGE_TX_DEVICE},
	{NIC_XDP, LOSSES, .stage = STAGE_XDP},
	{NIC_REDIRECT, LOSSES, .stage = STAGE_XDP},
};

static void judge_loss_of(const struct facts *f, struct check_findings *out,
			  const struct facts_link *link, const struct link_loss *l)
{
	const unsigned n = LENGTH(causes);
	const struct netdev_settings *s = &link->set;
	struct finding_facts facts = {
		.ifname = link->dev.link.ifname,
		.counter = l->counter,
		.total = l->total,
		.ring_now = s->ring.rx,
		.ring_max = s->ring.rx_max,
	};
	struct about about = about_link(link, l->lost);
	struct binds b = {};
	unsigned i = 0;

	while (i < n && (causes[i].cause != l->cause || !(causes[i].classes >> l->class & 1)))
		i++;
	/* What found a CPU's backlog full is counted by the sender's veth as well. */
	if (i == n || (l->cause == NIC_SEND && !strcmp(link->dev.driver, "veth") &&
		       judge_softnet(f, "dropped", false) >= l->lost))
		return;
	if (l->cause == NIC_SEND && link_has_no_carrier(&link->dev.link)) {
		facts.no_carrier = true;
		judge_loss(out, f, STAGE_QDISC, about, &facts);
		return;
	}
	if (!causes[i].state) {
		judge_loss(out, f, causes[i].stage, about, &facts);
		return;
	}
	bind_loss(&b, f->window_ns, l->counter, l->lost, l->total);
	bind_text(&b, "ifname", link->dev.link.ifname);
	if (s->pause.known) {
		bind_text(&b, "pause_tx", s->pause.tx ? "on" : "off");
		bind_text(&b, "pause_rx", s->pause.rx ? "on" : "off");
		bind_text(&b, "pause_wanted", s->pause.tx ? NULL : "on");
	}
	/* A number of events is no number of packets. */
	if (l->class == NIC_EVENT || l->cause == NIC_PAUSE)
		about.lost = 0;
	judge_state(out, f, causes[i].state, about, &b);
}

static void judge_qdisc(const struct facts *f, struct check_findings *out,
			const struct facts_link *link)
{
	struct finding_facts facts = {.ifname = link->dev.link.ifname};
	char name[COUNTER_NAME_LEN], kind[32], wanted[48];
	struct about about = about_link(link, 0);
	unsigned limit,
		usual = link->dev.link.txqueuelen > 1 ? link->dev.link.txqueuelen : KERNEL_QUEUE;
	int n;

	snprintf(name, sizeof(name), "%s:qdisc:drops", link->dev.link.ifname);
	about.lost = facts_moved(f, FACTS_HERE, name);
	facts.total = facts_total(f, FACTS_HERE, name);
	facts.counter = name;
	if (!about.lost) {
		if (facts.total)
			judge_history(out, STAGE_QDISC, name, facts.total);
		return;
	}
	snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(link->qdisc, " "), link->qdisc);
	/* One that is shorter than the kernel's own; a longer one would only delay. */
	if (sscanf(link->qdisc, "pfifo limit %u%n", &limit, &n) == 1 && !link->qdisc[n] &&
	    limit < usual) {
		snprintf(wanted, sizeof(wanted), "pfifo limit %u", usual);
		facts.qdisc_wanted = wanted;
	}
	facts.qdisc = kind;
	facts.qdisc_limit = strchr(link->qdisc, ' ') ? strchr(link->qdisc, ' ') + 1 : NULL;
	judge_loss(out, f, STAGE_QDISC, about, &facts);
}

static void judge_filters(const struct facts *f, struct check_findings *out,
			  const struct facts_link *link)
{
	char name[COUNTER_NAME_LEN];
	struct binds b = {};
	uint64_t lost, total;

	snprintf(name, sizeof(name), "%s:qdisc:clsact", link->dev.link.ifname);
	lost = facts_moved(f, FACTS_HERE, name);
	total = facts_total(f, FACTS_HERE, name);
	bind_loss(&b, f->window_ns, name, lost, total);
	bind_text(&b, "ifname", link->dev.link.ifname);
	if (lost)
		judge_state(out, f, "tc-filter", about_link(link, lost), &b);
	else if (total)
		judge_history(out, STAGE_TC_INGRESS, name, total);
}

/* What will lose. */

static unsigned queues_of(const struct facts_link *link)
{
	return link->dev.link.rx_queues ? link->dev.link.rx_queues : 1;
}

/* What comes to one queue in the time that nobody polls it, in shares of its ring. */
static double ring_filled(const struct facts_link *link, double pps, unsigned us)
{
	unsigned ring = link->set.ring.known ? link->set.ring.rx : 0;

	return ring ? pps / queues_of(link) * us * 1e-6 / ring : 0;
}

/* Times in which nobody polls a ring, against that in which half of it fills. */
static void judge_delays(const struct facts *f, struct check_findings *out,
			 const struct facts_link *link)
{
	const struct netdev_settings *s = &link->set;
	double pps = f->window_ns ? (double)link->rx_packets * 1e9 / (double)f->window_ns : 0;
	double filled = ring_filled(link, pps, s->coalesce.rx_usecs);
	const struct facts_cpu *worst = &f->cpus.at[0];
	struct binds b = {};

	if (!pps)
		return;
	bind_text(&b, "ifname", link->dev.link.ifname);
	bind_count(&b, "ring", s->ring.rx);
	bind_rate(&b, "arrival", pps);
	bind_time(&b, "ring_time", (uint64_t)(s->ring.rx * queues_of(link) / pps * 1e9));
	if (s->coalesce.known && !s->coalesce.adaptive_rx && filled >= 0.5) {
		bind_count(&b, "rx_usecs", s->coalesce.rx_usecs);
		/* At most an eighth of the ring. */
		bind_zero(&b, "rx_usecs_wanted", (uint64_t)(s->coalesce.rx_usecs / filled / 8));
		judge_state(out, f, "nic-coalesce", about_link(link, 0), &b);
	}
	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];

		if (cpu->online && cpu->idle_latency_us > worst->idle_latency_us)
			worst = cpu;
	}
	filled = ring_filled(link, pps, worst->idle_latency_us);
	if (filled < 0.5)
		return;
	bind_text(&b, "idle_state", worst->idle_state);
	bind_count(&b, "latency", worst->idle_latency_us);
	bind_zero(&b, "latency_wanted", (uint64_t)(worst->idle_latency_us / filled / 8));
	judge_state(out, f, "cpu-idle", about_link(link, 0), &b);
}

/* The port of the same bridge with the largest MTU that is larger; NULL: there is none. */
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

static void judge_settings(const struct facts *f, struct check_findings *out,
			   const struct facts_link *link)
{
	const struct facts_link *port = larger_port(f, link);
	struct binds b = {};
	unsigned common;

	bind_text(&b, "ifname", link->dev.link.ifname);
	bind_text(&b, "driver", link->dev.driver);
	bind_count(&b, "mtu", link->dev.link.mtu);
	bind_text(&b, "master", link->master_name);
	bind_count(&b, "flow_cnt", link->rps_flow_cnt);
	/* As Documentation/networking/scaling.rst: the sum over the queues. */
	bind_count(&b, "flow_entries_wanted", (uint64_t)link->rps_flow_cnt * queues_of(link));
	common = b.n;
	if (link->dev.link.xdp_attached == XDP_ATTACHED_SKB && link->features_known &&
	    link->native_xdp)
		judge_state(out, f, "xdp-generic", about_link(link, 0), &b);
	if (link->rps_flow_cnt && f->stack.flow_entries_known && !f->stack.flow_entries)
		judge_state(out, f, "rfs-half", about_link(link, 0), &b);
	if (port) {
		bind_text(&b, "other", port->dev.link.ifname);
		bind_count(&b, "other_mtu", port->dev.link.mtu);
		judge_state(out, f, "mtu-mismatch", about_link(link, 0), &b);
		b.n = common; /* the other one is not that of the link */
	}
	/* A VLAN tag may come on top (__is_skb_forwardable()). */
	if (link->peer_mtu && (link->dev.link.mtu > link->peer_mtu + VLAN_HLEN ||
			       link->peer_mtu > link->dev.link.mtu + VLAN_HLEN)) {
		bind_count(&b, "other_mtu", link->peer_mtu);
		judge_state(out, f, "mtu-peer", about_link(link, 0), &b);
	}
}

void judge_links(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *link = &f->link[i];

		for (unsigned j = 0; j < link->n_losses; j++)
			judge_loss_of(f, out, link, &link->loss[j]);
		judge_qdisc(f, out, link);
		judge_filters(f, out, link);
		judge_delays(f, out, link);
		judge_settings(f, out, link);
	}
}

#define AT_LIMIT   0.8	/* of a CPU in softirq: little is left for anything else */
#define MUCH_IDLE  0.5	/* a CPU that could take work */
#define STEAL_MUCH 0.05 /* of all CPUs */
#define SLOW_CLOCK 0.9	/* of the highest frequency */
#define IRQ_SHARE  0.1	/* of an interface's interrupts: a queue that carries something */

/* Whether it is of a receive queue; drivers that call theirs otherwise are given the doubt. */
static bool carries(const struct facts_link *link, const struct facts_irq *irq)
{
	for (unsigned i = 0; i < link->n_irqs; i++) {
		if (irq_receives(&link->irq[i]))
			return irq_receives(irq);
	}
	return true;
}

/*
 * A queue that is never empty is polled without end, and its interrupt stays off: then where it
 * would go shows who polls it.
 */
static bool polled_on(const struct facts_link *link, const struct facts_irq *irq, unsigned cpu)
{
	return !irq->fired && link->rx_packets && irq->target == (int)cpu && carries(link, irq);
}

/* Queues of a link that a CPU serves, and the least busy of them. */
static unsigned irqs_on(const struct facts_link *link, unsigned cpu, const struct facts_irq **least,
			char *list, size_t size)
{
	uint64_t all = 0;
	unsigned n = 0;
	size_t at = 0;

	for (unsigned i = 0; i < link->n_irqs; i++)
		all += carries(link, &link->irq[i]) ? link->irq[i].fired : 0;
	list[0] = '\0';
	for (unsigned i = 0; i < link->n_irqs; i++) {
		const struct facts_irq *irq = &link->irq[i];

		if (!carries(link, irq) || irq->moving ||
		    (all ? irq->cpu != (int)cpu || (double)irq->fired < IRQ_SHARE * (double)all
			 : !polled_on(link, irq, cpu)))
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
 * The hardware interface whose interrupts this CPU serves, else the one that it polls without end,
 * of several the busiest; NULL: none.
 */
static const struct facts_link *served_by(const struct facts *f, unsigned cpu)
{
	const struct facts_link *best = NULL, *polled = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		for (unsigned j = 0; j < l->n_irqs; j++) {
			const struct facts_irq *irq = &l->irq[j];

			if (irq->cpu == (int)cpu && irq->fired > most) {
				best = l;
				most = irq->fired;
			}
			if (polled_on(l, irq, cpu) &&
			    (!polled || l->rx_packets > polled->rx_packets))
				polled = l;
		}
	}
	return best ? best : polled;
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

/* A mask as sysfs writes it, of all CPUs online but one: "f,ffffffff". */
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

/* Which of the ways to spread the work is open, and what it needs to know. */
static const char *remedy(const struct facts *f, const struct facts_link *link, unsigned cpu,
			  struct binds *b)
{
	const struct netdev_settings *s = &link->set;
	bool combined = s->channels.combined_max;
	unsigned max = combined ? s->channels.combined_max : s->channels.rx_max;
	unsigned now = combined ? s->channels.combined : s->channels.rx;
	unsigned wanted = max < f->cpus.online ? max : f->cpus.online;
	const struct facts_irq *least = NULL;
	int idle = idlest(f);
	char list[96], mask[JOURNAL_VALUE_SIZE];
	unsigned irqs;

	bind_text(b, "ifname", link->dev.link.ifname);
	bind_count(b, "queues", now);
	if (s->channels.known && now && now < wanted) {
		bind_count(b, "queues_max", max);
		bind_count(b, "queues_wanted", wanted);
		bind_text(b, "channel", combined ? "combined" : "rx");
		return "nic-queues";
	}
	if (s->rss.known && s->channels.known && s->rss.used < now) {
		bind_count(b, "rss_used", s->rss.used);
		return "nic-rss";
	}
	irqs = irqs_on(link, cpu, &least, list, sizeof(list));
	if (irqs > 1 && idle >= 0) {
		bind_count(b, "irqs", irqs);
		bind_text(b, "irq_list", list);
		bind_count(b, "irq", least->irq);
		bind_zero(b, "idle_cpu", (uint64_t)idle);
		return "nic-irq";
	}
	if (f->cpus.online > 1 && *link->rps_cpus && now <= 1 &&
	    link->rps_cpus[strspn(link->rps_cpus, "0,")] == '\0') {
		mask_without(f, cpu, mask, sizeof(mask));
		bind_text(b, "rps", link->rps_cpus);
		bind_text(b, "rps_wanted", mask);
		return "nic-rps";
	}
	return "cpu-softirq";
}

static void judge_busy(const struct facts *f, struct check_findings *out, unsigned cpu)
{
	const struct facts_link *link = served_by(f, cpu);
	char name[COUNTER_NAME_LEN];
	struct binds b = {};
	const char *id = link ? remedy(f, link, cpu, &b) : "cpu-softirq";
	struct about about = {.scope = CHECK_HOST};

	snprintf(name, sizeof(name), "softnet:cpu%u:processed", cpu);
	bind_zero(&b, "cpu", cpu);
	bind_count(&b, "cpus", f->cpus.online);
	bind_percent(&b, "softirq", f->cpus.at[cpu].softirq);
	bind_time(&b, "window", f->window_ns);
	bind_rate(&b, "processed",
		  (double)facts_moved(f, FACTS_HOST, name) * 1e9 / (double)f->window_ns);
	judge_state(out, f, id, link ? about_link(link, 0) : about, &b);
}

/* Losses that a faster kernel would not have had. */
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
	uint64_t squeezed = judge_softnet(f, "time_squeeze", false);
	struct change time = {.kind = CHANGE_SYSCTL};
	struct binds b = {};
	struct check_finding *c;

	if (!squeezed || !f->stack.budget || !kernel_was_late(f))
		return;
	bind_count(&b, "squeezed", squeezed);
	bind_time(&b, "window", f->window_ns);
	bind_count(&b, "budget", f->stack.budget);
	bind_count(&b, "budget_wanted", f->stack.budget * 2);
	bind_count(&b, "budget_usecs", f->stack.budget_usecs);
	bind_count(&b, "budget_usecs_wanted", f->stack.budget_usecs * 2);
	c = judge_state(out, f, "cpu-budget", (struct about){.scope = CHECK_HOST}, &b);
	if (!f->stack.budget_usecs)
		return;
	/* Either of the two may have ended it (net_rx_action()). */
	snprintf(time.name, sizeof(time.name), "net/core/netdev_budget_usecs");
	snprintf(time.old, sizeof(time.old), "%" PRIu64, f->stack.budget_usecs);
	snprintf(time.wanted, sizeof(time.wanted), "%" PRIu64, f->stack.budget_usecs * 2);
	judge_add_change(c, &time);
}

/* Every CPU that is slowed down gets its change. */
static void judge_governor(const struct facts *f, struct check_findings *out)
{
	struct check_finding *c = NULL;

	if (!kernel_was_late(f) && !facts_moved(f, FACTS_HERE, "Udp:RcvbufErrors") &&
	    !facts_moved(f, FACTS_HERE, "Udp6RcvbufErrors"))
		return;
	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];
		struct change change = {.kind = CHANGE_GOVERNOR, .wanted = "performance"};
		struct binds b = {};

		if (!cpu->online || !*cpu->governor || !strcmp(cpu->governor, "performance") ||
		    !cpu->mhz || cpu->mhz >= SLOW_CLOCK * cpu->mhz_max)
			continue;
		if (c) {
			snprintf(change.name, sizeof(change.name), "%u", i);
			snprintf(change.old, sizeof(change.old), "%s", cpu->governor);
			judge_add_change(c, &change);
			continue;
		}
		bind_zero(&b, "cpu", i);
		bind_count(&b, "mhz", cpu->mhz);
		bind_count(&b, "mhz_max", cpu->mhz_max);
		bind_text(&b, "governor", cpu->governor);
		c = judge_state(out, f, "cpu-governor", (struct about){.scope = CHECK_HOST}, &b);
	}
}

void judge_cpus(const struct facts *f, struct check_findings *out)
{
	struct binds b = {};

	for (unsigned i = 0; i < f->cpus.n; i++) {
		if (f->cpus.at[i].ticked && f->cpus.at[i].softirq >= AT_LIMIT)
			judge_busy(f, out, i);
	}
	judge_budget(f, out);
	judge_governor(f, out);
	if (f->cpus.steal < STEAL_MUCH)
		return;
	bind_percent(&b, "steal", f->cpus.steal);
	bind_time(&b, "window", f->window_ns);
	judge_state(out, f, "cpu-steal", (struct about){.scope = CHECK_HOST}, &b);
}
