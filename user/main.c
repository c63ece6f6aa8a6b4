// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/output.h"
#include "cli/options.h"
#include "drops/stagemap.h"
#include "experiment/faults/fault.h"
#include "ledger/ledger.h"
#include "diagnosis/findings.h"
#include "base/json.h"
#include "report/document.h"

static const struct command *const commands[] = {
	&cmd_run,   &cmd_sweep,	 &cmd_search, &cmd_send, &cmd_recv,	&cmd_trace, &cmd_top,
	&cmd_check, &cmd_export, &cmd_report, &cmd_lab,	 &cmd_selftest, NULL};

static int print_version(void)
{
	printf(OPT_PROGRAM " " PKTLEDGER_VERSION " (libbpf %s)\n", libbpf_version_string() + 1);
	return STATUS_OK;
}

static int print_overview(FILE *out)
{
	fprintf(out,
		"Usage: " OPT_PROGRAM " COMMAND [options]\n\n"
		"Shows where UDP packets get lost: the drops on this host, and the outcome of\n"
		"each numbered packet that pktledger sends.\n\nCommands:\n");
	opt_list_commands(out, commands);
	fprintf(out, "\n" OPT_PROGRAM " COMMAND --help shows the options of a command.\n");
	return out == stdout ? STATUS_OK : STATUS_USAGE;
}

static int fail(const struct error *err)
{
	log_error("%s%s%s", err->message, *err->hint ? ": " : "", err->hint);
	return err->status;
}

/* Flushes stdout for calls that end before a command runs, so that write errors are reported. */
static int flushed(int status)
{
	struct error err = {};

	return output_end(NULL, &err) ? fail(&err) : status;
}

/*
 * Returns true if JSON was requested. A usage error under --json is also a document, and at that
 * point the options have not been parsed.
 */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json") ||
		    !strcmp(argv[i], "--json-lines"))
			return true;
	}
	return false;
}

/* Returns a stage's kernel counters, findings and faults, with its texts. */
static struct json_object *stage_json(enum stage stage)
{
	struct json_object *o = json_object_new_object(), *list;
	const char *name = stage_name(stage);

	json_put_text(o, "name", name);
	json_put_text(o, "title", stage_title(stage));
	json_put_text(o, "what", stage_facts[stage].what);
	json_put_text(o, "causes", stage_facts[stage].causes);
	json_put_text(o, "remedy", stage_facts[stage].remedy);
	json_put_text(o, "mechanism", stage_facts[stage].mechanism);
	json_put_text(o, "hook", stage_facts[stage].hook);
	json_put_text(o, "limit", stage_facts[stage].limit);
	json_put_text(o, "uncounted", stage_facts[stage].uncounted);
	list = json_put_list(o, "counters");
	for (unsigned i = 0; i < counter_rules_n; i++) {
		const struct counter_rule *rule = &counter_rules[i];
		const struct counter_member *m = rule->set;

		while (m->stage != STAGE_NONE && m->stage != stage)
			m++;
		if (m->stage == stage)
			json_object_array_add(list, json_text(rule->name4));
	}
	list = json_put_list(o, "findings");
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (finding_rows[i].stage == stage)
			json_object_array_add(list, json_text(finding_rows[i].id));
	}
	list = json_put_list(o, "faults");
	for (const struct opt_value *v = fault_values; v->name; v++) { /* STAGE[:VARIANT] */
		size_t len = strcspn(v->name, ":");

		if (strlen(name) == len && !memcmp(name, v->name, len))
			json_object_array_add(list, json_text(v->name));
	}
	return o;
}

/*
 * Prints `help --json`, for all commands or for the command whose --help was requested: options,
 * capabilities, exit statuses and stages as one document. It is built from the tables that the
 * program itself uses. Manuals and shell completion are generated from it.
 */
static int print_tables(const struct command *only)
{
	struct json_object *doc = json_object_new_object(), *list, *o;

	json_put_text(doc, "schema", "pktledger/help/1");
	json_put_text(doc, "version", PKTLEDGER_VERSION);
	list = json_put_list(doc, "commands");
	for (unsigned i = 0; commands[i]; i++) {
		if (!only || commands[i] == only)
			json_object_array_add(list, opt_describe(commands[i]));
	}
	list = json_put_list(doc, "exit_status");
	for (const struct opt_value *v = opt_exit_status; v->name; v++) {
		json_object_array_add(list, o = json_object_new_object());
		json_put_text(o, "name", v->name);
		json_put_text(o, "title", v->title);
	}
	list = json_put_list(doc, "stages");
	for (enum stage s = 0; s < STAGE_COUNT; s++)
		json_object_array_add(list, stage_json(s));
	list = json_put_list(doc, "findings");
	for (unsigned i = 0; i < finding_rows_n; i++) {
		json_object_array_add(list, o = json_object_new_object());
		json_put_text(o, "id", finding_rows[i].id);
		json_put_text(o, "stage", stage_name(finding_rows[i].stage));
		json_put_text(o, "proof", finding_proofs[finding_rows[i].proof]);
	}
	print_json(doc);
	return STATUS_OK;
}

static void help(const struct command *cmd, bool all, int argc, char **argv)
{
	if (wants_json(argc, argv))
		print_tables(cmd);
	else
		opt_help(stdout, cmd, all);
}

/*
 * Opens closed standard descriptors, so that no file gets their numbers: the result would be
 * written into a ledger. Writes to the read-only stand-in fail like those to a closed descriptor.
 */
static void open_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			return;
	}
}

/* Rejects a stack limit so small that the program would die with SIGSEGV. */
static int check_stack(struct error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= 256 << 10)
		return OPT_NEXT_RUN;
	return error_set(err, STATUS_UNABLE, -ENOMEM, "for example: ulimit -s 8192",
			 "a stack of %u KiB is too small", (unsigned)(limit.rlim_cur >> 10));
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	void *options = mem_zero(1, cmd->size);
	struct error err = {};
	int next, status = 0;

	program_options.keeps = true;
	next = opt_parse(cmd, argc, argv, options, &program_options, &err);
	if (next == OPT_NEXT_RUN) {
		program_argc = program_options.argc;
		program_argv = program_options.argv;
	}
	switch (next == OPT_NEXT_RUN ? check_stack(&err) : next) {
	case OPT_NEXT_RUN:
		if (cmd != &cmd_top || !isatty(STDOUT_FILENO)) /* ncurses uses the descriptor */
			output_open();
		log_init(global_verbosity(options));
		status = cmd->run(options, &err);
		break;
	case OPT_NEXT_HELP:
	case OPT_NEXT_HELP_ALL:
		help(cmd, next == OPT_NEXT_HELP_ALL, argc, argv);
		break;
	case OPT_NEXT_VERSION:
		print_version();
		break;
	case OPT_NEXT_VALUES:
		opt_list_values(stdout, program_options.asked);
		break;
	default:
		if (wants_json(argc, argv)) {
			struct json_object *doc = json_object_new_object();

			json_put(doc, "error", json_error(&err));
			print_json(doc);
		}
	}
	free(options);
	if (status < 0) /* usually the reason is already recorded */
		error_set(&err, STATUS_FAILED, status, NULL, "%s", strerror(-status));
	output_end(NULL, &err);
	if (err.status != STATUS_OK)
		fail(&err);
	output_drain();
	return status > STATUS_OK ? status : (int)err.status;
}

/* Prints the JSON Schema for a command's -j output. */
static int print_schema(const char *command, struct error *err)
{
	struct json_object *schema = json_schema(command);

	if (!schema)
		return error_usage(err, "run, send, recv, trace, sweep, search, check, lab, report, "
					"selftest and help do",
				   "%s does not print JSON documents", command);
	puts(json_object_to_json_string_ext(schema, JSON_C_TO_STRING_PRETTY));
	json_object_put(schema);
	return 0;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct error err = {};

	program_argv = argv;
	program_argc = argc;
	open_standard();
	/* closed pipes and file size limits become write() errors, and the ledger still closes */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	log_init(0);
	if (argc < 2)
		return print_overview(stderr);
	if (!strcmp(argv[1], "help") && argc > 2 && *argv[2] != '-') {
		cmd = opt_command(commands, argv[2], &err);
		if (cmd)
			help(cmd, argc > 3 && !strcmp(argv[3], "all"), argc, argv);
		return cmd ? flushed(STATUS_OK) : fail(&err);
	}
	if (argc == 4 && !strcmp(argv[1], "help") && !strcmp(argv[2], "--schema"))
		return flushed(print_schema(argv[3], &err) ? fail(&err) : STATUS_OK);
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return flushed(wants_json(argc, argv) ? print_tables(NULL)
						      : print_overview(stdout));
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))
		return flushed(print_version());
	cmd = opt_command(commands, argv[1], &err);
	return cmd ? run_command(cmd, argc - 1, argv + 1) : fail(&err);
}
