/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the readers of sockets do while these lose packets. */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_READER_H
#define PKTLEDGER_DIAGNOSIS_FACTS_READER_H

#include "diagnosis/facts_sock.h"
#include "diagnosis/reading.h"

#define FACTS_READERS 32 /* sockets that lose; more are judged without it */

struct facts_readers {
	unsigned n;
	struct {
		uint64_t inode; /* of the socket */
		struct reading reading;
	} at[FACTS_READERS];
};

struct facts_watch;

/* Begins, for the sockets of `ns` on this port (0: any). 0 or -errno. `o` and `ns` are borrowed. */
int facts_watch_open(struct facts_watch **w, struct owners *o, const struct netns *ns,
		     uint16_t port);
void facts_watch_close(struct facts_watch *w); /* NULL is allowed */

/* To be called some times a second: looks which sockets have lost packets since. */
void facts_watch_tick(struct facts_watch *w);

/* What was seen of the readers of those sockets that have lost packets. */
void facts_watch_get(const struct facts_watch *w, const struct facts_socks *socks,
		     struct facts_readers *out);

/* NULL: nothing is known. */
const struct reading *facts_reader_of(const struct facts_readers *readers, uint64_t inode);

#endif
