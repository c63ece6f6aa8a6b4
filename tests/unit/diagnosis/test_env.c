// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"
#include "fake_root.h"
#include "host/lab.h"

static struct json_object *get(struct json_object *o, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(o, key, &v))
		fail_msg("no %s in %s", key, json_object_to_json_string(o));
	return v;
}

CASE(tells_the_host)
{
	struct json_object *env = env_read(NULL), *v;
	struct utsname u;

	uname(&u);
	assert_string_equal(json_object_get_string(get(env, "kernel")), u.release);
	assert_string_equal(json_object_get_string(get(env, "version")), PKTLEDGER_VERSION);
	assert_int_equal(json_object_get_int(get(env, "cpus")), sysconf(_SC_NPROCESSORS_ONLN));
	assert_in_range(json_object_get_int(get(env, "cpus_allowed")), 1,
			sysconf(_SC_NPROCESSORS_CONF));
	get(env, "steal_ns");
	assert_false(json_object_object_get_ex(env, "interfaces", &v));
	json_object_put(env);
}

/* Those that need no capability are known everywhere. */
CASE(quirks_have_words)
{
	for (enum quirk q = 0; q < QUIRK_COUNT; q++)
		assert_true(*quirk_words[q].name && *quirk_words[q].text);
}

CASE(tells_quirks)
{
	struct json_object *env = env_read(NULL), *quirks = get(env, "quirks");
	struct utsname u;

	uname(&u);
	assert_int_equal(json_object_get_boolean(get(quirks, "preempt_rt")),
			 strstr(u.version, "PREEMPT_RT") != NULL);
	json_object_object_foreach (quirks, name, value) {
		assert_true(*name);
		assert_true(json_object_is_type(value, json_type_boolean));
	}
	for (enum quirk q = 0; q < QUIRK_COUNT; q++) { /* all that are known, and no other */
		struct json_object *v;
		bool known = json_object_object_get_ex(quirks, quirk_words[q].name, &v);

		assert_int_equal(known, quirks_found()[q] != QUIRK_UNKNOWN);
		if (known)
			assert_int_equal(json_object_get_boolean(v),
					 quirks_found()[q] == QUIRK_FOUND);
	}
	if (!access("/sys/kernel/btf/vmlinux", R_OK))
		get(quirks, "no_rx_sk");
	json_object_put(env);
}

CASE(sysctls_have_their_types)
{
	struct json_object *env, *sysctls, *v;
	unsigned long long m[3];
	FILE *f = fopen("/proc/sys/net/ipv4/udp_mem", "r");

	if (!f)
		skip();
	env = env_read(NULL);
	sysctls = get(env, "sysctls");
	assert_int_equal(fscanf(f, "%llu %llu %llu", &m[0], &m[1], &m[2]), 3);
	fclose(f);
	v = get(sysctls, "net.ipv4.udp_mem");
	assert_true(json_object_is_type(v, json_type_array));
	assert_int_equal(json_object_array_length(v), 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(json_object_get_uint64(json_object_array_get_idx(v, i)), m[i]);
	assert_true(json_object_is_type(get(sysctls, "net.ipv4.ip_forward"), json_type_int));
	/* the first and the last; a kernel may be without IPv6 */
	get(sysctls, "net.core.rmem_default");
	if (!access("/proc/sys/net/ipv6/ip6frag_high_thresh", R_OK))
		get(sysctls, "net.ipv6.ip6frag_high_thresh");
	if (json_object_object_get_ex(sysctls, "net.core.default_qdisc", &v))
		assert_true(json_object_is_type(v, json_type_string));
	json_object_put(env);
}

static int64_t number(struct json_object *o, const char *key)
{
	assert_true(json_object_is_type(get(o, key), json_type_int));
	return json_object_get_int64(get(o, key));
}

static const char *text(struct json_object *o, const char *key)
{
	assert_true(json_object_is_type(get(o, key), json_type_string));
	return json_object_get_string(get(o, key));
}

/* Of /proc/stat, ns. */
static int64_t steal_ns(void)
{
	FILE *f = fopen("/proc/stat", "r");
	long long steal = 0;

	assert_int_equal(fscanf(f, "cpu %*u %*u %*u %*u %*u %*u %*u %lld", &steal), 1);
	fclose(f);
	return steal * (1000000000 / sysconf(_SC_CLK_TCK));
}

/* Each device where it is, and settings of the namespace that decides. */
CASE(testbed)
{
	static const char *const devices[][2] = {
		{"tx", "v-tx"}, {"router", "v-r0"}, {"router", "v-r1"}, {"rx", "v-rx"}};
	const struct lab_spec spec = {.topology = LAB_ROUTER, .queues = 2, .mtu = 1400};
	const bool sysfs = !syscall(SYS_fsopen, NULL, 0) || errno != ENOSYS; /* valgrind has none */
	struct json_object *env, *ports, *sysctls, *value;
	int64_t before = steal_ns();
	struct error err = {};
	struct lab lab;

	if (geteuid() || lab_open(&lab, &spec, &err))
		skip();
	assert_int_equal(netns_sysctl_write(&lab.rx_ns, "net/ipv4/udp_rmem_min", "5001"), 0);
	assert_int_equal(netns_sysctl_write(&lab.rx_ns, "net/ipv4/ipfrag_time", "7"), 0);
	env = env_read(&lab);
	assert_in_range(number(env, "steal_ns"), before, steal_ns());
	ports = get(env, "interfaces");
	assert_int_equal(json_object_array_length(ports), 4);
	for (size_t i = 0; i < 4; i++) {
		struct json_object *o = json_object_array_get_idx(ports, i), *is;

		assert_string_equal(text(o, "netns"), devices[i][0]);
		assert_string_equal(text(o, "ifname"), devices[i][1]);
		assert_string_equal(text(o, "driver"), "veth");
		assert_string_equal(text(o, "qdisc"), "noqueue");
		if (sysfs) {
			assert_string_equal(text(o, "rps_cpus"), "0");
			assert_false(json_object_get_boolean(get(o, "threaded_napi")));
		}
		assert_int_equal(number(o, "mtu"), 1400);
		assert_int_equal(number(o, "rx_queues"), 2);
		assert_int_equal(number(o, "tx_queues"), 2);
		assert_int_equal(number(o, "speed_mbit"), 10000);
		assert_true(number(o, "txqueuelen") > 0 && *text(o, "rp_filter"));
		assert_null(get(o, "xdp"));
		assert_null(get(o, "xdp_program_id"));
		assert_false(json_object_get_boolean(get(o, "gro")));
		assert_true(json_object_get_boolean(get(o, "tx_checksum")));
		assert_false(json_object_object_get_ex(o, "losses", &is)); /* takes two samples */
	}
	sysctls = get(env, "sysctls");
	assert_int_equal(number(sysctls, "net.ipv4.udp_rmem_min"), 5001);
	assert_int_equal(number(sysctls, "net.ipv4.ipfrag_time"), 7);
	value = get(sysctls, "net.ipv4.udp_mem");
	assert_int_equal(json_object_array_length(value), 3);
	json_object_put(env);
	env = env_read(NULL);
	assert_true(number(get(env, "sysctls"), "net.ipv4.udp_rmem_min") != 5001);
	json_object_put(env);
	lab_close(&lab);
}

/* Runs in a child, with these files and directories in place of the host's. */
static void read_env_over(const char *dir, char *out, size_t size)
{
	static const char *const over[] = {"/proc/cpuinfo", "/proc/self/cgroup", "/sys/fs/cgroup",
					   "/sys/devices/system/cpu/cpu0",
					   "/sys/devices/system/node/online"};
	static const char *const keys[] = {"cpu_model", "governor", "numa_nodes", "cgroup_cpus"};
	struct json_object *env, *value;
	char path[256];
	FILE *to;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	if (!fork()) {
		bool done =
			!unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);

		for (unsigned i = 0; i < sizeof(over) / sizeof(over[0]) && done; i++) {
			snprintf(path, sizeof(path), "%s/%s/%u", fake_root, dir, i);
			done = !mount(path, over[i], NULL, MS_BIND, NULL);
		}
		env = env_read(NULL);
		to = fdopen(fd[1], "w");
		for (unsigned i = 0; i < sizeof(keys) / sizeof(keys[0]) && done; i++)
			fprintf(to, "%s ",
				json_object_object_get_ex(env, keys[i], &value)
					? json_object_to_json_string(value)
					: "-");
		fclose(to);
		_exit(0);
	}
	close(fd[1]);
	memset(out, 0, size);
	assert_true(read(fd[0], out, size - 1) >= 0);
	close(fd[0]);
	wait(NULL);
}

/* The name of the CPU, and the tightest limit of the groups that this process is in. */
CASE_WITH(told_by_files, fake_begin, fake_end)
{
	static const struct {
		const char *cpuinfo, *nodes, *governor, *cgroup;
		struct {
			const char *name, *text;
		} group[4];
		const char *shown;
	} rows[] = {
		{"processor\t: 0\nmodel names\nmodel name\t: \t EPYC: 9\nmodel name\t: other\n",
		 "0-1\n",
		 "powersave\n",
		 "3:cpuset:/\n0::/a/b\n",
		 {{"a/b/cpu.max", "max 100000\n"},
		  {"a/cpu.max", "150000 100000\n"},
		  {"cpu.max", "50000 100000\n"}},
		 "\"EPYC: 9\" \"powersave\" \"0-1\" 0.500 "},
		{"CPU implementer\t: 0x41\nCPU part\t:0xd4f\n",
		 "",
		 "",
		 "0::/a/b\n",
		 {{"a/b/cpu.max", "50000 100000\n"},
		  {"a/cpu.max", "300000 100000\n"},
		  {"cpu.max", "max 100000\n"}},
		 "\"0xd4f\" - - 0.500 "},
		{"", "0", "x", "0::/a\n", {{"a/cpu.max", "max 100000\n"}}, "- \"x\" \"0\" null "},
		{"", "", "", "0::/a\n", {{"a/cpu.min", "1 1\n"}}, "- - - - "},
		{"", "", "", "0::/a\n", {{"a/cpu.max", ""}}, "- - - - "},
		{"", "", "", "4:pids:/a\n", {{"a/cpu.max", "1 1\n"}}, "- - - - "},
		{"",
		 "",
		 "",
		 "1:cpu,cpuacct:/a\n0::/\n",
		 {{"cpu,cpuacct/a/cpu.cfs_quota_us", "25000\n"},
		  {"cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
		  {"cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
		  {"cpu,cpuacct/cpu.cfs_period_us", "1\n"}},
		 "- - - 0.250 "},
		{"",
		 "",
		 "",
		 "1:cpu:/a\n",
		 {{"cpu/a/cpu.cfs_quota_us", "25000\n"}, {"cpu/a/cpu.cfs_period_us", "0\n"}},
		 "- - - null "},
		{"", "", "", "1:cpu:/a\n", {{"cpu/a/cpu.cfs_quota_us", "1\n"}}, "- - - null "},
		{"",
		 "",
		 "",
		 "1:cpu:/a\n",
		 {{"cpu/a/cpu.cfs_quota_us", "1\n"}, {"cpu/a/cpu.cfs_period_us", "1\n"}},
		 "- - - 1.000 "},
	};

	if (geteuid())
		skip();
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char dir[8], name[128], shown[256];
		const struct {
			const char *name, *text;
		} file[] = {{"0", rows[i].cpuinfo},
			    {"1", rows[i].cgroup},
			    {"2/none", ""},
			    {"3/cpufreq/scaling_governor", rows[i].governor},
			    {"4", rows[i].nodes}};

		snprintf(dir, sizeof(dir), "%u", i);
		for (unsigned k = 0; k < sizeof(file) / sizeof(file[0]); k++) {
			snprintf(name, sizeof(name), "%s/%s", dir, file[k].name);
			fake_file(name, file[k].text);
		}
		for (unsigned k = 0; k < 4 && rows[i].group[k].name; k++) {
			snprintf(name, sizeof(name), "%s/2/%s", dir, rows[i].group[k].name);
			fake_file(name, rows[i].group[k].text);
		}
		read_env_over(dir, shown, sizeof(shown));
		if (!*shown)
			skip(); /* where nothing may be mounted */
		assert_string_equal(shown, rows[i].shown);
	}
}
