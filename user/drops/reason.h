/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and numbers of the drop reasons of the running kernel, from its BTF. The numbers differ
 * from kernel to kernel (SOCKET_RCVBUFF: 15 on 6.1, 6 on 6.18), so no other module may hard-code
 * them.
 *
 * A core reason is named by its enumerator without SKB_DROP_REASON_: "SOCKET_RCVBUFF". The upper 16
 * bits of a value are a subsystem (enum skb_drop_reason_subsys), and its reasons carry its name:
 * "openvswitch:METER", "mac80211_unusable:MIC_FAIL", "qdisc:OVERLIMIT".
 */
#ifndef PKTLEDGER_DROPS_REASON_H
#define PKTLEDGER_DROPS_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace_abi.h"

#define REASON_NAME 64 /* bytes for any name, including its NUL */

struct reasons;

/*
 * Reads the BTF file `btf_path`; NULL: BTF of the running kernel and of the modules that define
 * reasons. A kernel without reasons (before 5.17) is not an error: reasons_count() is 0. Returns 0
 * and an object to pass to reasons_free(), or -errno (STATUS_UNABLE: no BTF).
 */
int reasons_open(struct reasons **r, const char *btf_path, struct error *err);
void reasons_free(struct reasons *r);

/* Returns the number of known reasons, including subsystems. */
unsigned reasons_count(const struct reasons *r);

/* Returns their names, unsorted. The caller frees the array, the names live as long as `r`. */
const char **reasons_names(const struct reasons *r);

/*
 * Writes the name of `value` to `buf` and returns `buf`: "REASON#n" if the kernel has no name for
 * it, "" if the kernel has no reasons at all.
 */
const char *reasons_name(const struct reasons *r, uint32_t value, char *buf, unsigned size);

/* Returns the value of `name` (spelled as in reasons_name()), or -ENOENT, which no drop has. */
int reasons_value(const struct reasons *r, const char *name);

/*
 * Returns the number of arguments of a tracepoint, without the leading __data: those of the
 * function type to which the typedef btf_trace_<tracepoint> points. -ENOENT: no such tracepoint in
 * this kernel. kfree_skb has 2 (skb, location), 3 (reason, since 5.17) or 4 (rx_sk, since 6.11).
 */
int reasons_tracepoint_args(const struct reasons *r, const char *tracepoint);

/* Returns true if the kernel itself has this function, ignoring modules. */
bool reasons_has_function(const struct reasons *r, const char *name);

/* STATUS_UNABLE: this kernel has no tracepoint skb:kfree_skb. */
int reasons_kfree(const struct reasons *r, struct trace_kfree *k, struct error *err);

/* Differences of this kernel and host from the requirements of tracing. */
enum quirk {
	QUIRK_NO_FENTRY,      /* programs cannot be attached to functions */
	QUIRK_NO_REASONS,     /* drops have no reasons (before Linux 5.17) */
	QUIRK_NO_RX_SK,	      /* kfree_skb does not report which socket dropped (before 6.11) */
	QUIRK_NO_CONSUMED,    /* consume_skb does not report its caller (before 6.3) */
	QUIRK_NO_RECV_LENGTH, /* no tracepoint reports reads from sockets (before 6.3) */
	QUIRK_SUPPRESSED,     /* tracing programs are skipped while a thread of PID 1 is current */
	QUIRK_PREEMPT_RT,     /* softirqs are threads: paths and latencies differ */
	QUIRK_COUNT,
};

enum quirk_state { QUIRK_UNKNOWN, QUIRK_ABSENT, QUIRK_FOUND };

/*
 * Returns QUIRK_COUNT states, determined at the first call in the process, which takes up to
 * QUIRKS_PATIENCE_MS. A state that needs a missing capability stays unknown. To test whether
 * tracing is suppressed, a process is left to PID 1 to reap: /proc/1/task shows that a thread of it
 * slept, which must have been traced.
 */
#define QUIRKS_PATIENCE_MS 50
const enum quirk_state *quirks_found(void);

extern const struct quirk_words {
	const char *name; /* "no_fentry" */
	const char *text; /* effect of the quirk, for display */
} quirk_words[QUIRK_COUNT];

#endif
