// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/env.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "host/bpfmaps.h"
#include "host/cgroup.h"
#include "diagnosis/env_parts.h"
#include "drops/quirks.h"

/* "model name : AMD EPYC" on x86; arm64 has no such line, but tells the part. */
static void add_cpu_model(struct json_object *env)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		char *value = strchr(line, ':');

		if (!value || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8)))
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		json_put_text(env, "cpu_model", value);
		break;
	}
	if (f)
		fclose(f);
}

static void add_cpus(struct json_object *env)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t allowed;
	char line[256];

	if (online > 0)
		json_put_u64(env, "cpus", (uint64_t)online);
	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		json_put_u64(env, "cpus_allowed", (uint64_t)CPU_COUNT(&allowed));
	if (file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line, sizeof(line)))
		json_put_text(env, "governor", line);
	if (file_line("/sys/devices/system/node/online", line, sizeof(line)))
		json_put_text(env, "numa_nodes", line);
}

/* Time that the hypervisor gave to others, of all CPUs since boot. */
static void add_steal(struct json_object *env)
{
	unsigned long long steal;
	long hz = sysconf(_SC_CLK_TCK);
	char line[256];

	if (hz > 0 && file_line("/proc/stat", line, sizeof(line)) &&
	    sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1)
		json_put_u64(env, "steal_ns", steal * (1000000000ULL / (unsigned long)hz));
}

/* CPUs that one group may use, 0 if it is not limited. v2: "max 100000"; v1: two files. */
static bool group_cpus(const char *dir, bool v2, double *cpus)
{
	char path[PATH_MAX + 64], line[64];
	double quota, period;

	*cpus = 0;
	snprintf(path, sizeof(path), "%s/%s", dir, v2 ? "cpu.max" : "cpu.cfs_quota_us");
	if (!file_line(path, line, sizeof(line)))
		return false;
	if (v2)
		return sscanf(line, "%lf %lf", &quota, &period) != 2 || (*cpus = quota / period);
	quota = strtod(line, NULL);
	snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
	if (quota > 0 && file_line(path, line, sizeof(line)) && strtod(line, NULL) > 0)
		*cpus = quota / strtod(line, NULL);
	return true;
}

/* The tightest quota from this group up to the root, in CPUs; null: none. */
static void add_cgroup(struct json_object *env)
{
	struct cgroup group;
	double cpus, least = 0;
	bool read = false;

	if (!cgroup_of(-1, 0, &group))
		return;
	do {
		if (group_cpus(group.dir, group.v2, &cpus)) {
			read = true;
			if (cpus > 0 && (least == 0 || cpus < least))
				least = cpus;
		}
	} while (cgroup_up(&group));
	if (least > 0)
		json_put_double(env, "cgroup_cpus", least);
	else if (read)
		json_put(env, "cgroup_cpus", NULL);
}

/* What is not known is left out. */
static void add_quirks(struct json_object *env)
{
	struct json_object *quirks = json_object_new_object();
	const enum quirk_state *state = quirks_found();

	for (int q = 0; q < QUIRK_COUNT; q++) {
		if (state[q] != QUIRK_UNKNOWN)
			json_put_bool(quirks, quirk_name(q), state[q] == QUIRK_FOUND);
	}
	json_put(env, "quirks", quirks);
}

/* Only while there are any. */
static void add_maps(struct json_object *env)
{
	struct json_object *maps = bpfmaps_json();

	if (maps)
		json_put(env, "bpf", maps);
}

struct json_object *env_read(const struct lab *lab)
{
	struct json_object *env = json_object_new_object();
	struct utsname u;

	json_put_text(env, "version", PKTLEDGER_VERSION);
	if (!uname(&u)) {
		json_put_text(env, "kernel", u.release);
		json_put_text(env, "machine", u.machine);
	}
	add_cpu_model(env);
	add_cpus(env);
	add_steal(env);
	add_cgroup(env);
	add_quirks(env);
	env_read_network(env, lab);
	add_maps(env);
	return env;
}
