/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Permanent changes to the host's settings: the advice given by `check`, printed as commands or as
 * files for the next boot, or applied and undone by pktledger itself. Every form comes from one
 * struct change. The printed command is the argv passed to execve() (no shell is involved), quoted
 * for a shell. pktledger itself only writes files under /proc and /sys.
 *
 * A change is first recorded in the journal (host/journal.h). Its entry outlives the program and is
 * ignored by journal_repair(). change_undo() restores the old value.
 *
 * Values are strings in the format that the kernel or the tool uses, without a trailing newline.
 */
#ifndef PKTLEDGER_HOST_CHANGE_H
#define PKTLEDGER_HOST_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "host/journal.h"
#include "host/recipe.h"

/*
 *		ifname	name				value
 * SYSCTL		net/core/rmem_max		"8388608", "4096 87380 6291456"
 * SYSFS	eth1	queues/rx-0/rps_cpus		"f", as in the file
 * IRQ			24				"0-3,8"
 * RING		eth1	rx				"4096" (same for the next two)
 * CHANNELS	eth1	rx, combined
 * PAUSE	eth1	tx				"on", "off"
 * RSS		eth1	indirection			"equal 8", "start 2 equal 4", "default"
 * QDISC	eth1	root				wanted: "fq limit 20000", "mq"; read:
 *							"default fq_codel limit 10240" if the
 *							kernel chose it, otherwise with its
 *							handle, "pfifo handle 8001: limit 1000"
 * GOVERNOR		0: a CPU			"performance"
 */
enum change_kind {
	CHANGE_SYSCTL,
	CHANGE_SYSFS,
	CHANGE_IRQ,
	CHANGE_RING,
	CHANGE_CHANNELS,
	CHANGE_PAUSE,
	CHANGE_RSS,
	CHANGE_QDISC,
	CHANGE_GOVERNOR,
	CHANGE_KINDS,
};

#define CHANGE_NAME_SIZE    128
#define CHANGE_COMMAND_SIZE (JOURNAL_VALUE_SIZE + 256) /* bytes, quoted for a shell */

struct change {
	enum change_kind kind;
	char ifname[16]; /* "": not tied to an interface */
	char name[CHANGE_NAME_SIZE];
	char old[JOURNAL_VALUE_SIZE];	 /* value read by change_plan() */
	char wanted[JOURNAL_VALUE_SIZE]; /* value to set, the kernel may print it differently */
	const struct netns *ns;		 /* borrowed, NULL: the thread's namespace */
	/* command prefix that enters the namespace ("ip netns exec b"), borrowed, may be NULL */
	const char *enter;
};

/*
 * Reads the current value, in namespace `ns` (NULL: the calling thread's) if settings of this kind
 * are per-namespace. `ifname` may be NULL or "" where the table above has none. Returns -ENOENT if
 * there is no such setting, -ENODEV if there is no such interface, -EOPNOTSUPP if the driver does
 * not report it, -ENOSPC if the value is too long, -EDOM if an RSS table could not be restored
 * later, -EXDEV if /sys belongs to another namespace.
 */
int change_read(const struct netns *ns, enum change_kind kind, const char *ifname, const char *name,
		char value[JOURNAL_VALUE_SIZE]);

/*
 * Plans changing one setting to `wanted`: reads the old value but does not change anything. Returns
 * -EALREADY if the setting already has that value, -EINVAL if `wanted` is not a valid value, -EDOM
 * if the change could not be undone (a manually configured qdisc keeps its kind), otherwise the
 * same errors as change_read().
 */
int change_plan(struct change *change, const struct netns *ns, enum change_kind kind,
		const char *ifname, const char *name, const char *wanted);

/*
 * Formats the command that makes or undoes the change, like recipe_command(). If the setting is
 * per-namespace, the command starts with the prefix that enters the namespace. The result is "" if
 * the command depends on the old value and that value is unknown. CHANGE_COMMAND_SIZE is always
 * enough.
 */
char *change_command(const struct change *change, bool undo, char *buf, size_t size);

/* Returns a phrase describing possible side effects of a change of this kind, or "". */
const char *change_risk(const struct change *change);

/* Returns a phrase that says when or where the change takes effect. "" means immediately. */
const char *change_effect(const struct change *change);

/* Returns a title for users: "net.core.rmem_max", "eth1 rx ring". */
#define CHANGE_TITLE_SIZE (CHANGE_NAME_SIZE + 64)
char *change_title(const struct change *change, char *buf, size_t size);

/*
 * Returns files that reapply `n` changes at boot: sysctl.d files and udev rules. Each file's
 * content follows a comment line with its name. A change that no file can preserve becomes a
 * comment explaining why. The caller frees the text.
 */
char *change_persist(const struct change *changes, unsigned n);

enum change_outcome {
	CHANGE_DONE,	/* made or undone, and read back */
	CHANGE_NOTHING, /* undo: the old value was already in force */
	CHANGE_FOREIGN, /* undo: another program changed it since, left unchanged, entry removed */
	CHANGE_GONE,	/* undo: interface or namespace missing, or host rebooted, entry removed */
	CHANGE_KEPT,	/* undo: failed (`why`), the entry is kept */
	CHANGE_FAILED,	/* apply: failed (`why`) */
	CHANGE_BACK,	/* apply: was made, then reverted because another change failed */
};

struct change_report {
	const struct change *change; /* NULL: undo cannot read the entry */
	enum change_outcome outcome;
	char title[CHANGE_TITLE_SIZE];	  /* change_title(), or the title stored in the entry */
	char current[JOURNAL_VALUE_SIZE]; /* current value, "" if unreadable */
	char why[sizeof(struct error)];	  /* one line, "" with DONE */
};

typedef void (*change_cb)(void *arg, const struct change_report *report);

/* Removed on reboot, like the settings it describes. */
#define CHANGE_UNDO_FILE JOURNAL_HOME "/undo"

/*
 * Makes the changes in order, all or none. Writes all entries before the first change, reads each
 * value back, records it, and reverts the earlier changes if one fails. Calls `cb` for each change.
 * `undo_file` NULL means CHANGE_UNDO_FILE. Returns -ESTALE, without changing anything, if a value
 * is no longer change->old. Returns -EBUSY if another program holds a lock too long, -ERANGE if a
 * value did not change, -EIO if ethtool or tc fails, -ENOENT if ethtool or tc is not installed.
 */
int change_apply(const struct change *changes, unsigned n, const char *undo_file, change_cb cb,
		 void *arg, struct error *err);

/*
 * Undoes the changes, newest first, each in its own namespace, and calls `cb` for each, including
 * those that cannot be undone. `only` restricts this to `n` changes that change_apply() has just
 * made. NULL means all. Returns 0 (even if there is nothing to undo), -EBUSY if another program
 * holds a lock too long, or -EBADMSG if the file is unreadable.
 */
int change_undo(const char *undo_file, const struct change *only, unsigned n, change_cb cb,
		void *arg, struct error *err);

/*
 * Lists the active changes in `ns` and on the host, oldest first, with only the latest change per
 * setting. The caller frees the list. Returns 0 or -EBUSY.
 */
int change_made(const struct netns *ns, const char *undo_file, struct change **changes, unsigned *n,
		struct error *err);

/* Returns whether both change the same setting in the same place. */
bool change_same_setting(const struct change *a, const struct change *b);

/*
 * The kinds of changes and their settings, used by the tests and by change.c, which handles all
 * kinds alike. To add a setting, add a row to change_settings[]. To add a kind, add a row to
 * change_ops[] with its phrases, its name, the function that reads it, and the file or argv that
 * sets it.
 */

/* A setting, or all settings that match an fnmatch() pattern. */
struct change_setting {
	enum change_kind kind;
	const char *name;
	const char *risk;   /* NULL: same as the kind */
	const char *effect; /* see change_effect(), NULL: takes effect immediately */
	unsigned offset;    /* ethtool: offset of the value in the kind's structure */
};

/* The file that preserves a change across a reboot. */
enum change_file {
	CHANGE_FILE_SYSCTL,
	CHANGE_FILE_UDEV,
	CHANGE_FILE_NONE,
	CHANGE_FILE_NAME,  /* not preserved: the interface name would be read as a pattern */
	CHANGE_FILE_NETNS, /* not preserved: the setting is in another namespace */
	CHANGE_FILES
};

struct change_ops {
	const char *before; /* text before the name in a title, including the space */
	const char *after;
	const char *risk;
	bool of_interface; /* has an ifname */
	bool of_namespace; /* each network namespace has its own value */
	unsigned wait_ms;  /* ms until the new value can be read back */
	enum change_file file;

	/* File settings: the path before and after the name (and interface). */
	const char *front, *rest;
	/*
	 * ethtool settings: the ioctl that reads the value (0: another method) and the option
	 * letter.
	 */
	uint32_t ethtool;
	char letter;

	int (*read)(const struct change *c, char value[JOURNAL_VALUE_SIZE]);
	int (*check)(const struct change *c); /* -EDOM if it cannot be undone, may be NULL */
	enum recipe_tool tool;
};

/* Names of the kinds in the journal. They must never change. */
extern const char *const change_words[CHANGE_KINDS];
extern const struct change_ops change_ops[CHANGE_KINDS];
extern const struct change_setting change_settings[]; /* ends with a NULL name */

/* Finds a setting. Returns NULL if it does not exist or the name is invalid. */
const struct change_setting *change_setting(enum change_kind kind, const char *name);

/* Returns the step that makes or undoes the change. */
struct recipe_step change_step(const struct change *c, bool undo);

/*
 * Checks that the file is writable or the program is installed. Returns 0 or -errno: -EROFS,
 * -EACCES, -ENOENT.
 */
int change_possible(const struct change *c, struct error *why);

/*
 * Converts a path under /proc/sys to a sysctl name. The name uses dots unless a path component
 * contains a dot. Returns buf.
 */
char *change_sysctl_name(const char *path, char *buf, size_t size);

/*
 * Returns the interface whose removal also removes the setting: c->ifname, or the name in
 * net/ipv4/conf/eth1/... Returns NULL if the setting is not tied to an interface. The result may
 * point into `buf`.
 */
const char *change_device(const struct change *c, char buf[16]);

/* Quotes a word for a shell if necessary. Returns buf. */
char *change_quote(const char *word, char *buf, size_t size);

#endif
