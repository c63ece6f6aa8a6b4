/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The meaning of network driver counters. When a NIC has no room for a packet, the kernel has no
 * event for the loss, only a counter. The counter's name depends on the driver, and it often
 * appears in two or three places. The table (nic_data.c) lists for each driver which counter owns a
 * loss, which counters repeat it, and which do not count packets at all.
 *
 * To add a NIC, add an entry to nic_drivers[] in nic_data.c, with its rows, a recorded `ethtool -S`
 * in tests/fixtures/nic, and the expected meaning in tests/unit/drops/test_nic.c. Do not repeat
 * rows that all drivers share (nic_common_rows).
 *
 * A counter is identified by its name. The prefix shows its source:
 *
 *   rx_queue_0_drops        ethtool -S, leading and trailing blanks removed
 *   link:rx_missed_errors   IFLA_STATS64
 *   qstat:rx-hw-drops       netdev-genl qstats-get, interface (qstat:rx-0-hw-drops: queue)
 *   pool:alloc-empty        netdev-genl page-pool-stats-get
 *
 * netdev-genl counts before a driver, and a driver before the standard statistics of ethtool: if
 * two of them have a counter for one cause and class, the one that comes first owns the packets.
 */
#ifndef PKTLEDGER_HOST_NIC_H
#define PKTLEDGER_HOST_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "stages.h"

#define NIC_NAME 40 /* bytes, longest counter name including its NUL */

enum nic_class {
	NIC_LOSS,  /* each unit is a packet lost here */
	NIC_BOUND, /* upper bound: some packets were only delayed or are also counted elsewhere */
	NIC_EVENT, /* number of events: how many packets were lost is unknown */
	NIC_TRAFFIC, /* packets that passed, not a loss */
};

enum nic_cause {
	NIC_RING,     /* no receive descriptor was free */
	NIC_PORT,     /* the port's buffer was full, ahead of any ring */
	NIC_ALLOC,    /* no memory for a buffer or a packet */
	NIC_DAMAGED,  /* bad checksum, length or alignment: the frame was damaged before arrival */
	NIC_CSUM,     /* bad IP, TCP or UDP checksum: the stack gets the packet and decides */
	NIC_FILTER,   /* filtered by the NIC because no receiver wants it */
	NIC_XDP,      /* verdict of an XDP program */
	NIC_REDIRECT, /* an XDP redirect or transmission failed */
	NIC_SEND,     /* lost while sending */
	NIC_PAUSE,    /* flow control: one side had to pause */
	NIC_SHAPER,   /* rate limit set by the hypervisor, the cloud or the interface */
	NIC_LINK,     /* the link went down */
	NIC_TIMEOUT,  /* a transmit queue made no progress until the watchdog fired */
	NIC_STALL,    /* a transmit queue made no progress for a while */
	NIC_OTHER,
	NIC_RX_PACKETS, /* NIC_TRAFFIC, like the next three */
	NIC_RX_BYTES,
	NIC_TX_PACKETS,
	NIC_TX_BYTES,
	NIC_CAUSES,
};

/*
 * Kernel events that report some of the same packets. If you also count events, subtract the
 * interface's event count, or leave the counter out.
 */
enum nic_events {
	NIC_EV_KFREE = 1,	 /* skb:kfree_skb (or consume_skb) at one of the row's functions */
	NIC_EV_EXCEPTION = 2,	 /* xdp:xdp_exception: aborted, or an invalid verdict */
	NIC_EV_EXCEPTION_TX = 4, /* xdp:xdp_exception: XDP_TX failed */
	NIC_EV_REDIRECT = 8,	 /* xdp:xdp_redirect_err */
	NIC_EV_ALL = 16,	 /* all of its packets, at any function, for the counter check
				  * only */
};

/*
 * A row of the table. In patterns, `#` matches a number, which is the queue, and `*` matches
 * anything. List items are separated by `|`, because names contain blanks.
 */
struct nic_row {
	const char *counter;
	enum nic_class class;
	enum stage stage; /* STAGE_NONE if no packet is lost */
	enum nic_cause cause;
	/*
	 * If the interface has a counter on this list, that counter owns the packets, and this one
	 * repeats them and must not be added.
	 */
	const char *repeats;
	/*
	 * A counter of the same queue that this counter includes and that must be subtracted. For
	 * an interface counter, the sum over all queues is subtracted.
	 */
	const char *less;
	bool standard;	/* a counter of the ethtool family, which counts after a driver's own */
	bool largest;	/* count only the largest increase of all such rows: they may overlap */
	uint8_t bits;	/* width at which the counter wraps, 0: does not wrap */
	uint8_t events; /* enum nic_events */
	const char *places; /* NIC_EV_KFREE: functions, space-separated, `*` allowed */
	const char *what;   /* one clause for users, with the component that decides in parentheses
			     * unless it is the row's driver */
};

struct nic_driver {
	const char *names;	    /* list of names as reported by ETHTOOL_GDRVINFO */
	const char *source;	    /* kernel source file of these counters */
	const struct nic_row *rows; /* the first match for a counter applies, ends with NULL */
};

extern const struct nic_driver nic_drivers[];
extern const unsigned nic_driver_count;
extern const struct nic_row *const nic_common_rows;  /* for every driver, searched last */
extern const struct nic_row *const nic_unknown_rows; /* for drivers that are not in the table */

/*
 * Finds the first row that matches a counter, or NULL. Sets *queue (may be NULL) to the number that
 * `#` matches, if any.
 */
const struct nic_row *nic_row_find(const struct nic_row *rows, const char *counter, int *queue);

/* Finds the driver's entry, or NULL. */
const struct nic_driver *nic_driver_find(const char *driver);
extern const char *const nic_cause_names[NIC_CAUSES]; /* as printed: "ring", "port", ... */
extern const char *const nic_class_names[NIC_TRAFFIC + 1]; /* "loss", "bound", "event", "traffic" */

/* One interface's counters at one point in time. Zero-initialise. Free with nic_sample_free(). */
struct nic_value {
	char name[NIC_NAME];
	uint64_t value;
};
struct nic_sample {
	struct nic_value *at;
	unsigned n;
};

/* Appends a counter. Trims blanks around its name and truncates long names. */
void nic_sample_add(struct nic_sample *s, const char *name, uint64_t value);
/*
 * Reorders `before` to match the counters in `after` when queues appeared or disappeared, so that
 * the two can be compared. A new counter's increase is 0. *out must be zero-initialised.
 */
void nic_sample_match(const struct nic_sample *before, const struct nic_sample *after,
		      struct nic_sample *out);

void nic_sample_free(struct nic_sample *s);

/* Of counters with the same cause and class, those of the first rank own the packets. */
enum nic_rank { NIC_NETDEV_GENL, NIC_DRIVER, NIC_COMMON };

/* A counter that matches a row in the table. */
struct nic_item {
	const struct nic_row *row;
	unsigned at;	      /* index in the sample */
	int queue;	      /* -1: per interface */
	const unsigned *less; /* indices (in the sample) of the counters it includes */
	unsigned less_count;
	uint8_t rank;  /* enum nic_rank */
	bool repeated; /* another counter of this interface counts the same packets */
};

/* A sample's items. Also valid for later samples of the interface with the same names. */
struct nic_plan;

/* Builds a plan. `driver` is the name reported by ETHTOOL_GDRVINFO, "" if unknown. */
struct nic_plan *nic_plan_new(const char *driver, const struct nic_sample *s);
const struct nic_item *nic_plan_items(const struct nic_plan *p, unsigned *n);

/* Returns whether `s` has the same counters in the same order (queues may have changed). */
bool nic_plan_fits(const struct nic_plan *p, const struct nic_sample *s);
void nic_plan_free(struct nic_plan *p);

/*
 * Returns an item's increase, excluding the counters it includes. If a counter decreased and does
 * not wrap, it was reset: sets *restarted (may be NULL), and the result is a lower bound.
 */
uint64_t nic_item_delta(const struct nic_item *item, const struct nic_sample *before,
			const struct nic_sample *after, bool *restarted);

/* An item's increase between two samples that fit the plan. */
struct nic_loss {
	const struct nic_item *item;
	const char *name; /* counter name, valid as long as `after` */
	uint64_t packets; /* for NIC_EVENT: number of events */
	bool restarted;
};

/*
 * Lists items that increased and are neither repeated nor traffic. Each packet of class NIC_LOSS is
 * counted once. Returns the number of items and writes at most `max` of them.
 */
unsigned nic_losses(const struct nic_plan *p, const struct nic_sample *before,
		    const struct nic_sample *after, struct nic_loss *out, unsigned max);

#endif
