/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_TRACE_LOAD_H
#define PKTLEDGER_TRACE_LOAD_H

#include <stdbool.h>

#include "base/err.h"

/*
 * Why a tracing program could not be loaded or attached; `rc`: -errno, returned. Who loads it in
 * several ways calls log_libbpf_clear() before each.
 */
int trace_load_error(struct error *err, int rc);

/* It may be loaded in another way: what is wanting are not descriptors, memory or permission. */
bool trace_load_again(int rc);

/* The highest number of a possible CPU + 1: bpf_get_smp_processor_id() is below it. */
unsigned trace_cpus(void);

#endif
