// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The files below /proc/net. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "host/counters.h"
#include "host/sockdiag.h"

/* A stretch of the text. `cut`: the text ended before the newline did. */
struct span {
	const char *p, *end;
	bool cut;
};

static bool next_line(struct span *text, struct span *line)
{
	const char *nl;

	if (text->p == text->end)
		return false;
	nl = memchr(text->p, '\n', text->end - text->p);
	line->p = text->p;
	line->end = nl ? nl : text->end;
	line->cut = !nl;
	text->p = nl ? nl + 1 : text->end;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static bool next_token(struct span *line, struct span *tok)
{
	while (line->p < line->end && is_blank(*line->p))
		line->p++;
	if (line->p == line->end)
		return false;
	tok->p = line->p;
	while (line->p < line->end && !is_blank(*line->p))
		line->p++;
	tok->end = line->p;
	tok->cut = line->cut && line->p == line->end;
	return true;
}

static bool token_is(const struct span *tok, const char *s)
{
	size_t n = tok->end - tok->p;

	return strlen(s) == n && !memcmp(tok->p, s, n);
}

/* Digits only: a sign, a blank or a cut number is no value. */
static bool token_number(const struct span *tok, unsigned base, uint64_t *value)
{
	uint64_t v = 0;

	if (tok->cut || tok->p == tok->end)
		return false;
	for (const char *p = tok->p; p < tok->end; p++) {
		unsigned digit;

		if (*p >= '0' && *p <= '9')
			digit = *p - '0';
		else if (base == 16 && *p >= 'a' && *p <= 'f')
			digit = *p - 'a' + 10;
		else if (base == 16 && *p >= 'A' && *p <= 'F')
			digit = *p - 'A' + 10;
		else
			return false;
		if (v > (UINT64_MAX - digit) / base)
			return false;
		v = v * base + digit;
	}
	*value = v;
	return true;
}

static int add_pairs(struct counters *c, const char *scope, struct span names, struct span values,
		     const struct span *group)
{
	struct span name, value;
	char full[COUNTER_NAME_LEN];
	uint64_t v;
	int err;

	while (next_token(&names, &name) && next_token(&values, &value)) {
		if (!token_number(&value, 10, &v))
			continue;
		snprintf(full, sizeof(full), "%.*s%.*s", (int)(group->end - group->p), group->p,
			 (int)(name.end - name.p), name.p);
		err = counters_add(c, scope, full, v);
		if (err)
			return err;
	}
	return 0;
}

int procnet_snmp(struct counters *c, const char *scope, const char *text, size_t len)
{
	struct span rest = {text, text + len, false};
	struct span line, group, names = {0}, names_group = {0};
	bool have_names = false;
	int err;

	while (next_line(&rest, &line)) {
		if (!next_token(&line, &group) || group.end[-1] != ':') {
			have_names = false;
			continue;
		}
		if (!have_names || group.end - group.p != names_group.end - names_group.p ||
		    memcmp(group.p, names_group.p, group.end - group.p)) {
			names = line;
			names_group = group;
			have_names = true;
			continue;
		}
		have_names = false;
		if (token_is(&group, "IcmpMsg:"))
			continue;
		err = add_pairs(c, scope, names, line, &group);
		if (err)
			return err;
	}
	return 0;
}

int procnet_snmp6(struct counters *c, const char *scope, const char *text, size_t len)
{
	struct span rest = {text, text + len, false};
	struct span line, name, value, more;
	char full[COUNTER_NAME_LEN];
	uint64_t v;
	int err;

	while (next_line(&rest, &line)) {
		if (!next_token(&line, &name) || !next_token(&line, &value) ||
		    next_token(&line, &more) || !token_number(&value, 10, &v))
			continue;
		snprintf(full, sizeof(full), "%.*s", (int)(name.end - name.p), name.p);
		if (!strncmp(full, "Icmp6InType", 11) || !strncmp(full, "Icmp6OutType", 12))
			continue;
		err = counters_add(c, scope, full, v);
		if (err)
			return err;
	}
	return 0;
}

enum softnet_column { SOFTNET_FLOW_LIMIT = 10, SOFTNET_BACKLOG = 11, SOFTNET_CPU = 12 };

static int add_softnet_line(struct counters *c, const char *scope, struct span line, unsigned row)
{
	static const char *const names[] = {
		[0] = "processed",
		[1] = "dropped",
		[2] = "time_squeeze",
		[SOFTNET_FLOW_LIMIT] = "flow_limit",
		[SOFTNET_BACKLOG] = "backlog_len",
	};
	uint64_t col[SOFTNET_CPU + 1];
	unsigned n = 0;
	struct span tok;
	int err = 0;

	while (n <= SOFTNET_CPU && next_token(&line, &tok) && token_number(&tok, 16, &col[n]))
		n++;
	/* A cut line has lost its CPU: a row number would be another counter's name. */
	if (line.cut && n <= SOFTNET_CPU)
		return 0;
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]) && i < n && !err; i++) {
		char name[COUNTER_NAME_LEN];

		if (!names[i])
			continue;
		if (n > SOFTNET_CPU)
			snprintf(name, sizeof(name), "softnet:cpu%u:%s", (unsigned)col[SOFTNET_CPU],
				 names[i]);
		else
			snprintf(name, sizeof(name), "softnet:row%u:%s", row, names[i]);
		if (i == SOFTNET_BACKLOG)
			err = counters_add_level(c, scope, name, col[i]);
		else
			err = counters_add(c, scope, name, col[i]);
	}
	return err;
}

int procnet_softnet(struct counters *c, const char *scope, const char *text, size_t len)
{
	struct span rest = {text, text + len, false};
	struct span line;
	int err;

	for (unsigned row = 0; next_line(&rest, &line); row++) {
		err = add_softnet_line(c, scope, line, row);
		if (err)
			return err;
	}
	return 0;
}

int procnet_neigh_stat(struct counters *c, const char *scope, const char *table, const char *text,
		       size_t len)
{
	static const char *const wanted[] = {"unresolved_discards", "res_failed", "table_fulls"};

	for (unsigned w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
		struct span rest = {text, text + len, false};
		struct span line, tok;
		unsigned column = 0;
		bool found = false;
		uint64_t sum = 0, v = 0;
		char name[COUNTER_NAME_LEN];
		int err;

		if (!next_line(&rest, &line))
			return 0;
		while (!found && next_token(&line, &tok)) {
			found = token_is(&tok, wanted[w]);
			column += !found;
		}
		while (found && next_line(&rest, &line)) {
			unsigned i = 0;

			while (next_token(&line, &tok) && i < column)
				i++;
			/* Without this CPU's part the sum is no sum. */
			found = i == column && token_number(&tok, 16, &v);
			sum += v;
		}
		if (!found)
			continue;
		snprintf(name, sizeof(name), "%s:%s", table, wanted[w]);
		err = counters_add(c, scope, name, sum);
		if (err)
			return err;
	}
	return 0;
}

enum udp_column {
	UDP_LOCAL = 1,
	UDP_REMOTE,
	UDP_QUEUES = 4,
	UDP_INODE = 9,
	UDP_DROPS = 12,
	UDP_COLUMNS
};

/* "<before>:<hex>", the part behind the last colon. */
static bool token_hex_behind_colon(const struct span *tok, uint64_t *value)
{
	const char *colon = memrchr(tok->p, ':', tok->end - tok->p);
	struct span part;

	if (!colon)
		return false;
	part = (struct span){colon + 1, tok->end, tok->cut};
	return token_number(&part, 16, value);
}

void sockmem_parse(const char *text, size_t len, int family, sockmem_cb each, void *arg)
{
	struct span rest = {text, text + len, false};
	struct span line, tok[UDP_COLUMNS];

	while (next_line(&rest, &line)) {
		uint64_t port, remote, queued, inode, drops;
		unsigned n = 0;

		while (n < UDP_COLUMNS && next_token(&line, &tok[n]))
			n++;
		/* The line of names has no number in any of these places. */
		if (n == UDP_COLUMNS && token_hex_behind_colon(&tok[UDP_LOCAL], &port) &&
		    token_hex_behind_colon(&tok[UDP_REMOTE], &remote) &&
		    token_hex_behind_colon(&tok[UDP_QUEUES], &queued) &&
		    token_number(&tok[UDP_INODE], 10, &inode) &&
		    token_number(&tok[UDP_DROPS], 10, &drops))
			each(arg, &(struct sockmem_row){.inode = inode,
							.family = family,
							.port = (uint16_t)port,
							.connected = remote,
							.rmem = (uint32_t)queued,
							.drops = (uint32_t)drops});
	}
}
