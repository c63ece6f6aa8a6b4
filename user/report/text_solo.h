/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* send and recv for people. */
#ifndef PKTLEDGER_REPORT_TEXT_SOLO_H
#define PKTLEDGER_REPORT_TEXT_SOLO_H

#include <stdio.h>

#include "experiment/experiment.h"

void text_send(FILE *out, const struct result *res);
void text_recv(FILE *out, const struct recv_result *r);

#endif
