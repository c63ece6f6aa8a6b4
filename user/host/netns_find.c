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

struct search {
	uint64_t cookie;
	ino_t last;	      /* looked at; most processes are in the same few */
	bool refused;	      /* one could not be looked at */
	char found[PATH_MAX]; /* what is looked at */
};

/* Whether the namespace at `found` is the one. What is gone meanwhile, or is none, is not. */
static bool look(struct search *s)
{
	struct netns ns = NETNS_NONE;
	uint64_t cookie = 0;
	struct stat st;
	int ret;

	if (stat(s->found, &st)) {
		s->refused |= errno == EACCES || errno == EPERM;
		return false;
	}
	if (st.st_ino == s->last)
		return false;
	s->last = st.st_ino;
	ns.fd = open(s->found, O_RDONLY | O_CLOEXEC);
	ret = ns.fd < 0 ? -errno : netns_cookie(&ns, &cookie);
	if (ns.fd >= 0)
		close(ns.fd);
	s->refused |= ret == -EACCES || ret == -EPERM;
	return !ret && cookie == s->cookie;
}

/* Looks at `format` of each name in a directory. */
static bool look_in(struct search *s, const char *directory, const char *format)
{
	const struct dirent *entry;
	DIR *dir = opendir(directory);
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(s->found, sizeof(s->found), format, entry->d_name);
		found = look(s);
	}
	if (dir)
		closedir(dir);
	return found;
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
	if (!look_in(&s, NETNS_DIR, NETNS_DIR "/%s") && !look_in(&s, "/proc", "/proc/%s/ns/net"))
		return s.refused ? -EACCES : -ENOENT;
	return netns_open(ns, s.found, NULL);
}
