/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kinds of changes, their settings, and the forms of values. Private to change.c, which does
 * the same with all of them, and to the tests.
 *
 * A new setting is a row of change_settings[]; a new kind is a row of change_ops[] with its word,
 * its phrases, how it is read, and either the file that it is or the argv that sets it.
 */
#ifndef PKTLEDGER_HOST_CHANGE_KINDS_H
#define PKTLEDGER_HOST_CHANGE_KINDS_H

#include "host/change.h"

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
	const char *link; /* line of a systemd .link file, %s for the value; NULL: none */
	const char *risk; /* NULL: that of the kind */
	/* ethtool: where it is in the structure of the kind, and its maximum; 0: there is none */
	unsigned offset, max_offset;
};

/* Where a change is kept for the next boot. */
enum change_file { CHANGE_FILE_SYSCTL, CHANGE_FILE_UDEV, CHANGE_FILE_NONE };

struct change_ops {
	const char *word;   /* in the journal, never to be changed; at most 15 characters */
	bool of_interface;  /* has an ifname */
	bool of_namespace;  /* is another one in another network namespace */
	const char *before; /* the name in a title, with its blank */
	const char *after;
	const char *risk;
	unsigned wait_ms; /* that it may take until it reads as it was written */
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
	/* The argv that makes the change, or takes it back. */
	void (*argv)(const struct change *c, bool undo, struct change_argv *a);
};

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

/* sysctl's name of a path below /proc/sys: with dots, unless a part of it has one. Returns buf. */
char *change_sysctl_name(const char *path, char *buf, size_t size);

/* FORM_OWN of the root qdisc; for the tests. Only c->old is looked at. */
int change_qdisc_check(const struct change *c, const char *wanted, char value[JOURNAL_VALUE_SIZE]);

/*
 * The interface that the setting goes away with: c->ifname, or that of net/ipv4/conf/eth1/...; NULL
 * if there is none. `buf` holds it.
 */
const char *change_device(const struct change *c, char buf[16]);

/* A word as a shell takes it: in quotes if it has to be. Returns buf. */
char *change_quote(const char *word, char *buf, size_t size);

#endif
