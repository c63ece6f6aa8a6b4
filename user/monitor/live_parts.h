/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the files of the collector have in common: live.c opens and answers, live_read.c reads. */
#ifndef PKTLEDGER_MONITOR_LIVE_PARTS_H
#define PKTLEDGER_MONITOR_LIVE_PARTS_H

#include <time.h>

#include "monitor/bursts.h"
#include "monitor/describe.h"
#include "monitor/entries.h"
#include "monitor/live.h"
#include "drops/filter.h"

struct live {
	struct live_spec spec;
	uint32_t netns, ifindex; /* that the spec names; 0: it names none */
	struct reasons *reasons;
	struct ksyms *ksyms;
	struct filter *filter;
	struct watch *watch;
	struct inodes *inodes; /* of the sockets of spec.pid */
	struct describer describer;
	struct live_table interval, total;
	struct live_source source[LIVE_SOURCES];
	unsigned sources;
	uint64_t start_ns, end_ns, interval_ns; /* ktime_now(); of the last interval */
	uint64_t start_cpu_ns;
	struct live_own own;
	struct watch_count uncounted; /* told so far */
	struct entries entries;	      /* of this interval, as far as it was read */
	struct bursts *bursts;	      /* NULL: windows are not told apart */
	bool bursts_told;	      /* their interval has ended */
	bool last;		      /* no interval will follow */
	int rc;			      /* while one is read */
};

#endif
