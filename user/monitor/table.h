/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables of losses: rows with a text for each field, and counts. A table is bounded; what finds no
 * room loses fields of many values (socket, flow, process ...), in a row of "others".
 */
#ifndef PKTLEDGER_MONITOR_TABLE_H
#define PKTLEDGER_MONITOR_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "drops/noise.h"

/* X(ID, name, title): what rows can be told apart by. The order is that of columns. */
#define LIVE_FIELDS(X)                                                                             \
	X(STAGE, "stage", "where on the path of a packet")                                         \
	X(CLASS, "class", "loss, suspect or benign")                                               \
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

#define LIVE_OTHERS "others" /* text of such a field in a row that stands for several */

struct live_counts {
	uint64_t events, packets, bytes;
	uint64_t memory; /* truesize of the packets, what queues charge for them; 0 unknown */
};

struct live_row {
	const char *text[LIVE_FIELD_COUNT]; /* never NULL; "" unknown or not told apart */
	enum stage stage;		    /* as text[LIVE_STAGE] says, if it does */
	enum noise noise;		    /* class */
	const char *note; /* what happened, one clause, static; NULL: rows of several kinds */
	uint64_t cookie;  /* of the socket; of several one that lost more than half, if one did;
			     0: none */
	uint64_t votes;	  /* private: of table_add(), for the cookie */
	char *texts;	  /* private: where those of a table's row are */
	uint32_t netns;	  /* inode number of the namespace; 0: unknown, or several */
	struct live_counts counts;
};

/* Sets all texts: stage and class as the row has them, source and scope as given, else "". */
void live_row_begin(struct live_row *row, const char *source, const char *scope);

/* Rows in no order until table_sort(). */
struct live_table {
	struct live_row *rows;
	unsigned n;
	uint64_t others; /* rows that were added to those of "others" since table_init() */
	/* Private */
	unsigned max;	 /* rows told apart by all fields */
	unsigned room;	 /* allocated */
	unsigned *index; /* hash to number of the row + 1 */
	unsigned slots;	 /* of the index, a power of two above twice the rows */
};

/* `max`: rows at most, LIVE_ROWS usually. table_free(): also of one that is all zero. */
#define LIVE_ROWS 8192
void table_init(struct live_table *t, unsigned max);
void table_free(struct live_table *t);
void table_clear(struct live_table *t);

/*
 * Adds the counts of `row` to the row that has the same texts in the fields `by` (LIVE_BIT()s), and
 * makes one if there is none; other fields are "" there. Texts are copied. Where there is no room
 * the smaller half of the rows is added to rows of "others", which have all but the fields of many
 * values. Returns false if this one was, too.
 */
bool table_add(struct live_table *t, const struct live_row *row, unsigned by);

/*
 * Initialises `t` with the rows of `from`, whose class is in the bit set `classes` (1 << enum
 * noise; 0: all), grouped by `by`.
 */
void table_group(struct live_table *t, const struct live_table *from, unsigned by,
		 unsigned classes);

/* Stages in the order of the path, or most packets first; ties by the texts. */
enum table_order { TABLE_BY_PATH, TABLE_BY_PACKETS };
void table_sort(struct live_table *t, enum table_order order);

/*
 * At most `max` rows of `from`, grouped by `by`, losses before suspects before benign ones, most
 * packets first. What finds no room is in LIVE_OTHERS, some rows more, so that no packet is
 * left out. `classes` as of table_group(). To be freed by table_free().
 */
void worst_rows(struct live_table *t, const struct live_table *from, unsigned by, unsigned classes,
		unsigned max);

/* The sum over the rows of `classes` (0: all) at a stage; STAGE_NONE: at all of them, and none. */
struct live_counts table_sum(const struct live_table *t, unsigned classes, enum stage stage);

double per_second(uint64_t n, uint64_t ns); /* 0 in no time */
void live_counts_add(struct live_counts *sum, const struct live_counts *one);

const char *live_field_name(enum live_field field); /* "stage", as in --by and JSON */
#endif
