// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/choose.h"

#include <errno.h>
#include <string.h>

/* What was sent and received is told apart from what was only watched. */
static int check_kinds(const struct ledgers *l, struct error *err)
{
	const struct ledgers_document *d;
	unsigned n;

	d = ledgers_documents(l, &n);
	for (unsigned i = 1; i < n; i++) {
		/* of one file they stand one below the other */
		if (d[0].path != d[i].path && strcmp(d[0].command, d[i].command))
			return error_set(err, STATUS_USAGE, -EINVAL,
					 "report them apart, or choose by --number",
					 "%s is of %s, and %s of %s", d[0].path, d[0].command,
					 d[i].path, d[i].command);
	}
	return 0;
}

/* The only one of a file. */
static const struct ledgers_document *only(const struct ledgers *l, const char *path,
					   struct error *err)
{
	const struct ledgers_document *d, *found = NULL;
	unsigned n, of_file = 0;

	d = ledgers_documents(l, &n);
	for (unsigned i = 0; i < n; i++) {
		if (d[i].path != path)
			continue;
		found = &d[i];
		of_file++;
	}
	if (of_file != 1) {
		error_set(err, STATUS_USAGE, -EINVAL, "choose one by --number, or by --since",
			  "%s holds %u, and of two files one each is compared", path, of_file);
		return NULL;
	}
	if (!json_get(found->json, "end")) {
		error_set(err, STATUS_FAILED, -ENODATA, "report it alone",
			  "%s has no end that could be compared", path);
		return NULL;
	}
	return found;
}

int choose_pair(const struct ledgers *l, const struct ledgers_document **a,
		const struct ledgers_document **b, struct error *err)
{
	const struct ledgers_document *d;
	const struct ledgers_file *f;
	unsigned documents, files;
	int rc = check_kinds(l, err);

	*a = *b = NULL;
	d = ledgers_documents(l, &documents);
	f = ledgers_files(l, &files);
	if (rc || files < 2 || !documents || d->parts)
		return rc;
	if (files > 2)
		return error_set(err, STATUS_USAGE, -EINVAL, "name two of them",
				 "two ledgers of %s are compared, not %u", d->command, files);
	*a = only(l, f[0].path, err);
	*b = *a ? only(l, f[1].path, err) : NULL;
	return *b ? 0 : -EINVAL;
}
