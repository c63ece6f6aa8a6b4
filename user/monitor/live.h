/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is lost on this host, live: one collector with one clock, and the model of what it saw.
 * `trace`, `top` and `export` are printers of it. Nothing is printed here.
 *
 *	live_open() .. live_start() .. live_tick() .. live_collect() .. live_close()
 *
 * The model is tables of rows (monitor/table.h). They are kept as fine as the collector was asked
 * for, and grouped for display with table_group(), by any list of fields. To be used by one thread.
 */
#ifndef PKTLEDGER_MONITOR_LIVE_H
#define PKTLEDGER_MONITOR_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "drops/owners.h"
#include "drops/packet_text.h"
#include "drops/watch.h"
#include "monitor/table.h"

/*
 * When packets were lost, in windows of a millisecond or so: which windows were the worst, and
 * whether the loss came all at once. Of an interval and of the whole, for each stage. A window
 * belongs to the interval in which it ends.
 */

#define BURSTS_WORST 10
#define BURSTS_DENSE 0.9 /* see struct burst_stage */

struct bursts;

/* A window of a stage. Begins at number * window_ns of CLOCK_MONOTONIC. */
struct burst_window {
	uint64_t number, packets;
};

struct burst_stage {
	uint64_t packets; /* the sum over its windows */
	uint64_t windows; /* in which some were lost */
	/* The fewest windows that hold BURSTS_DENSE of the packets, and how many those hold.
	 * Windows whose sizes differ by less than 3 % count as equal. */
	uint64_t dense_windows, dense_packets;
	struct burst_window worst[BURSTS_WORST]; /* most packets first */
	unsigned n_worst;
};

struct burst_report {
	uint64_t window_ns;
	uint64_t length_ns;  /* of the interval, or of the whole */
	int64_t realtime_ns; /* CLOCK_REALTIME - CLOCK_MONOTONIC */
	uint64_t start_ns;   /* CLOCK_MONOTONIC, where times of the report count from */
	struct burst_stage stage[STAGE_COUNT];
};

/* The stage whose loss a key is; STAGE_NONE: it is none, or not among those that are shown. */
typedef enum stage burst_judge(void *arg, const struct watch_key *key);

/* `window_ns`: as watch_spec.burst_ns. */
struct bursts *bursts_new(uint64_t window_ns);
void bursts_free(struct bursts *b);

/* To struct bursts, for watch_bursts(). */
void bursts_add(void *bursts, const struct burst *b);

/* There is so much to judge that bursts_settle() should not wait for the end of the interval. */
bool bursts_waiting(const struct bursts *b);

/* Begins an interval. */
void bursts_begin(struct bursts *b);

/* All windows that have ended by `now_ns` (CLOCK_MONOTONIC) go to interval and whole. */
void bursts_settle(struct bursts *b, uint64_t now_ns, burst_judge *judge, void *arg);

/* Fills `stage` and `window_ns` of the report, of the interval or of the whole. */
void bursts_report(const struct bursts *b, bool whole, struct burst_report *out);

struct live;

/* What to observe, and how fine. Strings are borrowed. Zero-initialised: all drops. */
struct live_spec {
	unsigned by;	   /* LIVE_BIT()s of the fields to tell apart; 0: LIVE_BY_DEFAULT */
	unsigned total_by; /* of those, in live_total(): less memory for long; 0: as `by` */
	bool senders;	   /* sockets that sent a packet, where none dropped it */
	bool consumed;	   /* losses freed as used up, too: looks at each packet that is freed */
	uint32_t snaplen;  /* samples of drops are wanted, live_open_drops(); 0: not */
	bool few_samples;  /* while live_sampling(): what finds no room is no loss of ours */
	bool stack;	   /* the kernel's stack in samples */
	uint64_t burst_ns; /* windows of so long are told apart; 0: not */
	const char *expr;  /* libpcap filter; NULL: none */
	bool inner;    /* `expr` and flows are those of packets in tunnels (include/headers.h) */
	bool followed; /* as watch_spec's: a balance follows the fragments and names of `expr` */
	bool unfragmented;   /* as watch_spec's */
	const char *netns;   /* name, path, or inode number; NULL: all */
	const char *ifname;  /* device of that namespace, else of the caller's; NULL: all */
	const char *reasons; /* names by comma; NULL: all */
	uint64_t stages;     /* bits of enum stage; 0: all */
	pid_t pid;	     /* sockets of this process, as sender or receiver; 0: all */
	const char *cgroup; /* sockets of this cgroup and those below; as owner.cgroup; NULL: all */
	/* Names of processes, containers, namespaces; NULL, without `pid`: numbers. */
	struct owners *owners;
};

/* What the collector itself lost or set aside, and what it cost, since live_start(). */
struct live_own {
	struct watch_state watch;
	uint64_t events;      /* seen by the observer, filtered in the kernel not counted */
	uint64_t ignored;     /* of those: parts of merged packets, messages between processes */
	uint64_t map_bytes;   /* bpfmaps_bytes() at live_start() */
	uint64_t unplaced;    /* events whose namespace is not known, where one was asked for */
	uint64_t rows_merged; /* rows that were added to one of "others" */
	uint64_t cpu_ns;      /* of this process, user and system */
	uint64_t collect_ns;  /* that the last live_collect() took */
	bool no_places;	      /* without CAP_SYSLOG: functions of the kernel are not known */
	bool no_reasons;      /* the kernel has none (before 5.17) */
	bool no_sockets;      /* the kernel does not show the socket that dropped (before 6.11) */
};

/*
 * Another source of losses, e.g. counters of NICs. Functions may be NULL. An interval ends with
 * sample() of all sources, then the drops of the observer, each shown to claims() and note(), then
 * collect(). So a counter read by sample() knows no packets that no event has reported yet.
 */
struct live_source {
	int (*start)(void *arg, struct error *err); /* just after drops are counted */
	void (*sample)(void *arg);
	/* True: this source reports these packets, so they are left out. May be asked again. */
	bool (*claims)(void *arg, const struct watch_entry *e, const struct live_row *row);
	/* Once for each packet: for those that count what counters repeat. */
	void (*note)(void *arg, const struct watch_entry *e, const struct live_row *row);
	void (*collect)(void *arg, struct live *l); /* rows go to live_add() */
	void *arg;
};

/*
 * Resolves names and loads. STATUS_USAGE: an unknown reason (the nearest is suggested), namespace,
 * device or process; STATUS_UNABLE: kernel or capability. `err` names it. To be closed in any case.
 */
int live_open(struct live **l, const struct live_spec *spec, struct error *err);

/* Before live_start(); `s` is copied. */
void live_add_source(struct live *l, const struct live_source *s);

/* Counts from here on; the clock starts. */
int live_start(struct live *l, struct error *err);

/* Forgets the drops since live_start(), for who wants to begin later. 0 or -errno. */
int live_discard(struct live *l);

/*
 * Counts no drops after this moment; a later call moves the moment. For whoever wants to end before
 * the collector does. 0 or -errno.
 */
int live_mark(struct live *l);

/* Some times a second: searches for the owners of sockets that have just lost packets. */
void live_tick(struct live *l);

/* Ends an interval and begins the next. 0 or -errno; what could not be read comes with the next. */
int live_collect(struct live *l, struct error *err);

/*
 * The next live_collect() is the last: windows that have not ended are reported, too. Nothing is
 * counted from here on, and no sample is taken, so that both are of the same packets.
 */
void live_last(struct live *l);

/* Adds to this interval and the sum; from sources. Texts are copied. */
void live_add(struct live *l, const struct live_row *row);

/* ns from live_start() to the last live_collect(), and the length of that interval. */
uint64_t live_time(const struct live *l, uint64_t *interval_ns);

/* The last interval, and the sum of all. The rows live until the next live_collect(). */
const struct live_table *live_interval(const struct live *l);
const struct live_table *live_total(const struct live *l);

/* When packets were lost, in the last interval or in all. False: spec.burst_ns did not ask. */
bool live_bursts(const struct live *l, bool whole, struct burst_report *out);

/* Makes it the row's, of a source that knows it; live_socket() has it from then on. */
void live_keep_socket(struct live *l, struct live_row *row, const struct watch_sock *sock);

/* What is known of a row's socket, if it has one (row->cookie). 0 or -ENOENT. */
int live_socket(const struct live *l, const struct live_row *row, struct watch_sock *out);

/*
 * True if what the spec names is gone, or another one has its name, so that nothing of it is seen
 * any more: `what` names it, as "interface eth1".
 */
bool live_gone(const struct live *l, char *what, size_t size);

/* What others need of it; after live_open(). */
struct live_parts {
	struct ksyms *ksyms; /* names of functions; NULL: not known */
	struct reasons *reasons;
	struct watch_shared shared;
	uint32_t netns;			  /* that the spec names; 0: it names none */
	const struct filter_inner *inner; /* as watch_spec's */
	struct nat *nat;		  /* where NAT is followed; NULL: nowhere */
	bool knows_sockets;		  /* watch_knows_sockets() */
	struct trace_places places;	  /* from live_start() on */
	uint64_t start_ns;		  /* ktime_now() at live_start() */
	struct owners *owners;		  /* of the spec */
	const struct filter *filter;	  /* of the spec's expression; NULL: it has none */
	bool last; /* the collection that is running, or was the last to run, is the last of all */
};
struct live_parts live_parts(const struct live *l);

void live_own(const struct live *l, struct live_own *own);

/* What the collector missed or could not tell apart, by the names that JSON and metrics have. */
#define LIVE_OWN_LOSSES 8
struct live_own_loss {
	const char *name;
	uint64_t n;
};
void live_own_losses(const struct live_own *own, struct live_own_loss out[LIVE_OWN_LOSSES]);

/* The namespace of `spec`, or the thread's; for netns_close(). STATUS_FAILED: there is none. */
int live_netns(const struct live_spec *spec, struct netns *ns, struct error *err);

/*
 * Opens the namespace that the spec names (which is not NULL) once more, for netns_close(). -ENOENT:
 * it is gone, or another one has its name; then *ns is NETNS_NONE.
 */
int live_netns_again(const struct live *l, struct netns *ns);

/* NULL is allowed. */
void live_close(struct live *l);

/* Single drops, as the tables have them: from samples to rows with their packets. */

/*
 * What is kept of a packet by default: bytes that hold the headers of any UDP and TCP packet and a
 * stamp. Of those only the headers and the stamp are shown.
 */
#define LIVE_SNAPLEN 128

struct described; /* monitor/describe.h */

struct live_drop {
	const struct described *what; /* counts are of this packet */
	const struct watch_key *key;
	uint64_t time_ns;     /* since live_start() */
	uint64_t realtime_ns; /* CLOCK_REALTIME */
	struct packet_view packet;
	const uint64_t *stack; /* return addresses, from the drop site outwards */
	unsigned frames;       /* 0: not asked for, or not known */
	const struct ksyms *ksyms;
};

/* What it points to lives until it returns. */
typedef void live_each_drop(void *arg, const struct live_drop *drop);

/* `l` was opened with spec.snaplen. `payload`: more than headers. `expected`: drops that are no loss too. */
int live_open_drops(struct live *l, bool payload, bool expected, live_each_drop *each, void *arg,
		    struct error *err);

/* Of few_samples: from here on they are taken, or not. */
void live_sampling(struct live *l, bool on);

/* As watch_read_samples(). */
int64_t live_read_drops(struct live *l, uint64_t budget_ns);

#endif
