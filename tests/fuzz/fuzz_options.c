// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Command lines: the first byte chooses the command, a line feed ends a word. */
#include <string.h>

#include "fuzz.h"

#include "cli/options.h"

#define WORDS 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct command *const commands[] = {
		&cmd_run, &cmd_send,	 &cmd_recv,  &cmd_lab,	  &cmd_check,  &cmd_trace,
		&cmd_top, &cmd_selftest, &cmd_sweep, &cmd_search, &cmd_report, &cmd_export,
	};
	const struct command *cmd;
	struct opt_seen seen;
	struct error err = {0};
	char *argv[WORDS + 2] = {"fuzz"}, *text, *save = NULL;
	void *options;
	int argc = 1, next;

	if (!size)
		return 0;
	cmd = commands[data[0] % (sizeof(commands) / sizeof(commands[0]))];
	text = fuzz_text(data + 1, size - 1);
	options = calloc(1, cmd->size);
	for (char *w = strtok_r(text, "\n", &save); w && argc <= WORDS;
	     w = strtok_r(NULL, "\n", &save))
		argv[argc++] = w;
	next = opt_parse(cmd, argc, argv, options, &seen, &err);
	/* no network is here in which a host might have an address; no lab loses at every stage */
	MUST(next >= 0 || err.status == STATUS_USAGE ||
	     (err.status == STATUS_FAILED && strstr(err.message, "no address of the host")) ||
	     (err.status == STATUS_UNABLE && strstr(err.message, "nothing to inject")));
	MUST(next >= 0 || (*err.message && !strpbrk(err.message, "\n\r")));
	MUST(next != OPT_NEXT_VALUES || (seen.asked && seen.asked->values));
	free(options);
	free(text);
	return 0;
}
