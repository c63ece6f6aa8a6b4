// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/nsnames.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/idmap.h"
#include "drops/cgroup.h"
#include "drops/owners.h"
#include "drops/pods.h"

#define NAMES_MAX   4096
#define FRESH_NS    1000000000ULL /* so long a name is not looked at again */
#define RETRY_NS    5000000000ULL /* an unknown one is looked for again */
#define PID_NS_INIT 0xeffffffcU	  /* PROC_PID_INIT_INO: /proc shows the whole host */

struct entry {
	struct nsname name;
	bool found, wanted;
	uint64_t checked;
	unsigned pass; /* that last saw it */
};

struct nsnames {
	int root;
	struct idmap entries;
	unsigned wanted, pass;
};

struct nsnames *nsnames_new(int root)
{
	struct nsnames *n = calloc(1, sizeof(*n));

	if (n)
		n->root = root;
	return n;
}

void nsnames_free(struct nsnames *n)
{
	if (!n)
		return;
	idmap_free(&n->entries, free);
	free(n);
}

static struct entry *get(struct nsnames *n, uint32_t inum)
{
	struct entry *e = idmap_find(&n->entries, inum);

	if (e)
		return e;
	e = n->entries.n < NAMES_MAX ? calloc(1, sizeof(*e)) : NULL;
	if (e && idmap_add(&n->entries, inum, e)) {
		free(e);
		e = NULL;
	}
	return e;
}

/* The entry of one that is there. A number is given again soon, so the old name is forgotten. */
static struct entry *seen(struct nsnames *n, uint32_t inum)
{
	struct entry *e = inum ? get(n, inum) : NULL;

	if (e && e->pass != n->pass) {
		memset(&e->name, 0, sizeof(e->name));
		e->pass = n->pass;
		e->found = true;
	}
	return e;
}

static void want(struct nsnames *n, struct entry *e)
{
	n->wanted += !e->wanted;
	e->wanted = true;
}

int nsnames_find(struct nsnames *n, uint32_t inum, uint64_t now_ns, struct nsname *out)
{
	struct entry *e = get(n, inum);

	memset(out, 0, sizeof(*out));
	if (!e)
		return -ENOMEM;
	if (e->found && now_ns - e->checked >= FRESH_NS) {
		char path[80];

		if (nsnames_path(n, inum, path, sizeof(path)))
			want(n, e);
		else
			e->checked = now_ns;
	}
	if (!e->checked || (!e->found && now_ns - e->checked >= RETRY_NS))
		want(n, e);
	*out = e->name;
	return e->found ? 0 : e->wanted ? -EAGAIN : -ENOENT;
}

bool nsnames_waiting(const struct nsnames *n)
{
	return n->wanted;
}

static void read_names(struct nsnames *n)
{
	DIR *dir = proc_dir(n->root, "run/netns");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		struct stat st;
		struct entry *e;

		if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, 0))
			continue;
		e = seen(n, (uint32_t)st.st_ino);
		if (e)
			snprintf(e->name.name, sizeof(e->name.name), "%.63s", d->d_name);
	}
	if (dir)
		closedir(dir);
}

/* The first process of a namespace names it: in a container its init, in a pod the sandbox. */
static void read_process(struct nsnames *n, struct entry *e, pid_t pid)
{
	char path[OWNER_CGROUP];
	struct proc_stat st;

	if (proc_stat(n->root, pid, 0, &st))
		return;
	e->name.pid = pid;
	memcpy(e->name.process, st.name, sizeof(e->name.process));
	if (!cgroup_of_process(n->root, pid, path, sizeof(path)) &&
	    container_of_cgroup(path, &e->name.container))
		pods_name(n->root, &e->name.container);
}

static int read_processes(struct nsnames *n)
{
	DIR *dir = proc_dir(n->root, "proc");
	uint64_t pid;

	if (!dir)
		return -errno;
	while (proc_next_number(dir, &pid)) {
		struct entry *e = seen(n, proc_netns(n->root, (pid_t)pid));

		if (e && (!e->name.pid || (pid_t)pid < e->name.pid) && (pid_t)pid != getpid())
			read_process(n, e, (pid_t)pid);
	}
	closedir(dir);
	return 0;
}

/* PID 1 may have capabilities that we have not; kthreadd is in the same namespace. */
static void read_host(struct nsnames *n)
{
	struct entry *e;
	uint32_t inum;
	char link[64];

	if (proc_link(n->root, link, sizeof(link), "proc/self/ns/pid") < 0 ||
	    proc_inode(link, "pid") != PID_NS_INIT)
		return;
	inum = proc_netns(n->root, 1);
	e = seen(n, inum ? inum : proc_netns(n->root, 2));
	if (e)
		e->name.host = true;
}

int nsnames_pass(struct nsnames *n, uint64_t now_ns)
{
	int ret;

	n->pass++;
	read_host(n);
	read_names(n);
	ret = read_processes(n);
	for (unsigned i = 0; i < n->entries.n; i++) {
		struct entry *e = n->entries.at[i].object;

		e->wanted = false;
		e->checked = now_ns;
	}
	n->wanted = 0;
	return ret;
}

/* Whether the file is there, and still that namespace. */
static bool is_namespace(int root, const char *path, uint32_t inum)
{
	struct stat st;

	return !fstatat(root, path, &st, 0) && st.st_ino == inum;
}

int nsnames_path(struct nsnames *n, uint32_t inum, char *buf, size_t size)
{
	const struct entry *e = idmap_find(&n->entries, inum);

	if (!e || !e->found)
		return -ENOENT;
	snprintf(buf, size, "run/netns/%s", e->name.name);
	if (e->name.name[0] && is_namespace(n->root, buf, inum))
		return 0;
	snprintf(buf, size, "proc/%d/ns/net", e->name.pid);
	return e->name.pid && is_namespace(n->root, buf, inum) ? 0 : -ENOENT;
}

unsigned nsnames_list(const struct nsnames *n, uint32_t except, uint32_t *inums, unsigned max)
{
	unsigned found = 0;

	for (unsigned i = 0; i < n->entries.n && found < max; i++) {
		const struct entry *e = n->entries.at[i].object;

		if (e->found && e->pass == n->pass && n->entries.at[i].id != except)
			inums[found++] = (uint32_t)n->entries.at[i].id;
	}
	return found;
}
