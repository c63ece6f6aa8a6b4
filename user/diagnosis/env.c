// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/facts.h"

#include <ctype.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/record.h"
#include "drops/reason.h"
#include "host/load.h"
#include "base/proc.h"

/* Namespace with the setting that applies. */
enum side { HOST, TX, RX };

static const struct {
	const char *path;
	enum side side;
} sysctls[] = {
	{"net/core/rmem_default", HOST},     {"net/core/rmem_max", RX},
	{"net/core/wmem_default", HOST},     {"net/core/wmem_max", TX},
	{"net/core/optmem_max", TX},	     {"net/core/netdev_max_backlog", HOST},
	{"net/core/netdev_budget", HOST},    {"net/core/netdev_budget_usecs", HOST},
	{"net/core/dev_weight", HOST},	     {"net/core/default_qdisc", HOST},
	{"net/core/busy_read", HOST},	     {"net/core/busy_poll", HOST},
	{"net/core/bpf_jit_enable", HOST},   {"net/ipv4/udp_mem", HOST},
	{"net/ipv4/udp_rmem_min", RX},	     {"net/ipv4/ip_forward", RX},
	{"net/ipv4/ipfrag_high_thresh", RX}, {"net/ipv4/ipfrag_time", RX},
	{"net/ipv4/conf/all/rp_filter", RX}, {"net/ipv6/ip6frag_high_thresh", RX},
};

/* Converts "212992" to a number, "1 2 3" to a list of numbers, and anything else to text. */
static struct json_object *sysctl_value(const char *s)
{
	struct json_object *list, *value;
	char *p = (char *)s;

	if (!isdigit((unsigned char)*s))
		return json_text(s);
	list = json_object_new_array();
	while (isdigit((unsigned char)*p)) {
		json_object_array_add(list, json_object_new_uint64(strtoull(p, &p, 10)));
		p += strspn(p, " \t");
	}
	if (!*p && json_object_array_length(list) > 1)
		return list;
	value = *p ? json_text(s) : json_object_get(json_object_array_get_idx(list, 0));
	json_object_put(list);
	return value;
}

static struct json_object *read_sysctls(const struct lab *lab)
{
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; i < LENGTH(sysctls); i++) {
		const char *path = sysctls[i].path;
		const struct netns *ns = NULL;
		char value[128], name[128];

		if (lab && sysctls[i].side != HOST)
			ns = sysctls[i].side == TX ? &lab->tx_ns : &lab->rx_ns;
		/* Some kernels do not show host-wide values in other namespaces. */
		if (netns_sysctl(ns, path, NULL, value, sizeof(value)) < 0 &&
		    netns_sysctl(NULL, path, NULL, value, sizeof(value)) < 0)
			continue;
		snprintf(name, sizeof(name), "%s", path);
		for (char *p = name; (p = strchr(p, '/'));)
			*p = '.';
		json_put(o, name, sysctl_value(value));
	}
	return o;
}

/* Returns an interface's settings as in `check`, without the parts that need two samples. */
static struct json_object *read_port(const struct lab_port *port)
{
	static const char *const measured[] = {"irqs", "losses", "rx_packets", "tx_packets"};
	struct facts_link *link = mem_new(link);
	struct json_object *o;

	if (facts_link_read(port->ns, port->ifname, link))
		snprintf(link->dev.link.ifname, sizeof(link->dev.link.ifname), "%s", port->ifname);
	o = record_write(facts_link_rows, link);
	for (unsigned i = 0; i < LENGTH(measured); i++)
		json_object_object_del(o, measured[i]);
	json_put_text(o, "netns", port->role);
	free(link);
	return o;
}

/* Adds "model name : AMD EPYC" on x86. arm64 has part numbers instead. */
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
	unsigned long long steal;
	char line[256];
	cpu_set_t allowed;

	json_put_u64(env, "cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		json_put_u64(env, "cpus_allowed", (uint64_t)CPU_COUNT(&allowed));
	if (proc_read(AT_FDCWD, line, sizeof(line),
		      "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") > 0)
		json_put_text(env, "governor", line);
	if (proc_read(AT_FDCWD, line, sizeof(line), "/sys/devices/system/node/online") > 0)
		json_put_text(env, "numa_nodes", line);
	/* Time that the hypervisor gave to other guests, over all CPUs since boot. */
	proc_read(AT_FDCWD, line, sizeof(line), "/proc/stat");
	if (sscanf(line, "cpu %*u %*u %*u %*u %*u %*u %*u %llu", &steal) == 1)
		json_put_u64(env, "steal_ns",
			     steal * (1000000000ULL / (uint64_t)sysconf(_SC_CLK_TCK)));
}

/*
 * Reads how many CPUs a cgroup may use, 0 or less if unlimited. cgroup v2 has "max 100000", v1 has
 * two files.
 */
static bool group_cpus(const char *dir, bool v2, double *cpus)
{
	double quota, period;
	char line[64];

	*cpus = 0;
	if (proc_read(AT_FDCWD, line, sizeof(line), "%s/%s", dir,
		      v2 ? "cpu.max" : "cpu.cfs_quota_us") <= 0)
		return false;
	if (v2)
		return sscanf(line, "%lf %lf", &quota, &period) != 2 || (*cpus = quota / period);
	quota = strtod(line, NULL); /* -1: unlimited */
	proc_read(AT_FDCWD, line, sizeof(line), "%s/cpu.cfs_period_us", dir);
	period = strtod(line, NULL);
	if (period > 0)
		*cpus = quota / period;
	return true;
}

/* Adds the tightest quota from this cgroup up to the root, in CPUs, or null if there is none. */
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

struct json_object *env_read(const struct lab *lab)
{
	struct json_object *env = json_object_new_object();
	const uint64_t bpf_bytes = bpfmaps_bytes();
	struct json_object *quirks = json_object_new_object();
	const enum quirk_state *state = quirks_found();
	struct utsname u;

	json_put_text(env, "version", PKTLEDGER_VERSION);
	if (!uname(&u)) {
		json_put_text(env, "kernel", u.release);
		json_put_text(env, "machine", u.machine);
	}
	add_cpu_model(env);
	add_cpus(env);
	add_cgroup(env);
	for (int q = 0; q < QUIRK_COUNT; q++) {
		if (state[q] != QUIRK_UNKNOWN)
			json_put_bool(quirks, quirk_words[q].name, state[q] == QUIRK_FOUND);
	}
	json_put(env, "quirks", quirks);
	if (lab) {
		struct json_object *ports = json_object_new_array();

		for (const struct lab_port *p = NULL; (p = lab_hop(lab, p));)
			json_object_array_add(ports, read_port(p));
		json_put(env, "interfaces", ports);
	}
	json_put(env, "sysctls", read_sysctls(lab));
	if (bpf_bytes)
		json_put_u64(env, "bpf_bytes", bpf_bytes);
	return env;
}
