// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/watch.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "filter_abi.h"
#include "host/load.h"
#include "trace_abi.h"
#include "watch.skel.h"
#include "watch_old.skel.h"
#include "watch_oldest.skel.h"

#define WATCH_BATCH 128 /* keys read from a hash map at a time */

/* Samples. */
#define TAG_AT	    12 /* after the addresses of an Ethernet frame */
#define TAG_LEN	    4
#define SMALLEST    (sizeof(struct sample) + 8) /* bytes of the smallest sample in the ring */
#define CLOCK_EVERY 64				/* number of samples between two clock readings */

struct watch_samples {
	struct ring_buffer *ring; /* NULL: samples are not read */
	samples_each *each;
	void *arg;
	uint64_t deadline_ns;
	uint64_t read;
	uint8_t tagged[SAMPLE_SNAPLEN_MAX + TAG_LEN];
};

#define WATCH_LINKS 24 /* more links than there are programs */

struct watch {
	struct watch_bpf *skel;
	int links[WATCH_LINKS]; /* of watch_attach_again() */
	unsigned n_links;
	const struct bpf_program *prog; /* on kfree_skb */
	struct nat *nat;	  /* for our programs, borrowed; NULL: not used */
	bool by_flow, has_filter;
	unsigned cpus;	   /* CPUs per set: the highest number + 1 */
	unsigned possible; /* number of values in a per-CPU map */
	unsigned slots;	   /* per CPU */
	uint32_t keys;	   /* number of keys that a hash map can hold */
	size_t slot_size, key_size;
	size_t slots_size, others_size;
	char *slot, *other; /* mapped */
	struct watch_control *control;
	int bursts; /* map; -1: windows are not counted */
	bool stale; /* the unused set has counts that were discarded */
	int rcu_map, inner_map;
	uint64_t slots_used, overflow_used, unwindowed;
	void *batch_keys;
	struct watch_count *batch_values;
	struct watch_samples samples;
	bool bare;	   /* without the observers that only some kernels accept */
	char missing[160]; /* tracepoints of XDP */
};

/*
 * Observers that only some kernels accept: their tracepoints with the number of arguments. Those of
 * XDP are the same in Linux 6.1 to 7.x.
 */
static const struct {
	const char *program, *tracepoint;
	int args;
} optional_observers[] = {
	{"xdplosses_redirect", "xdp_redirect_err", 7},
	{"watch_exception", "xdp_exception", 3},
	{"xdplosses_devmap", "xdp_devmap_xmit", 5},
	{"xdplosses_bulk_tx", "xdp_bulk_tx", 4},
	{"xdplosses_cpumap_enqueue", "xdp_cpumap_enqueue", 4},
	{"xdplosses_cpumap_kthread", "xdp_cpumap_kthread", 5},
	/* only some kernels have these */
	{"signs_reset", "tcp_send_reset", 3},
	{"signs_reset_only", "tcp_send_reset", 2},
	{"signs_timeout", "net_dev_xmit_timeout", 2},
	{"signs_stall", "dql_stall_detected", 6},
};

static void find_observers(struct watch *w, const struct reasons *r)
{
	size_t len = 0;

	for (unsigned i = 0; i < LENGTH(optional_observers); i++) {
		const char *tracepoint = optional_observers[i].tracepoint;
		bool fits = !w->bare && reasons_tracepoint_args(r, tracepoint) ==
						optional_observers[i].args;

		bpf_program__set_autoload(bpf_object__find_program_by_name(
						  w->skel->obj, optional_observers[i].program),
					  fits);
		if (!fits && !strncmp(tracepoint, "xdp_", 4))
			len += snprintf(w->missing + len, sizeof(w->missing) - len, "%s%s",
					len ? " " : "", tracepoint);
	}
}

/* Returns the range that covers all drop sites of packets freed as consumed. */
static struct trace_range around(const struct trace_range *r, unsigned n)
{
	struct trace_range all = *r;

	for (; n && r->end; n--, r++) {
		all.start = r->start < all.start ? r->start : all.start;
		all.end = r->end > all.end ? r->end : all.end;
	}
	return all;
}

static int configure(struct watch *w, const struct watch_spec *spec, const struct reasons *r,
		     bool kfuncs, struct error *err)
{
	static const char *const of_socket[WATCH_SOCKET_REASONS] = {"SOCKET_RCVBUFF", "PROTO_MEM",
								    "SOCKET_FILTER", "UDP_CSUM"};
	struct watch_config *cfg = (void *)&w->skel->rodata->watch_cfg;

	*cfg = spec->cfg;
	for (int i = 0; i < WATCH_SOCKET_REASONS; i++)
		cfg->socket_reasons[i] = reasons_value(r, of_socket[i]);
	cfg->no_socket = reasons_value(r, "NO_SOCKET");
	cfg->cpus = w->cpus;
	if (spec->inner)
		w->skel->rodata->inner = *spec->inner;
	cfg->has_expr = spec->filter != NULL;
	cfg->extensions = spec->filter && filter_asks_extensions(spec->filter);
	cfg->has_firsts = spec->filter && !spec->followed && !spec->unfragmented;
	cfg->is_filtered = cfg->has_reasons || cfg->socket_only || cfg->netns || cfg->ifindex;
	w->skel->rodata->nat_followed = spec->nat && kfuncs;
	cfg->consumed_within = around(cfg->consumed, WATCH_CONSUMED_MAX);
	return reasons_kfree(r, (void *)&w->skel->rodata->kernel, err);
}

/* Returns the size of the map in bytes. */
static size_t size_map(struct bpf_map *map, unsigned entries, size_t value)
{
	bpf_map__set_value_size(map, (__u32)value);
	bpf_map__set_max_entries(map, entries);
	return entries * value;
}

/* Sets the map sizes. Without samples or windows, the code that needs their maps is removed. */
static void size_maps(struct watch *w, const struct watch_spec *spec)
{
	const size_t stack = spec->cfg.stack ? SAMPLE_FRAMES * sizeof(__u64) : 0;
	struct bpf_map *hash[] = {w->skel->maps.overflow0, w->skel->maps.overflow1};
	const unsigned sets = WATCH_SETS * w->cpus;

	w->slots_size = size_map(w->skel->maps.slots, sets * w->slots, w->slot_size);
	w->others_size = size_map(w->skel->maps.others, sets * WATCH_OTHERS_SLOTS, w->slot_size);
	for (int i = 0; i < 2; i++) {
		bpf_map__set_key_size(hash[i], (__u32)w->key_size);
		bpf_map__set_max_entries(hash[i], w->keys);
	}
	bpf_map__set_max_entries(w->skel->maps.followed, FOLLOWED_MAX);
	bpf_map__set_max_entries(w->skel->maps.overtaken, FOLLOWED_MAX);
	bpf_map__set_max_entries(w->skel->maps.renamed, spec->nat ? NAT_RENAMED : 1);
	bpf_map__set_autocreate(w->skel->maps.fragments, false);
	bpf_map__set_autocreate(w->skel->maps.fragment_counts, false);
	bpf_map__set_max_entries(w->skel->maps.socks, WATCH_SOCKS);
	bpf_map__set_max_entries(w->skel->maps.devs, WATCH_DEVS);
	bpf_map__set_autocreate(w->skel->maps.samples, spec->cfg.snaplen != 0);
	bpf_map__set_max_entries(w->skel->maps.samples, spec->ring ? spec->ring : SAMPLES_RING);
	bpf_map__set_autocreate(w->skel->maps.sample_room, spec->cfg.snaplen != 0);
	size_map(w->skel->maps.sample_room, w->cpus * SAMPLE_PROGRAMS,
		 sizeof(struct sample) + stack + spec->cfg.snaplen);
	bpf_map__set_autocreate(w->skel->maps.bursts, spec->cfg.burst_ns != 0);
	bpf_map__set_autocreate(w->skel->maps.xdp_counts, spec->cfg.xdp);
	bpf_map__set_autocreate(w->skel->maps.signs, spec->cfg.xdp);
}

/* `kfuncs`: use the kernel functions in bpf/skb.bpf.h. */
static int load(struct watch *w, const struct watch_spec *spec, const struct reasons *r,
		bool kfuncs, struct error *err)
{
	const bool names = spec->nat && !spec->followed && kfuncs;
	trace_elf_bytes *const old = reasons_has_function(r, "bpf_loop")
					     ? watch_old_bpf__elf_bytes
					     : watch_oldest_bpf__elf_bytes;
	struct watch_bpf *s = w->skel = mem_new(s);
	int rc = watch_bpf__create_skeleton(s);
	bool firsts;

	if (!rc)
		rc = trace_open(s->skeleton, kfuncs ? NULL : old);
	if (!rc)
		rc = configure(w, spec, r, kfuncs, err);
	if (!rc) {
		size_maps(w, spec);
		firsts = s->rodata->watch_cfg.has_firsts;
		w->prog = s->progs.watch_drops;
		bpf_program__set_autoload(s->progs.watch_drops, !spec->followed);
		bpf_program__set_autoload(s->progs.watch_used, /* on consume_skb */
					  spec->cfg.consumed[0].end && !spec->followed);
		bpf_program__set_autoload(s->progs.watch_receives, firsts);
		bpf_program__set_autoload(s->progs.watch_queues, firsts || names);
		w->missing[0] = '\0';
		if (spec->cfg.xdp)
			find_observers(w, r);
		else
			bpf_program__set_autoload(
				s->progs.watch_exception,
				kfuncs && !w->bare &&
					reasons_tracepoint_args(r, "xdp_exception") == 3);
		if (names) {
			nat_prepare(spec->nat, s->progs.watch_names);
			w->nat = spec->nat;
		}
		rc = filter_install(spec->filter, s->obj, err);
	}
	if (!rc)
		rc = watch_bpf__load(s);
	if (!rc)
		return 0;
	watch_bpf__destroy(s);
	w->skel = NULL;
	return rc;
}

static int map_slots(struct watch *w, const struct watch_spec *spec)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, opts);

	w->slot = trace_map(w->skel->maps.slots, w->slots_size);
	w->other = trace_map(w->skel->maps.others, w->others_size);
	w->control = trace_map(w->skel->maps.control, sizeof(*w->control));
	if (!w->slot || !w->other || !w->control)
		return -errno;
	w->bursts = spec->cfg.burst_ns ? bpf_map__fd(w->skel->maps.bursts) : -1;
	w->batch_keys = mem_zero(WATCH_BATCH, w->key_size);
	w->batch_values = mem_zero((size_t)WATCH_BATCH * w->possible, sizeof(*w->batch_values));
	/* see watch_collect() */
	w->inner_map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pl_inner", 4, 4, 1, NULL);
	if (w->inner_map < 0)
		return -errno;
	opts.inner_map_fd = (__u32)w->inner_map;
	w->rcu_map = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "pl_rcu", 4, 4, 1, &opts);
	return w->rcu_map < 0 ? -errno : 0;
}

int watch_open(struct watch **out, const struct watch_spec *spec, const struct reasons *r,
	       struct error *err)
{
	struct watch *w = mem_new(w);
	int rc;

	w->rcu_map = w->inner_map = w->bursts = -1;
	w->by_flow = spec->cfg.by_flow;
	w->has_filter = spec->filter != NULL;
	w->cpus = trace_cpus();
	w->possible = (unsigned)libbpf_num_possible_cpus();
	w->slots = w->by_flow ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	w->keys = w->by_flow ? WATCH_FLOW_OVERFLOW : WATCH_OVERFLOW;
	w->slot_size = w->by_flow ? sizeof(struct watch_flow_slot) : sizeof(struct watch_slot);
	w->key_size = w->by_flow ? sizeof(struct watch_flow_key) : sizeof(struct watch_key);
	for (unsigned i = 0; i < 4; i++) { /* with less and less that an older kernel may refuse */
		w->bare = i & 2;
		rc = load(w, spec, r, !(i & 1), err);
		if (!trace_load_again(rc) || err->status != STATUS_OK)
			break;
	}
	if (!rc)
		rc = map_slots(w, spec);
	if (rc)
		watch_close(w);
	else
		*out = w;
	return trace_load_error(err, rc);
}

int watch_attach(struct watch *w, const struct trace_places *places, struct error *err)
{
	int rc;

	w->skel->bss->places = *places;
	rc = trace_load_error(err, watch_bpf__attach(w->skel));
	if (!rc && w->nat)
		nat_attach(w->nat, w->skel->progs.watch_names);
	return rc;
}

void watch_detach(struct watch *w)
{
	watch_bpf__detach(w->skel);
	while (w->n_links)
		fd_close(&w->links[--w->n_links]);
}

int watch_attach_again(struct watch *w)
{
	struct bpf_program *prog;
	int fd;

	/* without libbpf, whose kind of link is blocked by now, as in drops/tcp.c */
	bpf_object__for_each_program(prog, w->skel->obj) {
		if (bpf_program__fd(prog) < 0 || w->n_links == WATCH_LINKS ||
		    bpf_program__type(prog) != BPF_PROG_TYPE_TRACING)
			continue;
		fd = bpf_raw_tracepoint_open(NULL, bpf_program__fd(prog));
		if (fd < 0)
			return fd;
		w->links[w->n_links++] = fd;
	}
	return 0;
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	while (w->n_links)
		fd_close(&w->links[--w->n_links]);
	ring_buffer__free(w->samples.ring);
	trace_unmap(w->slot, w->slots_size);
	trace_unmap(w->other, w->others_size);
	trace_unmap(w->control, sizeof(*w->control));
	fd_close(&w->rcu_map);
	fd_close(&w->inner_map);
	watch_bpf__destroy(w->skel);
	free(w->batch_keys);
	free(w->batch_values);
	free(w);
}

/* Reading */

static unsigned set_of(const struct watch *w)
{
	return w->control->interval % WATCH_SETS;
}

/* Adds the key's largest burst in the interval that ended last. */
static void give(const struct watch *w, struct watch_entry *e, watch_each *each, void *arg)
{
	const uint32_t interval = w->control->interval - 1;
	struct burst b;

	e->burst = (struct watch_burst){};
	if (w->bursts >= 0 && !bpf_map_lookup_elem(w->bursts, &e->key, &b) &&
	    b.most[interval % WATCH_SETS].interval == interval) {
		e->burst.window = b.most[interval % WATCH_SETS].window;
		e->burst.packets = b.most[interval % WATCH_SETS].packets;
	}
	each(arg, e);
}

/* Reads and empties the used slots of a set. Returns how many there were. */
static unsigned read_slots(const struct watch *w, char *at, unsigned slots, watch_each *each,
			   void *arg)
{
	struct watch_entry e = {};
	unsigned used = 0;

	for (e.cpu = 0; e.cpu < w->cpus; e.cpu++) {
		for (unsigned i = 0; i < slots; i++, at += w->slot_size) {
			const struct watch_flow_slot *s = (const void *)at;

			if (!s->slot.key.location)
				continue;
			e.key = s->slot.key;
			e.count = s->slot.count;
			if (w->by_flow)
				e.flow = s->flow;
			if (each)
				give(w, &e, each, arg);
			memset(at, 0, w->slot_size);
			used++;
		}
	}
	return used;
}

static void read_batch(const struct watch *w, unsigned n, watch_each *each, void *arg)
{
	const struct watch_count *value = w->batch_values;
	struct watch_entry e = {};

	for (unsigned i = 0; i < n; i++) {
		const char *key = (const char *)w->batch_keys + i * w->key_size;

		memcpy(&e.key, key, sizeof(e.key));
		if (w->by_flow)
			memcpy(&e.flow, key + sizeof(e.key), sizeof(e.flow));
		for (e.cpu = 0; e.cpu < w->possible; e.cpu++, value++) {
			e.count = *value;
			if (e.count.events && each)
				give(w, &e, each, arg);
		}
	}
}

static int read_overflow(const struct watch *w, int fd, watch_each *each, void *arg, unsigned *used)
{
	__u32 in, out, n;
	int rc = 0;

	for (bool first = true; !rc; first = false, in = out) {
		n = WATCH_BATCH;
		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &in, &out, w->batch_keys,
						    w->batch_values, &n, NULL))
			rc = -errno;
		if (rc && rc != -ENOENT)
			break;
		read_batch(w, n, each, arg);
		*used += n;
	}
	return rc == -ENOENT ? 0 : rc;
}

/* If windows found no room, drops keys that have lost nothing in the last two intervals. */
static void forget_bursts(struct watch *w)
{
	const uint32_t interval = w->control->interval, zero = 0;
	struct list old = {.size = sizeof(struct watch_key)};
	struct watch_key key, *prev = NULL;
	struct watch_loss loss;
	struct burst b;

	trace_sum(w->skel->maps.losses, &zero, &loss, sizeof(loss));
	if (loss.unwindowed == w->unwindowed)
		return;
	w->unwindowed = loss.unwindowed;
	for (; !bpf_map_get_next_key(w->bursts, prev, &key); prev = &key) {
		if (!bpf_map_lookup_elem(w->bursts, &key, &b) &&
		    b.most[0].interval + 1 < interval && b.most[1].interval + 1 < interval)
			*(struct watch_key *)list_add(&old) = key;
	}
	for (unsigned i = 0; i < old.n; i++)
		bpf_map_delete_elem(w->bursts, (struct watch_key *)old.at + i);
	list_free(&old);
}

/* Reads and empties the unused set. */
static int drain(struct watch *w, watch_each *each, void *arg)
{
	const bool second = !set_of(w);
	struct bpf_map *hash = second ? w->skel->maps.overflow1 : w->skel->maps.overflow0;
	const __u32 zero = 0;
	unsigned used;
	int rc;

	/*
	 * Waits until no program can still be using the set. The kernel waits for that when a map
	 * inside a map is replaced (maybe_wait_bpf_programs(), synchronize_rcu()).
	 */
	if (bpf_map_update_elem(w->rcu_map, &zero, &w->inner_map, 0))
		return -errno;
	used = read_slots(w, w->slot + second * w->slots_size / WATCH_SETS, w->slots, each, arg);
	read_slots(w, w->other + second * w->others_size / WATCH_SETS, WATCH_OTHERS_SLOTS, each,
		   arg);
	w->slots_used = larger(w->slots_used, used);
	used = 0;
	rc = read_overflow(w, bpf_map__fd(hash), each, arg, &used);
	w->overflow_used = larger(w->overflow_used, used);
	return rc;
}

int watch_discard(struct watch *w)
{
	int rc = w->stale ? drain(w, NULL, NULL) : 0;

	if (rc)
		return rc;
	__atomic_store_n(&w->control->interval, w->control->interval + 1, __ATOMIC_RELEASE);
	w->stale = true;
	return 0;
}

int watch_collect(struct watch *w, watch_each *each, void *arg)
{
	int rc = watch_discard(w);

	if (rc)
		return rc;
	w->stale = false;
	rc = drain(w, each, arg);
	if (w->bursts >= 0)
		forget_bursts(w);
	return rc;
}

void watch_keep_sock(struct watch *w, uint64_t cookie, const struct watch_sock *sock)
{
	bpf_map_update_elem(bpf_map__fd(w->skel->maps.socks), &cookie, sock, BPF_ANY);
}

int watch_sock(const struct watch *w, uint64_t cookie, struct watch_sock *out)
{
	return bpf_map_lookup_elem(bpf_map__fd(w->skel->maps.socks), &cookie, out) ? -errno : 0;
}

int watch_dev(const struct watch *w, uint32_t netns, uint32_t ifindex, struct watch_dev *out)
{
	const struct watch_dev_key key = {netns, ifindex};

	return bpf_map_lookup_elem(bpf_map__fd(w->skel->maps.devs), &key, out) ? -errno : 0;
}

void watch_each_sock(const struct watch *w,
		     void (*each)(void *arg, uint64_t cookie, const struct watch_sock *sock),
		     void *arg)
{
	int fd = bpf_map__fd(w->skel->maps.socks), rc = 0;
	struct watch_sock sock[WATCH_BATCH];
	__u64 cookie[WATCH_BATCH];
	__u32 in, out, n;

	for (bool first = true; !rc; first = false, in = out) {
		n = WATCH_BATCH;
		rc = bpf_map_lookup_batch(fd, first ? NULL : &in, &out, cookie, sock, &n, NULL);
		if (rc && errno != ENOENT)
			return;
		for (__u32 i = 0; i < n; i++)
			each(arg, cookie[i], &sock[i]);
	}
}

bool watch_knows_sockets(const struct watch *w)
{
	return w->skel->rodata->kernel.has_rx_sk;
}

void watch_state(const struct watch *w, struct watch_state *s)
{
	const __u32 zero = 0;

	memset(s, 0, sizeof(*s));
	trace_sum(w->skel->maps.losses, &zero, &s->loss, sizeof(s->loss));
	s->recursion_misses = trace_misses(w->prog);
	if (w->has_filter)
		s->filter_unread = filter_unread(w->skel->obj);
	s->slots = w->cpus * w->slots;
	s->slots_used = w->slots_used;
	s->overflow = w->keys;
	s->overflow_used = w->overflow_used;
}

int watch_share(struct watch *w, struct bpf_object *other, const char *program,
		struct watch_config *cfg)
{
	static const char *const names[] = {
		"slots",  "others",  "overflow0",   "overflow1", "losses",  "socks",	"devs",
		"bursts", "samples", "sample_room", "aborted",	 "control", "followed", "renamed",
	};
	int rc = 0;

	*cfg = w->skel->rodata->watch_cfg;
	w->prog = bpf_object__find_program_by_name(other, program);
	for (unsigned i = 0; i < LENGTH(names) && !rc; i++) {
		const struct bpf_map *mine = bpf_object__find_map_by_name(w->skel->obj, names[i]);
		struct bpf_map *map = bpf_object__find_map_by_name(other, names[i]);

		rc = bpf_map__autocreate(mine) ? bpf_map__reuse_fd(map, bpf_map__fd(mine))
					       : bpf_map__set_autocreate(map, false);
	}
	return rc;
}

void watch_sampling(struct watch *w, bool on)
{
	__atomic_store_n(&w->control->unsampled, !on, __ATOMIC_RELAXED);
}

bool watch_fills(const struct watch *w)
{
	const char *at = w->slot + set_of(w) * w->slots_size / WATCH_SETS;
	unsigned used = 0;

	for (unsigned i = 0; i < w->cpus * w->slots && used <= w->slots / 2; i++) {
		const struct watch_slot *slot = (const void *)(at + i * w->slot_size);

		used = (i % w->slots ? used : 0) + !!slot->key.location;
	}
	return used > w->slots / 2;
}

/* Frames that XDP lost */

const char *watch_xdp_missing(const struct watch *w)
{
	return w->missing;
}

int watch_xdp(const struct watch *w, struct xdploss *out, int max)
{
	const struct bpf_map *map = w->skel->maps.xdp_counts;
	struct xdploss_key key, *prev = NULL;
	int n = 0;

	/* keys are never deleted, so the walk cannot repeat or skip one */
	while (n < max && !bpf_map_get_next_key(bpf_map__fd(map), prev, &key)) {
		prev = &key;
		out[n].key = key;
		n += !trace_sum(map, &key, &out[n].count, sizeof(out[n].count));
	}
	return n;
}

void watch_signs(const struct watch *w,
		 void (*each)(void *arg, const struct sign_key *key, const struct sign *sign),
		 void *arg)
{
	const int fd = bpf_map__fd(w->skel->maps.signs);
	struct sign_key key, *prev = NULL;
	struct sign sign;

	/* keys are never deleted */
	while (!bpf_map_get_next_key(fd, prev, &key)) {
		prev = &key;
		if (!bpf_map_lookup_elem(fd, &key, &sign))
			each(arg, &key, &sign);
	}
}

/* Samples */

static int take_sample(void *arg, void *data, size_t size)
{
	const struct sample *sample = data;
	const uint64_t *stack = (const uint64_t *)(sample + 1);
	struct watch_samples *s = arg;
	struct sample tagged;
	uint32_t tag;
	const uint8_t *bytes;

	if (size < sizeof(*sample) || sample->frames > sample->frames_room ||
	    sample->len > SAMPLE_SNAPLEN_MAX ||
	    sizeof(*sample) + sample->frames_room * sizeof(*stack) + sample->len > size)
		return -EBADMSG;
	bytes = (const uint8_t *)(stack + sample->frames_room);
	if (sample->tag && sample->layer == FILTER_L2 && sample->len >= TAG_AT) {
		/* restore the frame as it was on the wire */
		tag = htonl(sample->tag);
		memcpy(s->tagged, bytes, TAG_AT);
		memcpy(s->tagged + TAG_AT, &tag, TAG_LEN);
		memcpy(s->tagged + TAG_AT + TAG_LEN, bytes + TAG_AT, sample->len - TAG_AT);
		tagged = *sample;
		tagged.len += TAG_LEN;
		tagged.wire_len += TAG_LEN;
		sample = &tagged;
		bytes = s->tagged;
	}
	s->each(s->arg, sample, stack, bytes);
	s->read++;
	if (!s->deadline_ns)
		return s->read >= SAMPLES_RING / SMALLEST ? -ETIME : 0;
	return s->read % CLOCK_EVERY == 0 && clock_now() > s->deadline_ns ? -ETIME : 0;
}

int watch_open_samples(struct watch *w, samples_each *each, void *arg, struct error *err)
{
	struct watch_samples *s = &w->samples;

	s->each = each;
	s->arg = arg;
	s->ring = ring_buffer__new(bpf_map__fd(w->skel->maps.samples), take_sample, s, NULL);
	return error_errno(err, STATUS_FAILED, s->ring ? 0 : -errno, NULL,
			   "cannot map the ring of samples");
}

int64_t watch_read_samples(struct watch *w, uint64_t budget_ns)
{
	struct watch_samples *s = &w->samples;
	int rc;

	s->read = 0;
	s->deadline_ns = budget_ns ? clock_now() + budget_ns : 0;
	rc = ring_buffer__consume(s->ring);
	return rc < 0 && rc != -ETIME ? rc : (int64_t)s->read;
}
