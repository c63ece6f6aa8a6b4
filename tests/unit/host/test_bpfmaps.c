// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every map of every BPF program is bounded, and the memory of those that a process has open is known. */
#include "cases.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host/load.h"

#define OBJECTS 12 /* there are more */

/*
 * The number of sockets bounds the socket storage, and the kernel frees the storage with the
 * socket.
 */
static bool has_bound(const struct bpf_map *map)
{
	return bpf_map__max_entries(map) || bpf_map__type(map) == BPF_MAP_TYPE_SK_STORAGE;
}

CASE(every_map_has_a_bound)
{
	const char *build = getenv("B");
	const struct bpf_map *map;
	char pattern[256];
	unsigned maps = 0;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*.bpf.o", build ? build : "build");
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_true(found.gl_pathc > OBJECTS);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct bpf_object *obj = bpf_object__open(found.gl_pathv[i]);

		assert_non_null(obj);
		bpf_object__for_each_map(map, obj)
		{
			if (!has_bound(map))
				fail_msg("%s: map %s has no bound", found.gl_pathv[i],
					 bpf_map__name(map));
			maps++;
		}
		bpf_object__close(obj);
	}
	assert_true(maps > found.gl_pathc);
	globfree(&found);
}

CASE(counts_each_map_once)
{
	int fd, again;

	assert_int_equal(bpfmaps_bytes(), 0);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pl_test", 4, 1024, 1000, NULL);
	if (fd < 0)
		skip();
	again = dup(fd);
	assert_in_range(bpfmaps_bytes(), 1024 * 1000, 1024 * 1000 + 65536);
	close(again);
	close(fd);
	assert_int_equal(bpfmaps_bytes(), 0);
}
