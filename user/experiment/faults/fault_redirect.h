/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the XDP program of a fault redirects to: devices and maps that lose what they get. */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_REDIRECT_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_REDIRECT_H

#include "experiment/faults/fault_prog.h"
#include "drops/drops.h"

/* Whether a fault of the list redirects. */
bool fault_redirect_wanted(const struct fault_list *list);

/* Makes what is redirected to, in the receiver's namespace, and tells the tracer's part of it. */
int fault_redirect_open(const struct fault_list *list, const struct lab *lab,
			const struct fault_prog *prog, struct drops_redirects *r,
			struct error *err);

#endif
