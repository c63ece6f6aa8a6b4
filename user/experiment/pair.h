/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One experiment between this host and another: experiment_run() where spec->far is set. */
#ifndef PKTLEDGER_EXPERIMENT_PAIR_H
#define PKTLEDGER_EXPERIMENT_PAIR_H

#include "experiment/experiment.h"

/*
 * As experiment_run(). If the connection is lost the books are closed on what is known until then:
 * -EIO, and res->attempted is not 0.
 */
int pair_run(const struct run_spec *spec, const struct experiment_view *view, struct result *res,
	     struct error *err);

#endif
