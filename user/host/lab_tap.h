/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The taps of a lab: a device at each end, and a thread of this process that carries frames from
 * one to the other, as a virtual machine's switch does.
 */
#ifndef PKTLEDGER_HOST_LAB_TAP_H
#define PKTLEDGER_HOST_LAB_TAP_H

#include <stdbool.h>
#include <stdint.h>

#include "host/lab.h"

#define LAB_TAP_RING 1000 /* frames: tx_queue_len of a tap (ether_setup()) */

struct lab_taps;

/*
 * Makes the devices of both ports, down and without carrier, and starts the thread. Undone by
 * lab_taps_close(). STATUS_UNABLE if this host has no taps.
 */
int lab_taps_open(struct lab_taps **taps, const struct lab_port *a, const struct lab_port *b,
		  struct error *err);

/*
 * Gives both their carrier. Of devices that are up, so that the kernel tells of it at once, not
 * up to a second later (linkwatch_urgent_event()). 0 or -errno.
 */
int lab_taps_connect(struct lab_taps *taps);

/* From here on each frame that `a` sends costs the carrier so much time. */
void lab_taps_slow(struct lab_taps *taps, uint64_t ns);

/* From here on frames that `a` sends stay in its ring. */
void lab_taps_pause(struct lab_taps *taps);

/* Takes the reader from `a`: what its ring holds is lost; the device stays, without carrier. */
void lab_taps_detach(struct lab_taps *taps);

/* No frame waits in a ring that is read, or is being carried. */
bool lab_taps_idle(const struct lab_taps *taps);

void lab_taps_close(struct lab_taps *taps); /* NULL is fine */

#endif
