// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Named labs. A lab's file in LAB_DIR is the mark that the namespaces are ours: it has their
 * inode numbers. All changes are made under a lock on the directory.
 */
#include "host/lab_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum role { ROLE_TX, ROLE_RX, ROLE_MIDDLE, ROLES };

static const char *role_name(enum lab_topology topology, enum role role)
{
	static const char *const ends[] = {"tx", "rx"};

	return role == ROLE_MIDDLE ? lab_middle(topology) : ends[role];
}

struct mark {
	struct lab_info info;
	uint32_t inum[ROLES];
};

static unsigned roles(enum lab_topology topology)
{
	return lab_middle(topology) ? ROLES : ROLE_MIDDLE;
}

static void ns_path(char path[PATH_MAX], const char *name, const char *role)
{
	snprintf(path, PATH_MAX, NETNS_DIR "/%s-%s", name, role);
}

static void mark_path(char path[PATH_MAX], const char *name)
{
	snprintf(path, PATH_MAX, LAB_DIR "/%s", name);
}

static int check_name(const char *name, struct error *err)
{
	size_t len = strlen(name);
	bool good = len && len < sizeof(((struct lab *)0)->name) && isalnum((unsigned char)*name);

	for (const char *c = name; *c && good; c++)
		good = isalnum((unsigned char)*c) || *c == '-' || *c == '_';
	if (!good)
		return error_set(
			err, STATUS_USAGE, -EINVAL,
			"use letters, digits, - and _, at most 31, a letter or digit first",
			"'%s' cannot be the name of a lab", name);
	return 0;
}

/* The directory, locked until the descriptor is closed; made if it is missing. Or -errno. */
static int lock_labs(struct error *err)
{
	int ret, fd;

	if ((mkdir("/run/pktledger", 0700) && errno != EEXIST) ||
	    (mkdir(LAB_DIR, 0700) && errno != EEXIST) ||
	    (fd = open(LAB_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		ret = -errno;
		return error_set(err, STATUS_UNABLE, ret, ret == -EACCES ? "run it as root" : NULL,
				 "cannot open " LAB_DIR ": %s", strerror(-ret));
	}
	while (flock(fd, LOCK_EX)) {
		if (errno != EINTR) {
			ret = -errno;
			close(fd);
			return error_set(err, STATUS_FAILED, ret, NULL,
					 "cannot lock " LAB_DIR ": %s", strerror(-ret));
		}
	}
	return fd;
}

static int write_mark(const struct mark *m)
{
	char path[PATH_MAX];
	int ret = 0;
	FILE *f;

	mark_path(path, m->info.name);
	f = fopen(path, "wxe");
	if (!f)
		return -errno;
	fprintf(f, "topology %s\nqueues %u\nmtu %u\n", lab_topologies[m->info.topology].name,
		m->info.queues, m->info.mtu);
	for (unsigned i = 0; i < roles(m->info.topology); i++)
		fprintf(f, "%s %u\n", role_name(m->info.topology, i), m->inum[i]);
	if (fflush(f))
		ret = -errno;
	fclose(f);
	if (ret)
		unlink(path);
	return ret;
}

/* A mark that was cut short reads as a lab that is not whole. -ENOENT if there is none. */
static int read_mark(const char *name, struct mark *m)
{
	char path[PATH_MAX], line[64], word[16];
	FILE *f;

	memset(m, 0, sizeof(*m));
	snprintf(m->info.name, sizeof(m->info.name), "%s", name);
	mark_path(path, name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "topology %15s", word) == 1)
			m->info.topology = lab_topology_named(word);
		sscanf(line, "queues %u", &m->info.queues);
		sscanf(line, "mtu %u", &m->info.mtu);
		sscanf(line, "tx %u", &m->inum[ROLE_TX]);
		sscanf(line, "rx %u", &m->inum[ROLE_RX]);
		sscanf(line, "router %u", &m->inum[ROLE_MIDDLE]);
		sscanf(line, "bridge %u", &m->inum[ROLE_MIDDLE]);
	}
	fclose(f);
	return 0;
}

/* Whether the name still stands for the namespace that this lab made. */
static bool is_ours(const struct mark *m, enum role role)
{
	char path[PATH_MAX];
	struct stat st;

	ns_path(path, m->info.name, role_name(m->info.topology, role));
	return m->inum[role] && !stat(path, &st) && st.st_ino == m->inum[role];
}

static bool is_whole(const struct mark *m)
{
	for (unsigned i = 0; i < roles(m->info.topology); i++) {
		if (!is_ours(m, i))
			return false;
	}
	return true;
}

int lab_check_free(const char *name, struct error *err)
{
	static const char *const taken[] = {"tx", "rx", "router", "bridge"};
	char path[PATH_MAX];
	int ret = check_name(name, err);

	if (ret)
		return ret;
	mark_path(path, name);
	if (!access(path, F_OK))
		return error_set(err, STATUS_FAILED, -EEXIST,
				 "take another name, or remove it: pktledger lab down",
				 "there is a lab '%s' already", name);
	for (unsigned i = 0; i < sizeof(taken) / sizeof(*taken); i++) {
		ns_path(path, name, taken[i]);
		if (!access(path, F_OK))
			return error_set(err, STATUS_FAILED, -EEXIST, "take another name",
					 "there is a network namespace '%s-%s' already, not of a "
					 "lab",
					 name, taken[i]);
	}
	return 0;
}

/* As `ip netns add` does: mounts in this directory are seen in all mount namespaces. */
static int share_netns_dir(void)
{
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		return -errno;
	if (!mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (mount(NETNS_DIR, NETNS_DIR, "none", MS_BIND | MS_REC, NULL) ||
	    mount("", NETNS_DIR, "none", MS_SHARED | MS_REC, NULL))
		return -errno;
	return 0;
}

static int bind_namespace(const struct netns *ns, const char *name, const char *role)
{
	char from[64], path[PATH_MAX];
	int ret, fd;

	ns_path(path, name, role);
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	close(fd);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", ns->fd);
	if (!mount(from, path, "none", MS_BIND, NULL))
		return 0;
	ret = -errno;
	unlink(path);
	return ret;
}

/* A name in the directory without a mount: what a publish leaves that was killed in the middle. */
static bool is_stub(const char *path)
{
	struct stat st, dir;

	return !lstat(path, &st) && !stat(NETNS_DIR, &dir) && st.st_dev == dir.st_dev;
}

/* Everything that bears the lab's name, the mark last: until then it can be tried again. */
static int remove_names(const struct mark *m)
{
	char path[PATH_MAX];

	for (unsigned i = 0; i < roles(m->info.topology); i++) {
		ns_path(path, m->info.name, role_name(m->info.topology, i));
		if (is_ours(m, i) && umount2(path, MNT_DETACH))
			return -errno;
		if (is_stub(path) && unlink(path))
			return -errno;
	}
	mark_path(path, m->info.name);
	return unlink(path) ? -errno : 0;
}

int lab_publish(struct lab *lab, const char *name, struct error *err)
{
	const struct netns *ns[ROLES] = {&lab->tx_ns, &lab->rx_ns, &lab->router_ns};
	struct mark m = {
		.info = {.topology = lab->topology, .queues = lab->tx.queues, .mtu = lab->tx.mtu}};
	int lock, ret;

	snprintf(m.info.name, sizeof(m.info.name), "%s", name);
	for (unsigned i = 0; i < roles(lab->topology); i++)
		m.inum[i] = ns[i]->inum;
	lock = lock_labs(err);
	if (lock < 0)
		return lock;
	ret = lab_check_free(name, err); /* again: now it stays so */
	if (!ret) {
		ret = share_netns_dir();
		if (!ret)
			ret = write_mark(&m);
		for (unsigned i = 0; i < roles(lab->topology) && !ret; i++)
			ret = bind_namespace(ns[i], name, role_name(lab->topology, i));
		if (ret) {
			remove_names(&m);
			error_set(err, STATUS_FAILED, ret, NULL, "cannot name the lab '%s': %s",
				  name, strerror(-ret));
		}
	}
	close(lock);
	if (!ret)
		snprintf(lab->name, sizeof(lab->name), "%s", name);
	return ret;
}

static int find_mark(const char *name, struct mark *m, struct error *err)
{
	int ret = check_name(name, err);

	if (ret)
		return ret;
	ret = read_mark(name, m);
	if (ret == -ENOENT)
		return error_set(err, STATUS_FAILED, ret, "see: pktledger lab list",
				 "there is no lab '%s'", name);
	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot read " LAB_DIR "/%s: %s",
				 name, strerror(-ret));
	return 0;
}

int lab_remove(const char *name, struct error *err)
{
	struct mark m;
	int lock = lock_labs(err);
	int ret;

	if (lock < 0)
		return lock;
	ret = find_mark(name, &m, err);
	if (!ret) {
		ret = remove_names(&m);
		if (ret)
			error_set(err, STATUS_FAILED, ret, NULL, "cannot remove the lab '%s': %s",
				  name, strerror(-ret));
	}
	close(lock);
	return ret;
}

int lab_topology_of(const char *name, enum lab_topology *topology, struct error *err)
{
	struct mark m;
	int ret = find_mark(name, &m, err);

	*topology = ret ? LAB_PAIR : m.info.topology;
	return ret;
}

int lab_open_named(struct lab *lab, const char *name, struct error *err)
{
	struct netns *ns[ROLES] = {&lab->tx_ns, &lab->rx_ns, &lab->router_ns};
	struct lab_port *port[] = {&lab->tx, &lab->rx, &lab->router_tx, &lab->router_rx};
	char path[PATH_MAX];
	struct mark m;
	int ret;

	lab_plan(lab, LAB_PAIR);
	ret = find_mark(name, &m, err);
	if (ret)
		return ret;
	if (!is_whole(&m))
		return error_set(err, STATUS_FAILED, -ENXIO,
				 "remove it and make it anew: pktledger lab down",
				 "a namespace of the lab '%s' is gone", name);
	lab_plan(lab, m.info.topology);
	snprintf(lab->name, sizeof(lab->name), "%s", name);
	for (unsigned i = 0; i < roles(lab->topology) && !ret; i++) {
		ns_path(path, name, role_name(lab->topology, i));
		ret = netns_open(ns[i], path, err);
	}
	for (unsigned i = 0; i < lab_ports(lab) && !ret; i++) {
		ret = lab_read_port(port[i]);
		if (ret)
			error_set(err, STATUS_FAILED, ret,
				  "remove it and make it anew: pktledger lab down",
				  "the device %s of the lab '%s' is gone", port[i]->ifname, name);
	}
	if (ret)
		lab_close(lab);
	return ret;
}

int lab_list(int (*cb)(void *arg, const struct lab_info *info), void *arg, struct error *err)
{
	const struct dirent *entry;
	DIR *dir = opendir(LAB_DIR);
	struct mark m;
	int ret = 0;

	if (!dir && errno == ENOENT)
		return 0;
	if (!dir)
		return error_set(err, STATUS_UNABLE, -errno, "run it as root",
				 "cannot open " LAB_DIR ": %s", strerror(errno));
	while (!ret && (entry = readdir(dir))) {
		if (check_name(entry->d_name, NULL) || read_mark(entry->d_name, &m))
			continue; /* not ours, or removed since */
		m.info.whole = is_whole(&m);
		ret = cb(arg, &m.info);
	}
	closedir(dir);
	return ret;
}
