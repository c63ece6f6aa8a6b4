/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The BPF maps of this process and the memory that they take, as the kernel reports it. */
#ifndef PKTLEDGER_HOST_BPFMAPS_H
#define PKTLEDGER_HOST_BPFMAPS_H

#include <json-c/json.h>
#include <stdint.h>

struct bpfmap {
	uint32_t id, type; /* BPF_MAP_TYPE_* */
	uint32_t entries;  /* the most that it holds; 0: as many as there are sockets */
	uint64_t bytes;
	char name[16]; /* cut by the kernel */
};

/*
 * All maps that this process has open, each once, in no order; `*list` is to be freed. Needs no
 * privilege on Linux 5.19 or newer. Their number or -errno.
 */
int bpfmaps_read(struct bpfmap **list);

/* What all of them take together. */
uint64_t bpfmaps_bytes(void);

/* {"bytes", "maps": [{"name", "type", "entries", "bytes"}]}, the largest first; NULL: none. */
struct json_object *bpfmaps_json(void);

#endif
