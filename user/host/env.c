// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/env.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json_put.h"
#include "host/env_parts.h"

#define CGROUP_ROOT "/sys/fs/cgroup"

/* First line of a file without its LF. */
static bool read_line(const char *path, char *buf, size_t size)
{
	FILE *f = fopen(path, "re");
	bool got;

	if (!f)
		return false;
	got = fgets(buf, (int)size, f);
	fclose(f);
	if (got)
		buf[strcspn(buf, "\n")] = '\0';
	return got;
}

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
	if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", line, sizeof(line)))
		json_put_text(env, "governor", line);
	if (read_line("/sys/devices/system/node/online", line, sizeof(line)))
		json_put_text(env, "numa_nodes", line);
}

/* Time that the hypervisor gave to others, of all CPUs since boot. */
static void add_steal(struct json_object *env)
{
	unsigned long long steal;
	long hz = sysconf(_SC_CLK_TCK);
	char line[256];

	if (hz > 0 && read_line("/proc/stat", line, sizeof(line)) &&
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
	if (!read_line(path, line, sizeof(line)))
		return false;
	if (v2)
		return sscanf(line, "%lf %lf", &quota, &period) != 2 || (*cpus = quota / period);
	quota = strtod(line, NULL);
	snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", dir);
	if (quota > 0 && read_line(path, line, sizeof(line)) && strtod(line, NULL) > 0)
		*cpus = quota / strtod(line, NULL);
	return true;
}

/* Path of this process in the hierarchy that controls the CPU, below CGROUP_ROOT. */
static bool find_group(char *dir, size_t size, size_t *root, bool *v2)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char line[PATH_MAX];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		bool unified;

		if (!path)
			continue;
		*names++ = *path++ = '\0';
		path[strcspn(path, "\n")] = '\0';
		unified = !*names;
		if (!unified && strcmp(names, "cpu") && strcmp(names, "cpu,cpuacct"))
			continue;
		if (unified && found) /* the CPU belongs to a hierarchy of version 1 */
			continue;
		*v2 = unified;
		*root = (size_t)snprintf(dir, size, CGROUP_ROOT "%s%s", unified ? "" : "/", names);
		snprintf(dir + *root, size - *root, "%s", strcmp(path, "/") ? path : "");
		found = true;
	}
	if (f)
		fclose(f);
	return found;
}

/* The tightest quota from this group up to the root, in CPUs; null: none. */
static void add_cgroup(struct json_object *env)
{
	char dir[PATH_MAX];
	double cpus, least = 0;
	bool v2, read = false;
	size_t root;

	if (!find_group(dir, sizeof(dir), &root, &v2))
		return;
	for (;;) {
		if (group_cpus(dir, v2, &cpus)) {
			read = true;
			if (cpus > 0 && (least == 0 || cpus < least))
				least = cpus;
		}
		if (strlen(dir) <= root)
			break;
		*strrchr(dir, '/') = '\0';
	}
	if (least > 0)
		json_put_double(env, "cgroup_cpus", least);
	else if (read)
		json_put(env, "cgroup_cpus", NULL);
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
	env_read_network(env, lab);
	return env;
}
