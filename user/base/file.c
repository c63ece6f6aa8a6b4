// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fd_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int file_open_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return fd;
	close(fd);
	return -EOPNOTSUPP;
}

int file_read(const char *path, char **text, size_t *len)
{
	int fd = file_open_to_read(path), ret = fd < 0 ? fd : 0;
	size_t cap = 8192, n = 0;
	char *buf = NULL, *more;
	ssize_t got = 1;

	while (!ret && got) {
		more = buf && n + 1 < cap ? buf : cap < FILE_MOST ? realloc(buf, cap *= 2) : NULL;
		if (!more) {
			ret = cap < FILE_MOST ? -ENOMEM : -EFBIG;
			break;
		}
		buf = more;
		got = read(fd, buf + n, cap - n - 1);
		if (got < 0 && errno != EINTR)
			ret = -errno;
		n += got > 0 ? (size_t)got : 0;
	}
	fd_close(&fd);
	if (ret) {
		free(buf);
		return ret;
	}
	buf[n] = '\0';
	*text = buf;
	if (len)
		*len = n;
	return 0;
}

size_t file_write(int fd, const void *from, size_t n)
{
	size_t done = 0;
	ssize_t now = 1;

	while (done < n && (now > 0 || (now && errno == EINTR))) {
		now = write(fd, (const char *)from + done, n - done);
		done += now > 0 ? (size_t)now : 0;
	}
	if (!now)
		errno = ENOSPC;
	return done;
}

static bool is_trusted(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

int file_open_ours(const char *path, int flags)
{
	bool there, link, pipe;
	struct stat st;
	int fd;

	there = !lstat(path, &st);
	link = there && S_ISLNK(st.st_mode);
	pipe = there && S_ISFIFO(st.st_mode);
	if (there && !is_trusted(&st))
		return -EPERM;
	/* opening a pipe would wait for a reader */
	fd = open(path,
		  flags | O_CREAT | O_CLOEXEC | (link ? 0 : O_NOFOLLOW) | (pipe ? O_NONBLOCK : 0),
		  0600);
	if (fd < 0)
		return -errno;
	if (link || (!fstat(fd, &st) && is_trusted(&st)))
		return fd;
	close(fd); /* created in the meantime */
	return -EPERM;
}

const char *file_hint(int rc, const char *hint)
{
	return rc == -EPERM    ? FILE_OF_OTHERS
	       : rc == -EOPNOTSUPP ? "it is a pipe or a socket; use a regular file"
			       : hint;
}

static bool is_ours(const char *path, const char *begin)
{
	char head[64] = "";
	size_t len = strnlen(begin, sizeof(head));
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, len, f) : 0;

	if (f)
		fclose(f);
	return !n || (n == len && !memcmp(head, begin, len));
}

/* Creates a temporary file in the same directory as `path`, so that it can be renamed. */
static FILE *open_beside(struct replace *r, mode_t mode)
{
	FILE *f;
	int fd;

	if ((size_t)snprintf(r->temporary, sizeof(r->temporary), "%s.XXXXXX", r->path) >=
	    sizeof(r->temporary)) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(r->temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return NULL;
	f = fchmod(fd, mode) ? NULL : fdopen(fd, "w");
	if (!f) {
		close(fd);
		unlink(r->temporary);
	}
	return f;
}

int replace_begin(struct replace *r, const char *path, const char *begin, mode_t mode)
{
	struct stat st;
	int fd;

	r->path = path;
	r->temporary[0] = '\0';
	if (!lstat(path, &st) && S_ISFIFO(st.st_mode))
		return -EOPNOTSUPP;
	if (!stat(path, &st) && !S_ISREG(st.st_mode)) {
		fd = file_open_ours(path, O_WRONLY);
		if (fd < 0)
			return fd;
		r->out = fdopen(fd, "w");
	} else if (!is_ours(path, begin)) {
		return -EEXIST;
	} else {
		r->out = open_beside(r, mode);
	}
	return r->out ? 0 : -errno;
}

int replace_end(struct replace *r, int rc)
{
	if (fclose(r->out) == EOF && !rc)
		rc = -errno;
	if (!rc && *r->temporary && rename(r->temporary, r->path))
		rc = -errno;
	if (rc && *r->temporary)
		unlink(r->temporary);
	return rc;
}
