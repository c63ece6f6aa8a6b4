/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Random classic BPF programs, by rand(): every instruction that libpcap's interpreter knows, jumps
 * anywhere forward, values on the edge.
 */
#ifndef PKTLEDGER_TESTS_FILTER_PROGRAMS_H
#define PKTLEDGER_TESTS_FILTER_PROGRAMS_H

#include <linux/filter.h>
#include <stdint.h>
#include <stdlib.h>

#include "filter_abi.h"

#define PROGRAM_MAX 512

struct program {
	struct sock_filter insns[PROGRAM_MAX];
	unsigned n;
};

static const uint32_t program_edges[] = {
	0,  1,	 2,   3,   4,	5,   6,	    7,	  14,	  17,	      20,	31,	    32,
	33, 191, 192, 193, 255, 400, 0xfff, 2048, 0xffff, 0x7fffffff, 1u << 31, 0xfffffffe, ~0u,
};

static inline uint32_t program_number(void)
{
	return program_edges[(size_t)rand() % (sizeof(program_edges) / sizeof(program_edges[0]))];
}

static inline struct sock_filter program_load(void)
{
	static const uint16_t sizes[] = {BPF_W, BPF_H, BPF_B};
	uint16_t size = sizes[rand() % 3];
	uint32_t offset = rand() % 8 ? (uint32_t)rand() % 100 : program_number();

	switch (rand() % 10) {
	case 0:
		return (struct sock_filter){BPF_LD | BPF_LEN, 0, 0, 0};
	case 1:
		return (struct sock_filter){BPF_LDX | BPF_LEN, 0, 0, 0};
	case 2:
		return (struct sock_filter){BPF_LD | BPF_MEM, 0, 0, (uint32_t)rand() % 16};
	case 3:
		return (struct sock_filter){BPF_LDX | BPF_MEM, 0, 0, (uint32_t)rand() % 16};
	case 4:
		return (struct sock_filter){BPF_LDX | BPF_MSH | BPF_B, 0, 0, offset};
	case 5:
	case 6:
		return (struct sock_filter){BPF_LD | BPF_IND | size, 0, 0, offset};
	default:
		return (struct sock_filter){BPF_LD | BPF_ABS | size, 0, 0, offset};
	}
}

static const uint16_t program_operations[] = {
	BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
	BPF_LSH, BPF_RSH, BPF_NEG, BPF_MOD, BPF_XOR,
};

static inline struct sock_filter program_arithmetic(void)
{
	uint16_t op = program_operations[rand() % 11];
	uint32_t k = program_number();

	if (op == BPF_NEG)
		return (struct sock_filter){BPF_ALU | op, 0, 0, 0};
	if (rand() % 2)
		return (struct sock_filter){BPF_ALU | op | BPF_X, 0, 0, 0};
	if (op == BPF_LSH || op == BPF_RSH) /* the interpreter leaves it to C what more would do */
		k %= 32;
	if ((op == BPF_DIV || op == BPF_MOD) && !k)
		k = 7;
	return (struct sock_filter){BPF_ALU | op | BPF_K, 0, 0, k};
}

static inline struct sock_filter program_jump(unsigned left)
{
	static const uint16_t conditions[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint16_t by = rand() % 3 ? BPF_K : BPF_X;

	if (rand() % 10 == 0)
		return (struct sock_filter){BPF_JMP | BPF_JA, 0, 0, (uint32_t)rand() % left};
	return (struct sock_filter){
		BPF_JMP | conditions[rand() % 4] | by, (uint8_t)((unsigned)rand() % left),
		(uint8_t)((unsigned)rand() % left), by == BPF_K ? program_number() : 0};
}

/* `left`: number of following instructions, at least 1. */
static inline struct sock_filter program_step(unsigned left)
{
	uint32_t word = (uint32_t)rand() % FILTER_MEMORY;

	switch (rand() % 16) {
	case 0:
		return (struct sock_filter){BPF_ST, 0, 0, word};
	case 1:
		return (struct sock_filter){BPF_STX, 0, 0, word};
	case 2:
		return (struct sock_filter){BPF_MISC | BPF_TAX, 0, 0, 0};
	case 3:
		return (struct sock_filter){BPF_MISC | BPF_TXA, 0, 0, 0};
	case 4:
		return (struct sock_filter){BPF_LDX | BPF_IMM, 0, 0, program_number()};
	case 5:
		return (struct sock_filter){BPF_LD | BPF_IMM, 0, 0, program_number()};
	case 6:
		return (struct sock_filter){BPF_RET | (rand() % 2 ? BPF_A : BPF_K), 0, 0,
					    (uint32_t)rand() % 2};
	case 7:
	case 8:
	case 9:
		return program_arithmetic();
	case 10:
	case 11:
		return program_jump(left < 8 ? left : 8);
	default:
		return program_load();
	}
}

/*
 * A program of up to `most` instructions; every second one is short. Memory is written before it is
 * read: the interpreter does not clear it.
 */
static inline void program_random(struct program *p, unsigned most)
{
	const unsigned least = FILTER_MEMORY + 3;
	unsigned n = least + (unsigned)rand() % (rand() % 2 ? 12 : most - least);

	p->n = 0;
	if (rand() % 2)
		p->insns[p->n++] = (struct sock_filter){BPF_LD | BPF_IMM, 0, 0, program_number()};
	for (uint32_t word = 0; word < FILTER_MEMORY; word++)
		p->insns[p->n++] = (struct sock_filter){BPF_ST, 0, 0, word};
	for (; p->n < n - 1; p->n++)
		p->insns[p->n] = program_step(n - 1 - p->n);
	p->insns[p->n++] = (struct sock_filter){BPF_RET | (rand() % 2 ? BPF_A : BPF_K), 0, 0, 1};
}

#endif
