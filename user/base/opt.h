/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command is a row, and an option is a row: parsing, --help, completion and the man page use the
 * same const tables. The options of a command are a struct. A group of options that several
 * commands share is a struct within it.
 *
 *	struct run_options { struct global_options global; uint64_t count; bool count_set; ... };
 *
 *	static const struct opt run_opts[] = {
 *		{"count", 'c', OPT_COUNT, offsetof(struct run_options, count), .metavar = "N",
 *		 .set_offset = OPT_SET(struct run_options, count_set), .min = 1, .help = "..."},
 *		{0},
 *	};
 *
 * Long options are never abbreviated: a script must not break when an option is added.
 */
#ifndef PKTLEDGER_BASE_OPT_H
#define PKTLEDGER_BASE_OPT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/num.h"

enum opt_type {		      /* type of the field */
		OPT_FLAG,     /* bool: set to true */
		OPT_REPEAT,   /* unsigned: incremented each time, such as -vv */
		OPT_HELP,     /* no field, the word `all` may follow */
		OPT_VERSION,  /* no field */
		OPT_UINT,     /* unsigned, min .. max */
		OPT_U64,      /* uint64_t, min .. max */
		OPT_COUNT,    /* uint64_t, num_count() */
		OPT_SIZE,     /* uint64_t bytes, num_size() */
		OPT_TIME,     /* uint64_t ns, num_time() */
		OPT_RATE,     /* struct rate */
		OPT_ENDPOINT, /* struct endpoint */
		OPT_STRING,   /* const char *, borrowed from argv, never empty */
		OPT_ENUM,     /* int (or an enum), one of `values` */
		OPT_STRINGS,  /* struct opt_strings: comma-separated, min .. max items */
		OPT_ENUMS,    /* struct opt_enums: comma-separated, no duplicates, min .. max
			       * items */
		OPT_LIMITS,   /* struct opt_limits: comma-separated */
		OPT_CUSTOM,   /* written by parse() */
		OPT_WORDS,    /* positional, last except for OPT_COMMAND: struct opt_words */
		OPT_ARGS,     /* positional, last: struct opt_args, not empty if `required` */
		OPT_COMMAND,  /* positional, last: char *const *, the words after `--` */
		OPT_TYPES,
};

#define OPT_PROGRAM "pktledger" /* program name in messages and --help */

#define OPT_LIST_MAX 16
#define OPT_ITEM_LEN 64

/*
 * Lists. Commas and repeated options both append. The first use replaces the default. An empty
 * item, and an item that does not fit, is an error.
 */
struct opt_strings {
	unsigned n;
	char at[OPT_LIST_MAX][OPT_ITEM_LEN];
};

struct opt_enums {
	unsigned n;
	int at[OPT_LIST_MAX];
};

struct opt_limits {
	unsigned n;
	struct limit at[OPT_LIST_MAX];
};

/* All remaining words, joined with blanks, like tcpdump's expression. */
#define OPT_WORDS_LEN 2048
struct opt_words {
	char text[OPT_WORDS_LEN]; /* "" if empty */
};

/* All remaining words, separately: file names. Borrowed from argv. */
#define OPT_ARGS_MAX 4096
struct opt_args {
	unsigned n;
	const char *at[OPT_ARGS_MAX];
};

/* One value of a closed set. The word `help` as a value lists the set. Ends with a NULL name. */
struct opt_value {
	const char *name;
	int value;
	const char *title;
};

/* Rows end with a NULL name. Offsets count from the start of the group's struct. */
struct opt {
	const char *name; /* without --. Positional argument: as shown, e.g. ADDR[:PORT] */
	char letter;	  /* 0 if the option has no letter */
	enum opt_type type;
	size_t offset;
	size_t set_offset;   /* OPT_SET(): a bool set to true if the option is given, or 0 */
	const char *metavar; /* NULL: the type's default */
	const char *help;    /* a phrase, without full stop and default */
	const struct opt_value *values;
	uint64_t min, max;	  /* in the field's unit, max 0: limit of the type */
	const char *default_text; /* shown instead of the default, always for lists, "": nothing */
	/*
	 * Long names, separated by blanks, of options that cannot be given together with this
	 * option, and of options of which at least one must be given too. NAME=VALUE: an
	 * OPT_ENUM with this value, given or by default. Names that the command lacks are ignored.
	 */
	const char *excludes, *needs;
	const char *formerly;	  /* former name, an error that mentions the new name, or NULL */
	bool required;		  /* positional only */
	/*
	 * Parses an OPT_CUSTOM value, which is not empty. Returns 0 or -errno. A message in `err`
	 * is shown after "--name: ", else the message is "is not valid". Called again for a
	 * repeated option.
	 */
	int (*parse)(const char *value, void *field, struct error *err);
};

#define OPT_SET(type, field) (offsetof(type, field) + 1)

/* A heading of --help with its options. An array of groups ends with NULL opts. */
struct opt_group {
	const char *title;
	const struct opt *opts;
	size_t base; /* offset of the group's struct in the command's struct */
};

struct opt_example {
	const char *line; /* without the program's name: "run --count 100k" */
	const char *what;
};

/* A capability(7) that a command uses. */
struct opt_need {
	int cap; /* CAP_* of <linux/capability.h>, with its name: OPT_CAP(BPF) */
	const char *name;
	const char *what;    /* purpose */
	const char *when;    /* options that need it: "--rx xsk, --rx xdp". NULL: always needed */
	const char *without; /* effect if missing. NULL: the command ends with status 3 */
	const char *keeps;   /* reason for keeping it to the end. NULL: dropped after attaching */
	unsigned before;     /* kept only on kernels older than this: OPT_KERNEL(). 0: on all */
};

/* The text of the manual about capabilities that are not kept. */
#define OPT_GIVEN_UP                                                                               \
	"All threads drop the other capabilities once everything is attached."

#define OPT_KERNEL(major, minor) ((major) << 8 | (minor))

#define OPT_CAP(id) .cap = CAP_##id, .name = "CAP_" #id

struct command {
	const char *name;
	const char *summary;	 /* one line, lower case, no full stop, for the list of commands */
	const char *synopsis;	 /* text after the name in Usage. NULL: made from the rows */
	const char *everyday;	 /* names of the options in the short help. NULL: all options */
	const char *description; /* paragraphs separated by \n. NULL: the summary */
	const struct opt_group *groups;
	const struct opt *args; /* positional arguments in order, options of base 0, or NULL */
	const void *defaults;	/* the options struct before parsing */
	size_t size;		/* bytes of the options struct */
	const struct opt_need *needs; /* ends with a NULL name, or NULL */
	const char *again;	      /* condition for keeping all of them: "With --repeat, ...",
				       * or NULL */
	const struct opt_example *examples; /* ends with a NULL line, or NULL */
	/*
	 * Runs the command. Returns the exit status. For 0 and -errno, the exit status is in `err`.
	 */
	int (*run)(void *options, struct error *err);
};

enum opt_next {
	OPT_NEXT_RUN,
	OPT_NEXT_HELP,	  /* opt_help(), exit 0 */
	OPT_NEXT_HELP_ALL, /* opt_help() with all options, exit 0 */
	OPT_NEXT_VERSION, /* the version, exit 0 */
	OPT_NEXT_VALUES,  /* opt_list_values(asked), exit 0 */
};

#define OPT_OPTIONS_MAX 96 /* most options of a command */

/* The options on the command line, each once, and the option whose values were requested. */
struct opt_seen {
	const struct opt *given[OPT_OPTIONS_MAX];
	unsigned n;
	const struct opt *asked;
	/*
	 * If `keeps` is set: the command line in a canonical, equivalent spelling, ending with
	 * NULL: program, command, each option as --name=value, and the other words. Not freed.
	 */
	bool keeps;
	int argc;
	char **argv;
};

/*
 * Fills `options` (cmd->size bytes) with the defaults, then from argv. argv[0] is the command's
 * name, and argv is not modified. Words and options may be mixed, and `--` ends the options.
 * Returns an enum opt_next, determined by the first word that requests something other than a run,
 * or -EINVAL with STATUS_USAGE in err.
 */
int opt_parse(const struct command *cmd, int argc, char *const argv[], void *options,
	      struct opt_seen *seen, struct error *err);

bool opt_given(const struct opt_seen *seen, const struct opt *opt);

/* Returns the command of that name in a NULL-terminated list, or NULL with STATUS_USAGE in err. */
const struct command *opt_command(const struct command *const *cmds, const char *name,
				  struct error *err);

/* An option, and the offset of its group's struct in the command's struct. */
struct opt_ref {
	const struct opt *opt;
	size_t base;
};

/* Returns the name nearest to a mistyped word, by edit distance or prefix, or NULL. */
const char *opt_nearest(const char *word, const char *const names[], unsigned n);

/*
 * Prints --help of a command, as wide as the terminal, else 80 columns: the everyday options and
 * two examples, or everything if `all` is set.
 */
void opt_help(FILE *out, const struct command *cmd, bool all);

/* Prints name and summary of each command of a NULL-terminated list, aligned. */
void opt_list_commands(FILE *out, const struct command *const *cmds);

/* Prints the closed set of an option, one value with its title per line. */
void opt_list_values(FILE *out, const struct opt *opt);

/*
 * Returns the command's tables as a JSON object, for the generators of completion and man pages,
 * with the members of `help --schema help`. The caller frees it.
 */
struct json_object *opt_describe(const struct command *cmd);

/* Meanings of the exit statuses, by number. Ends with a NULL name. */
extern const struct opt_value opt_exit_status[];

/*
 * An option and its successive values, such as --vary rate=100k..1m/100k:
 *
 *	OPTION=ITEM[,ITEM ...]
 *
 *	VALUE			as after the option itself, on or off for a flag
 *	default			the option is left out, off for a flag
 *	FIRST..LAST/STEP	FIRST, FIRST + STEP ... up to LAST
 *	FIRST..LAST/xFACTOR	FIRST, FIRST * FACTOR ... up to LAST
 *
 * Without a number in FIRST, the item is a value, so that values which contain dots work.
 */
#define OPT_VARY_MAX  256
#define OPT_VARY_WORD (OPT_ITEM_LEN + 32)

struct opt_vary {
	struct opt_ref ref;
	unsigned n;
	struct opt_vary_value {
		char text[OPT_ITEM_LEN];  /* for users */
		char word[OPT_VARY_WORD]; /* for the command line: --rate=100k. "": the option is
					   * left out */
	} at[OPT_VARY_MAX];
};

/*
 * Parses `text`. Returns -EINVAL with STATUS_USAGE for an unknown option, an empty list or item, a
 * repeated item, a range that runs backwards or needs a step, and more than OPT_VARY_MAX values.
 * Values are only checked to expand ranges: opt_parse() of the words checks the rest.
 */
int opt_vary_parse(const struct command *cmd, const char *text, struct opt_vary *v,
		   struct error *err);

/* Helpers of the types for opt_help.c. A text has OPT_TEXT_MAX bytes at most. */
#define OPT_TEXT_MAX 256

/* Writes the names of `excludes` or `needs` as options: "--a, --b x or --c" for the word " or ". */
void opt_names_text(const char *names, const char *word, char *buf, size_t size);

/* Returns "flag", "count", ...: the name in opt_describe(). */
const char *opt_type_name(enum opt_type type);

/* Returns the row's metavar, else the type's. "" for an option without a value. */
const char *opt_metavar(const struct opt *opt);

/*
 * Writes the default as --help shows it, "" if nothing is shown. base: the defaults of the group,
 * or NULL.
 */
void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size);

#endif
