/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packet filters in the language of pcap-filter(7), run in the kernel. libpcap compiles the
 * expression; the result is translated to eBPF (drops/filter_ebpf.h) and put into the programs that
 * call filter_matches() (bpf/filter.bpf.h) before they are loaded, so that what does not match
 * costs no event.
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

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "filter_abi.h"

struct bpf_object;
struct filter;

/*
 * Compiles an expression, which is copied. -EINVAL and STATUS_USAGE with libpcap's message if it is
 * none; -E2BIG and STATUS_USAGE if it is too long for the kernel; -ENODATA and STATUS_USAGE where
 * libpcap's program would read what it never wrote, so that no verdict is right. May ask the
 * resolver for names.
 */
int filter_compile(struct filter **f, const char *expr, struct error *err);

void filter_free(struct filter *f);

/* The expression as given. */
const char *filter_expression(const struct filter *f);

/*
 * Why a packet without Ethernet header never matches (`ether host ...`), in libpcap's words; NULL
 * if the expression makes sense there.
 */
const char *filter_l3_refusal(const struct filter *f);

/*
 * Puts the filter into all programs of an opened, not yet loaded object that call filter_matches().
 * Without this, or with f NULL, they pass every packet and the stub costs nothing. -ENOENT if there
 * is no such program.
 */
int filter_install(const struct filter *f, struct bpf_object *obj, struct error *err);

/*
 * Packets so far, on all CPUs, that did not match because bytes which the filter asks for could not
 * be read. `obj` is loaded and has had filter_install(). 0 or -errno.
 */
int filter_unread(const struct bpf_object *obj, uint64_t *packets);

/*
 * The same filter in user space, by libpcap's interpreter: whether a packet of `length` bytes, of
 * which the first `have` are at `bytes`, matches.
 */
bool filter_match_user(const struct filter *f, enum filter_layer layer, const void *bytes,
		       uint32_t have, uint32_t length);

#endif
