// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "base/opt.h"

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

static struct options o;
static struct error err;
static struct opt_seen seen;

static int parse_words(const struct command *cmd, char *const *argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	memset(&o, 0xa5, sizeof(o));
	err = (struct error){0};
	return opt_parse(cmd, argc, argv, &o, &seen, &err);
}

#define PARSE(...) parse_words(&command, (char *[]){"run", ##__VA_ARGS__, NULL})
#define SEND(...)  parse_words(&with_args, (char *[]){"send", ##__VA_ARGS__, NULL})

/* Asserts a usage error of one line that contains `text`. */
static void check_error(int code, const char *text, int line)
{
	if (code != -EINVAL || err.status != STATUS_USAGE || !strstr(err.message, text) ||
	    strpbrk(err.message, "\n\r\t"))
		fail_msg("line %d: %d, status %d, '%s'; wanted '%s'", line, code, err.status,
			 err.message, text);
}

#define BAD(text, ...)	    check_error(PARSE(__VA_ARGS__), text, __LINE__)
#define BAD_SEND(text, ...) check_error(SEND(__VA_ARGS__), text, __LINE__)

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

CASE(test_defaults)
{
	assert_int_equal(PARSE(), OPT_NEXT_RUN);
	assert_memory_equal(&o, &defaults, sizeof(o));
	assert_null(seen.asked);
}

CASE(test_every_type)
{
	assert_int_equal(PARSE("-jvv", "-c", "10k", "--size=9k", "--wait", "200ms", "-n0", "-P4",
			       "--rate=1.5Gbit/l1", "-ofile", "--tx", "xsk", "-i", "a,b"),
			 0);
	assert_true(o.common.json && !o.common.json_lines && o.common.verbose == 2);
	assert_true(o.count == 10000 && o.count_set && o.bytes == 9216 && o.wait == 200000000);
	assert_true(o.number == 0 && o.threads == 4 && o.tx == TX_XSK && o.guard == 42);
	assert_true(o.rate.unit == RATE_L1_BPS && o.rate.value == 1.5e9);
	assert_string_equal(o.file, "file");
	assert_int_equal(o.ifaces.n, 2);
	assert_string_equal(o.ifaces.at[0], "a");
	assert_string_equal(o.ifaces.at[1], "b");
	assert_int_equal(PARSE("--pair", "3/4", "--tx=socket"), 0);
	assert_true(o.custom[0] == 3 && o.custom[1] == 4);
}

CASE(test_repeated)
{
	assert_int_equal(PARSE("-c1", "-c2", "--limit", "loss=1,xdp=2", "--limit=qdisc=3/s",
			       "--stage", "xdp", "--stage", "qdisc", "-i", "eth9"),
			 0);
	assert_int_equal(o.count, 2);
	assert_int_equal(o.limits.n, 3);
	assert_int_equal(o.limits.at[2].stage, STAGE_QDISC);
	assert_int_equal(o.stages.n, 2);
	assert_int_equal(o.stages.at[1], STAGE_QDISC);
	/* given once: the default is gone */
	assert_int_equal(o.ifaces.n, 1);
	assert_string_equal(o.ifaces.at[0], "eth9");
}

CASE(test_numbers_refused)
{
	BAD("--rate: '12abc' is not a rate (examples: 200k, 1.5Gbit, 50%, max)", "-r", "12abc");
	BAD("--rate: '0' is out of range", "-r", "0");
	BAD("--count: '12abc' is not a count", "--count=12abc");
	BAD("--count: '-1' is not a count", "-c", "-1");
	BAD("--count: '-1' is not a count", "-c-1");
	BAD("--count: the value is empty", "--count=");
	BAD("--count: the value is empty", "-c", "");
	BAD("--count: '0' is out of range (at least 1)", "-c0");
	BAD("--count: '99999999999999999999' is too large", "-c99999999999999999999");
	BAD("--number: '18446744073709551616' is too large", "-n18446744073709551616");
	BAD("--number: '1k' is not a whole number", "-n1k");
	BAD("--threads: '65' is out of range (1 to 64)", "-P65");
	BAD("--threads: '4294967297' is out of range", "-P", "4294967297");
	BAD("--queues: '4294967296' is too large", "--queues", "4294967296");
	BAD("--size: '63' is out of range (64 to 64k)", "--size", "63");
	BAD("--size: '64kB' is not a size", "--size", "64kB");
	BAD("--wait: '2h' is out of range (1ms to 1m)", "--wait", "2h");
	BAD("--wait: '5sec' is not a time", "--wait", "5sec");
}

CASE(test_sets_refused)
{
	BAD("--tx: 'xks' is not known (did you mean xsk?)", "--tx", "xks");
	BAD("--tx: 'zebra' is not one of auto, socket, xsk", "--tx", "zebra");
	BAD("--tx: 'XSK' is not", "--tx", "XSK");
	BAD("--stage: 'quantum-leap' is not known", "--stage", "quantum-leap");
	assert_non_null(strstr(err.hint, "--stage help"));
	BAD("--stage: 'rcvbuff' is not known (did you mean rcvbuf?)", "--stage", "xdp,rcvbuff");
	BAD("--stage: 'xdp' is given twice", "--stage", "xdp,qdisc,xdp");
	BAD("--stage: 'xdp' is given twice", "--stage", "xdp", "--stage", "xdp");
	BAD("--limit: 'rcvbuf' is not a limit", "--limit", "loss=1,rcvbuf");
	BAD("--pair: no pair", "--pair", "3");
	assert_string_equal(err.hint, "write N/M");
	BAD("--pair: '0/0' is not valid", "--pair", "0/0");
}

CASE(test_lists_refused)
{
	char longest[OPT_ITEM_LEN + 1];

	BAD("--interface: an item of the list is empty", "-i", ",");
	BAD("--interface: an item of the list is empty", "-i", "a,");
	BAD("--interface: an item of the list is empty", "-i", ",a");
	BAD("--interface: more than 2 in the list", "-i", "a,b,c");
	BAD("--interface: more than 2 in the list", "-i", "a,b", "-i", "c");
	BAD("--limit: more than 16 in the list", "--limit",
	    "xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,"
	    "xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1,xdp=1");
	memset(longest, 'x', sizeof(longest));
	longest[OPT_ITEM_LEN] = '\0';
	BAD("is too long", "-i", longest);
	longest[OPT_ITEM_LEN - 1] = '\0';
	assert_int_equal(PARSE("-i", longest), 0);
	assert_string_equal(o.ifaces.at[0], longest);
}

CASE(test_options_refused)
{
	BAD("unknown option --cuont (did you mean --count?)", "--cuont=5");
	BAD("unknown option --cou (did you mean --count?)", "--cou", "5");
	BAD("unknown option --inter (did you mean --interface?)", "--inter", "1");
	BAD("unknown option --zebra", "--zebra");
	assert_null(strstr(err.message, "mean"));
	assert_non_null(strstr(err.hint, "pktledger run --help"));
	BAD("unknown option --=5", "--=5");
	BAD("unknown option -x", "-x");
	BAD("unknown option -jx (the letter x)", "-jx");
	BAD("unknown option -\xc3\xa9", "-\xc3\xa9");
	BAD("unknown option --a?b", "--a\nb");
	BAD("--json takes no value", "--json=1");
	BAD("--count needs a value: N", "--count");
	BAD("--count needs a value: N", "-j", "-c");
	BAD("--size and --length cannot be given together", "--length", "100", "--size=100");
	BAD("--json-lines and --json cannot be given together", "-j", "--json-lines");
	BAD("--pair and --file cannot be given together", "--queues=1", "-o", "x", "--pair=3/4");
	BAD("--pair and --tx xsk cannot be given together", "--wait=1s", "--tx=xsk", "--pair=3/4");
	BAD("--pair needs --tx socket, --wait or --queues", "--pair=3/4");
	assert_string_equal(err.hint, "add --tx socket, --wait or --queues");
	assert_int_equal(PARSE("--pair=3/4", "--queues=1"), 0);
	BAD("unexpected argument word", "word");
	BAD("unexpected argument -", "-");
	BAD("unexpected argument -j", "--", "-j");
	BAD("unexpected argument --", "--", "--");
}

CASE(test_words)
{
	char *argv[] = {"send", "198.18.0.2:9", "-j", "more", "-c5", NULL};
	char *before[sizeof(argv) / sizeof(*argv)];

	memcpy(before, argv, sizeof(argv));
	assert_int_equal(parse_words(&with_args, argv), 0);
	assert_memory_equal(argv, before, sizeof(argv));
	assert_true(o.to.port == 9 && o.common.json && o.count == 5 && o.extra_set);
	assert_string_equal(o.extra, "more");
	assert_int_equal(SEND("--", "::1", "--json"), 0);
	assert_string_equal(o.extra, "--json");
	assert_false(o.common.json);
	assert_int_equal(SEND("::1"), 0);
	assert_false(o.extra_set);
	assert_null(o.extra);
	BAD_SEND("ADDR[:PORT] is missing");
	BAD_SEND("ADDR[:PORT] is missing", "-j");
	BAD_SEND("ADDR[:PORT]: 'host' is not an address", "host");
	BAD_SEND("ADDR[:PORT]: '1.2.3.4:0' is out of range", "1.2.3.4:0");
	BAD_SEND("unexpected argument c", "::1", "b", "c");
}

/* Options after other letters, with the value in the same word, and as a value. */
CASE(test_given)
{
	const struct opt *count = &own_opts[0], *json = &common_opts[0], *file = &own_opts[8];

	assert_int_equal(PARSE("-jc5", "-o", "-v", "-j"), 0);
	assert_true(opt_given(&seen, count) && opt_given(&seen, json) && opt_given(&seen, file));
	assert_false(opt_given(&seen, &common_opts[2])); /* -v is the value of -o */
	assert_int_equal(seen.n, 3);
	assert_int_equal(SEND("::1", "--", "--json"), 0);
	assert_int_equal(seen.n, 0);
}

CASE(test_asks)
{
	assert_int_equal(PARSE("-h"), OPT_NEXT_HELP);
	assert_int_equal(PARSE("-j", "--help", "--nonsense"), OPT_NEXT_HELP);
	assert_int_equal(SEND("--help"), OPT_NEXT_HELP);
	assert_int_equal(PARSE("-jV"), OPT_NEXT_VERSION);
	BAD("unknown option --nonsense", "--nonsense", "--help");
	assert_int_equal(PARSE("--tx", "help"), OPT_NEXT_VALUES);
	assert_string_equal(seen.asked->name, "tx");
	assert_int_equal(PARSE("--stage=help", "-c", "junk"), OPT_NEXT_VALUES);
	assert_string_equal(seen.asked->name, "stage");
	/* no closed set: a word as any */
	assert_int_equal(PARSE("-o", "help"), OPT_NEXT_RUN);
	assert_string_equal(o.file, "help");
	assert_null(seen.asked);
}

CASE(test_nearest)
{
	static const char *const names[] = {"count", "rate", "interface", "tx", "rx"};

#define NEAR(word) opt_nearest(word, names, 5)
	assert_string_equal(NEAR("cuont"), "count");
	assert_string_equal(NEAR("rte"), "rate");
	assert_string_equal(NEAR("raate"), "rate");
	assert_string_equal(NEAR("inter"), "interface");
	assert_string_equal(NEAR("interfcae"), "interface");
	assert_string_equal(NEAR("tx"), "tx");
	assert_null(NEAR("zebra"));
	assert_null(NEAR(""));
	assert_null(NEAR("a-word-that-is-far-longer-than-any-option-could-ever-be-in-here"));
	assert_null(opt_nearest("a", NULL, 0));
#undef NEAR
}

CASE(test_command)
{
	static const struct command *const list[] = {&command, &with_args, NULL};

	err = (struct error){0};
	assert_ptr_equal(opt_command(list, "send", &err), &with_args);
	assert_int_equal(err.status, STATUS_OK);
	assert_null(opt_command(list, "sned", &err));
	assert_int_equal(err.status, STATUS_USAGE);
	assert_string_equal(err.message, "unknown command sned (did you mean send?)");
	err = (struct error){0};
	assert_null(opt_command(list, "", &err));
	assert_int_equal(err.status, STATUS_USAGE);
}

static char *printed;
static size_t printed_len;

static FILE *capture(void)
{
	FILE *f = open_memstream(&printed, &printed_len);

	assert_non_null(f);
	return f;
}

CASE(test_help)
{
	FILE *f = capture();

	opt_help(f, &with_args, true);
	fclose(f);
	assert_non_null(strstr(printed, "Usage: pktledger send [options] ADDR[:PORT] [EXTRA]\n"));
	assert_non_null(
		strstr(printed, "  -c, --count N            datagrams to send (default: 1M)\n"));
	assert_non_null(strstr(printed, "sender: auto, socket, xsk (default: auto)\n"));
	assert_non_null(strstr(printed, "frame (not with --length)\n"));
	assert_non_null(strstr(printed, "(requires --tx socket"));
	assert_non_null(strstr(printed, "every (default: off)\n"));
	assert_non_null(strstr(printed, "ports\n"));
	assert_non_null(strstr(printed, "stages (\"help\" lists the values)\n"));
	assert_non_null(strstr(printed, "\nManual: pktledger-send(8).\n"));
	for (char *line = strtok(printed, "\n"); line; line = strtok(NULL, "\n")) {
		size_t len = strlen(line);

		assert_true(len <= 80);
		assert_true(line[len - 1] != ' ');
	}
	free(printed);
}

CASE(test_help_wraps)
{
	static const struct opt opts[] = {
		{"an-option-with-a-very-long-name", 0, OPT_FLAG,
		 .help = "twenty words twenty words twenty words twenty words twenty words twenty"},
		{0},
	};
	static const struct opt_group one[] = {{"Group", opts, 0}, {0}};
	static const struct command cmd = {
		.name = "x", .groups = one, .examples = examples, .description = "First.\nSecond."};
	FILE *f = capture();

	opt_help(f, &cmd, true);
	fclose(f);
	assert_non_null(strstr(printed, "\nFirst.\nSecond.\n"));
	assert_non_null(
		strstr(printed, "      --an-option-with-a-very-long-name\n                           twenty"));
	assert_non_null(strstr(printed, "words\n                           twenty"));
	assert_non_null(
		strstr(printed, "  pktledger run --count 100k 198.18.0.2\n      a short one\n"));
	free(printed);
}

CASE(test_lists)
{
	static const struct command *const list[] = {&command, &with_args, NULL};
	FILE *f = capture();
	opt_list_commands(f, list);
	PARSE("--tx", "help");
	opt_list_values(f, seen.asked);
	fclose(f);
	assert_string_equal(printed, "  run       one experiment\n"
				     "  send      sends\n"
				     "  auto                     the fastest that reaches the receiver\n"
				     "  socket                   UDP socket\n"
				     "  xsk                      AF_XDP\n");
	free(printed);
}

static struct json_object *member(struct json_object *of, const char *key)
{
	struct json_object *found = NULL;

	assert_true(json_object_object_get_ex(of, key, &found));
	return found;
}

static struct json_object *item(struct json_object *of, const char *key, size_t i, size_t n)
{
	assert_int_equal(json_object_array_length(member(of, key)), n);
	return json_object_array_get_idx(member(of, key), i);
}

static void is(struct json_object *of, const char *key, const char *text)
{
	assert_string_equal(json_object_get_string(member(of, key)), text);
}

CASE(test_describe)
{
	struct json_object *doc = opt_describe(&with_args), *part;

	is(doc, "name", "send");
	part = item(doc, "groups", 0, 2);
	is(part, "title", "Traffic");
	part = item(part, "options", 0, 15);
	is(part, "name", "count");
	is(part, "letter", "c");
	is(part, "type", "count");
	is(part, "metavar", "N");
	is(part, "default", "1M");
	assert_null(member(part, "excludes"));
	assert_int_equal(json_object_array_length(member(part, "values")), 0);

	part = item(doc, "arguments", 0, 2);
	is(part, "name", "ADDR[:PORT]");
	assert_true(json_object_get_boolean(member(part, "required")));

	part = item(doc, "capabilities", 1, 2);
	is(part, "name", "CAP_SYSLOG");
	is(part, "without", "names are missing");
	is(part, "keeps", "for more");
	is(doc, "again", "With --repeat all are kept.");
	json_object_put(doc);
}
