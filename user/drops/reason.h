/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and numbers of the drop reasons of the running kernel, from its BTF. The numbers differ
 * from kernel to kernel (SOCKET_RCVBUFF: 15 on 6.1, 6 on 6.18), so nothing else may know them.
 *
 * A core reason is called by its enumerator without SKB_DROP_REASON_: "SOCKET_RCVBUFF". The upper
 * 16 bits of a value name a subsystem (enum skb_drop_reason_subsys), whose reasons carry its name:
 * "openvswitch:METER", "mac80211_unusable:MIC_FAIL", "qdisc:OVERLIMIT".
 */
#ifndef PKTLEDGER_DROPS_REASON_H
#define PKTLEDGER_DROPS_REASON_H

#include <stdint.h>

#include "base/err.h"

#define REASON_NAME 64 /* bytes that hold any name, with its NUL */

struct reasons;

/*
 * Reads the BTF file `btf_path`; NULL: the running kernel's and that of the modules that have
 * reasons of their own. A kernel without reasons (before 5.17) is no error: reasons_count() is 0.
 * Returns 0 and an object to be given to reasons_free(), or -errno (STATUS_UNABLE: no BTF).
 */
int reasons_open(struct reasons **r, const char *btf_path, struct error *err);
void reasons_free(struct reasons *r);

/* Reasons known, those of subsystems included. */
unsigned reasons_count(const struct reasons *r);

/* The i-th of them, in no order, i < reasons_count(); lives as long as `r`. */
const char *reasons_at(const struct reasons *r, unsigned i, uint32_t *value);

/*
 * Writes the name of `value` to `buf` and returns `buf`: "REASON#n" if the kernel has no name for
 * it, "" if it has no reasons at all.
 */
const char *reasons_name(const struct reasons *r, uint32_t value, char *buf, unsigned size);

/* The value of `name` (spelled as reasons_name() does), or -ENOENT, which no drop has. */
int reasons_value(const struct reasons *r, const char *name);

/*
 * Arguments of a tracepoint, without the leading __data: those of the function that the typedef
 * btf_trace_<tracepoint> points to. -ENOENT: this kernel has no such tracepoint.
 */
int reasons_tracepoint_args(const struct reasons *r, const char *tracepoint);

/* kfree_skb: 2 (skb, location), 3 (reason, since 5.17) or 4 (rx_sk, since 6.11); -ENOENT. */
int reasons_kfree_args(const struct reasons *r);

#endif
