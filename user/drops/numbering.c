// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/balance.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"

#define PAYLOAD_MAX 65527 /* of a datagram: 65535 less the UDP header */
#define STEP_MAX    (1ULL << 32)
#define HINT	    "rtp, or OFFSET:BYTES[:STEP], as 0:4 or 2:2:160"

/* The next field of up to two colons; `rest` NULL: there is none. */
static int take_field(char **rest, uint64_t min, uint64_t max, uint64_t *value)
{
	char *field = *rest, *colon;

	if (!field)
		return -ENODATA;
	colon = strchr(field, ':');
	if (colon)
		*colon++ = '\0';
	*rest = colon;
	return num_u64(field, min, max, value);
}

static int parse_offset(const char *text, struct balance_numbering *n, struct error *err)
{
	uint64_t offset, bytes, step = 1;
	char copy[64], *rest = copy;

	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return error_usage(err, HINT, "it is too long");
	if (take_field(&rest, 0, PAYLOAD_MAX - 1, &offset))
		return error_usage(err, HINT,
				   "'%s' is neither rtp nor begins with an offset in the payload",
				   text);
	if (take_field(&rest, 1, 8, &bytes))
		return error_usage(err, HINT, "'%s': the number has 1 to 8 bytes", text);
	if (rest && take_field(&rest, 1, STEP_MAX, &step))
		return error_usage(err, HINT, "'%s': the step is a number from 1 to 2^32", text);
	if (rest)
		return error_usage(err, HINT, "'%s': nothing follows the step", text);
	if (offset + bytes > PAYLOAD_MAX)
		return error_set(err, STATUS_USAGE, -ERANGE, HINT,
				 "'%s' is beyond the end of any payload", text);
	if (step > (~0ULL >> (64 - 8 * bytes)) / 4)
		return error_set(err, STATUS_USAGE, -ERANGE, HINT,
				 "'%s': the step is too large for a number of so few bytes", text);
	*n = (struct balance_numbering){NUMBERS_OFFSET, (unsigned)offset, (unsigned)bytes, step};
	return 0;
}

int numbering_parse(const char *text, void *out, struct error *err)
{
	if (strcmp(text, "rtp"))
		return parse_offset(text, out, err);
	*(struct balance_numbering *)out = (struct balance_numbering){.kind = NUMBERS_RTP};
	return 0;
}
