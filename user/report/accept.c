// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/accept.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define WEIGHT_MAX 1000 /* q has three decimals */

/* A part of the header: it has no NUL. */
struct piece {
	const char *at;
	size_t len;
};

static void trim(struct piece *p)
{
	while (p->len && strchr(" \t", p->at[p->len - 1]))
		p->len--;
	while (p->len && strchr(" \t", *p->at)) {
		p->at++;
		p->len--;
	}
}

/* Cuts the part before `by` off `rest`. */
static struct piece cut(struct piece *rest, char by)
{
	const char *end = memchr(rest->at, by, rest->len);
	struct piece first = {rest->at, end ? (size_t)(end - rest->at) : rest->len};
	size_t gone = first.len + (end != NULL);

	rest->at += gone;
	rest->len -= gone;
	trim(&first);
	return first;
}

static bool is(const struct piece *p, const char *word)
{
	return p->len == strlen(word) && !strncasecmp(p->at, word, p->len);
}

/* "0.75" as 750; what is no weight is the least. */
static unsigned weight_of(const struct piece *p)
{
	unsigned weight = 0, place = WEIGHT_MAX;

	for (size_t i = 0; i < p->len && i < 5; i++) {
		char c = p->at[i];

		if (i == 1 && c == '.')
			continue;
		if (i == 1 || !isdigit((unsigned char)c))
			return 0;
		weight += place * (unsigned)(c - '0');
		place /= 10;
	}
	return weight < WEIGHT_MAX ? weight : WEIGHT_MAX;
}

/* How exactly a range names a format: 0 not at all, 1 as any type, 2 any of the kind, 3 itself. */
static unsigned names(const struct piece *type, enum expose_format format)
{
	static const char *const all[EXPOSE_FORMATS][2] = {
		[EXPOSE_TEXT] = {"text/*", "text/plain"},
		[EXPOSE_OPENMETRICS] = {"application/*", "application/openmetrics-text"},
	};

	if (is(type, all[format][1]))
		return 3;
	return is(type, all[format][0]) ? 2 : is(type, "*/*");
}

struct choice {
	unsigned named, weight;
};

/* A range with its parameters; of several the most exact one counts, then the heaviest. */
static void weigh(struct piece range, enum expose_format format, struct choice *c)
{
	static const char *const versions[EXPOSE_FORMATS] = {"0.0.4", "1.0.0"};
	struct piece type = cut(&range, ';');
	struct choice found = {names(&type, format), WEIGHT_MAX};

	while (range.len) {
		struct piece value = cut(&range, ';'), name = cut(&value, '=');

		trim(&value);
		if (is(&name, "q"))
			found.weight = weight_of(&value);
		else if (is(&name, "version") && !is(&value, versions[format]))
			return;
	}
	if (!found.named)
		return;
	if (found.named > c->named || (found.named == c->named && found.weight > c->weight))
		*c = found;
}

enum expose_format accept_format(const char *header)
{
	struct choice text = {}, metrics = {};
	struct piece rest;

	if (!header)
		return EXPOSE_TEXT;
	rest = (struct piece){header, strlen(header)};
	while (rest.len) {
		struct piece range = cut(&rest, ',');

		weigh(range, EXPOSE_TEXT, &text);
		weigh(range, EXPOSE_OPENMETRICS, &metrics);
	}
	if (metrics.weight > text.weight)
		return EXPOSE_OPENMETRICS;
	return metrics.weight && metrics.weight == text.weight && metrics.named == 3
		       ? EXPOSE_OPENMETRICS
		       : EXPOSE_TEXT;
}
