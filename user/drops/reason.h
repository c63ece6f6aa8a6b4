/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names and numbers of the running kernel's drop reasons, read from its BTF. The numbers differ
 * between kernels (SOCKET_RCVBUFF: 15 on 6.1, 6 on 6.18), so no other module may hard-code them.
 *
 * A core reason is named after its enumerator without SKB_DROP_REASON_: "SOCKET_RCVBUFF". The upper
 * 16 bits of a value are a subsystem (enum skb_drop_reason_subsys), whose name is part of its
 * reasons' names: "openvswitch:METER", "mac80211_unusable:MIC_FAIL", "qdisc:OVERLIMIT".
 */
#ifndef PKTLEDGER_DROPS_REASON_H
#define PKTLEDGER_DROPS_REASON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace_abi.h"

#define REASON_NAME 64 /* large enough for any name, including the NUL */

struct reasons;

/*
 * Reads the BTF file `btf_path`; NULL: the BTF of the running kernel and of the modules that define
 * reasons. A kernel without reasons (before 5.17) is not an error, and reasons_count() is then 0.
 * Returns 0 and an object to pass to reasons_free(), or -errno (STATUS_UNABLE: no BTF).
 */
int reasons_open(struct reasons **r, const char *btf_path, struct error *err);
void reasons_free(struct reasons *r); /* the running kernel's are shared, and stay */

/*
 * Starts to read the running kernel's BTF in a thread. The next reasons_open(NULL) waits for it.
 * Not while another thread calls that.
 */
void reasons_prepare(void);

/* Returns the number of known reasons, including subsystems. */
unsigned reasons_count(const struct reasons *r);

/*
 * Returns the reasons' names, unsorted. The caller frees the array; the names live as long as `r`.
 */
const char **reasons_names(const struct reasons *r);

/*
 * Writes the name of `value` to `buf` and returns `buf`: "REASON#n" if the kernel has no name for
 * it, "" if the kernel has no drop reasons at all.
 */
const char *reasons_name(const struct reasons *r, uint32_t value, char *buf, unsigned size);

/*
 * Returns the value of `name` (spelled as in reasons_name()), or -ENOENT, which is never the value
 * of a drop.
 */
int reasons_value(const struct reasons *r, const char *name);

/*
 * Writes the name of a value of enum sk_rst_reason to `buf` and returns `buf`:
 * "TCP_ABORT_ON_CLOSE"; "": unknown.
 */
const char *reasons_reset(const struct reasons *r, int value, char *buf, unsigned size);

/*
 * Returns how many arguments a tracepoint has, without the leading __data. These are the arguments
 * of the function type that the typedef btf_trace_<tracepoint> points to. -ENOENT: this kernel does
 * not have the tracepoint. kfree_skb has 2 (skb, location), 3 (reason, since 5.17) or 4 (rx_sk,
 * since 6.11).
 */
int reasons_tracepoint_args(const struct reasons *r, const char *tracepoint);

/* Returns true if the kernel itself has this function. Ignores modules. */
bool reasons_has_function(const struct reasons *r, const char *name);

/* Fills in `k`. STATUS_UNABLE: this kernel has no tracepoint skb:kfree_skb. */
int reasons_kfree(const struct reasons *r, struct trace_kfree *k, struct error *err);

/* Ways in which this kernel and host differ from what tracing requires. */
enum quirk {
	QUIRK_NO_FENTRY,      /* programs cannot be attached to functions */
	QUIRK_NO_REASONS,     /* drops have no reasons (before Linux 5.17) */
	QUIRK_NO_RX_SK,	      /* kfree_skb does not report the socket that dropped (before 6.11) */
	QUIRK_NO_CONSUMED,    /* consume_skb does not report its caller (before 6.3) */
	QUIRK_NO_RECV_LENGTH, /* no tracepoint reports reads from sockets (before 6.3) */
	QUIRK_SUPPRESSED,     /* tracing programs are skipped while a thread of PID 1 is current */
	QUIRK_PREEMPT_RT,     /* softirqs are threads: paths and latencies differ */
	QUIRK_COUNT,
};

enum quirk_state { QUIRK_UNKNOWN, QUIRK_ABSENT, QUIRK_FOUND };

/*
 * Returns QUIRK_COUNT states, determined when the process first calls this, which takes up to
 * QUIRKS_PATIENCE_MS. A state that cannot be determined without a missing capability stays unknown.
 * To test whether tracing is suppressed, it leaves a process for PID 1 to reap. /proc/1/task then
 * shows that one of PID 1's threads slept, which must have been traced.
 */
#define QUIRKS_PATIENCE_MS 50
const enum quirk_state *quirks_found(void);

void quirks_prepare(void); /* starts to determine them in a thread, for quirks_found() */

extern const struct quirk_words {
	const char *name; /* "no_fentry" */
	const char *text; /* effect of the quirk, for display */
} quirk_words[QUIRK_COUNT];

#endif
