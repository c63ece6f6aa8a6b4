/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ring in which the observer of all traffic leaves samples of dropped packets. */
#ifndef PKTLEDGER_DROPS_SAMPLES_H
#define PKTLEDGER_DROPS_SAMPLES_H

#include <stdint.h>

#include "base/err.h"
#include "sample_abi.h"

#define SAMPLES_RING (16u << 20) /* bytes; a sample takes 72 and what is kept of its packet */

struct samples;

/*
 * `stack`: sample->frames addresses; `bytes`: sample->len of the packet, with its VLAN tag in
 * place. All live until it returns.
 */
typedef void samples_each(void *arg, const struct sample *sample, const uint64_t *stack,
			  const uint8_t *bytes);

/* `fd`: watch_samples(), borrowed. 0 or -errno. */
int samples_open(struct samples **s, int fd, samples_each *each, void *arg, struct error *err);

/*
 * Calls `each` for what has come since, oldest first, for as long as `budget_ns`; what is left is
 * for the next call. 0: for all that is there when it is called. Returns how many, or -errno.
 */
int64_t samples_read(struct samples *s, uint64_t budget_ns);

/* NULL is allowed. */
void samples_close(struct samples *s);

#endif
