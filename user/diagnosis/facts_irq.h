/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which CPU handles the interrupts of an interface. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_IRQ_H
#define PKTLEDGER_DIAGNOSIS_FACTS_IRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

#define FACTS_IRQS 128 /* of one interface */

struct facts_irq {
	unsigned irq;
	uint64_t fired;	  /* in the window, on all CPUs */
	int cpu;	  /* that took the most of them; -1: none fired */
	uint64_t most;	  /* how many it took */
	int target;	  /* the CPU that it is sent to; -1: not known, or several */
	bool moving;	  /* to another one, with the next interrupt: while polled it has none */
	char allowed[32]; /* CPUs that it may be sent to, as "0-3,8"; "": not known */
	char name[48];	  /* the driver's: "eth0-TxRx-3", "virtio2-input.0" */
};

/*
 * The numbers of an interface's interrupts, from the directory msi_irqs of its device (or of the
 * device that a virtio one sits on). Returns how many, 0: none known.
 */
unsigned irq_numbers(const struct netns *ns, const char *ifname, unsigned *irq, unsigned max);

/*
 * How often each of the `n` interrupts fired between two texts of /proc/interrupts, and where. A
 * line without a count for every CPU is left out. Returns how many of them were found, at most
 * FACTS_IRQS; 0 too if a CPU came or went between the two.
 */
unsigned irq_rates(const char *before, const char *after, const unsigned *irq, unsigned n,
		   struct facts_irq *out);

/* Sets `target`, `moving` and `allowed`, from /proc/irq. `root`: proc_root(). */
void irq_affinities(int root, struct facts_irq *irq, unsigned n);

/* Whether it is one of a receive queue, as drivers call theirs. */
bool irq_receives(const struct facts_irq *irq);

#endif
