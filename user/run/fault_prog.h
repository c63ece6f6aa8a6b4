/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF programs of faults: loaded as far as they are needed, attached in a lab. */
#ifndef PKTLEDGER_FAULT_PROG_H
#define PKTLEDGER_FAULT_PROG_H

#include <linux/types.h>
#include <stdbool.h>

#include "base/err.h"
#include "host/lab.h"
#include "fault_abi.h"
#include "run/fault.h"

/* tc filters of faults; those of others with a smaller number run before them. */
#define FAULT_TC_PRIORITY 100

struct fault_programs {
	bool slow, corrupt; /* at tc ingress */
	bool xdp, filter;
};

struct fault_prog;

int fault_prog_load(struct fault_prog **prog, const struct fault_config *cfg,
		    const struct fault_programs *which, const struct fault_numbers *numbers,
		    struct error *err);

/* At tc ingress of the port, for as long as its namespace lives. */
int fault_prog_slow(struct fault_prog *prog, const struct lab_port *port, struct error *err);
int fault_prog_corrupt(struct fault_prog *prog, const struct lab_port *port, struct error *err);

/* By a link, until fault_prog_close(). next_fd: XDP program to end in, -1: XDP_PASS. */
int fault_prog_xdp(struct fault_prog *prog, const struct lab_port *port, int next_fd, bool generic,
		   struct error *err);

int fault_prog_filter(struct fault_prog *prog, int socket, struct error *err);

void fault_prog_close(struct fault_prog *prog);

#endif
