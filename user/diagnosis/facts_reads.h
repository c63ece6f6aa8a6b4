/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How much is read from each UDP socket, by a BPF program: no counter tells it. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_READS_H
#define PKTLEDGER_DIAGNOSIS_FACTS_READS_H

#include "diagnosis/facts_sock.h"

struct facts_reads;

/* Begins to count. -ENOENT before Linux 6.3, -EPERM without CAP_BPF and CAP_PERFMON, or -errno. */
int facts_reads_open(struct facts_reads **r);

/* Ends it: fills in `reads` of the sockets. */
void facts_reads_get(struct facts_reads *r, struct facts_socks *socks);

void facts_reads_close(struct facts_reads *r); /* NULL is allowed */

#endif
