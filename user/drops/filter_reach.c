// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter_reach.h"

#include <errno.h>

struct walk {
	struct filter_reach *r;
	const struct sock_filter *insns;
	unsigned n;
	bool again; /* what was passed already has changed */
};

/*
 * The instruction that `step` leads to from `i` is live, and of the memory no more than `set` is
 * written when it is reached.
 */
static int reach(struct walk *w, unsigned i, uint32_t step, uint16_t set)
{
	struct filter_reach *r = w->r;
	uint32_t to = i + 1 + step;

	if (to >= w->n)
		return -EINVAL;
	w->again |= to <= i && (!r->live[to] || r->set[to] & ~set);
	r->set[to] = r->live[to] ? r->set[to] & set : set;
	r->live[to] = true;
	return 0;
}

static int reach_by_jump(struct walk *w, unsigned i)
{
	const struct sock_filter *f = &w->insns[i];
	uint16_t set = w->r->set[i];
	int rc;

	if (BPF_OP(f->code) == BPF_JA) {
		w->r->loops |= (int32_t)f->k < 0;
		return reach(w, i, f->k, set);
	}
	rc = reach(w, i, f->jt, set);
	return rc ? rc : reach(w, i, f->jf, set);
}

static int reach_next(struct walk *w, unsigned i)
{
	const struct sock_filter *f = &w->insns[i];
	unsigned class = BPF_CLASS(f->code);
	bool stores = class == BPF_ST || class == BPF_STX;
	bool loads = (class == BPF_LD || class == BPF_LDX) && BPF_MODE(f->code) == BPF_MEM;
	uint16_t set = w->r->set[i];

	if (class == BPF_RET)
		return 0;
	if (class == BPF_JMP)
		return reach_by_jump(w, i);
	if ((stores || loads) && f->k >= FILTER_MEMORY)
		return -EINVAL;
	if (loads && !(set >> f->k & 1))
		return -ENODATA;
	if (stores)
		set |= (uint16_t)(1 << f->k);
	return reach(w, i, 0, set);
}

int filter_reach(struct filter_reach *r, const struct sock_filter *insns, unsigned n)
{
	struct walk w = {.r = r, .insns = insns, .n = n, .again = n};
	int rc = 0;

	r->live[0] = true;
	while (!rc && w.again) {
		w.again = false;
		for (unsigned i = 0; !rc && i < n; i++)
			rc = r->live[i] ? reach_next(&w, i) : 0;
	}
	return rc;
}
