// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/proc.h"

#define FILEID_KERNFS 0xfe /* include/linux/exportfs.h */
#define WALK_DEPTH    24
#define WALK_MOST     10000 /* directories */

/* Mount points of version 2: of its own, or beside version 1. */
static const char *const mounts[] = {"sys/fs/cgroup", "sys/fs/cgroup/unified"};

/* The directory of version 2 (`real`), else one that stands for it in a test. -1: none. */
static int open_mount(int root, bool *real)
{
	int found = -1;

	*real = false;

	for (unsigned i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		int fd = openat(root, mounts[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd < 0)
			continue;
		if (found >= 0)
			close(found);
		found = fd;
		*real = !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC;
		if (*real)
			break;
	}
	return found;
}

/* The path of `fd` below that of `mount`. */
static int path_below(int mount, int fd, char *buf, size_t size)
{
	char top[PATH_MAX], path[PATH_MAX];
	int n = proc_link(AT_FDCWD, top, sizeof(top), "/proc/self/fd/%d", mount);
	int len = proc_link(AT_FDCWD, path, sizeof(path), "/proc/self/fd/%d", fd);

	if (n < 0 || len < n || strncmp(top, path, (size_t)n))
		return -ENOENT;
	snprintf(buf, size, "%s", len == n ? "/" : path + n);
	return 0;
}

static int path_by_handle(int mount, uint64_t id, char *buf, size_t size)
{
	_Alignas(struct file_handle) char space[sizeof(struct file_handle) + sizeof(id)];
	struct file_handle *handle = (struct file_handle *)space;
	int fd, ret;

	handle->handle_bytes = sizeof(id);
	handle->handle_type = FILEID_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount, handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = path_below(mount, fd, buf, size);
	close(fd);
	return ret;
}

struct walk {
	uint64_t id;
	unsigned left;
	char *buf;
	size_t size;
};

/* `at`: where in the buffer the path of `fd` ends. Takes `fd`. */
static int walk(struct walk *w, int fd, size_t at, unsigned depth)
{
	DIR *dir = fdopendir(fd);
	int ret = -ENOENT;
	struct dirent *e;

	if (!dir) {
		close(fd);
		return -errno;
	}
	while (ret == -ENOENT && (e = readdir(dir))) {
		size_t len = strlen(e->d_name);
		int sub;

		if (e->d_type != DT_DIR || e->d_name[0] == '.' || at + len + 2 > w->size)
			continue;
		if (!w->left--)
			ret = -E2BIG;
		snprintf(w->buf + at, w->size - at, "/%s", e->d_name);
		if (ret == -ENOENT && e->d_ino == w->id)
			ret = 0;
		if (ret == -ENOENT && depth < WALK_DEPTH) {
			sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (sub >= 0)
				ret = walk(w, sub, at + len + 1, depth + 1);
		}
	}
	closedir(dir);
	return ret;
}

int cgroup_path(int root, uint64_t id, char *buf, size_t size)
{
	bool real;
	int mount = open_mount(root, &real);
	int ret = -EPERM;

	if (mount < 0)
		return -ENOENT;
	if (real)
		ret = path_by_handle(mount, id, buf, size);
	if (ret == -EPERM)
		return walk(&(struct walk){id, WALK_MOST, buf, size}, mount, 0, 0);
	close(mount);
	return ret == -ESTALE ? -ENOENT : ret;
}

/* A line "4:memory:/path": version 2 has no controllers. */
struct line {
	char *controllers, *path;
};

static bool next_line(char **text, struct line *l)
{
	char *line;

	while ((line = strsep(text, "\n"))) {
		l->controllers = strchr(line, ':');
		l->path = l->controllers ? strchr(l->controllers + 1, ':') : NULL;
		if (!l->path)
			continue;
		l->controllers++;
		*l->path++ = '\0';
		return true;
	}
	return false;
}

static bool is_directory(int dir, const char *path)
{
	struct stat st;

	return !fstatat(dir, path, &st, 0) && S_ISDIR(st.st_mode);
}

bool cgroup_exists(const char *root, const char *path)
{
	int top = proc_root(root);
	DIR *dir = top < 0 ? NULL : proc_dir(top, "%s", mounts[0]);
	char below[PATH_MAX];
	const struct dirent *e;
	bool found = !dir;

	path += strspn(path, "/");
	if (dir)
		found = !*path || is_directory(dirfd(dir), path);
	while (!found && (e = readdir(dir))) { /* a hierarchy each */
		snprintf(below, sizeof(below), "%s/%s", e->d_name, path);
		found = *e->d_name != '.' && is_directory(dirfd(dir), below);
	}
	if (dir)
		closedir(dir);
	if (top >= 0)
		close(top);
	return found;
}

int cgroup_of_process(int root, pid_t pid, char *buf, size_t size)
{
	char text[8192], *rest = text;
	const char *best = NULL;
	struct line l;
	int n = proc_read(root, text, sizeof(text), "proc/%d/cgroup", pid);

	if (n < 0)
		return n;
	while (next_line(&rest, &l)) {
		if (!best || strlen(l.path) > strlen(best))
			best = l.path;
		if (!*l.controllers && strcmp(l.path, "/")) {
			best = l.path;
			break;
		}
	}
	if (!best)
		return -ENOENT;
	snprintf(buf, size, "%s", best);
	return 0;
}
