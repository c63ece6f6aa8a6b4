/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Permanent changes of the host's settings: the advice of `check` as commands, as text for the next
 * boot, and applied and undone by the program itself. All forms come from one struct change: the
 * printed command is the argv that is executed, by execve() and without a shell, quoted for a
 * shell. The program itself writes only files below /proc and /sys.
 *
 * A change is written to the journal first (host/journal.h). Its entry outlives the program, and
 * journal_repair() ignores it. change_undo() restores the old value.
 *
 * Values are texts in the format of the kernel or the tool, without a newline at the end.
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
 * SYSFS	eth1	queues/rx-0/rps_cpus		"f": as the file has it
 * IRQ			24				"0-3,8"
 * RING		eth1	rx				"4096", as are the next
 * CHANNELS	eth1	rx, combined
 * COALESCE	eth1	rx-usecs			"50"
 * PAUSE	eth1	tx				"on", "off"
 * RSS		eth1	indirection			"equal 8", "start 2 equal 4", "default"
 * QDISC	eth1	root				wanted: "fq limit 20000", "mq"; read:
 *							"default fq_codel limit 10240" if the
 *							kernel has chosen it, else with its
 *							handle, "pfifo handle 8001: limit 1000"
 * GOVERNOR		0: a CPU			"performance"
 */
enum change_kind {
	CHANGE_SYSCTL,
	CHANGE_SYSFS,
	CHANGE_IRQ,
	CHANGE_RING,
	CHANGE_CHANNELS,
	CHANGE_COALESCE,
	CHANGE_PAUSE,
	CHANGE_RSS,
	CHANGE_QDISC,
	CHANGE_GOVERNOR,
	CHANGE_KINDS,
};

#define CHANGE_NAME_SIZE    128
#define CHANGE_COMMAND_SIZE (JOURNAL_VALUE_SIZE + 256) /* quoted for a shell */

struct change {
	enum change_kind kind;
	char ifname[16]; /* "": not tied to an interface */
	char name[CHANGE_NAME_SIZE];
	char old[JOURNAL_VALUE_SIZE];	 /* value read by change_plan() */
	char wanted[JOURNAL_VALUE_SIZE]; /* value to set, the kernel may print it differently */
	const struct netns *ns;		 /* borrowed, NULL: the thread's namespace */
	/* command prefix that enters the namespace ("ip netns exec b"), borrowed, or NULL */
	const char *enter;
};

/*
 * Reads the current value, in namespace `ns` (NULL: the calling thread's) if the kind is
 * per-namespace. `ifname` may be NULL or "" where the table above has none. -ENOENT: no such
 * setting, -ENODEV: no such interface, -EOPNOTSUPP: not reported by the driver, -ENOSPC: value too
 * long, -EDOM: an RSS table that could not be restored, -EXDEV: /sys belongs to another namespace.
 */
int change_read(const struct netns *ns, enum change_kind kind, const char *ifname, const char *name,
		char value[JOURNAL_VALUE_SIZE]);

/*
 * Plans the change of one setting to `wanted`: reads the old value, changes nothing. -EALREADY if
 * that is `wanted`, -EINVAL if `wanted` cannot be a value, -EDOM if it could not be undone (a qdisc
 * configured by hand keeps its kind), else as change_read().
 */
int change_plan(struct change *change, const struct netns *ns, enum change_kind kind,
		const char *ifname, const char *name, const char *wanted);

/*
 * Formats the command that makes or undoes the change as recipe_command(). Includes the prefix that
 * enters the namespace if the setting is per-namespace. "" if the old value must be known for it and
 * is not. CHANGE_COMMAND_SIZE is always enough.
 */
char *change_command(const struct change *change, bool undo, char *buf, size_t size);

/* Returns a phrase for the side effects that a change of this kind may have, or "". */
const char *change_risk(const struct change *change);

/* Returns a phrase for when or where the change takes effect. "" means immediately. */
const char *change_effect(const struct change *change);

/* Returns a title for users: "net.core.rmem_max", "eth1 rx ring". */
#define CHANGE_TITLE_SIZE (CHANGE_NAME_SIZE + 64)
char *change_title(const struct change *change, char *buf, size_t size);

/*
 * Returns files that keep `n` changes after the next boot: sysctl.d and udev rules. A comment line
 * with the file name precedes its content. A change that no file can keep becomes a comment that
 * explains it. The caller frees the text.
 */
char *change_persist(const struct change *changes, unsigned n);

enum change_outcome {
	CHANGE_DONE,	/* made or undone, and read back */
	CHANGE_NOTHING, /* undo: the old value was already in force */
	CHANGE_FOREIGN, /* undo: changed by another program since, left unchanged, entry removed */
	CHANGE_GONE,	/* undo: interface or namespace missing, or the host was rebooted, entry
			 * removed */
	CHANGE_KEPT,	/* undo: failed (`why`), the entry is kept */
	CHANGE_FAILED,	/* apply: failed (`why`) */
	CHANGE_BACK,	/* apply: was made, then reverted because another change failed */
};

struct change_report {
	const struct change *change; /* NULL: undo cannot read its entry */
	enum change_outcome outcome;
	char title[CHANGE_TITLE_SIZE];	  /* change_title(), or the title in the entry */
	char current[JOURNAL_VALUE_SIZE]; /* current value, "" if unreadable */
	char why[sizeof(struct error)];	  /* one line, "" with DONE */
};

typedef void (*change_cb)(void *arg, const struct change_report *report);

/* Removed at boot, like the settings it describes. */
#define CHANGE_UNDO_FILE JOURNAL_HOME "/undo"

/*
 * Makes the changes in order, all or none: writes all entries before the first change,
 * reads each value back, records it, and reverts the earlier changes if one fails. Calls `cb` for
 * each. `undo_file`: NULL for CHANGE_UNDO_FILE. -ESTALE if a value is no longer change->old:
 * nothing is changed. -EBUSY if another program holds a lock too long. -ERANGE if the old value stays. -EIO
 * if ethtool or tc fails, -ENOENT if it is not installed.
 */
int change_apply(const struct change *changes, unsigned n, const char *undo_file, change_cb cb,
		 void *arg, struct error *err);

/*
 * Undoes the changes, newest first, each in its namespace, and calls `cb` for each, including
 * changes that cannot be undone. `only`: limits it to these `n`, just made by change_apply(). NULL:
 * all. Returns 0, even if there is nothing to undo, -EBUSY if another program holds a lock too
 * long, or -EBADMSG if the file is unreadable.
 */
int change_undo(const char *undo_file, const struct change *only, unsigned n, change_cb cb,
		void *arg, struct error *err);

/*
 * Lists the active changes in `ns` and on the host, oldest first. Only the last change per setting
 * is listed. The caller frees the list. Returns 0, or -EBUSY.
 */
int change_made(const struct netns *ns, const char *undo_file, struct change **changes, unsigned *n,
		struct error *err);

/* Returns whether both change the same setting in the same place. */
bool change_same_setting(const struct change *a, const struct change *b);

/*
 * The kinds of changes and their settings: for change.c, which treats all kinds alike, and for the
 * tests. A new setting is a row of change_settings[]. A new kind is a row of change_ops[] with its
 * phrases, its reader, its name, and either its file or the argv that sets it.
 */

/* A setting, or all settings that match an fnmatch() pattern. */
struct change_setting {
	enum change_kind kind;
	const char *name;
	const char *risk;   /* NULL: the risk of the kind */
	const char *effect; /* see change_effect(), NULL: immediate */
	unsigned offset;    /* ethtool: of the value in the kind's structure */
};

/* The file that keeps a change for the next boot. */
enum change_file {
	CHANGE_FILE_SYSCTL,
	CHANGE_FILE_UDEV,
	CHANGE_FILE_NONE,
	CHANGE_FILE_NAME,  /* not kept: the interface name would be read as a pattern */
	CHANGE_FILE_NETNS, /* not kept: the setting is in another namespace */
	CHANGE_FILES
};

struct change_ops {
	const char *before; /* text before the name in a title, with its blank */
	const char *after;
	const char *risk;
	bool of_interface; /* has an ifname */
	bool of_namespace; /* each network namespace has its own value */
	unsigned wait_ms;  /* ms until a new value reads back */
	enum change_file file;

	/* For a file setting: the path before and after the name (and interface). */
	const char *front, *rest;
	/* For an ethtool setting: the reading ioctl (0: another method) and the option letter. */
	uint32_t ethtool;
	char letter;

	int (*read)(const struct change *c, char value[JOURNAL_VALUE_SIZE]);
	int (*check)(const struct change *c); /* -EDOM if it could not be undone, may be NULL */
	enum recipe_tool tool;
};

/* Names of the kinds in the journal, must never change. */
extern const char *const change_words[CHANGE_KINDS];
extern const struct change_ops change_ops[CHANGE_KINDS];
extern const struct change_setting change_settings[]; /* ends with a NULL name */

/* Finds a setting. NULL if it does not exist or the name is invalid. */
const struct change_setting *change_setting(enum change_kind kind, const char *name);

/* Returns the step that makes or undoes the change. */
struct recipe_step change_step(const struct change *c, bool undo);

/*
 * Checks that the file is writable or the program installed. Returns 0 or -errno: -EROFS, -EACCES,
 * -ENOENT.
 */
int change_possible(const struct change *c, struct error *why);

/*
 * Converts a path below /proc/sys to a sysctl name: with dots, unless a component contains a dot.
 * Returns buf.
 */
char *change_sysctl_name(const char *path, char *buf, size_t size);

/*
 * Returns the interface that the setting disappears with: c->ifname, or the name in
 * net/ipv4/conf/eth1/..., or NULL if the setting is not tied to an interface. Uses `buf` for
 * storage.
 */
const char *change_device(const struct change *c, char buf[16]);

/* Quotes a word for a shell if necessary. Returns buf. */
char *change_quote(const char *word, char *buf, size_t size);

#endif
