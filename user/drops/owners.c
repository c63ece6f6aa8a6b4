// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/owners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "drops/cgroup.h"
#include "drops/holders.h"
#include "drops/nsnames.h"
#include "drops/pods.h"
#include "drops/files.h"

#define PLACES_MAX 4096
#define PLACE_NS   10000000000ULL /* so long a path is believed */
#define PIECE_NS   50000000ULL	  /* CPU time of one call */
#define SHARE	   100		  /* one part in so many of a CPU, in the long run ... */
#define SAVINGS_NS 200000000LL	  /* ... and so much at once, if it was not used */

/* Where something is: a cgroup, or a process. */
struct place {
	char path[OWNER_CGROUP];
	struct container container;
	uint64_t checked;
	uint64_t start; /* of the process */
	bool known;
};

struct owners {
	int root;
	struct files *files; /* NULL: sockets are looked for in /proc */
	struct holders *holders;
	struct nsnames *names;
	struct ports *ports;
	struct idmap cgroups, processes; /* struct place, by id, by pid */
	struct owners_cost cost;
	int64_t savings_ns;
	uint64_t ticked;
};

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int owners_open(struct owners **owners, const char *root, struct error *err)
{
	int fd = proc_root(root);
	struct owners *o;

	*owners = NULL;
	if (fd < 0)
		return error_set(err, STATUS_FAILED, fd, NULL, "cannot open %s: %s",
				 root ? root : "/", strerror(-fd));
	o = calloc(1, sizeof(*o));
	if (o) {
		o->root = fd;
		if (!root)
			files_open(&o->files);
		o->holders = holders_new(fd, o->files);
		o->names = nsnames_new(fd);
		o->ports = ports_new();
		o->savings_ns = SAVINGS_NS;
		o->ticked = clock_now();
	}
	if (!o || !o->holders || !o->names || !o->ports) {
		if (o)
			owners_close(o);
		else
			close(fd);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "not enough memory");
	}
	*owners = o;
	return 0;
}

void owners_close(struct owners *o)
{
	if (!o)
		return;
	idmap_free(&o->cgroups, free);
	idmap_free(&o->processes, free);
	holders_free(o->holders);
	files_close(o->files);
	nsnames_free(o->names);
	ports_free(o->ports);
	close(o->root);
	free(o);
}

/* One namespace after the other; one that is not known yet is looked for first. */
static void look_up_ports(struct owners *o, uint64_t now)
{
	uint32_t inum;

	while ((inum = ports_wanted(o->ports))) {
		struct error err = {};
		struct netns ns;
		int ret = owners_netns_open(o, inum, &ns, &err);

		if (ret == -EAGAIN) {
			o->cost.scans++;
			nsnames_pass(o->names, now);
			ret = owners_netns_open(o, inum, &ns, &err);
		}
		if (ret) {
			ports_give_up(o->ports, inum, now);
			continue;
		}
		ports_look_up(o->ports, inum, &ns, now);
		netns_close(&ns);
	}
}

void owners_tick(struct owners *o)
{
	uint64_t now = clock_now(), before = cpu_ns(), used;

	o->savings_ns += (int64_t)((now - o->ticked) / SHARE);
	if (o->savings_ns > SAVINGS_NS)
		o->savings_ns = SAVINGS_NS;
	o->ticked = now;
	if (o->savings_ns > 0 && ports_wanted(o->ports))
		look_up_ports(o, now);
	if (o->savings_ns > 0 && holders_waiting(o->holders)) {
		int64_t links = holders_pass(o->holders, PIECE_NS, now);

		o->cost.scans++;
		o->cost.links += links > 0 ? (uint64_t)links : 0;
	}
	if (o->savings_ns > 0 && nsnames_waiting(o->names)) {
		o->cost.scans++;
		nsnames_pass(o->names, now);
	}
	used = cpu_ns() - before;
	o->savings_ns -= (int64_t)used;
	o->cost.cpu_ns += used;
}

/* The place in the map that is to be looked at again, or a new one; NULL: it is fresh, or no
 * memory.
 */
static struct place *stale(struct idmap *map, uint64_t id, uint64_t start, uint64_t now)
{
	struct place *p = idmap_find(map, id);

	if (p && p->start == start && now - p->checked < PLACE_NS)
		return NULL;
	if (!p) {
		if (map->n >= PLACES_MAX)
			idmap_free(map, free);
		p = calloc(1, sizeof(*p));
		if (!p || idmap_add(map, id, p)) {
			free(p);
			return NULL;
		}
	}
	*p = (struct place){.start = start, .checked = now};
	return p;
}

/* A long path: what is near is at its end. */
static void keep_path(struct place *p, const char *path)
{
	size_t n = strlen(path);

	if (n < sizeof(p->path))
		memcpy(p->path, path, n + 1);
	else
		snprintf(p->path, sizeof(p->path), "...%s", path + n - (sizeof(p->path) - 4));
}

static void learn(struct owners *o, struct place *p, const char *path)
{
	p->known = true;
	keep_path(p, path);
	if (container_of_cgroup(path, &p->container))
		pods_name(o->root, &p->container);
}

static const struct place *cgroup_place(struct owners *o, uint64_t id)
{
	uint64_t before = cpu_ns();
	struct place *p = stale(&o->cgroups, id, 0, clock_now());
	char path[4096];

	if (p && !cgroup_path(o->root, id, path, sizeof(path)))
		learn(o, p, path);
	if (p)
		o->cost.cpu_ns += cpu_ns() - before;
	return idmap_find(&o->cgroups, id);
}

static const struct place *process_place(struct owners *o, pid_t pid, uint64_t start)
{
	uint64_t before = cpu_ns();
	struct place *p = stale(&o->processes, (uint64_t)pid, start, clock_now());
	char path[4096];

	if (p && !cgroup_of_process(o->root, pid, path, sizeof(path)))
		learn(o, p, path);
	if (p)
		o->cost.cpu_ns += cpu_ns() - before;
	return idmap_find(&o->processes, (uint64_t)pid);
}

static void put_place(struct owner *out, const struct place *p)
{
	if (!p || !p->known)
		return;
	memcpy(out->cgroup, p->path, sizeof(out->cgroup));
	out->container = p->container;
}

/* In the root of version 2 may be whatever is in version 1 alone, or outside of our view. */
static bool says_nothing(const struct owner *out)
{
	return !strcmp(out->cgroup, "/") || !out->cgroup[0];
}

int owners_cgroup(struct owners *o, uint64_t cgroup, struct owner *out)
{
	memset(out, 0, sizeof(*out));
	if (!cgroup)
		return -ENOENT;
	put_place(out, cgroup_place(o, cgroup));
	return out->cgroup[0] ? 0 : -ENOENT;
}

int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out)
{
	struct nsname name;
	struct holder holder;
	int ret = inode ? holders_find(o->holders, inode, netns, clock_now(), &holder) : -ESRCH;

	owners_cgroup(o, cgroup, out);
	if (!ret) {
		out->pid = holder.pid;
		out->holders = holder.holders;
		out->fd = holder.fd;
		memcpy(out->process, holder.name, sizeof(out->process));
		if (says_nothing(out))
			put_place(out, process_place(o, holder.pid, holder.start));
	}
	/* sockets of the kernel, and of processes that have ended */
	if (netns && !out->container.runtime && !out->container.uid[0] &&
	    !nsnames_find(o->names, netns, clock_now(), &name) && !name.host)
		out->container = name.container;
	return ret;
}

int owners_bound(struct owners *o, const struct ports_key *key, struct ports_row *out)
{
	return ports_find(o->ports, key, clock_now(), out);
}

int owners_process(struct owners *o, pid_t pid, struct owner *out)
{
	struct proc_stat st;

	memset(out, 0, sizeof(*out));
	if (proc_stat(o->root, pid, 0, &st))
		return -ESRCH;
	out->pid = pid;
	memcpy(out->process, st.name, sizeof(out->process));
	put_place(out, process_place(o, pid, st.start));
	return 0;
}

char *owners_netns(struct owners *o, uint32_t netns, char *buf)
{
	struct nsname name;
	bool made_up;

	nsnames_find(o->names, netns, clock_now(), &name);
	made_up = !strncmp(name.name, "cni-", 4);
	if (name.name[0] && (!made_up || !name.container.uid[0]))
		return memcpy(buf, name.name, sizeof(name.name));
	if (name.host)
		return strcpy(buf, "host");
	if (*container_pod_text(&name.container, buf, OWNER_NETNS) ||
	    *container_text(&name.container, buf, OWNER_NETNS))
		return buf;
	if (name.pid)
		snprintf(buf, OWNER_NETNS, "%s[%d]", name.process, name.pid);
	else
		snprintf(buf, OWNER_NETNS, "%u", netns);
	return buf;
}

int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err)
{
	struct nsname name;
	char path[80], full[128];
	int ret = nsnames_find(o->names, netns, clock_now(), &name);

	*ns = NETNS_NONE;
	if (!ret)
		ret = nsnames_path(o->names, netns, path, sizeof(path));
	if (ret)
		return ret;
	snprintf(full, sizeof(full), "/proc/self/fd/%d/%s", o->root, path);
	ret = netns_open(ns, full, err);
	if (!ret && ns->inum != netns) {
		netns_close(ns);
		ret = -ENOENT;
	}
	return ret;
}

unsigned owners_netns_list(struct owners *o, uint32_t *netns, unsigned max)
{
	uint32_t own = proc_netns(o->root, getpid());
	struct nsname name;
	unsigned n = 0;

	/* to be asked for is what makes a pass look */
	nsnames_find(o->names, own, clock_now(), &name);
	owners_tick(o);
	if (own && n < max)
		netns[n++] = own;
	return n + nsnames_list(o->names, own, netns + n, max - n);
}

void owners_cost(const struct owners *o, struct owners_cost *cost)
{
	*cost = o->cost;
}
