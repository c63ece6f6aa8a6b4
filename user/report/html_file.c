// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* So that no ledger is lost to a slip of the hand. */
static bool is_page(const char *path)
{
	char head[sizeof(HTML_BEGIN)] = "";
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(head, 1, sizeof(head) - 1, f) : 0;

	if (f)
		fclose(f);
	return !n || !strcmp(head, HTML_BEGIN);
}

/* Beside `path`, so that it can be renamed; EEXIST: what is there is no page. Its name in
 * `temporary`; "": it is the file itself. */
static FILE *open_file(const char *path, char *temporary, size_t size)
{
	struct stat st;
	FILE *f;
	int fd;

	*temporary = '\0';
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fopen(path, "we");
	if (!is_page(path)) {
		errno = EEXIST;
		return NULL;
	}
	if ((size_t)snprintf(temporary, size, "%s.XXXXXX", path) >= size) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkostemp(temporary, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w");
	if (!f) {
		close(fd);
		unlink(temporary);
	}
	return f;
}

static int failed(const char *path, int rc, struct error *err)
{
	return error_set(err, STATUS_FAILED, rc, NULL, "cannot write %s: %s", path, strerror(-rc));
}

int html_file(const char *path, const struct html_page *page, struct error *err)
{
	bool is_stdout = !strcmp(path, "-");
	char temporary[PATH_MAX] = "";
	FILE *f = is_stdout ? stdout : open_file(path, temporary, sizeof(temporary));
	int rc;

	if (!f && errno == EEXIST)
		return error_set(err, STATUS_USAGE, -EEXIST, "name another file, or remove it",
				 "%s is there, and is no page", path);
	if (!f)
		return failed(path, -errno, err);
	rc = html_write(f, page);
	if (!is_stdout && fclose(f) == EOF && !rc)
		rc = -errno;
	if (!rc && *temporary && rename(temporary, path))
		rc = -errno;
	if (rc && *temporary)
		unlink(temporary);
	return rc ? failed(path, rc, err) : 0;
}
