/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A table of drops grouped by fields: the one container behind trace, top, metrics and documents.
 * A row has a text per field and counts. Adding a row with a set of fields `by` adds its counts to
 * the row with the same texts in these fields (SELECT ..., sum(packets) GROUP BY ...).
 *
 * A table is bounded. Rows without room keep the fields that have few values (stage, reason ...);
 * the fields of many values (socket, flow, process ...) become "others". No count is ever lost.
 */
#ifndef PKTLEDGER_MONITOR_TABLE_H
#define PKTLEDGER_MONITOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/stagemap.h"

/* X(ID, name, title): what rows can be told apart by. The order is that of columns. */
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
/* Rows that differ in these are never one. */
#define LIVE_BY_STAGE                                                                              \
	(LIVE_BIT(LIVE_STAGE) | LIVE_BIT(LIVE_CLASS) | LIVE_BIT(LIVE_SOURCE) | LIVE_BIT(LIVE_SCOPE))
#define LIVE_BY_DEFAULT                                                                            \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_DIRECTION) | LIVE_BIT(LIVE_HOOK) | LIVE_BIT(LIVE_REASON) |  \
	 LIVE_BIT(LIVE_LOCATION) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |                  \
	 LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS))
/* Fields of many values: left out first where there is no room. */
#define LIVE_BY_MANY                                                                               \
	(LIVE_BIT(LIVE_SOCKET) | LIVE_BIT(LIVE_PROCESS) | LIVE_BIT(LIVE_CGROUP) |                  \
	 LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_FLOW))

#define LIVE_OTHERS "others" /* text of such a field in a row that stands for several rows */

/* Classes that are no loss, as a bit set of 1 << enum drop_class. */
#define LIVE_NO_LOSS (1u << CLASS_EXPECTED | 1u << CLASS_COPY)

struct live_counts {
	uint64_t events, packets, bytes;
	uint64_t memory; /* bytes that queues charge for the packets (truesize); 0: unknown */
};

/*
 * One row. To make one: set `stage` and `class`, call live_row_begin(), set more texts and the
 * counts, pass it to table_add(). Its texts are borrowed until then; the table copies them.
 */
struct live_row {
	const char *text[LIVE_FIELD_COUNT]; /* never NULL; "" unknown or not told apart */
	enum stage stage;		    /* agrees with text[LIVE_STAGE], if that is set */
	enum drop_class class;		    /* agrees with text[LIVE_CLASS], if that is set */
	const char *note; /* what happened, one clause, static; NULL: rows of several kinds */
	uint64_t cookie;  /* the socket that lost more than half of the packets; 0: none did */
	uint32_t netns;	  /* inode number of the namespace; 0: unknown, or several */
	struct live_counts counts;
	uint64_t votes; /* private to the table: see `cookie` */
	char *texts;	/* private to the table: memory of its texts */
};

/* Sets all texts: stage and class by the row's fields, source and scope as given, the rest "". */
void live_row_begin(struct live_row *row, const char *source, const char *scope);

/* Rows are in no order until table_sort(). Zero-initialised: an empty table without room. */
struct live_table {
	struct live_row *rows;
	unsigned n;
	uint64_t others; /* rows added to "others" since table_init() */
	/* Private */
	unsigned max;	 /* rows told apart by all fields */
	unsigned room;	 /* allocated */
	unsigned *index; /* hash to number of the row + 1 */
	unsigned slots;	 /* of the index, a power of two above twice the rows */
};

#define LIVE_ROWS 8192 /* the usual `max` */
void table_init(struct live_table *t, unsigned max); /* `max`: rows at most */
void table_free(struct live_table *t);		     /* may be zero-initialised */
void table_clear(struct live_table *t);		     /* removes the rows and keeps the memory */

/*
 * Adds the counts of `row` to the row with the same texts in the fields `by` (LIVE_BIT()s), or
 * adds a row; its other fields are "". If there is no room, the smaller half of the rows is moved
 * to rows of "others". Returns false if `row` itself went to "others".
 */
bool table_add(struct live_table *t, const struct live_row *row, unsigned by);

/*
 * Initialises `t` with the rows of `from` whose class is in the bit set `classes` (0: all), grouped
 * by `by`.
 */
void table_group(struct live_table *t, const struct live_table *from, unsigned by,
		 unsigned classes);

/* By stages in the order of the path, or largest rows first; equal ones by their texts. */
enum table_order { TABLE_BY_PATH, TABLE_BY_PACKETS };
void table_sort(struct live_table *t, enum table_order order);

/*
 * Initialises `t` with at most `max` rows of `from`, grouped by `by`: losses before suspected before
 * expected drops, largest first. Rows without room are in "others", some rows more, so that no
 * packet is left out. To be freed by table_free().
 */
void worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
		unsigned max);

/* The sum over the rows of `classes` (0: all) at a stage; STAGE_NONE: at all of them, and none. */
struct live_counts table_sum(const struct live_table *t, unsigned classes, enum stage stage);

double per_second(uint64_t n, uint64_t ns); /* 0 in no time */
void live_counts_add(struct live_counts *sum, const struct live_counts *one);

const char *live_field_name(enum live_field field); /* "stage", as in --by and JSON */
#endif
