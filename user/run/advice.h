/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A finding for every loss of a result, with the values of this host. */
#ifndef PKTLEDGER_ADVICE_H
#define PKTLEDGER_ADVICE_H

#include "run/close.h"

void advise(const struct rig *rig, const struct books *b, struct result *res);

#endif
