// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Changes undone: newest first, each if it is still what was made. */
#include <errno.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/change_parts.h"
#include "host/journal_kept.h"
#include "host/nl.h"

#define WHY_SIZE 256

/* One entry on its way. */
struct step {
	const struct journal_kept *kept;
	struct change change;
	struct netns ns;
	char title[sizeof(((struct journal_record *)0)->target) + CHANGE_TITLE_SIZE];
	char now[JOURNAL_VALUE_SIZE];
	char why[WHY_SIZE];
};

/* The change of the entry, as change_apply() wrote it down. */
static int read_entry(struct step *s)
{
	const char *name = s->kept->rec.target, *blank = strchr(name, ' ');
	struct change *c = &s->change;

	while (c->kind < CHANGE_KINDS && strcmp(change_ops[c->kind].word, s->kept->rec.kind))
		c->kind++;
	if (c->kind == CHANGE_KINDS || !!blank != change_ops[c->kind].of_interface)
		return -EINVAL;
	if (blank) {
		if (blank - name >= (int)sizeof(c->ifname))
			return -EINVAL;
		memcpy(c->ifname, name, blank - name);
		name = blank + 1;
	}
	if (!change_setting(c->kind, name))
		return -EINVAL;
	memcpy(c->name, name, strlen(name) + 1); /* it fits: change_setting() */
	c->ns = &s->ns;
	memcpy(c->old, s->kept->rec.old, sizeof(c->old));
	memcpy(c->wanted, s->kept->rec.new, sizeof(c->wanted));
	return 0;
}

static enum change_outcome because(struct step *s, enum change_outcome outcome, const char *fmt,
				   ...) __attribute__((format(printf, 3, 4)));

static enum change_outcome because(struct step *s, enum change_outcome outcome, const char *fmt,
				   ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->why, sizeof(s->why), fmt, ap);
	va_end(ap);
	return outcome;
}

/* CHANGE_DONE: it is where it was. */
static enum change_outcome find_namespace(struct step *s)
{
	int ret;

	if (!change_ops[s->change.kind].of_namespace)
		return CHANGE_DONE;
	ret = netns_find(&s->ns, s->kept->netns);
	if (ret == -ENOENT)
		return because(s, CHANGE_GONE, "its network namespace is gone");
	if (ret)
		return because(s, CHANGE_KEPT, "cannot find its network namespace: %s",
			       strerror(-ret));
	return CHANGE_DONE;
}

static enum change_outcome find_interface(struct step *s)
{
	char name[IF_NAMESIZE], buf[IF_NAMESIZE];
	const char *device = change_device(&s->change, buf);
	int saved, ret;

	if (!device)
		return CHANGE_DONE;
	ret = nl_ifindex(&s->ns, device);
	if (ret == (int)s->kept->ifindex)
		return CHANGE_DONE;
	if (ret < 0 && ret != -ENODEV)
		return because(s, CHANGE_KEPT, "%s", strerror(-ret));
	saved = netns_push(&s->ns);
	if (saved < 0)
		return because(s, CHANGE_KEPT, "%s", strerror(-saved));
	ret = if_indextoname(s->kept->ifindex, name) ? 0 : -errno;
	netns_pop(saved);
	if (!ret)
		return because(s, CHANGE_KEPT, "the interface is called %s now", name);
	return because(s, CHANGE_GONE, "the interface is gone");
}

static enum change_outcome settle(struct step *s)
{
	const struct change *c = &s->change;
	int ret = change_read(&s->ns, c->kind, c->ifname, c->name, s->now);

	if (ret == -ENOENT || ret == -ENODEV)
		return because(s, CHANGE_GONE, "there is no such setting any more");
	if (ret == -EDOM)
		return because(s, CHANGE_FOREIGN, "somebody else has changed it");
	if (ret)
		return because(s, CHANGE_KEPT, "%s", strerror(-ret));
	if (!strcmp(s->now, c->old))
		return CHANGE_NOTHING;
	if (strcmp(s->now, c->wanted))
		return because(s, CHANGE_FOREIGN, "somebody else has changed it");
	ret = change_set(c, c->old);
	if (change_read(&s->ns, c->kind, c->ifname, c->name, s->now))
		*s->now = '\0';
	if (ret == -ERANGE)
		return because(s, CHANGE_KEPT, "the kernel does not take the old value");
	if (ret)
		return because(s, CHANGE_KEPT, "%s%s%s", strerror(-ret),
			       change_hint(ret) ? ": " : "",
			       change_hint(ret) ? change_hint(ret) : "");
	return CHANGE_DONE;
}

static enum change_outcome undo(struct step *s, struct change_told *told)
{
	struct journal_change *hold = NULL;
	enum change_outcome outcome;
	struct error err = {};

	told->title = s->title;
	if (read_entry(s)) {
		snprintf(s->title, sizeof(s->title), "%s %s", s->kept->rec.kind,
			 s->kept->rec.target);
		return because(s, CHANGE_KEPT, "this version does not know what it is");
	}
	told->change = &s->change;
	change_title(&s->change, s->title, sizeof(s->title));
	if (!journal_kept_this_boot(s->kept))
		return because(s, CHANGE_GONE, "the host was booted since");
	outcome = find_namespace(s);
	if (outcome == CHANGE_DONE)
		outcome = find_interface(s);
	if (outcome == CHANGE_DONE && s->change.kind == CHANGE_SYSCTL &&
	    journal_hold_sysctl(&hold, s->change.name, &err))
		outcome = because(s, CHANGE_KEPT, "%s", err.message);
	if (outcome == CHANGE_DONE)
		outcome = settle(s);
	journal_release(hold);
	netns_close(&s->ns);
	return outcome;
}

int change_undo(const char *undo_file, change_cb cb, void *arg, struct error *err)
{
	const char *path = undo_file ? undo_file : CHANGE_UNDO_FILE;
	struct journal_kept_file *file;
	int ret = journal_kept_open(&file, path, false, err);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	for (unsigned i = journal_kept_count(file); i-- > 0;) {
		struct step s = {.kept = journal_kept_at(file, i), .ns = NETNS_NONE};
		struct change_told told = {.current = s.now, .why = s.why};

		told.outcome = undo(&s, &told);
		if (cb)
			cb(arg, &told);
		if (told.outcome != CHANGE_KEPT)
			journal_kept_remove(file, i);
	}
	if (journal_kept_damaged(file))
		ret = error_set(err, STATUS_FAILED, -EBADMSG, "look at it, and remove it",
				"%s cannot be read from line %u on; what is there is not undone",
				path, journal_kept_damaged(file));
	if (journal_kept_save(file))
		ret = error_set(err, STATUS_FAILED, -EIO, "remove it if nothing is left to undo",
				"cannot write %s", path);
	journal_kept_close(file);
	return ret;
}

/* Its place is `ns`, this boot, and its value is still what was made. */
static bool in_force(struct step *s, const struct netns *ns, uint64_t netns)
{
	const struct change *c = &s->change;
	char buf[IF_NAMESIZE];
	const char *device;

	if (read_entry(s) || !journal_kept_this_boot(s->kept))
		return false;
	if (change_ops[c->kind].of_namespace && s->kept->netns != netns)
		return false;
	device = change_device(c, buf);
	if (device && nl_ifindex(ns, device) != (int)s->kept->ifindex)
		return false;
	return !change_read(ns, c->kind, c->ifname, c->name, s->now) && !strcmp(s->now, c->wanted);
}

static void add(struct change *list, unsigned *n, const struct change *c)
{
	unsigned i = 0;

	while (i < *n && !change_same_setting(&list[i], c))
		i++;
	list[i] = *c;
	if (i == *n)
		++*n;
}

int change_made(const struct netns *ns, const char *undo_file, struct change **changes, unsigned *n,
		struct error *err)
{
	struct journal_kept_file *file;
	uint64_t netns;
	int ret = journal_kept_open(&file, undo_file ? undo_file : CHANGE_UNDO_FILE, false, err);

	*changes = NULL;
	*n = 0;
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = netns_cookie(ns, &netns);
	*changes = calloc(journal_kept_count(file) + 1, sizeof(**changes));
	if (!*changes)
		ret = -ENOMEM;
	for (unsigned i = 0; !ret && i < journal_kept_count(file); i++) {
		struct step s = {.kept = journal_kept_at(file, i)};

		if (!in_force(&s, ns, netns))
			continue;
		s.change.ns = ns;
		add(*changes, n, &s.change);
	}
	journal_kept_close(file);
	return ret ? error_set(err, STATUS_FAILED, ret, NULL, "cannot read what was changed: %s",
			       strerror(-ret))
		   : 0;
}
