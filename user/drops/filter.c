// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/filter.h"

#include <bpf/libbpf.h>
#include <ctype.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "host/load.h"

#define SCRATCH_MAP "filter_scratch" /* of bpf/filter.bpf.h */

/*
 * Finds which instructions of a classic BPF program can be executed, and under what preconditions
 */

struct layer {
	const struct filter_code *code;
	bool live[FILTER_ROOM];	     /* reachable from the first instruction */
	uint16_t set[FILTER_ROOM];   /* words of memory that were written by then, one bit each */
	uint16_t place[FILTER_ROOM]; /* where its translation starts */
	bool loops;		     /* contains a backward jump */
	bool again;		     /* instructions that were already visited have changed */
};

/*
 * Marks the target of `step` from `i` as live, with no more than the memory in `set` written there.
 */
static int reach(struct layer *l, unsigned i, uint32_t step, uint16_t set)
{
	uint32_t to = i + 1 + step;

	if (to >= l->code->n)
		return -EINVAL;
	l->again |= to <= i && (!l->live[to] || l->set[to] & ~set);
	l->set[to] = l->live[to] ? l->set[to] & set : set;
	l->live[to] = true;
	return 0;
}

static int reach_next(struct layer *l, unsigned i)
{
	const struct sock_filter *f = &l->code->insns[i];
	unsigned class = BPF_CLASS(f->code);
	bool stores = class == BPF_ST || class == BPF_STX;
	bool loads = (class == BPF_LD || class == BPF_LDX) && BPF_MODE(f->code) == BPF_MEM;
	uint16_t set = l->set[i];
	int rc;

	if (class == BPF_RET)
		return 0;
	if (class == BPF_JMP && BPF_OP(f->code) == BPF_JA) {
		l->loops |= (int32_t)f->k < 0;
		return reach(l, i, f->k, set);
	}
	if (class == BPF_JMP) {
		rc = reach(l, i, f->jt, set);
		return rc ? rc : reach(l, i, f->jf, set);
	}
	if ((stores || loads) && f->k >= FILTER_MEMORY)
		return -EINVAL;
	if (loads && !(set >> f->k & 1))
		return -ENODATA;
	if (stores)
		set |= (uint16_t)(1 << f->k);
	return reach(l, i, 0, set);
}

/*
 * Processes a program of `n` instructions, at most FILTER_ROOM. Returns -EINVAL if it jumps out of
 * the program or accesses memory out of range, or -ENODATA if it reads a word of memory that is not
 * written on every path leading to the read.
 */
static int find_reach(struct layer *l)
{
	int rc = 0;

	l->live[0] = true;
	for (l->again = l->code->n; !rc && l->again;) {
		l->again = false;
		for (unsigned i = 0; !rc && i < l->code->n; i++)
			rc = l->live[i] ? reach_next(l, i) : 0;
	}
	return rc;
}

/* Translation */

/*
 * This code is shaped by the kernel's verifier. The verifier rejects instructions that no
 * control-flow edge reaches, so unreachable code is left out. Code that is never executed depends
 * on a branch whose outcome only the verifier knows. The verifier follows each path until it
 * reaches a known state. To let paths converge, all of the filter's values are plain numbers to it:
 * the filter's memory is in a map, and an index is stored there and loaded again.
 */

#define SCRATCH	 BPF_REG_1
#define A	 BPF_REG_2
#define X	 BPF_REG_3
#define HAVE	 BPF_REG_4 /* bytes read; in programs with loops: number of backward jumps */
#define TMP	 BPF_REG_5
#define RESULT	 BPF_REG_0
#define AT(what) offsetof(struct filter_scratch, what)

struct translation {
	struct bpf_insn *out;
	unsigned room, at;
	bool loops;
	/* Positions in `out`. The first pass finds them and the second pass uses them. */
	unsigned is_short, unread, no, start, l3, fill;
	struct layer layers[2];
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

/* `code`: class, condition and source operand of the comparison. */
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

/* Emits a check that results in no match if fewer bytes than RESULT were read. */
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

/* Returns an offset. One that is past any packet stays past it when more is added. */
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
	if (past <= FILTER_BYTES) /* otherwise the check has already ended it */
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

/*
 * Emits the instruction, which is the same on both machines with two exceptions. A shift by 32 or
 * more results in 0, but eBPF would shift by the low bits. Division by zero is no match.
 */
static int arithmetic(struct translation *t, const struct sock_filter *f)
{
	bool by_x = BPF_SRC(f->code) == BPF_X;
	unsigned op = BPF_OP(f->code);

	if (f->code & ~(BPF_ALU | 0xf0 | BPF_X) || op > BPF_XOR)
		return -EINVAL;
	if (op == BPF_NEG) {
		emit(t, BPF_ALU | BPF_NEG, A, 0, 0, 0);
		return 0;
	}
	if (op == BPF_LSH || op == BPF_RSH) {
		if (by_x)
			go_if(t, BPF_JMP32 | BPF_JLT | BPF_K, X, 0, 32, t->at + 2);
		if (by_x || f->k >= 32)
			set(t, A, 0);
		if (!by_x && f->k >= 32)
			return 0;
	} else if (op == BPF_DIV || op == BPF_MOD) {
		if (!by_x && !f->k)
			set(t, RESULT, 0);
		if (by_x || !f->k)
			go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, by_x ? X : RESULT, 0, 0, t->no);
		if (!by_x && !f->k)
			return 0;
	}
	emit(t, f->code, A, by_x ? X : 0, 0, by_x ? 0 : f->k);
	return 0;
}

static int jump(struct translation *t, const struct layer *l, unsigned i)
{
	const struct sock_filter *f = &l->code->insns[i];
	unsigned op = BPF_OP(f->code), src = BPF_SRC(f->code) == BPF_X ? X : 0;
	unsigned opposite = op == BPF_JEQ   ? BPF_JNE
			    : op == BPF_JGT ? BPF_JLE
			    : op == BPF_JGE ? BPF_JLT
					    : 0;
	bool inverts = !f->jt && opposite;

	if (f->code & ~(BPF_JMP | 0xf0 | BPF_X) || op > BPF_JSET)
		return -EINVAL;
	if (op == BPF_JA) {
		if ((int32_t)f->k < 0) {
			emit(t, BPF_ALU | BPF_ADD | BPF_K, HAVE, 0, 0, 1);
			go_if(t, BPF_JMP32 | BPF_JGT | BPF_K, HAVE, 0, FILTER_LOOPS, t->unread);
		}
		go(t, l->place[i + 1 + f->k]);
		return 0;
	}
	go_if(t, BPF_JMP32 | (inverts ? opposite : op) | BPF_SRC(f->code), A, src, src ? 0 : f->k,
	      l->place[i + 1 + (inverts ? f->jf : f->jt)]);
	if (!inverts && f->jf)
		go(t, l->place[i + 1 + f->jf]);
	return 0;
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
	const struct sock_filter *f = &l->code->insns[i];

	switch (BPF_CLASS(f->code)) {
	case BPF_LD:
	case BPF_LDX:
		return load(t, f);
	case BPF_ST:
	case BPF_STX:
		store_field(t, AT(memory) + 4 * f->k, BPF_CLASS(f->code) == BPF_ST ? A : X);
		return BPF_CLASS(f->code) == f->code ? 0 : -EINVAL;
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

	if (!l->code->n)
		end(t, FILTER_NO);
	for (unsigned i = 0; !rc && i < l->code->n; i++) {
		l->place[i] = (uint16_t)t->at;
		if (l->live[i])
			rc = instruction(t, l, i);
	}
	return rc;
}

/* Emits the code shared by all loads, which jump to it. It comes before them. */
static void translate_ends(struct translation *t)
{
	set(t, RESULT, 0);
	go_if(t, BPF_JMP32 | BPF_JEQ | BPF_K, RESULT, 0, 0, t->start); /* always */

	t->is_short = t->at; /* is the packet too short, or only the part that was read? */
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

int filter_translate(const struct filter_code layers[2], struct bpf_insn *out, unsigned room)
{
	struct translation t = {.out = out, .room = room};
	unsigned used;
	int rc = 0;

	for (int i = 0; !rc && i < 2; i++) {
		t.layers[i].code = &layers[i];
		rc = layers[i].n <= FILTER_ROOM ? find_reach(&t.layers[i]) : -E2BIG;
		t.loops |= t.layers[i].loops;
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

/* The placeholder in programs that include bpf/filter.bpf.h */

static bool is_constant(const struct bpf_insn *insn, __s32 value)
{
	return (insn->code == (BPF_ALU | BPF_MOV | BPF_K) ||
		insn->code == (BPF_ALU64 | BPF_MOV | BPF_K)) &&
	       insn->imm == value;
}

/* Returns true if insns[0] is the marker at which the placeholder begins. */
static bool is_place(const struct bpf_insn *insns, size_t n)
{
	if (n < FILTER_ROOM + 2 || !is_constant(insns, FILTER_BEGIN) ||
	    !is_constant(insns + FILTER_ROOM + 1, FILTER_END))
		return false;
	for (size_t i = 1; i <= FILTER_ROOM; i++) {
		if (insns[i].code != (BPF_JMP | BPF_JA) || insns[i].off)
			return false;
	}
	return true;
}

/* Fills the placeholders in `insns`. Returns how many there are. */
static unsigned fill(struct bpf_insn *insns, size_t n, const struct bpf_insn *code, __s32 slot,
		     bool tags, uint16_t port, bool is_port)
{
	const struct bpf_insn next = {.code = BPF_JMP | BPF_JA};
	unsigned places = 0;

	for (size_t i = 0; i < n; i++) {
		if (is_constant(insns + i, FILTER_OFF)) {
			insns[i].imm = 0;
		} else if (is_constant(insns + i, FILTER_SLOT)) {
			insns[i].imm = slot;
		} else if (is_constant(insns + i, FILTER_TAGS)) {
			insns[i].imm = tags;
		} else if (is_constant(insns + i, FILTER_PORT)) {
			insns[i].imm = port;
		} else if (is_constant(insns + i, FILTER_IS_PORT)) {
			insns[i].imm = is_port;
		} else if (is_place(insns + i, n - i)) {
			memcpy(insns + i + 1, code, FILTER_ROOM * sizeof(*code));
			i += FILTER_ROOM + 1;
			insns[i] = next;
			places++;
		}
	}
	return places;
}

int filter_patch(struct bpf_object *obj, const struct bpf_insn *code, bool tags, uint16_t port,
		 bool is_port)
{
	struct bpf_map *scratch = bpf_object__find_map_by_name(obj, SCRATCH_MAP);
	struct bpf_program *prog;
	__s32 slots = 0;

	bpf_object__for_each_program(prog, obj)
	{
		size_t n = bpf_program__insn_cnt(prog);
		struct bpf_insn *insns = mem_resize(NULL, n, sizeof(*insns));
		int rc = 0;

		memcpy(insns, bpf_program__insns(prog), n * sizeof(*insns));
		if (fill(insns, n, code, slots, tags, port, is_port)) {
			rc = bpf_program__set_insns(prog, insns, n);
			slots++;
		}
		free(insns);
		if (rc)
			return rc;
	}
	return slots && scratch ? bpf_map__set_max_entries(scratch, (__u32)slots) : -ENOENT;
}

uint64_t filter_unread(const struct bpf_object *obj)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(obj, SCRATCH_MAP);
	struct filter_scratch sum; /* an array of 64-bit words, of which only one is a counter */
	uint64_t packets = 0;

	for (__u32 slot = 0; slot < bpf_map__max_entries(map); slot++) {
		trace_sum(map, &slot, &sum, sizeof(sum));
		packets += sum.unread;
	}
	return packets;
}

/* Filters */

struct filter {
	char *expression;
	bool tags;		      /* the expression tests VLAN tags */
	struct filter_code layers[2]; /* by enum filter_layer; no instructions: nothing matches */
	char l3_refusal[160];
	struct bpf_insn code[FILTER_ROOM];
	uint16_t port; /* filter_port() */
	bool is_port;  /* the expression consists of the port alone */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("_-.", c));
}

bool filter_has_word(const char *expr, const char *word)
{
	const size_t n = strlen(word);

	for (const char *at = strstr(expr, word); at; at = strstr(at + 1, word)) {
		if ((at == expr || !is_word(at[-1])) && !is_word(at[n]))
			return true;
	}
	return false;
}

/* Removes parentheses, which have no effect without `or`. `opens`: the word had an opening one. */
static char *next_word(char **rest, bool *opens)
{
	char *word = strtok_r(*rest, " ", rest);

	*opens = word && *word == '(';
	if (!word)
		return NULL;
	word += strspn(word, "(");
	word[strcspn(word, ")")] = '\0';
	return word;
}

uint16_t filter_port(const char *expr, bool *only)
{
	static const char *const words[] = {"and", "&&",  "ip",	  "ip6", "udp", "tcp",
					    "src", "dst", "host", "net", "not"};
	char *copy = mem_string(expr), *rest = copy;
	uint16_t port = 0;
	bool negated = false, plain = true, opens, udp = false;
	uint64_t n;

	*only = true;
	for (char *word; plain && (word = next_word(&rest, &opens));) {
		plain = !(negated && opens);
		if (!*word || !plain)
			continue;
		if (!strcmp(word, "port")) {
			word = next_word(&rest, &opens);
			plain = word && !num_u64(word, 1, UINT16_MAX, &n);
			*only &= !port && plain;
			if (plain && !negated)
				port = (uint16_t)n;
			continue;
		}
		udp |= !strcmp(word, "udp");
		*only &= !strcmp(word, "udp") || !strcmp(word, "and") || !strcmp(word, "&&");
		plain = strpbrk(word, ".:") && !word[strspn(word, "0123456789abcdefABCDEF.:/")];
		for (size_t i = 0; !plain && i < sizeof(words) / sizeof(words[0]); i++)
			plain = !strcmp(word, words[i]);
		if (!strcmp(word, "not") || !strcmp(word, "and") || !strcmp(word, "&&"))
			negated = *word == 'n';
	}
	free(copy);
	*only &= plain && udp && port;
	return plain ? port : 0;
}

static int refuse(const char *expr, int rc, const char *why, struct error *err)
{
	char quoted[100]; /* long enough to recognize the text, on one line */
	size_t n = 0;

	for (; n + 1 < sizeof(quoted) && expr[n]; n++)
		quoted[n] = isprint((unsigned char)expr[n]) ? expr[n] : '?';
	quoted[n] = '\0';
	if (expr[n])
		memset(quoted + n - 3, '.', 3);
	switch (rc) {
	case -EINVAL:
		return error_set(err, STATUS_USAGE, rc, "man pcap-filter describes the language",
				 "bad filter '%s': %s", quoted, why);
	case -E2BIG:
		return error_set(err, STATUS_USAGE, rc,
				 "shorten the filter, for example by using networks instead of "
				 "hosts",
				 "the filter '%s' is too long for the kernel", quoted);
	case -ENODATA: /* if `geneve` did not match, libpcap has lost the offsets */
		return error_set(err, STATUS_USAGE, rc, "put 'geneve' last, after 'or'",
				 "bad filter '%s': libpcap does not know where headers are when "
				 "'geneve' is tried first and does not match",
				 quoted);
	}
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot compile the filter");
}

int filter_compile(struct filter **out, const char *expr, struct error *err)
{
	struct filter *f = mem_new(f);
	char why[sizeof(f->l3_refusal)] = "libpcap's program cannot be translated";
	int rc = filter_pcap_compile(&f->layers[FILTER_L2], expr, FILTER_L2, why, sizeof(why));

	f->expression = mem_string(expr);
	if (!rc) {
		rc = filter_pcap_compile(&f->layers[FILTER_L3], expr, FILTER_L3, f->l3_refusal,
					 sizeof(f->l3_refusal));
		rc = rc == -EINVAL ? 0 : rc;
	}
	if (!rc) {
		rc = filter_translate(f->layers, f->code, FILTER_ROOM);
		rc = rc < 0 ? rc : 0;
	}
	if (rc) {
		filter_free(f);
		return refuse(expr, rc, why, err);
	}
	f->tags = filter_has_word(expr, "vlan");
	f->port = filter_port(expr, &f->is_port);
	*out = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	filter_pcap_free(&f->layers[FILTER_L2]);
	filter_pcap_free(&f->layers[FILTER_L3]);
	free(f->expression);
	free(f);
}

bool filter_asks_extensions(const struct filter *f)
{
	const char *text = f->expression;

	return strstr(text, "protochain") || strstr(text, "ip6 proto") || strstr(text, "ip6[") ||
	       strstr(text, "ip6 [");
}

const char *filter_l3_refusal(const struct filter *f)
{
	return f->layers[FILTER_L3].n ? NULL : f->l3_refusal;
}

int filter_check_inner(const struct filter *f, struct error *err)
{
	static const char *const outer[] = {"vxlan", "geneve"}; /* keywords for the tunnel itself */
	static const char hint[] =
		"use primitives of IP and the protocols inside: host, net, port, proto, ip[..], "
		"udp[..]";

	for (unsigned i = 0; i < sizeof(outer) / sizeof(outer[0]); i++) {
		if (filter_has_word(f->expression, outer[i]))
			return error_set(err, STATUS_USAGE, -EINVAL, hint,
					 "--inner applies EXPR to the packet in a tunnel, and '%s' "
					 "is about the tunnel",
					 outer[i]);
	}
	if (filter_l3_refusal(f))
		return error_set(err, STATUS_USAGE, -EINVAL, hint,
				 "--inner applies EXPR to the IP header and after, which is not "
				 "possible for this EXPR: %s",
				 filter_l3_refusal(f));
	return 0;
}

bool filter_match_user(const struct filter *f, enum filter_layer layer, const void *bytes,
		       uint32_t have, uint32_t length)
{
	const struct filter_code *code = &f->layers[layer];

	return code->n && filter_pcap_match(code, bytes, have, length);
}

int filter_install(const struct filter *f, struct bpf_object *obj, struct error *err)
{
	int rc = f ? filter_patch(obj, f->code, f->tags, f->port, f->is_port) : 0;

	return error_errno(err, STATUS_FAILED, rc, NULL,
			   "cannot put the filter into the tracing programs");
}
