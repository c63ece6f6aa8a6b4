// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tests where the packet filter finds the packet of an skb, which length it uses, and how it
 * handles unreadable bytes.
 */
#include "cases.h"
#include "bpf/filter_run.h"
#include "bpf/helpers.h"
#include "recorded.h"

#define IP	    0x0800
#define IP6	    0x86dd
#define FEW_INSNS   40
#define CHAIN_MAX   16
#define EXT_BYTES   8
#define DEST_OPTION 60

/* How an skb differs from one that is in IP, with all of its packet in the linear part. */
struct skb {
	struct frame_spec spec;
	int data, network, mac; /* offsets from the IP header */
	bool no_network, no_mac, no_protocol;
	unsigned have, length; /* bytes of the frame that are there; of skb->len; 0: all */
	unsigned seven;	       /* offset of a byte that is 7 */
	uint32_t tag;	       /* protocol and TCI that are not in the packet */
};

#define SKB(member) FIELD(struct skb, member)
static const struct recorded_field skb_fields[] = {
	SKB(spec.six), SKB(spec.tags),	 SKB(data), SKB(network), SKB(mac),   SKB(no_network),
	SKB(no_mac),   SKB(no_protocol), SKB(have), SKB(length),  SKB(seven), SKB(tag),
	{0},
};

static struct filter_test place(const struct skb *s, const struct frame *f)
{
	const int l3 = HEADROOM + (int)f->l3;
	struct filter_test t = {
		.data = (uint32_t)(l3 + s->data),
		.tail = HEADROOM + (s->have ? s->have : f->len),
		.network_header = s->no_network ? 0 : (uint16_t)(l3 + s->network),
		.mac_header = s->no_mac ? UNSET : (uint16_t)(l3 + s->mac),
		.protocol = s->no_protocol ? 0 : htobe16(f->at[f->l3] >> 4 == 6 ? IP6 : IP),
		.tag = s->tag,
	};

	t.len = s->length ? s->length : HEADROOM + f->len - t.data;
	memcpy(t.head + HEADROOM, f->at, f->len);
	if (s->seven)
		t.head[HEADROOM + s->seven] = 7;
	return t;
}

/* An IPv6 packet with `n` headers of destination options before UDP. */
static struct frame chain(unsigned n)
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
	return f;
}

static bool wants(const struct loaded *l, const struct skb *s, const struct frame *f)
{
	*l->test = place(s, f);
	return matches(l);
}

static void take_line(void *arg, const char *verb, char *text)
{
	static struct skb skb;
	struct loaded l;

	if (!strcmp(verb, "skb")) {
		skb = (struct skb){};
		recorded_read(skb_fields, text, &skb);
	}
	if (strcmp(verb, "try") && strcmp(verb, "chains"))
		return;
	l = load_expression(text);
	if (!strcmp(verb, "try")) {
		const struct frame f = frame_make(skb.spec);

		tell("%s", wants(&l, &skb, &f) ? "yes" : "no");
	} else {
		for (unsigned n = 0; n <= CHAIN_MAX; n++) {
			const struct frame f = chain(n);

			if (wants(&l, &(struct skb){.mac = -ETH_BYTES}, &f))
				tell("%u", n);
		}
	}
	if (unread(&l))
		tell("unread %u", (unsigned)unread(&l));
	unload(&l);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/skbs", take_line, NULL);
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
