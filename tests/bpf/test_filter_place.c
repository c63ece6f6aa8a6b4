// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests where the packet filter finds the packet of an skb, which length it uses, and how it
 * handles unreadable bytes.
 */
#include "cases.h"
#include "bpf/filter_run.h"
#include "bpf/helpers.h"

#define IP	    0x0800
#define IP6	    0x86dd
#define OUTER	    20 /* bytes of a tunnel's header */
#define OTHER_PORT  "udp port 1"
#define OUR_PORT    "udp dst port 40404" /* TEST_PORT */
#define OUR_MAC	    "ether src 02:70:6b:00:00:01"
#define FEW_INSNS   40
#define CHAIN_MAX   16
#define EXT_BYTES   8
#define DEST_OPTION 60

/* An skb with the whole frame in its linear part, data at the IP header. */
static void place(struct filter_test *t, const struct frame *f)
{
	*t = (struct filter_test){
		.data = HEADROOM + f->l3,
		.len = f->len - f->l3,
		.tail = HEADROOM + f->len,
		.mac_header = HEADROOM,
		.network_header = (uint16_t)(HEADROOM + f->l3),
		.protocol = htobe16(f->at[f->l3] >> 4 == 6 ? IP6 : IP),
	};
	memcpy(t->head + HEADROOM, f->at, f->len);
}

static bool filter_wants(const char *expr, const struct filter_test *t)
{
	struct loaded l = load_expression(expr);
	bool wants;

	*l.test = *t;
	wants = matches(&l);
	unload(&l);
	return wants;
}

/* From its fields alone: is there an Ethernet header, and where is the IP header? */
static const struct place_case {
	const char *name;
	struct frame_spec spec;
	int data, network, mac; /* offsets from the IP header */
	bool no_network, no_mac, no_protocol;
	bool l2; /* expected */
} place_cases[] = {
	{.name = "received, before the network header is set",
	 .mac = -14,
	 .no_network = true,
	 .l2 = true},
	{.name = "in IP", .mac = -14, .l2 = true},
	{.name = "in UDP, headers pulled", .data = 28, .mac = -14, .l2 = true},
	{.name = "being sent by a device", .data = -14, .mac = -14, .l2 = true},
	{.name = "IPv6", .spec = {.six = true}, .mac = -14, .l2 = true},
	{.name = "a tag in the packet", .spec = {.tags = 1}, .mac = -18, .l2 = true},
	{.name = "two tags in the packet", .spec = {.tags = 2}, .mac = -22, .l2 = true},
	{.name = "made here, no Ethernet header yet", .no_mac = true},
	{.name = "from a device without link layer", .mac = 0},
	{.name = "the same in UDP", .data = 28, .mac = 0},
	{.name = "out of a tunnel, outer MAC header", .mac = -14 - OUTER},
	{.name = "into a tunnel, inner MAC header", .mac = OUTER},
	{.name = "nothing set but data and protocol", .no_mac = true, .no_network = true},
	{.name = "a raw frame",
	 .data = -14,
	 .no_mac = true,
	 .no_network = true,
	 .no_protocol = true,
	 .l2 = true},
};

CASE(headers_are_found)
{
	for (size_t i = 0; i < N_ELEMENTS(place_cases); i++) {
		const struct place_case *c = &place_cases[i];
		const struct frame f = frame_make(c->spec);
		int l3 = HEADROOM + (int)f.l3;
		struct filter_test t;

		place(&t, &f);
		t.data = (uint32_t)(l3 + c->data);
		t.len = HEADROOM + f.len - t.data;
		t.network_header = c->no_network ? 0 : (uint16_t)(l3 + c->network);
		t.mac_header = c->no_mac ? UNSET : (uint16_t)(l3 + c->mac);
		if (c->no_protocol)
			t.protocol = 0;
		if (!filter_wants(c->spec.tags > 1 ? "vlan and vlan and " OUR_PORT
				  : c->spec.tags   ? "vlan and " OUR_PORT
						   : OUR_PORT,
				  &t))
			fail_msg("%s: not found", c->name);
		if (filter_wants(OTHER_PORT, &t))
			fail_msg("%s: another port", c->name);
		if (filter_wants(OUR_MAC, &t) != c->l2)
			fail_msg("%s: Ethernet header %s", c->name, c->l2 ? "missed" : "made up");
	}
}

/* Wherever skb->data is by then. */
CASE(length_is_the_packets)
{
	const struct frame f = frame_make((struct frame_spec){});
	struct filter_test t;
	char expr[32];

	place(&t, &f);
	snprintf(expr, sizeof(expr), "len = %u", f.len);
	assert_true(filter_wants(expr, &t));
	t.data += 28;
	t.len -= 28;
	assert_true(filter_wants(expr, &t));
	t.data = HEADROOM;
	t.len = f.len;
	assert_true(filter_wants(expr, &t));
	t.mac_header = UNSET;
	snprintf(expr, sizeof(expr), "len = %u", f.len - ETH_BYTES);
	assert_true(filter_wants(expr, &t));
}

/* `vlan` matches a tag stored in the skb. Filters without `vlan` ignore the tag. */
CASE(tag_beside_the_packet)
{
	const struct frame f = frame_make((struct frame_spec){});
	struct filter_test t;
	char expr[64];

	place(&t, &f);
	assert_false(filter_wants("vlan", &t));
	t.tag = 0x8100U << 16 | 0x6045;
	assert_true(filter_wants("vlan 0x45 and " OUR_PORT, &t));
	assert_false(filter_wants("vlan 0x46", &t));
	assert_true(filter_wants("not vlan 0x46 and " OUR_MAC, &t));
	assert_true(filter_wants(OUR_PORT, &t));
	assert_false(filter_wants("ether[12:2] = 0x8100", &t));
	snprintf(expr, sizeof(expr), "len = %u", f.len);
	assert_true(filter_wants(expr, &t));
	snprintf(expr, sizeof(expr), "vlan and len = %u", f.len + TAG_BYTES);
	assert_true(filter_wants(expr, &t));
	t.mac_header = UNSET;
	assert_false(filter_wants("vlan", &t));
}

/* Unread bytes inside the packet are counted as unread, bytes after its end are not. */
CASE(unreadable_is_counted)
{
	const struct frame f = frame_make((struct frame_spec){});
	struct loaded l = load_expression(OUR_PORT);

	place(l.test, &f);
	l.test->tail = HEADROOM + f.udp; /* the rest is in pages */
	assert_false(matches(&l));
	assert_int_equal(unread(&l), 1);
	l.test->len = f.udp - f.l3; /* there is no rest */
	assert_false(matches(&l));
	assert_int_equal(unread(&l), 1);
	place(l.test, &f);
	assert_true(matches(&l));
	assert_int_equal(unread(&l), 1);
	unload(&l);

	l = load_expression("ether[79] = 0"); /* the last byte, and the first byte after it */
	place(l.test, &f);
	assert_int_equal(f.len, 80);
	l.test->tail = HEADROOM + 79;
	assert_false(matches(&l));
	assert_int_equal(unread(&l), 1);
	l.test->len--;
	assert_false(matches(&l));
	assert_int_equal(unread(&l), 1);
	unload(&l);
}

CASE(bytes_that_are_read)
{
	const struct frame f = frame_make((struct frame_spec){});
	struct loaded within = load_expression("ether[191] = 7"), behind;

	place(within.test, &f);
	within.test->tail = HEADROOM + 300;
	within.test->len = 300 - ETH_BYTES;
	within.test->head[HEADROOM + 191] = 7;
	assert_true(matches(&within));
	assert_int_equal(unread(&within), 0);

	behind = load_expression("ether[192] = 0");
	*behind.test = *within.test;
	assert_false(matches(&behind));
	assert_int_equal(unread(&behind), 1);
	unload(&within);
	unload(&behind);
}

/* An IPv6 packet with `n` headers of destination options before UDP. */
static struct filter_test chain(unsigned n)
{
	struct frame f = frame_make((struct frame_spec){.six = true});
	unsigned bytes = n * EXT_BYTES;

	memmove(f.at + f.udp + bytes, f.at + f.udp, UDP_BYTES);
	f.len = f.udp + bytes + UDP_BYTES;
	for (unsigned i = 0; i < n; i++) {
		f.at[f.udp + i * EXT_BYTES] = i + 1 < n ? DEST_OPTION : 17;
		f.at[f.udp + i * EXT_BYTES + 1] = 0;
	}
	f.at[f.l3 + 6] = n ? DEST_OPTION : 17;

	struct filter_test t;

	place(&t, &f);
	return t;
}

/* `protochain` goes on to the 8th header; for a longer chain it does not know. */
CASE(chains_of_headers)
{
	struct loaded l = load_expression("ip6 protochain 17");
	uint64_t unknown = 0;

	for (unsigned n = 0; n <= CHAIN_MAX; n++) {
		*l.test = chain(n);
		unknown += n > 8;
		if (matches(&l) != (n <= 8))
			fail_msg("%u headers", n);
		assert_int_equal(unread(&l), unknown);
	}
	unload(&l);
	assert_false(filter_wants("ip6 protochain 6", (struct filter_test[]){chain(8)}));
}

static unsigned insns_of(const struct loaded *l)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(l->fd, &info, &len), 0);
	return info.xlated_prog_len / sizeof(struct bpf_insn);
}

/* The verifier leaves nothing of it: no map, no read. */
CASE(without_a_filter_all_pass)
{
	struct loaded l, all;

	if (!has_kfuncs())
		skip(); /* the verifier of Linux 6.1 leaves 265 instructions */
	l = load_filter(NULL, "no filter");
	assert_true(matches(&l));
	assert_in_range(insns_of(&l), 1, FEW_INSNS);
	all = load_expression("");
	assert_true(insns_of(&all) > FEW_INSNS);
	unload(&l);
	unload(&all);
}

CASE(objects_without_the_stub)
{
	struct test_bpf *skel = open_test();
	struct filter *f = NULL;
	struct error err = {};

	assert_non_null(skel);
	assert_int_equal(filter_compile(&f, "udp", &err), 0);
	assert_int_equal(filter_install(f, skel->obj, &err), 0);
	assert_int_equal(filter_install(f, skel->obj, &err), -ENOENT); /* the place is taken */
	assert_int_equal(err.status, STATUS_FAILED);
	filter_free(f);
	test_bpf__destroy(skel);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(NULL, NULL);
}
