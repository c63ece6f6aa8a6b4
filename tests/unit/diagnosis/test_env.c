// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* @shared: net.ipv4.udp_mem is read twice and compared */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "diagnosis/facts.h"
#include "drops/reason.h"
#include "fake_root.h"
#include "recorded.h"

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

/* "file" N[/PATH] TEXT: the N-th of the files and directories above. */
static void take_line(void *arg, const char *verb, char *text)
{
	static unsigned dirs;
	char *word[2], dir[8], name[128], shown[256];
	int n;

	snprintf(dir, sizeof(dir), "%u", dirs);
	if (!strcmp(verb, "file")) {
		n = recorded_words(text, word, LENGTH(word));
		snprintf(name, sizeof(name), "%s/%s", dir, word[0]);
		fake_file(name, n > 1 ? word[1] : "");
	} else if (!strcmp(verb, "read")) {
		read_env_over(dir, shown, sizeof(shown));
		if (!*shown)
			skip(); /* where nothing may be mounted */
		tell_escaped(shown);
		dirs++;
	}
}

CASE_WITH(told_by_files, fake_begin, fake_end)
{
	if (geteuid())
		skip();
	recorded_stories("tests/fixtures/env", take_line, NULL);
}
