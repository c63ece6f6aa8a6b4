// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/opt.h"

#include <limits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/record.h"

#define LEFT_WIDTH   23 /* columns, a longer option is printed on a separate line */
#define WIDTH_PLAIN  80
#define WIDTH_MAX    100
#define COMMAND_WIDTH 8
#define BRIEF_DEFAULT 24 /* columns, only --help all shows a longer default */
#define VALUES_SHOWN 60 /* columns, only the value `help` shows a longer closed set */

const struct opt_value opt_exit_status[] = {
	{"0", 0, "done (packet loss alone does not count as failure)"},
	{"1", 0, "failed"},
	{"2", 0, "invalid command line"},
	{"3", 0, "not possible here (the message names the kernel, capability or driver)"},
	{"4", 0, "done, but not balanced or a limit is broken"},
	{0},
};

static unsigned width_of(FILE *out)
{
	struct winsize ws;
	int fd = fileno(out);

	if (fd < 0 || !isatty(fd) || ioctl(fd, TIOCGWINSZ, &ws) || ws.ws_col < 40)
		return WIDTH_PLAIN;
	return ws.ws_col < WIDTH_MAX ? ws.ws_col : WIDTH_MAX;
}

/*
 * Prints words, starting at column `at` and wrapping to column `indent`. \n ends a paragraph. Ends
 * the line.
 */
static void wrap(FILE *out, const char *text, unsigned at, unsigned indent, unsigned width)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " \n");
		unsigned n = utf8_columns(text, len);

		if (!first && len && at + 1 + n > width) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
			first = true;
		}
		if (len) {
			fprintf(out, "%s%.*s", first ? "" : " ", (int)len, text);
			at += n + !first;
			first = false;
		}
		if (text[len] == '\n') {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
			first = true;
		}
		text += len + (text[len] != '\0');
	}
	fputc('\n', out);
}

/*
 * Prints `left` with `right` wrapped next to it. If left is longer than `most`, `right` goes below.
 */
static void two_columns(FILE *out, const char *left, unsigned most, const char *right,
			unsigned width)
{
	const unsigned n = utf8_columns(left, SIZE_MAX), at = most + 4;

	fprintf(out, "  %s", left);
	if (n > most && *right)
		fprintf(out, "\n%*s", at, "");
	else if (*right)
		fprintf(out, "%*s", most - n + 2, "");
	wrap(out, right, at, at, width);
}

static void left_of(const struct opt *o, char *buf, size_t size)
{
	const char *metavar = opt_metavar(o);
	char letter[] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(buf, size, "%s--%s%s%s", letter, o->name, *metavar ? " " : "", metavar);
}

/* Returns whether the default just means that the option is not given. */
static bool is_unset(const char *def, bool brief)
{
	return !strcmp(def, "none") || (brief && (!strcmp(def, "all") || !strcmp(def, "off")));
}

/* Appends a note to the parentheses after a help phrase. The caller closes them. */
static void add_note(char *notes, size_t size, const char *text, const char *value)
{
	size_t at = strlen(notes);

	snprintf(notes + at, size - at, "%s%s%s", at ? ", " : " (", text, value);
}

/*
 * Writes the help phrase with the closed set, the default and the exclusions, shortened if `brief`
 * is set.
 */
static void right_of(const struct command *cmd, const struct opt *o, const char *base, bool brief,
		     char *buf, size_t size)
{
	char values[OPT_TEXT_MAX * 4], def[OPT_TEXT_MAX], notes[OPT_TEXT_MAX * 3] = "";
	char names[OPT_TEXT_MAX];
	const char *colon = "";
	size_t at = 0;

	values[0] = '\0';
	for (const struct opt_value *v = o->values; v && v->name && at < sizeof(values); v++)
		at += snprintf(values + at, sizeof(values) - at, "%s%s", at ? ", " : "", v->name);
	if (strlen(values) > VALUES_SHOWN)
		*values = '\0';
	else if (*values)
		colon = ": ";
	opt_default_text(o, base, def, sizeof(def));
	if (is_unset(def, brief) || (brief && strlen(def) > BRIEF_DEFAULT))
		*def = '\0';
	if (*def)
		add_note(notes, sizeof(notes), "default: ", def);
	if (o->values && !*values)
		add_note(notes, sizeof(notes), "\"help\" lists the values", "");
	opt_names_text(cmd, o->needs, " or ", names, sizeof(names));
	if (*names && !brief)
		add_note(notes, sizeof(notes), "requires ", names);
	opt_names_text(cmd, o->excludes, " or ", names, sizeof(names));
	if (*names && !brief)
		add_note(notes, sizeof(notes), "not with ", names);
	snprintf(buf, size, "%s%s%s%s%s", o->help ? o->help : "", colon, values, notes,
		 *notes ? ")" : "");
}

static void print_usage(FILE *out, const struct command *cmd)
{
	fprintf(out, "Usage: %s %s", OPT_PROGRAM, cmd->name);
	if (cmd->synopsis) {
		fprintf(out, " %s\n", cmd->synopsis);
		return;
	}
	if (cmd->groups)
		fputs(" [options]", out);
	for (const struct opt *o = cmd->args; o && o->name; o++)
		fprintf(out, o->required ? " %s" : " [%s]", o->name);
	fputc('\n', out);
}

/* Returns whether the option appears in the short help. */
static bool is_everyday(const struct command *cmd, const struct opt *o)
{
	const size_t len = strlen(o->name);

	for (const char *at = cmd->everyday; at; at = strchr(at, ' ')) {
		at += *at == ' ';
		if (!strncmp(at, o->name, len) && (!at[len] || at[len] == ' '))
			return true;
	}
	return !cmd->everyday;
}

enum rows { ARGUMENTS, OPTIONS, EVERYDAY };

static void print_options(FILE *out, const struct command *cmd, const struct opt *opts,
			  const char *base, enum rows rows, unsigned width)
{
	char left[OPT_TEXT_MAX], right[OPT_TEXT_MAX * 8];

	for (const struct opt *o = opts; o && o->name; o++) {
		if (rows == EVERYDAY && !is_everyday(cmd, o))
			continue;
		if (rows == ARGUMENTS)
			snprintf(left, sizeof(left), "%s", o->name);
		else
			left_of(o, left, sizeof(left));
		right_of(cmd, o, base, rows == EVERYDAY, right, sizeof(right));
		two_columns(out, left, LEFT_WIDTH, right, width);
	}
}

static void print_examples(FILE *out, const struct command *cmd, unsigned most, unsigned width)
{
	if (cmd->examples)
		fputs("\nExamples:\n", out);
	for (const struct opt_example *e = cmd->examples; e && e->line && most--; e++) {
		fprintf(out, "  %s %s\n      ", OPT_PROGRAM, e->line);
		wrap(out, e->what, 6, 6, width);
	}
}

void opt_help(FILE *out, const struct command *cmd, bool all)
{
	const unsigned width = width_of(out);
	const char *defaults = cmd->defaults;

	print_usage(out, cmd);
	fputs(all ? "\n" : "", out);
	wrap(out, all && cmd->description ? cmd->description : cmd->summary, 0, 0, width);
	fputs(!all ? "\n" : cmd->args ? "\nArguments:\n" : "", out);
	print_options(out, cmd, cmd->args, defaults, ARGUMENTS, width);
	for (const struct opt_group *g = cmd->groups; g && g->opts; g++) {
		if (all)
			fprintf(out, "\n%s:\n", g->title);
		print_options(out, cmd, g->opts, defaults ? defaults + g->base : NULL,
			      all ? OPTIONS : EVERYDAY, width);
	}
	print_examples(out, cmd, all ? UINT_MAX : 2, width);
	fputc('\n', out);
	if (!all)
		fprintf(out, "All options: %s %s --help all. ", OPT_PROGRAM, cmd->name);
	fprintf(out, "Manual: %s-%s(8).\n", OPT_PROGRAM, cmd->name);
}

void opt_list_commands(FILE *out, const struct command *const *cmds)
{
	for (unsigned i = 0; cmds[i]; i++)
		two_columns(out, cmds[i]->name, COMMAND_WIDTH, cmds[i]->summary, width_of(out));
}

void opt_list_values(FILE *out, const struct opt *opt)
{
	for (const struct opt_value *v = opt->values; v->name; v++)
		two_columns(out, v->name, LEFT_WIDTH, v->title ? v->title : "", width_of(out));
}

/* Table members that opt_describe() copies unchanged. */

static const struct record_field value_rows[] = {
	RECORD("name", POINTER, opt_value, name),
	RECORD("title", POINTER, opt_value, title),
	{0},
};

static const struct record_field need_rows[] = {
	RECORD("name", POINTER, opt_need, name),   RECORD("what", POINTER, opt_need, what),
	RECORD("when", POINTER, opt_need, when),   RECORD("without", POINTER, opt_need, without),
	RECORD("keeps", POINTER, opt_need, keeps), {0},
};

static const struct record_field example_rows[] = {
	RECORD("line", POINTER, opt_example, line),
	RECORD("what", POINTER, opt_example, what),
	{0},
};

static const struct record_field command_rows[] = {
	RECORD("name", POINTER, command, name),
	RECORD("summary", POINTER, command, summary),
	RECORD("synopsis", POINTER, command, synopsis),
	RECORD("description", POINTER, command, description),
	RECORD_OTHER("arguments", NULL),
	RECORD_OTHER("groups", NULL),
	RECORD_OTHER("examples", example_rows),
	RECORD_OTHER("capabilities", need_rows),
	RECORD_OTHER("given_up", NULL),
	RECORD("again", POINTER, command, again),
	{0},
};

/*
 * Describes a table whose rows are `size` bytes each. The table ends where the first member of the
 * record is NULL.
 */
static struct json_object *describe_table(const struct record_field *rows, const void *table,
					  size_t size)
{
	struct json_object *list = json_object_new_array();

	for (const char *row = table; row && *(const char *const *)(row + rows->offset);
	     row += size)
		json_object_array_add(list, record_write(rows, row));
	return list;
}

static struct json_object *describe_options(const struct command *cmd, const struct opt *opts,
						const char *base)
{
	struct json_object *list = json_object_new_array();
	char text[OPT_TEXT_MAX];

	for (const struct opt *opt = opts; opt && opt->name; opt++) {
		struct json_object *o = json_object_new_object();

		json_put_text(o, "name", opt->name);
		json_put_text(o, "letter", (char[]){opt->letter, '\0'});
		json_put_text(o, "type", opt_type_name(opt->type));
		json_put_text(o, "metavar", opt_metavar(opt));
		json_put_text(o, "help", opt->help);
		opt_default_text(opt, base, text, sizeof(text));
		json_put_text(o, "default", text);
		opt_names_text(cmd, opt->excludes, " or ", text, sizeof(text));
		json_put_text(o, "excludes", text);
		opt_names_text(cmd, opt->needs, " or ", text, sizeof(text));
		json_put_text(o, "needs", text);
		json_put_bool(o, "required", opt->required);
		json_put(o, "values",
			 describe_table(value_rows, opt->values, sizeof(*opt->values)));
		json_object_array_add(list, o);
	}
	return list;
}

struct json_object *opt_describe(const struct command *cmd)
{
	struct json_object *o = record_write(command_rows, cmd), *groups = json_object_new_array();
	const char *defaults = cmd->defaults;

	for (const struct opt_group *g = cmd->groups; g && g->opts; g++) {
		struct json_object *group = json_object_new_object();

		json_put_text(group, "title", g->title);
		json_put(group, "options",
			 describe_options(cmd, g->opts, defaults ? defaults + g->base : NULL));
		json_object_array_add(groups, group);
	}
	json_put(o, "arguments", describe_options(cmd, cmd->args, defaults));
	json_put(o, "groups", groups);
	json_put(o, "examples",
		 describe_table(example_rows, cmd->examples, sizeof(*cmd->examples)));
	json_put(o, "capabilities", describe_table(need_rows, cmd->needs, sizeof(*cmd->needs)));
	json_put_text(o, "given_up", cmd->needs ? OPT_GIVEN_UP : NULL);
	return o;
}
