/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the findings say of the reader of a socket. */
#ifndef PKTLEDGER_DIAGNOSIS_READING_TOLD_H
#define PKTLEDGER_DIAGNOSIS_READING_TOLD_H

#include "diagnosis/findings.h"
#include "diagnosis/reading.h"

#define READING_TOLD 128

/*
 * Sets the facts about the reader, its name and how full its queue was. `f` borrows from `r`, and
 * `buf`, which gets the name.
 */
void reading_tell(const struct reading *r, char buf[READING_TOLD], struct finding_facts *f);

#endif
