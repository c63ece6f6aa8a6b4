// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a draw is for: draws of one number must not depend on each other. */
#include "traffic/shape.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stamp.h"

enum draw { DRAW_SIZE, DRAW_FLOW, DRAW_DUPLICATE, DRAW_GAP, DRAW_REORDER };

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static uint64_t draw(const struct shape *s, enum draw what, unsigned slot, uint64_t n)
{
	uint64_t x = mix(s->seed + 0x9e3779b97f4a7c15 * (1 + what));

	x = mix(x + 0x9e3779b97f4a7c15 * (1 + slot));
	return mix(x + 0x9e3779b97f4a7c15 * (1 + n));
}

/* 0 .. n - 1, each as likely but for 1 in 2^32 (n is at most that). */
static uint64_t draw_below(const struct shape *s, enum draw what, unsigned slot, uint64_t number,
			   uint64_t n)
{
	return (uint64_t)((unsigned __int128)draw(s, what, slot, number) * n >> 64);
}

static bool chance(const struct shape *s, enum draw what, unsigned slot, uint64_t n, double share)
{
	/* 53 bits: what a double holds */
	return share > 0 && (double)(draw(s, what, slot, n) >> 11) < share * 0x1p53;
}

/* Whether the group that a position is in is sent out of order; its first position in *first. */
static bool is_reordered(const struct shape *s, unsigned slot, uint64_t position, uint64_t limit,
			 uint64_t *first)
{
	unsigned group = s->reorder.extent + 1;

	if (s->reorder.share <= 0)
		return false;
	*first = position - position % group;
	if (limit - *first < group)
		return false;
	return chance(s, DRAW_REORDER, slot, position / group, s->reorder.share * group);
}

void shape_step(const struct shape *s, unsigned slot, uint64_t position, uint64_t limit,
		struct shape_step *step)
{
	uint64_t first;

	*step = (struct shape_step){.number = position, .copies = 1};
	if (is_reordered(s, slot, position, limit, &first)) {
		step->displaced = position == first + s->reorder.extent;
		step->number = step->displaced ? first : position + 1;
	}
	if (chance(s, DRAW_GAP, slot, step->number, s->gap))
		step->copies = 0;
	else if (chance(s, DRAW_DUPLICATE, slot, step->number, s->duplicate))
		step->copies = 2;
}

bool shape_unfinished(const struct shape *s, unsigned slot, uint64_t positions, uint64_t limit,
		      uint64_t *number)
{
	/* a group is unfinished if its first position is behind us and its last is not */
	return positions && is_reordered(s, slot, positions - 1, limit, number) &&
	       positions - *number <= s->reorder.extent;
}

static uint64_t turn(const struct shape *s, unsigned slot, uint64_t number)
{
	return number * s->threads + slot;
}

unsigned shape_payload(const struct shape *s, const struct flow *flow, unsigned slot,
		       uint64_t number)
{
	if (!s->n_payload)
		return flow->payload;
	if (s->random && !s->capture)
		return s->payload[draw_below(s, DRAW_SIZE, slot, number, s->n_payload)];
	return s->payload[turn(s, slot, number) % s->n_payload];
}

unsigned shape_l3_bytes(const struct shape *s, const struct flow *flow, unsigned slot,
			uint64_t number)
{
	unsigned header = 8 + (flow->family == AF_INET6 ? 40 : 20);

	return header + (s ? shape_payload(s, flow, slot, number) : flow->payload);
}

uint64_t shape_flows_of(const struct shape *s, unsigned slot, uint64_t *first)
{
	*first = s->flows * slot / s->threads;
	return s->flows * (slot + 1) / s->threads - *first;
}

uint64_t shape_flow(const struct shape *s, unsigned slot, uint64_t number)
{
	uint64_t first, n = shape_flows_of(s, slot, &first);

	return s->random ? draw_below(s, DRAW_FLOW, slot, number, n) : number % n;
}

/* address + n, as one large number */
static void add_address(const struct shape_addrs *a, uint64_t n, uint8_t out[16])
{
	unsigned len = a->family == AF_INET6 ? 16 : 4;

	memcpy(out, a->first, len);
	for (unsigned i = len; i-- > 0 && n; n >>= 8) {
		n += out[i];
		out[i] = (uint8_t)n;
	}
}

/* Takes one digit of the mixed-radix number that names a 5-tuple. */
static uint64_t digit(uint64_t *index, uint64_t n)
{
	uint64_t d = n ? *index % n : 0;

	if (n)
		*index /= n;
	return d;
}

void shape_tuple(const struct shape *s, const struct flow *flow, uint64_t index, struct flow *out)
{
	uint64_t src_port = digit(&index, s->src_port.n), dst_port = digit(&index, s->dst_port.n);
	uint64_t src = digit(&index, s->src_addr.n), dst = digit(&index, s->dst_addr.n);

	*out = *flow;
	if (s->src_port.n)
		out->src_port = (uint16_t)(s->src_port.first + src_port);
	if (s->dst_port.n)
		out->dst_port = (uint16_t)(s->dst_port.first + dst_port);
	if (s->src_addr.n)
		add_address(&s->src_addr, src,
			    flow->family == AF_INET6 ? (void *)&out->src6 : (void *)&out->src4);
	if (s->dst_addr.n)
		add_address(&s->dst_addr, dst,
			    flow->family == AF_INET6 ? (void *)&out->dst6 : (void *)&out->dst4);
}

unsigned shape_addrs_prefix(const struct shape_addrs *a, struct shape_addrs *base)
{
	unsigned bits = a->family == AF_INET6 ? 128 : 32, prefix = 0;
	uint8_t last[16];

	add_address(a, a->n - 1, last);
	while (prefix < bits && !((a->first[prefix / 8] ^ last[prefix / 8]) & (0x80 >> prefix % 8)))
		prefix++;
	*base = *a;
	for (unsigned i = prefix; i < bits; i++)
		base->first[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	return prefix;
}

static int count_flows(struct shape *s, uint64_t flows, struct error *err)
{
	const uint64_t n[] = {s->src_port.n, s->dst_port.n, s->src_addr.n, s->dst_addr.n};
	unsigned __int128 all = 1;

	for (unsigned i = 0; i < 4; i++)
		all *= n[i] ? n[i] : 1; /* at most 2^96 */
	if (all > SHAPE_FLOWS_MAX && !flows)
		return error_set(err, STATUS_USAGE, -ERANGE, "use smaller ranges, or --flows N",
				 "the ranges make more than 2^32 flows");
	if (flows > all)
		return error_set(err, STATUS_USAGE, -EINVAL, "give a larger range, or fewer flows",
				 "--flows %llu is more than the ranges make (%llu)",
				 (unsigned long long)flows, (unsigned long long)all);
	s->flows = flows ? flows : (uint64_t)all;
	if (s->flows < s->threads)
		return error_set(err, STATUS_USAGE, -EINVAL, "use fewer threads, or more flows",
				 "%u sending threads need as many flows; these ranges make %llu",
				 s->threads, (unsigned long long)s->flows);
	return 0;
}

int shape_complete(struct shape *s, unsigned threads, uint64_t flows, struct error *err)
{
	unsigned group = s->reorder.extent + 1;

	s->threads = threads;
	if (s->reorder.share * group > 1 + 1e-9)
		return error_set(err, STATUS_USAGE, -ERANGE, NULL,
				 "of %u packets one can be late by %u: --reorder %.6g%% at most",
				 group, s->reorder.extent, 100.0 / group);
	if (s->gap >= 1)
		return error_set(err, STATUS_USAGE, -ERANGE, NULL,
				 "--gap 100%% leaves nothing to send");
	return count_flows(s, flows, err);
}

static bool faults_valid(const struct shape *s)
{
	return s->duplicate >= 0 && s->duplicate <= 1 && s->gap >= 0 && s->gap < 1 &&
	       s->reorder.share >= 0 && s->reorder.extent <= SHAPE_EXTENT_MAX &&
	       s->reorder.share * (s->reorder.extent + 1) <= 1 + 1e-9 &&
	       (s->reorder.extent || s->reorder.share <= 0);
}

bool shape_valid(const struct shape *s, unsigned threads)
{
	const struct shape_ports *ports = &s->src_port;

	if (s->capture || s->dst_port.n || s->src_addr.n || s->dst_addr.n ||
	    s->n_payload > SHAPE_SIZES || s->burst > SHAPE_BURST_MAX)
		return false;
	for (uint32_t i = 0; i < s->n_payload; i++) {
		if (s->sizes[i] < STAMP_LEN || s->sizes[i] > 65507)
			return false;
	}
	return s->threads == threads && ports->first && ports->n &&
	       ports->n <= 65536u - ports->first && s->flows >= threads && s->flows <= ports->n &&
	       faults_valid(s) && (s->frames || !(s->n_payload || shape_has_faults(s))) &&
	       (!s->scheduled || profile_valid(&s->profile));
}

double shape_peak(const struct shape *s, double pps)
{
	return (s->scheduled ? profile_peak(&s->profile) : pps) * (1 + s->duplicate);
}

void shape_sizes(const struct shape *s, const struct flow *flow, struct shape_sizes *out)
{
	struct flow one = *flow;
	double sum = 0;

	*out = (struct shape_sizes){flow->payload, flow->payload, flow_frame_bytes(flow)};
	if (!s || !s->n_payload)
		return;
	out->smallest = UINT16_MAX;
	out->largest = 0;
	for (uint32_t i = 0; i < s->n_payload; i++) {
		one.payload = s->payload[i];
		if (one.payload < out->smallest)
			out->smallest = one.payload;
		if (one.payload > out->largest)
			out->largest = one.payload;
		sum += s->capture ? capture_frame_bytes(s->capture, i) : flow_frame_bytes(&one);
	}
	out->mean_frame = sum / s->n_payload;
}

int shape_pps(const struct shape_sizes *sizes, const struct rate *rate, int link_mbit, double *pps)
{
	double bits = sizes->mean_frame * 8;

	switch (rate->unit) {
	case RATE_L2_BPS:
		*pps = rate->value / bits;
		return 0;
	case RATE_L1_BPS:
		*pps = rate->value / (bits + FRAME_L1_OVERHEAD * 8);
		return 0;
	case RATE_PERCENT:
		if (link_mbit <= 0)
			return -ENODATA;
		*pps = rate->value / 100 * link_mbit * 1e6 / (bits + FRAME_L1_OVERHEAD * 8);
		return 0;
	case RATE_MAX:
	case RATE_PPS:
		break;
	}
	return rate_to_pps(rate, 64, link_mbit, pps);
}

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
