// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/bpfmaps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

/* bpf_map_show_fdinfo(): "memlock:" is what the map takes. */
static uint64_t memory_of(int fd)
{
	unsigned long long bytes = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f) && sscanf(line, "memlock: %llu", &bytes) != 1)
		;
	fclose(f);
	return bytes;
}

static bool is_map(int dir, const char *name)
{
	static const char map[] = "anon_inode:bpf-map";
	char link[sizeof(map)];

	return readlinkat(dir, name, link, sizeof(link)) == sizeof(map) - 1 &&
	       !memcmp(link, map, sizeof(map) - 1);
}

static bool is_known(const struct bpfmap *list, int n, uint32_t id)
{
	for (int i = 0; i < n; i++) {
		if (list[i].id == id)
			return true;
	}
	return false;
}

static int add(struct bpfmap **list, int n, int fd)
{
	struct bpf_map_info info = {};
	struct bpfmap *more;
	__u32 len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len) || is_known(*list, n, info.id))
		return n;
	more = reallocarray(*list, (size_t)n + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*list = more;
	more[n] = (struct bpfmap){
		.id = info.id,
		.type = info.type,
		.entries = info.max_entries,
		.bytes = memory_of(fd),
	};
	snprintf(more[n].name, sizeof(more[n].name), "%s", info.name);
	return n + 1;
}

int bpfmaps_read(struct bpfmap **list)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *d;
	int n = 0;

	*list = NULL;
	if (!dir)
		return -errno;
	while (n >= 0 && (d = readdir(dir))) {
		if (is_map(dirfd(dir), d->d_name))
			n = add(list, n, atoi(d->d_name));
	}
	closedir(dir);
	if (n < 0) {
		free(*list);
		*list = NULL;
	}
	return n;
}

uint64_t bpfmaps_bytes(void)
{
	struct bpfmap *list;
	int n = bpfmaps_read(&list);
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += list[i].bytes;
	free(list);
	return sum;
}

static int larger(const void *a, const void *b)
{
	const struct bpfmap *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes < other->bytes ? 1 : -1;
	return strcmp(one->name, other->name);
}

static struct json_object *map_json(const struct bpfmap *m)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "name", m->name);
	json_put_text(o, "type", libbpf_bpf_map_type_str((enum bpf_map_type)m->type));
	json_put_u64(o, "entries", m->entries);
	json_put_u64(o, "bytes", m->bytes);
	return o;
}

struct json_object *bpfmaps_json(void)
{
	struct json_object *o, *maps;
	struct bpfmap *list;
	int n = bpfmaps_read(&list);
	uint64_t sum = 0;

	if (n <= 0)
		return NULL;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): -errno is not above 0 */
	qsort(list, (size_t)n, sizeof(*list), larger);
	maps = json_object_new_array();
	for (int i = 0; i < n; i++) {
		sum += list[i].bytes;
		json_object_array_add(maps, map_json(&list[i]));
	}
	free(list);
	o = json_object_new_object();
	json_put_u64(o, "bytes", sum);
	json_put(o, "maps", maps);
	return o;
}
