// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter_patch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "drops/filter.h"

#define SCRATCH "filter_scratch" /* the map of bpf/filter.bpf.h */

static bool is_constant(const struct bpf_insn *insn, __s32 value)
{
	return (insn->code == (BPF_ALU | BPF_MOV | BPF_K) ||
		insn->code == (BPF_ALU64 | BPF_MOV | BPF_K)) &&
	       insn->imm == value;
}

static bool is_goto_next(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_JA) && !insn->off;
}

/* Whether the place begins at insns[0], its marker. */
static bool is_place(const struct bpf_insn *insns, size_t n)
{
	if (n < FILTER_ROOM + 2 || !is_constant(insns, FILTER_BEGIN) ||
	    !is_constant(insns + FILTER_ROOM + 1, FILTER_END))
		return false;
	for (size_t i = 1; i <= FILTER_ROOM; i++) {
		if (!is_goto_next(insns + i))
			return false;
	}
	return true;
}

struct patch {
	const struct bpf_insn *code;
	__s32 slot, tags;
};

/* Fills the places in `insns`. Returns how many there are. */
static unsigned fill(struct bpf_insn *insns, size_t n, const struct patch *p)
{
	const struct bpf_insn next = {.code = BPF_JMP | BPF_JA};
	unsigned places = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_constant(insns + i, FILTER_OFF)) {
			insns[i].imm = 0;
		} else if (is_constant(insns + i, FILTER_SLOT)) {
			insns[i].imm = p->slot;
		} else if (is_constant(insns + i, FILTER_TAGS)) {
			insns[i].imm = p->tags;
		} else if (is_place(insns + i, n - i)) {
			memcpy(insns + i + 1, p->code, FILTER_ROOM * sizeof(*p->code));
			i += FILTER_ROOM + 1;
			insns[i] = next;
			places++;
		}
	}
	return places;
}

/* 1 if the program has the place, 0 if not, or -errno. */
static int patch_program(struct bpf_program *prog, const struct patch *p)
{
	size_t n = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns = calloc(n, sizeof(*insns));
	int rc = 0;

	if (!insns)
		return -ENOMEM;
	memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
	if (fill(insns, n, p)) {
		rc = bpf_program__set_insns(prog, insns, n);
		rc = rc ? rc : 1;
	}
	free(insns);
	return rc;
}

int filter_patch(struct bpf_object *obj, const struct bpf_insn *code, bool tags)
{
	struct bpf_map *scratch = bpf_object__find_map_by_name(obj, SCRATCH);
	struct patch p = {.code = code, .tags = tags};
	struct bpf_program *prog;
	int rc;

	bpf_object__for_each_program(prog, obj)
	{
		rc = patch_program(prog, &p);
		if (rc < 0)
			return rc;
		p.slot += rc;
	}
	return p.slot && scratch ? bpf_map__set_max_entries(scratch, (__u32)p.slot) : -ENOENT;
}

int filter_unread(const struct bpf_object *obj, uint64_t *packets)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, SCRATCH);
	int cpus = libbpf_num_possible_cpus(), rc = 0;
	struct filter_scratch *each;

	*packets = 0;
	if (!map || cpus < 0)
		return map ? cpus : -ENOENT;
	each = calloc((size_t)cpus, sizeof(*each));
	if (!each)
		return -ENOMEM;
	for (__u32 slot = 0; !rc && slot < bpf_map__max_entries(map); slot++) {
		if (bpf_map__lookup_elem(map, &slot, sizeof(slot), each,
					 (size_t)cpus * sizeof(*each), 0))
			rc = -errno;
		for (int i = 0; !rc && i < cpus; i++)
			*packets += each[i].unread;
	}
	free(each);
	return rc;
}
