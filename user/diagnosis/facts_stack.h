/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Limits of the network stack beside what they limit. 0: not known, where a 0 has no meaning. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_STACK_H
#define PKTLEDGER_DIAGNOSIS_FACTS_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "host/netns.h"

/* Counters that are in no other place; both samples have them. */
struct stack_sample {
	uint64_t conntrack_drops; /* no room in the table, or no memory: drop + early_drop */
	uint64_t nfqueue_drops;	  /* packets that a queue to user space had no room for */
	uint64_t ovs_lost;	  /* packets that Open vSwitch could not give to its daemon */
};

enum { STACK_V4, STACK_V6, STACK_FAMILIES };

struct facts_stack {
	uint64_t rmem_default, rmem_max, wmem_default, wmem_max;
	uint64_t udp_mem[3], udp_pages; /* pages; limits and use, both of the whole host */
	uint64_t page_bytes;
	uint64_t max_backlog, budget, budget_usecs;
	uint64_t flow_entries; /* rps_sock_flow_entries */
	bool flow_entries_known;
	char flow_limit_cpus[128]; /* flow_limit_cpu_bitmap */
	uint64_t conntrack, conntrack_max;
	uint64_t frag_high[STACK_FAMILIES], frag_memory[STACK_FAMILIES];     /* bytes */
	uint64_t neighbours[STACK_FAMILIES], neighbours_max[STACK_FAMILIES]; /* gc_thresh3 */

	struct stack_sample before, after;
};

/* A number behind a word in a line of sockstat: ("FRAG", "memory"). */
bool sockstat_value(const char *text, const char *group, const char *word, uint64_t *value);

/* A column of /proc/net/stat/..., hexadecimal: its first line, or the sum of all CPUs. */
bool stat_column(const char *text, const char *column, bool sum, uint64_t *value);

/* queue_dropped of all lines of /proc/net/netfilter/nfnetlink_queue (seq_show()). */
uint64_t nfqueue_drops(const char *text);

/* `host`: the namespace that has the host's own settings; those of others are read in `ns`. */
void facts_stack_read(const struct netns *ns, const struct netns *host, struct facts_stack *stack);

void stack_sample_read(const struct netns *ns, struct stack_sample *sample);

#endif
