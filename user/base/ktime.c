// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/ktime.h"

#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"

static int64_t offset;

static void read_offset(void)
{
	FILE *f = fopen("/proc/self/timens_offsets", "re");
	long long seconds;
	long ns;

	if (!f)
		return;
	if (fscanf(f, "monotonic %lld %ld", &seconds, &ns) == 2)
		offset = (int64_t)seconds * 1000000000 + ns;
	fclose(f);
}

int64_t ktime_offset(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_offset);
	return offset;
}

uint64_t ktime_now(void)
{
	return clock_now() - (uint64_t)ktime_offset();
}
