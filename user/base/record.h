/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Converts a struct to a JSON object and back, using a table that assigns a key to each member.
 * Messages between hosts, JSON output, and files that are read again all use such tables.
 *
 * Input is not trusted. Each value's type and bounds are checked, texts are truncated to fit their
 * buffers, and characters that could control a terminal become '?'.
 */
#ifndef PKTLEDGER_BASE_RECORD_H
#define PKTLEDGER_BASE_RECORD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_UINT,	/* any unsigned integer type, selected by its size */
	RECORD_INT,	/* int32_t, int64_t */
	RECORD_BOOL,	/* bool */
	RECORD_DOUBLE,	/* double, finite and not negative */
	RECORD_TEXT,	/* char[]; "" is null */
	RECORD_POINTER, /* const char *, "" and NULL are null, reading borrows from the JSON */
	RECORD_WORD,	/* const char *, NULL or one of `names` */
	RECORD_ENUM,	/* an enum, written as one of `names` */
	RECORD_TIME,	/* uint64_t ns of CLOCK_REALTIME, as a date (RFC 3339), 0 is null */
	RECORD_NESTED,	/* an object described by `rows`, whose offsets count from this member */
	RECORD_OWN,	/* uses the row's functions, without them null until json_put() */
	RECORD_ROWS,	/* all members in `rows`, in this object, with offsets from this member */
	RECORD_COUNTED, /* uint64_t[], the counts that are not 0: a list of objects, each with the
			 * count's name and the count itself, as members named by `counted` */
	RECORD_JSON,	/* any struct json_object *. Writing leaves it to its owner, and the
			 * document gets a reference. Reading borrows */
};

enum record_how {
	RECORD_OPTIONAL = 1, /* may be missing in input, always written */
	RECORD_OMITTED = 2,  /* may be missing in input, not written if zero or empty */
	RECORD_NULL = 4,     /* written as null if zero or empty */
	RECORD_MILLI = 8,    /* RECORD_DOUBLE: written with three decimals */
	RECORD_OPEN = 16,    /* RECORD_ENUM, RECORD_WORD: other words are read as `unknown`, or
			      * NULL */
	RECORD_FULL = 32,    /* a text or word that every document has: its schema excludes null */
};

/* A member and its position in the struct. Rows end with a NULL key. */
struct record_field {
	const char *key;
	enum record_type type;
	size_t offset;
	size_t size;  /* bytes, size of the member, or of one item of a list */
	size_t items; /* capacity of a list, 0: not a list */
	uint64_t max; /* for RECORD_UINT, 0: the type's limit */
	unsigned how; /* enum record_how */
	size_t count; /* 1 + offset of the `unsigned` that counts the items. 0: no counter, so
		       * trailing zeros are not written, and missing items are read as zeros */
	size_t when;  /* 1 + offset of a `bool` that is true if the value is known. If false, the
		       * value is written as null (or, with RECORD_OMITTED, not at all). Reading
		       * sets it. 0: always known */
	unsigned names_n;
	const char *const *names; /* NULL: a value without a name, written as null */
	int unknown;		  /* RECORD_ENUM: value for null and unknown names */
	const char *counted[2];	  /* RECORD_COUNTED */
	const struct record_field *rows;
	/* RECORD_OWN, may be NULL. `at` is the struct, zeroed before read(). `o` may be NULL. */
	struct json_object *(*write)(const void *at);
	void (*read)(struct json_object *o, void *at);
};

/*
 * Define rows for `struct of`, e.g. RECORD("packets", UINT, outcome_sums, packets, .how =
 * RECORD_NULL). The second form is for arrays. RECORD_COUNT and RECORD_WHEN go at the end of a
 * row's parentheses.
 */
#define RECORD(name, kind, of, member, ...)                                                        \
	{                                                                                          \
		.key = name, .type = RECORD_##kind, .offset = offsetof(struct of, member),         \
		.size = sizeof(((struct of *)0)->member), ##__VA_ARGS__                            \
	}
#define RECORD_LIST(name, kind, of, member, ...)                                                   \
	{                                                                                          \
		.key = name, .type = RECORD_##kind, .offset = offsetof(struct of, member),         \
		.size = sizeof(((struct of *)0)->member[0]),                                       \
		.items = sizeof(((struct of *)0)->member) / sizeof(((struct of *)0)->member[0]),   \
		##__VA_ARGS__                                                                      \
	}
#define RECORD_COUNTS(name, of, member, of_names, of_name, of_count)                               \
	RECORD(name, COUNTED, of, member, RECORD_NAMES(of_names), .counted = {of_name, of_count})
/*
 * Defines an object made of members of `struct of` itself. `of_rows` are rows for the same struct.
 */
#define RECORD_PART(name, of_rows, ...)                                                            \
	{                                                                                          \
		.key = name, .type = RECORD_NESTED, .rows = of_rows, ##__VA_ARGS__                 \
	}
/* Defines a key whose value the caller writes. `of_rows` may describe the contents, or is NULL. */
#define RECORD_OTHER(name, of_rows)                                                                \
	{                                                                                          \
		.key = name, .type = RECORD_OWN, .rows = of_rows                                   \
	}
/* Defines a key whose value is written and read by two functions that take the struct. */
#define RECORD_BY(name, writes, reads)                                                             \
	{                                                                                          \
		.key = name, .type = RECORD_OWN, .write = writes, .read = reads                    \
	}
/* Inserts the members of another table, for the same struct or for a struct in it. */
#define RECORD_ALSO(of_rows)                                                                       \
	{                                                                                          \
		.key = "", .type = RECORD_ROWS, .rows = of_rows                                    \
	}
#define RECORD_FROM(of, member, of_rows)                                                           \
	{                                                                                          \
		.key = "", .type = RECORD_ROWS, .offset = offsetof(struct of, member),             \
		.rows = of_rows                                                                    \
	}
#define RECORD_NAMES(list)	 .names = list, .names_n = sizeof(list) / sizeof(*(list))
#define RECORD_COUNT(of, member) .count = 1 + offsetof(struct of, member)
#define RECORD_WHEN(of, member)	 .when = 1 + offsetof(struct of, member)

/* Adds the members to an object, in row order. Adds nothing if `rows` is NULL. */
void record_put(struct json_object *o, const struct record_field *rows, const void *from);

/* Returns a new object with the members. The caller owns it. */
struct json_object *record_write(const struct record_field *rows, const void *from);

/* Returns a new list of such objects. */
struct list; /* base/list.h */
struct json_object *record_items(const struct record_field *rows, const struct list *items);

/*
 * Reads the members of `o`, which may be NULL or any value. Ignores keys that have no row. Sets
 * every member in the rows, to zero if its value is missing or rejected. Returns 0, or -EBADMSG if
 * a value is missing, has the wrong type or is out of bounds. Callers that do not trust the sender
 * then discard everything. Callers that read a file written by an older version use the rest.
 */
int record_read(const struct json_object *o, const struct record_field *rows, void *to);

/*
 * Returns the JSON Schema of the objects that record_write() makes from these rows: types, bounds,
 * words, null, and required members. RECORD_OWN and RECORD_JSON allow any value. The caller owns
 * the result.
 */
struct json_object *record_schema(const struct record_field *rows);

/*
 * The first function returns the schema of a RECORD_TIME date. The second returns a schema that
 * allows null in addition to `schema`, which it takes ownership of.
 */
struct json_object *record_schema_time(void);
struct json_object *record_schema_or_null(struct json_object *schema);

#endif
