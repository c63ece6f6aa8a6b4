// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/judge_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
	const struct about about = {link ? CHECK_INTERFACE : CHECK_HOST,
				    link ? link->dev.ifname : NULL, 0};
	char name[COUNTER_NAME_LEN];
	struct binds b = {.n = 0};
	const char *id = link ? remedy(f, link, cpu, &b) : "cpu-softirq";

	snprintf(name, sizeof(name), "softnet:cpu%u:processed", cpu);
	bind_zero(&b, "cpu", cpu);
	bind_count(&b, "cpus", f->cpus.online);
	bind_percent(&b, "softirq", f->cpus.at[cpu].softirq);
	bind_time(&b, "window", f->window_ns);
	bind_rate(&b, "processed",
		  (double)facts_moved(f, FACTS_HOST, name) * 1e9 / (double)f->window_ns);
	judge_state(out, f, id, &about, &b);
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
	const struct about about = {.scope = CHECK_HOST};
	uint64_t squeezed = judge_softnet(f, "time_squeeze", false);
	struct change time = {.kind = CHANGE_SYSCTL};
	struct binds b = {.n = 0};
	struct check_finding *c;

	if (!squeezed || !f->stack.budget || !kernel_was_late(f))
		return;
	bind_count(&b, "squeezed", squeezed);
	bind_time(&b, "window", f->window_ns);
	bind_count(&b, "budget", f->stack.budget);
	bind_count(&b, "budget_wanted", f->stack.budget * 2);
	bind_count(&b, "budget_usecs", f->stack.budget_usecs);
	bind_count(&b, "budget_usecs_wanted", f->stack.budget_usecs * 2);
	c = judge_state(out, f, "cpu-budget", &about, &b);
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
	const struct about about = {.scope = CHECK_HOST};
	struct check_finding *c = NULL;

	if (!kernel_was_late(f) && !reader_was_late(f))
		return;
	for (unsigned i = 0; i < f->cpus.n; i++) {
		const struct facts_cpu *cpu = &f->cpus.at[i];
		struct change change = {.kind = CHANGE_GOVERNOR, .wanted = "performance"};
		struct binds b = {.n = 0};

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
		c = judge_state(out, f, "cpu-governor", &about, &b);
	}
}

static void judge_steal(const struct facts *f, struct check_findings *out)
{
	const struct about about = {.scope = CHECK_HOST};
	struct binds b = {.n = 0};

	if (f->cpus.steal < STEAL_MUCH)
		return;
	bind_percent(&b, "steal", f->cpus.steal);
	bind_time(&b, "window", f->window_ns);
	judge_state(out, f, "cpu-steal", &about, &b);
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
