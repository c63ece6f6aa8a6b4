// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"

#define PATH_SIZE 640

int proc_root(const char *path)
{
	int fd = open(path ? path : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_v(int root, int flags, const char *fmt, va_list args)
{
	char path[PATH_SIZE];
	int fd;

	if (vsnprintf(path, sizeof(path), fmt, args) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	fd = openat(root, path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int proc_read(int root, char *buf, size_t size, const char *fmt, ...)
{
	va_list args;
	ssize_t n;
	int fd;

	va_start(args, fmt);
	fd = open_v(root, O_RDONLY, fmt, args);
	va_end(args);
	buf[0] = '\0';
	if (fd < 0)
		return fd;
	n = read(fd, buf, size - 1);
	if (n < 0)
		n = -errno;
	close(fd);
	if (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n > 0 ? n : 0] = '\0';
	return (int)n;
}

uint64_t proc_number(const char *path, const char *text)
{
	char buf[2048];
	const char *at;

	if (proc_read(AT_FDCWD, buf, sizeof(buf), "%s", path) < 0)
		return 0;
	at = strstr(buf, text);
	return at ? strtoull(at + strlen(text), NULL, 10) : 0;
}

int proc_link(int root, char *buf, size_t size, const char *fmt, ...)
{
	char path[PATH_SIZE];
	va_list args;
	ssize_t n;

	va_start(args, fmt);
	n = vsnprintf(path, sizeof(path), fmt, args);
	va_end(args);
	if (n >= (ssize_t)sizeof(path))
		return -ENAMETOOLONG;
	n = readlinkat(root, path, buf, size - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return (int)n;
}

void *proc_dir(int root, const char *fmt, ...)
{
	va_list args;
	DIR *dir;
	int fd;

	va_start(args, fmt);
	fd = open_v(root, O_RDONLY | O_DIRECTORY, fmt, args);
	va_end(args);
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (!dir)
		close(fd);
	return dir;
}

bool proc_next_number(void *dir, uint64_t *number)
{
	struct dirent *e;

	while ((e = readdir(dir))) {
		char *end;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		*number = strtoull(e->d_name, &end, 10);
		if (!*end)
			return true;
	}
	return false;
}

uint64_t proc_inode(const char *link, const char *kind)
{
	size_t n = strlen(kind);

	if (strncmp(link, kind, n) || strncmp(link + n, ":[", 2))
		return 0;
	return strtoull(link + n + 2, NULL, 10);
}

/* The name is in parentheses and may contain any byte, so look for the last closing parenthesis. */
int proc_stat(int root, pid_t pid, pid_t tid, struct proc_stat *st)
{
	char text[512];
	char *name, *end;
	unsigned long long start;
	int n = tid ? proc_read(root, text, sizeof(text), "proc/%d/task/%d/stat", pid, tid)
		    : proc_read(root, text, sizeof(text), "proc/%d/stat", pid);

	if (n < 0)
		return n == -ENOENT ? -ESRCH : n;
	name = strchr(text, '(');
	end = strrchr(text, ')');
	if (!name || !end || end < name)
		return -EINVAL;
	*end = '\0';
	/* fields 3, 20 and 22 in proc(5) */
	if (sscanf(end + 1,
		   " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %u %*s "
		   "%llu",
		   &st->state, &st->threads, &start) != 3)
		return -EINVAL;
	st->start = start;
	snprintf(st->name, sizeof(st->name), "%.15s", name + 1);
	for (char *c = st->name; *c; c++) {
		if (!isprint((unsigned char)*c))
			*c = '?';
	}
	return 0;
}

/*
 * Parses "45 0x3 0x7ffd... ...": the number of the system call in the machine's native ABI, and its
 * arguments (proc_pid_syscall).
 */
bool proc_receives(int root, pid_t pid, pid_t tid, int fd)
{
	static const long calls[] = {SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_read, SYS_readv};
	unsigned long long arg;
	char text[160];
	long call;

	if (proc_read(root, text, sizeof(text), "proc/%d/task/%d/syscall", pid, tid) <= 0 ||
	    sscanf(text, "%ld %llx", &call, &arg) != 2 || (int)arg != fd)
		return false;
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (call == calls[i])
			return true;
	}
	return false;
}

uint32_t proc_netns(int root, pid_t pid)
{
	char link[64];

	if (proc_link(root, link, sizeof(link), "proc/%d/ns/net", pid) < 0)
		return 0;
	return (uint32_t)proc_inode(link, "net");
}

bool cgroup_next(char **rest, const char **controllers, const char **path)
{
	char *line;

	while ((line = strsep(rest, "\n"))) {
		char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;

		if (!at)
			continue;
		*names++ = *at++ = '\0';
		*controllers = names;
		*path = at;
		return true;
	}
	return false;
}

bool cgroup_of(int root, pid_t pid, struct cgroup *group)
{
	char text[8192], self[16] = "self", *rest = text;
	const char *names, *path;
	bool found = false;

	if (pid)
		snprintf(self, sizeof(self), "%d", (int)pid);
	proc_read(root, text, sizeof(text), "%sproc/%s/cgroup", root < 0 ? "/" : "", self);
	while (cgroup_next(&rest, &names, &path)) {
		const bool unified = !*names;

		/* a version 1 hierarchy may control the CPU instead of version 2 */
		if (unified ? found : strcmp(names, "cpu") && strcmp(names, "cpu,cpuacct"))
			continue;
		found = true;
		group->v2 = unified;
		group->root = (size_t)snprintf(group->dir, sizeof(group->dir), CGROUP_ROOT "%s%s",
					       unified ? "" : "/", names);
		snprintf(group->dir + group->root, sizeof(group->dir) - group->root, "%s",
			 strcmp(path, "/") ? path : "");
	}
	return found;
}

int cgroup_mount_v2(int root)
{
	/* alone, or alongside version 1 */
	static const char *const mounts[] = {"sys/fs/cgroup", "sys/fs/cgroup/unified"};

	for (unsigned i = 0; i < LENGTH(mounts); i++) {
		int fd = openat(root, mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC)
			return fd;
		fd_close(&fd);
	}
	return -ENOENT;
}

int cgroup_open_v2(void)
{
	int root = proc_root(NULL), mount = cgroup_mount_v2(root), ret = mount;
	const char *names = "", *path = "";
	char own[8192], *rest = own;

	if (mount >= 0)
		ret = proc_read(AT_FDCWD, own, sizeof(own), "/proc/self/cgroup");
	while (ret >= 0 && cgroup_next(&rest, &names, &path) && *names)
		;
	if (ret >= 0 && !*names && *path == '/') {
		ret = openat(mount, path[1] ? path + 1 : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		ret = ret < 0 ? -errno : ret;
	} else if (ret >= 0) {
		ret = -ENOENT;
	}
	fd_close(&mount);
	fd_close(&root);
	return ret;
}

bool cgroup_up(struct cgroup *group)
{
	if (strlen(group->dir) <= group->root)
		return false;
	*strrchr(group->dir, '/') = '\0';
	return true;
}
