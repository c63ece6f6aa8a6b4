/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of BPF programs, bpf_ktime_get_ns(): no time namespace moves it. */
#ifndef PKTLEDGER_BASE_KTIME_H
#define PKTLEDGER_BASE_KTIME_H

#include <stdint.h>

/*
 * CLOCK_MONOTONIC of this process minus the kernel's, ns: not 0 in a time namespace only
 * (/proc/self/timens_offsets, time_namespaces(7)).
 */
int64_t ktime_offset(void);

/* Now, by the kernel's clock. */
uint64_t ktime_now(void);

#endif
