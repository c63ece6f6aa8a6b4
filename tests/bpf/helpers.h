/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames made byte by byte, and BPF programs run on them without a network (BPF_PROG_RUN). */
#ifndef PKTLEDGER_TESTS_BPF_HELPERS_H
#define PKTLEDGER_TESTS_BPF_HELPERS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <endian.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "drops/reason.h"
#include "traffic/shape.h"
#include "stamp.h"
#include "trace_abi.h"

#define SKIPPED	    77
/* Differs from the program's default, so that other runs on this host are not seen. A test that
 * counts all packets of a port defines another port, because these tests run at the same time. */
#ifndef TEST_PORT
#define TEST_PORT 40404
#endif
#define TEST_STREAM 1000
#define TEST_BASE   (3ULL << 32)
#define FRAME_MAX   256
#define ETH_BYTES   14
#define TAG_BYTES   4
#define UDP_BYTES   8
#define FILL_BYTES  20 /* payload after the sequence header */

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* Waits for a condition that is expected within microseconds. */
#define AWAIT(condition)                                                                           \
	for (uint64_t end_ = clock_now() + 20000000000; !(condition); clock_sleep(1000000))        \
	assert_true(clock_now() < end_)

/* Zero-initialised: an IPv4 datagram of the flow with number 0. */
struct frame_spec {
	bool six;
	unsigned tags;	     /* VLAN */
	unsigned options;    /* bytes of IPv4 options */
	unsigned short_ihl;  /* instead of the true header length, in words */
	uint16_t fragment;   /* IPv4 flags and offset */
	uint16_t ethertype;  /* instead of IP's */
	uint8_t protocol;    /* instead of UDP's */
	uint16_t port;	     /* instead of TEST_PORT */
	uint16_t magic;	     /* instead of STAMP_MAGIC */
	uint64_t check_flip; /* bits of the complement that are wrong */
	uint64_t word;	     /* 0: number TEST_BASE of TEST_STREAM */
};

struct frame {
	uint8_t at[FRAME_MAX];
	unsigned len, l3, udp, payload; /* offsets */
};

/* Numbers of the first stream below `first` have left the window; of the others, below `rest`. */
static inline void set_tails(int fd, uint64_t first, uint64_t rest)
{
	struct trace_tails tails;
	const uint32_t zero = 0;

	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		tails.at[i] = i ? rest : first;
	if (bpf_map_update_elem(fd, &zero, &tails, BPF_ANY))
		abort();
}

/* RFC 1071, one's complement sum without the final inversion. */
static inline uint32_t sum16(const uint8_t *data, unsigned len, uint32_t sum)
{
	for (unsigned i = 0; i < len; i++)
		sum += i & 1 ? data[i] : (uint32_t)data[i] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Sum over pseudo header, UDP header and payload: 0xffff if the checksum is right. */
static inline uint32_t udp_sum(const struct frame *f, bool six)
{
	const uint8_t *addresses = f->at + f->l3 + (six ? 8 : 12);
	unsigned len = f->len - f->udp;

	return sum16(f->at + f->udp, len, sum16(addresses, six ? 32 : 8, 17 + len));
}

static inline void frame_ip4(struct frame *f, const struct frame_spec *s)
{
	static const uint8_t addresses[8] = {198, 18, 0, 1, 198, 18, 0, 2};
	uint8_t *ip = f->at + f->l3;
	unsigned header = 20 + s->options;

	memset(ip + 20, 1, s->options); /* no-operation */
	ip[0] = (uint8_t)(0x40 | (s->short_ihl ? s->short_ihl : header / 4));
	put16(ip + 2, f->len - f->l3);
	put16(ip + 6, s->fragment);
	ip[8] = 64;
	ip[9] = s->protocol ? s->protocol : 17;
	memcpy(ip + 12, addresses, sizeof(addresses));
	put16(ip + 10, ~sum16(ip, header, 0));
}

static inline void frame_ip6(struct frame *f, const struct frame_spec *s)
{
	static const uint8_t tx[16] = {0x20, 1, 0, 2, [15] = 1}, rx[16] = {0x20, 1, 0, 2, [15] = 2};
	uint8_t *ip = f->at + f->l3;

	ip[0] = 0x60;
	put16(ip + 4, f->len - f->udp);
	ip[6] = s->protocol ? s->protocol : 17;
	ip[7] = 64;
	memcpy(ip + 8, tx, 16);
	memcpy(ip + 24, rx, 16);
}

static inline void frame_stamp(struct frame *f, const struct frame_spec *s)
{
	uint64_t word = s->word ? s->word : STAMP_WORD(TEST_STREAM, TEST_BASE);
	uint8_t *payload = f->at + f->payload;

	flow_fill(payload, STAMP_LEN + FILL_BYTES);
	flow_stamp(payload, STAMP_LEN, word, 0);
	if (s->magic)
		put16(payload, s->magic);
	for (unsigned i = 0; i < 8; i++)
		payload[10 + i] ^= (uint8_t)(s->check_flip >> (56 - 8 * i));
}

static inline struct frame frame_make(struct frame_spec s)
{
	static const uint8_t macs[12] = {2, 0x70, 0x6b, 0, 0, 2, 2, 0x70, 0x6b, 0, 0, 1};
	struct frame f = {.l3 = ETH_BYTES + TAG_BYTES * s.tags};
	uint8_t *udp;

	f.udp = f.l3 + (s.six ? 40 : 20 + s.options);
	f.payload = f.udp + UDP_BYTES;
	f.len = f.payload + STAMP_LEN + FILL_BYTES;
	memcpy(f.at, macs, sizeof(macs));
	for (unsigned i = 0; i < s.tags; i++) {
		put16(f.at + 12 + TAG_BYTES * i, i + 1 < s.tags ? 0x88a8 : 0x8100);
		put16(f.at + 14 + TAG_BYTES * i, 0x6045 + i);
	}
	put16(f.at + f.l3 - 2, s.ethertype ? s.ethertype : s.six ? 0x86dd : 0x0800);
	if (s.six)
		frame_ip6(&f, &s);
	else
		frame_ip4(&f, &s);
	udp = f.at + f.udp;
	put16(udp, 1234);
	put16(udp + 2, s.port ? s.port : TEST_PORT);
	put16(udp + 4, f.len - f.udp);
	frame_stamp(&f, &s);
	put16(udp + 6, ~udp_sum(&f, s.six));
	return f;
}

/* What programs must tell apart: packets of the flow, and all else. */
static const struct frame_case {
	const char *name;
	struct frame_spec spec;
	bool ours;
} frame_cases[] = {
	{"IPv4", {0}, true},
	{"IPv6", {.six = true}, true},
	{"IPv4, a VLAN tag", {.tags = 1}, true},
	{"IPv4, two VLAN tags", {.tags = 2}, true},
	{"IPv6, two VLAN tags", {.six = true, .tags = 2}, true},
	{"IPv4, an option", {.options = 4}, true},
	{"IPv4, all options, a VLAN tag", {.options = 40, .tags = 1}, true},
	{"IPv4, do not fragment", {.fragment = 0x4000}, true},
	{"three VLAN tags", {.tags = 3}, false},
	{"ARP", {.ethertype = 0x0806}, false},
	{"ethertype unknown", {.ethertype = 0x9999}, false},
	{"TCP", {.protocol = 6}, false},
	{"IPv6, TCP", {.six = true, .protocol = 6}, false},
	{"IPv6, fragment header", {.six = true, .protocol = 44}, false},
	{"first fragment", {.fragment = 0x2000}, false},
	{"later fragment", {.fragment = 0x0010}, false},
	{"header length below 20", {.short_ihl = 4}, false},
	{"another port", {.port = TEST_PORT + 1}, false},
	{"port in the other byte order", {.port = 0xd49d}, false},
	{"wrong magic", {.magic = 0x706c}, false},
	{"complement wrong in its first bit", {.check_flip = 1ULL << 63}, false},
	{"complement wrong in its last bit", {.check_flip = 1}, false},
	{"IPv6, another port", {.six = true, .port = 1}, false},
	{"IPv6, bad complement", {.six = true, .check_flip = 1ULL << 32}, false},
};

/*
 * Returns the program's return value for the first `len` bytes of the frame, or -errno. Replaces
 * the bytes by the program's output.
 */
static inline int64_t run_program(int fd, struct frame *f, unsigned len)
{
	uint8_t out[FRAME_MAX] = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = f->at, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .repeat = 1);
	int rc = bpf_prog_test_run_opts(fd, &opts);

	if (rc)
		return rc;
	memcpy(f->at, out, len);
	return opts.retval;
}

/* A frame of the table of which the first `len` bytes are there; `ours`: also with its header. */
typedef void frame_check(const struct frame_case *c, struct frame *f, unsigned len, bool ours);

/* Each frame of the table, whole and cut at each length. */
static inline void each_frame(frame_check *check)
{
	for (unsigned i = 0; i < N_ELEMENTS(frame_cases); i++) {
		const struct frame_case *c = &frame_cases[i];
		const struct frame whole = frame_make(c->spec);

		for (unsigned len = ETH_BYTES; len <= whole.len; len++) {
			struct frame f = whole;

			check(c, &f, len, c->ours && len >= f.payload + STAMP_LEN);
		}
	}
}

/*
 * The lengths at which the kernel may refuse to run a program at all: before the end of the IP
 * header, some versions do for tc.
 */
static inline bool may_be_refused(const struct frame *f, unsigned len)
{
	return len < f->udp;
}

/* Loads a program that only returns a verdict; `attach`: where a type has several places. */
static inline int verdict_program(enum bpf_prog_type type, enum bpf_attach_type attach, int verdict)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = verdict},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = attach);

	return bpf_prog_load(type, "pl_verdict", "GPL", code, N_ELEMENTS(code), &opts);
}

/* Skips the case unless this kernel has the tracepoint, with at least so many arguments. */
static inline void skip_without_tracepoint(const char *name, int args)
{
	struct reasons *r;
	struct error err = {};
	int has;

	assert_int_equal(reasons_open(&r, NULL, &err), 0);
	has = reasons_tracepoint_args(r, name);
	reasons_free(r);
	if (has < args)
		skip();
}

/* Ends the test as skipped where BPF programs cannot be loaded. */
static inline void skip_unless_privileged(void)
{
	int fd = verdict_program(BPF_PROG_TYPE_XDP, BPF_XDP, XDP_PASS);

	if (fd < 0) {
		printf("cannot load BPF programs: %s; they need root\n", strerror(errno));
		exit(SKIPPED);
	}
	close(fd);
}

#endif
