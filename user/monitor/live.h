/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collects this host's losses live, with one collector and one clock, into a model of the
 * observations. `trace`, `top` and `export` print the model. Nothing is printed here.
 *
 *	live_open() .. live_start() .. live_tick() .. live_collect() .. live_close()
 *
 * The model is a set of tables with rows (monitor/table.h). Rows are as detailed as the spec
 * requests. table_group() groups rows for display by any list of fields. Not thread-safe.
 */
#ifndef PKTLEDGER_MONITOR_LIVE_H
#define PKTLEDGER_MONITOR_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/record.h"
#include "drops/owners.h"
#include "drops/packet_text.h"
#include "drops/watch.h"
#include "monitor/table.h"

struct live;

/* Selects which packets to observe and in how much detail. Strings are borrowed. Zero-initialised:
 * all drops. */
struct live_spec {
	unsigned by;	   /* LIVE_BIT()s of the fields that separate rows, 0: LIVE_BY_DEFAULT */
	unsigned total_by; /* subset of `by` for live_total(), which saves memory in long runs,
			    * 0: same as `by` */
	bool senders;	   /* also look up the sending socket if the packet was not dropped by a
			    * socket */
	bool consumed;	   /* also report losses freed with consume_skb(), which inspects each
			    * freed packet */
	uint32_t snaplen;  /* bytes per drop sample for live_open_drops(), 0: no samples */
	bool few_samples;  /* take samples only while live_sampling(), and do not count overflows
			    * as missed events */
	bool stack;	   /* include the kernel stack in samples */
	uint64_t burst_ns; /* ns, length of the windows in live_row.burst, 0: no windows */
	const char *expr;  /* libpcap filter, NULL: all packets */
	bool inner;    /* `expr` and flows apply to packets inside tunnels (include/headers.h) */
	bool followed; /* as in watch_spec, a balance tracks fragments and NAT for `expr` */
	bool unfragmented;   /* as in watch_spec */
	const char *netns;   /* name, path, or inode number, NULL: all */
	const char *ifname;  /* interface in `netns`, or in the caller's namespace, NULL: all */
	const char *reasons; /* comma-separated names, NULL: all */
	uint64_t stages;     /* bit set of enum stage, 0: all */
	pid_t pid;	     /* sockets of this process, as sender or receiver, 0: all */
	const char *cgroup; /* sockets of this cgroup and its descendants, in the format of
			     * owner.cgroup, NULL: all */
	/* Names processes, containers and namespaces. May be NULL unless `pid` is set, and then
	 * only numbers are shown. */
	struct owners *owners;
};

/* Events that the collector missed or ignored, and its overhead, since live_start(). */
struct live_own {
	struct watch_state watch;
	uint64_t events;      /* all of the observer's events, without packets that the filter in
			       * the kernel rejected */
	uint64_t ignored;     /* ignored parts of merged packets and messages between processes,
			       * included in `events` */
	uint64_t map_bytes;   /* bpfmaps_bytes() at live_start() */
	uint64_t unplaced;    /* events with unknown namespace while a namespace filter is set */
	uint64_t rows_merged; /* rows that were merged into a row of "others" */
	uint64_t cpu_ns;      /* user and system time of this process */
	uint64_t collect_ns;  /* how long the last live_collect() took */
	uint64_t paused_ns;   /* time between live_pause() and live_resume() */
	bool no_places;	      /* CAP_SYSLOG is missing, so kernel functions cannot be named */
	bool no_reasons;      /* the kernel has no drop reasons (before Linux 5.17) */
	bool no_sockets;      /* the kernel does not report which socket dropped the packet
			       * (before Linux 6.11) */
};

/*
 * An additional source of losses, such as NIC counters. Functions may be NULL. At the end of an
 * interval, all sources' sample() functions run first. Then the observer's drops are read and
 * passed to claims() and note(), and finally collect() runs. Therefore a counter that sample()
 * reads never includes a packet with an unread event.
 */
struct live_source {
	int (*start)(void *arg, struct error *err); /* called when counting drops has started */
	void (*sample)(void *arg);
	/* Returns true if this source reports these packets itself, which removes the row. May be
	 * called more than once for an entry. */
	bool (*claims)(void *arg, const struct watch_entry *e, const struct live_row *row);
	/* Called once per packet, for sources that subtract events from counters. */
	void (*note)(void *arg, const struct watch_entry *e, const struct live_row *row);
	void (*collect)(void *arg, struct live *l); /* passes rows to live_add() */
	void *arg;
};

/*
 * Resolves names and loads the programs. STATUS_USAGE: unknown reason (suggests the nearest),
 * namespace, interface or process. STATUS_UNABLE: not possible with this kernel or these
 * capabilities. `err` names the cause. Call live_close() in any case.
 */
int live_open(struct live **l, const struct live_spec *spec, struct error *err);

/* Registers a source. Call this before live_start(). `s` is copied. */
void live_add_source(struct live *l, const struct live_source *s);

/* Starts counting and the clock. */
int live_start(struct live *l, struct error *err);

/* Discards drops counted since live_start(), for callers that start later. Returns 0 or -errno. */
int live_discard(struct live *l);

/*
 * Stops counting drops now. Another call moves the end to a later moment. For callers that end
 * before the collector does. Returns 0 or -errno.
 */
int live_mark(struct live *l);

/*
 * live_pause() detaches the programs, so that they use no CPU time and count nothing, and
 * live_resume() attaches them again. Do not use them during a balance. live_resume() returns 0 or
 * -errno.
 */
void live_pause(struct live *l);
int live_resume(struct live *l);

/*
 * Looks up the owners of sockets that have just lost packets. Call this several times per second.
 */
void live_tick(struct live *l);

/* Ends an interval and starts the next one. Returns 0 or -errno. Data that could not be read
 * becomes part of the next interval. */
int live_collect(struct live *l, struct error *err);

/*
 * Marks the next live_collect() as the last one. Counting and sampling stop here, so that counts
 * and samples cover the same packets.
 */
void live_last(struct live *l);

/* Adds a source's row to this interval and to the total. Strings are copied. */
void live_add(struct live *l, const struct live_row *row);

/*
 * Returns ns from live_start() to the last live_collect(), and the length of the interval that it
 * ended.
 */
uint64_t live_time(const struct live *l, uint64_t *interval_ns);

/*
 * Return the rows of the last interval and of the whole run, valid until the next live_collect().
 */
const struct live_table *live_interval(const struct live *l);
const struct live_table *live_total(const struct live *l);

/* Sets the row's socket, for sources that know which socket it is. live_socket() then finds it. */
void live_keep_socket(struct live *l, struct live_row *row, const struct watch_sock *sock);

/* Looks up a row's socket (row->cookie). Returns 0 or -ENOENT. */
int live_socket(const struct live *l, const struct live_row *row, struct watch_sock *out);

/*
 * Returns true if the spec's namespace or interface no longer exists, or if its name now belongs to
 * another object, so that nothing more can be observed. `what` names it, for example "interface
 * eth1".
 */
bool live_gone(const struct live *l, char *what, size_t size);

/* The collector's parts that other modules use, valid after live_open(). */
struct live_parts {
	struct ksyms *ksyms; /* kernel function names, NULL: not available */
	struct reasons *reasons;
	struct watch *watch;		  /* the drop observer */
	uint32_t netns;			  /* the spec's namespace, 0: no namespace filter */
	const struct filter_inner *inner; /* as in watch_spec */
	struct nat *nat;		  /* NULL: NAT is not tracked */
	bool knows_sockets;		  /* watch_knows_sockets() */
	struct trace_places places;	  /* valid after live_start() */
	uint64_t start_ns;		  /* ktime_now() at live_start() */
	struct owners *owners;		  /* the spec's owners */
	const struct filter *filter;	  /* compiled form of spec.expr, NULL: no filter */
	bool last; /* the current or most recent collection is the last one */
};
struct live_parts live_parts(const struct live *l);

void live_own(const struct live *l, struct live_own *own);

/*
 * Rows of struct live_own: events that the collector missed or could not tell apart (RECORD_UINT),
 * then what this host does not let it observe (RECORD_BOOL).
 */
extern const struct record_field live_missed_rows[];

/* Opens the namespace in `spec`, or the thread's own. Close it with netns_close(). STATUS_FAILED:
 * not found. */
int live_netns(const struct live_spec *spec, struct netns *ns, struct error *err);

/*
 * Reopens the spec's namespace, which must not be NULL. Close it with netns_close(). Returns
 * -ENOENT and sets *ns to NETNS_NONE if the namespace no longer exists or if another namespace took
 * over its name.
 */
int live_netns_again(const struct live *l, struct netns *ns);

/* Stops and frees the collector. NULL is allowed. */
void live_close(struct live *l);

/*
 * Single drops. Converts samples to rows with their packets, described in the same way as in the
 * tables.
 */

/*
 * Bytes kept per packet by default, which is enough for the headers of any UDP or TCP packet and
 * the sequence header. Only these headers are shown.
 */
#define LIVE_SNAPLEN 128

struct described; /* monitor/describe.h */

struct live_drop {
	const struct described *what; /* counts for this packet only */
	const struct watch_key *key;
	uint64_t time_ns;     /* ns since live_start() */
	uint64_t realtime_ns; /* ns, CLOCK_REALTIME */
	struct packet_view packet;
	const uint64_t *stack; /* return addresses, beginning at the drop site */
	unsigned frames;       /* 0: not requested, or not available */
	const struct ksyms *ksyms;
};

/* Receives one drop. Its pointers are valid until the function returns. */
typedef void live_each_drop(void *arg, const struct live_drop *drop);

/* Opens the samples of a collector that was opened with spec.snaplen. `payload`: keep more than the
 * headers. `expected`: also report expected drops. */
int live_open_drops(struct live *l, bool payload, bool expected, live_each_drop *each, void *arg,
		    struct error *err);

/* Starts or stops sampling, with spec.few_samples. */
void live_sampling(struct live *l, bool on);

/* Reads samples as watch_read_samples() does. */
int64_t live_read_drops(struct live *l, uint64_t budget_ns);

#endif
