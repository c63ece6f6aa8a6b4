// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/env.h"

#include <limits.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "drops/reason.h"
#include "host/bpfmaps.h"
#include "host/cgroup.h"
#include "host/netdev.h"
#include "host/nl.h"

/* Those that change how a packet is counted, cut, merged or checked. */
static const char *const offloads[] = {
	"tx-checksum-ipv4",
	"tx-checksum-ipv6",
	"tx-checksum-ip-generic",
	"rx-checksum",
	"rx-gro",
	"rx-gro-list",
	"rx-udp-gro-forwarding",
	"rx-gro-hw",
	"tx-udp-segmentation",
	"tx-generic-segmentation",
	"tx-gso-list",
};

/* Which namespace decides. */
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

/* "212992" is a number, "1 2 3" a list of numbers, all else text. */
static struct json_object *sysctl_value(const char *s)
{
	struct json_object *list = json_object_new_array(), *value;
	const char *p = s;

	while (*p) {
		char *end;
		unsigned long long v = strtoull(p, &end, 10);

		if (end == p || *p == '-' || (*end && *end != '\t' && *end != ' '))
			break;
		json_object_array_add(list, json_object_new_uint64(v));
		p = end + strspn(end, " \t");
	}
	if (*p || !json_object_array_length(list)) {
		json_object_put(list);
		return json_text(s);
	}
	if (json_object_array_length(list) > 1)
		return list;
	value = json_object_get(json_object_array_get_idx(list, 0));
	json_object_put(list);
	return value;
}

static bool add_sysctl(struct json_object *o, const struct netns *ns, const char *path)
{
	char value[128], name[128];
	size_t n;

	if (netns_sysctl_read(ns, path, value, sizeof(value)) < 0)
		return false;
	n = (size_t)snprintf(name, sizeof(name), "%s", path);
	for (size_t i = 0; i < n && i < sizeof(name); i++) {
		if (name[i] == '/')
			name[i] = '.';
	}
	json_put(o, name, sysctl_value(value));
	return true;
}

static struct json_object *read_sysctls(const struct lab *lab)
{
	struct json_object *o = json_object_new_object();

	for (unsigned i = 0; i < sizeof(sysctls) / sizeof(sysctls[0]); i++) {
		const struct netns *ns = NULL;

		if (lab && sysctls[i].side != HOST)
			ns = sysctls[i].side == TX ? &lab->tx_ns : &lab->rx_ns;
		/* Values for the whole host are not shown in other namespaces by all kernels. */
		if (!add_sysctl(o, ns, sysctls[i].path) && ns)
			add_sysctl(o, NULL, sysctls[i].path);
	}
	return o;
}

static void add_xdp(struct json_object *o, const struct nlattr *xdp)
{
	static const char *const modes[] = {
		[XDP_ATTACHED_DRV] = "native",
		[XDP_ATTACHED_SKB] = "generic",
		[XDP_ATTACHED_HW] = "offloaded",
		[XDP_ATTACHED_MULTI] = "several",
	};
	const struct nlattr *a;
	uint32_t id = 0;
	uint8_t mode = 0;

	mnl_attr_for_each_nested(a, xdp)
	{
		if (mnl_attr_get_type(a) == IFLA_XDP_ATTACHED)
			mode = mnl_attr_get_u8(a);
		else if (mnl_attr_get_type(a) == IFLA_XDP_PROG_ID)
			id = mnl_attr_get_u32(a);
	}
	json_put_text(o, "xdp", mode < sizeof(modes) / sizeof(modes[0]) ? modes[mode] : NULL);
	if (id)
		json_put_u64(o, "xdp_program_id", id);
}

static int on_link(const struct nlmsghdr *nlh, void *arg)
{
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(struct ifinfomsg))
	{
		if (mnl_attr_get_type(a) == IFLA_QDISC)
			json_put_text(arg, "qdisc", mnl_attr_get_str(a));
		else if (mnl_attr_get_type(a) == IFLA_TXQLEN)
			json_put_u64(arg, "txqueuelen", mnl_attr_get_u32(a));
		else if (mnl_attr_get_type(a) == IFLA_XDP)
			add_xdp(arg, a);
	}
	return MNL_CB_OK;
}

static void add_link(struct json_object *o, const struct lab_port *port)
{
	char buf[NL_REQUEST_SIZE];
	struct nlmsghdr *nlh = nl_header(buf, RTM_GETLINK, 0);
	struct ifinfomsg *ifi = mnl_nlmsg_put_extra_header(nlh, sizeof(*ifi));

	ifi->ifi_index = (int)port->ifindex;
	nl_query(port->ns, nlh, on_link, o);
}

static struct json_object *read_offloads(const struct lab_port *port)
{
	struct json_object *o = json_object_new_object();
	bool on;

	for (unsigned i = 0; i < sizeof(offloads) / sizeof(offloads[0]); i++) {
		if (!netdev_get_feature(port->ns, port->ifname, offloads[i], &on))
			json_put_bool(o, offloads[i], on);
	}
	return o;
}

/* Who does the work of receiving: softirq or a thread, and on which CPUs (of the first queue). */
static void add_receiving(struct json_object *o, const struct lab_port *port)
{
	char path[96], text[128];

	snprintf(path, sizeof(path), "class/net/%s/threaded", port->ifname);
	if (netns_sysfs_read(port->ns, path, text, sizeof(text)) >= 0)
		json_put_bool(o, "threaded_napi", strcmp(text, "0") != 0);
	snprintf(path, sizeof(path), "class/net/%s/queues/rx-0/rps_cpus", port->ifname);
	if (netns_sysfs_read(port->ns, path, text, sizeof(text)) >= 0)
		json_put_text(o, "rps_cpus", text);
}

static struct json_object *read_port(const char *role, const struct lab_port *port)
{
	struct json_object *o = json_object_new_object();
	struct netdev dev;
	char path[64], rp_filter[16];

	json_put_text(o, "ifname", port->ifname);
	json_put_text(o, "netns", role);
	if (!netdev_get(port->ns, port->ifname, &dev)) {
		if (*dev.driver)
			json_put_text(o, "driver", dev.driver);
		json_put_u64(o, "mtu", dev.mtu);
		json_put_u64(o, "rx_queues", dev.rx_queues);
		json_put_u64(o, "tx_queues", dev.tx_queues);
		json_put(o, "speed_mbit",
			 dev.speed_mbit < 0 ? NULL : json_object_new_int(dev.speed_mbit));
	}
	add_link(o, port);
	json_put(o, "offloads", read_offloads(port));
	add_receiving(o, port);
	snprintf(path, sizeof(path), "net/ipv4/conf/%s/rp_filter", port->ifname);
	if (netns_sysctl_read(port->ns, path, rp_filter, sizeof(rp_filter)) >= 0)
		json_put(o, "rp_filter", sysctl_value(rp_filter));
	return o;
}

/* Adds "interfaces" (only with a lab) and "sysctls". */
static void read_network(struct json_object *env, const struct lab *lab)
{
	const char *middle = lab ? lab_middle(lab->topology) : NULL;
	struct json_object *list;

	if (lab) {
		list = json_object_new_array();
		json_object_array_add(list, read_port("tx", &lab->tx));
		if (middle) {
			json_object_array_add(list, read_port(middle, &lab->router_tx));
			json_object_array_add(list, read_port(middle, &lab->router_rx));
		}
		json_object_array_add(list, read_port("rx", &lab->rx));
		json_put(env, "interfaces", list);
	}
	json_put(env, "sysctls", read_sysctls(lab));
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
			json_put_bool(quirks, quirk_words[q].name, state[q] == QUIRK_FOUND);
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
	read_network(env, lab);
	add_maps(env);
	return env;
}
