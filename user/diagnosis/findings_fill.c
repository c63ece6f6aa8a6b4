// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings_fill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool fact_text(char *buf, size_t size, const char *s)
{
	if (!s || !*s)
		return false;
	return snprintf(buf, size, "%s", s) > 0;
}

bool fact_count(char *buf, size_t size, uint64_t v)
{
	if (!v)
		return false;
	return snprintf(buf, size, "%" PRIu64, v) > 0;
}

bool fact_rate(char *buf, size_t size, double v)
{
	if (v <= 0)
		return false;
	if (v >= 1e6)
		return snprintf(buf, size, "%.3gM", v / 1e6) > 0;
	if (v >= 1e3)
		return snprintf(buf, size, "%.3gk", v / 1e3) > 0;
	return snprintf(buf, size, "%.3g", v) > 0;
}

struct filling {
	findings_fact fact;
	const void *arg;
	char *out;
	size_t size, n;
};

/* [p, end) without brackets. False: a fact is unknown, and the output as it was before. */
static bool fill_part(struct filling *w, const char *p, const char *end)
{
	size_t start = w->n;
	char name[32], value[256];

	while (p < end) {
		const char *close = *p == '{' ? memchr(p, '}', end - p) : NULL;
		size_t len = 1;
		const char *text = p++;

		if (close) {
			snprintf(name, sizeof(name), "%.*s", (int)(close - p), p);
			p = close + 1;
			if (!w->fact(w->arg, name, value, sizeof(value))) {
				w->n = start;
				w->out[w->n] = 0;
				return false;
			}
			text = value;
			len = strlen(value);
		}
		if (w->n + len >= w->size)
			len = w->size - w->n - 1;
		memcpy(w->out + w->n, text, len);
		w->n += len;
		w->out[w->n] = 0;
	}
	return true;
}

void findings_fill(char *out, size_t size, const char *template, findings_fact fact,
		   const void *arg)
{
	struct filling w = {fact, arg, out, size, 0};
	const char *p = template;

	out[0] = 0;
	while (p && *p) {
		if (*p == '[') {
			const char *end = p + strcspn(p, "]");

			fill_part(&w, p + 1, end);
			p = *end ? end + 1 : end;
		} else {
			const char *end = p + strcspn(p, "[");

			if (!fill_part(&w, p, end)) {
				out[0] = 0;
				return;
			}
			p = end;
		}
	}
}
