/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The meaning of network driver counters. The kernel has no event for a packet that the NIC has no
 * room for, only a counter whose name depends on the driver, often repeated in two or three places.
 * The table (nic_data.c) lists for each driver which counter owns a loss, which counters repeat it,
 * and which do not count packets at all.
 *
 * To add a NIC: add an entry to nic_drivers[] in nic_data.c, with its rows, a recorded `ethtool -S`
 * below tests/fixtures/nic, and its expected meaning in tests/unit/drops/test_nic.c. Rows shared by
 * all drivers (nic_common_rows) need not be repeated.
 *
 * A counter is identified by its name. The prefix shows its source:
 *
 *   rx_queue_0_drops        ethtool -S, leading and trailing blanks removed
 *   link:rx_missed_errors   IFLA_STATS64
 *   qstat:rx-hw-drops       netdev-genl qstats-get, interface (qstat:rx-0-hw-drops: queue)
 */
#ifndef PKTLEDGER_HOST_NIC_H
#define PKTLEDGER_HOST_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "stages.h"

#define NIC_NAME 40 /* bytes of a counter name, with its NUL */

enum nic_class {
	NIC_LOSS,  /* each unit is a packet lost here */
	NIC_BOUND, /* upper bound: some packets were only delayed, or are also counted elsewhere */
	NIC_EVENT, /* number of events, the number of lost packets is unknown */
	NIC_TRAFFIC, /* packets that passed, not a loss */
};

enum nic_cause {
	NIC_RING,     /* no receive descriptor was free */
	NIC_PORT,     /* the port's buffer was full, before any ring */
	NIC_ALLOC,    /* no memory for a buffer or a packet */
	NIC_DAMAGED,  /* frame checksum, length, alignment: damaged before arrival */
	NIC_CSUM,     /* checksum of IP, TCP or UDP, the stack gets the packet and decides */
	NIC_FILTER,   /* filtered by the NIC: no receiver for it */
	NIC_XDP,      /* verdict of an XDP program */
	NIC_REDIRECT, /* an XDP redirect or transmission failed */
	NIC_SEND,     /* lost while sending */
	NIC_PAUSE,    /* flow control: one side had to pause */
	NIC_SHAPER,   /* rate limit of the hypervisor, cloud or interface */
	NIC_OTHER,
	NIC_RX_PACKETS, /* this and the next three: NIC_TRAFFIC */
	NIC_RX_BYTES,
	NIC_TX_PACKETS,
	NIC_TX_BYTES,
	NIC_CAUSES,
};

/*
 * Kernel events that show some of the same packets. If events are counted as well, subtract the
 * interface's event count, or omit the counter.
 */
enum nic_events {
	NIC_EV_KFREE = 1,	 /* skb:kfree_skb (or consume_skb) at one of the row's functions */
	NIC_EV_EXCEPTION = 2,	 /* xdp:xdp_exception: aborted, or an invalid verdict */
	NIC_EV_EXCEPTION_TX = 4, /* xdp:xdp_exception: XDP_TX failed */
	NIC_EV_REDIRECT = 8,	 /* xdp:xdp_redirect_err */
	NIC_EV_ALL = 16,	 /* all of its packets, at any function: for the counter check
				  * only */
};

/*
 * A row of the table. In patterns, `#` matches a number, which is the queue, and `*` matches
 * anything. Lists are separated by `|`, because names contain blanks.
 */
struct nic_row {
	const char *counter;
	enum nic_class class;
	enum stage stage; /* STAGE_NONE if no packet is lost */
	enum nic_cause cause;
	/*
	 * If the interface has a counter of this list, that counter owns the same packets. This
	 * counter repeats them and must not be added.
	 */
	const char *repeats;
	/*
	 * Counter of the same queue that this counter includes, to be subtracted. For an interface
	 * counter, the sum over all queues is subtracted.
	 */
	const char *less;
	bool largest;	/* of all such rows count only the largest increase: they may overlap */
	uint8_t bits;	/* width at which it wraps, 0: does not wrap */
	uint8_t events; /* enum nic_events */
	const char *places; /* NIC_EV_KFREE: functions, space-separated, `*` allowed */
	const char *what;   /* one clause for users, in parentheses the deciding part if it is
			     * not the row's driver */
};

struct nic_driver {
	const char *names;	    /* list of names reported by ETHTOOL_GDRVINFO */
	const char *source;	    /* kernel source of these counters */
	const struct nic_row *rows; /* the first match for a counter applies, ends with NULL */
};

extern const struct nic_driver nic_drivers[];
extern const unsigned nic_driver_count;
extern const struct nic_row *const nic_common_rows;  /* for every driver, searched after its rows */
extern const struct nic_row *const nic_unknown_rows; /* for drivers missing in the table */

/* Finds the first row that matches a counter, or NULL. */
const struct nic_row *nic_row_find(const struct nic_row *rows, const char *counter);

/* Finds the driver's entry, or NULL. */
const struct nic_driver *nic_driver_find(const char *driver);
extern const char *const nic_cause_names[NIC_CAUSES]; /* "ring", "port", ...: as printed */
extern const char *const nic_class_names[NIC_TRAFFIC + 1]; /* "loss", "bound", "event", "traffic" */

/* Counters of one interface at one time. Zero-initialise. Free with nic_sample_free(). */
struct nic_value {
	char name[NIC_NAME];
	uint64_t value;
};
struct nic_sample {
	struct nic_value *at;
	unsigned n;
};

/* Appends a counter. Trims blanks around the name and truncates long names. */
void nic_sample_add(struct nic_sample *s, const char *name, uint64_t value);
/*
 * Reorders `before` to match the counters of `after` when queues appeared or disappeared, so that
 * both can be compared. A new counter has not moved. *out must be zero-initialised.
 */
void nic_sample_match(const struct nic_sample *before, const struct nic_sample *after,
		      struct nic_sample *out);

void nic_sample_free(struct nic_sample *s);

/* A counter that matches a row of the table. */
struct nic_item {
	const struct nic_row *row;
	unsigned at;	      /* index in the sample */
	int queue;	      /* -1: per interface */
	const unsigned *less; /* indices in the sample of the included counters */
	unsigned less_count;
	bool repeated; /* another counter of this interface counts the same packets */
};

/* The items of a sample. Valid for later samples of the interface with the same names. */
struct nic_plan;

/* Builds a plan. `driver`: name reported by ETHTOOL_GDRVINFO, "" if unknown. */
struct nic_plan *nic_plan_new(const char *driver, const struct nic_sample *s);
const struct nic_item *nic_plan_items(const struct nic_plan *p, unsigned *n);

/* Returns whether `s` has the same counters in the same order (queues may have changed). */
bool nic_plan_fits(const struct nic_plan *p, const struct nic_sample *s);
void nic_plan_free(struct nic_plan *p);

/*
 * Returns the increase of an item, without the counters it includes. A counter that decreased was
 * reset unless it wraps: then sets *restarted, and the result is a lower bound. May be NULL.
 */
uint64_t nic_item_delta(const struct nic_item *item, const struct nic_sample *before,
			const struct nic_sample *after, bool *restarted);

/* The increase of an item between two samples that fit the plan. */
struct nic_loss {
	const struct nic_item *item;
	const char *name; /* counter name, valid as long as `after` */
	uint64_t packets; /* for NIC_EVENT: number of events */
	bool restarted;
};

/*
 * Lists items that increased and are neither repeated nor traffic: each packet of class NIC_LOSS is
 * counted once. Returns the number of items and writes at most `max`.
 */
unsigned nic_losses(const struct nic_plan *p, const struct nic_sample *before,
		    const struct nic_sample *after, struct nic_loss *out, unsigned max);

#endif
