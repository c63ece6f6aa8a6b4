// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"
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
		assert_string_equal(text(o, "rps_cpus"), "0");
		assert_int_equal(number(o, "mtu"), 1400);
		assert_int_equal(number(o, "rx_queues"), 2);
		assert_int_equal(number(o, "tx_queues"), 2);
		assert_int_equal(number(o, "speed_mbit"), 10000);
		assert_true(number(o, "txqueuelen") > 0 && number(o, "rp_filter") >= 0);
		assert_null(get(o, "xdp"));
		assert_false(json_object_object_get_ex(o, "xdp_program_id", &is));
		assert_false(json_object_get_boolean(get(o, "threaded_napi")));
		o = get(o, "offloads");
		assert_false(json_object_get_boolean(get(o, "rx-gro")));
		assert_true(json_object_get_boolean(get(o, "tx-checksum-ip-generic")));
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
