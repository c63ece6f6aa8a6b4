/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF programs of faults: loaded as far as they are needed, attached in a lab. */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_PROG_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_PROG_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/err.h"
#include "host/lab.h"
#include "fault_abi.h"
#include "experiment/faults/fault.h"

/* tc filters of faults; those of others with a smaller number run before them. */
#define FAULT_TC_PRIORITY 100

/* Programs at tc; each has a priority of its own, in this order. */
enum fault_tc {
	FAULT_TC_MERGED, /* sends packets in again, so it is the first; at ingress, as all but two
			  */
	FAULT_TC_SLOW,	 /* takes its time */
	FAULT_TC_SPOIL,
	FAULT_TC_INGRESS_DROP,
	FAULT_TC_FRAGMENT,
	FAULT_TC_DEAF,	 /* answers nobody who asks for an address */
	FAULT_TC_UNTOLD, /* hears nothing of a smaller MTU on the way */
	FAULT_TC_KEEP,	 /* keeps all, as a host does for which it is */
	FAULT_TC_EGRESS_DROP,
	FAULT_TC_MUTE, /* at egress too: what IPv6 reports of itself does not leave */
	FAULT_TC_COUNT,
};

struct fault_programs {
	bool tc[FAULT_TC_COUNT];
	bool xdp, cpu, filter, cgroup;
};

struct fault_prog;

/* `numbers`: NULL where all UDP is to suffer. */
int fault_prog_load(struct fault_prog **prog, const struct fault_config *cfg,
		    const struct fault_programs *which, const struct fault_numbers *numbers,
		    struct error *err);

/* At the port, for as long as its namespace lives. */
int fault_prog_tc(struct fault_prog *prog, enum fault_tc which, const struct lab_port *port,
		  struct error *err);

/* Until the namespace goes, whatever becomes of `prog`. */
int fault_prog_xdp_stay(struct fault_prog *prog, const struct lab_port *port, bool generic,
			struct error *err);

/* By a link, until fault_prog_close(). next_fd: XDP program to end in, -1: XDP_PASS. */
int fault_prog_xdp(struct fault_prog *prog, const struct lab_port *port, int next_fd, bool generic,
		   struct error *err);

/* To the group that this process is in, by a link, until fault_prog_close(). */
int fault_prog_cgroup(struct fault_prog *prog, struct error *err);

int fault_prog_filter(struct fault_prog *prog, int socket, struct error *err);

/* The maps by which the XDP program redirects, and the program behind that of CPUs. */
int fault_prog_devices_fd(const struct fault_prog *prog);
int fault_prog_cpus_fd(const struct fault_prog *prog);
int fault_prog_cpu_fd(const struct fault_prog *prog);

void fault_prog_close(struct fault_prog *prog);

#endif
