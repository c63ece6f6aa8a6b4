// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "stamp.h"

static const char letters[] = {
	[FATE_OPEN] = 'o',    [FATE_DELIVERED] = 'd', [FATE_DROPPED] = 'c',
	[FATE_REFUSED] = 'r', [FATE_GAP] = 'g',
};

void runs_begin(struct runs *r)
{
	r->used = 0;
	r->text[0] = '\0';
}

int runs_put(struct runs *r, const struct join_run *run)
{
	char one[40];
	int len;

	if (r->used && (run->slot != r->slot || run->first != r->next))
		return -ENOSPC;
	len = snprintf(one, sizeof(one), "%s%c%ux%" PRIu64, r->used ? "," : "", letters[run->fate],
		       run->detail, run->last - run->first + 1);
	if (r->used + (size_t)len >= sizeof(r->text))
		return -ENOSPC;
	if (!r->used) {
		r->slot = run->slot;
		r->first = run->first;
	}
	memcpy(r->text + r->used, one, (size_t)len + 1);
	r->used += (size_t)len;
	r->next = run->last + 1;
	return 0;
}

/* Digits only; at most `max`. */
static int number(const char **at, uint64_t max, uint64_t *out)
{
	const char *p = *at;
	uint64_t v = 0;

	if (*p < '0' || *p > '9')
		return -EBADMSG;
	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > max)
			return -EBADMSG;
	}
	*at = p;
	*out = v;
	return 0;
}

int runs_next(const char **at, struct join_run *run)
{
	const char *p = *at, *letter;
	uint64_t detail, n;

	if (!*p)
		return 0;
	letter = memchr(letters, *p++, sizeof(letters));
	if (!letter || number(&p, UINT8_MAX, &detail) || *p++ != 'x' ||
	    number(&p, STAMP_SPAN, &n) || !n)
		return -EBADMSG;
	if (*p == ',' && p[1])
		p++;
	else if (*p)
		return -EBADMSG;
	run->fate = (enum fate)(letter - letters);
	run->detail = (uint8_t)detail;
	run->first = run->last + 1;
	run->last += n;
	*at = p;
	return 1;
}
