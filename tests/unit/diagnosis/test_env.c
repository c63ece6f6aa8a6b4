// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"

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
