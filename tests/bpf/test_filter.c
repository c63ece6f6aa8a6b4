// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Compares the packet filter in the kernel with libpcap's interpreter, for random expressions and
 * packets of the grammar in tests/fixtures/grammar. PKTLEDGER_SEED changes the seed and
 * PKTLEDGER_FILTERS the number of filters. A failure prints the filter and the packet.
 */
#include "cases.h"
#include "bpf/filter_run.h"
#include "bpf/helpers.h"
#include "drops/filter.h"
#include "recorded.h"

#define PACKETS	      64 /* a filter */
#define PACKET_MAX    400
#define TEXT_MAX      4096
#define TEXT_DEPTH    12 /* of letters, after which each becomes its first text */
#define IP	      0x0800
#define TYPE	      12 /* offset in a frame */
#define ENOUGH_TO_CUT 18

struct packet_bytes {
	uint8_t at[PACKET_MAX];
	unsigned n;	 /* bytes that are there */
	unsigned length; /* of the packet */
	unsigned l3;	 /* offset after the Ethernet header and its tags */
};

struct random_text {
	char at[TEXT_MAX];
	size_t n;
	unsigned depth;
};

static char *texts[128]; /* of each letter */

static void take_rule(void *arg, const char *letter, char *text)
{
	if (!letter[1])
		texts[(unsigned char)*letter] = strdup(text);
}

static void random_letter(struct random_text *t, char letter);

static void random_fill(struct random_text *t, const char *text, size_t n)
{
	for (const char *end = text + n; text < end; text++) {
		if (*text == '$')
			random_letter(t, *++text);
		else if (t->n + 1 < sizeof(t->at))
			t->at[t->n++] = *text;
	}
	t->at[t->n] = '\0';
}

static void random_letter(struct random_text *t, char letter)
{
	const char *text = texts[(unsigned char)letter];
	unsigned n = 1;

	for (const char *c = text; *c; c++)
		n += *c == ',';
	n = t->depth++ < TEXT_DEPTH ? (unsigned)rand() % n : 0;
	while (n--)
		text = strchr(text, ',') + 1;
	random_fill(t, text, strcspn(text, ","));
	t->depth--;
}

static struct packet_bytes packets[PACKETS];
static unsigned expressions = 100; /* how many are tried */

struct tally {
	unsigned refused, matched, run;
};

/* A filter, and the packets that may be counted as unread. */
struct candidate {
	const char *name;
	struct filter_code layers[2];
	bool tags;
	struct loaded l;
	unsigned unread_least, unread_most;
	struct tally *tally;
};

/* As after eth_type_trans(), or as from a device without link layer. */
static void place(struct filter_test *t, const struct packet_bytes *p, enum filter_layer layer)
{
	bool l2 = layer == FILTER_L2;

	*t = (struct filter_test){
		.data = l2 ? HEADROOM + ETH_BYTES : HEADROOM,
		.len = l2 ? p->length - ETH_BYTES : p->length,
		.tail = HEADROOM + p->n,
		.mac_header = l2 ? HEADROOM : UNSET,
		.network_header = l2 ? 0 : HEADROOM,
		.protocol = htobe16(IP),
	};
	memcpy(t->head + HEADROOM, p->at, p->n);
}

static struct packet_bytes without(const struct packet_bytes *p, unsigned from, unsigned n)
{
	struct packet_bytes cut = {.n = p->n - n, .length = p->length - n};

	memcpy(cut.at, p->at, from);
	memcpy(cut.at + from, p->at + from + n, cut.n - from);
	return cut;
}

static unsigned seen(const struct packet_bytes *p)
{
	return p->n < FILTER_BYTES ? p->n : FILTER_BYTES;
}

static void print_packet(const struct packet_bytes *p)
{
	print_error("packet of %u bytes, %u there:", p->length, p->n);
	for (unsigned i = 0; i < p->n; i++)
		print_error(" %02x", p->at[i]);
	print_error("\n");
}

/*
 * Compares the kernel's verdict on the packet in place with libpcap's verdict on `p`, within the
 * bytes that the kernel reads.
 */
static void compare(struct candidate *c, const struct packet_bytes *p, enum filter_layer layer)
{
	const struct filter_code *code = &c->layers[layer];
	bool want = code->n && filter_pcap_match(code, p->at, seen(p), p->length);
	bool got = matches(&c->l);

	if (got != want) {
		print_packet(p);
		fail_msg("'%s' at L%d: %d, libpcap says %d", c->name, layer == FILTER_L2 ? 2 : 3,
			 got, want);
	}
	c->tally->run++;
	c->tally->matched += got;
	if (got || !code->n)
		return;
	c->unread_most += p->length > seen(p) || code->straight != code->insns;
	c->unread_least += filter_pcap_match(code, p->at, p->n, p->length);
}

static unsigned type_at(const struct packet_bytes *p, unsigned at)
{
	return p->at[at] << 8 | p->at[at + 1];
}

static bool is_tag(unsigned type)
{
	return type == 0x8100 || type == 0x88a8 || type == 0x9100;
}

/* The tag is in the skb, not in the packet. */
static void compare_tagged(struct candidate *c, const struct packet_bytes *p)
{
	const unsigned type = type_at(p, TYPE);
	struct packet_bytes rest;

	if (p->n < ENOUGH_TO_CUT || !is_tag(type))
		return;
	rest = without(p, TYPE, TAG_BYTES);
	place(c->l.test, &rest, FILTER_L2);
	c->l.test->tag = type << 16 | (uint32_t)p->at[TYPE + 2] << 8 | p->at[TYPE + 3];
	compare(c, c->tags ? p : &rest, FILTER_L2);
}

static void compare_all(struct candidate *c)
{
	uint64_t n;

	for (unsigned i = 0; i < PACKETS; i++) {
		const struct packet_bytes *p = &packets[i],
					  l3 = without(p, 0, p->l3 < p->n ? p->l3 : p->n);

		place(c->l.test, p, FILTER_L2);
		compare(c, p, FILTER_L2);
		place(c->l.test, &l3, FILTER_L3);
		compare(c, &l3, FILTER_L3);
		compare_tagged(c, p);
	}
	n = unread(&c->l);
	if (n < c->unread_least || n > c->unread_most)
		fail_msg("'%s': %u unread, not %u to %u", c->name, (unsigned)n, c->unread_least,
			 c->unread_most);
}

static unsigned digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* Some are cut short, and some are longer than the bytes that are there. */
static void draw_packet(struct packet_bytes *p)
{
	static const unsigned more[] = {1, 4, 1000};
	struct random_text hex = {};

	random_letter(&hex, 'F');
	*p = (struct packet_bytes){.l3 = ETH_BYTES};
	for (; 2 * p->n < hex.n && p->n < PACKET_MAX; p->n++)
		p->at[p->n] = (uint8_t)(digit(hex.at[2 * p->n]) << 4 | digit(hex.at[2 * p->n + 1]));
	while (is_tag(type_at(p, p->l3 - 2)))
		p->l3 += TAG_BYTES;
	if (rand() % 3 == 0)
		p->n = 1 + (unsigned)rand() % p->n;
	p->length = p->n + (rand() % 4 ? 0 : more[rand() % 3]);
}

/* False if libpcap takes the expression for none. */
static bool try_expression(const char *expr, struct tally *tally)
{
	struct candidate c = {.name = expr, .tally = tally, .tags = strstr(expr, "vlan")};
	struct filter *f = NULL;
	struct error err = {};
	char why[256];

	if (filter_compile(&f, expr, &err)) {
		if (err.status != STATUS_USAGE || strstr(err.message, "too long"))
			fail_msg("'%s': %s", expr, err.message);
		tally->refused++;
		return false;
	}
	for (int layer = FILTER_L2; layer <= FILTER_L3; layer++)
		filter_pcap_compile(&c.layers[layer], expr, layer, why, sizeof(why));
	assert_int_equal(c.layers[FILTER_L3].n == 0, filter_l3_refusal(f) != NULL);
	c.l = load_filter(f, expr);
	for (unsigned i = 0; i < PACKETS; i++)
		draw_packet(&packets[i]);
	compare_all(&c);
	unload(&c.l);
	filter_free(f);
	filter_pcap_free(&c.layers[FILTER_L2]);
	filter_pcap_free(&c.layers[FILTER_L3]);
	return true;
}

CASE(expressions_agree)
{
	struct tally tally = {};

	for (unsigned n = 0; n < expressions;) {
		struct random_text expr = {};

		random_letter(&expr, 'z');
		n += try_expression(expr.at, &tally);
	}
	print_message("# %u expressions, %u refused by libpcap, %u verdicts, %u matches\n",
		      expressions, tally.refused, tally.run, tally.matched);
	assert_in_range(tally.matched, tally.run / 10, tally.run * 9 / 10);
	assert_true(tally.refused < expressions);
}

static struct loaded load_programs(const struct filter_code l2_l3[2], bool tags, const char *name)
{
	static struct bpf_insn out[FILTER_ROOM];
	struct loaded l = {.skel = open_test()};

	assert_non_null(l.skel);
	assert_true(filter_translate(l2_l3, out, FILTER_ROOM) > 0);
	assert_int_equal(filter_patch(l.skel->obj, out, tags, 0, false), 0);
	if (load(&l))
		fail_msg("the kernel refuses %s", name);
	return l;
}

static const uint32_t edges[] = {
	0,  1,	 2,   3,   4,	5,   6,	    7,	  14,	  17,	      20,	31,	    32,
	33, 191, 192, 193, 255, 400, 0xfff, 2048, 0xffff, 0x7fffffff, 1u << 31, 0xfffffffe, ~0u,
};

static const uint16_t operations[] = {
	BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR,  BPF_AND,
	BPF_LSH, BPF_RSH, BPF_NEG, BPF_MOD, BPF_XOR,
};

/* libpcap's interpreter. Its header declares another struct bpf_insn. */
unsigned bpf_filter(const struct sock_filter *insns, const uint8_t *packet, unsigned length,
		    unsigned have);

static void try_operation(uint16_t op)
{
	struct sock_filter insns[] = {
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, 4},
		{BPF_MISC | BPF_TAX, 0, 0, 0},
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
		{BPF_ALU | op | (op == BPF_NEG ? 0 : BPF_X), 0, 0, 0},
		{BPF_MISC | BPF_TAX, 0, 0, 0},
		{BPF_LD | BPF_W | BPF_ABS, 0, 0, 8},
		{BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0},
		{BPF_RET | BPF_K, 0, 0, 1},
		{BPF_RET | BPF_K, 0, 0, 0},
	};
	struct sock_filter result[LENGTH(insns)];
	const struct filter_code same = {.insns = insns, .n = LENGTH(insns)};
	struct loaded l = load_programs((struct filter_code[]){same, same}, false, "an operation");
	struct packet_bytes packet = {.n = 12, .length = 12};
	uint32_t words[3];

	memcpy(result, insns, sizeof(insns));
	result[4] = (struct sock_filter){BPF_RET | BPF_A, 0, 0, 0};

	for (size_t i = 0; i < LENGTH(edges) * LENGTH(edges); i++) {
		uint32_t a = edges[i / LENGTH(edges)], x = edges[i % LENGTH(edges)], is;

		words[0] = htobe32(a);
		words[1] = htobe32(x);
		memcpy(packet.at, words, sizeof(words));
		is = bpf_filter(result, packet.at, 12, 12);
		words[2] = htobe32(is);
		memcpy(packet.at, words, sizeof(words));
		place(l.test, &packet, FILTER_L3);
		if (matches(&l) != bpf_filter(insns, packet.at, 12, 12))
			fail_msg("operation 0x%x of %u and %u is not %u", op, a, x, is);
	}
	unload(&l);
}

CASE(operations_on_the_edge)
{
	for (size_t i = 0; i < LENGTH(operations); i++)
		try_operation(operations[i]);
}

int main(void)
{
	const char *seed = getenv("PKTLEDGER_SEED"), *all = getenv("PKTLEDGER_TEST"),
		   *chosen = getenv("PKTLEDGER_FILTERS"),
		   *patience = getenv("PKTLEDGER_TEST_PATIENCE");

	skip_unless_privileged();
	recorded_each("tests/fixtures/grammar", take_rule, NULL);
	if (all && !strcmp(all, "all"))
		expressions = 10000;
	else if (patience && atoi(patience) > 1) /* a slow machine */
		expressions = 60;
	if (chosen)
		expressions = (unsigned)atoi(chosen);
	srand(seed ? (unsigned)atoi(seed) : 1);
	print_message("# seed %s\n", seed ? seed : "1");
	return run_cases(NULL, NULL);
}
