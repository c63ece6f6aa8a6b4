/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs of the faults are told, and which of them are needed. */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_CONFIG_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_CONFIG_H

#include "experiment/faults/fault_prog.h"

/* `any`: all UDP is to suffer, not only the flow. */
struct fault_config fault_config(const struct fault_list *list, const struct fault_effects *fx,
				 bool any);
struct fault_programs fault_programs(const struct fault_list *list, const struct fault_effects *fx);

#endif
