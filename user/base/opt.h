/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A command is a row, an option is a row: parsing, --help, completion and the man page come from
 * the same const tables. A command's options are one struct; a group of options that several
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

enum opt_type {		      /* field */
		OPT_FLAG,     /* bool: set to true */
		OPT_REPEAT,   /* unsigned: one more each time, as -vv */
		OPT_HELP,     /* none; the word `all` may follow */
		OPT_VERSION,  /* none */
		OPT_UINT,     /* unsigned, min .. max */
		OPT_U64,      /* uint64_t, min .. max */
		OPT_COUNT,    /* uint64_t, num_count() */
		OPT_SIZE,     /* uint64_t bytes, num_size() */
		OPT_TIME,     /* uint64_t ns, num_time() */
		OPT_RATE,     /* struct rate */
		OPT_ENDPOINT, /* struct endpoint */
		OPT_STRING,   /* const char *, borrowed from argv; never empty */
		OPT_ENUM,     /* int (or an enum), one of `values` */
		OPT_STRINGS,  /* struct opt_strings: by comma, min .. max of them */
		OPT_ENUMS,    /* struct opt_enums: by comma, each once, min .. max of them */
		OPT_LIMITS,   /* struct opt_limits: by comma */
		OPT_CUSTOM,   /* what parse() says */
		OPT_WORDS,    /* positional, last but for OPT_COMMAND: struct opt_words */
		OPT_ARGS,     /* positional, last: struct opt_args, one at least if `required` */
		OPT_COMMAND,  /* positional, last: char *const *, the words behind `--` */
		OPT_TYPES,
};

#define OPT_PROGRAM "pktledger" /* as messages and --help call it */

#define OPT_LIST_MAX 16
#define OPT_ITEM_LEN 64

/*
 * Lists. Commas and repeating the option both append; the first use replaces the default. An empty
 * item, and one that does not fit, is an error.
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

/* All words that are left, put together with blanks, as tcpdump does with its expression. */
#define OPT_WORDS_LEN 2048
struct opt_words {
	char text[OPT_WORDS_LEN]; /* "": none */
};

/* All words that are left, one by one: names of files. Borrowed from argv. */
#define OPT_ARGS_MAX 4096
struct opt_args {
	unsigned n;
	const char *at[OPT_ARGS_MAX];
};

/* One of a closed set. The word `help` in its place lists the set. Ends with a NULL name. */
struct opt_value {
	const char *name;
	int value;
	const char *title;
};

/* Rows end with a NULL name. Offsets count from the start of the group's struct. */
struct opt {
	const char *name; /* without --; of a positional argument: as shown, e.g. ADDR[:PORT] */
	char letter;	  /* 0: none */
	enum opt_type type;
	size_t offset;
	size_t set_offset;   /* OPT_SET(): a bool that becomes true when given; 0: none */
	const char *metavar; /* NULL: the type's own */
	const char *help;    /* a phrase; no full stop, no default */
	const struct opt_value *values;
	uint64_t min, max;	  /* in the field's unit; max 0: as the type allows */
	const char *default_text; /* shown instead of the default, of lists always; "": none */
	const char *excludes;	  /* long name of an option that cannot be given with this one */
	const char *formerly;	  /* its name before, which is an error that says the new one; NULL */
	bool required;		  /* positional only */
	/*
	 * OPT_CUSTOM. `value` is not empty. Returns 0 or -errno; a message in err is shown behind
	 * "--name: ", else it is "is not valid". Called again when the option is repeated.
	 */
	int (*parse)(const char *value, void *field, struct error *err);
};

#define OPT_SET(type, field) (offsetof(type, field) + 1)

/* A heading of --help with its options. An array of them ends with NULL opts. */
struct opt_group {
	const char *title;
	const struct opt *opts;
	size_t base; /* where the group's struct is in the command's */
};

struct opt_example {
	const char *line; /* without the program's name: "run --count 100k" */
	const char *what;
};

/* A capability(7) that a command uses. */
struct opt_need {
	int cap; /* CAP_* of <linux/capability.h>, with its name: OPT_CAP(BPF) */
	const char *name;
	const char *what;    /* what it is for */
	const char *when;    /* needed with these only: "--rx xsk, --rx xdp"; NULL: always */
	const char *without; /* what happens without it; NULL: the command ends with status 3 */
	const char *keeps;   /* why it is kept to the end; NULL: given up once all is attached */
	unsigned before;     /* kept on kernels older than that only: OPT_KERNEL(); 0: on all */
};

/* Of the others, as --help and the manual say it. */
#define OPT_GIVEN_UP                                                                               \
	"All threads drop the other capabilities once everything is attached."

#define OPT_KERNEL(major, minor) ((major) << 8 | (minor))

#define OPT_CAP(id) .cap = CAP_##id, .name = "CAP_" #id

struct command {
	const char *name;
	const char *summary;	 /* one line, lower case, no full stop: for the list of commands */
	const char *synopsis;	 /* behind the name in Usage; NULL: made from the rows */
	const char *everyday;	 /* names of the options in the short help; NULL: all */
	const char *description; /* paragraphs divided by \n; NULL: the summary */
	const struct opt_group *groups;
	const struct opt *args; /* positional arguments in order, options of base 0; or NULL */
	const void *defaults;	/* the options struct before parsing */
	size_t size;		/* of the options struct */
	const struct opt_need *needs; /* ends with a NULL name; or NULL */
	const char *again;	      /* when all of them are kept: "With --repeat, ..."; or NULL */
	const struct opt_example *examples; /* ends with a NULL line; or NULL */
	/* Returns the exit status, which is that of `err` for 0 and for -errno. */
	int (*run)(void *options, struct error *err);
};

enum opt_next {
	OPT_NEXT_RUN,
	OPT_NEXT_HELP,	  /* opt_help(), exit 0 */
	OPT_NEXT_HELP_ALL, /* the same with everything */
	OPT_NEXT_VERSION, /* the version, exit 0 */
	OPT_NEXT_VALUES,  /* opt_list_values(asked), exit 0 */
};

#define OPT_OPTIONS_MAX 96 /* that a command can have */

/* What was on the command line: options, each once, and the one whose values were asked for. */
struct opt_seen {
	const struct opt *given[OPT_OPTIONS_MAX];
	unsigned n;
	const struct opt *asked;
	/*
	 * If `keeps`: the command line in one spelling, which means the same, and ends with NULL:
	 * program, command, each option as --name=value, and the other words. Not freed.
	 */
	bool keeps;
	int argc;
	char **argv;
};

/*
 * Fills `options` (cmd->size bytes) with the defaults, then from argv; argv[0] is the command's
 * name and argv itself stays as it is. Words and options may be mixed; `--` ends the options.
 * Returns an enum opt_next, decided by the first word that asks for something else than a run, or
 * -EINVAL with STATUS_USAGE in err.
 */
int opt_parse(const struct command *cmd, int argc, char *const argv[], void *options,
	      struct opt_seen *seen, struct error *err);

bool opt_given(const struct opt_seen *seen, const struct opt *opt);

/* The command of that name in a NULL-terminated list; NULL with STATUS_USAGE in err. */
const struct command *opt_command(const struct command *const *cmds, const char *name,
				  struct error *err);

/* An option, and where the struct of its group is in the command's. */
struct opt_ref {
	const struct opt *opt;
	size_t base;
};

/* The name nearest to a mistyped word, by edit distance or as its beginning; NULL: none is near. */
const char *opt_nearest(const char *word, const char *const names[], unsigned n);

/*
 * Prints --help of one command, as wide as the terminal, 80 columns elsewhere: the everyday options
 * and two examples, or `all` of it.
 */
void opt_help(FILE *out, const struct command *cmd, bool all);

/* Name and summary of each command of a NULL-terminated list, aligned. */
void opt_list_commands(FILE *out, const struct command *const *cmds);

/* The closed set of an option, one value and its title a line. */
void opt_list_values(FILE *out, const struct opt *opt);

/*
 * The command's tables as a JSON object, for what generates completion and man pages: the members
 * are those of `help --schema help`. The caller frees it.
 */
struct json_object *opt_describe(const struct command *cmd);

/* What an exit status means, by its number. Ends with a NULL name. */
extern const struct opt_value opt_exit_status[];

/*
 * An option and the values that it takes in turn, as in --vary rate=100k..1m/100k:
 *
 *	OPTION=ITEM[,ITEM ...]
 *
 *	VALUE			as behind the option itself; on or off for a flag
 *	default			the option is left out; for a flag that is off
 *	FIRST..LAST/STEP	FIRST, FIRST + STEP ... up to LAST
 *	FIRST..LAST/xFACTOR	FIRST, FIRST * FACTOR ... up to LAST
 *
 * What is no number in FIRST is taken as a value, so that those with dots of their own work.
 */
#define OPT_VARY_MAX  256
#define OPT_VARY_WORD (OPT_ITEM_LEN + 32)

struct opt_vary {
	struct opt_ref ref;
	unsigned n;
	struct opt_vary_value {
		char text[OPT_ITEM_LEN];  /* as people see it */
		char word[OPT_VARY_WORD]; /* for the command line: --rate=100k; "": none */
	} at[OPT_VARY_MAX];
};

/*
 * Reads `text`. An unknown option, an empty list or item, one twice, a range that runs backwards or
 * needs a step, and more than OPT_VARY_MAX values are -EINVAL with STATUS_USAGE. Values are only
 * checked as far as ranges need it: opt_parse() of the words does the rest.
 */
int opt_vary_parse(const struct command *cmd, const char *text, struct opt_vary *v,
		   struct error *err);

/* Of the types, for opt_help.c. A text is of OPT_TEXT_MAX bytes at most. */
#define OPT_TEXT_MAX 256

/* "flag", "count", ...: as opt_describe() shows it. */
const char *opt_type_name(enum opt_type type);

/* The row's own, else the type's; "" for one without value. */
const char *opt_metavar(const struct opt *opt);

/* The default, as --help shows it; "": none is shown. base: the defaults of the group, or NULL. */
void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size);

#endif
