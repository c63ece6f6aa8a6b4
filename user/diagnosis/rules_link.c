// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "diagnosis/rules.h"

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
	const struct netdev_settings *s = &link->set;
	struct binds b = {.about = about_link(link, l->class == NIC_EVENT || l->cause == NIC_PAUSE
							    ? 0
							    : l->lost)};

	bind_loss(&b, f, l->counter, l->lost, l->total);
	bind_text(&b, "ifname", link->dev.ifname);
	if (s->pause.known) {
		bind_text(&b, "pause_tx", s->pause.tx ? "on" : "off");
		bind_text(&b, "pause_rx", s->pause.rx ? "on" : "off");
		bind_text(&b, "pause_wanted", s->pause.tx ? NULL : "on");
	}
	judge_state(out, f, id, &b);
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
	double filled = ring_filled(f, link, s->coalesce.rx_usecs);
	struct binds b = {.about = about_link(link, 0)};
	unsigned wanted;

	if (!s->coalesce.known || s->coalesce.adaptive_rx || filled < 0.5)
		return;
	/* At most an eighth of the ring. */
	wanted = (unsigned)(s->coalesce.rx_usecs / filled / 8);
	bind_ring(&b, f, link);
	bind_count(&b, "rx_usecs", s->coalesce.rx_usecs);
	bind_zero(&b, "rx_usecs_wanted", wanted);
	judge_state(out, f, "nic-coalesce", &b);
}

static void judge_idle(const struct facts *f, struct check_findings *out,
		       const struct facts_link *link)
{
	const struct facts_cpu *worst = NULL;
	struct binds b = {.about = about_link(link, 0)};
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
	judge_state(out, f, "cpu-idle", &b);
}

static void judge_xdp(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	struct binds b = {.about = about_link(link, 0)};

	if (link->xdp != LINK_XDP_GENERIC || !link->features_known || !link->native_xdp)
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_text(&b, "driver", link->dev.driver);
	judge_state(out, f, "xdp-generic", &b);
}

static void judge_rfs(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	struct binds b = {.about = about_link(link, 0)};

	if (!link->rps_flow_cnt || !f->stack.flow_entries_known || f->stack.flow_entries)
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_count(&b, "flow_cnt", link->rps_flow_cnt);
	/* As Documentation/networking/scaling.rst: the sum over the queues. */
	bind_count(&b, "flow_entries_wanted",
		   (uint64_t)link->rps_flow_cnt * (link->dev.rx_queues ? link->dev.rx_queues : 1));
	judge_state(out, f, "rfs-half", &b);
}

/* Told once for each port, against the largest of its bridge. */
static void judge_mtu(const struct facts *f, struct check_findings *out,
		      const struct facts_link *link)
{
	const struct facts_link *largest = NULL;
	struct binds b = {.about = about_link(link, 0)};

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
	judge_state(out, f, "mtu-mismatch", &b);
}

/* A VLAN tag may come on top (__is_skb_forwardable()). */
static void judge_peer(const struct facts *f, struct check_findings *out,
		       const struct facts_link *link)
{
	struct binds b = {.about = about_link(link, 0)};

	if (!link->peer_mtu || (link->dev.mtu <= link->peer_mtu + VLAN_HLEN &&
				link->peer_mtu <= link->dev.mtu + VLAN_HLEN))
		return;
	bind_text(&b, "ifname", link->dev.ifname);
	bind_count(&b, "mtu", link->dev.mtu);
	bind_count(&b, "other_mtu", link->peer_mtu);
	judge_state(out, f, "mtu-peer", &b);
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

static uint64_t all_fired(const struct facts_link *link)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < link->n_irqs; i++)
		all += carries(link, &link->irq[i]) ? link->irq[i].fired : 0;
	return all;
}

/*
 * A queue that is never empty is polled without end, and its interrupt stays off: then where it
 * would go tells who polls it.
 */
static bool polled_on(const struct facts_link *link, const struct facts_irq *irq, unsigned cpu)
{
	return !irq->fired && link->rx_packets && irq->target == (int)cpu && carries(link, irq);
}

/* Queues of a link that a CPU serves, and the least busy of them. */
static unsigned irqs_on(const struct facts_link *link, unsigned cpu, const struct facts_irq **least,
			char *list, size_t size)
{
	uint64_t all = all_fired(link);
	unsigned n = 0;
	size_t at = 0;

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

/* The interface that this CPU polls without end; of several the busiest. */
static const struct facts_link *polled_by(const struct facts *f, unsigned cpu)
{
	const struct facts_link *best = NULL;

	for (unsigned i = 0; i < f->n_links; i++) {
		const struct facts_link *l = &f->link[i];

		for (unsigned j = 0; j < l->n_irqs; j++) {
			if (polled_on(l, &l->irq[j], cpu) &&
			    (!best || l->rx_packets > best->rx_packets))
				best = l;
		}
	}
	return best;
}

/* The hardware interface whose interrupts this CPU serves; NULL: none. */
static const struct facts_link *served_by(const struct facts *f, unsigned cpu)
{
	const struct facts_link *best = NULL;
	uint64_t most = 0;

	for (unsigned i = 0; i < f->n_links; i++) {
		for (unsigned j = 0; j < f->link[i].n_irqs; j++) {
			const struct facts_irq *irq = &f->link[i].irq[j];

			if (irq->cpu == (int)cpu && irq->fired > most) {
				best = &f->link[i];
				most = irq->fired;
			}
		}
	}
	return best ? best : polled_by(f, cpu);
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

static bool all_zero(const char *mask)
{
	return *mask && mask[strspn(mask, "0,")] == '\0';
}

/* Which of the ways to spread the work is open, and what it needs to be told. */
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

	bind_text(b, "ifname", link->dev.ifname);
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
	if (f->cpus.online > 1 && all_zero(link->rps_cpus) && now <= 1) {
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
	struct binds b = {
		.about = {link ? CHECK_INTERFACE : CHECK_HOST, link ? link->dev.ifname : NULL, 0}};
	const char *id = link ? remedy(f, link, cpu, &b) : "cpu-softirq";

	snprintf(name, sizeof(name), "softnet:cpu%u:processed", cpu);
	bind_zero(&b, "cpu", cpu);
	bind_count(&b, "cpus", f->cpus.online);
	bind_percent(&b, "softirq", f->cpus.at[cpu].softirq);
	bind_time(&b, "window", f->window_ns);
	bind_rate(&b, "processed",
		  (double)facts_moved(f, FACTS_HOST, name) * 1e9 / (double)f->window_ns);
	judge_state(out, f, id, &b);
}

/* Losses that a faster kernel would not have had. */
static bool kernel_was_late(const struct facts *f)
{
	const struct link_loss *largest;

	if (judge_softnet(f, "dropped", false))
		return true;
	for (unsigned i = 0; i < f->n_links; i++) {
		if (facts_link_lost(&f->link[i], NIC_RING, &largest))
			return true;
	}
	return false;
}

static bool reader_was_late(const struct facts *f)
{
	return facts_moved(f, FACTS_HERE, "Udp:RcvbufErrors") ||
	       facts_moved(f, FACTS_HERE, "Udp6RcvbufErrors");
}

static void judge_budget(const struct facts *f, struct check_findings *out)
{
	uint64_t squeezed = judge_softnet(f, "time_squeeze", false);
	struct change time = {.kind = CHANGE_SYSCTL};
	struct binds b = {.about = {.scope = CHECK_HOST}};
	struct check_finding *c;

	if (!squeezed || !f->stack.budget || !kernel_was_late(f))
		return;
	bind_count(&b, "squeezed", squeezed);
	bind_time(&b, "window", f->window_ns);
	bind_count(&b, "budget", f->stack.budget);
	bind_count(&b, "budget_wanted", f->stack.budget * 2);
	bind_count(&b, "budget_usecs", f->stack.budget_usecs);
	bind_count(&b, "budget_usecs_wanted", f->stack.budget_usecs * 2);
	c = judge_state(out, f, "cpu-budget", &b);
	if (!f->stack.budget_usecs)
		return;
	/* Either of the two may have ended it (net_rx_action()). */
	snprintf(time.name, sizeof(time.name), "net/core/netdev_budget_usecs");
	snprintf(time.old, sizeof(time.old), "%" PRIu64, f->stack.budget_usecs);
	snprintf(time.wanted, sizeof(time.wanted), "%" PRIu64, f->stack.budget_usecs * 2);
	judge_add_change(out, c, &time);
}

/* Every CPU that is slowed down gets its change. */
static void judge_governor(const struct facts *f, struct check_findings *out)
{
	struct check_finding *c = NULL;

	if (!kernel_was_late(f) && !reader_was_late(f))
		return;
	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];
		struct change change = {.kind = CHANGE_GOVERNOR, .wanted = "performance"};
		struct binds b = {.about = {.scope = CHECK_HOST}};

		if (!cpu->online || !*cpu->governor || !strcmp(cpu->governor, "performance") ||
		    !cpu->mhz || cpu->mhz >= SLOW_CLOCK * cpu->mhz_max)
			continue;
		if (c) {
			snprintf(change.name, sizeof(change.name), "%u", i);
			snprintf(change.old, sizeof(change.old), "%s", cpu->governor);
			judge_add_change(out, c, &change);
			continue;
		}
		bind_zero(&b, "cpu", i);
		bind_count(&b, "mhz", cpu->mhz);
		bind_count(&b, "mhz_max", cpu->mhz_max);
		bind_text(&b, "governor", cpu->governor);
		c = judge_state(out, f, "cpu-governor", &b);
	}
}

static void judge_steal(const struct facts *f, struct check_findings *out)
{
	struct binds b = {.about = {.scope = CHECK_HOST}};

	if (f->cpus.steal < STEAL_MUCH)
		return;
	bind_percent(&b, "steal", f->cpus.steal);
	bind_time(&b, "window", f->window_ns);
	judge_state(out, f, "cpu-steal", &b);
}

void judge_cpus(const struct facts *f, struct check_findings *out)
{
	for (unsigned i = 0; i < f->cpus.n; i++) {
		if (f->cpus.at[i].ticked && f->cpus.at[i].softirq >= AT_LIMIT)
			judge_busy(f, out, i);
	}
	judge_budget(f, out);
	judge_governor(f, out);
	judge_steal(f, out);
}
