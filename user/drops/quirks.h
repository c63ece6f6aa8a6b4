/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* In what this kernel and host differ from what tracing would like to have. */
#ifndef PKTLEDGER_DROPS_QUIRKS_H
#define PKTLEDGER_DROPS_QUIRKS_H

enum quirk {
	QUIRK_NO_FENTRY,      /* no program may be attached to functions */
	QUIRK_NO_REASONS,     /* drops have no reasons (before Linux 5.17) */
	QUIRK_NO_RX_SK,	      /* kfree_skb does not tell which socket dropped (before 6.11) */
	QUIRK_NO_CONSUMED,    /* consume_skb does not tell its caller (before 6.3) */
	QUIRK_NO_RECV_LENGTH, /* no tracepoint tells what sockets read (before 6.3) */
	QUIRK_SUPPRESSED,     /* tracing programs are skipped while a thread of PID 1 is current */
	QUIRK_PREEMPT_RT,     /* softirqs are threads: paths and delays are others */
	QUIRK_COUNT,
};

enum quirk_state { QUIRK_UNKNOWN, QUIRK_ABSENT, QUIRK_FOUND };

/*
 * QUIRK_COUNT states, found out at the first call of the process, which takes up to
 * QUIRKS_PATIENCE_MS. What needs a capability that we do not have then stays unknown. To see
 * whether tracing is suppressed a process is left to PID 1, which has to reap it: that a thread of
 * it slept is in /proc/1/task, and must have been traced.
 */
#define QUIRKS_PATIENCE_MS 50
const enum quirk_state *quirks_found(void);

const char *quirk_name(enum quirk quirk); /* "no_fentry" */
const char *quirk_text(enum quirk quirk); /* what of it people should know. Static */

#endif
