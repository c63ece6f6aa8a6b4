// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerline.h"

#include <string.h>

#include "base/num.h"
#include "base/clock.h"

#define NEAR 200 /* bytes of a line in which it tells its time */

/* The value behind a key, near the begin. */
static bool near_value(const char *json, size_t len, const char *key, char value[32])
{
	const char *p = memmem(json, len < NEAR ? len : NEAR, key, strlen(key));
	size_t n = 0;

	if (!p)
		return false;
	for (p += strlen(key); p < json + len && n < 31 && *p != ',' && *p != '"' && *p != '}'; p++)
		value[n++] = *p;
	value[n] = '\0';
	return true;
}

/* Times beyond INT64_MAX are no times. */
static bool near_number(const char *json, size_t len, const char *key, uint64_t *number)
{
	char value[32];

	*number = 0;
	return !near_value(json, len, key, value) || !num_u64(value, 0, INT64_MAX, number);
}

static bool begins(const char *json, size_t len, const char *with)
{
	return len > strlen(with) && !memcmp(json, with, strlen(with));
}

bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line)
{
	char value[32];

	*line = (struct ledgerline){.kind = LEDGERLINE_OTHER};
	if (begins(json, len, "{\"event\":\"fates\"")) {
		line->kind = LEDGERLINE_FATES;
		return true;
	}
	if (begins(json, len, "{\"event\":\"start\"")) {
		line->kind = LEDGERLINE_START;
		line->of_trace =
			begins(json, len, "{\"event\":\"start\",\"schema\":\"pktledger/trace/");
	} else if (begins(json, len, "{\"event\":\"interval\"")) {
		line->kind = LEDGERLINE_INTERVAL;
	} else {
		return true;
	}
	if (near_value(json, len, "\"time\":\"", value) && when_date(value, &line->realtime_ns))
		return false;
	return near_number(json, len, "\"time_ns\":", &line->time_ns) &&
	       near_number(json, len, "\"interval_ns\":", &line->length_ns);
}
