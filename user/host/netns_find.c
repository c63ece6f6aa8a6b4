// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/nl.h"

int netns_cookie(const struct netns *ns, uint64_t *cookie)
{
	socklen_t len = sizeof(*cookie);
	int fd = nl_ioctl_socket(ns), ret = 0;

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		ret = -errno;
	close(fd);
	return ret;
}

#define MAX_KNOWN 64 /* more are looked at again, or count as refused */

/* Namespaces by the inode number of their /proc/PID/net/dev, which may be read of any process. */
struct known {
	ino_t at[MAX_KNOWN];
	unsigned n;
};

struct search {
	uint64_t cookie;
	struct known seen, refused;
	char found[PATH_MAX]; /* what is looked at */
};

static bool knows(const struct known *k, ino_t ino)
{
	for (unsigned i = 0; i < k->n; i++) {
		if (k->at[i] == ino)
			return true;
	}
	return false;
}

static void note(struct known *k, ino_t ino)
{
	if (k->n < MAX_KNOWN && !knows(k, ino))
		k->at[k->n++] = ino;
}

/* 1: the namespace at `found` is the one; 0: it is not, or is none; or -errno. */
static int look(struct search *s)
{
	struct netns ns = NETNS_NONE;
	uint64_t cookie;
	int ret;

	ns.fd = open(s->found, O_RDONLY | O_CLOEXEC);
	if (ns.fd < 0)
		return errno == EACCES || errno == EPERM ? -errno : 0;
	ret = netns_cookie(&ns, &cookie);
	close(ns.fd);
	return ret == -EINVAL ? 0 : ret ? ret : cookie == s->cookie;
}

static bool look_at_name(struct search *s, const char *name)
{
	snprintf(s->found, sizeof(s->found), NETNS_DIR "/%s", name);
	return look(s) == 1;
}

static bool look_at_process(struct search *s, const char *pid)
{
	struct stat st;
	int ret;

	snprintf(s->found, sizeof(s->found), "/proc/%s/net/dev", pid);
	if (stat(s->found, &st) || knows(&s->seen, st.st_ino))
		return false; /* no process, or a dead one; or one of many */
	snprintf(s->found, sizeof(s->found), "/proc/%s/ns/net", pid);
	ret = look(s);
	note(ret < 0 ? &s->refused : &s->seen, st.st_ino);
	return ret == 1;
}

static bool search(struct search *s, const char *directory,
		   bool (*look_at)(struct search *s, const char *name))
{
	const struct dirent *entry;
	DIR *dir = opendir(directory);
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = *entry->d_name != '.' && look_at(s, entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

/* Whether the one looked for may be among those refused: others may be in the same namespace. */
static bool may_be_refused(const struct search *s)
{
	for (unsigned i = 0; i < s->refused.n; i++) {
		if (!knows(&s->seen, s->refused.at[i]))
			return true;
	}
	return s->refused.n == MAX_KNOWN;
}

int netns_find(struct netns *ns, uint64_t cookie)
{
	struct search s = {.cookie = cookie};
	uint64_t own;
	int ret = netns_cookie(NULL, &own);

	*ns = NETNS_NONE;
	if (ret)
		return ret;
	if (own == cookie) {
		ret = netns_current(ns, NULL);
		if (!ret && ns->sysfs < 0) { /* refused, in a container: then /sys it is */
			netns_close(ns);
			*ns = NETNS_NONE;
		}
		return ret;
	}
	if (!search(&s, NETNS_DIR, look_at_name) && !search(&s, "/proc", look_at_process))
		return may_be_refused(&s) ? -EACCES : -ENOENT;
	return netns_open(ns, s.found, NULL);
}
