// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "report/load_parts.h"
#include "report/printed.h"

/* Ours begin with a CRC and an object; so does one that was cut in its first line. */
static bool looks_like_ledger(const char *path)
{
	FILE *f = fopen(path, "re");
	char head[11] = "";
	unsigned crc;
	char brace;
	bool ours;

	if (!f)
		return true; /* whoever reads it says why */
	ours = fread(head, 1, sizeof(head) - 1, f) < 10 ||
	       (strspn(head, "0123456789abcdef") == 8 &&
		sscanf(head, "%8x %c", &crc, &brace) == 2 && brace == '{');
	fclose(f);
	return ours;
}

int load_check_kind(const char *path, struct error *err)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return error_set(err, STATUS_USAGE, -EISDIR, "name the files in it",
				 "%s is a directory", path);
	if (!looks_like_ledger(path))
		return error_set(
			err, STATUS_USAGE, -EINVAL,
			printed_is(path)
				? "report --html PAGE shows what -j has printed"
				: "report reads what --ledger of a command wrote, and captures",
			"%s is no ledger", path);
	return 0;
}

bool load_command(const char *schema, char command[16])
{
	return sscanf(schema, "pktledger/%15[a-z]/1", command) == 1;
}

bool load_is_one_end(const char *command)
{
	return !strcmp(command, "send") || !strcmp(command, "recv");
}

bool load_fates_disagree(const struct json_object *document)
{
	return json_get(document, "fates_agree") && !json_get_bool(document, "fates_agree");
}
