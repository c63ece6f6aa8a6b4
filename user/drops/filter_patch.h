/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The place for a filter in programs that include bpf/filter.bpf.h. */
#ifndef PKTLEDGER_DROPS_FILTER_PATCH_H
#define PKTLEDGER_DROPS_FILTER_PATCH_H

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>

#include "filter_abi.h"

/*
 * Fills the place in every program that has it with `code`, FILTER_ROOM instructions, and gives
 * each its own element of the map filter_scratch. `tags`: VLAN tags that the kernel keeps beside
 * packets are to be put in. The number of instructions stays, so that
 * relocations and line numbers hold. -ENOENT if no program of the object has the place.
 */
int filter_patch(struct bpf_object *obj, const struct bpf_insn *code, bool tags);

#endif
