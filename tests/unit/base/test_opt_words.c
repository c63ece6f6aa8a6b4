// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Commands that take an expression of several words, and a command after `--`. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/opt.h"

struct words_options {
	bool json;
	struct opt_words expr;
	char *const *command;
};

static const struct opt words_opts[] = {
	{"json", 'j', OPT_FLAG, offsetof(struct words_options, json), .help = "JSON"},
	{0},
};

static const struct opt words_args[] = {
	{"EXPR", 0, OPT_WORDS, offsetof(struct words_options, expr), .help = "which"},
	{"-- COMMAND", 0, OPT_COMMAND, offsetof(struct words_options, command),
	 .help = "what to run"},
	{0},
};

static const struct opt_group words_groups[] = {{"Words", words_opts, 0}, {0}};

static const struct command words_command = {
	.name = "trace",
	.groups = words_groups,
	.args = words_args,
	.size = sizeof(struct words_options),
};

static int parse_words(struct words_options *o, struct error *err, int n, char *const argv[])
{
	struct opt_seen seen;

	*err = (struct error){};
	return opt_parse(&words_command, n, argv, o, &seen, err);
}

#define WORDS(o, err, ...)                                                                         \
	parse_words(o, err, sizeof((char *[]){"trace", __VA_ARGS__}) / sizeof(char *),             \
		    (char *[]){"trace", __VA_ARGS__, NULL})

CASE(words_and_a_command)
{
	char *const long_word = malloc(OPT_WORDS_LEN + 1);
	struct words_options o;
	struct error err;

	assert_int_equal(WORDS(&o, &err, "udp", "port", "53"), OPT_NEXT_RUN);
	assert_string_equal(o.expr.text, "udp port 53");
	assert_null(o.command);
	/* options between the words are options, after -- they belong to the command */
	assert_int_equal(WORDS(&o, &err, "udp", "-j", "port 53", "--", "dig", "-j", "--"),
			 OPT_NEXT_RUN);
	assert_true(o.json);
	assert_string_equal(o.expr.text, "udp port 53");
	assert_string_equal(o.command[0], "dig");
	assert_string_equal(o.command[1], "-j");
	assert_string_equal(o.command[2], "--");
	assert_null(o.command[3]);
	assert_int_equal(WORDS(&o, &err, "--", "true"), OPT_NEXT_RUN);
	assert_false(o.json);
	assert_string_equal(o.expr.text, "");
	assert_string_equal(o.command[0], "true");
	assert_int_equal(WORDS(&o, &err, "udp", "--"), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	memset(long_word, 'x', OPT_WORDS_LEN);
	long_word[OPT_WORDS_LEN] = '\0';
	assert_int_equal(WORDS(&o, &err, long_word), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
	free(long_word);
}
