// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/opt.h"
#include "recorded.h"

struct common {
	bool json, json_lines;
	unsigned verbose;
};

struct options {
	int guard; /* so that base 0 and the group's own base differ */
	struct common common;
	uint64_t count, bytes, wait, number;
	bool count_set;
	unsigned threads, queues;
	struct rate rate;
	const char *file;
	int tx;
	struct opt_strings ifaces;
	struct opt_enums stages;
	struct opt_limits limits;
	int custom[2];
	struct endpoint to;
	const char *extra;
	bool extra_set;
	struct opt_words expr;
	char *const *command;
};

enum { TX_AUTO, TX_SOCKET, TX_XSK };

static const struct opt_value tx_values[] = {
	{"auto", TX_AUTO, "the fastest that reaches the receiver"},
	{"socket", TX_SOCKET, "UDP socket"},
	{"xsk", TX_XSK, "AF_XDP"},
	{0},
};

static const struct opt_value stage_values[] = {
#define STAGE(id, name, title, ...) {name, STAGE_##id, title},
#include "stages.h"
	{0},
};

/* N/M; 0/0 has no separate message */
static int parse_pair(const char *value, void *field, struct error *err)
{
	int *pair = field, n = 0;

	if (sscanf(value, "%d/%d%n", &pair[0], &pair[1], &n) != 2 || value[n])
		return error_set(err, STATUS_USAGE, -EINVAL, "write N/M", "no pair");
	return pair[0] ? 0 : -EINVAL;
}

static const struct opt common_opts[] = {
	{"json", 'j', OPT_FLAG, offsetof(struct common, json), .help = "JSON on stdout"},
	{"json-lines", 0, OPT_FLAG, offsetof(struct common, json_lines), .excludes = "json",
	 .help = "one event a line"},
	{"verbose", 'v', OPT_REPEAT, offsetof(struct common, verbose), .help = "say more"},
	{"help", 'h', OPT_HELP, .help = "this"},
	{"version", 'V', OPT_VERSION, .help = "version"},
	{0},
};

#define AT(field) offsetof(struct options, field)

static const struct opt own_opts[] = {
	{"count", 'c', OPT_COUNT, AT(count), .set_offset = OPT_SET(struct options, count_set),
	 .min = 1, .help = "datagrams to send"},
	{"size", 0, OPT_SIZE, AT(bytes), .min = 64, .max = 65536, .help = "frame",
	 .excludes = "length"},
	{"length", 'l', OPT_SIZE, AT(bytes), .help = "payload"},
	{"wait", 0, OPT_TIME, AT(wait), .min = 1000000, .max = 60000000000, .help = "settle"},
	{"number", 'n', OPT_U64, AT(number), .help = "any"},
	{"threads", 'P', OPT_UINT, AT(threads), .min = 1, .max = 64, .help = "threads"},
	{"queues", 0, OPT_UINT, AT(queues), .help = "queues"},
	{"rate", 'r', OPT_RATE, AT(rate), .help = "how fast"},
	{"file", 'o', OPT_STRING, AT(file), .metavar = "FILE", .help = "where"},
	{"tx", 0, OPT_ENUM, AT(tx), .metavar = "ENGINE", .values = tx_values, .help = "sender"},
	{"interface", 'i', OPT_STRINGS, AT(ifaces), .metavar = "A,B", .max = 2, .help = "ports"},
	{"interval", 'I', OPT_TIME, AT(wait), .help = "every", .default_text = "off"},
	{"stage", 0, OPT_ENUMS, AT(stages), .values = stage_values, .help = "stages"},
	{"limit", 0, OPT_LIMITS, AT(limits), .help = "limits"},
	{"pair", 0, OPT_CUSTOM, AT(custom), .parse = parse_pair, .help = "a\tpair\nof two",
	 .excludes = "file tx=xsk", .needs = "tx=socket wait queues"},
	{0},
};

static const struct opt args[] = {
	{"ADDR[:PORT]", 0, OPT_ENDPOINT, AT(to), .required = true, .help = "the receiver"},
	{"EXTRA", 0, OPT_STRING, AT(extra), .set_offset = OPT_SET(struct options, extra_set)},
	{0},
};

/* An expression of several words, and a command after `--`. */
static const struct opt words_args[] = {
	{"EXPR", 0, OPT_WORDS, AT(expr), .help = "which"},
	{"-- COMMAND", 0, OPT_COMMAND, AT(command), .help = "what to run"},
	{0},
};

static const struct opt_group groups[] = {
	{"Traffic", own_opts, 0},
	{"Common", common_opts, AT(common)},
	{0},
};

static const struct options defaults = {
	.guard = 42,
	.count = 1000000,
	.wait = 5000000000,
	.threads = 1,
	.rate = {RATE_MAX, 0},
	.ifaces = {.n = 1, .at = {"lo"}},
};

static const struct opt_example examples[] = {{"run --count 100k 198.18.0.2", "a short one"}, {0}};

/* `args` is left out: most tests have no words. */
static const struct command command = {
	.name = "run",
	.summary = "one experiment",
	.groups = groups,
	.defaults = &defaults,
	.size = sizeof(struct options),
	.examples = examples,
};

static const struct opt_need needs[] = {
	{OPT_CAP(BPF), "to load programs", .when = "--tx xsk"},
	{OPT_CAP(SYSLOG), "for names", .without = "names are missing", .keeps = "for more"},
	{0},
};

static const struct command with_args = {
	.name = "send",
	.summary = "sends",
	.groups = groups,
	.args = args,
	.defaults = &defaults,
	.size = sizeof(struct options),
	.needs = needs,
	.again = "With --repeat all are kept.",
};

static const struct command with_words = {
	.name = "trace",
	.summary = "watches",
	.groups = groups,
	.args = words_args,
	.defaults = &defaults,
	.size = sizeof(struct options),
};

static const struct command *const commands[] = {&command, &with_args, &with_words, NULL};

static struct options o;
static struct error err;
static struct opt_seen seen;

static int parse(const struct command *cmd, int argc, char *const argv[])
{
	memset(&o, 0xa5, sizeof(o));
	err = (struct error){0};
	return opt_parse(cmd, argc, argv, &o, &seen, &err);
}

#define OPTION(member) FIELD(struct options, member)
static const struct recorded_field numbers[] = {
	OPTION(guard),	 OPTION(common.json), OPTION(common.json_lines), OPTION(common.verbose),
	OPTION(count),	 OPTION(count_set),   OPTION(bytes),		 OPTION(wait),
	OPTION(number),	 OPTION(threads),     OPTION(queues),		 OPTION(tx),
	OPTION(to.port), OPTION(custom[0]),   OPTION(custom[1]),	 {0}};

/* Options that are not as by default. */
static void tell_options(void)
{
	struct options shown = o;

	for (const struct recorded_field *f = numbers; f->name; f++) {
		if (!memcmp((const char *)&o + f->at, (const char *)&defaults + f->at, f->size))
			memset((char *)&shown + f->at, 0, f->size);
	}
	if (*recorded_text(numbers, &shown))
		tell("%s", recorded_text(numbers, &shown));
	if (o.rate.unit != RATE_MAX)
		tell("rate=%s", num_text_rate(&o.rate));
	if (o.file)
		tell("file=%s", o.file);
	for (unsigned i = 0; i < o.ifaces.n; i++)
		tell("interface=%s", o.ifaces.at[i]);
	for (unsigned i = 0; i < o.stages.n; i++)
		tell("stage=%s", stage_values[o.stages.at[i]].name);
	for (unsigned i = 0; i < o.limits.n; i++)
		tell("limit=%s", num_text_limit(&o.limits.at[i]));
	if (o.extra_set)
		tell("extra=%s", o.extra);
	if (*o.expr.text)
		tell("expr='%s'", o.expr.text);
	for (char *const *word = o.command; word && *word; word++)
		tell("command='%s'", *word);
	tell("given=%u", seen.n);
}

/* Tells the options of a command line, which stays unchanged. A usage error is one line. */
static void take_line(void *arg, const char *verb, char *text)
{
	static const char *const asks[] = {"run", "help", "help of all", "version", "values of"};
	char *argv[64], *before[64];
	int argc, next;

	if (!strcmp(verb, "case"))
		return;
	argv[0] = (char *)verb;
	argc = recorded_words(text, argv + 1, LENGTH(argv) - 2) + 1;
	argv[argc] = NULL;
	memcpy(before, argv, sizeof(before));
	next = parse(opt_command(commands, verb, &err), argc, argv);
	assert_memory_equal(argv, before, (size_t)(argc + 1) * sizeof(*argv));
	if (next < 0) {
		assert_int_equal(next, -EINVAL);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_null(strpbrk(err.message, "\n\r\t"));
		tell("%s%s%s", err.message, *err.hint ? " | " : "", err.hint);
		return;
	}
	tell("%s", asks[next]);
	if (next == OPT_NEXT_RUN)
		tell_options();
	else if (seen.asked)
		tell("%s", seen.asked->name);
}

CASE(command_lines)
{
	recorded_stories("tests/fixtures/options", take_line, NULL);
}

#define PARSE(...)                                                                                 \
	parse(&command, LENGTH(((char *[]){"run", __VA_ARGS__})),                                  \
	      (char *[]){"run", __VA_ARGS__, NULL})

CASE(test_defaults)
{
	assert_int_equal(parse(&command, 1, (char *[]){"run", NULL}), OPT_NEXT_RUN);
	assert_memory_equal(&o, &defaults, sizeof(o));
	assert_null(seen.asked);
}

/* Options with the same value are kept in the same spelling. */
CASE(command_lines_are_canonical)
{
	static const char *const kept[] = {"pktledger", "run", "--rate=100k", "--wait=500ms",
					   "--count=1M", "--size=64k", "--rate=50%"};

	seen.keeps = true;
	assert_int_equal(PARSE("-r", "100000", "--wait", "0.5", "-c1000000", "--size=65536", "-r50%"),
			 OPT_NEXT_RUN);
	seen.keeps = false;
	assert_int_equal(seen.argc, LENGTH(kept));
	for (int i = 0; i < seen.argc; i++) {
		assert_string_equal(seen.argv[i], kept[i]);
		free(seen.argv[i]);
	}
	free(seen.argv);
}

CASE(longest_texts)
{
	static char word[OPT_WORDS_LEN + 1];
	char *longest = word + sizeof(word) - OPT_ITEM_LEN;

	memset(word, 'x', sizeof(word) - 1);
	assert_int_equal(PARSE("-i", longest - 1), -EINVAL);
	assert_non_null(strstr(err.message, "is too long"));
	assert_int_equal(PARSE("-i", longest), 0);
	assert_string_equal(o.ifaces.at[0], longest);
	assert_int_equal(parse(&with_words, 2, (char *[]){"trace", word, NULL}), -EINVAL);
	assert_int_equal(err.status, STATUS_USAGE);
}

/* Options after other letters, with the value in the same word, and as a value. */
CASE(test_given)
{
	const struct opt *count = &own_opts[0], *json = &common_opts[0], *file = &own_opts[8];

	assert_int_equal(PARSE("-jc5", "-o", "-v", "-j"), 0);
	assert_true(opt_given(&seen, count) && opt_given(&seen, json) && opt_given(&seen, file));
	assert_false(opt_given(&seen, &common_opts[2])); /* -v is the value of -o */
}

static char *printed;
static size_t printed_len;

/* A command whose only option has a name that leaves no room for its help on the line. */
static const struct opt long_opts[] = {
	{"an-option-with-a-very-long-name", 0, OPT_FLAG,
	 .help = "twenty words twenty words twenty words twenty words twenty words twenty"},
	{0},
};

static const struct opt_group long_group[] = {{"Group", long_opts, 0}, {0}};
static const struct command with_a_long_name = {
	.name = "x", .groups = long_group, .examples = examples, .description = "First.\nSecond."};

/* No line is wider than a terminal or ends with a blank. */
static void take_help(const struct command *cmd)
{
	FILE *f;

	free(printed);
	f = open_memstream(&printed, &printed_len);
	opt_help(f, cmd, true);
	fclose(f);
	for (const char *line = printed; *line; line = strchrnul(line, '\n') + 1) {
		const size_t len = strcspn(line, "\n");

		assert_true(len <= 80 && (!len || line[len - 1] != ' '));
	}
}

/* The member of a description by its path, "groups.0.title", or how many there are. */
static void tell_member(struct json_object *of, char *path)
{
	for (char *key; (key = strsep(&path, "."));)
		of = json_object_is_type(of, json_type_array)
			     ? json_object_array_get_idx(of, strtoul(key, NULL, 10))
			     : json_object_object_get(of, key);
	if (json_object_is_type(of, json_type_array))
		tell("%zu", json_object_array_length(of));
	else
		tell("%s", of ? json_object_get_string(of) : "null");
}

static void take_text(void *arg, const char *verb, char *text)
{
	static const char *const names[] = {"count", "rate", "interface", "tx", "rx"};
	struct json_object *doc;
	const char *near;
	FILE *f;

	if (!strcmp(verb, "near")) {
		near = opt_nearest(text, names, LENGTH(names));
		tell("%s", near ? near : "none");
	} else if (!strcmp(verb, "command")) {
		err = (struct error){0};
		tell("%s", opt_command(commands, text, &err) ? "known" : err.message);
		assert_int_equal(err.status, *err.message ? STATUS_USAGE : STATUS_OK);
	} else if (!strcmp(verb, "help")) {
		take_help(strcmp(text, "send") ? &with_a_long_name : &with_args);
	} else if (!strcmp(verb, "lists")) {
		free(printed);
		f = open_memstream(&printed, &printed_len);
		opt_list_commands(f, commands);
		PARSE("--tx", "help");
		opt_list_values(f, seen.asked);
		fclose(f);
		tell_escaped(printed);
	} else if (!strcmp(verb, "shows")) { /* "\n" begins or ends a line */
		for (char *at = text; (at = strstr(at, "\\n"));) {
			*at = '\n';
			memmove(at + 1, at + 2, strlen(at + 2) + 1);
		}
		if (!strstr(printed, text))
			fail_msg("\"%s\" is not in:\n%s", text, printed);
	} else if (!strcmp(verb, "describe")) {
		doc = opt_describe(&with_args);
		tell_member(doc, text);
		json_object_put(doc);
	}
}

CASE(texts)
{
	assert_null(opt_nearest("a", NULL, 0));
	recorded_stories("tests/fixtures/help", take_text, NULL);
	free(printed);
}
