// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"

#define THREAD_NETNS "/proc/thread-self/ns/net"
#define STAYED	     INT_MAX /* netns_push() to the namespace the thread is in */

static bool elsewhere(const struct netns *ns)
{
	return ns && ns->fd >= 0;
}

static int loopback_up(void)
{
	struct ifreq ifr = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFFLAGS, &ifr))
		ret = -errno;
	ifr.ifr_flags |= IFF_UP;
	if (!ret && ioctl(fd, SIOCSIFFLAGS, &ifr))
		ret = -errno;
	close(fd);
	return ret;
}

/*
 * A mount of sysfs shows the network namespace of the task that made it (sysfs_init_fs_context()).
 * It is never attached to a directory, so nothing has to be unmounted. -1 if it is refused, which
 * happens in containers.
 */
static int mount_sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	int mnt = -1;

	if (fs < 0)
		return -1;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mnt;
}

static int read_inum(struct netns *ns)
{
	struct stat st;

	if (fstat(ns->fd, &st))
		return -errno;
	ns->inum = st.st_ino;
	return 0;
}

/* Fills `ns` from the namespace that the thread is in. */
static int describe_current(struct netns *ns)
{
	int ret;

	ns->fd = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (ns->fd < 0)
		return -errno;
	ret = read_inum(ns);
	if (ret)
		return ret;
	ns->sysfs = mount_sysfs();
	return 0;
}

int netns_create(struct netns *ns, struct error *err)
{
	int ret, saved;

	*ns = NETNS_NONE;
	saved = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (saved < 0)
		return error_set(err, STATUS_UNABLE, -errno, "mount /proc",
				 "cannot open " THREAD_NETNS ": %s", strerror(errno));
	if (unshare(CLONE_NEWNET)) {
		ret = -errno;
		close(saved);
		return error_set(err, STATUS_UNABLE, ret,
				 ret == -EPERM ? "run it as root; it needs CAP_SYS_ADMIN" : NULL,
				 "cannot make a network namespace: %s", strerror(-ret));
	}
	ret = loopback_up();
	if (!ret)
		ret = describe_current(ns);
	netns_pop(saved);
	if (ret) {
		netns_close(ns);
		return error_set(err, STATUS_FAILED, ret, NULL,
				 "cannot set up a network namespace: %s", strerror(-ret));
	}
	return 0;
}

int netns_current(struct netns *ns, struct error *err)
{
	int ret;

	*ns = NETNS_NONE;
	ret = describe_current(ns);
	if (ret) {
		netns_close(ns);
		return error_set(err, STATUS_UNABLE, ret, "mount /proc",
				 "cannot open the current network namespace: %s", strerror(-ret));
	}
	return 0;
}

int netns_open(struct netns *ns, const char *name, struct error *err)
{
	char path[PATH_MAX];
	int ret, saved;

	*ns = NETNS_NONE;
	if (snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : NETNS_DIR "/", name) >=
	    (int)sizeof(path))
		return error_set(err, STATUS_USAGE, -ENAMETOOLONG, NULL,
				 "the name of the network namespace is too long");
	ns->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ns->fd < 0)
		return error_set(err, STATUS_UNABLE, -errno,
				 errno == ENOENT ? "`ip netns list` shows those that exist" : NULL,
				 "cannot open the network namespace %s: %s", name, strerror(errno));
	ret = read_inum(ns);
	saved = ret ? ret : netns_push(ns);
	if (saved < 0) {
		netns_close(ns);
		return error_set(err, STATUS_UNABLE, saved,
				 saved == -EPERM    ? "run it as root; it needs CAP_SYS_ADMIN"
				 : saved == -EINVAL ? "it is not a network namespace"
						    : NULL,
				 "cannot enter the network namespace %s: %s", name,
				 strerror(-saved));
	}
	ns->sysfs = mount_sysfs();
	netns_pop(saved);
	return 0;
}

static bool is_here(const struct netns *ns)
{
	struct stat st;

	return !stat(THREAD_NETNS, &st) && st.st_ino == ns->inum;
}

/* STAYED: the thread is in it; setns() wants CAP_SYS_ADMIN even then. */
static int enter(const struct netns *ns)
{
	if (!elsewhere(ns))
		return STAYED;
	if (!setns(ns->fd, CLONE_NEWNET))
		return 0;
	return errno == EPERM && is_here(ns) ? STAYED : -errno;
}

int netns_enter(const struct netns *ns)
{
	int ret = enter(ns);

	return ret == STAYED ? 0 : ret;
}

int netns_push(const struct netns *ns)
{
	int saved, ret;

	if (!elsewhere(ns))
		return STAYED;
	saved = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (saved < 0)
		return -errno;
	ret = enter(ns);
	if (ret)
		close(saved);
	return ret ? ret : saved;
}

void netns_pop(int saved)
{
	if (saved == STAYED)
		return;
	/* To go on in the wrong namespace would be to change a network that is not ours. */
	if (setns(saved, CLONE_NEWNET))
		abort();
	close(saved);
}

void netns_close(struct netns *ns)
{
	if (ns->sysfs >= 0)
		close(ns->sysfs);
	if (ns->fd >= 0)
		close(ns->fd);
	*ns = NETNS_NONE;
}

static int write_and_close(int fd, const char *value)
{
	size_t len = strlen(value);
	ssize_t n = write(fd, value, len);
	int ret = n < 0 ? -errno : n == (ssize_t)len ? 0 : -EIO;

	close(fd);
	return ret;
}

/* The last newline is cut. A value that does not fit is an error, not a shorter value. */
static int read_and_close(int fd, char *buf, unsigned size)
{
	ssize_t n = read(fd, buf, size);
	int ret = n < 0 ? -errno : n == (ssize_t)size ? -ENOSPC : 0;

	close(fd);
	if (ret)
		return ret;
	if (n && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

static int open_sysfs(const struct netns *ns, const char *path, int flags)
{
	int fd;

	if (elsewhere(ns)) {
		if (ns->sysfs < 0)
			return -EOPNOTSUPP;
		fd = openat(ns->sysfs, path, flags | O_CLOEXEC);
	} else {
		int dir = open("/sys", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (dir < 0)
			return -errno;
		fd = openat(dir, path, flags | O_CLOEXEC);
		close(dir);
	}
	return fd < 0 ? -errno : fd;
}

int netns_sysfs_write(const struct netns *ns, const char *path, const char *value)
{
	int fd = open_sysfs(ns, path, O_WRONLY | O_TRUNC); /* as a shell's > */

	return fd < 0 ? fd : write_and_close(fd, value);
}

int netns_sysfs_read(const struct netns *ns, const char *path, char *buf, unsigned size)
{
	int fd = open_sysfs(ns, path, O_RDONLY);

	return fd < 0 ? fd : read_and_close(fd, buf, size);
}

/* /proc/sys/net shows the namespace of the task that looks (net_ctl_header_lookup()). */
static int open_sysctl(const char *path, int flags)
{
	char full[PATH_MAX];
	int fd;

	if (snprintf(full, sizeof(full), "/proc/sys/%s", path) >= (int)sizeof(full))
		return -ENAMETOOLONG;
	fd = open(full, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int netns_sysctl_write(const struct netns *ns, const char *path, const char *value)
{
	int saved = netns_push(ns);
	int fd, ret;

	if (saved < 0)
		return saved;
	fd = open_sysctl(path, O_WRONLY);
	ret = fd < 0 ? fd : write_and_close(fd, value);
	netns_pop(saved);
	return ret;
}

int netns_sysctl_read(const struct netns *ns, const char *path, char *buf, unsigned size)
{
	int saved = netns_push(ns);
	int fd, ret;

	if (saved < 0)
		return saved;
	fd = open_sysctl(path, O_RDONLY);
	ret = fd < 0 ? fd : read_and_close(fd, buf, size);
	netns_pop(saved);
	return ret;
}

bool netns_sysctl_numbers(const struct netns *ns, const char *path, uint64_t *number, unsigned n)
{
	char text[128], *at = text, *word;
	unsigned have = 0;

	if (netns_sysctl_read(ns, path, text, sizeof(text)) >= 0) {
		while (have < n && (word = strsep(&at, "\t ")) &&
		       !num_u64(word, 0, UINT64_MAX, &number[have]))
			have++;
	}
	if (have < n)
		memset(number, 0, n * sizeof(*number));
	return have == n;
}
