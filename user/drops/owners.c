// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Known objects by number: sockets and the processes that hold them, network namespaces, cgroups
 * and processes with their location, and bound addresses. An answer is valid for FRESH_NS, that
 * about a namespace for SPACE_NS. If an answer about a socket or a namespace is older or missing,
 * the object is requested for the next walk, which handles all requests.
 */
#include "drops/owners.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "host/change.h"

#define ENTRIES_MAX FILES_WANTED	   /* entries per map */
#define PLACE_NS    10000000000ULL /* how long a path stays valid */
#define FRESH_NS    1000000000ULL  /* how long all other answers stay valid */
#define SPACE_NS    20000000ULL	   /* the same for a namespace: its number may soon be reused */
#define NAMING_NS   2000000000ULL  /* time from the start of `ip netns add` to the name */
#define SHARE	    400		   /* long-term CPU limit, 1/400 of a CPU ... */
#define SAVINGS_NS  200000000LL	   /* ... and maximum burst that can be saved up */
#define READS_NS    2000000000ULL  /* a process that read within this time still counts as reading,
				    * even if another one read last */

#define RANK_READS    (INT64_MAX - 1)
#define HELD_MAX      8	 /* maximum number of processes per socket that are compared */
#define THREADS_ASKED 64 /* threads per process that are checked for reading */

#define PID_NS_INIT	0xeffffffcU /* PROC_PID_INIT_INO: /proc shows the whole host */
#define SPACE_PATH_SIZE 80

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */
#define WALK_DEPTH    24
#define WALK_MOST     10000 /* directories */

/* A process that holds a socket. */
struct holder {
	pid_t pid;
	uint64_t start; /* start time of the process, same unit as in struct proc_stat */
	int fd;
	char name[PROC_NAME];
};

struct sock {
	uint64_t inode;
	bool wanted;
	bool known; /* `holder` is valid */
	struct holder holder;
	unsigned holders; /* number of processes that hold it */
	bool reads;	  /* `holder` reads, or is the only holder */
	pid_t reader;	  /* process that was seen to read it last, owners_reads(); 0: unknown */
	uint64_t read;	  /* ns, when `holder` was last seen reading */
	uint64_t checked; /* ns, time of the last search; 0: not searched yet */

	/* Set by the walk. */
	struct holder best;
	int64_t rank;	  /* rank of the best holder; RANK_READS or more: it reads; 0: none found */
	unsigned n_found; /* more than HELD_MAX: the remaining ones were not compared */
	pid_t last;	  /* last holder found; a process that has it open twice is one holder */
};

/* A network namespace. */
struct space {
	uint64_t inum;
	char name[64];	/* name in /run/netns; "": unnamed */
	bool host;	/* the namespace of PID 1, as seen from the host */
	pid_t pid;	/* its first process that is not ours; 0: not found */
	uint64_t start; /* start time of that process */
	char process[PROC_NAME];
	struct container container; /* that process's container */
	bool wanted;	  /* requested since the last walk */
	uint64_t checked; /* 0: never */
	unsigned walk;	  /* the last walk that found it; 0: none */
	bool known;	  /* an earlier walk found it, too */
};

/* Where a cgroup or a process is. */
struct place {
	uint64_t id;
	char path[OWNER_CGROUP]; /* "": unknown */
	struct container container;
	uint64_t checked;
	uint64_t start; /* start time of the process */
};

struct owners {
	int root;
	bool all;			 /* not limited to a directory: an iterator can be used */
	struct files *files;		 /* NULL: sockets are searched for in /proc */
	struct files *opened;		 /* by `opening`, owners_prepare() */
	struct beside opening;
	struct list ports;		 /* struct port */
	struct list socks;		 /* struct sock */
	struct list spaces;		 /* struct space */
	struct list cgroups, processes;	 /* struct place, by ID, by PID */
	bool socks_wanted, spaces_wanted;
	unsigned walks; /* number of the last walk over namespaces */

	int64_t savings_ns;
	uint64_t ticked;
};

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Returns the row with this key, adding it if missing. `empty`: empty a full list; otherwise NULL.
 */
static void *get(struct list *list, const void *key, bool empty)
{
	void *row = list_get(list, key);

	if (row || (list->n >= ENTRIES_MAX && !empty))
		return row;
	if (list->n >= ENTRIES_MAX)
		list_clear(list);
	return list_row(list, key);
}

/* Control groups */

/* Reads the path of the ID's descriptor, without the path of `mount`. */
static int path_by_handle(int mount, uint64_t id, char *buf, size_t size)
{
	_Alignas(struct file_handle) char space[sizeof(struct file_handle) + sizeof(id)];
	struct file_handle *handle = (struct file_handle *)space;
	char top[PATH_MAX], path[PATH_MAX];
	int fd, n, len;

	handle->handle_bytes = sizeof(id);
	handle->handle_type = FILEID_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount, handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = proc_link(AT_FDCWD, top, sizeof(top), "/proc/self/fd/%d", mount);
	len = proc_link(AT_FDCWD, path, sizeof(path), "/proc/self/fd/%d", fd);
	close(fd);
	if (n < 0 || len < n || strncmp(top, path, (size_t)n))
		return -ENOENT;
	snprintf(buf, size, "%s", len == n ? "/" : path + n);
	return 0;
}

/*
 * Searches a directory tree for an inode number. `at`: where the path of `fd` ends in the buffer;
 * `left`: how many more directories may be searched. Closes `fd`.
 */
static int walk_cgroups(int fd, uint64_t id, char *buf, size_t size, size_t at, unsigned depth,
			unsigned *left)
{
	DIR *dir = fdopendir(fd);
	int ret = -ENOENT, sub;
	struct dirent *e;

	if (!dir) {
		close(fd);
		return -errno;
	}
	while (ret == -ENOENT && (e = readdir(dir))) {
		size_t end = at + strlen(e->d_name) + 1;

		if (e->d_type != DT_DIR || e->d_name[0] == '.' || end + 1 > size)
			continue;
		if (!(*left)--) {
			ret = -E2BIG;
			break;
		}
		snprintf(buf + at, size - at, "/%s", e->d_name);
		if (e->d_ino == id)
			ret = 0;
		else if (depth < WALK_DEPTH &&
			 (sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0)
			ret = walk_cgroups(sub, id, buf, size, end, depth + 1, left);
	}
	closedir(dir);
	return ret;
}

/*
 * Finds the path of a version 2 cgroup below its mount, "/" for the root. Uses a file handle, which
 * contains the ID (kernfs_node_from_fh). If that is not permitted, or the mount is not cgroupfs, it
 * compares directory inode numbers, which are also the IDs on a 64-bit kernel. Returns 0, or
 * -ENOENT if the cgroup does not exist or is not mounted. A walk ends with -E2BIG after WALK_MOST
 * directories.
 */
static int cgroup_path(int root, uint64_t id, char *buf, size_t size)
{
	unsigned left = WALK_MOST;
	int mount = cgroup_mount_v2(root), ret = -EPERM;

	if (mount >= 0)
		ret = path_by_handle(mount, id, buf, size);
	else /* a directory that a test uses in its place */
		mount = openat(root, "sys/fs/cgroup", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount < 0)
		return -ENOENT;
	if (ret == -EPERM)
		return walk_cgroups(mount, id, buf, size, 0, 0, &left);
	close(mount);
	return ret == -ESTALE ? -ENOENT : ret;
}

/*
 * Finds a process's cgroup path: the one in version 2, or, if that is the root, the longest one in
 * version 1. On a host with both, a container may be in version 1 only. Then only its processes
 * have a path, not the ID of a packet. Returns 0 or -errno.
 */
static int cgroup_of_process(int root, pid_t pid, char *buf, size_t size)
{
	const char *best = NULL, *controllers, *path;
	char text[8192], *rest = text;
	int n = proc_read(root, text, sizeof(text), "proc/%d/cgroup", pid);

	if (n < 0)
		return n;
	while (cgroup_next(&rest, &controllers, &path)) {
		const bool v2 = !*controllers;

		if (!best || strlen(path) > strlen(best) || (v2 && strcmp(path, "/")))
			best = path;
		if (v2 && strcmp(path, "/"))
			break;
	}
	if (!best)
		return -ENOENT;
	snprintf(buf, size, "%s", best);
	return 0;
}

static bool is_directory(int dir, const char *path)
{
	struct stat st;

	return !fstatat(dir, path, &st, 0) && S_ISDIR(st.st_mode);
}

bool cgroup_exists(const char *path)
{
	DIR *dir = opendir(CGROUP_ROOT);
	const struct dirent *e;
	char below[PATH_MAX];
	bool found;

	if (!dir)
		return true;
	path += strspn(path, "/");
	found = !*path || is_directory(dirfd(dir), path);
	while (!found && (e = readdir(dir))) { /* each line is one hierarchy */
		snprintf(below, sizeof(below), "%s/%s", e->d_name, path);
		found = *e->d_name != '.' && is_directory(dirfd(dir), below);
	}
	closedir(dir);
	return found;
}

/* Places */

/* Stores the path of a cgroup by its ID, or of a process by its PID, which `start` makes unique. */
static void put_place(struct owners *o, struct list *map, uint64_t id, uint64_t start,
		      struct owner *out)
{
	struct place *p = get(map, &id, true);
	uint64_t now = clock_now();
	char path[4096];

	if (!p->checked || p->start != start || now - p->checked >= PLACE_NS) {
		int ret = map == &o->cgroups
				  ? cgroup_path(o->root, id, path, sizeof(path))
				  : cgroup_of_process(o->root, (pid_t)id, path, sizeof(path));
		size_t n = ret ? 0 : strlen(path), most = sizeof(p->path) - 1;

		*p = (struct place){.id = id, .start = start, .checked = now};
		if (!ret)
			container_find(o->root, path, &p->container);
		if (n > most) /* the end of a path is the most specific part */
			snprintf(p->path, sizeof(p->path), "...%s", path + n - (most - 3));
		else if (!ret)
			memcpy(p->path, path, n + 1);
	}
	if (!*p->path)
		return;
	memcpy(out->cgroup, p->path, sizeof(out->cgroup));
	out->container = p->container;
}

/* Sockets */

static void want(struct owners *o, struct sock *s)
{
	s->wanted = o->socks_wanted = true;
}

/*
 * Returns true if a holder other than `holder` reads. Two may take turns reading, and then either
 * one is valid.
 */
static bool another_reads(struct sock *s, uint64_t now)
{
	if (!s->known || !s->reader)
		return false;
	if (s->reader == s->holder.pid && s->reads) {
		s->read = now;
		return false;
	}
	return !s->reads || now - s->read >= READS_NS;
}

static bool still_holds(const struct owners *o, const struct holder *h, uint64_t inode)
{
	char link[64];

	return proc_link(o->root, link, sizeof(link), "proc/%d/fd/%d", h->pid, h->fd) > 0 &&
	       proc_inode(link, "socket") == inode;
}

/* Returns what is known about a socket. If that is not enough, requests the socket from now on. */
static const struct sock *find_sock(struct owners *o, uint64_t inode)
{
	struct sock *s = get(&o->socks, &inode, true);
	uint64_t now = clock_now();

	if (s->known && now - s->checked >= FRESH_NS && still_holds(o, &s->holder, inode))
		s->checked = now;
	if (!s->checked || now - s->checked >= FRESH_NS || another_reads(s, now))
		want(o, s);
	return s;
}

/* Calls `each` for every socket that a process has open. Returns 0 or -errno. */
static int each_socket(int root, pid_t pid, void (*each)(void *arg, const void *record), void *arg)
{
	DIR *dir = proc_dir(root, "proc/%d/fd", pid);
	uint64_t fd;

	if (!dir)
		return -errno;
	while (proc_next_number(dir, &fd)) {
		struct files_holder h = {.pid = (__u32)pid, .fd = (__u32)fd};
		char link[64];

		if (proc_link(dirfd(dir), link, sizeof(link), "%d", (int)fd) >= 0)
			h.inode = proc_inode(link, "socket");
		if (h.inode)
			each(arg, &h);
	}
	closedir(dir);
	return 0;
}

static bool receives(const struct owners *o, const struct holder *h)
{
	DIR *tasks = proc_dir(o->root, "proc/%d/task", h->pid);
	bool reads = false;
	uint64_t tid;

	for (unsigned i = 0; !reads && i < THREADS_ASKED && tasks; i++) {
		if (!proc_next_number(tasks, &tid))
			break;
		reads = proc_receives(o->root, h->pid, (pid_t)tid, h->fd);
	}
	if (tasks)
		closedir(tasks);
	return reads;
}

/*
 * Prefers the process that reads the socket, then the process that was started last. Uses PID 1
 * only if no other process has the socket open.
 */
static void found(void *arg, const void *record)
{
	const struct files_holder *f = record;
	struct owners *o = arg;
	struct sock *s = list_get(&o->socks, &f->inode);
	struct holder h = {.pid = (pid_t)f->pid, .fd = (int)f->fd};
	struct proc_stat st;
	int64_t rank;
	bool reads;

	if (!s || !s->wanted || s->last == h.pid)
		return;
	s->last = h.pid;
	reads = s->reader == h.pid;
	if ((s->n_found++ >= HELD_MAX && !reads) || proc_stat(o->root, h.pid, 0, &st))
		return;
	h.start = st.start;
	memcpy(h.name, st.name, sizeof(h.name));
	rank = reads		 ? RANK_READS + 1
	       : receives(o, &h) ? RANK_READS
	       : h.pid == 1	 ? 1
				 : 2 + (int64_t)st.start;
	if (rank <= s->rank)
		return;
	s->rank = rank;
	s->best = h;
}

/* Stores what the walk found. Returns true if the socket has to be searched for again. */
static bool settle(struct sock *s)
{
	/* until it calls exec, a new process has all of its parent's sockets */
	bool again = s->rank && s->rank < RANK_READS && s->n_found > 1 && s->n_found != s->holders;

	if (s->rank) {
		s->known = true;
		s->holder = s->best;
		s->holders = s->n_found;
		s->reads = s->rank >= RANK_READS || s->n_found == 1;
		s->read = clock_now();
	}
	s->checked = clock_now();
	return again;
}

/* Calls found() for all sockets in /proc. Returns 0 or -errno; -EACCES: some could not be read. */
static int walk_proc(struct owners *o)
{
	DIR *dir = proc_dir(o->root, "proc");
	bool denied = false;
	uint64_t pid;

	if (!dir)
		return -errno;
	while (proc_next_number(dir, &pid))
		denied |= each_socket(o->root, (pid_t)pid, found, o) == -EACCES;
	closedir(dir);
	return denied ? -EACCES : 0;
}

/*
 * Searches for all requested sockets in one walk, inside the kernel if possible, otherwise in
 * /proc. Searches one process, or all processes if `pid` is 0. Returns the same values as
 * owners_look().
 */
static int walk(struct owners *o, pid_t pid)
{
	uint64_t inodes[ENTRIES_MAX];
	unsigned n = 0;
	int ret = -EOPNOTSUPP;

	for (unsigned i = 0; i < o->socks.n; i++) {
		struct sock *s = (struct sock *)o->socks.at + i;

		s->rank = s->n_found = 0;
		s->last = 0;
		inodes[n] = s->inode;
		n += s->wanted;
	}
	if (o->files && !pid)
		ret = files_walk(o->files, inodes, n, found, o);
	if (ret && !pid) { /* not permitted, or no longer permitted */
		files_close(o->files);
		o->files = NULL;
	}
	if (ret)
		ret = !pid ? walk_proc(o) : each_socket(o->root, pid, found, o) == -EACCES ? -EACCES : 0;
	o->socks_wanted = false;
	for (unsigned i = 0; i < o->socks.n; i++) {
		struct sock *s = (struct sock *)o->socks.at + i;

		s->wanted = s->wanted && settle(s);
		o->socks_wanted |= s->wanted;
	}
	return ret;
}

/* Bound addresses */

struct port {
	struct ports_key key;
	struct ports_row row; /* inode 0: unused */
	int score;	      /* score of the best match */
	unsigned equals;      /* number of sockets with that score */
	uint64_t checked;     /* 0: never */
};

#define PORT_KEY (offsetof(struct ports_key, address) + sizeof(((struct ports_key *)0)->address))

/*
 * Returns a score like compute_score() in net/ipv4/udp.c and net/ipv6/udp.c. A specific address is
 * better than any address, and for IPv4 packets an IPv4 socket is better. A connected socket only
 * accepts its peer's packets, and the sender is not known here. 0: no match.
 */
static int score(const struct ports_key *key, const struct sockmem_row *row)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, zero[16];
	size_t size = key->family == AF_INET ? 4 : 16;
	const uint8_t *address = row->address;
	int value = row->connected ? 1 : 4;

	if (key->family == AF_INET6 && row->family == AF_INET)
		return 0;
	if (key->family == AF_INET && row->family == AF_INET6) {
		if (memcmp(address, zero, 16) && memcmp(address, mapped, sizeof(mapped)))
			return 0;
		address += sizeof(mapped);
	} else {
		value++;
	}
	if (!memcmp(address, zero, size))
		return value;
	return memcmp(address, key->address, size) ? 0 : value + 2;
}

static void on_socket(void *arg, const struct sockmem_row *row)
{
	struct port *p = arg;
	int value = row->inode ? score(&p->key, row) : 0;

	if (!value || value < p->score)
		return;
	p->equals = value == p->score ? p->equals + 1 : 1;
	p->score = value;
	p->row = (struct ports_row){row->inode, row->rcvbuf};
}

int owners_bound(struct owners *o, const struct ports_key *key, struct ports_row *out)
{
	struct port *p = get(&o->ports, key, true);
	const bool old = !p->checked || clock_now() - p->checked >= FRESH_NS;
	uint64_t before = cpu_ns();
	struct netns ns;

	if (old && o->savings_ns > 0) {
		if (owners_netns_open(o, key->netns, &ns, &(struct error){}) == -EAGAIN)
			return -EAGAIN;
		p->row = (struct ports_row){};
		p->score = 0;
		p->checked = clock_now();
		/* an IPv6 socket may receive IPv4 packets */
		if (ns.fd >= 0)
			sockmem_udp(&ns, key->family == AF_INET ? AF_UNSPEC : AF_INET6, key->port,
				    on_socket, p);
		if (p->equals > 1) /* cannot tell which one it was */
			p->row = (struct ports_row){};
		netns_close(&ns);
		o->savings_ns -= (int64_t)(cpu_ns() - before);
	}
	*out = p->row;
	return p->row.inode ? 0 : p->checked ? -ENOENT : -EAGAIN;
}

/* Namespaces */

/*
 * Returns the entry of an existing namespace. Numbers are soon reused, so the old name is deleted.
 */
static struct space *seen(struct owners *o, uint32_t inum)
{
	struct space *s = inum ? get(&o->spaces, &(uint64_t){inum}, false) : NULL;

	if (s && s->walk != o->walks)
		*s = (struct space){.inum = inum, .walk = o->walks, .known = s->walk};
	return s;
}

/*
 * Finds the path of a file that still refers to the namespace, in /run/netns or through the
 * process. Returns false if there is none.
 */
static bool space_path(const struct owners *o, const struct space *s, uint32_t inum,
		       char path[SPACE_PATH_SIZE])
{
	struct stat st;

	snprintf(path, SPACE_PATH_SIZE, "run/netns/%s", s->name);
	if (s->name[0] && !fstatat(o->root, path, &st, 0) && st.st_ino == inum)
		return true;
	snprintf(path, SPACE_PATH_SIZE, "proc/%d/ns/net", s->pid);
	return s->pid && !fstatat(o->root, path, &st, 0) && st.st_ino == inum;
}

/*
 * Returns what is known about a namespace, never NULL. If that is old or empty, requests the
 * namespace from now on.
 */
static const struct space *find_space(struct owners *o, uint32_t inum)
{
	static const struct space none;
	struct space *s = get(&o->spaces, &(uint64_t){inum}, false);
	uint64_t now = clock_now();
	char path[SPACE_PATH_SIZE];

	if (!s)
		return &none;
	if (s->checked && now - s->checked < SPACE_NS)
		return s;
	if (s->walk && space_path(o, s, inum, path))
		s->checked = now;
	else
		s->wanted = o->spaces_wanted = true;
	return s;
}

/* Returns true if a file is not mounted yet, so that a namespace is about to be named. */
static bool read_names(struct owners *o)
{
	DIR *dir = proc_dir(o->root, "run/netns");
	struct stat own = {}, st;
	bool naming = false;
	struct dirent *d;

	if (dir)
		fstat(dirfd(dir), &own);
	while (dir && (d = readdir(dir))) {
		struct space *s;

		if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &st, 0))
			continue;
		naming |= st.st_dev == own.st_dev;
		s = seen(o, (uint32_t)st.st_ino);
		if (s)
			snprintf(s->name, sizeof(s->name), "%.63s", d->d_name);
	}
	if (dir)
		closedir(dir);
	return naming;
}

/*
 * Finds the host's namespace. If PID 1 has capabilities that we lack, asks kthreadd, which is in
 * it.
 */
static void read_host(struct owners *o)
{
	struct space *s;
	uint32_t inum;
	char link[64];

	if (proc_link(o->root, link, sizeof(link), "proc/self/ns/pid") < 0 ||
	    proc_inode(link, "pid") != PID_NS_INIT)
		return;
	inum = proc_netns(o->root, 1);
	s = seen(o, inum ? inum : proc_netns(o->root, 2));
	if (s)
		s->host = true;
}

/* Searches all processes and /run/netns. */
static void walk_spaces(struct owners *o)
{
	const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t pid, now, booted = clock_ns(CLOCK_BOOTTIME);
	bool naming;
	DIR *dir;

	o->walks++;
	read_host(o);
	dir = proc_dir(o->root, "proc");
	while (dir && proc_next_number(dir, &pid)) {
		struct space *s = seen(o, proc_netns(o->root, (pid_t)pid));
		char path[OWNER_CGROUP];
		struct proc_stat st;

		/* named after its first process: a container's init, or a pod's sandbox */
		if (!s || (s->host && s->pid && (pid_t)pid > s->pid) || (pid_t)pid == getpid() ||
		    proc_stat(o->root, (pid_t)pid, 0, &st) || (s->pid && st.start > s->start) ||
		    (s->pid && st.start == s->start && (pid_t)pid > s->pid))
			continue;
		s->pid = (pid_t)pid;
		s->start = st.start;
		memcpy(s->process, st.name, sizeof(s->process));
		if (!cgroup_of_process(o->root, s->pid, path, sizeof(path)))
			container_find(o->root, path, &s->container);
	}
	if (dir)
		closedir(dir);
	naming = read_names(o); /* last: `ip netns add` enters the namespace before naming it */
	now = clock_now();
	for (unsigned i = 0; i < o->spaces.n; i++) {
		struct space *s = (struct space *)o->spaces.at + i;

		/* the process may be `ip netns add` or a visitor, and the name follows */
		if (naming && !s->name[0] && !s->host &&
		    (!s->known || s->start * tick_ns + NAMING_NS > booted))
			s->pid = 0;
		s->checked = now;
		s->wanted = false;
	}
	o->spaces_wanted = false;
}

/* Interface */

int owners_open(struct owners **owners, const char *root, struct error *err)
{
	int fd = proc_root(root);
	struct owners *o;

	*owners = NULL;
	if (fd < 0)
		return error_errno(err, STATUS_FAILED, fd, NULL, "cannot open %s",
				   root ? root : "/");
	*owners = o = mem_new(o);
	o->root = fd;
	o->all = !root;
	o->ports = (struct list){.size = sizeof(struct port), .key = PORT_KEY};
	o->socks = (struct list){.size = sizeof(struct sock), .key = sizeof(uint64_t)};
	o->spaces = (struct list){.size = sizeof(struct space), .key = sizeof(uint64_t)};
	o->cgroups = o->processes =
		(struct list){.size = sizeof(struct place), .key = sizeof(uint64_t)};
	o->savings_ns = SAVINGS_NS;
	o->ticked = clock_now();
	return 0;
}

static void *open_files(void *arg)
{
	files_open(arg);
	return NULL;
}

void owners_prepare(struct owners *o)
{
	if (o->all && !o->files)
		beside_start(&o->opening, open_files, &o->opened);
}

void owners_iterate(struct owners *o)
{
	if (!beside_end(&o->opening) && o->all && !o->files)
		files_open(&o->opened);
	if (o->opened)
		o->files = o->opened;
	o->opened = NULL;
}

int owners_root(const struct owners *o)
{
	return o->root;
}

void owners_close(struct owners *o)
{
	if (!o)
		return;
	if (beside_end(&o->opening))
		files_close(o->opened);
	list_free(&o->socks);
	list_free(&o->spaces);
	list_free(&o->cgroups);
	list_free(&o->processes);
	list_free(&o->ports);
	files_close(o->files);
	close(o->root);
	free(o);
}

void owners_tick(struct owners *o)
{
	uint64_t now = clock_now(), before = cpu_ns();

	o->savings_ns += (int64_t)((now - o->ticked) / SHARE);
	if (o->savings_ns > SAVINGS_NS)
		o->savings_ns = SAVINGS_NS;
	o->ticked = now;
	if (o->savings_ns > 0) {
		if (o->socks_wanted)
			walk(o, 0);
		if (o->spaces_wanted)
			walk_spaces(o);
	}
	o->savings_ns -= (int64_t)(cpu_ns() - before);
}

int owners_look(struct owners *o, pid_t pid)
{
	int ret = pid || o->socks_wanted ? walk(o, pid) : 0;

	if (!ret && !pid && o->socks_wanted) /* its holders have changed */
		ret = walk(o, 0);
	return ret;
}

int owners_cgroup(struct owners *o, uint64_t cgroup, struct owner *out)
{
	memset(out, 0, sizeof(*out));
	if (cgroup)
		put_place(o, &o->cgroups, cgroup, 0, out);
	return out->cgroup[0] ? 0 : -ENOENT;
}

int owners_socket(struct owners *o, uint64_t inode, uint32_t netns, uint64_t cgroup,
		  struct owner *out)
{
	const struct sock *s = inode ? find_sock(o, inode) : NULL;

	owners_cgroup(o, cgroup, out);
	if (s && s->known) {
		out->pid = s->holder.pid;
		out->holders = s->holders;
		out->reads = s->reads;
		out->fd = s->holder.fd;
		memcpy(out->process, s->holder.name, sizeof(out->process));
		/*
		 * a process in the version 2 root may be in a version 1 cgroup, or outside our view
		 */
		if (!out->cgroup[0] || !strcmp(out->cgroup, "/"))
			put_place(o, &o->processes, (uint64_t)s->holder.pid, s->holder.start, out);
	}
	/* sockets of the kernel, or of processes that no longer exist */
	if (netns && !out->container.runtime && !out->container.uid[0]) {
		const struct space *space = find_space(o, netns);

		if (space->walk && !space->host)
			out->container = space->container;
	}
	return s && s->known ? 0 : s && !s->checked ? -EAGAIN : -ESRCH;
}

bool owners_searched(const struct owners *o, uint64_t inode)
{
	const struct sock *s = list_get(&o->socks, &inode);

	return s && s->checked;
}

void owners_reads(struct owners *o, uint64_t inode, pid_t pid)
{
	struct sock *s = o->files && inode ? list_get(&o->socks, &inode) : NULL;

	if (s && s->holders > 1)
		s->reader = pid;
}

char *owner_text(const struct owner *who, char buf[OWNER_TEXT])
{
	*buf = '\0';
	if (who->holders > 1 && !who->reads)
		snprintf(buf, OWNER_TEXT, "held by %u processes", who->holders);
	else if (who->pid)
		snprintf(buf, OWNER_TEXT, "%s[%d]", who->process, (int)who->pid);
	return buf;
}

int owners_silent(struct owners *o, void (*each)(void *arg, const void *record), void *arg)
{
	return o->files ? files_read_silent(o->files, each, arg) : -EOPNOTSUPP;
}

char *owners_netns(struct owners *o, uint32_t netns, char *buf)
{
	const struct space *s = find_space(o, netns);
	bool made_up = !strncmp(s->name, "cni-", 4);

	if (s->name[0] && (!made_up || !s->container.uid[0]))
		return memcpy(buf, s->name, sizeof(s->name));
	if (s->host)
		return strcpy(buf, "host");
	if (*container_pod_text(&s->container, buf, OWNER_NETNS) ||
	    *container_text(&s->container, buf, OWNER_NETNS))
		return buf;
	if (s->pid)
		snprintf(buf, OWNER_NETNS, "%s[%d]", s->process, s->pid);
	else
		snprintf(buf, OWNER_NETNS, "%u", netns);
	return buf;
}

bool owners_netns_searching(struct owners *o, uint32_t netns)
{
	const struct space *s = find_space(o, netns);

	return s->wanted;
}

bool owners_netns_is_own(const struct owners *o, uint32_t netns)
{
	return netns == proc_netns(o->root, getpid());
}

char *owners_netns_enter(struct owners *o, uint32_t netns, char buf[OWNER_ENTER])
{
	char name[2 * OWNER_NETNS];
	const struct space *s = find_space(o, netns);

	*buf = '\0';
	if (s->name[0] && snprintf(buf, OWNER_ENTER, "ip netns exec %s",
				   change_quote(s->name, name, sizeof(name))) >= OWNER_ENTER)
		*buf = '\0';
	else if (!s->name[0] && s->pid)
		snprintf(buf, OWNER_ENTER, "nsenter -t %d -n", s->pid);
	return buf;
}

int owners_netns_open(struct owners *o, uint32_t netns, struct netns *ns, struct error *err)
{
	char path[SPACE_PATH_SIZE], full[128];
	const struct space *s = find_space(o, netns);
	int ret;

	*ns = NETNS_NONE;
	if (!s->walk)
		return s->checked ? -ENOENT : -EAGAIN;
	if (!space_path(o, s, netns, path))
		return -ENOENT;
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
	unsigned n = 0;

	/* this request makes the next pass search for it */
	find_space(o, own);
	owners_tick(o);
	if (own && n < max)
		netns[n++] = own;
	for (unsigned i = 0; i < o->spaces.n && n < max; i++) {
		const struct space *s = (struct space *)o->spaces.at + i;

		if (s->walk && s->walk == o->walks && s->inum != own)
			netns[n++] = (uint32_t)s->inum;
	}
	return n;
}

int owners_pod(struct owners *o, const char *pod, char path[OWNER_POD_PATH], struct error *err)
{
	char text[OWNER_NETNS], known[200] = "none";
	size_t n = 0;

	find_space(o, proc_netns(o->root, getpid()));
	owners_tick(o);
	for (unsigned i = 0; i < o->spaces.n; i++) {
		const struct space *s = (struct space *)o->spaces.at + i;

		if (s->host || !*container_pod_text(&s->container, text, sizeof(text)))
			continue;
		if (!strcmp(text, pod)) {
			snprintf(path, OWNER_POD_PATH, "/proc/%d/ns/net", s->pid);
			return 0;
		}
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", n ? ", " : "",
					      text);
	}
	return error_set(err, STATUS_FAILED, -ENOENT,
			 "select a pod that uses the host's network by its --cgroup",
			 "no pod %s with its own network namespace on this host (known: %s)",
			 pod, known);
}

static void add_inode(void *arg, const void *record)
{
	const struct files_holder *h = record;

	list_row(arg, &h->inode);
}

int owners_sockets(const struct owners *o, pid_t pid, struct list *inodes, struct error *err)
{
	int ret = each_socket(o->root, pid, add_inode, inodes);

	if (ret == -ENOENT)
		return error_set(err, STATUS_FAILED, -ESRCH, NULL, "there is no process %d",
				 (int)pid);
	return error_errno(err, STATUS_UNABLE, ret, "run as root, or with CAP_SYS_PTRACE",
			   "cannot list the sockets of process %d", (int)pid);
}
