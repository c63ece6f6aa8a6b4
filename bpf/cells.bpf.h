/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which lengths came to which port, of the flow and of others: whose a datagram is that is read. */
#ifndef PKTLEDGER_CELLS_BPF_H
#define PKTLEDGER_CELLS_BPF_H

#include <bpf/bpf_helpers.h>

#include "datagram.bpf.h"
#include "tally.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BALANCE_CELLS);
	__type(key, __u32);
	__type(value, struct balance_cell);
} cells SEC(".maps");

/*
 * 1 for each port to which datagrams of the flow came, in any namespace. Bytes, for one CPU that
 * sets a bit would take back that of another.
 */
__u8 ports[BALANCE_PORTS];

static __always_inline struct balance_cell *cell_of(__u32 netns, __u16 port)
{
	__u32 index = balance_cell_index(netns, port);

	return bpf_map_lookup_elem(&cells, &index);
}

static __always_inline bool has_any(const struct balance_lengths *l)
{
	return l->bits[0] | l->bits[1] | l->bits[2];
}

static __always_inline void length_came(struct balance_lengths *l, __u32 bytes)
{
	__u32 bit = balance_length_bit(bytes), word = bit >> 6;
	__u64 mask = 1ULL << (bit & 63);

	if (word < BALANCE_LENGTH_WORDS && !(l->bits[word] & mask))
		__sync_fetch_and_or(&l->bits[word], mask);
}

/* A read may return a segment, the last one, or all of them. */
static __always_inline void lengths_came(struct balance_cell *cell, struct balance_lengths *l,
					 const struct datagram *d)
{
	length_came(l, d->bytes);
	if (!d->size) {
		if (cell->single < d->bytes)
			cell->single = d->bytes;
		return;
	}
	length_came(l, d->size);
	length_came(l, d->bytes - (d->segments - 1) * d->size);
	if (!cell->size_min || cell->size_min > d->size)
		cell->size_min = d->size;
	if (cell->size_max < d->size)
		cell->size_max = d->size;
}

/* A verifier as of 6.12 knows no bound of what bpf_ntohs() returns. */
static __always_inline __u8 *byte_of_port(__u16 port)
{
	__u32 at = port;

	barrier_var(at);
	return &ports[at & (sizeof(ports) - 1)];
}

static __always_inline void port_came(__u16 port)
{
	__u8 *came = byte_of_port(port);

	if (!*came)
		*came = 1;
}

static __always_inline bool has_come_to(__u16 port)
{
	return *byte_of_port(port);
}

/* How many datagrams `bytes` are that one call has read; 0: not known. */
static __always_inline __u32 datagrams_in(const struct balance_cell *cell, __u32 bytes)
{
	__u32 size = cell->size_min;

	if (!size || bytes <= size)
		return 1;
	if (size != cell->size_max || cell->single > size)
		return 0;
	return (bytes + size - 1) / size;
}

#endif
