// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes done: the entries first, then the values, each read back; or put back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/change_parts.h"
#include "host/journal_kept.h"
#include "host/nl.h"

struct batch {
	const struct change *changes;
	unsigned n;
	struct journal_change **holds; /* of sysctls: from changes that do not stay */
	struct journal_kept_file *file;
	unsigned first; /* entry of changes[0] */
	change_cb cb;
	void *arg;
};

static int cannot(const struct change *c, int code, struct error *err)
{
	char title[CHANGE_TITLE_SIZE];

	change_title(c, title, sizeof(title));
	if (code == -ESTALE)
		return error_set(err, STATUS_FAILED, code, "check again",
				 "%s is no longer '%s'; nothing was changed", title, c->old);
	if (code == -ERANGE)
		return error_set(err, STATUS_FAILED, code, NULL,
				 "%s does not become '%s': the kernel or the device makes another "
				 "value of it",
				 title, c->wanted);
	return error_set(err, STATUS_UNABLE, code, change_hint(code), "cannot set %s to '%s': %s",
			 title, c->wanted, strerror(-code));
}

static int add_entry(struct batch *b, const struct change *c)
{
	const struct change_ops *ops = &change_ops[c->kind];
	char buf[sizeof(c->ifname)];
	const char *device = change_device(c, buf);
	struct journal_kept k = {};
	int ret = 0;

	snprintf(k.rec.kind, sizeof(k.rec.kind), "%s", ops->word);
	snprintf(k.rec.target, sizeof(k.rec.target), "%s%s%s", c->ifname, *c->ifname ? " " : "",
		 c->name);
	memcpy(k.rec.old, c->old, sizeof(k.rec.old));
	memcpy(k.rec.new, c->wanted, sizeof(k.rec.new));
	if (ops->of_namespace)
		ret = netns_cookie(c->ns, &k.netns);
	if (!ret && device)
		ret = nl_ifindex(c->ns, device);
	if (ret < 0)
		return ret;
	k.ifindex = ret;
	return journal_kept_add(b->file, &k);
}

/* Locks, the values as they were planned to be, entries; in this order, and nothing is changed. */
static int prepare(struct batch *b, struct error *err)
{
	char now[JOURNAL_VALUE_SIZE];
	int ret = 0;

	if (journal_kept_damaged(b->file))
		return error_set(err, STATUS_FAILED, -EBADMSG,
				 "look at it, and remove it or take another file",
				 "the record of earlier changes cannot be read from line %u on",
				 journal_kept_damaged(b->file));
	for (unsigned i = 0; i < b->n && !ret; i++) {
		const struct change *c = &b->changes[i];

		if (c->kind == CHANGE_SYSCTL)
			ret = journal_hold_sysctl(&b->holds[i], c->name, err);
		if (!ret)
			ret = change_read(c->ns, c->kind, c->ifname, c->name, now);
		if (!ret && strcmp(now, c->old))
			ret = -ESTALE;
		if (!ret)
			ret = add_entry(b, c);
		if (ret)
			cannot(c, ret, err);
	}
	if (ret)
		return ret;
	ret = journal_kept_save(b->file);
	return ret ? error_set(err, STATUS_UNABLE, ret, change_hint(ret),
			       "cannot write down what is changed, so nothing is: %s",
			       strerror(-ret))
		   : 0;
}

static void tell(const struct batch *b, unsigned i, enum change_outcome outcome, int code)
{
	const struct change *c = &b->changes[i];
	char now[JOURNAL_VALUE_SIZE] = "", title[CHANGE_TITLE_SIZE];
	struct change_told told = {.change = c, .outcome = outcome, .current = now};

	told.title = change_title(c, title, sizeof(title));
	told.why = code ? strerror(-code) : "";
	if (change_read(c->ns, c->kind, c->ifname, c->name, now))
		*now = '\0';
	if (b->cb)
		b->cb(b->arg, &told);
}

/* changes[failed] has failed: it, and those before it, as they were. Only what stays has entries.
 */
static void put_back(struct batch *b, unsigned failed, int code)
{
	for (unsigned i = b->n; i-- > 0;) {
		const struct change *c = &b->changes[i];
		int ret = i > failed ? 0 : change_set(c, c->old);

		if (i == failed)
			tell(b, i, CHANGE_FAILED, code);
		if (ret)
			tell(b, i, CHANGE_KEPT, ret);
		else if (i < failed)
			tell(b, i, CHANGE_BACK, 0);
		if (!ret)
			journal_kept_remove(b->file, b->first + i);
	}
}

static int make(struct batch *b, struct error *err)
{
	int ret = 0;

	for (unsigned i = 0; i < b->n; i++) {
		ret = change_set(&b->changes[i], b->changes[i].wanted);
		if (ret) {
			cannot(&b->changes[i], ret, err);
			put_back(b, i, ret);
			break;
		}
		tell(b, i, CHANGE_DONE, 0);
	}
	return ret;
}

int change_apply(const struct change *changes, unsigned n, const char *undo_file, change_cb cb,
		 void *arg, struct error *err)
{
	struct batch b = {.changes = changes, .n = n, .cb = cb, .arg = arg};
	int ret = journal_kept_open(&b.file, undo_file ? undo_file : CHANGE_UNDO_FILE, true, err);

	if (ret)
		return ret;
	b.first = journal_kept_count(b.file);
	b.holds = calloc(n ? n : 1, sizeof(struct journal_change *));
	ret = b.holds ? prepare(&b, err)
		      : error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	if (ret)
		while (journal_kept_count(b.file) > b.first)
			journal_kept_remove(b.file, b.first);
	else
		ret = make(&b, err);
	if (ret)
		journal_kept_save(b.file); /* if it fails, entries that are not needed stay */
	for (unsigned i = 0; i < n && b.holds; i++)
		journal_release(b.holds[i]);
	free(b.holds);
	journal_kept_close(b.file);
	return ret;
}
