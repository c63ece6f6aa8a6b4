/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table of drops grouped by fields, used by trace, top, metrics and documents. A row has one text
 * per field, and counts. Adding a row with a set of fields `by` adds its counts to the row that has
 * the same texts in these fields (SELECT ..., sum(packets) GROUP BY ...).
 *
 * A table is bounded. When it is full, rows keep only the fields that have few values (such as
 * stage and reason). Fields with many values (such as socket, flow and process) become "others". No
 * counts are ever lost.
 */
#ifndef PKTLEDGER_MONITOR_TABLE_H
#define PKTLEDGER_MONITOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/stagemap.h"

/* X(ID, name, title): fields that separate rows, in column order. */
#define LIVE_FIELDS(X)                                                                             \
	X(STAGE, "stage", "where on the path of a packet")                                         \
	X(CLASS, "class", "loss, suspected, expected or copy")                                               \
	X(DIRECTION, "direction", "tx, rx or forward")                                             \
	X(HOOK, "hook", "netfilter hook")                                                          \
	X(REASON, "reason", "drop reason of the kernel")                                           \
	X(LOCATION, "location", "function of the kernel")                                          \
	X(IFNAME, "ifname", "network interface")                                                   \
	X(NETNS, "netns", "network namespace")                                                     \
	X(SOCKET, "socket", "socket that dropped it, else the one that sent it")                   \
	X(PROCESS, "process", "process that has the socket")                                       \
	X(CGROUP, "cgroup", "cgroup of the socket")                                                \
	X(CONTAINER, "container", "container of the socket or namespace")                          \
	X(POD, "pod", "pod of the socket or namespace")                                            \
	X(FLOW, "flow", "protocol, addresses and ports")                                           \
	X(CPU, "cpu", "processor")                                                                 \
	X(SOURCE, "source", "event or counter")                                                    \
	X(SCOPE, "scope", "flow, interface or host")

enum live_field {
#define LIVE_FIELD_ENUM(id, name, title) LIVE_##id,
	LIVE_FIELDS(LIVE_FIELD_ENUM)
#undef LIVE_FIELD_ENUM
		LIVE_FIELD_COUNT,
};

#define LIVE_BIT(field) (1u << (field))
/* Rows that differ in these fields are never merged. */
#define LIVE_BY_STAGE                                                                              \
	(LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_SOURCE) | LIVE_BIT(LIVE_SCOPE))
#define LIVE_BY_DEFAULT                                                                            \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_DIRECTION) | LIVE_BIT(LIVE_HOOK) | LIVE_BIT(LIVE_REASON) |  \
	 LIVE_BIT(LIVE_LOCATION) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |                  \
	 LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS))
/* Fields with many distinct values, dropped first when the table is full. */
#define LIVE_BY_MANY                                                                               \
	(LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CGROUP) |                  \
	 LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_FLOW))

#define LIVE_OTHERS "others" /* text of a field with many values in a row that stands for several
			      * rows */

/* Classes that do not count as losses, as a bit set of 1 << enum drop_class. */
#define LIVE_NO_LOSS (1u << CLASS_EXPECTED | 1u << CLASS_COPY)

struct live_counts {
	uint64_t events, packets, bytes;
	uint64_t memory; /* bytes that queues charged for the packets (truesize), 0: unknown */
};

/* The time window in which a cause lost the most packets, over all its flows and CPUs. */
struct live_burst {
	uint64_t packets; /* 0: unknown, or windows are disabled */
	uint64_t time_ns; /* CLOCK_REALTIME at the start of the window */
	uint64_t window_ns;
};

/*
 * To create a row, set `stage` and `class`, call live_row_begin(), then set more texts and the
 * counts and pass the row to table_add(), which copies the texts. Until then, texts are borrowed.
 */
struct live_row {
	const char *text[LIVE_FIELD_COUNT]; /* never NULL, "" if unknown or if the field does not
					     * separate rows */
	enum stage stage;		    /* same as text[LIVE_STAGE] if that text is set */
	enum drop_class class;		    /* same as text[LIVE_CLASS] if that text is set */
	const char *note; /* one clause about the event, static, NULL: rows of several kinds */
	uint64_t cookie;  /* socket with more than half of the packets, 0: no such socket */
	uint32_t netns;	  /* the namespace's inode number, 0: unknown, or several namespaces */
	uint32_t one;	  /* one of several namespaces, 0: they are not several */
	struct live_counts counts;
	struct live_burst burst; /* the largest burst of the merged rows */
	uint64_t moved_ns; /* time of the last change, which the table's owner maintains */
	uint64_t votes;	   /* private to the table, used for `cookie` */
	char *texts;	/* private to the table, memory for the texts */
};

/*
 * Sets all texts. Stage and class come from the row's members, source and scope are as given, and
 * the rest are "".
 */
void live_row_begin(struct live_row *row, const char *source, const char *scope);

/*
 * Rows are in no particular order until table_sort(). Zero-initialised: an empty table without
 * capacity.
 */
struct live_table {
	struct live_row *rows;
	unsigned n;
	uint64_t others; /* number of rows added to "others" since table_init() */
	/* Private */
	unsigned max;	 /* maximum number of rows that all fields separate */
	unsigned room;	 /* allocated rows */
	unsigned *index; /* maps hash to row number + 1 */
	unsigned slots;	 /* size of the index, a power of two that is more than twice the rows */
};

#define LIVE_ROWS 8192 /* default `max` */
void table_init(struct live_table *t, unsigned max); /* `max`: maximum number of rows */
void table_free(struct live_table *t);		     /* accepts a zero-initialised table */
void table_clear(struct live_table *t);		     /* removes the rows, keeps the memory */

/*
 * Adds the counts in `row` to the row with the same texts in the fields `by` (LIVE_BIT()s), or adds
 * a row that has "" in all other fields. If the table is full, merges the smaller half of the rows
 * into rows of "others". Returns false if `row` itself was merged into "others".
 */
bool table_add(struct live_table *t, const struct live_row *row, unsigned by);

/*
 * Returns the row to which table_add() would add, or NULL. The result is valid until the next
 * table_add().
 */
struct live_row *table_find(const struct live_table *t, const struct live_row *row, unsigned by);
void table_remove(struct live_table *t, struct live_row *row); /* a row of this table */

/*
 * Initialises `t` with the rows in `from`, grouped by `by`. `classes`: bit set of the classes to
 * include, 0: all.
 */
void table_group(struct live_table *t, const struct live_table *from, unsigned by,
		 unsigned classes);

/* TABLE_BY_PATH: stages in path order. TABLE_BY_PACKETS: largest rows first. Ties are sorted by
 * text. */
enum table_order { TABLE_BY_PATH, TABLE_BY_PACKETS };
void table_sort(struct live_table *t, enum table_order order);

/*
 * Initialises `t` with at most `max` rows from `from`, grouped by `by`. Losses come first, then
 * suspected drops, then expected drops, with the largest first in each group. The remaining rows
 * are merged into a few additional rows of "others", so that no packet is left out. The caller
 * frees `t` with table_free().
 */
void worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
		unsigned max);

/* Returns the sum over the rows at a stage that have one of `classes` (0: all). STAGE_NONE: all
 * rows, including rows without a stage. */
struct live_counts table_sum(const struct live_table *t, unsigned classes, enum stage stage);

double per_second(uint64_t n, uint64_t ns); /* 0 if ns is 0 */
void live_counts_add(struct live_counts *sum, const struct live_counts *one);

const char *live_field_name(enum live_field field); /* "stage", as in --by and JSON */
#endif
