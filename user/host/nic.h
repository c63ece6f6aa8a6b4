/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the counters of network drivers mean. A packet that the NIC had no room for leaves no event
 * in the kernel, only a number in a place that each driver calls differently, often in two or
 * three places at once. The table (nic_data.c) says for each driver which counter is the owner of
 * a loss, which only repeat it, and which count no packets at all.
 *
 * To add a NIC: one entry of nic_drivers[] in nic_data.c, with its rows in it, and a recorded
 * `ethtool -S` below tests/fixtures/nic with what it means in tests/unit/drops/test_nic.c. Rows
 * that all drivers share (nic_common_rows) need not be said again.
 *
 * A counter is known by its name, wherever it was read:
 *
 *   rx_queue_0_drops        ethtool -S, blanks at its ends cut
 *   link:rx_missed_errors   IFLA_STATS64
 *   qstat:rx-hw-drops       netdev-genl qstats-get, of the device; qstat:rx-0-hw-drops of a queue
 */
#ifndef PKTLEDGER_HOST_NIC_H
#define PKTLEDGER_HOST_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "stages.h"

#define NIC_NAME 40 /* of a counter, with its NUL */

enum nic_class {
	NIC_LOSS,  /* each unit is a packet that ended here */
	NIC_BOUND, /* at most so many packets: some were only delayed, or are counted elsewhere too
		    */
	NIC_EVENT, /* how often something happened; how many packets it cost is not known */
	NIC_TRAFFIC, /* what passed: no loss */
};

enum nic_cause {
	NIC_RING,     /* no receive descriptor was free */
	NIC_PORT,     /* the port's own buffer was full, before any ring */
	NIC_ALLOC,    /* no memory for a buffer or a packet */
	NIC_DAMAGED,  /* checksum of the frame, length, alignment: spoilt before it came here */
	NIC_CSUM,     /* checksum of IP, TCP or UDP; the stack gets the packet and decides */
	NIC_FILTER,   /* nothing on the NIC wanted it */
	NIC_XDP,      /* verdict of an XDP program */
	NIC_REDIRECT, /* an XDP redirect or transmission failed */
	NIC_SEND,     /* on its way out */
	NIC_PAUSE,    /* flow control: somebody had to wait */
	NIC_SHAPER,   /* limit of the hypervisor, cloud or device */
	NIC_OTHER,
	NIC_RX_PACKETS, /* the next four: NIC_TRAFFIC */
	NIC_RX_BYTES,
	NIC_TX_PACKETS,
	NIC_TX_BYTES,
	NIC_CAUSES,
};

/*
 * Events of the kernel that show some of the same packets. What they have counted on the interface
 * is to be subtracted, or the counter left out, where events are counted too.
 */
enum nic_events {
	NIC_EV_KFREE = 1,	 /* skb:kfree_skb (or consume_skb) at one of the row's places */
	NIC_EV_EXCEPTION = 2,	 /* xdp:xdp_exception: aborted, or no verdict at all */
	NIC_EV_EXCEPTION_TX = 4, /* xdp:xdp_exception: XDP_TX failed */
	NIC_EV_REDIRECT = 8,	 /* xdp:xdp_redirect_err */
	NIC_EV_ALL = 16,	 /* all of its packets, at whatever place: only a counter check */
};

/*
 * A row. Patterns: `#` stands for a number, which is the queue, `*` for anything. Lists of them are
 * divided by `|`, since names have blanks.
 */
struct nic_row {
	const char *counter;
	enum nic_class class;
	enum stage stage; /* STAGE_NONE where nothing ends */
	enum nic_cause cause;
	/*
	 * If the device has a counter of this list, that one counts the same packets and is the
	 * owner; this one repeats it and must not be added.
	 */
	const char *repeats;
	/* Counter of the same queue that is contained in this one and to be subtracted; where this
	   one is of the device, those of all queues. */
	const char *less;
	bool largest;	/* of such rows only the one that moved most counts: they may count the same
			 */
	uint8_t bits;	/* at which it wraps; 0: it does not */
	uint8_t events; /* enum nic_events */
	const char *places; /* NIC_EV_KFREE: functions, `*` allowed, divided by blanks */
	const char *what;   /* one clause, for people; in parentheses what decides, if not the row's
			       driver */
};

struct nic_driver {
	const char *names;	    /* a list, as ETHTOOL_GDRVINFO says */
	const char *source;	    /* where in the kernel these counters are made */
	const struct nic_row *rows; /* the first that fits a counter is taken; ends with NULL */
};

extern const struct nic_driver nic_drivers[];
extern const unsigned nic_driver_count;
extern const struct nic_row *const nic_common_rows;  /* of every driver, behind its own */
extern const struct nic_row *const nic_unknown_rows; /* of drivers that the table does not have */

/* The row of a table for a counter; NULL: none. */
const struct nic_row *nic_row_find(const struct nic_row *rows, const char *counter);

/* NULL: not in the table. */
const struct nic_driver *nic_driver_find(const char *driver);
extern const char *const nic_cause_names[NIC_CAUSES]; /* "ring", "port", ...: as in every output */
extern const char *const nic_class_names[NIC_TRAFFIC + 1]; /* "loss", "bound", "event", "traffic" */

/* Counters of one device at one time. Zero-initialise; free with nic_sample_free(). */
struct nic_value {
	char name[NIC_NAME];
	uint64_t value;
};
struct nic_sample {
	struct nic_value *at;
	unsigned n;
};

/* Appends; blanks at the name's ends are cut, and so is a name that is too long. */
void nic_sample_add(struct nic_sample *s, const char *name, uint64_t value);
/*
 * Where queues have come or gone: `before` with the counters of `after`, in their order, so that
 * both can be compared. A counter that is new has not moved. *out: zero-initialised.
 */
void nic_sample_match(const struct nic_sample *before, const struct nic_sample *after,
		      struct nic_sample *out);

void nic_sample_free(struct nic_sample *s);

/* A counter that the table knows something about. */
struct nic_item {
	const struct nic_row *row;
	unsigned at;	      /* in the sample */
	int queue;	      /* -1: of the device */
	const unsigned *less; /* in the sample, what is contained in it */
	unsigned less_count;
	bool repeated; /* its packets are counted by another counter of this device */
};

/* The items of a sample; good for later samples of the device with the same names. */
struct nic_plan;

/* `driver` as ETHTOOL_GDRVINFO says, "" if unknown. */
struct nic_plan *nic_plan_new(const char *driver, const struct nic_sample *s);
const struct nic_item *nic_plan_items(const struct nic_plan *p, unsigned *n);

/* Whether `s` has the same counters in the same order (queues may have come or gone). */
bool nic_plan_fits(const struct nic_plan *p, const struct nic_sample *s);
void nic_plan_free(struct nic_plan *p);

/*
 * How much an item moved, what is contained in it subtracted. Counters that went backwards began
 * anew, unless they wrap: *restarted is set then and the result is a lower bound. May be NULL.
 */
uint64_t nic_item_delta(const struct nic_item *item, const struct nic_sample *before,
			const struct nic_sample *after, bool *restarted);

/* What ended between two samples that the plan fits. */
struct nic_loss {
	const struct nic_item *item;
	const char *name; /* of the counter; lives as long as `after` */
	uint64_t packets; /* NIC_EVENT: times */
	bool restarted;
};

/*
 * Items that moved, and are neither repeated nor traffic: each packet of class NIC_LOSS once.
 * Returns how many there are; writes at most `max`.
 */
unsigned nic_losses(const struct nic_plan *p, const struct nic_sample *before,
		    const struct nic_sample *after, struct nic_loss *out, unsigned max);

#endif
