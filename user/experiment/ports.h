/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between which ports an experiment runs, and how fast it may. */
#ifndef PKTLEDGER_EXPERIMENT_PORTS_H
#define PKTLEDGER_EXPERIMENT_PORTS_H

#include "host/lab.h"
#include "experiment/experiment.h"

/*
 * Opens the ports that `spec` names: an anonymous lab as the faults need it, a named one, or two
 * ports of this host (seen as a lab of two ports, which lab_close() leaves as they are).
 */
int ports_open(const struct run_spec *spec, const struct fault_effects *fx, struct lab *lab,
	       struct error *err);

/* The rate in packets/s; 0: unthrottled. */
int ports_rate(const struct run_spec *spec, double *pps, struct error *err);

#endif
