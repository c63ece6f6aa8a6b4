// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html_file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/file.h"

static int failed(const char *path, int rc, struct error *err)
{
	return error_set(err, STATUS_FAILED, rc, NULL, "cannot write %s: %s", path, strerror(-rc));
}

int html_file(const char *path, const struct html_page *page, struct error *err)
{
	bool is_stdout = !strcmp(path, "-");
	struct replace file = {.out = stdout};
	int rc = is_stdout ? 0 : replace_begin(&file, path, HTML_BEGIN, 0600);

	if (rc == -EEXIST)
		return error_set(err, STATUS_USAGE, -EEXIST, "name another file, or remove it",
				 "%s is there, and is no page", path);
	if (rc)
		return failed(path, rc, err);
	rc = html_write(file.out, page);
	if (!is_stdout)
		rc = replace_end(&file, rc);
	return rc ? failed(path, rc, err) : 0;
}
