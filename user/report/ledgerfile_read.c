// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define PREFIX 9 /* CRC and a blank */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Does the line, without its LF, match its CRC? */
static bool is_whole(const char *line, size_t len)
{
	uint32_t crc = 0;

	if (len <= PREFIX || line[PREFIX - 1] != ' ')
		return false;
	for (int i = 0; i < PREFIX - 1; i++) {
		int digit = hex_digit(line[i]);

		if (digit < 0)
			return false;
		crc = crc << 4 | (uint32_t)digit;
	}
	return crc == crc32_ieee(line + PREFIX, len - PREFIX);
}

int ledgerfile_read(const char *path, int (*line)(void *arg, const char *json, size_t len),
		    void *arg, struct ledgerfile_state *state, struct error *err)
{
	FILE *f = fopen(path, "re");
	uint64_t offset = 0;
	char *buf = NULL;
	size_t size = 0;
	ssize_t n;
	int rc = 0;

	*state = (struct ledgerfile_state){0};
	if (!f)
		return error_set(err, STATUS_FAILED, -errno, NULL, "cannot open %s: %s", path,
				 strerror(errno));
	while (!rc && (n = getline(&buf, &size, f)) > 0) {
		size_t len = (size_t)n - (buf[n - 1] == '\n');

		state->at = offset;
		state->cut = !is_whole(buf, len);
		if (state->cut) {
			state->bad++;
			state->cut_at = offset;
			state->cut_line = state->lines + state->bad;
			if (!state->bad_line)
				state->bad_line = state->cut_line;
		} else {
			state->lines++;
			if (line)
				rc = line(arg, buf + PREFIX, len - PREFIX);
		}
		offset += (uint64_t)n;
	}
	if (!rc && ferror(f))
		rc = error_set(err, STATUS_FAILED, -EIO, NULL, "cannot read %s", path);
	free(buf);
	fclose(f);
	return rc;
}
