/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What XDP loses without an skb: bpf/xdp.bpf.c on the xdp: tracepoints, loaded, attached and
 * read. These events cost nothing while nothing fails; xdp_cpumap_kthread comes once a batch.
 */
#ifndef PKTLEDGER_DROPS_XDPLOSSES_H
#define PKTLEDGER_DROPS_XDPLOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "drops/ksym.h"
#include "drops/reason.h"
#include "drops/stagemap.h"
#include "xdp_abi.h"

struct xdplosses;

struct xdploss {
	struct xdploss_key key;
	struct xdploss_count count; /* of all CPUs, since xdplosses_attach() */
};

/*
 * Loads the observers of those tracepoints that this kernel has in the form that is known.
 * `k`: to tell verdicts on skbs from those on frames; NULL: no symbols, and on a veth an aborted
 * skb may be counted here and by kfree_skb. STATUS_UNABLE: none could be loaded.
 */
int xdplosses_open(struct xdplosses **x, const struct reasons *r, const struct ksyms *k,
		   struct error *err);

/* From here on losses are counted. */
int xdplosses_attach(struct xdplosses *x, struct error *err);

/*
 * Names of the tracepoints that are not observed, divided by blanks, because this kernel has them
 * not, or in another form; "": all are.
 */
const char *xdplosses_missing(const struct xdplosses *x);

/* All keys with their counts, in no order. At most `max`; how many, or -errno. XDPLOSS_KEYS do. */
int xdplosses_read(const struct xdplosses *x, struct xdploss *out, int max);

struct xdplosses_own {
	uint64_t uncounted;	   /* packets for whose key there was no room */
	uint64_t recursion_misses; /* events while one of the programs ran on that CPU */
};
void xdplosses_own(const struct xdplosses *x, struct xdplosses_own *own);

/* Name of a device, as it was when its key came up; "" unknown. `buf` of XDPLOSS_IFNAME bytes. */
const char *xdplosses_device(const struct xdplosses *x, uint32_t netns, uint32_t ifindex,
			     char *buf);

/* "name[id]" of a program, or "[id]" if it is gone; "" for id 0. Returns `buf`. */
const char *xdplosses_program(uint32_t id, char *buf, unsigned size);
const char *xdplosses_map(uint32_t id, char *buf, unsigned size);

void xdplosses_close(struct xdplosses *x);

/* Which event is the loss where two tell it (STAGES 3.3). */
enum xdploss_books {
	/*
	 * kfree_skb is counted too and tells generic mode: what was an skb counts there, so that
	 * a filter on packets holds. An aborted skb of a veth always counts there.
	 */
	XDPLOSS_BESIDE_KFREE,
	/*
	 * Failed redirects count here in generic mode too, with errno and map; kfree_skb with
	 * reason XDP in do_xdp_generic() is to be left out, which is one for one the same.
	 */
	XDPLOSS_INSTEAD_OF_KFREE,
};

/* VERDICT_LOSS, or VERDICT_IGNORE: another event or key tells it. The note is for people. */
struct verdict xdplosses_judge(const struct xdploss_key *key, enum xdploss_books books);

/* "ENOBUFS" for a negative errno; "ABORTED", "TX" ... for an exception; "" if there is neither. */
const char *xdplosses_reason(const struct xdploss_key *key);

/* The tracepoint: "xdp_redirect_err". */
const char *xdplosses_location(const struct xdploss_key *key);

/*
 * The verdicts of an XDP program that is not ours, by fexit on it. Not every kernel or host allows
 * that, the program needs BTF, and every packet that it sees pays some 20 ns.
 */
struct xdpverdicts;

/* From here on they are counted. STATUS_UNABLE: kernel, capability, or a program without BTF. */
int xdpverdicts_open(struct xdpverdicts **v, uint32_t prog_id, struct error *err);

/* Of a device, by enum xdp_action, since xdpverdicts_open(); zeros: it saw no packet there. */
int xdpverdicts_read(const struct xdpverdicts *v, uint32_t netns, uint32_t ifindex,
		     uint64_t packets[XDPVERDICTS]);

void xdpverdicts_close(struct xdpverdicts *v);

#endif
