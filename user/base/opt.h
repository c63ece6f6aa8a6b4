/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every command and every option is a row in a table. Parsing, --help, completion and the man page
 * all use the same const tables. A command's options are stored in a struct. A group of options
 * that several commands share is a struct within that struct.
 *
 *	struct run_options { struct global_options global; uint64_t count; bool count_set; ... };
 *
 *	static const struct opt run_opts[] = {
 *		{"count", 'c', OPT_COUNT, offsetof(struct run_options, count), .metavar = "N",
 *		 .set_offset = OPT_SET(struct run_options, count_set), .min = 1, .help = "..."},
 *		{0},
 *	};
 *
 * Long options cannot be abbreviated, because adding an option must not break scripts.
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
		OPT_REPEAT,   /* unsigned: incremented each time, as with -vv */
		OPT_HELP,     /* no field, may be followed by the word `all` */
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
		OPT_WORDS,    /* positional, last (only OPT_COMMAND may follow): struct opt_words */
		OPT_ARGS,     /* positional, last: struct opt_args, not empty if `required` */
		OPT_COMMAND,  /* positional, last: char *const *, the words after `--` */
		OPT_TYPES,
};

#define OPT_PROGRAM "pktledger" /* program name in messages and in --help */

#define OPT_LIST_MAX 16
#define OPT_ITEM_LEN 64

/*
 * Lists. Commas and repeated options both append. The first use replaces the default. It is an
 * error if an item is empty or does not fit.
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

/* All remaining words, joined with blanks, like a tcpdump expression. */
#define OPT_WORDS_LEN 2048
struct opt_words {
	char text[OPT_WORDS_LEN]; /* "": no words */
};

/* All remaining words, kept separate, such as file names. Borrowed from argv. */
#define OPT_ARGS_MAX 4096
struct opt_args {
	unsigned n;
	const char *at[OPT_ARGS_MAX];
};

/*
 * One value of a closed set. A set ends with a NULL name. If a user gives `help` as the value, the
 * set is listed.
 */
struct opt_value {
	const char *name;
	int value;
	const char *title;
};

/* Ends with a NULL name. Offsets count from the start of the group's struct. */
struct opt {
	const char *name; /* without --; positional arguments: as shown, e.g. ADDR[:PORT] */
	char letter;	  /* 0: no letter */
	enum opt_type type;
	size_t offset;
	size_t set_offset;   /* OPT_SET(): a bool that is set if the option is given, 0: none */
	const char *metavar; /* NULL: the type's default */
	const char *help;    /* a phrase, without full stop and without the default */
	const struct opt_value *values;
	uint64_t min, max;	  /* in the field's unit, max 0: the type's limit */
	const char *default_text; /* replaces the default in help, always for lists, "": show
				   * nothing */
	/*
	 * Long names, separated by blanks. `excludes`: options that cannot be combined with this
	 * option. `needs`: options of which at least one must also be given. NAME=VALUE matches an
	 * OPT_ENUM that has this value, given or by default. Names that the command does not have
	 * are ignored.
	 */
	const char *excludes, *needs;
	const char *formerly;	  /* former name (an error that mentions the new one), or NULL */
	bool required;		  /* positional arguments only */
	/*
	 * Parses an OPT_CUSTOM value, which is never empty. Returns 0 or -errno. A message in `err`
	 * is shown after "--name: ", otherwise the message is "is not valid". A repeated option
	 * calls it again.
	 */
	int (*parse)(const char *value, void *field, struct error *err);
};

#define OPT_SET(type, field) (offsetof(type, field) + 1)

/* A heading in --help with its options. An array of groups ends with NULL opts. */
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
	int cap; /* CAP_* from <linux/capability.h>, set together with its name by OPT_CAP(BPF) */
	const char *name;
	const char *what;    /* purpose */
	const char *when;    /* options that need it: "--rx xsk, --rx xdp", NULL: always needed */
	const char *without; /* effect if it is missing, NULL: the command ends with status 3 */
	const char *keeps;   /* why it is kept to the end, NULL: dropped after attaching */
	unsigned before;     /* kept only on kernels older than this: OPT_KERNEL(), 0: on all */
};

/* The manual's text about capabilities that are not kept. */
#define OPT_GIVEN_UP                                                                               \
	"All threads drop the other capabilities once everything is attached."

#define OPT_KERNEL(major, minor) ((major) << 8 | (minor))

#define OPT_CAP(id) .cap = CAP_##id, .name = "CAP_" #id

struct command {
	const char *name;
	const char *summary;	 /* one line for the list of commands, lower case, no full stop */
	const char *synopsis;	 /* text after the name in Usage, NULL: generated from the rows */
	const char *everyday;	 /* names of the options in the short help, NULL: all options */
	const char *description; /* paragraphs separated by \n, NULL: the summary */
	const struct opt_group *groups;
	const struct opt *args; /* positional arguments in order, as options with base 0, or NULL */
	const void *defaults;	/* the options struct before parsing */
	size_t size;		/* bytes, size of the options struct */
	const struct opt_need *needs; /* ends with a NULL name, or NULL */
	const char *again;	      /* condition under which all of them are kept: "With --repeat,
				       * ...", or NULL */
	const struct opt_example *examples; /* ends with a NULL line, or NULL */
	/*
	 * Runs the command. Returns the exit status. If it returns 0 or -errno, the exit status is
	 * taken from `err`.
	 */
	int (*run)(void *options, struct error *err);
};

enum opt_next {
	OPT_NEXT_RUN,
	OPT_NEXT_HELP,	  /* call opt_help(), exit with 0 */
	OPT_NEXT_HELP_ALL, /* call opt_help() with all options, exit with 0 */
	OPT_NEXT_VERSION, /* print the version, exit with 0 */
	OPT_NEXT_VALUES,  /* call opt_list_values(asked), exit with 0 */
};

#define OPT_OPTIONS_MAX 96 /* most options that a command can have */

/*
 * The options given on the command line, each listed once, and the option for which the user asked
 * for the possible values.
 */
struct opt_seen {
	const struct opt *given[OPT_OPTIONS_MAX];
	unsigned n;
	const struct opt *asked;
	/*
	 * If `keeps` is set: an equivalent command line in canonical form, ending with NULL. It
	 * consists of the program, the command, each option as --name=value, and the other words.
	 * Not freed.
	 */
	bool keeps;
	int argc;
	char **argv;
};

/*
 * Fills `options` (cmd->size bytes) with the defaults, then parses argv into it. argv[0] is the
 * command's name. argv is not modified. Words and options may be mixed, and `--` ends the options.
 * Returns an enum opt_next, determined by the first word that asks for something other than running
 * the command, or -EINVAL with STATUS_USAGE in `err`.
 */
int opt_parse(const struct command *cmd, int argc, char *const argv[], void *options,
	      struct opt_seen *seen, struct error *err);

bool opt_given(const struct opt_seen *seen, const struct opt *opt);

/*
 * Returns the command with this name in a NULL-terminated list, or NULL with STATUS_USAGE in `err`.
 */
const struct command *opt_command(const struct command *const *cmds, const char *name,
				  struct error *err);

/* An option and the offset of its group's struct in the command's struct. */
struct opt_ref {
	const struct opt *opt;
	size_t base;
};

/* Returns the name most similar to a mistyped word, by edit distance or prefix, or NULL. */
const char *opt_nearest(const char *word, const char *const names[], unsigned n);

/*
 * Prints a command's --help, as wide as the terminal or 80 columns. Shows the everyday options and
 * two examples, or everything if `all` is set.
 */
void opt_help(FILE *out, const struct command *cmd, bool all);

/* Prints the name and summary of each command in a NULL-terminated list, aligned. */
void opt_list_commands(FILE *out, const struct command *const *cmds);

/* Prints an option's closed set, one value with its title per line. */
void opt_list_values(FILE *out, const struct opt *opt);

/*
 * Returns the command's tables as a JSON object for the generators of completion and man pages.
 * `help --schema help` describes its members. The caller frees it.
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

/* Helpers for the option types, used by opt_help.c. A text is at most OPT_TEXT_MAX bytes long. */
#define OPT_TEXT_MAX 256

/*
 * Writes the names in `excludes` or `needs` that the command has, as options, for example "--a,
 * --b x or --c" if `word` is " or ".
 */
void opt_names_text(const struct command *cmd, const char *names, const char *word, char *buf,
		    size_t size);

/* Returns the name used in opt_describe(): "flag", "count", ... */
const char *opt_type_name(enum opt_type type);

/* Returns the row's metavar, or the type's. "" for an option that takes no value. */
const char *opt_metavar(const struct opt *opt);

/*
 * Writes the default as --help shows it, or "" if nothing is shown. `base` is the defaults of the
 * group, or NULL.
 */
void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size);

#endif
