// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <unistd.h>

#include "diagnosis/findings.h"
#include "host/netns.h"

void findings_read_host(const struct netns *ns, struct finding_facts *f)
{
	uint64_t backlog;

	netns_sysctl_numbers(ns, "net/core/rmem_max", &f->rmem_max, 1);
	netns_sysctl_numbers(NULL, "net/ipv4/udp_mem", f->udp_mem, 3);
	netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &backlog, 1);
	f->netdev_max_backlog = (unsigned)backlog;
	f->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}
