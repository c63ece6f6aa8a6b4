// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Plans, prints, applies and undoes changes of every kind, and writes the files that keep them
 * across a reboot.
 */
#include "host/change.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/json.h"
#include "host/nl.h"

#define POLL_MS 100
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

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

/*
 * Reads the current value, provided that the namespace has the interface and its name is not a
 * path.
 */
static int read_now(const struct change *c, char value[JOURNAL_VALUE_SIZE])
{
	int ret = 0;

	if (!change_setting(c->kind, c->name))
		return -ENOENT;
	if (!change_ops[c->kind].of_interface)
		ret = *c->ifname ? -EINVAL : 0;
	else if (strchr(c->ifname, '/') || *c->ifname == '.')
		ret = -ENODEV;
	else
		ret = nl_ifindex(c->ns, c->ifname);
	return ret < 0 ? ret : change_ops[c->kind].read(c, value);
}

static struct change change_of(const struct netns *ns, enum change_kind kind, const char *ifname,
			       const char *name)
{
	struct change c = {.kind = kind, .ns = ns};

	snprintf(c.ifname, sizeof(c.ifname), "%s", ifname ? ifname : "");
	snprintf(c.name, sizeof(c.name), "%s", name);
	return c;
}

int change_read(const struct netns *ns, enum change_kind kind, const char *ifname, const char *name,
		char value[JOURNAL_VALUE_SIZE])
{
	const struct change c = change_of(ns, kind, ifname, name);

	return read_now(&c, value);
}

static bool is_value(const char *text)
{
	size_t len = strlen(text);

	for (const char *c = text; *c; c++) {
		if (!isprint((unsigned char)*c))
			return false;
	}
	return len && len < JOURNAL_VALUE_SIZE;
}

int change_plan(struct change *change, const struct netns *ns, enum change_kind kind,
		const char *ifname, const char *name, const char *wanted)
{
	int ret;

	*change = change_of(ns, kind, ifname, name);
	ret = is_value(wanted) ? read_now(change, change->old) : -EINVAL;
	if (ret)
		return ret;
	snprintf(change->wanted, sizeof(change->wanted), "%s", wanted);
	if (!strcmp(change->old, wanted))
		return -EALREADY;
	return change_ops[kind].check ? change_ops[kind].check(change) : 0;
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

char *change_command(const struct change *change, bool undo, char *buf, size_t size)
{
	const struct recipe_step step = change_step(change, undo);
	const bool inside = change_ops[change->kind].of_namespace;

	*buf = '\0';
	if (!*step.text)
		return buf;
	return recipe_command(&step, inside ? change->enter : NULL, buf, size);
}

bool change_same_setting(const struct change *a, const struct change *b)
{
	return a->ns == b->ns && a->kind == b->kind && !strcmp(a->ifname, b->ifname) &&
	       !strcmp(a->name, b->name);
}

const char *change_effect(const struct change *change)
{
	const struct change_setting *set = change_setting(change->kind, change->name);

	return set && set->effect ? set->effect : "";
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

/*
 * Applies or undoes the change and reads the result back into `now`. Takes the same steps that
 * change_command() shows: writes a file or runs a program without a shell. Returns -ERANGE if the
 * value did not change or was not restored. `why` explains why a program failed. `lock` is the undo
 * file's lock. The program inherits it, so that the next owner waits for the program.
 */
static int set(const struct change *c, bool undo, int lock, char now[JOURNAL_VALUE_SIZE],
	       struct error *why)
{
	const struct change_ops *ops = &change_ops[c->kind];
	const struct recipe_step step = change_step(c, undo);
	int ret = recipe_step_run(&step, lock, why);
	bool is_old = !undo;

	for (unsigned ms = 0; !ret && is_old != undo && ms <= ops->wait_ms; ms += POLL_MS) {
		if (ms)
			clock_sleep(POLL_MS * 1000000);
		ret = read_now(c, now);
		is_old = !strcmp(now, c->old);
	}
	return ret ? ret : is_old == undo ? 0 : -ERANGE;
}

/* Returns a hint for an error returned by set(), or NULL. */
static const char *hint(int code, const struct error *why)
{
	if (*why->hint)
		return why->hint;
	if (code == -EROFS)
		return "the setting is read-only here: change it on the host, not in a container";
	if (code == -EACCES || code == -EPERM)
		return geteuid() ? "run it as root"
				 : "only the host's own network namespace, outside any container, "
				   "may set it";
	return code == -EIO && geteuid() ? "run it as root" : NULL;
}

static const char *reason(int code, const struct error *why)
{
	return !code ? "" : *why->message ? why->message : strerror(-code);
}

/* A permanent change in the journal. */
struct entry {
	pid_t pid;	  /* process that made the change */
	uint64_t start;	  /* start time of that process */
	uint64_t time;	  /* ns of CLOCK_REALTIME, time of the change */
	char boot[40];	  /* BOOT_ID */
	uint64_t netns;	  /* netns_cookie(), unique until reboot */
	unsigned ifindex; /* interface index, 0: not tied to an interface */
	struct change change;
	char made[JOURNAL_VALUE_SIZE]; /* value read back, "": unknown, the program was killed */
};

static const struct record_field entry_rows[] = {
	RECORD("pid", INT, entry, pid),
	RECORD("start", UINT, entry, start),
	RECORD("time", TIME, entry, time),
	RECORD("boot", TEXT, entry, boot),
	RECORD("netns", UINT, entry, netns),
	RECORD("ifindex", UINT, entry, ifindex),
	RECORD("kind", ENUM, entry, change.kind, .names = change_words, .names_n = CHANGE_KINDS),
	RECORD("ifname", TEXT, entry, change.ifname),
	RECORD("name", TEXT, entry, change.name),
	RECORD("old", TEXT, entry, change.old),
	RECORD("wanted", TEXT, entry, change.wanted),
	RECORD("new", TEXT, entry, made),
	{0},
};

static bool this_boot(const struct entry *e)
{
	char boot[sizeof(e->boot)];

	return proc_read(AT_FDCWD, boot, sizeof(boot), BOOT_ID) > 0 && !strcmp(boot, e->boot);
}

static int read_entry(struct json_object *o, struct entry *e)
{
	const struct change *c = &e->change;

	return journal_read(o, entry_rows, e) || !change_setting(c->kind, c->name) ||
			       !*c->ifname == change_ops[c->kind].of_interface
		       ? -EINVAL
		       : 0;
}

struct batch {
	const struct change *changes;
	unsigned n;
	struct journal_change **holds; /* temporary changes to the same sysctls */
	struct journal_kept file;
	size_t first; /* index of the entry of changes[0] */
	change_cb cb;
	void *arg;
};

static int cannot(const struct change *c, int code, const struct error *why, struct error *err)
{
	char title[CHANGE_TITLE_SIZE];

	change_title(c, title, sizeof(title));
	if (code == -ESTALE)
		return error_set(err, STATUS_FAILED, code, "check again",
				 "%s is no longer '%s'; nothing was changed", title, c->old);
	if (code == -ERANGE)
		return error_set(err, STATUS_FAILED, code, NULL,
				 "%s does not become '%s': the kernel or the device keeps '%s'",
				 title, c->wanted, c->old);
	return error_set(err, STATUS_UNABLE, code, hint(code, why), "cannot set %s to '%s': %s",
			 title, c->wanted, reason(code, why));
}

static int add_entry(struct batch *b, const struct change *c)
{
	char buf[sizeof(c->ifname)];
	const char *device = change_device(c, buf);
	struct entry e = {.change = *c, .time = when_now()}, again = {};
	struct json_object *o;
	int ret = journal_own(&e.pid, &e.start);

	if (!ret && proc_read(AT_FDCWD, e.boot, sizeof(e.boot), BOOT_ID) <= 0)
		ret = -EIO;
	if (!ret && change_ops[c->kind].of_namespace)
		ret = netns_cookie(c->ns, &e.netns);
	if (!ret && device)
		ret = nl_ifindex(c->ns, device);
	if (ret < 0)
		return ret;
	e.ifindex = ret;
	o = record_write(entry_rows, &e);
	json_object_array_add(b->file.entries, o);
	return read_entry(o, &again) ? -EILSEQ : 0; /* the name may contain any byte */
}

/*
 * Takes the locks, then checks the planned old values, then writes the entries. Does not change any
 * setting.
 */
static int prepare(struct batch *b, struct error *err)
{
	struct error why = {};
	char now[JOURNAL_VALUE_SIZE];
	int ret = 0;

	for (unsigned i = 0; i < b->n && !ret; i++) {
		const struct change *c = &b->changes[i];

		if (c->kind == CHANGE_SYSCTL)
			ret = journal_change_sysctl(&b->holds[i], c->name, NULL, err);
		if (!ret)
			ret = read_now(c, now);
		if (!ret && strcmp(now, c->old))
			ret = -ESTALE;
		if (!ret)
			ret = change_possible(c, &why);
		if (!ret)
			ret = add_entry(b, c);
		if (ret)
			cannot(c, ret, &why, err);
	}
	if (ret)
		return ret;
	ret = journal_kept_save(&b->file);
	return error_errno(err, STATUS_UNABLE, ret, hint(ret, &why),
			   "cannot record the change, so nothing is changed");
}

static void report(const struct batch *b, unsigned i, enum change_outcome outcome, const char *why)
{
	struct change_report report = {.change = &b->changes[i], .outcome = outcome};

	change_title(report.change, report.title, sizeof(report.title));
	snprintf(report.why, sizeof(report.why), "%s", why);
	if (read_now(report.change, report.current))
		*report.current = '\0';
	b->cb(b->arg, &report);
}

/*
 * Reverts changes[0 .. failed] after changes[failed] failed. Only permanent changes have entries.
 */
static void put_back(struct batch *b, unsigned failed, const char *why)
{
	for (unsigned i = b->n; i-- > 0;) {
		const struct change *c = &b->changes[i];
		char now[JOURNAL_VALUE_SIZE];
		struct error err = {};
		int ret = i > failed ? 0 : read_now(c, now);

		if (i <= failed && !ret && strcmp(now, c->old))
			ret = set(c, true, b->file.fd, now, &err);
		if (i == failed)
			report(b, i, CHANGE_FAILED, why);
		if (ret)
			report(b, i, CHANGE_KEPT, reason(ret, &err));
		else if (i < failed)
			report(b, i, CHANGE_BACK, "");
		if (!ret)
			json_object_array_del_idx(b->file.entries, b->first + i, 1);
	}
}

int change_apply(const struct change *changes, unsigned n, const char *undo_file, change_cb cb,
		 void *arg, struct error *err)
{
	struct batch b = {.changes = changes, .n = n, .cb = cb, .arg = arg};
	int ret = journal_kept_open(&b.file, undo_file ? undo_file : CHANGE_UNDO_FILE, true, err);

	if (ret)
		return ret;
	b.first = json_object_array_length(b.file.entries);
	b.holds = mem_zero(n, sizeof(*b.holds));
	ret = prepare(&b, err);
	if (ret)
		json_object_array_del_idx(b.file.entries, b.first,
					  json_object_array_length(b.file.entries) - b.first);
	for (unsigned i = 0; i < n && !ret; i++) {
		char now[JOURNAL_VALUE_SIZE];
		struct error why = {};

		ret = set(&changes[i], false, b.file.fd, now, &why);
		if (ret) {
			cannot(&changes[i], ret, &why, err);
			put_back(&b, i, reason(ret, &why));
		} else {
			json_put_text(json_object_array_get_idx(b.file.entries, b.first + i), "new",
				      now);
			report(&b, i, CHANGE_DONE, "");
		}
	}
	journal_kept_save(&b.file); /* on failure, the first version remains in place */
	for (unsigned i = 0; i < n; i++)
		journal_release(b.holds[i]);
	free(b.holds);
	journal_kept_close(&b.file);
	return ret;
}

/* An entry being processed. */
struct step {
	struct entry e;
	struct netns ns;
	struct change_report report;
};

static enum change_outcome __attribute__((format(printf, 3, 4)))
because(struct step *s, enum change_outcome outcome, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->report.why, sizeof(s->report.why), fmt, args);
	va_end(args);
	return outcome;
}

/* Returns CHANGE_DONE if the namespace exists and still has the same interface. */
static enum change_outcome find_namespace(struct step *s)
{
	char name[IF_NAMESIZE], buf[IF_NAMESIZE];
	const char *device = change_device(&s->e.change, buf);
	int saved, ret = 0;

	if (change_ops[s->e.change.kind].of_namespace)
		ret = netns_find(&s->ns, s->e.netns);
	if (ret == -ENOENT)
		return because(s, CHANGE_GONE, "its network namespace is gone");
	if (ret)
		return because(s, CHANGE_KEPT, "cannot find its network namespace: %s",
			       strerror(-ret));
	ret = device ? nl_ifindex(&s->ns, device) : 0;
	if (!device || ret == (int)s->e.ifindex)
		return CHANGE_DONE;
	if (ret < 0 && ret != -ENODEV)
		return because(s, CHANGE_KEPT, "%s", strerror(-ret));
	saved = netns_push(&s->ns);
	if (saved < 0)
		return because(s, CHANGE_KEPT, "%s", strerror(-saved));
	ret = if_indextoname(s->e.ifindex, name) ? 0 : -errno;
	netns_pop(saved);
	return ret ? because(s, CHANGE_GONE, "the interface is gone")
		   : because(s, CHANGE_KEPT, "the interface is called %s now", name);
}

static enum change_outcome settle(struct step *s, int lock)
{
	const struct change *c = &s->e.change;
	struct error err = {};
	const char *help;
	int ret = read_now(c, s->report.current);

	if (ret == -ENOENT || ret == -ENODEV)
		return because(s, CHANGE_GONE, "the setting no longer exists");
	if (ret == -EDOM)
		return because(s, CHANGE_FOREIGN, "another program has changed it");
	if (ret)
		return because(s, CHANGE_KEPT, "%s", strerror(-ret));
	if (!strcmp(s->report.current, c->old))
		return CHANGE_NOTHING;
	if (*s->e.made && strcmp(s->report.current, s->e.made))
		return because(s, CHANGE_FOREIGN, "another program has changed it");
	ret = set(c, true, lock, s->report.current, &err);
	if (!ret)
		return CHANGE_DONE;
	if (ret == -ERANGE)
		return because(s, CHANGE_KEPT, "the kernel does not accept the old value");
	help = hint(ret, &err);
	return because(s, CHANGE_KEPT, "%s%s%s", reason(ret, &err), help ? ": " : "",
		       help ? help : "");
}

static enum change_outcome undo(struct json_object *o, struct step *s, int lock)
{
	struct journal_change *hold = NULL;
	enum change_outcome outcome;
	struct error err = {};

	if (read_entry(o, &s->e)) {
		snprintf(s->report.title, sizeof(s->report.title), "%s %s %s",
			 json_get_text(o, "kind"), json_get_text(o, "ifname"),
			 json_get_text(o, "name"));
		return because(s, CHANGE_KEPT, "unknown to this version");
	}
	s->e.change.ns = &s->ns;
	s->report.change = &s->e.change;
	change_title(&s->e.change, s->report.title, sizeof(s->report.title));
	if (!this_boot(&s->e))
		return because(s, CHANGE_GONE, "the host was booted since");
	outcome = find_namespace(s);
	if (outcome == CHANGE_DONE && s->e.change.kind == CHANGE_SYSCTL &&
	    journal_change_sysctl(&hold, s->e.change.name, NULL, &err))
		outcome = because(s, CHANGE_KEPT, "%s", err.message);
	if (outcome == CHANGE_DONE)
		outcome = settle(s, lock);
	journal_release(hold);
	netns_close(&s->ns);
	return outcome;
}

/*
 * Returns whether the entry belongs to one of the `n` changes, and marks that change in `gone`.
 * Each change has one entry.
 */
static bool is_of(struct json_object *o, const struct change *only, unsigned n, bool *gone)
{
	uint64_t netns = 0;

	for (unsigned i = 0; i < n; i++) {
		struct entry e = {};

		if (gone[i] || read_entry(o, &e) || e.change.kind != only[i].kind ||
		    strcmp(e.change.ifname, only[i].ifname) || strcmp(e.change.name, only[i].name))
			continue;
		if (change_ops[e.change.kind].of_namespace &&
		    (netns_cookie(only[i].ns, &netns) || netns != e.netns))
			continue;
		return gone[i] = true;
	}
	return false;
}

int change_undo(const char *undo_file, const struct change *only, unsigned n, change_cb cb,
		void *arg, struct error *err)
{
	const char *path = undo_file ? undo_file : CHANGE_UNDO_FILE;
	struct journal_kept file;
	int ret = journal_kept_open(&file, path, false, err);
	bool *gone;

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	gone = mem_zero(n, sizeof(*gone));
	for (size_t i = json_object_array_length(file.entries); i-- > 0;) {
		struct json_object *entry = json_object_array_get_idx(file.entries, i);
		struct step s = {.ns = NETNS_NONE};

		if (only && !is_of(entry, only, n, gone))
			continue;
		s.report.outcome = undo(entry, &s, file.fd);
		cb(arg, &s.report);
		if (s.report.outcome != CHANGE_KEPT)
			json_object_array_del_idx(file.entries, i, 1);
	}
	if (journal_kept_save(&file))
		ret = error_set(err, STATUS_FAILED, -EIO, "remove it if nothing is left to undo",
				"cannot write %s", path);
	journal_kept_close(&file);
	free(gone);
	return ret;
}

/*
 * Returns whether the change was made in this namespace since boot and its value is still
 * unchanged.
 */
static bool in_force(const struct entry *e, uint64_t netns)
{
	const struct change *c = &e->change;
	char buf[IF_NAMESIZE], now[JOURNAL_VALUE_SIZE];
	const char *device = change_device(c, buf);

	return this_boot(e) && (!change_ops[c->kind].of_namespace || e->netns == netns) &&
	       (!device || nl_ifindex(c->ns, device) == (int)e->ifindex) && !read_now(c, now) &&
	       !strcmp(now, e->made);
}

int change_made(const struct netns *ns, const char *undo_file, struct change **changes, unsigned *n,
		struct error *err)
{
	struct journal_kept file;
	uint64_t netns;
	int ret = journal_kept_open(&file, undo_file ? undo_file : CHANGE_UNDO_FILE, false, err);

	*changes = NULL;
	*n = 0;
	if (ret)
		return ret == -ENOENT ? 0 : ret;
	ret = netns_cookie(ns, &netns);
	*changes = mem_zero(json_object_array_length(file.entries), sizeof(**changes));
	for (size_t i = 0; !ret && i < json_object_array_length(file.entries); i++) {
		struct entry e = {};
		unsigned k = 0;

		if (read_entry(json_object_array_get_idx(file.entries, i), &e))
			continue;
		e.change.ns = ns;
		if (!in_force(&e, netns))
			continue;
		while (k < *n && !change_same_setting(&(*changes)[k], &e.change))
			k++;
		(*changes)[k] = e.change;
		*n += k == *n;
	}
	journal_kept_close(&file);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot read the record of changes");
}

/*
 * Formats changes as files that apply them at boot. Interface settings become udev rules. A new
 * .link file would disable all others, because only the first one that matches applies
 * (systemd.link(5)).
 */

/* Interfaces renamed during boot get their final name in a "move" event. */
#define NET_RULE "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"%s\", "
#define CPU_RULE "ACTION==\"add\", SUBSYSTEM==\"cpu\", KERNEL==\"cpu%s\", "

static const char *const headings[CHANGE_FILES] = {
	[CHANGE_FILE_SYSCTL] = "# /etc/sysctl.d/90-pktledger.conf\n",
	[CHANGE_FILE_UDEV] = "# /etc/udev/rules.d/90-pktledger.rules\n",
	[CHANGE_FILE_NONE] =
		"# By no file: the number of an interrupt may be another after a boot.\n",
	/*
	 * udev(7): names are patterns, and commands expand $ and %. sysctl.d(5): names are patterns
	 */
	[CHANGE_FILE_NAME] =
		"# By no file: they would take this name of an interface for a pattern.\n",
	/* all settings are lost with the namespace */
	[CHANGE_FILE_NETNS] =
		"# By no file: another network namespace has to be set up whenever it is made.\n",
};

static enum change_file file_of(const struct change *c)
{
	char buf[sizeof(c->ifname)], quoted[4 * sizeof(buf)];
	const char *device = change_device(c, buf);

	if (c->ns && change_ops[c->kind].of_namespace)
		return CHANGE_FILE_NETNS;
	if (device &&
	    (strcmp(change_quote(device, quoted, sizeof(quoted)), device) || strchr(device, '%')))
		return CHANGE_FILE_NAME;
	return change_ops[c->kind].file;
}

static void print_change(FILE *f, const struct change *c, enum change_file file)
{
	char text[CHANGE_COMMAND_SIZE];

	if (file == CHANGE_FILE_SYSCTL) {
		fprintf(f, "%s = %s\n", change_sysctl_name(c->name, text, sizeof(text)), c->wanted);
		return;
	}
	if (file == CHANGE_FILE_UDEV)
		fprintf(f, "# %s\n", change_title(c, text, sizeof(text)));
	change_command(c, false, text, sizeof(text));
	if (file != CHANGE_FILE_UDEV)
		fprintf(f, "# %s\n", text);
	else if (c->kind == CHANGE_GOVERNOR)
		fprintf(f, CPU_RULE "ATTR{cpufreq/scaling_governor}=\"%s\"\n", c->name, c->wanted);
	else if (c->kind == CHANGE_SYSFS)
		fprintf(f, NET_RULE "ATTR{%s}=\"%s\"\n", c->ifname, c->name, c->wanted);
	else
		fprintf(f, NET_RULE "RUN+=\"/usr/sbin/%s\"\n", c->ifname, text);
}

char *change_persist(const struct change *changes, unsigned n)
{
	char *text;
	size_t size;
	FILE *out = mem_need(open_memstream(&text, &size));
	bool begun = false;

	for (enum change_file file = 0; file < CHANGE_FILES; file++) {
		bool headed = false;

		for (unsigned i = 0; i < n; i++) {
			if (file_of(&changes[i]) != file)
				continue;
			if (!headed)
				fprintf(out, "%s%s", begun ? "\n" : "", headings[file]);
			begun = headed = true;
			print_change(out, &changes[i], file);
		}
	}
	if (fclose(out))
		mem_need(NULL);
	return text;
}
