// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "cases.h"
#include "base/clock.h"
#include "base/list.h"
#include "drops/owners.h"
#include "fake_root.h"

#define POD_UID	  "0b7632a2-a56e-4278-987a-22de18008dbe"
#define POD_SLICE "kubepods-burstable-pod0b7632a2_a56e_4278_987a_22de18008dbe.slice"
#define ID	  "d4e8e05a546c86b6443f101966c618e47753ed01fa9929cae00d3b692f7a9f80"
#define POD_PATH                                                                                   \
	"/kubepods.slice/kubepods-burstable.slice/" POD_SLICE "/cri-containerd-" ID ".scope"
#define HOST FAKE_NETNS_HOST

static struct owners *open_owners(void)
{
	struct error err = {};
	struct owners *o;

	assert_int_equal(owners_open(&o, fake_root, &err), 0);
	return o;
}

/* Asks, lets it look, asks again. */
static int find(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		struct owner *out)
{
	int ret = owners_socket(o, inode, netns, cgroup, out);

	if (ret != -EAGAIN)
		return ret;
	owners_tick(o);
	return owners_socket(o, inode, netns, cgroup, out);
}

CASE_WITH(one_holder, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	struct owner who;

	fake_process(100, "a) (b", 500, HOST, "0::/system.slice/a.service\n");
	fake_fd(100, 3, 1001);
	fake_fd(100, 4, 1002);
	fake_fd(100, 5, 1001); /* dup() */
	assert_int_equal(owners_socket(o, 1001, HOST, 0, &who), -EAGAIN);
	assert_int_equal(find(o, 1001, HOST, 0, &who), 0);
	assert_int_equal(who.pid, 100);
	assert_int_equal(who.holders, 1);
	assert_string_equal(who.process, "a) (b");
	assert_string_equal(who.cgroup, "/system.slice/a.service");
	assert_null(who.container.runtime);
	assert_int_equal(find(o, 1002, 0, 0, &who), 0);
	assert_int_equal(find(o, 9999, 0, 0, &who), -ESRCH);
	assert_int_equal(find(o, 0, 0, 0, &who), -ESRCH);
	owners_close(o);
}

/* A finished pass has resolved its sockets. The next question does not start another pass. */
CASE_WITH(looks_no_more_than_asked, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	struct owner who;

	fake_process(100, "a", 500, HOST, "0::/\n");
	fake_fd(100, 3, 1001);
	owners_tick(o);
	assert_int_equal(find(o, 1001, 0, 0, &who), 0);
	assert_int_equal(find(o, 4444, 0, 0, &who), -ESRCH);
	/* the result of a pass at this time */
	fake_fd(100, 4, 4444);
	assert_int_equal(find(o, 1001, 0, 0, &who), 0);
	assert_int_equal(find(o, 4444, 0, 0, &who), -ESRCH);
	owners_tick(o);
	assert_int_equal(owners_socket(o, 4444, 0, 0, &who), -ESRCH);
	owners_close(o);
}

CASE_WITH(the_reader_of_several, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	struct owner who;
	char call[64];

	/* as systemd hands it down: PID 1, the service, its worker */
	fake_process(1, "systemd", 0, HOST, "0::/init.scope\n");
	fake_process(200, "service", 900, HOST, "0::/\n");
	fake_process(150, "worker", 950, HOST, "0::/\n"); /* pids have wrapped */
	fake_fd(1, 40, 2001);
	fake_fd(200, 3, 2001);
	fake_fd(150, 7, 2001);
	assert_int_equal(find(o, 2001, HOST, 0, &who), 0);
	assert_int_equal(who.pid, 150);
	assert_int_equal(who.holders, 3);
	owners_close(o);

	/* a process that waits in recvmsg() reads the socket */
	o = open_owners();
	snprintf(call, sizeof(call), "%ld 0x3 0x7ffd 0x0 0x0 0x0 0x0 0x7f 0x7f\n",
		 (long)SYS_recvmsg);
	fake_file("proc/200/task/200/syscall", call);
	assert_int_equal(find(o, 2001, HOST, 0, &who), 0);
	assert_int_equal(who.pid, 200);
	owners_close(o);

	/* but not on another descriptor */
	o = open_owners();
	snprintf(call, sizeof(call), "%ld 0x9 0x7ffd 0x0 0x0 0x0 0x0 0x7f 0x7f\n",
		 (long)SYS_recvmsg);
	fake_file("proc/200/task/200/syscall", call);
	assert_int_equal(find(o, 2001, HOST, 0, &who), 0);
	assert_int_equal(who.pid, 150);
	owners_close(o);

	o = open_owners();
	fake_fd(1, 41, 2002);
	assert_int_equal(find(o, 2002, HOST, 0, &who), 0);
	assert_int_equal(who.pid, 1);
	owners_close(o);
}

CASE_WITH(a_pod, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	char text[OWNER_NETNS];
	struct owner who;

	fake_process(300, "rtpengine", 700, 4026532500u, "0::" POD_PATH "\n");
	fake_fd(300, 8, 3001);
	fake_file("var/log/pods/prod_voice-0_" POD_UID "/rtp/0.log", "");
	fake_file("var/log/pods/prod_other_11111111-2222-3333-4444-555555555555/x/0.log", "");
	fake_file("var/log/containers/voice-0_prod_rtp-" ID ".log", "");
	assert_int_equal(find(o, 3001, 4026532500u, 0, &who), 0);
	assert_string_equal(who.process, "rtpengine");
	assert_string_equal(who.container.runtime, "containerd");
	assert_string_equal(who.container.id, ID);
	assert_string_equal(who.container.uid, POD_UID);
	assert_string_equal(who.container.pod, "voice-0");
	assert_string_equal(who.container.k8s_ns, "prod");
	assert_string_equal(who.container.name, "rtp");
	/* the namespace is called by the pod, too */
	assert_string_equal(owners_netns(o, 4026532500u, text), "prod/voice-0");
	/* and a socket that no process has is the pod's by its namespace */
	assert_int_equal(find(o, 3999, 4026532500u, 0, &who), -ESRCH);
	assert_string_equal(who.container.pod, "voice-0");
	owners_close(o);
}

CASE_WITH(a_namespace_by_its_pod, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	char path[OWNER_POD_PATH];
	struct error err = {};

	fake_process(300, "pause", 700, 4026532500u, "0::" POD_PATH "\n");
	fake_process(301, "app", 701, 4026532501u,
		     "0::/kubepods/pod11111111-2222-3333-4444-555555555555/" ID "\n");
	fake_process(302, "nginx", 702, 4026532502u, "0::/docker/" ID "\n");
	fake_file("var/log/pods/prod_voice-0_" POD_UID "/rtp/0.log", "");
	assert_int_equal(owners_pod(o, "prod/voice-0", path, &err), 0);
	assert_string_equal(path, "/proc/300/ns/net");
	assert_int_equal(owners_pod(o, "pod-11111111-2222-3333-4444-555555555555", path, &err), 0);
	assert_string_equal(path, "/proc/301/ns/net");
	assert_int_equal(owners_pod(o, "prod/voice", path, &err), -ENOENT);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_non_null(strstr(err.message, "no pod prod/voice "));
	assert_non_null(strstr(err.message, "prod/voice-0"));
	assert_non_null(strstr(err.message, "pod-11111111-2222"));
	owners_close(o);
}

static uint64_t make_cgroup(const char *path)
{
	char name[512];

	snprintf(name, sizeof(name), "sys/fs/cgroup%s/cpu.stat", path);
	fake_file(name, "usage_usec 1\n");
	*strrchr(name, '/') = '\0';
	return fake_inode(name);
}

CASE_WITH(cgroups, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	uint64_t pod = make_cgroup(POD_PATH), scope = make_cgroup("/system.slice/x.service");
	struct owner who;

	assert_int_equal(owners_cgroup(o, scope, &who), 0);
	assert_string_equal(who.cgroup, "/system.slice/x.service");
	assert_int_equal(owners_cgroup(o, pod, &who), 0);
	assert_string_equal(who.cgroup, POD_PATH);
	assert_string_equal(who.container.id, ID);
	assert_int_equal(owners_cgroup(o, 1, &who), -ENOENT);
	assert_int_equal(owners_cgroup(o, 0, &who), -ENOENT);

	/* the socket's cgroup is shown rather than the process's, but not if it is the root */
	fake_process(400, "a", 500, HOST, "0::/elsewhere\n");
	fake_fd(400, 3, 4001);
	assert_int_equal(find(o, 4001, HOST, pod, &who), 0);
	assert_string_equal(who.cgroup, POD_PATH);
	assert_int_equal(find(o, 4001, HOST, 1, &who), 0);
	assert_string_equal(who.cgroup, "/elsewhere");

	/* version 1 alone */
	fake_process(401, "b", 500, HOST,
		     "4:memory:/docker/" ID "\n3:cpu,cpuacct:/docker/" ID "\n0::/\n");
	fake_fd(401, 3, 4002);
	assert_int_equal(find(o, 4002, HOST, 0, &who), 0);
	assert_string_equal(who.cgroup, "/docker/" ID);
	assert_string_equal(who.container.runtime, "docker");
	owners_close(o);
}

CASE_WITH(a_long_path_keeps_its_end, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	char cgroup[600] = "0::/";
	struct owner who;

	memset(cgroup + 4, 'x', 500);
	strcpy(cgroup + 504, "/the.end\n");
	fake_process(400, "a", 500, HOST, cgroup);
	fake_fd(400, 3, 4001);
	assert_int_equal(find(o, 4001, HOST, 0, &who), 0);
	assert_int_equal(strlen(who.cgroup), OWNER_CGROUP - 1);
	assert_memory_equal(who.cgroup, "...x", 4);
	assert_string_equal(who.cgroup + strlen(who.cgroup) - 8, "/the.end");
	owners_close(o);
}

static const char *name_of(struct owners *o, uint32_t netns)
{
	static char text[OWNER_NETNS];

	/* it looks when it has saved the time for it: on a busy machine not at the first tick */
	for (int i = 0;
	     i < 100 && !strspn(owners_netns(o, netns, text), "abcdefghijklmnopqrstuvwxyz"); i++) {
		usleep(1000);
		owners_tick(o);
	}
	return text;
}

CASE_WITH(namespaces, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	uint32_t blue, cni;

	fake_file("run/netns/blue", "");
	fake_file("run/netns/cni-1234", "");
	blue = (uint32_t)fake_inode("run/netns/blue");
	cni = (uint32_t)fake_inode("run/netns/cni-1234");
	fake_process(1, "systemd", 0, HOST, "0::/init.scope\n");
	fake_link("proc/self/ns/pid", "pid:[4026531836]");
	fake_process(499, "nft", 900, 4026532600u, "0::/\n"); /* numbers begin anew */
	fake_process(500, "dnsmasq", 500, 4026532600u, "0::/\n");
	fake_process(501, "child", 501, 4026532600u, "0::/\n");
	fake_process(502, "nginx", 502, 4026532601u, "0::/docker/" ID "\n");
	fake_process(503, "pause", 503, cni, "0::" POD_PATH "\n");
	fake_process(504, "named", 504, blue, "0::/docker/" ID "\n");
	fake_file("var/log/pods/prod_voice-0_" POD_UID "/rtp/0.log", "");

	assert_string_equal(name_of(o, HOST), "host");
	assert_string_equal(name_of(o, blue), "blue");
	assert_string_equal(name_of(o, cni), "prod/voice-0");
	assert_string_equal(name_of(o, 4026532600u), "dnsmasq[500]");
	assert_string_equal(name_of(o, 4026532601u), "d4e8e05a546c");
	assert_string_equal(name_of(o, 4026532699u), "4026532699");
	owners_close(o);

	/* PID 1 of a container is not the host's */
	fake_link("proc/self/ns/pid", "pid:[4026532700]");
	o = open_owners();
	assert_string_equal(name_of(o, HOST), "systemd[1]");
	owners_close(o);
}

/* A socket of this test, on this host: by a walk in the kernel where that is allowed, and by /proc.
 */
CASE(on_this_host)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct error err = {};
	struct owner who;
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	for (int i = 0; i < 4; i++) {
		struct owners *o;

		assert_int_equal(owners_open(&o, i & 1 ? "/" : NULL, &err), 0);
		assert_int_equal(owners_socket(o, st.st_ino, 0, 0, &who), -EAGAIN);
		if (i < 2) /* others may be closed to us */
			assert_true(owners_look(o, 0) == 0 || geteuid());
		while (owners_socket(o, st.st_ino, 0, 0, &who) == -EAGAIN)
			owners_tick(o);
		assert_int_equal(owners_socket(o, st.st_ino, 0, 0, &who), 0);
		assert_int_equal(who.pid, getpid());
		assert_int_equal(who.fd, fd);
		assert_int_equal(who.holders, 1);
		owners_close(o);
	}
	close(fd);
}

/* A process that is being started has all of its parent's sockets, until it calls exec. */
CASE_WITH(held_for_a_moment, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	struct owner who;

	fake_process(100, "parent", 500, HOST, "0::/\n");
	fake_fd(100, 3, 1001);
	fake_process(101, "parent", 500, HOST, "0::/\n");
	fake_fd(101, 3, 1001);
	assert_int_equal(find(o, 1001, HOST, 0, &who), 0);
	assert_int_equal(who.holders, 2);
	assert_false(who.reads);
	assert_int_equal(unlink(fake_path("proc/101/fd/3")), 0);
	assert_int_equal(owners_look(o, 0), 0);
	assert_int_equal(owners_socket(o, 1001, HOST, 0, &who), 0);
	assert_int_equal(who.holders, 1);
	assert_int_equal(who.pid, 100);
	assert_true(who.reads);
	owners_close(o);
}

/* All that one process has, and nothing of another. */
CASE(of_one_process)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0), later;
	struct error err = {};
	struct list had = {.size = sizeof(uint64_t), .key = sizeof(uint64_t)};
	struct owners *here;
	struct stat st;

	assert_int_equal(owners_open(&here, NULL, &err), 0);
	assert_int_equal(owners_sockets(here, getpid(), &had, &err), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_non_null(list_get(&had, &(uint64_t){st.st_ino}));
	assert_null(list_get(&had, &(uint64_t){0}));
	close(fd);
	later = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(owners_sockets(here, getpid(), &had, &err), 0);
	assert_non_null(list_get(&had, &(uint64_t){st.st_ino})); /* it had it */
	assert_int_equal(fstat(later, &st), 0);
	assert_non_null(list_get(&had, &(uint64_t){st.st_ino}));
	close(later);
	assert_int_equal(owners_sockets(here, INT32_MAX, &had, &err), -ESRCH);
	list_free(&had);
	owners_close(here);
	assert_int_equal(err.status, STATUS_FAILED);
}

/* A walk over 50,000 processes finds the owner, and uses up the CPU time for further walks. */
CASE_WITH(of_many_processes, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	uint64_t begun, walk, after;
	struct owner who;
	char path[32];

	fake_process(2, "other", 500, HOST, "0::/\n");
	for (int pid = 10000; pid < 60000; pid++) {
		snprintf(path, sizeof(path), "proc/%d", pid);
		fake_link(path, "2");
	}
	fake_process(100, "a", 500, HOST, "0::/\n");
	fake_fd(100, 3, 1001);
	begun = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	assert_int_equal(find(o, 1001, 0, 0, &who), 0);
	assert_int_equal(who.pid, 100);
	walk = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	begun += walk;
	for (uint64_t inode = 2000; inode < 2020; inode++)
		find(o, inode, 0, 0, &who);
	after = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun;
	/* 200 ms may be saved up, and the last walk may exceed them */
	if (walk + after > 200000000 + 2 * walk)
		fail_msg("%.3f s for a walk, %.3f s later", walk / 1e9, after / 1e9);
	owners_close(o);
}

CASE_WITH(nothing_there, fake_begin, fake_end)
{
	struct owners *o = open_owners();
	struct netns ns;
	struct owner who;
	struct error err = {};

	assert_int_equal(owners_cgroup(o, 77, &who), -ENOENT);
	assert_int_equal(owners_look(o, 77), 0);
	assert_string_equal(name_of(o, 4026532699u), "4026532699");
	assert_int_equal(owners_netns_open(o, 4026532699u, &ns, &err), -ENOENT);
	owners_close(o);
	owners_close(NULL);
	assert_int_equal(owners_open(&o, "/nowhere/at/all", &err), -ENOENT);
	assert_null(o);
}
