// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "report/capfile.h"
#include "report/load_parts.h"
#include "report/drop.h"
#include "report/printed.h"

struct ledgers {
	struct ledgers_file *file;
	unsigned files;
	struct ledgers_document *document;
	unsigned documents;
};

int ledgers_add(struct ledgers *l, const struct ledgers_document *d)
{
	struct ledgers_document *more;

	more = realloc(l->document, (l->documents + 1) * sizeof(*more));
	if (!more) {
		json_object_put(d->json);
		fatesum_free(d->fates);
		return -ENOMEM;
	}
	l->document = more;
	more[l->documents++] = *d;
	return 0;
}

static int read_capture(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
			struct error *err)
{
	struct ledgers_document d;
	int rc = lostcap_read(file->path, spec, &d, file, err);

	if (!rc && d.json && ledgers_add(l, &d))
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	return rc;
}

/* Documents that another has put together already. */
static int read_printed(struct ledgers *l, const struct load_spec *spec, struct ledgers_file *file,
			struct error *err)
{
	struct json_object *list;
	int rc = printed_load(file->path, &list, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < json_object_array_length(list) && !rc; i++) {
		struct ledgers_document d = {
			.json = json_object_array_get_idx(list, i),
			.path = file->path,
			.number = ++file->documents,
		};

		if (spec->number && spec->number != d.number)
			continue;
		load_command(json_get_text(d.json, "schema"), d.command);
		when_date(json_get_text(json_get(d.json, "start"), "time"), &d.from_ns);
		d.to_ns = d.from_ns;
		d.damaged = load_is_one_end(d.command) && load_fates_disagree(d.json);
		json_object_get(d.json);
		rc = ledgers_add(l, &d);
	}
	json_object_put(list);
	return rc ? error_set(err, STATUS_FAILED, rc, NULL, "out of memory") : 0;
}

static int read_file(struct ledgers *l, const struct load_spec *spec, const char *path,
		     struct error *err)
{
	struct ledgers_file *file = &l->file[l->files++];
	int rc;

	file->path = path;
	if (capfile_is(path))
		return read_capture(l, spec, file, err);
	if (spec->printed && printed_is(path))
		return read_printed(l, spec, file, err);
	rc = load_check_kind(path, err);
	return rc ? rc : load_lines(l, spec, file, err);
}

static void forget_documents(struct ledgers *l)
{
	for (unsigned i = 0; i < l->documents; i++) {
		json_object_put(l->document[i].json);
		fatesum_free(l->document[i].fates);
	}
	l->documents = 0;
}

int ledgers_replace(struct ledgers *l, const struct ledgers_document *docs, unsigned n)
{
	int rc = 0;

	forget_documents(l);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = ledgers_add(l, &docs[i]);
	return rc;
}

int ledgers_load(struct ledgers **out, const struct load_spec *spec, struct error *err)
{
	struct ledgers *l = calloc(1, sizeof(*l));
	int rc = 0;

	*out = NULL;
	if (l)
		l->file = calloc(spec->n + 1, sizeof(*l->file));
	if (!l || !l->file)
		rc = error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	for (unsigned i = 0; i < spec->n && !rc; i++)
		rc = read_file(l, spec, spec->path[i], err);
	if (rc)
		ledgers_free(l);
	else
		*out = l;
	return rc;
}

void ledgers_free(struct ledgers *l)
{
	if (!l)
		return;
	forget_documents(l);
	free(l->document);
	free(l->file);
	free(l);
}

const struct ledgers_document *ledgers_documents(const struct ledgers *l, unsigned *n)
{
	*n = l->documents;
	return l->document;
}

const struct ledgers_file *ledgers_files(const struct ledgers *l, unsigned *n)
{
	*n = l->files;
	return l->file;
}
