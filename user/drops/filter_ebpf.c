// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What the kernel's verifier asks for shapes this code. It refuses instructions that no edge of the
 * control flow leads to: so what is never reached is left out, and what is never executed hangs on
 * a branch whose outcome only the verifier knows. It follows each path until it meets a state that
 * it has seen: so that paths meet, all values of the filter are plain numbers to it; its memory is
 * in a map, and an index goes through it.
 */
#include "drops/filter_ebpf.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drops/filter_reach.h"

#define SCRATCH	 BPF_REG_1
#define A	 BPF_REG_2
#define X	 BPF_REG_3
#define HAVE	 BPF_REG_4 /* bytes read; in programs with loops, how often they jumped back */
#define TMP	 BPF_REG_5
#define RESULT	 BPF_REG_0
#define AT(what) offsetof(struct filter_scratch, what)

struct translation {
	struct bpf_insn *out;
	unsigned room, at;
	bool loops;
	/* Positions in out. A first pass finds them, a second one uses them. */
	unsigned is_short, unread, no, start, l3, fill;
	struct layer {
		const struct sock_filter *in;
		unsigned n;
		struct filter_reach reach;
		uint16_t place[FILTER_ROOM];
	} layers[2];
};

static void emit(struct translation *t, unsigned code, unsigned dst, unsigned src, unsigned off,
		 uint32_t imm)
{
	if (t->at < t->room)
		t->out[t->at] = (struct bpf_insn){.code = (__u8)code,
						  .dst_reg = dst & 0xf,
						  .src_reg = src & 0xf,
						  .off = (__s16)off,
						  .imm = (__s32)imm};
	t->at++;
}

static void set(struct translation *t, unsigned reg, uint32_t value)
{
	emit(t, BPF_ALU | BPF_MOV | BPF_K, reg, 0, 0, value);
}

static void load_field(struct translation *t, unsigned reg, size_t offset)
{
	emit(t, BPF_LDX | BPF_MEM | BPF_W, reg, SCRATCH, (unsigned)offset, 0);
}

static void store_field(struct translation *t, size_t offset, unsigned reg)
{
	emit(t, BPF_STX | BPF_MEM | BPF_W, SCRATCH, reg, (unsigned)offset, 0);
}

/* `code`: class, condition and source of the comparison. */
static void go_if(struct translation *t, unsigned code, unsigned dst, unsigned src, uint32_t imm,
		  unsigned target)
{
	emit(t, code, dst, src, target - t->at - 1, imm);
}

static void go(struct translation *t, unsigned target)
{
	go_if(t, BPF_JMP | BPF_JA, 0, 0, 0, target);
}

static void end(struct translation *t, enum filter_verdict verdict)
{
	set(t, RESULT, verdict);
	go(t, t->room);
}

/* No match if fewer bytes than RESULT were read. */
static void check_end(struct translation *t)
{
	unsigned have = t->loops ? TMP : HAVE;

	if (t->loops)
		load_field(t, have, AT(have));
	go_if(t, BPF_JMP | BPF_JGT | BPF_X, RESULT, have, 0, t->is_short);
}

static unsigned bytes_of(unsigned code)
{
	return BPF_SIZE(code) == BPF_W ? 4 : BPF_SIZE(code) == BPF_H ? 2 : 1;
}

/* An offset that no packet has stays one when more is added to it. */
static uint32_t offset_of(uint32_t k)
{
	return k < INT32_MAX - 4 ? k : INT32_MAX - 4;
}

static void load_bytes(struct translation *t, unsigned code, unsigned dst, unsigned src,
		       uint32_t offset)
{
	emit(t, BPF_LDX | BPF_MEM | BPF_SIZE(code), dst, src, offset, 0);
	if (BPF_SIZE(code) != BPF_B)
		emit(t, BPF_ALU | BPF_END | BPF_TO_BE, dst, 0, 0, 8 * bytes_of(code));
}

static void load_absolute(struct translation *t, const struct sock_filter *f, unsigned dst)
{
	uint32_t offset = offset_of(f->k), past = offset + bytes_of(f->code);

	set(t, RESULT, past);
	check_end(t);
	if (past <= FILTER_BYTES) /* else the check has ended it */
		load_bytes(t, f->code, dst, SCRATCH, offset);
}

static void load_indirect(struct translation *t, const struct sock_filter *f)
{
	unsigned bytes = bytes_of(f->code);

	emit(t, BPF_ALU64 | BPF_MOV | BPF_X, RESULT, X, 0, 0);
	emit(t, BPF_ALU64 | BPF_ADD | BPF_K, RESULT, 0, 0, offset_of(f->k) + bytes);
	check_end(t);
	emit(t, BPF_ALU64 | BPF_SUB | BPF_K, RESULT, 0, 0, bytes);
	store_field(t, AT(index), RESULT);
	load_field(t, RESULT, AT(index));
	go_if(t, BPF_JMP | BPF_JGT | BPF_K, RESULT, 0, FILTER_BYTES - bytes, t->no);
	emit(t, BPF_ALU64 | BPF_ADD | BPF_X, RESULT, SCRATCH, 0, 0);
	load_bytes(t, f->code, A, RESULT, 0);
}

static int load(struct translation *t, const struct sock_filter *f)
{
	unsigned reg = BPF_CLASS(f->code) == BPF_LD ? A : X;

	switch (f->code) {
	case BPF_LD | BPF_ABS | BPF_W:
	case BPF_LD | BPF_ABS | BPF_H:
	case BPF_LD | BPF_ABS | BPF_B:
		load_absolute(t, f, A);
		return 0;
	case BPF_LD | BPF_IND | BPF_W:
	case BPF_LD | BPF_IND | BPF_H:
	case BPF_LD | BPF_IND | BPF_B:
		load_indirect(t, f);
		return 0;
	case BPF_LDX | BPF_MSH | BPF_B: /* length of an IPv4 header */
		load_absolute(t, f, X);
		emit(t, BPF_ALU | BPF_AND | BPF_K, X, 0, 0, 0xf);
		emit(t, BPF_ALU | BPF_LSH | BPF_K, X, 0, 0, 2);
		return 0;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
		set(t, reg, f->k);
		return 0;
	case BPF_LD | BPF_LEN:
	case BPF_LDX | BPF_LEN:
		load_field(t, reg, AT(length));
		return 0;
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
		load_field(t, reg, AT(memory) + 4 * f->k);
		return 0;
	}
	return -EINVAL;
}

static int store(struct translation *t, const struct sock_filter *f)
{
	if (BPF_CLASS(f->code) != f->code)
		return -EINVAL;
	store_field(t, AT(memory) + 4 * f->k, f->code == BPF_ST ? A : X);
	return 0;
}

/* The same instruction in both machines. */
static void operate(struct translation *t, const struct sock_filter *f)
{
	bool by_x = BPF_SRC(f->code) == BPF_X;

	emit(t, f->code, A, by_x ? X : 0, 0, by_x ? 0 : f->k);
}

/* By 32 and more nothing is left; eBPF would shift by the low bits. */
static void shift(struct translation *t, const struct sock_filter *f)
{
	if (BPF_SRC(f->code) == BPF_X) {
		go_if(t, BPF_JMP32 | BPF_JLT | BPF_K, X, 0, 32, t->at + 2);
		set(t, A, 0);
	} else if (f->k >= 32) {
		set(t, A, 0);
		return;
	}
	operate(t, f);
}

static void divide(struct translation *t, const struct sock_filter *f)
{
	if (BPF_SRC(f->code) == BPF_X) {
		go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, X, 0, 0, t->no);
		operate(t, f);
	} else if (f->k) {
		operate(t, f);
	} else {
		set(t, RESULT, 0);
		go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, RESULT, 0, 0, t->no);
	}
}

static int arithmetic(struct translation *t, const struct sock_filter *f)
{
	if (f->code & ~(BPF_ALU | 0xf0 | BPF_X))
		return -EINVAL;
	switch (BPF_OP(f->code)) {
	case BPF_ADD:
	case BPF_SUB:
	case BPF_MUL:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
		operate(t, f);
		return 0;
	case BPF_LSH:
	case BPF_RSH:
		shift(t, f);
		return 0;
	case BPF_DIV:
	case BPF_MOD:
		divide(t, f);
		return 0;
	case BPF_NEG:
		emit(t, BPF_ALU | BPF_NEG, A, 0, 0, 0);
		return 0;
	}
	return -EINVAL;
}

/* The opposite of an eBPF condition; 0 if there is none. */
static unsigned inverse(unsigned op)
{
	return op == BPF_JEQ ? BPF_JNE : op == BPF_JGT ? BPF_JLE : op == BPF_JGE ? BPF_JLT : 0;
}

static void branch(struct translation *t, const struct layer *l, unsigned i)
{
	const struct sock_filter *f = &l->in[i];
	unsigned op = BPF_OP(f->code), src = BPF_SRC(f->code) == BPF_X ? X : 0;
	unsigned yes = l->place[i + 1 + f->jt], no = l->place[i + 1 + f->jf];

	if (!f->jt && inverse(op)) {
		go_if(t, BPF_JMP32 | inverse(op) | BPF_SRC(f->code), A, src, src ? 0 : f->k, no);
		return;
	}
	go_if(t, BPF_JMP32 | op | BPF_SRC(f->code), A, src, src ? 0 : f->k, yes);
	if (f->jf)
		go(t, no);
}

static int jump(struct translation *t, const struct layer *l, unsigned i)
{
	const struct sock_filter *f = &l->in[i];

	switch (f->code & ~BPF_X) {
	case BPF_JMP | BPF_JEQ:
	case BPF_JMP | BPF_JGT:
	case BPF_JMP | BPF_JGE:
	case BPF_JMP | BPF_JSET:
		branch(t, l, i);
		return 0;
	case BPF_JMP | BPF_JA:
		if ((int32_t)f->k < 0) {
			emit(t, BPF_ALU | BPF_ADD | BPF_K, HAVE, 0, 0, 1);
			go_if(t, BPF_JMP32 | BPF_JGT | BPF_K, HAVE, 0, FILTER_LOOPS, t->unread);
		}
		go(t, l->place[i + 1 + f->k]);
		return 0;
	}
	return -EINVAL;
}

static int verdict(struct translation *t, const struct sock_filter *f)
{
	if (f->code == (BPF_RET | BPF_A)) {
		go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, A, 0, 0, t->no);
		end(t, FILTER_YES);
		return 0;
	}
	end(t, f->k ? FILTER_YES : FILTER_NO);
	return f->code == (BPF_RET | BPF_K) ? 0 : -EINVAL;
}

static int instruction(struct translation *t, const struct layer *l, unsigned i)
{
	const struct sock_filter *f = &l->in[i];

	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return load(t, f);
	case BPF_ST:
	case BPF_STX:
		return store(t, f);
	case BPF_ALU:
		return arithmetic(t, f);
	case BPF_JMP:
		return jump(t, l, i);
	case BPF_RET:
		return verdict(t, f);
	}
	if (f->code == (BPF_MISC | BPF_TAX))
		emit(t, BPF_ALU | BPF_MOV | BPF_X, X, A, 0, 0);
	else if (f->code == (BPF_MISC | BPF_TXA))
		emit(t, BPF_ALU | BPF_MOV | BPF_X, A, X, 0, 0);
	else
		return -EINVAL;
	return 0;
}

static int translate_layer(struct translation *t, struct layer *l)
{
	int rc = 0;

	if (!l->n)
		end(t, FILTER_NO);
	for (unsigned i = 0; !rc && i < l->n; i++) {
		l->place[i] = (uint16_t)t->at;
		if (l->reach.live[i])
			rc = instruction(t, l, i);
	}
	return rc;
}

/* What all loads share, before the code that jumps there. */
static void translate_ends(struct translation *t)
{
	set(t, RESULT, 0);
	go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, RESULT, 0, 0, t->start); /* always */

	t->is_short = t->at; /* the packet, or only what was read of it? */
	load_field(t, TMP, AT(length));
	go_if(t, BPF_JMP | BPF_JGT | BPF_X, RESULT, TMP, 0, t->no);
	t->unread = t->at;
	end(t, FILTER_UNREAD);
	t->no = t->at;
	set(t, RESULT, FILTER_NO);
	go_if(t, BPF_JMP32 | BPF_JNE | BPF_K, RESULT, 0, FILTER_NO, t->fill); /* never */
	go(t, t->room);
}

static int pass(struct translation *t)
{
	int rc;

	t->at = 0;
	translate_ends(t);
	t->start = t->at;
	set(t, A, 0);
	set(t, X, 0);
	if (t->loops)
		set(t, HAVE, 0);
	else
		load_field(t, HAVE, AT(have));
	load_field(t, RESULT, AT(layer));
	go_if(t, BPF_JMP32 | BPF_JNE | BPF_K, RESULT, 0, FILTER_L2, t->l3);
	rc = translate_layer(t, &t->layers[FILTER_L2]);
	t->l3 = t->at;
	if (!rc)
		rc = translate_layer(t, &t->layers[FILTER_L3]);
	t->fill = t->at;
	return rc;
}

static int prepare(struct layer *l, const struct filter_source *source)
{
	l->in = source->insns;
	l->n = source->n;
	return l->n <= FILTER_ROOM ? filter_reach(&l->reach, l->in, l->n) : -E2BIG;
}

int filter_translate(const struct filter_source layers[2], struct bpf_insn *out, unsigned room)
{
	struct translation t = {.out = out, .room = room};
	unsigned used;
	int rc = 0;

	for (int i = 0; !rc && i < 2; i++) {
		rc = prepare(&t.layers[i], &layers[i]);
		t.loops |= t.layers[i].reach.loops;
	}
	for (int i = 0; !rc && i < 2; i++)
		rc = pass(&t);
	if (rc)
		return rc;
	used = t.at;
	while (t.at < room)
		go(&t, t.at + 1);
	return used <= room ? (int)used : -E2BIG;
}
