/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of change.h have in common: change_data.c has the tables, change_form.c the forms
 * of values; change_file.c, change_ethtool.c and change_qdisc.c read and write them and make
 * commands of them, change_persist.c makes files; change_apply.c does, change_undo.c undoes.
 */
#ifndef PKTLEDGER_HOST_CHANGE_PARTS_H
#define PKTLEDGER_HOST_CHANGE_PARTS_H

#include <stdint.h>

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

/* A setting in its place. */
struct change_at {
	const struct netns *ns;
	enum change_kind kind;
	const struct change_setting *set;
	const char *ifname, *name;
};

/* ethtool's commands that read and write a structure of 32 bit fields, and its option letter. */
struct change_ethtool {
	uint32_t get, set;
	char letter;
};

struct change_ops {
	const char *word;   /* in the journal, never to be changed; at most 15 characters */
	bool of_interface;  /* has an ifname */
	bool of_namespace;  /* is another one in another network namespace */
	const char *before; /* the name in a title, with its blank */
	const char *after;
	const char *risk;
	struct change_ethtool ethtool;
	unsigned wait_ms; /* that it may take until it reads as it was written */

	int (*read)(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
	int (*write)(const struct change_at *at, const char *value);
	/*
	 * FORM_OWN, else NULL: puts `wanted` into the form in which it will be read. -EINVAL,
	 * -ERANGE, or -EDOM if it could not be undone.
	 */
	int (*check)(const struct change_at *at, const char *old, const char *wanted,
		     char value[JOURNAL_VALUE_SIZE]);
	/* The most that the device takes, of a setting with max_offset. */
	int (*limit)(const struct change_at *at, uint64_t *max);
	/* The command that makes `to` of `from`. */
	void (*command)(const struct change_at *at, const char *from, const char *to, char *buf,
			size_t size);
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

/*
 * Writes the value and reads it back; one that is so already is not written. -ERANGE: the kernel or
 * the device has made another of it.
 */
int change_set(const struct change *c, const char *value);

/* What may help against an errno of change_set(); NULL: nothing known. */
const char *change_hint(int code);

/* The place of a change; its setting is NULL if there is none. */
struct change_at change_place(const struct change *c);

/*
 * The interface that the setting goes away with: c->ifname, or that of net/ipv4/conf/eth1/...; NULL
 * if there is none. `buf` holds it.
 */
const char *change_device(const struct change *c, char buf[16]);

/* A word as a shell takes it: in quotes if it has to be. Returns buf. */
char *change_quote(const char *word, char *buf, size_t size);

/* sysctl's name of a path below /proc/sys: with dots, unless a part of it has one. Returns buf. */
char *change_sysctl_name(const char *path, char *buf, size_t size);

/* The operations of the kinds. */
int change_file_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
int change_file_write(const struct change_at *at, const char *value);
void change_file_command(const struct change_at *at, const char *from, const char *to, char *buf,
			 size_t size);

int change_ethtool_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
int change_ethtool_write(const struct change_at *at, const char *value);
int change_ethtool_limit(const struct change_at *at, uint64_t *max);
void change_ethtool_command(const struct change_at *at, const char *from, const char *to, char *buf,
			    size_t size);

int change_feature_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
int change_feature_write(const struct change_at *at, const char *value);

int change_rss_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
int change_rss_write(const struct change_at *at, const char *value);
int change_rss_check(const struct change_at *at, const char *old, const char *wanted,
		     char value[JOURNAL_VALUE_SIZE]);
void change_rss_command(const struct change_at *at, const char *from, const char *to, char *buf,
			size_t size);

int change_qdisc_read(const struct change_at *at, char value[JOURNAL_VALUE_SIZE]);
int change_qdisc_write(const struct change_at *at, const char *value);
int change_qdisc_check(const struct change_at *at, const char *old, const char *wanted,
		       char value[JOURNAL_VALUE_SIZE]);
void change_qdisc_command(const struct change_at *at, const char *from, const char *to, char *buf,
			  size_t size);

#endif
