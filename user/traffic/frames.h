/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writing the n-th frame of a shape for engines below the IP stack. The fill of a payload depends
 * on nothing but its length, so it is written once per buffer, and of a frame only headers and
 * stamp change; checksums come from sums that are made beforehand for every length.
 */
#ifndef PKTLEDGER_TRAFFIC_FRAMES_H
#define PKTLEDGER_TRAFFIC_FRAMES_H

#include <stdint.h>

#include "traffic/flow.h"
#include "traffic/shape.h"

struct frames;

/* `room`: of each buffer. -EMSGSIZE with the error told: a frame does not fit. Arguments borrowed.
 */
int frames_open(struct frames **f, const struct flow *flow, const struct shape *shape,
		unsigned slot, unsigned room, struct error *err);
void frames_close(struct frames *f);

/* Longest frame without FCS. */
unsigned frames_longest(const struct flow *flow, const struct shape *shape);

/*
 * A frame of `length` bytes without FCS, with or without a VLAN tag, fits the MTU of a device of
 * this thread's namespace. STATUS_USAGE if not: `engine` makes no fragments.
 */
int frame_fits_mtu(const char *ifname, unsigned length, bool tagged, const char *engine,
		   struct error *err);

/* Once for each buffer. */
void frames_prepare(const struct frames *f, void *buffer);

/*
 * Makes the frame of a number (from 0) in a prepared buffer, with stamp `word` and send time.
 * Returns its length without FCS, padding included.
 */
unsigned frames_write(const struct frames *f, void *buffer, uint64_t number, uint64_t word,
		      uint64_t tai_ns);

/*
 * Turns a captured frame towards the receiver of `flow`: MAC and IP addresses, destination port,
 * stamp and time 0, checksums complete. `payload_at`: where the UDP payload begins.
 */
void frame_readdress(uint8_t *frame, unsigned payload_at, unsigned payload,
		     const struct flow *flow);

#endif
