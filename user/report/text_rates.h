/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The counters of the path for people (trace --counters): devices, queues, what moved. */
#ifndef PKTLEDGER_REPORT_TEXT_RATES_H
#define PKTLEDGER_REPORT_TEXT_RATES_H

#include <stdbool.h>
#include <stdio.h>

#include "monitor/rates.h"

/* One sample, 80 columns. `all`: what did not move too. Nothing if there is but one sample. */
void text_rates(FILE *out, const struct rates *r, bool colour, bool all);

#endif
