// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/shape_text.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM_MAX  64
#define FRAME_MAX 65535

/* Cuts `text` at the first `sep`: the front is copied to `front`; NULL if there is no `sep`. */
static const char *cut(const char *text, const char *sep, char front[ITEM_MAX])
{
	const char *at = strstr(text, sep);

	if (!at || at - text >= ITEM_MAX)
		return NULL;
	memcpy(front, text, (size_t)(at - text));
	front[at - text] = '\0';
	return at + strlen(sep);
}

/* The next item of a list by comma; NULL: too long. *rest is NULL after the last. */
static const char *next_item(const char **rest, char item[ITEM_MAX])
{
	const char *text = *rest, *more = cut(text, ",", item);

	if (!more) {
		if (strchr(text, ',') || strlen(text) >= ITEM_MAX)
			return NULL;
		strcpy(item, text);
	}
	*rest = more;
	return item;
}

struct weights {
	unsigned n, total;
	uint16_t frame[IMIX_RUNS];
	unsigned weight[IMIX_RUNS];
};

static int parse_weights(const char *text, struct weights *w)
{
	*w = (struct weights){};
	for (const char *rest = text; rest;) {
		char item[ITEM_MAX], size[ITEM_MAX];
		uint64_t frame, weight = 1;
		const char *at;
		int rc;

		if (w->n == IMIX_RUNS || !next_item(&rest, item))
			return -ERANGE;
		at = cut(item, ":", size);
		rc = num_u64(at ? size : item, 1, FRAME_MAX, &frame);
		if (!rc && at)
			rc = num_u64(at, 1, SHAPE_SIZES, &weight);
		if (rc)
			return rc;
		w->frame[w->n] = (uint16_t)frame;
		w->weight[w->n++] = (unsigned)weight;
		w->total += (unsigned)weight;
	}
	return w->total > SHAPE_SIZES ? -ERANGE : 0;
}

/* Each time the one that is furthest behind its share: no runs longer than they must be. */
static void spread(const struct weights *w, struct imix *out)
{
	int behind[IMIX_RUNS] = {};

	for (out->n = 0; out->n < w->total; out->n++) {
		unsigned best = 0;

		for (unsigned i = 0; i < w->n; i++) {
			behind[i] += (int)w->weight[i];
			if (behind[i] > behind[best])
				best = i;
		}
		behind[best] -= (int)w->total;
		out->frame[out->n] = w->frame[best];
	}
}

/* RFC 6985, table 1; `z` is a size told in words there, and has no place here. */
static int parse_genome(const char *text, struct imix *out)
{
	static const uint16_t frame[] = {64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000};
	size_t n = strlen(text);

	if (n > SHAPE_SIZES)
		return -ERANGE;
	if (!n || text[strspn(text, "abcdefghi")])
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		out->frame[i] = frame[text[i] - 'a'];
	out->n = (unsigned)n;
	return 0;
}

int imix_parse(const char *text, struct imix *out, struct error *err)
{
	static const struct weights simple = {3, 12, {64, 594, 1518}, {7, 4, 1}};
	struct weights w = simple;
	struct imix made = {.simple = !strcmp(text, "simple")};
	int rc = 0;

	if (text[0] >= 'a' && text[0] <= 'i') {
		rc = parse_genome(text, &made);
	} else {
		if (!made.simple)
			rc = parse_weights(text, &w);
		if (!rc)
			spread(&w, &made);
	}
	if (!rc)
		*out = made;
	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      rc == -ERANGE
				      ? "'%.40s' is too long or out of range (sizes to %d, %d "
					"packets in a cycle)"
				      : "'%.40s' is no mix of sizes (examples: simple, "
					"64:7,594:4,1518:1, the RFC 6985 genome aaafg)",
			      text, FRAME_MAX, SHAPE_SIZES)
		  : 0;
}

static int parse_rate(const char *text, struct rate *rate)
{
	int rc = num_rate(text, rate);

	return rc ? rc : rate->unit == RATE_MAX ? -EINVAL : 0;
}

static int parse_time(const char *text, uint64_t *ns)
{
	int rc = num_time(text, ns);

	return rc ? rc : *ns ? 0 : -ERANGE;
}

/* Cuts at the last slash: a rate has one of its own in 1Gbit/l1. */
static const char *cut_time(const char *text, char *front, size_t size)
{
	const char *slash = strrchr(text, '/');

	if (!slash || (size_t)(slash - text) >= size)
		return NULL;
	memcpy(front, text, (size_t)(slash - text));
	front[slash - text] = '\0';
	return slash + 1;
}

static int parse_ramp(const char *text, struct rate_plan *plan)
{
	char from[ITEM_MAX], to[ITEM_MAX];
	const char *rest = cut(text, "..", from);
	const char *time = rest ? cut_time(rest, to, sizeof(to)) : NULL;
	int rc = 0;

	if (!time)
		return -EINVAL;
	plan->n = 2;
	plan->rate[0] = (struct rate){RATE_PPS, 0};
	if (strcmp(from, "0"))
		rc = parse_rate(from, &plan->rate[0]);
	if (!rc)
		rc = parse_rate(to, &plan->rate[1]);
	return rc ? rc : parse_time(time, &plan->time_ns);
}

static int parse_steps(const char *text, struct rate_plan *plan)
{
	char list[PROFILE_PARTS * 16];
	const char *time = cut_time(text, list, sizeof(list));

	if (!time)
		return -EINVAL;
	for (const char *rest = list; rest; plan->n++) {
		char item[ITEM_MAX];
		int rc;

		if (plan->n == PROFILE_PARTS)
			return -ERANGE;
		if (!next_item(&rest, item))
			return -EINVAL;
		rc = parse_rate(item, &plan->rate[plan->n]);
		if (rc)
			return rc;
	}
	return parse_time(time, &plan->time_ns);
}

static int parse_onoff(const char *text, struct rate_plan *plan)
{
	char on[ITEM_MAX];
	const char *off = cut(text, "/", on);
	int rc = off ? parse_time(on, &plan->time_ns) : -EINVAL;

	return rc ? rc : parse_time(off, &plan->off_ns);
}

int rate_plan_parse(const char *text, struct rate_plan *out, struct error *err)
{
	static const struct {
		const char *name;
		enum plan_kind kind;
		int (*parse)(const char *text, struct rate_plan *plan);
	} kinds[] = {
		{"ramp:", PLAN_RAMP, parse_ramp},
		{"steps:", PLAN_STEPS, parse_steps},
		{"onoff:", PLAN_ONOFF, parse_onoff},
	};
	int rc = -EINVAL;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rate_plan plan = {.kind = kinds[i].kind};
		size_t len = strlen(kinds[i].name);

		if (strncmp(text, kinds[i].name, len))
			continue;
		rc = kinds[i].parse(text + len, &plan);
		if (!rc)
			*out = plan;
		break;
	}
	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      "'%.60s' is no profile (examples: ramp:10k..1M/10s, "
			      "steps:10k,50k,100k/2s, onoff:100ms/900ms)",
			      text)
		  : 0;
}

int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out)
{
	double seconds = (double)plan->time_ns * 1e-9, rate[PROFILE_PARTS];

	*out = (struct profile){};
	for (unsigned i = 0; i < plan->n; i++) {
		int rc = shape_pps(sizes, &plan->rate[i], link_mbit, &rate[i]);

		if (rc)
			return rc;
	}
	switch (plan->kind) {
	case PLAN_NONE:
		return -EINVAL;
	case PLAN_RAMP:
		out->parts = 1;
		out->part[0] = (struct profile_part){seconds, rate[0], rate[1]};
		return 0;
	case PLAN_STEPS:
		for (; out->parts < plan->n; out->parts++)
			out->part[out->parts] =
				(struct profile_part){seconds, rate[out->parts], rate[out->parts]};
		return 0;
	case PLAN_ONOFF:
		if (pps <= 0)
			return -EINVAL;
		out->parts = 2;
		out->repeat = true;
		out->part[0] = (struct profile_part){seconds, pps, pps};
		out->part[1] = (struct profile_part){(double)plan->off_ns * 1e-9, 0, 0};
		return 0;
	}
	return -EINVAL;
}

int ports_parse(const char *text, struct shape_ports *out)
{
	char first[ITEM_MAX];
	const char *last = cut(text, "..", first);
	uint64_t a, b;
	int rc = num_u64(last ? first : text, 1, UINT16_MAX, &a);

	b = a;
	if (!rc && last)
		rc = num_u64(last, 1, UINT16_MAX, &b);
	if (rc)
		return rc;
	if (b < a)
		return -ERANGE;
	*out = (struct shape_ports){(uint16_t)a, (uint32_t)(b - a + 1)};
	return 0;
}

static int parse_address(const char *text, struct shape_addrs *a)
{
	a->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(a->family, text, a->first) == 1 ? 0 : -EINVAL;
}

/* last - first + 1, if it is 1 .. 2^32 */
static int distance(const struct shape_addrs *first, const struct shape_addrs *last, uint64_t *n)
{
	unsigned len = first->family == AF_INET6 ? 16 : 4;
	unsigned __int128 a = 0, b = 0;

	for (unsigned i = 0; i < len; i++) {
		a = a << 8 | first->first[i];
		b = b << 8 | last->first[i];
	}
	if (b < a || b - a >= SHAPE_FLOWS_MAX)
		return -ERANGE;
	*n = (uint64_t)(b - a) + 1;
	return 0;
}

static int parse_prefix(const char *text, struct shape_addrs *a)
{
	unsigned bits = a->family == AF_INET6 ? 128 : 32;
	uint64_t prefix;
	int rc = num_u64(text, 0, bits, &prefix);

	if (rc)
		return rc;
	if (bits - prefix > 32)
		return -ERANGE;
	a->n = 1ULL << (bits - prefix);
	for (unsigned i = (unsigned)prefix; i < bits; i++)
		a->first[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return 0;
}

int addrs_parse(const char *text, struct shape_addrs *out)
{
	struct shape_addrs a = {.n = 1}, b = {};
	char first[ITEM_MAX];
	const char *last = cut(text, "..", first), *prefix = last ? NULL : cut(text, "/", first);
	int rc = parse_address(last || prefix ? first : text, &a);

	if (!rc && last)
		rc = parse_address(last, &b);
	if (!rc && last)
		rc = a.family == b.family ? distance(&a, &b, &a.n) : -EINVAL;
	if (!rc && prefix)
		rc = parse_prefix(prefix, &a);
	if (!rc)
		*out = a;
	return rc;
}

int share_parse(const char *text, double *out)
{
	size_t len = strlen(text);
	struct rate rate;
	int rc;

	/* the same grammar as a rate of 50% */
	if (len < 2 || text[len - 1] != '%')
		return -EINVAL;
	rc = num_rate(text, &rate);
	if (rc)
		return rc;
	if (rate.unit != RATE_PERCENT)
		return -EINVAL;
	*out = rate.value / 100;
	return 0;
}

int reorder_parse(const char *text, struct shape_reorder *out)
{
	char share[ITEM_MAX];
	const char *extent = cut(text, ":", share);
	struct shape_reorder r = {.extent = 1};
	uint64_t n = 1;
	int rc = share_parse(extent ? share : text, &r.share);

	if (!rc && extent)
		rc = num_u64(extent, 1, SHAPE_EXTENT_MAX, &n);
	if (rc)
		return rc;
	r.extent = (unsigned)n;
	*out = r;
	return 0;
}
