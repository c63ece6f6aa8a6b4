/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes of the host's settings that are meant to stay: what `check` advises, as commands for
 * people, as text for the next boot, and done and undone by the program itself. All of these come
 * from one struct change: what is printed is the argv that is run, by execve() and without a shell,
 * quoted for a shell; only files below /proc and /sys are written by the program itself.
 *
 * What is done is in the journal first (host/journal.h), in an entry that outlives the program and
 * that journal_repair() leaves alone. change_undo() puts it back.
 *
 * Values are texts as the kernel or the tool writes them, without a newline at the end.
 */
#ifndef PKTLEDGER_HOST_CHANGE_H
#define PKTLEDGER_HOST_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "host/journal.h"
#include "host/netns.h"

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
	char ifname[16]; /* "": not of an interface */
	char name[CHANGE_NAME_SIZE];
	char old[JOURNAL_VALUE_SIZE];	 /* as it was when change_plan() read it */
	char wanted[JOURNAL_VALUE_SIZE]; /* as it will read when it is made */
	const struct netns *ns;		 /* where; borrowed. NULL: the thread's */
	/* Words that run a command there, "ip netns exec b"; borrowed; or NULL */
	const char *enter;
};

/*
 * The value now, in namespace `ns` (NULL: the calling thread's) where the kind has one. `ifname`
 * may be NULL or "" where the table above says so. -ENOENT: no such setting, -ENODEV: no such
 * interface, -EOPNOTSUPP: the driver does not say, -ENOSPC: longer than a value can be, -EDOM: an
 * RSS table that could not be put back, -EXDEV: /sys is that of another namespace.
 */
int change_read(const struct netns *ns, enum change_kind kind, const char *ifname, const char *name,
		char value[JOURNAL_VALUE_SIZE]);

/*
 * Plans the change of one setting to `wanted`: reads the old value, checks the new one, alters
 * nothing. -EALREADY (nothing in `err`) if the value is the wanted one; -EINVAL if `wanted` is not
 * a value of the setting; -ERANGE if it is beyond what the device takes; -EDOM if it could not be
 * undone (a qdisc that was set up by hand keeps its kind); else as change_read().
 */
int change_plan(struct change *change, const struct netns *ns, enum change_kind kind,
		const char *ifname, const char *name, const char *wanted, struct error *err);

/*
 * What is run to make the change, or to undo it: argv, a list of texts; the caller's. Of a setting
 * that is a file it is what a shell would need ("sysctl -w x=y", "echo f > file").
 */
struct json_object *change_argv(const struct change *change, bool undo);

/*
 * The same as a line for a shell: "sysctl -w net.core.rmem_max=8388608", "ethtool -G eth1 rx 4096",
 * "echo f > /sys/class/net/eth1/..."; with the words that enter the namespace of the change, if the
 * setting is one of a namespace. Writes at most `size` bytes with the end, and returns `buf`;
 * CHANGE_COMMAND_SIZE holds any.
 */
char *change_command(const struct change *change, bool undo, char *buf, size_t size);

/* What making a change of this kind may break beside its purpose: a phrase, or "" for nothing. */
const char *change_risk(const struct change *change);

/* For what it has an effect from now on: a phrase; "": at once. */
const char *change_effect(const struct change *change);

/* "net.core.rmem_max", "eth1 rx ring": for people. */
#define CHANGE_TITLE_SIZE (CHANGE_NAME_SIZE + 64)
char *change_title(const struct change *change, char *buf, size_t size);

/*
 * The text that makes `n` changes stay after the next boot, by files: sysctl.d and udev rules. Each
 * file's name is a comment line before its content. What no file can keep is a comment that says
 * so. To be freed.
 */
char *change_persist(const struct change *changes, unsigned n);

enum change_outcome {
	CHANGE_DONE,	/* made, or undone, and read back */
	CHANGE_NOTHING, /* undo: the old value was in force already */
	CHANGE_FOREIGN, /* undo: somebody else has changed it; left as it is, and forgotten */
	CHANGE_GONE,	/* undo: its interface or namespace is gone, or the host was booted
			 * since; forgotten */
	CHANGE_KEPT,	/* undo: could not be undone (`why`); its entry is kept */
	CHANGE_FAILED,	/* apply: could not be made (`why`) */
	CHANGE_BACK,	/* apply: was made, and put back because another failed */
};

struct change_report {
	const struct change *change; /* NULL: undo cannot read its entry */
	enum change_outcome outcome;
	char title[CHANGE_TITLE_SIZE];	  /* change_title(), or what the entry says */
	char current[JOURNAL_VALUE_SIZE]; /* the value as it is now; "" if it could not be read */
	char why[sizeof(struct error)];	  /* one line; "" with DONE */
};

typedef void (*change_cb)(void *arg, const struct change_report *report);

/* Gone after a boot, as is what it is about. */
#define CHANGE_UNDO_FILE JOURNAL_HOME "/undo"

/*
 * Makes the changes, one after another, all or none: the entries of all are on disk before the
 * first is made, each is read back, and if one fails those before it are put back. `cb` is called
 * for each. `undo_file`: NULL for CHANGE_UNDO_FILE. -ESTALE if a value is no longer change->old:
 * nothing is changed; -EBUSY if another program holds a lock for long; -ERANGE if a value does not
 * read back as it was given; -EIO if ethtool or tc fails, -ENOENT if it is not there.
 */
int change_apply(const struct change *changes, unsigned n, const char *undo_file, change_cb cb,
		 void *arg, struct error *err);

/*
 * Undoes the changes, newest first, each in its own namespace, and calls `cb` for each, also for
 * those that it cannot undo. `only`: these `n` alone, as change_apply() has just made them; NULL:
 * all. 0, also if there is nothing to undo; -EBUSY as above; -EBADMSG if a part of the file could
 * not be read: it stays in the file.
 */
int change_undo(const char *undo_file, const struct change *only, unsigned n, change_cb cb,
		void *arg, struct error *err);

/*
 * The changes of entries in `ns` and of the host that are in force, oldest first; of several of one
 * setting the last. To be freed. 0, or -EBUSY.
 */
int change_made(const struct netns *ns, const char *undo_file, struct change **changes, unsigned *n,
		struct error *err);

/* They are about the same setting in the same place. */
bool change_same_setting(const struct change *a, const struct change *b);

/*
 * The kinds of changes, their settings, and the forms of values: for change.c, which does the same
 * with all of them, and the tests.
 *
 * A new setting is a row of change_settings[]; a new kind is a row of change_ops[] with its
 * phrases, how it is read, and either the file that it is or the argv that sets it, and its word.
 */
enum change_form {
	FORM_NUMBER,  /* decimal, min .. max */
	FORM_SWITCH,  /* "on" or "off" */
	FORM_NUMBERS, /* as many numbers as there were; words where there was none */
	FORM_MASK,    /* of CPUs or queues: hexadecimal, a comma before each 32 bits */
	FORM_CPUS,    /* "0-3,8" */
	FORM_WORD,
	FORM_OWN, /* what the kind's check() says */
};

/* A setting, or all whose name fits a pattern of fnmatch(). */
struct change_setting {
	enum change_kind kind;
	const char *name;
	enum change_form form;
	uint64_t min, max;
	const char *link;   /* line of a systemd .link file, %s for the value; NULL: none */
	const char *risk;   /* NULL: that of the kind */
	const char *effect; /* see change_effect(); NULL: at once */
	/* ethtool: where it is in the structure of the kind, and its maximum; 0: there is none */
	unsigned offset, max_offset;
};

/* Where a change is kept for the next boot. */
enum change_file {
	CHANGE_FILE_SYSCTL,
	CHANGE_FILE_UDEV,
	CHANGE_FILE_NONE,
	CHANGE_FILE_NAME,  /* of none: its interface's name is taken for a pattern */
	CHANGE_FILE_NETNS, /* of none: it is another namespace's */
	CHANGE_FILES
};

struct change_ops {
	const char *before; /* the name in a title, with its blank */
	const char *after;
	const char *risk;
	bool of_interface; /* has an ifname */
	bool of_namespace; /* is another one in another network namespace */
	unsigned wait_ms;  /* that it may take until it reads as it was written */
	enum change_file file;

	/* Of a setting that is a file: what is before its name (and its interface) and behind. */
	const char *front, *rest;
	/* Of one that ethtool sets: the ioctl that reads it (0: another way), its option letter. */
	uint32_t ethtool;
	char letter;

	int (*read)(const struct change *c, char value[JOURNAL_VALUE_SIZE]);
	/*
	 * FORM_OWN, else NULL: puts `wanted` into the form in which it will be read. -EINVAL,
	 * -ERANGE, or -EDOM if it could not be undone.
	 */
	int (*check)(const struct change *c, const char *wanted, char value[JOURNAL_VALUE_SIZE]);
	void (*argv)(const struct change *c, bool undo, struct json_object *argv);
};

/* Their words in the journal, never to be changed. */
extern const char *const change_words[CHANGE_KINDS];
extern const struct change_ops change_ops[CHANGE_KINDS];
extern const struct change_setting change_settings[]; /* ends with a NULL name */

/* NULL: there is no such setting, or this cannot be the name of one. */
const struct change_setting *change_setting(enum change_kind kind, const char *name);

/*
 * Puts `wanted` into the form in which it will be read; `old` is the model of masks and numbers.
 * -EINVAL, or -ERANGE if it is beyond set->min .. max.
 */
int change_form(const struct change_setting *set, uint64_t max, const char *old, const char *wanted,
		char value[JOURNAL_VALUE_SIZE]);

/* The most that the device takes, of a setting with max_offset. */
int change_limit(const struct change *c, uint64_t *max);

/* Writes the file of a setting that is one. */
int change_write_file(const struct change *c, const char *value);

/* Whether its file may be written, or its program is there; or -errno, -EROFS, -EACCES, -ENOENT. */
int change_possible(const struct change *c, struct error *why);

/* sysctl's name of a path below /proc/sys: with dots, unless a part of it has one. Returns buf. */
char *change_sysctl_name(const char *path, char *buf, size_t size);

/* FORM_OWN of the root qdisc; for the tests. Only c->old is read. */
int change_qdisc_check(const struct change *c, const char *wanted, char value[JOURNAL_VALUE_SIZE]);

/*
 * The interface that the setting goes away with: c->ifname, or that of net/ipv4/conf/eth1/...; NULL
 * if there is none. `buf` holds it.
 */
const char *change_device(const struct change *c, char buf[16]);

/* A word as a shell takes it: in quotes if it has to be. Returns buf. */
char *change_quote(const char *word, char *buf, size_t size);

#endif
