/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What XDP programs drop by their verdict on devices whose driver does not count it, as rows of the
 * model: a source of the collector. Native mode only; in generic mode, and where the driver counts,
 * others tell it.
 */
#ifndef PKTLEDGER_MONITOR_VERDICTROWS_H
#define PKTLEDGER_MONITOR_VERDICTROWS_H

#include "monitor/live.h"

struct verdictrows;

/*
 * The programs that are there now, in the namespace that `spec` names, else the own one. A program
 * that cannot be observed is left out: see verdictrows_gaps().
 */
int verdictrows_open(struct verdictrows **v, const struct live_spec *spec, struct error *err);
void verdictrows_close(struct verdictrows *v);

const struct live_source *verdictrows_source(struct verdictrows *v);

/* "" or why a program is not observed, one line. */
const char *verdictrows_gaps(const struct verdictrows *v);

#endif
