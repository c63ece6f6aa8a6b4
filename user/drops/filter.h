/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet filters in the language of pcap-filter(7), run in the kernel. libpcap compiles the
 * expression; the result is translated to eBPF (filter_translate()) and put into the programs that
 * call filter_matches() (bpf/filter.bpf.h) before they are loaded: what is not wanted has no event.
 *
 * Where a packet ends, its Ethernet header may be there or not. So an expression is compiled twice,
 * and each packet is filtered by the program that fits it.
 *
 * The verdict is that of libpcap's own interpreter on the packet's first FILTER_BYTES bytes, with
 * its whole length. If it depends on bytes behind them, or on bytes that the kernel keeps in pages,
 * the packet does not match and is counted, see filter_unread().
 *
 * A VLAN tag that the kernel keeps beside the packet is not among its bytes. It is put back for an
 * expression with the keyword `vlan` and not seen by any other: as in a live capture, `udp port 53`
 * matches with and without such a tag.
 */
#ifndef PKTLEDGER_DROPS_FILTER_H
#define PKTLEDGER_DROPS_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "filter_abi.h"
#include "watch_abi.h"

struct bpf_insn; /* of the kernel; libpcap has another of that name */
struct bpf_object;
struct filter;

/*
 * Compiles an expression, which is copied. -EINVAL and STATUS_USAGE with libpcap's message if it is
 * none; -E2BIG and STATUS_USAGE if it is too long for the kernel; -ENODATA and STATUS_USAGE where
 * libpcap's program would read what it never wrote, so no verdict is right. May ask the resolver.
 */
int filter_compile(struct filter **f, const char *expr, struct error *err);

void filter_free(struct filter *f);

/*
 * Why a packet without Ethernet header never matches (`ether host ...`), in libpcap's words; NULL
 * if the expression makes sense there.
 */
const char *filter_l3_refusal(const struct filter *f);

/*
 * Whether the expression speaks of extension headers (`ip6 protochain`, `ip6 proto 44`, `ip6[..]`).
 * All others are to see IPv6 without them: libpcap looks for ports behind the fixed header.
 */
bool filter_asks_extensions(const struct filter *f);

/* Whether it can be applied to IP packets inside tunnels, of any kind. 0, or STATUS_USAGE. */
int filter_check_inner(const struct filter *f, struct error *err);

/*
 * Puts the filter into all programs of an opened, not yet loaded object that call filter_matches().
 * Without this, or with f NULL, they pass all and the stub costs nothing. -ENOENT: no such program.
 */
int filter_install(const struct filter *f, struct bpf_object *obj, struct error *err);

/*
 * Packets so far, on all CPUs, that did not match because bytes which the filter asks for could not
 * be read. `obj` is loaded and has had filter_install().
 */
uint64_t filter_unread(const struct bpf_object *obj);

/*
 * The same filter in user space, by libpcap's interpreter: whether a packet of `length` bytes, of
 * which the first `have` are at `bytes`, matches.
 */
bool filter_match_user(const struct filter *f, enum filter_layer layer, const void *bytes,
		       uint32_t have, uint32_t length);

/*
 * Tunnels of this host, for filters that are applied to what is inside (--inner): GRE and IP in IP
 * are known by their IP protocol; VXLAN and Geneve by the UDP port, 4789 and 6081 (RFC 7348, 8926),
 * 8472, which Linux takes where none is given, and those of the VXLAN and Geneve devices that any
 * namespace has by now. STATUS_UNABLE: they are more than TUNNEL_PORTS.
 */
int tunnels_find(struct filter_inner *out, struct error *err);

/* "vxlan 42", "gre" ..., of a flow in a tunnel; "" of any other. Returns `buf`. */
#define TUNNEL_TEXT 32
char *tunnel_text(const struct watch_flow *f, char buf[TUNNEL_TEXT]);

/* Its parts, for tests, and for who has packets in user space. */

/*
 * libpcap's compiler and interpreter of filters. Apart from the rest, because libpcap and libbpf
 * give the same names to different structures.
 */

/* A compiled filter. */
struct filter_code {
	struct sock_filter *insns; /* as libpcap made them */
	unsigned n;		   /* 0: no packet of this layer matches */
	/*
	 * The same for the interpreter. Only `protochain` makes programs that jump back, and on
	 * some packets they never end: here, what comes after each of FILTER_LOOPS jumps back is
	 * a copy of its own, and one more is no match. Without such jumps, it is `insns`.
	 */
	struct sock_filter *straight;
	unsigned n_straight;
};

/*
 * 0, -ENOMEM, -E2BIG, or -EINVAL with libpcap's message in `why`, also for what only a live capture
 * knows (SKF_AD_OFF). `layer`: what the packets begin with.
 */
int filter_pcap_compile(struct filter_code *code, const char *expr, enum filter_layer layer,
			char *why, size_t size);

void filter_pcap_free(struct filter_code *code);

/* Whether a packet of `length` bytes, `have` of which are at `bytes`, matches. */
bool filter_pcap_match(const struct filter_code *code, const void *bytes, uint32_t have,
		       uint32_t length);

/*
 * From classic BPF, as libpcap makes it, to the eBPF that runs inside bpf/filter.bpf.h. The meaning
 * is that of libpcap's interpreter (pcap_offline_filter()): loads are checked against the packet's
 * bytes, an index does not wrap, division by zero is no match, any value but 0 is a match.
 *
 * Fills out[0 .. room - 1] with the programs of both layers, `layers` indexed by enum filter_layer.
 * On entry r1 is the struct filter_scratch; r1 and r6 to r9 are kept; it ends behind out[room - 1]
 * with the verdict in r0. Returns how many instructions it took, -E2BIG if more than `room` (at
 * most FILTER_ROOM), -EINVAL for a program that the interpreter would not run, or -ENODATA for one
 * that reads a word of memory which it has not written on the way there.
 */
int filter_translate(const struct filter_code layers[2], struct bpf_insn *out, unsigned room);

/*
 * A port that all packets have that match, as source or as destination; 0: none, or too much is
 * asked to say. Only what `and` joins, of addresses and ports in numbers, is looked at. `only`:
 * whether UDP with that port, as source or destination, is all that is asked.
 */
uint16_t filter_port(const char *expr, bool *only);

/* Whether the word is in the expression, not as part of another word. */
bool filter_has_word(const char *expr, const char *word);

/*
 * Fills the place in every program that has it with `code`, FILTER_ROOM instructions, and gives
 * each its own element of the map filter_scratch. `tags`: VLAN tags that the kernel keeps beside
 * packets are to be put in. `port`, `is_port`: what filter_port() returns, and its `only`. The
 * number of instructions stays, so that relocations and line numbers hold. -ENOENT if no program of
 * the object has the place.
 */
int filter_patch(struct bpf_object *obj, const struct bpf_insn *code, bool tags, uint16_t port,
		 bool is_port);

#endif
