// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drops/watch_parts.h"

/*
 * Waits until no program can be in the old set any more. The kernel does that for us when a map in
 * a map is replaced: maybe_wait_bpf_programs(), synchronize_rcu().
 */
static int grace_period(const struct watch *w)
{
	__u32 zero = 0;

	return bpf_map_update_elem(w->rcu_map, &zero, &w->inner_map, 0) ? -errno : 0;
}

struct reader {
	void (*each)(void *arg, const struct watch_entry *e);
	void *arg;
};

/* Tells and empties the slots of a set that are in use. Returns how many. */
static unsigned read_slots(const struct watch *w, char *base, unsigned slots, bool second,
			   const struct reader *to)
{
	char *at = base + (second ? w->cpus * slots * w->slot_size : 0);
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
			to->each(to->arg, &e);
			memset(at, 0, w->slot_size);
			used++;
		}
	}
	return used;
}

static void read_batch(const struct watch *w, unsigned n, const struct reader *to)
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
			if (e.count.events)
				to->each(to->arg, &e);
		}
	}
}

static int read_overflow(const struct watch *w, bool second, const struct reader *to,
			 unsigned *used)
{
	int fd = bpf_map__fd(second ? w->skel->maps.overflow1 : w->skel->maps.overflow0), rc = 0;
	__u32 in, out, n;

	*used = 0;
	for (bool first = true; !rc; first = false, in = out) {
		n = WATCH_BATCH;
		if (bpf_map_lookup_and_delete_batch(fd, first ? NULL : &in, &out, w->batch_keys,
						    w->batch_values, &n, NULL))
			rc = -errno;
		if (rc && rc != -ENOENT)
			break;
		read_batch(w, n, to);
		*used += n;
	}
	return rc == -ENOENT ? 0 : rc;
}

int watch_collect(struct watch *w, void (*each)(void *arg, const struct watch_entry *e), void *arg)
{
	__u32 base = w->skel->bss->watch_base;
	const struct reader to = {each, arg};
	bool second = base != 0;
	unsigned used;
	int rc;

	__atomic_store_n(&w->skel->bss->watch_base, second ? 0 : w->cpus, __ATOMIC_RELEASE);
	rc = grace_period(w);
	if (rc)
		return rc;
	used = read_slots(w, w->slot, w->slots, second, &to);
	read_slots(w, w->other, WATCH_OTHERS_SLOTS, second, &to);
	if (used > w->slots_used)
		w->slots_used = used;
	rc = read_overflow(w, second, &to, &used);
	if (used > w->overflow_used)
		w->overflow_used = used;
	return rc;
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
	return w->has_rx_sk;
}

static void read_losses(const struct watch *w, struct watch_loss *sum)
{
	struct watch_loss *each = calloc(w->possible, sizeof(*each));
	__u32 zero = 0;

	if (each && !bpf_map_lookup_elem(bpf_map__fd(w->skel->maps.losses), &zero, each)) {
		for (unsigned i = 0; i < w->possible; i++) {
			sum->overflow += each[i].overflow;
			sum->merged += each[i].merged;
			sum->unplaced += each[i].unplaced;
			sum->unsampled += each[i].unsampled;
			sum->unwindowed += each[i].unwindowed;
			sum->uncounted.events += each[i].uncounted.events;
			sum->uncounted.more += each[i].uncounted.more;
			sum->uncounted.bytes += each[i].uncounted.bytes;
			sum->uncounted.memory += each[i].uncounted.memory;
		}
	}
	free(each);
}

void watch_state(const struct watch *w, struct watch_state *s)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	memset(s, 0, sizeof(*s));
	read_losses(w, &s->loss);
	if (!bpf_obj_get_info_by_fd(bpf_program__fd(w->prog), &info, &len)) {
		s->recursion_misses = info.recursion_misses;
		s->run_ns = info.run_time_ns;
		s->runs = info.run_cnt;
	}
	if (w->has_filter)
		filter_unread(w->skel->obj, &s->filter_unread);
	s->slots = w->cpus * w->slots;
	s->slots_used = w->slots_used;
	s->overflow = w->keys;
	s->overflow_used = w->overflow_used;
}

int watch_samples(const struct watch *w)
{
	int fd = bpf_map__fd(w->skel->maps.samples);

	return fd < 0 ? -1 : fd;
}
