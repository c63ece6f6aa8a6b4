// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/drops.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "drops.skel.h"
#include "drops_old.skel.h"
#include "host/load.h"

struct drops {
	struct drops_bpf *skel;
	struct drops_losses before; /* when drops_arm() was called */
	bool paged;
	struct trace_tails *tails; /* mapped; NULL: not yet */
};

#define FRAGMENTS (1 << 16) /* maximum datagrams in transit, equal to the number of IPv4 IDs */

static const struct bpf_program *probe(const struct drops *d, enum probe_point point)
{
	const struct bpf_program *const all[PROBES] = {
		[PROBE_TX] = d->skel->progs.tx_device,
		[PROBE_RX] = d->skel->progs.rx_device,
		[PROBE_BRIDGE_IN] = d->skel->progs.bridge_in,
		[PROBE_BRIDGE_OUT] = d->skel->progs.bridge_out,
	};

	return all[point];
}

int drops_probe_fd(const struct drops *d, enum probe_point point)
{
	return bpf_program__fd(probe(d, point));
}

/*
 * Opens and loads the programs. `paged`: they also read sequence headers in pages (bpf/skb.bpf.h).
 */
static int load(struct drops *d, const struct trace_config *cfg, const struct trace_kfree *kernel,
		enum drops_of of, unsigned probes, bool paged)
{
	uint64_t pages = cfg->streams * cfg->window >> TRACE_PAGE_BITS;
	bool xdp = of != DROPS_OF_SKBS, skbs = of != DROPS_OF_FRAMES;
	bool consumes = cfg->consuming[0].end;
	struct drops_bpf *s = d->skel = mem_new(s);
	int rc;

	d->paged = paged;
	rc = drops_bpf__create_skeleton(s);
	if (!rc)
		rc = trace_open(s->skeleton, paged ? NULL : drops_old_bpf__elf_bytes);
	if (rc)
		goto out;
	memcpy((void *)&s->rodata->cfg, cfg, sizeof(*cfg));
	memcpy((void *)&s->rodata->kernel, kernel, sizeof(*kernel));
	bpf_map__set_max_entries(s->maps.outcomes, (__u32)pages);
	bpf_map__set_max_entries(s->maps.arrivals, (__u32)pages);
	if (cfg->fragments)
		bpf_map__set_max_entries(s->maps.fragments, FRAGMENTS);
	if (cfg->fragments || probes)
		bpf_map__set_max_entries(s->maps.seen, (__u32)pages);
	for (unsigned i = 0; i < PROBES; i++)
		bpf_program__set_autoload((struct bpf_program *)probe(d, i), probes >> i & 1);
	bpf_program__set_autoload(s->progs.kfree_skb, skbs);
	bpf_program__set_autoload(s->progs.kfree_skb_2nd, skbs);
	bpf_program__set_autoload(s->progs.xdp_redirect_err, xdp);
	bpf_program__set_autoload(s->progs.xdp_devmap_xmit, xdp);
	bpf_program__set_autoload(s->progs.xdp_cpumap_enqueue, xdp);
	bpf_program__set_autoload(s->progs.consume_skb, consumes);
	bpf_program__set_autoload(s->progs.consume_skb_2nd, consumes);
	/* attached on request */
	bpf_program__set_autoattach(s->progs.xdp_devmap_xmit, false);
	bpf_program__set_autoattach(s->progs.xdp_cpumap_enqueue, false);
	bpf_program__set_autoattach(s->progs.unread, false);
	rc = drops_bpf__load(s);
out:
	if (rc) {
		drops_bpf__destroy(d->skel);
		d->skel = NULL;
	}
	return rc;
}

int drops_open(struct drops **out, const struct trace_config *cfg, const struct trace_kfree *kernel,
	       enum drops_of of, unsigned probes, struct error *err)
{
	struct drops *d = mem_new(d);
	int rc;

	rc = load(d, cfg, kernel, of, probes, true);
	if (trace_load_again(rc)) /* Linux before 6.12 */
		rc = load(d, cfg, kernel, of, probes, false);
	if (!rc) {
		d->tails = trace_map(d->skel->maps.tails, sizeof(*d->tails));
		rc = d->tails ? 0 : -errno;
	}
	if (rc) {
		drops_close(d);
		return trace_load_error(err, rc);
	}
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		d->tails->at[i] = cfg->base;
	*out = d;
	return 0;
}

int drops_attach(struct drops *d, const struct trace_places *places, struct error *err)
{
	d->skel->bss->places = *places;
	/* attach in source order, because the second of two programs is called after the first */
	return trace_load_error(err, drops_bpf__attach(d->skel));
}

int drops_arm(struct drops *d, uint64_t base)
{
	const int causes = bpf_map__fd(d->skel->maps.causes);
	const size_t cpus = (size_t)libbpf_num_possible_cpus();
	struct trace_count *zero = mem_zero(cpus, sizeof(*zero));
	struct watch_key key;
	int rc = 0;

	while (!rc && !bpf_map_get_next_key(causes, NULL, &key))
		rc = bpf_map_delete_elem(causes, &key);
	for (__u32 i = 0; i < TRACE_CAUSES && !rc; i++) {
		if (i < d->skel->data->cause_next || i == TRACE_CAUSE_FULL)
			rc = bpf_map_update_elem(bpf_map__fd(d->skel->maps.counts), &i, zero,
						 BPF_ANY);
	}
	d->skel->data->cause_next = 1;
	memset(d->skel->bss->cause_is_copy, 0, sizeof(d->skel->bss->cause_is_copy));
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		drops_set_tail(d, i, base);
	d->before = (struct drops_losses){};
	d->before = drops_read_losses(d);
	free(zero);
	return rc;
}

int drops_map_fd(const struct drops *d, const char *name)
{
	return bpf_object__find_map_fd_by_name(d->skel->obj, name);
}

int drops_share(const struct drops *d, const struct bpf_object *probes)
{
	const struct bpf_map *const maps[] = {d->skel->maps.tails, d->skel->maps.fragments,
					      d->skel->maps.fragment_counts, d->skel->maps.seen};
	unsigned n = sizeof(maps) / sizeof(*maps) - !d->skel->rodata->cfg.fragments;
	int rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		struct bpf_map *same = bpf_object__find_map_by_name(probes, bpf_map__name(maps[i]));

		rc = same ? bpf_map__reuse_fd(same, bpf_map__fd(maps[i])) : -ENOENT;
	}
	return rc;
}

struct trace_fragments drops_read_fragments(const struct drops *d)
{
	struct trace_fragments sum;
	const __u32 zero = 0;

	trace_sum(d->skel->maps.fragment_counts, &zero, &sum, sizeof(sum));
	return sum;
}

struct trace_tails *drops_tails(const struct drops *d)
{
	return d->tails;
}

bool drops_reads_pages(const struct drops *d)
{
	return d->paged;
}

/* `hint`, `missing`: error texts used if the tracepoint does not exist. */
static int follow(struct bpf_program *prog, struct bpf_link **link, const char *hint,
		  const char *missing, struct error *err)
{
	if (!bpf_program__autoload(prog))
		return error_set(err, STATUS_UNABLE, -ENOENT, hint, "this kernel has no %s",
				 missing);
	if (!*link)
		*link = bpf_program__attach(prog);
	return *link ? 0 : trace_load_error(err, -errno);
}

int drops_watch_live(struct drops *d, unsigned ifindex, uint32_t netns, struct error *err)
{
	struct drops_bpf *s = d->skel;

	s->bss->live_ifindex = ifindex;
	s->bss->live_netns = netns;
	return follow(s->progs.xdp_devmap_xmit, &s->links.xdp_devmap_xmit,
		      "use another engine to send",
		      "tracepoint xdp:xdp_devmap_xmit: losses of live frames at the device could "
		      "not be seen",
		      err);
}

static int map_id(int fd, __u32 *id)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*id = info.id;
	return 0;
}

int drops_watch_redirects(struct drops *d, const struct drops_redirects *r, struct error *err)
{
	static const char missing[] =
		"tracepoints for XDP redirects: losses there could not be seen";
	struct drops_bpf *s = d->skel;

	if (r->cpumap_fd >= 0 && map_id(r->cpumap_fd, &s->bss->redirect_cpumap))
		return trace_load_error(err, -errno);
	s->bss->redirect_ifindex = r->ifindex;
	s->bss->redirect_netns = r->netns;
	s->bss->redirect_target = r->target;
	if (r->cpumap_fd >= 0)
		return follow(s->progs.xdp_cpumap_enqueue, &s->links.xdp_cpumap_enqueue, NULL,
			      missing, err);
	return r->target ? follow(s->progs.xdp_devmap_xmit, &s->links.xdp_devmap_xmit, NULL,
				  missing, err)
			 : 0;
}

void drops_expect_sink(struct drops *d)
{
	d->skel->bss->sink_takes = 1;
}

int drops_watch_xskmap(struct drops *d, int map_fd)
{
	return map_id(map_fd, &d->skel->bss->xsk_map_id);
}

void drops_set_tail(struct drops *d, unsigned slot, uint64_t number)
{
	__atomic_store_n(&d->tails->at[slot], number, __ATOMIC_RELEASE);
}

void drops_note_stream(struct drops *d, uint64_t word)
{
	const __u32 stream = (__u32)(word >> 32);
	const __u8 known = 1;

	bpf_map_update_elem(bpf_map__fd(d->skel->maps.streams), &stream, &known, BPF_ANY);
}

static int read_count(const struct drops *d, __u32 index, struct trace_count *sum)
{
	return trace_sum(d->skel->maps.counts, &index, sum, sizeof(*sum));
}

uint64_t drops_packets(const struct drops *d)
{
	__u32 next = d->skel->data->cause_next; /* next free index */
	struct trace_count c;
	uint64_t packets = 0;

	for (__u32 i = 1; i < next && i < TRACE_CAUSE_DIFFERENCE; i++) {
		read_count(d, i, &c);
		packets += c.packets;
	}
	return packets;
}

int drops_read(const struct drops *d, struct drops_cause *out, int max)
{
	int fd = bpf_map__fd(d->skel->maps.causes), n = 0;
	struct watch_key key, *prev = NULL;
	__u32 index;

	while (n < max && !bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (bpf_map_lookup_elem(fd, &key, &index) || index >= TRACE_CAUSES)
			continue;
		out[n].cause = key;
		out[n].index = (uint8_t)index;
		read_count(d, index, &out[n].count);
		n++;
	}
	if (d->skel->data->cause_next > TRACE_CAUSE_DIFFERENCE && n < max) {
		memset(&out[n].cause, 0, sizeof(out[n].cause));
		out[n].index = TRACE_CAUSE_FULL;
		read_count(d, TRACE_CAUSE_FULL, &out[n++].count);
	}
	return n;
}

struct drops_losses drops_read_losses(const struct drops *d)
{
	const struct drops_bpf *s = d->skel;
	uint64_t missed = trace_misses(s->progs.kfree_skb) + trace_misses(s->progs.consume_skb);
	const __u32 zero = 0;
	struct drops_losses l;
	struct trace_begun sum;

	trace_sum(s->maps.losses, &zero, &l.bpf, sizeof(l.bpf));
	trace_sum(s->maps.begun, &zero, &sum, sizeof(sum));
	/* an event that an observer missed is not a loss if its twin handled it */
	l.recursion_misses = (missed > sum.taken ? missed - sum.taken : 0) +
			     trace_misses(s->progs.xdp_redirect_err) +
			     trace_misses(s->progs.xdp_devmap_xmit) +
			     trace_misses(s->progs.xdp_cpumap_enqueue);
	l.recursion_misses -= d->before.recursion_misses;
	for (unsigned i = 0; i < sizeof(l.bpf) / sizeof(__u64); i++)
		((__u64 *)&l.bpf)[i] -= ((const __u64 *)&d->before.bpf)[i];
	return l;
}

/* The socket iterator lists sockets of the namespace in which it is read. */
int drops_walk_unread(struct drops *d, const struct netns *ns, bool closing, uint64_t *packets,
		      struct error *err)
{
	struct bpf_link *link = bpf_program__attach_iter(d->skel->progs.unread, NULL);
	int saved, rc = link ? 0 : -errno;

	if (link) {
		d->skel->bss->unread_packets = 0;
		d->skel->bss->unread_settles = closing;
		saved = netns_push(ns);
		rc = saved < 0 ? saved : trace_iterate(link, 1, NULL, NULL);
		netns_pop(saved);
		bpf_link__destroy(link);
		*packets = d->skel->bss->unread_packets;
	}
	return error_errno(err, STATUS_FAILED, rc, NULL, "cannot read the socket's queue");
}

void drops_close(struct drops *d)
{
	if (!d)
		return;
	trace_unmap(d->tails, sizeof(*d->tails));
	drops_bpf__destroy(d->skel);
	free(d);
}
