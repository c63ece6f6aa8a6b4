// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/watch.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "host/load.h"
#include "drops/samples.h"
#include "drops/watch_parts.h"
#include "watch_old.skel.h"

static size_t mapped_size(const struct watch *w, unsigned slots)
{
	return WATCH_SETS * w->cpus * slots * w->slot_size;
}

/* The places, and the stretch that they all lie in. */
static void put_consumed(struct watch_config *cfg, const struct watch_spec *spec)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned i = 0; i < spec->consumed_n; i++) {
		const struct watch_range *r = &spec->consumed[i];

		cfg->consumed[i] = *r;
		if (r->start < start)
			start = r->start;
		if (r->start + r->len > end)
			end = r->start + r->len;
	}
	if (spec->consumed_n)
		cfg->consumed_within = (struct watch_range){start, end - start};
}

static int configure(struct watch *w, const struct watch_spec *spec, const struct reasons *r,
		     struct error *err)
{
	static const char *const of_socket[WATCH_SOCKET_REASONS] = {"SOCKET_RCVBUFF", "PROTO_MEM",
								    "SOCKET_FILTER", "UDP_CSUM"};
	struct watch_config *cfg = (void *)&w->skel->rodata->cfg;
	int args = reasons_kfree_args(r);

	if (args < 0)
		return error_set(err, STATUS_UNABLE, args,
				 "it needs a kernel with tracepoints and BTF",
				 "this kernel has no tracepoint skb:kfree_skb");
	*cfg = (struct watch_config){
		.reason_netfilter = reasons_value(r, "NETFILTER_DROP"),
		.cpus = w->cpus,
		.has_reason = args > 2,
		.has_rx_sk = args > 3,
		.by_flow = spec->by_flow,
		.by_sender = spec->by_sender,
		.has_reasons = spec->has_reasons,
		.socket_only = spec->socket_only,
		.netns = spec->netns,
		.ifindex = spec->ifindex,
		.snaplen = spec->snaplen,
		.stack = spec->stack,
	};
	for (int i = 0; i < WATCH_SOCKET_REASONS; i++)
		cfg->socket_reasons[i] = reasons_value(r, of_socket[i]);
	cfg->has_expr = spec->filter != NULL;
	cfg->is_filtered = cfg->has_expr || spec->has_reasons || spec->socket_only || spec->netns ||
			   spec->ifindex;
	memcpy(cfg->reasons, spec->reasons, sizeof(cfg->reasons));
	put_consumed(cfg, spec);
	cfg->freeing = spec->freeing;
	w->has_rx_sk = args > 3;
	return 0;
}

static void size_maps(const struct watch *w)
{
	struct bpf_map *array[] = {w->skel->maps.slots, w->skel->maps.others};
	struct bpf_map *hash[] = {w->skel->maps.overflow0, w->skel->maps.overflow1};
	const unsigned slots[] = {w->slots, WATCH_OTHERS_SLOTS};

	for (int i = 0; i < 2; i++) {
		bpf_map__set_value_size(array[i], (__u32)w->slot_size);
		bpf_map__set_max_entries(array[i], WATCH_SETS * w->cpus * slots[i]);
		bpf_map__set_key_size(hash[i], (__u32)w->key_size);
		bpf_map__set_max_entries(hash[i], w->keys);
	}
	bpf_map__set_max_entries(w->skel->maps.socks, WATCH_SOCKS);
	bpf_map__set_max_entries(w->skel->maps.devs, WATCH_DEVS);
}

/* Without samples there is no code that would need the maps. */
static void size_samples(const struct watch *w, const struct watch_spec *spec)
{
	const size_t stack = spec->stack ? SAMPLE_FRAMES * sizeof(__u64) : 0;
	struct bpf_map *ring = w->skel->maps.samples, *room = w->skel->maps.sample_room;

	bpf_map__set_autocreate(ring, spec->snaplen != 0);
	bpf_map__set_autocreate(room, spec->snaplen != 0);
	bpf_map__set_max_entries(ring, SAMPLES_RING);
	bpf_map__set_max_entries(room, w->cpus * SAMPLE_PROGRAMS);
	bpf_map__set_value_size(room, (__u32)(sizeof(struct sample) + stack + spec->snaplen));
}

static void choose_programs(struct watch *w, bool consumed)
{
	const struct watch_bpf *s = w->skel;

	w->prog = w->by_flow ? s->progs.watch_flows : s->progs.watch_drops;
	if (!consumed)
		w->used = NULL;
	else
		w->used = w->by_flow ? s->progs.watch_used_flows : s->progs.watch_used;
}

/* `kfuncs`: with those of bpf/kfunc.bpf.h. */
static int load(struct watch *w, const struct watch_spec *spec, const struct reasons *r,
		bool kfuncs, struct error *err)
{
	int rc;

	w->skel = calloc(1, sizeof(*w->skel));
	if (!w->skel)
		return -ENOMEM;
	rc = watch_bpf__create_skeleton(w->skel);
	if (!rc)
		rc = trace_open(w->skel->skeleton, kfuncs ? NULL : watch_old_bpf__elf_bytes);
	if (!rc)
		rc = configure(w, spec, r, err);
	if (!rc) {
		size_maps(w);
		size_samples(w, spec);
		choose_programs(w, spec->consumed_n != 0);
		watch_bursts_prepare(w, spec->burst_ns);
		if (spec->filter)
			rc = filter_install(spec->filter, w->skel->obj, err);
	}
	if (!rc) {
		bpf_program__set_autoload(w->prog, true);
		if (w->used)
			bpf_program__set_autoload(w->used, true);
		rc = watch_bpf__load(w->skel);
	}
	if (!rc)
		return 0;
	watch_bpf__destroy(w->skel);
	w->skel = NULL;
	return rc;
}

/* `fd` -1: there is no such map. */
static char *map_shared(int fd, size_t size)
{
	return fd < 0 ? NULL : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static int map_slots(struct watch *w)
{
	w->slot = map_shared(bpf_map__fd(w->skel->maps.slots), mapped_size(w, w->slots));
	w->other =
		map_shared(bpf_map__fd(w->skel->maps.others), mapped_size(w, WATCH_OTHERS_SLOTS));
	w->burst = map_shared(bpf_map__fd(w->skel->maps.bursts), watch_bursts_size(w));
	if (w->slot == MAP_FAILED || w->other == MAP_FAILED || w->burst == MAP_FAILED)
		return -errno;
	w->batch_keys = calloc(WATCH_BATCH, w->key_size);
	w->batch_values = calloc((size_t)WATCH_BATCH * w->possible, sizeof(*w->batch_values));
	return w->batch_keys && w->batch_values ? 0 : -ENOMEM;
}

/* See grace_period(). */
static int make_rcu_map(struct watch *w)
{
	DECLARE_LIBBPF_OPTS(bpf_map_create_opts, opts);

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
	struct watch *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	w->rcu_map = w->inner_map = -1;
	w->slot = w->other = w->burst = MAP_FAILED;
	w->by_flow = spec->by_flow;
	w->has_filter = spec->filter != NULL;
	w->cpus = trace_cpus();
	w->possible = (unsigned)libbpf_num_possible_cpus();
	w->slots = w->by_flow ? WATCH_FLOW_SLOTS : WATCH_SLOTS;
	w->keys = w->by_flow ? WATCH_FLOW_OVERFLOW : WATCH_OVERFLOW;
	w->slot_size = w->by_flow ? sizeof(struct watch_flow_slot) : sizeof(struct watch_slot);
	w->key_size = w->by_flow ? sizeof(struct watch_flow_key) : sizeof(struct watch_key);
	rc = load(w, spec, r, true, err);
	if (trace_load_again(rc) && err->status == STATUS_OK)
		rc = load(w, spec, r, false, err);
	if (!rc)
		rc = map_slots(w);
	if (!rc)
		rc = make_rcu_map(w);
	if (rc) {
		watch_close(w);
		return trace_load_error(err, rc);
	}
	*out = w;
	return 0;
}

int watch_attach(struct watch *w, struct error *err)
{
	w->link = bpf_program__attach(w->prog);
	if (w->link && w->used)
		w->used_link = bpf_program__attach(w->used);
	return w->link && (w->used_link || !w->used) ? 0 : trace_load_error(err, -errno);
}

void watch_detach(struct watch *w)
{
	bpf_link__destroy(w->link);
	bpf_link__destroy(w->used_link);
	w->link = w->used_link = NULL;
}

static void unmap(char *at, size_t size)
{
	if (at && at != MAP_FAILED)
		munmap(at, size);
}

void watch_close(struct watch *w)
{
	if (!w)
		return;
	unmap(w->slot, mapped_size(w, w->slots));
	unmap(w->other, mapped_size(w, WATCH_OTHERS_SLOTS));
	unmap(w->burst, watch_bursts_size(w));
	if (w->rcu_map >= 0)
		close(w->rcu_map);
	if (w->inner_map >= 0)
		close(w->inner_map);
	watch_detach(w);
	watch_bpf__destroy(w->skel);
	free(w->batch_keys);
	free(w->batch_values);
	free(w);
}
