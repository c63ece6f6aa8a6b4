// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The packet filter in the kernel against libpcap's own interpreter. PKTLEDGER_SEED draws other
 * expressions and packets, PKTLEDGER_FILTERS another number of them; a failure names what it was
 * given.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/mman.h>

#include "bpf/filter_expressions.h"
#include "bpf/filter_packets.h"
#include "bpf/filter_programs.h"
#include "bpf/helpers.h"
#include "filter_test_abi.h"
#include "trace/filter.h"
#include "trace/filter_ebpf.h"
#include "trace/filter_patch.h"
#include "trace/filter_pcap.h"
#include "filter_test.skel.h"

#define HEADROOM 64
#define PACKETS	 64 /* an expression */
#define UNSET	 0xffff
#define IP	 0x0800

static struct packet_bytes packets[PACKETS];
static unsigned filters; /* how many expressions and programs are tried */

/* A loaded test program. */
struct loaded {
	struct filter_test_bpf *skel;
	struct filter_test *test;
	int fd;
};

static int load(struct loaded *l)
{
	int rc = filter_test_bpf__load(l->skel);

	if (rc)
		return rc;
	l->fd = bpf_program__fd(l->skel->progs.matches);
	l->test = mmap(NULL, sizeof(*l->test), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_map__fd(l->skel->maps.test), 0);
	return l->test == MAP_FAILED ? -errno : 0;
}

static struct loaded load_filter(const struct filter *f)
{
	struct loaded l = {.skel = filter_test_bpf__open()};
	struct error err = {};

	assert_non_null(l.skel);
	if (filter_install(f, l.skel->obj, &err))
		fail_msg("%s", err.message);
	if (load(&l))
		fail_msg("the kernel refuses '%s'", f ? filter_expression(f) : "no filter");
	return l;
}

static void unload(struct loaded *l)
{
	munmap(l->test, sizeof(*l->test));
	filter_test_bpf__destroy(l->skel);
}

static bool run(const struct loaded *l)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int rc = bpf_prog_test_run_opts(l->fd, &opts);

	if (rc || opts.retval > 1)
		fail_msg("run: %d, %u", rc, opts.retval);
	return opts.retval;
}

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

/* The packet from its IP header on. */
static struct packet_bytes at_l3(const struct packet_bytes *p)
{
	unsigned cut = p->l3 < p->n ? p->l3 : p->n;
	struct packet_bytes at = {.n = p->n - cut, .length = p->length - cut};

	memcpy(at.at, p->at + cut, at.n);
	return at;
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

struct tally {
	unsigned refused, matched, run;
	unsigned unread_least, unread_most; /* what may be counted of the current filter */
};

/* The kernel's verdict is libpcap's, on what the kernel reads. */
static void compare(const struct loaded *l, const char *name, const struct filter_code *code,
		    const struct packet_bytes *p, enum filter_layer layer, struct tally *tally)
{
	bool want = code->n && filter_pcap_match(code, p->at, seen(p), p->length), got;

	place(l->test, p, layer);
	got = run(l);
	if (got != want) {
		print_packet(p);
		fail_msg("'%s' at %s: %d, libpcap says %d", name, layer == FILTER_L2 ? "L2" : "L3",
			 got, want);
	}
	tally->run++;
	tally->matched += got;
	tally->unread_most += !got && code->n && p->length > seen(p);
	tally->unread_least += !got && code->n && filter_pcap_match(code, p->at, p->n, p->length);
}

static void compare_all(const struct loaded *l, const char *name,
			const struct filter_code layers[2], struct tally *tally)
{
	uint64_t unread;

	tally->unread_least = tally->unread_most = 0;
	for (unsigned i = 0; i < PACKETS; i++) {
		const struct packet_bytes l3 = at_l3(&packets[i]);

		compare(l, name, &layers[FILTER_L2], &packets[i], FILTER_L2, tally);
		compare(l, name, &layers[FILTER_L3], &l3, FILTER_L3, tally);
	}
	assert_int_equal(filter_unread(l->skel->obj, &unread), 0);
	if (unread < tally->unread_least || unread > tally->unread_most)
		fail_msg("'%s': %u unread, %u to %u were", name, (unsigned)unread,
			 tally->unread_least, tally->unread_most);
}

static void draw_packets(void)
{
	for (unsigned i = 0; i < PACKETS; i++)
		packets[i] = packet_random();
}

/* Random expressions; false if libpcap takes it for none. */
static bool expression_agrees(const char *expr, struct tally *tally)
{
	struct filter_code layers[2] = {};
	struct filter *f = NULL;
	struct error err = {};
	struct loaded l;
	char why[256];

	if (filter_compile(&f, expr, &err)) {
		if (err.status != STATUS_USAGE || !strncmp(err.message, "the filter is too", 17))
			fail_msg("'%s': %s", expr, err.message);
		tally->refused++;
		return false;
	}
	for (int layer = FILTER_L2; layer <= FILTER_L3; layer++)
		filter_pcap_compile(&layers[layer], expr, layer, why, sizeof(why));
	assert_int_equal(layers[FILTER_L3].n == 0, filter_l3_refusal(f) != NULL);
	l = load_filter(f);
	compare_all(&l, expr, layers, tally);
	unload(&l);
	filter_free(f);
	free(layers[FILTER_L2].insns);
	free(layers[FILTER_L3].insns);
	return true;
}

static void expressions_agree(void **state)
{
	static struct expression e;
	struct tally tally = {};

	(void)state;
	for (unsigned n = 0; n < filters;) {
		draw_packets();
		n += expression_agrees(expression_random(&e), &tally);
	}
	print_message("# %u expressions, %u refused by libpcap, %u verdicts, %u matches\n", filters,
		      tally.refused, tally.run, tally.matched);
	assert_in_range(tally.matched, tally.run / 10, tally.run * 9 / 10);
	assert_true(tally.refused < 2 * filters);
}

/* Random classic programs: what libpcap never makes of an expression. */
static void programs_agree(void **state)
{
	static struct bpf_insn out[FILTER_ROOM];
	struct tally tally = {};

	(void)state;
	for (unsigned n = 0; n < filters; n++) {
		struct program p[2] = {program_random(), program_random()};
		const struct filter_source sources[2] = {{p[0].insns, p[0].n},
							 {p[1].insns, p[1].n}};
		const struct filter_code layers[2] = {{p[0].insns, p[0].n}, {p[1].insns, p[1].n}};
		struct loaded l = {.skel = filter_test_bpf__open()};
		unsigned needed;
		char name[32];

		snprintf(name, sizeof(name), "program %u", n);
		draw_packets();
		assert_non_null(l.skel);
		assert_int_equal(filter_translate(sources, out, FILTER_ROOM, &needed), 0);
		assert_int_equal(filter_patch(l.skel->obj, out), 0);
		if (load(&l))
			fail_msg("the kernel refuses %s", name);
		compare_all(&l, name, layers, &tally);
		unload(&l);
	}
	print_message("# %u programs, %u verdicts, %u matches\n", filters, tally.run,
		      tally.matched);
	assert_in_range(tally.matched, tally.run / 10, tally.run * 9 / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_agree),
		cmocka_unit_test(programs_agree),
	};
	const char *seed = getenv("PKTLEDGER_SEED"), *all = getenv("PKTLEDGER_TEST"),
		   *chosen = getenv("PKTLEDGER_FILTERS");

	skip_unless_privileged();
	filters = chosen ? (unsigned)atoi(chosen) : all && !strcmp(all, "all") ? 10000 : 300;
	srand(seed ? (unsigned)atoi(seed) : 1);
	print_message("# seed %s\n", seed ? seed : "1");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
