/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A struct as a JSON object and back: a table says which member stands under which key. What one
 * host says to another, what a command prints as JSON, and what is read again, all by such tables.
 *
 * Nothing that comes in is believed: each value is checked for its type and its bounds, texts are
 * cut to their buffers, and what could drive a terminal becomes '?'.
 */
#ifndef PKTLEDGER_BASE_RECORD_H
#define PKTLEDGER_BASE_RECORD_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum record_type {
	RECORD_UINT,	/* any unsigned integer, by its size */
	RECORD_INT,	/* int32_t, int64_t */
	RECORD_BOOL,	/* bool */
	RECORD_DOUBLE,	/* double; finite, and not negative */
	RECORD_TEXT,	/* char[]; "" is null */
	RECORD_POINTER, /* const char *; "" and NULL are null. Read: borrowed from the JSON */
	RECORD_WORD,	/* const char * that is NULL or one of `names` */
	RECORD_ENUM,	/* an enum, by `names` */
	RECORD_TIME,	/* uint64_t ns of CLOCK_REALTIME, as a date (RFC 3339); 0 is null */
	RECORD_NESTED,	/* an object: `rows`, whose offsets count from this member */
	RECORD_OWN,	/* the caller's: a null in its place, for json_put(); never read */
	RECORD_JSON,	/* struct json_object *, whatever it is. Written: it keeps its owner, and
			   the document gets a reference. Read: borrowed */
};

enum record_how {
	RECORD_OPTIONAL = 1, /* need not be there to be read; written always */
	RECORD_OMITTED = 2,  /* the same, and not written if it is zero, or empty */
	RECORD_NULL = 4,     /* null if it is zero, or empty */
	RECORD_MILLI = 8,    /* RECORD_DOUBLE: written with three decimals */
	RECORD_OPEN = 16,    /* RECORD_ENUM, RECORD_WORD: other words are `unknown`, or NULL */
	RECORD_FULL = 32,    /* a text or word that documents always have: its schema has no null */
};

/* A member and where it is kept. Rows end with a NULL key. */
struct record_field {
	const char *key;
	enum record_type type;
	size_t offset;
	size_t size;  /* of the member; of one item of a list */
	size_t items; /* a list: how many fit; 0: it is none */
	uint64_t max; /* of RECORD_UINT; 0: as the type allows */
	unsigned how; /* enum record_how */
	size_t count; /* 1 + offset of the `unsigned` that counts the items. 0: nothing does; zeros
			 at the end are not written then, and read if they are missing */
	size_t when;  /* 1 + offset of a `bool`, whether there is a value: null if not (and with
			 RECORD_OMITTED nothing); set when read. 0: there always is */
	unsigned names_n;
	const char *const *names; /* NULL: a value without a name; it is null */
	int unknown;		  /* RECORD_ENUM: null, and what has no name here */
	const struct record_field *rows;
};

/*
 * Rows for `struct of`, e.g. RECORD("packets", UINT, fate_sums, packets, .how = RECORD_NULL). The
 * second form is for arrays. RECORD_COUNT and RECORD_WHEN are to follow one of them inside it.
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
/* An object of members of `struct of` itself: `of_rows` are rows of it, too. */
#define RECORD_PART(name, of_rows, ...)                                                            \
	{                                                                                          \
		.key = name, .type = RECORD_NESTED, .rows = of_rows, ##__VA_ARGS__                 \
	}
/* A key of which the caller knows the value: what is in it, `of_rows` may say; or NULL. */
#define RECORD_OTHER(name, of_rows)                                                                \
	{                                                                                          \
		.key = name, .type = RECORD_OWN, .rows = of_rows                                   \
	}
#define RECORD_NAMES(list)	 .names = list, .names_n = sizeof(list) / sizeof(*(list))
#define RECORD_COUNT(of, member) .count = 1 + offsetof(struct of, member)
#define RECORD_WHEN(of, member)	 .when = 1 + offsetof(struct of, member)

/* Adds the members to an object, in the order of the rows; with rows NULL none. */
void record_put(struct json_object *o, const struct record_field *rows, const void *from);

/* A new object of them. The caller's. */
struct json_object *record_write(const struct record_field *rows, const void *from);

/* A new list of such objects. */
struct list; /* base/list.h */
struct json_object *record_items(const struct record_field *rows, const struct list *items);

/*
 * Reads the members of `o`, which may be anything, or NULL; keys without a row are passed over. All
 * that the rows name is set, to zero where there was nothing to take. 0; -EBADMSG if one is
 * missing, of another type, or out of its bounds: one who cannot trust the sender then takes
 * nothing, one who reads a file of an older version goes on with the rest.
 */
int record_read(const struct json_object *o, const struct record_field *rows, void *to);

/*
 * Returns the JSON Schema of an object that record_write() makes of these rows: types, bounds,
 * words, null, and which members are always there. RECORD_OWN and RECORD_JSON are anything. The caller's.
 */
struct json_object *record_schema(const struct record_field *rows);

/* Returns the schema of a date as RECORD_TIME has it; and one that allows null as well, in place of
 * `schema`, which is taken. */
struct json_object *record_schema_time(void);
struct json_object *record_schema_or_null(struct json_object *schema);

#endif
