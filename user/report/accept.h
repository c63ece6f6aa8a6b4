/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_REPORT_ACCEPT_H
#define PKTLEDGER_REPORT_ACCEPT_H

#include "monitor/metrics.h"

/*
 * The format that a request asks for by its field Accept (RFC 9110, 12.5.1); NULL: it has none. Of
 * those with the same weight OpenMetrics is taken if it is named; who accepts neither gets text.
 */
enum expose_format accept_format(const char *header);

#endif
