// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "diagnosis/facts.h"
#include "host/counters.h"
#include "host/nl.h"

bool sockstat_value(const char *text, const char *group, const char *word, uint64_t *value)
{
	size_t len = strlen(group);

	for (const char *line = text; line; line = next_line(line)) {
		char name[32];
		int n;

		if (strncmp(line, group, len) || line[len] != ':')
			continue;
		for (const char *p = line + len + 1;
		     sscanf(p, " %31[^ \n] %" SCNu64 "%n", name, value, &n) == 2; p += n) {
			if (!strcmp(name, word))
				return true;
		}
	}
	return false;
}

uint64_t nfqueue_drops(const char *text)
{
	uint64_t sum = 0;

	for (const char *line = text; line; line = next_line(line)) {
		uint64_t dropped;

		if (sscanf(line, "%*u %*u %*u %*u %*u %" SCNu64, &dropped) == 1)
			sum += dropped;
	}
	return sum;
}

/* Reads a number, or 0 if the sysctl does not exist. */
static uint64_t sysctl_number(const struct netns *ns, const char *path)
{
	uint64_t v;

	netns_sysctl_numbers(ns, path, &v, 1);
	return v;
}

/* Reads the namespace's value or, on older kernels, the host's. */
static uint64_t either(const struct netns *ns, const struct netns *host, const char *path)
{
	uint64_t v = sysctl_number(ns, path);

	return v ? v : sysctl_number(host, path);
}

char *facts_net_text(const struct netns *ns, const char *file)
{
	char path[96], *text = NULL;
	int saved = netns_push(ns);

	snprintf(path, sizeof(path), "/proc/thread-self/net/%s", file);
	if (saved >= 0)
		file_read(path, &text, NULL);
	netns_pop(saved);
	return text;
}

/* Reads one value from a file under /proc/net. */
static uint64_t sockstat(const struct netns *ns, const char *file, const char *group,
			 const char *word)
{
	char *text = facts_net_text(ns, file);
	uint64_t v;
	bool found = text && sockstat_value(text, group, word, &v);

	free(text);
	return found ? v : 0;
}

/* Returns the number of entries. Each CPU's line shows the whole table. */
static uint64_t entries(const struct netns *ns, const char *file)
{
	char *text = facts_net_text(ns, file);
	uint64_t v;
	bool found = text && procnet_column(text, strlen(text), "entries", false, &v);

	free(text);
	return found ? v : 0;
}

bool stack_udp_pages(const struct netns *ns, uint64_t *pages)
{
	char *text = facts_net_text(ns, "sockstat");
	const bool known = text && sockstat_value(text, "UDP", "mem", pages);

	free(text);
	return known;
}

void facts_stack_read(const struct netns *ns, const struct netns *host, struct facts_stack *stack)
{
	stack->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	stack->max_backlog = sysctl_number(host, "net/core/netdev_max_backlog");
	stack->budget = sysctl_number(host, "net/core/netdev_budget");
	stack->budget_usecs = sysctl_number(host, "net/core/netdev_budget_usecs");
	if (netns_sysctl(host, "net/core/flow_limit_cpu_bitmap", NULL, stack->flow_limit_cpus,
			 sizeof(stack->flow_limit_cpus)))
		stack->flow_limit_cpus[0] = '\0';
	netns_sysctl_numbers(host, "net/ipv4/udp_mem", stack->udp_mem, 3);
	stack->neighbours_max[STACK_V4] = sysctl_number(host, "net/ipv4/neigh/default/gc_thresh3");
	stack->neighbours_max[STACK_V6] = sysctl_number(host, "net/ipv6/neigh/default/gc_thresh3");
	stack->rmem_default = either(ns, host, "net/core/rmem_default");
	stack->rmem_max = either(ns, host, "net/core/rmem_max");
	stack->wmem_default = either(ns, host, "net/core/wmem_default");
	stack->wmem_max = either(ns, host, "net/core/wmem_max");
	stack->somaxconn = sysctl_number(ns, "net/core/somaxconn");
	stack->conntrack = sysctl_number(ns, "net/netfilter/nf_conntrack_count");
	stack->conntrack_max = sysctl_number(ns, "net/netfilter/nf_conntrack_max");
	stack->frag_high[STACK_V4] = sysctl_number(ns, "net/ipv4/ipfrag_high_thresh");
	stack->frag_high[STACK_V6] = sysctl_number(ns, "net/ipv6/ip6frag_high_thresh");
	stack->udp_pages = sockstat(ns, "sockstat", "UDP", "mem");
	stack->frag_memory[STACK_V4] = sockstat(ns, "sockstat", "FRAG", "memory");
	stack->frag_memory[STACK_V6] = sockstat(ns, "sockstat6", "FRAG6", "memory");
	stack->neighbours[STACK_V4] = entries(host, "stat/arp_cache");
	stack->neighbours[STACK_V6] = entries(host, "stat/ndisc_cache");
}

void stack_conntrack_parse(const char *text, struct stack_sample *sample)
{
	static const char *const names[] = {"drop", "insert_failed", "chaintoolong"};
	uint64_t n[LENGTH(names)] = {};

	for (unsigned i = 0; i < LENGTH(names); i++)
		procnet_column(text, strlen(text), names[i], true, &n[i]);
	/*
	 * `drop` includes both. A chain that is too long counts as a failed insert but not as a
	 * drop
	 */
	sample->conntrack_clashes = smaller(n[1] - smaller(n[1], n[2]), n[0]);
	sample->conntrack_drops = n[0] - sample->conntrack_clashes;
}

void stack_sample_read(const struct netns *ns, struct stack_sample *sample)
{
	char *conntrack = facts_net_text(ns, "stat/nf_conntrack");
	char *queues = facts_net_text(ns, "netfilter/nfnetlink_queue");

	memset(sample, 0, sizeof(*sample));
	stack_conntrack_parse(conntrack ? conntrack : "", sample);
	sample->nfqueue_drops = nfqueue_drops(queues);
	free(conntrack);
	free(queues);
}
