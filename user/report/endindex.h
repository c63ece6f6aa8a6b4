/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The packets of one capture, to be found by their key (report/packetid.h); tens of millions. */
#ifndef PKTLEDGER_REPORT_ENDINDEX_H
#define PKTLEDGER_REPORT_ENDINDEX_H

#include <stdbool.h>
#include <stdint.h>

struct endindex_entry {
	uint64_t time_ns;
	uint32_t flow;
	uint32_t next : 31; /* private: the next of the same key */
	uint32_t taken : 1;
};

#define ENDINDEX_MAX 0x7ffffffeu

/* Zero-initialise. */
struct endindex {
	struct endindex_entry *entry; /* in the order in which they were added */
	uint32_t n;
	uint64_t ambiguous; /* that share their key with another */
	uint32_t room;
	struct endindex_slot *slot; /* private */
	uint32_t slots;
};

/* -ENOMEM, -EFBIG. */
int endindex_add(struct endindex *x, uint64_t key, const struct endindex_entry *entry);

enum endindex_found {
	ENDINDEX_NONE,	/* no such key */
	ENDINDEX_AGAIN, /* all of this key are taken */
	ENDINDEX_FOUND, /* the first of this key that was not taken now is, and is *at */
};

enum endindex_found endindex_take(struct endindex *x, uint64_t key, uint32_t *at);

void endindex_free(struct endindex *x);

#endif
