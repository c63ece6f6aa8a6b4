// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cases.h"
#include "base/clock.h"
#include "base/list.h"
#include "drops/owners.h"
#include "fake_root.h"
#include "recorded.h"

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

static struct owners *owners;

static void end_owners(void)
{
	owners_close(owners);
	owners = NULL;
	fake_end(NULL);
}

static void tell_owner(int rc, const struct owner *who)
{
	const struct container *c = &who->container;

	if (rc && rc != -ESRCH) {
		tell("%s", rc == -EAGAIN ? "later" : "none");
		return;
	}
	if (rc)
		tell("no process");
	else if (who->pid)
		tell("%s[%d] of %u%s", who->process, who->pid, who->holders,
		     who->reads ? "" : " does not read");
	if (*who->cgroup)
		tell("%s", who->cgroup);
	if (c->runtime)
		tell("runtime=%s id=%.12s uid=%s pod=%s/%s name=%s", c->runtime, c->id, c->uid,
		     c->k8s_ns, c->pod, c->name);
}

/* "0::PATH", in which POD is the path of a container in a pod, and ID its number. */
static const char *cgroup_of(const char *text)
{
	static char out[1024];
	const char *at = strstr(text, "POD") ? strstr(text, "POD") : strstr(text, "ID");

	if (at)
		snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text,
			 *at == 'P' ? POD_PATH : ID, at + (*at == 'P' ? 3 : 2));
	else
		snprintf(out, sizeof(out), "%s", text);
	for (char *p = out; (p = strstr(p, "|"));)
		*p = '\n';
	strcat(out, "\n");
	return out;
}

static void make_process(char *text)
{
	const int pid = atoi(recorded_word(&text));
	char *name = recorded_word(&text);
	const unsigned start = (unsigned)atoi(recorded_word(&text));
	const char *netns = recorded_word(&text);

	for (char *p = name; (p = strchr(p, '_'));)
		*p = ' ';
	fake_process(pid, name, start, *netns == 'h' ? HOST : (unsigned)strtoul(netns, NULL, 10),
		     cgroup_of(text));
}

/* "find INODE NETNS CGROUP": the first answer, or once it has looked; a cgroup by its path, or 1.
 */
static void find_owner(char *text, bool again)
{
	const uint64_t inode = strtoull(recorded_word(&text), NULL, 10);
	const char *netns = recorded_word(&text);
	const uint32_t space = *netns == 'h' ? HOST : (uint32_t)strtoul(netns, NULL, 10);
	struct owner who = {};
	uint64_t cgroup = strtoull(text, NULL, 10);
	char name[512];

	if (*text == '/' || *text == 'P') {
		snprintf(name, sizeof(name), "sys/fs/cgroup%s", cgroup_of(text));
		name[strlen(name) - 1] = '\0';
		cgroup = fake_inode(name);
	}
	tell_owner(again ? find(owners, inode, space, cgroup, &who)
			 : owners_socket(owners, inode, space, cgroup, &who),
		   &who);
}

static void take_line(void *arg, const char *verb, char *text)
{
	char path[512], place[OWNER_POD_PATH], call[96];
	struct error err = {};
	struct owner who = {};
	unsigned n[3] = {};

	sscanf(text, "%u %u %u", &n[0], &n[1], &n[2]);
	if (!strcmp(verb, "case")) {
		end_owners();
		assert_int_equal(fake_begin(NULL), 0);
		owners = open_owners();
	} else if (!strcmp(verb, "anew")) {
		owners_close(owners);
		owners = open_owners();
	} else if (!strcmp(verb, "process")) {
		make_process(text);
	} else if (!strcmp(verb, "fd")) {
		fake_fd((int)n[0], (int)n[1], n[2]);
	} else if (!strcmp(verb, "closed")) {
		snprintf(path, sizeof(path), "proc/%u/fd/%u", n[0], n[1]);
		assert_int_equal(unlink(fake_path(path)), 0);
	} else if (!strcmp(verb, "receives")) {
		snprintf(path, sizeof(path), "proc/%u/task/%u/syscall", n[0], n[0]);
		snprintf(call, sizeof(call), "%ld 0x%x 0x7ffd 0x0 0x0 0x0 0x0 0x7f 0x7f\n",
			 (long)SYS_recvmsg, n[1]);
		fake_file(path, call);
	} else if (!strcmp(verb, "log")) { /* of a pod: its directory has its name */
		snprintf(path, sizeof(path), "var/log/%s", text);
		fake_file(path, "");
	} else if (!strcmp(verb, "cgroup")) {
		snprintf(path, sizeof(path), "sys/fs/cgroup%s", cgroup_of(text));
		strcpy(path + strlen(path) - 1, "/cpu.stat");
		fake_file(path, "usage_usec 1\n");
	} else if (!strcmp(verb, "find") || !strcmp(verb, "ask")) {
		find_owner(text, *verb == 'f');
	} else if (!strcmp(verb, "tick")) {
		owners_tick(owners);
	} else if (!strcmp(verb, "look")) {
		assert_int_equal(owners_look(owners, 0), 0);
	} else if (!strcmp(verb, "group")) {
		snprintf(path, sizeof(path), "sys/fs/cgroup%s", cgroup_of(text));
		path[strlen(path) - 1] = '\0';
		n[0] = *text == '/' || *text == 'P' ? (unsigned)fake_inode(path) : n[0];
		tell_owner(owners_cgroup(owners, n[0], &who), &who);
	} else if (!strcmp(verb, "netns")) {
		tell("%s", owners_netns(owners, n[0], path));
	} else {
		assert_string_equal(verb, "pod");
		if (!owners_pod(owners, text, place, &err))
			tell("%s", place);
		else
			tell("%s", err.message);
	}
}

CASE_WITH(recorded, fake_begin, NULL)
{
	recorded_stories("tests/fixtures/owners/holders", take_line, NULL);
	end_owners();
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
	char name[OWNER_NETNS];
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

	/* within the second for which other answers are valid, another one gets the number */
	for (int pid = 499; pid <= 501; pid++)
		fake_process(pid, "elsewhere", (unsigned)pid, HOST, "0::/\n");
	fake_process(600, "late", 600, 4026532600u, "0::/\n");
	for (int i = 0; i < 300 && strcmp(owners_netns(o, 4026532600u, name), "late[600]"); i++) {
		usleep(1000);
		owners_tick(o);
	}
	assert_string_equal(name, "late[600]");

	/* it is searched for before a former name is shown */
	fake_process(600, "elsewhere", 600, HOST, "0::/\n");
	fake_process(601, "next", 601, 4026532600u, "0::/\n");
	usleep(25000);
	assert_true(owners_netns_searching(o, 4026532600u));
	owners_tick(o);
	assert_string_equal(owners_netns(o, 4026532600u, name), "next[601]");

	/* not after an `ip netns add` that has not mounted its file yet ... */
	fake_process(700, "ip",
		     (unsigned)(clock_ns(CLOCK_BOOTTIME) / 1000000000 * sysconf(_SC_CLK_TCK)),
		     4026532602u, "0::/\n");
	fake_process(701, "nginx", 701, 4026532603u, "0::/\n");
	assert_string_equal(name_of(o, 4026532603u), "nginx[701]");
	assert_string_equal(name_of(o, 4026532602u), "4026532602");
	owners_close(o);

	/* ... nor, the first time, after a process that may only visit the namespace */
	fake_process(702, "visitor", 702, 4026532604u, "0::/\n");
	o = open_owners();
	owners_netns(o, 4026532604u, name);
	assert_string_equal(name_of(o, blue), "blue");
	assert_string_equal(owners_netns(o, 4026532604u, name), "4026532604");
	assert_string_equal(name_of(o, 4026532604u), "visitor[702]");
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
