/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Faults that are settings of a lab's namespaces: rules, routes, neighbours, sysctls. */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_NET_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_NET_H

#include "experiment/faults/fault.h"

int fault_net_apply(const struct fault_list *list, const struct fault_effects *fx,
		    const struct lab *lab, struct error *err);

#endif
