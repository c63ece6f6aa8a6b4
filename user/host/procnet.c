// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parses files under /proc/net. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/counters.h"
#include "host/sockdiag.h"

#define WORDS_MAX 256 /* TcpExt has about 130 */

struct word {
	const char *at;
	int len;
};

struct line {
	struct word word[WORDS_MAX];
	unsigned n;
	const char *cut; /* end of the text if its last newline is missing, otherwise NULL */
};

static bool next_line(const char **text, const char *end, struct line *l)
{
	const char *p = *text, *nl = p < end ? memchr(p, '\n', end - p) : NULL;

	*text = nl ? nl + 1 : end;
	l->n = 0;
	l->cut = nl ? NULL : end;
	if (p == end)
		return false;
	if (nl)
		end = nl;
	while (p < end && l->n < WORDS_MAX) {
		const char *from = p;

		while (p < end && *p != ' ' && *p != '\t' && *p != '\r')
			p++;
		if (p > from)
			l->word[l->n++] = (struct word){from, (int)(p - from)};
		else
			p++;
	}
	return true;
}

static bool is(const struct word *w, const char *s)
{
	return strlen(s) == (size_t)w->len && !memcmp(w->at, s, w->len);
}

/* Parses digits only. A sign, a blank or a truncated number is invalid. */
static bool read_number(const char *at, const char *end, int base, uint64_t *value)
{
	const char *known = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
	size_t len = end - at;
	char digits[24];

	if (!len || len >= sizeof(digits))
		return false;
	memcpy(digits, at, len);
	digits[len] = '\0';
	errno = 0;
	*value = strtoull(digits, NULL, base);
	return !errno && strspn(digits, known) == len;
}

static bool number(const struct line *l, unsigned i, int base, uint64_t *value)
{
	const struct word *w = &l->word[i];

	return i < l->n && w->at + w->len != l->cut &&
	       read_number(w->at, w->at + w->len, base, value);
}

static void add_pairs(struct counters *c, const char *scope, const struct line *names,
		      const struct line *values)
{
	const struct word *group = &names->word[0];
	char full[COUNTER_NAME_LEN];
	uint64_t v;

	for (unsigned i = 1; i < names->n && i < values->n; i++) {
		if (!number(values, i, 10, &v))
			continue;
		snprintf(full, sizeof(full), "%.*s%.*s", group->len, group->at, names->word[i].len,
			 names->word[i].at);
		counters_add(c, scope, full, v);
	}
}

void procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len)
{
	struct line lines[2], *l = lines, *names = NULL;
	const char *end = text + len;

	while (next_line(&text, end, l)) {
		const struct word *group = l->word;

		if (!l->n || group->at[group->len - 1] != ':') {
			names = NULL;
		} else if (!names || names->word->len != group->len ||
			   memcmp(names->word->at, group->at, group->len)) {
			names = l;
			l = &lines[l == lines];
		} else {
			if (!is(group, "IcmpMsg:"))
				add_pairs(c, scope, names, l);
			names = NULL;
		}
	}
}

void procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len)
{
	const char *end = text + len;
	char full[COUNTER_NAME_LEN];
	struct line l;
	uint64_t v;

	while (next_line(&text, end, &l)) {
		if (l.n != 2 || !number(&l, 1, 10, &v))
			continue;
		snprintf(full, sizeof(full), "%.*s", l.word[0].len, l.word[0].at);
		if (strncmp(full, "Icmp6InType", 11) && strncmp(full, "Icmp6OutType", 12))
			counters_add(c, scope, full, v);
	}
}

enum softnet_column { SOFTNET_FLOW_LIMIT = 10, SOFTNET_BACKLOG = 11, SOFTNET_CPU = 12 };

static void add_softnet_line(struct counters *c, const char *scope, const struct line *l,
			     unsigned row)
{
	static const char *const names[] = {
		"processed",
		"dropped",
		"time_squeeze",
		[SOFTNET_FLOW_LIMIT] = "flow_limit",
		[SOFTNET_BACKLOG] = "backlog_len",
	};
	uint64_t col[SOFTNET_CPU + 1];
	char name[COUNTER_NAME_LEN];
	unsigned n = 0;

	while (n <= SOFTNET_CPU && number(l, n, 16, &col[n]))
		n++;
	/*
	 * A truncated line has lost its CPU number, and the row number would name a different
	 * counter.
	 */
	if (l->cut && n <= SOFTNET_CPU)
		return;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && i < n; i++) {
		if (!names[i])
			continue;
		snprintf(name, sizeof(name), "softnet:%s%u:%s", n > SOFTNET_CPU ? "cpu" : "row",
			 n > SOFTNET_CPU ? (unsigned)col[SOFTNET_CPU] : row, names[i]);
		counters_add(c, scope, name, col[i])->level = i == SOFTNET_BACKLOG;
	}
}

void procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len)
{
	const char *end = text + len;
	struct line l;

	for (unsigned row = 0; next_line(&text, end, &l); row++)
		add_softnet_line(c, scope, &l, row);
}

bool procnet_column(const char *text, size_t len, const char *column, bool sum, uint64_t *value)
{
	const char *end = text + len;
	unsigned lines = 0, at = 0;
	struct line l;
	uint64_t v;

	*value = 0;
	next_line(&text, end, &l);
	while (at < l.n && !is(&l.word[at], column))
		at++;
	if (at == l.n)
		return false;
	for (; (sum || !lines) && next_line(&text, end, &l); lines++) {
		if (!number(&l, at, 16, &v))
			return false;
		*value += v;
	}
	return lines;
}

void procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
			size_t len)
{
	static const char *const wanted[] = {"unresolved_discards", "res_failed", "table_fulls"};
	char name[COUNTER_NAME_LEN];
	uint64_t sum;

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
		snprintf(name, sizeof(name), "%s:%s", table, wanted[w]);
		if (procnet_column(text, len, wanted[w], true, &sum))
			counters_add(c, scope, name, sum);
	}
}

enum udp_column {
	UDP_LOCAL = 1,
	UDP_REMOTE,
	UDP_QUEUES = 4,
	UDP_INODE = 9,
	UDP_DROPS = 12,
};

/* Parses "<before>:<hex>", taking the number after the last colon. */
static bool hex_behind_colon(const struct line *l, unsigned i, uint64_t *value)
{
	const struct word *w = &l->word[i];
	const char *colon = i < l->n ? memrchr(w->at, ':', w->len) : NULL;

	return colon && read_number(colon + 1, w->at + w->len, 16, value);
}

void sockmem_parse(const char *text, size_t len, int family, sockmem_cb each, void *arg)
{
	const char *end = text + len;
	struct line l;

	while (next_line(&text, end, &l)) {
		uint64_t port, remote, queued, inode, drops;

		/* the header line has no number in these columns */
		if (number(&l, UDP_DROPS, 10, &drops) && hex_behind_colon(&l, UDP_LOCAL, &port) &&
		    hex_behind_colon(&l, UDP_REMOTE, &remote) &&
		    hex_behind_colon(&l, UDP_QUEUES, &queued) && number(&l, UDP_INODE, 10, &inode))
			each(arg, &(struct sockmem_row){.inode = inode,
							.family = family,
							.port = (uint16_t)port,
							.connected = remote,
							.rmem = (uint32_t)queued,
							.drops = (uint32_t)drops});
	}
}
