// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "base/log.h"
#include "base/opt.h"
#include "cli/commands.h"
#include "cli/help_json.h"
#include "cli/options.h"

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
	fprintf(out, "Usage: " OPT_PROGRAM " COMMAND [options]\n\n"
		     "Sends numbered UDP packets and says where each of them went.\n\nCommands:\n");
	opt_list_commands(out, commands);
	fprintf(out, "\n" OPT_PROGRAM " COMMAND --help tells the options of a command.\n");
	return out == stdout ? STATUS_OK : STATUS_USAGE;
}

static int fail(const struct error *err)
{
	log_error("%s%s%s", err->message, *err->hint ? ": " : "", err->hint);
	return err->status;
}

/* For those that end before there is a command: what they print comes to somebody. */
static int flushed(int status)
{
	struct error err = {};

	return output_end(NULL, &err) ? fail(&err) : status;
}

/* A usage error under --json is a document too; the options are not parsed then. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-j") || !strcmp(argv[i], "--json") ||
		    !strcmp(argv[i], "--json-lines"))
			return true;
	}
	return false;
}

static void print_json_error(const struct error *err)
{
	struct json_object *doc = json_object_new_object();

	json_put(doc, "error", json_error(err->message, err->hint, err->status));
	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN));
	json_object_put(doc);
}

static int print_tables(void)
{
	struct json_object *doc = help_json(commands);

	puts(json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN));
	json_object_put(doc);
	return STATUS_OK;
}

static int run_command(const struct command *cmd, int argc, char **argv)
{
	const struct opt *asked = NULL;
	struct error err = {};
	void *options = calloc(1, cmd->size);
	int status = STATUS_FAILED;

	if (!options)
		return STATUS_FAILED;
	switch (opt_parse(cmd, argc, argv, options, &asked, &err)) {
	case OPT_NEXT_RUN:
		status = cmd->run(options, &err);
		break;
	case OPT_NEXT_HELP:
		opt_help(stdout, cmd);
		status = STATUS_OK;
		break;
	case OPT_NEXT_VERSION:
		status = print_version();
		break;
	case OPT_NEXT_VALUES:
		opt_list_values(stdout, asked);
		status = STATUS_OK;
		break;
	default:
		if (wants_json(argc, argv))
			print_json_error(&err);
		status = err.status;
	}
	free(options);
	if (output_end(NULL, &err) && status == STATUS_OK)
		status = STATUS_FAILED;
	if (err.status != STATUS_OK)
		fail(&err);
	return status;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	struct error err = {};

	program_argv = argv;
	program_argc = argc;
	signal(SIGPIPE, SIG_IGN); /* a closed pipe is an error of write(), the books still close */
	log_init(0);
	if (argc < 2)
		return print_overview(stderr);
	if (!strcmp(argv[1], "help") && argc > 2 && *argv[2] != '-') {
		cmd = opt_command(commands, argv[2], &err);
		if (cmd)
			opt_help(stdout, cmd);
		return cmd ? flushed(STATUS_OK) : fail(&err);
	}
	if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help"))
		return flushed(wants_json(argc, argv) ? print_tables() : print_overview(stdout));
	if (!strcmp(argv[1], "-V") || !strcmp(argv[1], "--version"))
		return flushed(print_version());
	cmd = opt_command(commands, argv[1], &err);
	return cmd ? run_command(cmd, argc - 1, argv + 1) : fail(&err);
}
