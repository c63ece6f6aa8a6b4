// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ledger files: each complete line is shown once, truncated lines are counted. */
#include "lines.h"

#include "report/ledgerfile.h"

static int take(void *arg, const char *json, size_t len)
{
	char *copy = fuzz_text((const uint8_t *)json, len); /* all of it can be read */

	free(copy);
	++*(uint64_t *)arg;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ledgerfile_state state = {0};
	struct error err = {0};
	uint64_t shown = 0;
	char path[32];
	int fd = fuzz_file(data, size, path);

	if (!ledgerfile_read(path, take, &shown, &state, &err)) {
		MUST(shown == state.lines && state.cut_at <= size);
		MUST(state.lines + state.bad <= size);
	}
	close(fd);
	return 0;
}
