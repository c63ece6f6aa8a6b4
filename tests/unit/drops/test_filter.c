// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packet filters without the kernel: refused expressions, the same filter in user space, and the
 * shape of the translated code that the verifier requires. tests/bpf tests its meaning. The
 * numbering of an application's packets is also an expression.
 */
#include <linux/bpf.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "drops/balance.h"
#include "drops/filter.h"
#include "recorded.h"

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT_MAX      10000

static struct bpf_insn code[FILTER_ROOM];

/* 198.18.0.1:1234 to 198.18.0.2:5060, UDP, from its Ethernet header on. */
static const uint8_t frame[] = {
	2, 0x70, 0x6b, 0,    0,	 2,    2,  0x70, 0x6b, 0, 0,   1,  0x08, 0x00, 0x45, 0,
	0, 32,	 0,    0,    0,	 0,    64, 17,	 0,    0, 198, 18, 0,	 1,    198,  18,
	0, 2,	 4,    0xd2, 19, 0xc4, 0,  12,	 0,    0, 1,   2,  3,	 4,
};

static struct filter *compiled(const char *expr)
{
	struct filter *f = NULL;
	struct error err = {};

	if (filter_compile(&f, expr, &err))
		fail_msg("'%s': %s", expr, err.message);
	return f;
}

static bool wants(const char *expr, enum filter_layer layer, uint32_t have)
{
	const uint32_t from = layer == FILTER_L2 ? 0 : 14;
	struct filter *f = compiled(expr);
	bool match = filter_match_user(f, layer, frame + from, have - from, sizeof(frame) - from);

	filter_free(f);
	return match;
}

static void assert_refused(const char *expr, int code_wanted, const char *message)
{
	struct filter *f = NULL;
	struct error err = {};
	int rc = filter_compile(&f, expr, &err);

	if (rc != code_wanted || !strstr(err.message, message))
		fail_msg("'%.60s': %d, %s", expr, rc, err.message);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_null(f);
	assert_null(strchr(err.message, '\n'));
	assert_true(err.hint[0]);
}

CASE(errors_are_one_line)
{
	assert_refused("udp prt\n1\t2", -EINVAL, "'udp prt?1?2': ");
}

CASE(offsets_that_libpcap_lost)
{
	assert_refused("geneve or vlan", -ENODATA, "geneve");
	filter_free(compiled("vlan or geneve"));
	filter_free(compiled("geneve and udp"));
}

/* `n` times `part`, a format of two numbers each, joined by or. */
static const char *many(const char *part, unsigned n)
{
	static char text[TEXT_MAX];
	size_t at = 0;

	for (unsigned i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s", i ? " or " : "");
		at += (size_t)snprintf(text + at, sizeof(text) - at, part, i, i);
	}
	return text;
}

CASE(too_long)
{
	assert_refused(many("ether[%u] = %u", 500), -E2BIG, "...' is too long"); /* the text */
	assert_refused(many("udp[%u]&%u!=0", 470), -E2BIG, "too long");		 /* not optimized */
	assert_refused(many("udp[len+%u]=%u", 380), -E2BIG, "too long");	 /* translated */
	filter_free(compiled(many("udp[len+%u]=%u", 100)));
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct balance_numbering n;
	struct filter *f = NULL;
	struct error err = {};
	uint16_t port;
	bool only;

	if (!strcmp(verb, "numbers")) {
		if (!numbering_parse(text, &n, &err)) {
			tell("%s %u:%u:%u", n.kind == NUMBERS_RTP ? "rtp" : "offset", n.offset,
			     n.bytes, (unsigned)n.step);
			return;
		}
		assert_int_equal(err.status, STATUS_USAGE);
		assert_null(strchr(err.message, '\n'));
		tell("%s", err.message);
	} else if (!strcmp(verb, "port")) {
		port = filter_port(text, &only);
		tell("%u%s", port, only ? " only" : "");
	} else if (!strcmp(verb, "bad")) {
		assert_int_equal(filter_compile(&f, text, &err), -EINVAL);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_true(!f && *err.hint);
		tell("%s", err.message);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/filters", take_line, NULL);
}

CASE(layers)
{
	struct filter *f = compiled("udp port 53"), *ether = compiled("not ether host 1:2:3:4:5:6"),
		      *arp = compiled("arp");

	assert_null(filter_l3_refusal(f));
	assert_non_null(strstr(filter_l3_refusal(ether), "ethernet"));
	assert_false(filter_match_user(ether, FILTER_L3, frame + 14, 32, 32));
	assert_true(filter_match_user(ether, FILTER_L2, frame, sizeof(frame), sizeof(frame)));
	assert_non_null(strstr(filter_l3_refusal(arp), "rejects all packets"));
	filter_free(f);
	filter_free(ether);
	filter_free(arp);
	filter_free(NULL);
}

CASE(in_user_space)
{
	assert_true(wants("", FILTER_L2, sizeof(frame)));
	assert_true(wants("udp dst port 5060 and src 198.18.0.1", FILTER_L2, sizeof(frame)));
	assert_true(wants("udp dst port 5060 and src 198.18.0.1", FILTER_L3, sizeof(frame)));
	assert_false(wants("udp src port 5060", FILTER_L2, sizeof(frame)));
	assert_true(wants("len = 46", FILTER_L2, 20));
	assert_true(wants("len = 32", FILTER_L3, 20));
	assert_false(wants("udp dst port 5060", FILTER_L2, 37));
	assert_true(wants("udp dst port 5060", FILTER_L2, 38));
}

/* An authentication header that is its own successor: libpcap's program goes round for ever. */
CASE(chains_end)
{
	struct filter *f = compiled("ip6 protochain 17");
	uint8_t packet[60] = {0x60, [6] = 51, [40] = 51, [41] = 8};

	assert_false(filter_match_user(f, FILTER_L3, packet, sizeof(packet), sizeof(packet)));
	packet[40] = 17;
	assert_true(filter_match_user(f, FILTER_L3, packet, sizeof(packet), sizeof(packet)));
	filter_free(f);
}

static int translate(const struct sock_filter *insns, unsigned n, unsigned room)
{
	const struct filter_code same = {.insns = (struct sock_filter *)insns, .n = n};

	return filter_translate((struct filter_code[]){same, same}, code, room);
}

#define LD_MEM(word)                                                                               \
	{                                                                                          \
		BPF_LD | BPF_MEM, 0, 0, word                                                       \
	}
#define ST(word)                                                                                   \
	{                                                                                          \
		BPF_ST, 0, 0, word                                                                 \
	}
#define RET                                                                                        \
	{                                                                                          \
		BPF_RET | BPF_K, 0, 0, 1                                                           \
	}

static const struct bad_program {
	const char *name;
	struct sock_filter insns[4];
	unsigned n;
	int rc;
} bad_programs[] = {
	{"no return", {ST(0)}, 1, -EINVAL},
	{"jump behind the end", {{BPF_JMP | BPF_JA, 0, 0, 1}, RET}, 2, -EINVAL},
	{"jump before the begin", {{BPF_JMP | BPF_JA, 0, 0, (uint32_t)-2}, RET}, 2, -EINVAL},
	{"branch behind the end", {{BPF_JMP | BPF_JEQ, 0, 1, 0}, RET}, 2, -EINVAL},
	{"memory has 16 words", {ST(16), RET}, 2, -EINVAL},
	{"memory has 16 words, read", {LD_MEM(16), RET}, 2, -EINVAL},
	{"no such mode", {{BPF_LD | 0xe0, 0, 0, 0}, RET}, 2, -EINVAL},
	{"no such operation", {{BPF_ALU | 0xe0, 0, 0, 0}, RET}, 2, -EINVAL},
	{"no such condition", {{BPF_JMP | 0x90, 0, 0, 0}, RET}, 2, -EINVAL},
	{"no such verdict", {{BPF_RET | BPF_X, 0, 0, 0}}, 1, -EINVAL},
	{"no such class", {{0xffff, 0, 0, 0}, RET}, 2, -EINVAL},
	{"memory not written", {LD_MEM(3), RET}, 2, -ENODATA},
	{"another word written", {ST(2), LD_MEM(3), RET}, 3, -ENODATA},
	{"written on one way only",
	 {{BPF_JMP | BPF_JEQ, 0, 1, 7}, ST(3), LD_MEM(3), RET},
	 4,
	 -ENODATA},
	{"written on the only way", {ST(3), LD_MEM(3), RET}, 3, 0},
	{"never reached", {RET, LD_MEM(16), RET}, 3, 0},
};

CASE(bad_programs_are_refused)
{
	for (size_t i = 0; i < N_ELEMENTS(bad_programs); i++) {
		const struct bad_program *p = &bad_programs[i];
		int rc = translate(p->insns, p->n, FILTER_ROOM);

		if (rc != p->rc && !(rc > 0 && !p->rc))
			fail_msg("%s: %d", p->name, rc);
	}
}

CASE(room_is_kept)
{
	const struct sock_filter ret = RET;
	int n = translate(&ret, 1, FILTER_ROOM);

	assert_in_range(n, 1, 40);
	memset(code, 0xee, sizeof(code));
	assert_int_equal(translate(&ret, 1, (unsigned)n), n);
	assert_int_equal(code[n].code, 0xee);
	memset(code, 0xee, sizeof(code));
	assert_int_equal(translate(&ret, 1, (unsigned)n - 1), -E2BIG);
	assert_int_equal(code[n - 1].code, 0xee);
}

/* Marks the successors of the instruction at `at`. Returns false if a successor is outside. */
static bool mark_next(bool *reached, unsigned at)
{
	const struct bpf_insn *i = &code[at];
	bool jumps = BPF_CLASS(i->code) == BPF_JMP || BPF_CLASS(i->code) == BPF_JMP32;
	int to = (int)at + 1 + i->off;

	if (!jumps || BPF_OP(i->code) != BPF_JA)
		reached[at + 1] = true;
	if (!jumps)
		return true;
	if (to < 0 || to > FILTER_ROOM)
		return false;
	reached[to] = true;
	return true;
}

/* The verifier's check_cfg() wants an edge to every instruction. */
static void assert_all_reached(const char *expr)
{
	static bool reached[FILTER_ROOM + 1];
	unsigned before = 0, now = 1;

	memset(reached, 0, sizeof(reached));
	for (reached[0] = true; now != before;) {
		before = now;
		now = 0;
		for (unsigned i = 0; i < FILTER_ROOM; i++) {
			now += reached[i];
			if (reached[i] && !mark_next(reached, i))
				fail_msg("'%s': %u leads outside", expr, i);
		}
	}
	for (unsigned i = 0; i <= FILTER_ROOM; i++) {
		if (!reached[i])
			fail_msg("'%s': nothing leads to %u", expr, i);
	}
}

CASE(all_code_is_reached)
{
	static const char *const exprs[] = {
		"",
		"len < 0",
		"udp port 5060",
		"ether host 1:2:3:4:5:6",
		"ip6 protochain 17",
		"udp[len] / len = 1 or vlan",
		"ether[200] = 1",
		"ether[0xffffffff] = 0",
	};

	for (size_t i = 0; i < N_ELEMENTS(exprs); i++) {
		struct filter_code l[2] = {};
		char why[200];

		for (int layer = FILTER_L2; layer <= FILTER_L3; layer++)
			filter_pcap_compile(&l[layer], exprs[i], layer, why, sizeof(why));
		assert_true(filter_translate(l, code, FILTER_ROOM) > 0);
		assert_all_reached(exprs[i]);
		filter_pcap_free(&l[FILTER_L2]);
		filter_pcap_free(&l[FILTER_L3]);
	}
}
