// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_all(int fd, char **text, size_t *len)
{
	size_t cap = 8192, n = 0;
	char *buf = NULL;
	ssize_t got = 1;

	while (got) {
		char *more = buf && n + 1 < cap ? buf : realloc(buf, cap *= 2);

		if (!more) {
			free(buf);
			return -ENOMEM;
		}
		buf = more;
		got = read(fd, buf + n, cap - n - 1);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int ret = -errno;

			free(buf);
			return ret;
		}
		n += (size_t)got;
	}
	buf[n] = '\0';
	*text = buf;
	if (len)
		*len = n;
	return 0;
}

int file_read(const char *path, char **text, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int ret;

	if (fd < 0)
		return -errno;
	ret = read_all(fd, text, len);
	close(fd);
	return ret;
}

bool file_line(const char *path, char *buf, size_t size)
{
	char *text;

	if (file_read(path, &text, NULL))
		return false;
	/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): -errno is not 0 */
	text[strcspn(text, "\n")] = '\0';
	snprintf(buf, size, "%s", text);
	free(text);
	return buf[0];
}
