// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Lists of windows: when packets were lost. */
#include <bpf/libbpf.h>
#include <string.h>

#include "drops/watch_parts.h"

#define READ_NS	   100000000 /* a list is looked at so often */
#define KEYS	   16	     /* of a CPU that lose packets in every window meanwhile */
#define LIST_LEAST 512

static size_t list_size(const struct watch *w)
{
	return sizeof(struct burst_list) + w->burst_room * sizeof(struct burst);
}

/* Programs that have lists. */
static unsigned programs(const struct watch *w)
{
	return w->used ? BURST_PROGRAMS : 1;
}

size_t watch_bursts_size(const struct watch *w)
{
	return programs(w) * WATCH_SETS * w->cpus * list_size(w);
}

void watch_bursts_prepare(struct watch *w, uint64_t burst_ns)
{
	struct watch_config *cfg = (void *)&w->skel->rodata->cfg;
	struct bpf_map *map = w->skel->maps.bursts;

	bpf_map__set_autocreate(map, burst_ns != 0);
	if (!burst_ns)
		return;
	w->burst_room = LIST_LEAST;
	while (w->burst_room < BURST_LIST && w->burst_room < READ_NS / burst_ns * KEYS)
		w->burst_room *= 2;
	cfg->burst_room = w->burst_room;
	cfg->burst_ns = burst_ns;
	bpf_map__set_value_size(map, (__u32)list_size(w));
	bpf_map__set_max_entries(map, programs(w) * WATCH_SETS * w->cpus);
}

static struct burst_list *list_of(const struct watch *w, unsigned program, bool second,
				  unsigned cpu)
{
	size_t n = (program * WATCH_SETS + second) * w->cpus + cpu;

	return (void *)(w->burst + n * list_size(w));
}

static void read_list(struct burst_list *list, void (*each)(void *arg, const struct burst *b),
		      void *arg)
{
	for (uint32_t i = 0; i < list->used; i++)
		each(arg, &list->at[i]);
	memset(list, 0, sizeof(*list) + list->used * sizeof(list->at[0]));
}

void watch_bursts(struct watch *w, void (*each)(void *arg, const struct burst *b), void *arg)
{
	bool second = !w->skel->bss->watch_base; /* the set that is not in use */

	if (!w->burst_room)
		return;
	for (unsigned p = 0; p < programs(w); p++) {
		for (unsigned cpu = 0; cpu < w->cpus; cpu++)
			read_list(list_of(w, p, second, cpu), each, arg);
	}
}

bool watch_bursts_fill(const struct watch *w)
{
	bool second = w->skel->bss->watch_base;

	if (!w->burst_room)
		return false;
	for (unsigned p = 0; p < programs(w); p++) {
		for (unsigned cpu = 0; cpu < w->cpus; cpu++) {
			if (list_of(w, p, second, cpu)->used > w->burst_room / 4)
				return true;
		}
	}
	return false;
}
