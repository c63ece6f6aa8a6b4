// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/change.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host/change_parts.h"
#include "host/nl.h"

#define POLL_MS 100

/* Names become part of paths: they stay below the directory of their kind. */
static bool is_name(enum change_kind kind, const char *name)
{
	bool number = kind == CHANGE_IRQ || kind == CHANGE_GOVERNOR;

	if (!*name || *name == '/' || strlen(name) >= CHANGE_NAME_SIZE || strstr(name, ".."))
		return false;
	for (const char *c = name; *c; c++) {
		if (number ? !isdigit((unsigned char)*c) : !isgraph((unsigned char)*c))
			return false;
	}
	return true;
}

const struct change_setting *change_setting(enum change_kind kind, const char *name)
{
	if (!is_name(kind, name))
		return NULL;
	for (const struct change_setting *s = change_settings; s->name; s++) {
		if (s->kind == kind && !fnmatch(s->name, name, 0))
			return s;
	}
	return NULL;
}

bool change_of_namespace(enum change_kind kind)
{
	return change_ops[kind].of_namespace;
}

struct change_at change_place(const struct change *c)
{
	return (struct change_at){.ns = c->ns,
				  .kind = c->kind,
				  .set = change_setting(c->kind, c->name),
				  .ifname = c->ifname,
				  .name = c->name};
}

const char *change_device(const struct change *c, char buf[16])
{
	int end = 0;

	if (change_ops[c->kind].of_interface)
		return c->ifname;
	if (c->kind != CHANGE_SYSCTL ||
	    fnmatch("net/ipv[46]/@(conf|neigh)/*/*", c->name, FNM_EXTMATCH))
		return NULL;
	if (sscanf(c->name, "net/ipv%*c/%*[a-z]/%15[^/]/%n", buf, &end) != 1 || !end ||
	    !strcmp(buf, "all") || !strcmp(buf, "default"))
		return NULL;
	return buf;
}

/* The namespace has the device, and its name is not a path. */
static int check_device(const struct change_at *at)
{
	int ret;

	if (!change_ops[at->kind].of_interface)
		return *at->ifname ? -EINVAL : 0;
	if (strchr(at->ifname, '/') || *at->ifname == '.')
		return -ENODEV;
	ret = nl_ifindex(at->ns, at->ifname);
	return ret < 0 ? ret : 0;
}

static int read_at(const struct change_at *at, char value[JOURNAL_VALUE_SIZE])
{
	int ret = at->set ? check_device(at) : -ENOENT;

	return ret ? ret : change_ops[at->kind].read(at, value);
}

int change_read(const struct netns *ns, enum change_kind kind, const char *ifname, const char *name,
		char value[JOURNAL_VALUE_SIZE])
{
	const struct change_at at = {.ns = ns,
				     .kind = kind,
				     .set = change_setting(kind, name),
				     .ifname = ifname ? ifname : "",
				     .name = name};

	return read_at(&at, value);
}

int change_set(const struct change *c, const char *value)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	const struct change_at at = change_place(c);
	char now[JOURNAL_VALUE_SIZE];
	int ret = read_at(&at, now);

	if (ret || !strcmp(now, value))
		return ret;
	ret = change_ops[c->kind].write(&at, value);
	if (!ret)
		ret = read_at(&at, now);
	for (unsigned ms = 0; !ret && strcmp(now, value) && ms < change_ops[c->kind].wait_ms;
	     ms += POLL_MS) {
		nanosleep(&pause, NULL);
		ret = read_at(&at, now);
	}
	return ret ? ret : strcmp(now, value) ? -ERANGE : 0;
}

const char *change_hint(int code)
{
	if (code == -EROFS)
		return "it is read-only here: do it on the host itself, not in a container";
	if (code == -EACCES || code == -EPERM)
		return geteuid() ? "run it as root"
				 : "only the host's own network namespace, outside any container, "
				   "may set it";
	if (code == -EOPNOTSUPP)
		return "the driver does not do it";
	return NULL;
}

static int no_reading(const struct change *c, int code, struct error *err)
{
	char title[CHANGE_TITLE_SIZE];

	change_title(c, title, sizeof(title));
	switch (code) {
	case -ENODEV:
		return error_set(err, STATUS_FAILED, code, "`ip link` lists the interfaces",
				 "there is no interface '%s'", c->ifname);
	case -ENOENT:
		return error_set(err, STATUS_UNABLE, code, NULL, "there is no %s here", title);
	case -EOPNOTSUPP:
		return error_set(err, STATUS_UNABLE, code, NULL, "the driver does not tell: %s",
				 title);
	case -EDOM:
		return error_set(err, STATUS_UNABLE, code, "change it by hand",
				 "%s is set up in a way that could not be put back", title);
	case -EXDEV:
		return error_set(err, STATUS_UNABLE, code,
				 "enter the namespace by `ip netns exec` or `nsenter --all`",
				 "/sys shows the devices of another network namespace, no %s",
				 title);
	default:
		return error_set(err, STATUS_UNABLE, code, NULL, "cannot read %s: %s", title,
				 strerror(-code));
	}
}

static int no_value(const struct change *c, const char *wanted, uint64_t max, int code,
		    struct error *err)
{
	char title[CHANGE_TITLE_SIZE];

	change_title(c, title, sizeof(title));
	if (code == -ERANGE && max)
		return error_set(err, STATUS_FAILED, code, NULL,
				 "%s cannot be %s: it is at most %llu", title, wanted,
				 (unsigned long long)max);
	if (code == -EDOM)
		return error_set(
			err, STATUS_UNABLE, code, "change it by hand",
			"%s is %s: to put that back as it is takes more than is known here", title,
			c->old);
	return error_set(err, STATUS_FAILED, code, NULL, "%s cannot be '%s': %s", title, wanted,
			 code == -EINVAL   ? "not a value of it"
			 : code == -ERANGE ? "out of range"
					   : strerror(-code));
}

static int check_wanted(struct change *c, const struct change_at *at, const char *wanted,
			struct error *err)
{
	const struct change_ops *ops = &change_ops[c->kind];
	uint64_t max = at->set->max;
	int ret = 0;

	if (at->set->max_offset)
		ret = ops->limit(at, &max);
	if (!ret)
		ret = ops->check ? ops->check(at, c->old, wanted, c->wanted)
				 : change_form(at->set, max, c->old, wanted, c->wanted);
	return ret ? no_value(c, wanted, max, ret, err) : 0;
}

int change_plan(struct change *change, const struct netns *ns, enum change_kind kind,
		const char *ifname, const char *name, const char *wanted, struct error *err)
{
	struct change_at at;
	int ret;

	memset(change, 0, sizeof(*change));
	change->kind = kind;
	change->ns = ns;
	if (!ifname)
		ifname = "";
	if (snprintf(change->ifname, sizeof(change->ifname), "%s", ifname) >=
		    (int)sizeof(change->ifname) ||
	    snprintf(change->name, sizeof(change->name), "%s", name) >= (int)sizeof(change->name))
		return error_set(err, STATUS_FAILED, -ENAMETOOLONG, NULL,
				 "there is no setting '%s' of '%s'", name, ifname);
	at = change_place(change);
	ret = read_at(&at, change->old);
	if (ret)
		return no_reading(change, ret, err);
	ret = check_wanted(change, &at, wanted, err);
	if (ret)
		return ret;
	return strcmp(change->old, change->wanted) ? 0 : -EALREADY;
}

char *change_quote(const char *word, char *buf, size_t size)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_-./:,@%+=";
	size_t n = 0;

	if (*word && !word[strspn(word, plain)]) {
		snprintf(buf, size, "%s", word);
		return buf;
	}
	if (size > 2)
		buf[n++] = '\'';
	for (; *word && n + 5 < size; word++) {
		if (*word == '\'')
			n += snprintf(buf + n, size - n, "'\\''");
		else
			buf[n++] = *word;
	}
	snprintf(buf + n, size - n, "%s", n ? "'" : "");
	return buf;
}

char *change_command(const struct change *change, char *buf, size_t size)
{
	const struct change_at at = change_place(change);

	change_ops[change->kind].command(&at, change->old, change->wanted, buf, size);
	return buf;
}

char *change_undo_command(const struct change *change, char *buf, size_t size)
{
	const struct change_at at = change_place(change);

	change_ops[change->kind].command(&at, change->wanted, change->old, buf, size);
	return buf;
}

char *change_command_in(const struct change *change, bool undo, const char *netns, char *buf,
			size_t size)
{
	char command[CHANGE_COMMAND_SIZE], quoted[2 * CHANGE_COMMAND_SIZE], name[64];
	bool redirects;

	if (undo)
		change_undo_command(change, command, sizeof(command));
	else
		change_command(change, command, sizeof(command));
	if (!netns || !change->ns || !change_ops[change->kind].of_namespace) {
		snprintf(buf, size, "%s", command);
		return buf;
	}
	/* The file that is written to must be that of the namespace, not of the shell outside. */
	redirects = strstr(command, " > ");
	snprintf(buf, size, "ip netns exec %s %s%s", change_quote(netns, name, sizeof(name)),
		 redirects ? "sh -c " : "",
		 redirects ? change_quote(command, quoted, sizeof(quoted)) : command);
	return buf;
}

bool change_same_setting(const struct change *a, const struct change *b)
{
	return a->ns == b->ns && a->kind == b->kind && !strcmp(a->ifname, b->ifname) &&
	       !strcmp(a->name, b->name);
}

const char *change_risk(const struct change *change)
{
	const struct change_setting *set = change_setting(change->kind, change->name);

	return set && set->risk ? set->risk : change_ops[change->kind].risk;
}

char *change_title(const struct change *change, char *buf, size_t size)
{
	const struct change_ops *ops = &change_ops[change->kind];
	char name[CHANGE_NAME_SIZE];

	snprintf(name, sizeof(name), "%s", change->name);
	if (change->kind == CHANGE_SYSCTL)
		change_sysctl_name(change->name, name, sizeof(name));
	snprintf(buf, size, "%s%s%s%s%s", change->ifname, *change->ifname ? " " : "", ops->before,
		 name, ops->after);
	return buf;
}
