// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/textfile.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"

#define MODE 0644 /* the collector is another user */

static int failed(const char *path, int rc, struct error *err)
{
	if (rc == -EEXIST)
		return error_set(err, STATUS_USAGE, rc, "name another file, or remove it",
				 "%s is there, and was not written by pktledger", path);
	return error_set(err, STATUS_FAILED, rc, NULL, "cannot write %s: %s", path, strerror(-rc));
}

int textfile_check(const char *path, struct error *err)
{
	struct replace file;
	int rc = replace_begin(&file, path, EXPOSE_BEGIN, MODE);

	if (rc)
		return failed(path, rc, err);
	replace_end(&file, -ECANCELED);
	return 0;
}

int textfile_write(const char *path, const struct model *m, struct error *err)
{
	struct replace file;
	int rc = replace_begin(&file, path, EXPOSE_BEGIN, MODE);

	if (!rc)
		rc = replace_end(&file, model_write(m, EXPOSE_TEXT, file.out));
	return rc ? failed(path, rc, err) : 0;
}
