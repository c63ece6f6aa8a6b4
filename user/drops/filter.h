/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet filters in the language of pcap-filter(7), run in the kernel. libpcap compiles the
 * expression. The result is translated to eBPF (filter_translate()) and inserted into the programs
 * that call filter_matches() (bpf/filter.bpf.h) before they are loaded, so other packets cause no
 * event.
 *
 * Where a packet ends, its Ethernet header may be present or not. So an expression is compiled
 * twice, and each packet is filtered by the matching program.
 *
 * The verdict equals libpcap's own interpreter on the packet's first FILTER_BYTES bytes, with its
 * whole length. If it depends on bytes after them, or on bytes that the kernel keeps in pages, the
 * packet does not match and is counted, see filter_unread().
 *
 * A VLAN tag that the kernel keeps outside the packet is not among its bytes. It is put back for an
 * expression with the keyword `vlan` and hidden from all others: as in a live capture, `udp port
 * 53` matches with and without such a tag.
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

struct bpf_insn; /* the kernel's; libpcap has another type with that name */
struct bpf_object;
struct filter;

/*
 * Compiles an expression, which is copied. -EINVAL and STATUS_USAGE with libpcap's message if it is
 * invalid; -E2BIG and STATUS_USAGE if it is too long for the kernel; -ENODATA and STATUS_USAGE if
 * libpcap's program would read uninitialised memory, so any verdict is wrong. May use the resolver.
 */
int filter_compile(struct filter **f, const char *expr, struct error *err);

void filter_free(struct filter *f);

/*
 * Why a packet without Ethernet header never matches (`ether host ...`), in libpcap's words; NULL
 * if the expression makes sense there.
 */
const char *filter_l3_refusal(const struct filter *f);

/*
 * Returns true if the expression tests extension headers (`ip6 protochain`, `ip6 proto 44`,
 * `ip6[..]`). All other expressions see IPv6 without them: libpcap looks for ports after the fixed
 * header.
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
 * Finds the tunnels of this host, for filters applied to inner packets (--inner). GRE and IP in IP
 * are identified by their IP protocol, VXLAN and Geneve by the UDP port: 4789 and 6081 (RFC 7348,
 * 8926), 8472, which is the default of Linux, and the ports of the VXLAN and Geneve interfaces that
 * any namespace has now. STATUS_UNABLE: more than TUNNEL_PORTS.
 */
int tunnels_find(struct filter_inner *out, struct error *err);

/* "vxlan 42", "gre" ..., of a flow in a tunnel; "" of any other. Returns `buf`. */
#define TUNNEL_TEXT 32
char *tunnel_text(const struct watch_flow *f, char buf[TUNNEL_TEXT]);

/* Its parts, for tests and for packets in user space. */

/*
 * libpcap's compiler and interpreter of filters. Apart from the rest, because libpcap and libbpf
 * give the same names to different structures.
 */

/* A compiled filter. */
struct filter_code {
	struct sock_filter *insns; /* as libpcap made them */
	unsigned n;		   /* 0: no packet of this layer matches */
	/*
	 * The same for the interpreter. Only `protochain` creates programs that jump back, and on
	 * some packets they never end. Here, the code after each of FILTER_LOOPS backward jumps is
	 * a separate copy, and one more jump is no match. Without such jumps it equals `insns`.
	 */
	struct sock_filter *straight;
	unsigned n_straight;
};

/*
 * Returns 0, -ENOMEM, -E2BIG, or -EINVAL with libpcap's message in `why`, also for data that only a
 * live capture has (SKF_AD_OFF). `layer`: first header of the packets.
 */
int filter_pcap_compile(struct filter_code *code, const char *expr, enum filter_layer layer,
			char *why, size_t size);

void filter_pcap_free(struct filter_code *code);

/* Whether a packet of `length` bytes, `have` of which are at `bytes`, matches. */
bool filter_pcap_match(const struct filter_code *code, const void *bytes, uint32_t have,
		       uint32_t length);

/*
 * Translates classic BPF, as libpcap generates it, to the eBPF that runs inside bpf/filter.bpf.h.
 * The semantics are those of libpcap's interpreter (pcap_offline_filter()): loads are checked
 * against the packet's bytes, an index does not wrap, division by zero is no match, any value but 0
 * is a match.
 *
 * Fills out[0 .. room - 1] with the programs of both layers, `layers` indexed by enum filter_layer.
 * On entry r1 is the struct filter_scratch. r1 and r6 to r9 are preserved. The code ends after
 * out[room - 1] with the verdict in r0. Returns the number of instructions used, -E2BIG if more
 * than `room` (at most FILTER_ROOM), -EINVAL for a program that the interpreter would reject, or
 * -ENODATA for a program that reads a word of memory before writing it.
 */
int filter_translate(const struct filter_code layers[2], struct bpf_insn *out, unsigned room);

/*
 * Returns a port that every matching packet has (source or destination); 0: no such port, or the
 * expression is too complex. Only numeric addresses and ports joined by `and` are considered.
 * `only`: set if the expression is just UDP with that port, as source or destination.
 */
uint16_t filter_port(const char *expr, bool *only);

/* Whether the word is in the expression, not as part of another word. */
bool filter_has_word(const char *expr, const char *word);

/*
 * Fills the placeholder in every program that has it with `code`, FILTER_ROOM instructions, and
 * gives each program a separate element of the map filter_scratch. `tags`: insert VLAN tags that
 * the kernel keeps outside packets. `port`, `is_port`: result of filter_port(), and its `only`. The
 * number of instructions stays the same, so relocations and line numbers stay valid. -ENOENT if no
 * program of the object has the placeholder.
 */
int filter_patch(struct bpf_object *obj, const struct bpf_insn *code, bool tags, uint16_t port,
		 bool is_port);

#endif
