// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/shape.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traffic/worker.h"

/* Purpose of a random draw. Different draws for the same number must be independent. */
enum draw { DRAW_SIZE, DRAW_FLOW };

/* The splitmix64 finaliser (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9;
	x ^= x >> 27;
	x *= 0x94d049bb133111eb;
	return x ^ x >> 31;
}

/*
 * Returns a number in 0 .. n - 1. The distribution is uniform to within 1 in 2^32 (the maximum of
 * n).
 */
static uint64_t draw_below(const struct shape *s, enum draw what, unsigned slot, uint64_t number,
			   uint64_t n)
{
	uint64_t x = mix(s->seed + 0x9e3779b97f4a7c15 * (1 + what));

	x = mix(x + 0x9e3779b97f4a7c15 * (1 + slot));
	x = mix(x + 0x9e3779b97f4a7c15 * (1 + number));
	return (uint64_t)((unsigned __int128)x * n >> 64);
}

unsigned shape_payload(const struct shape *s, const struct flow *flow, unsigned slot,
		       uint64_t number)
{
	if (!s->n_payload)
		return flow->payload;
	if (s->random && !s->capture)
		return s->payload[draw_below(s, DRAW_SIZE, slot, number, s->n_payload)];
	return s->payload[(number * s->threads + slot) % s->n_payload];
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

/* Computes address + n, treating the address as one big-endian integer. */
static void add_address(const struct shape_addrs *a, uint64_t n, uint8_t *out)
{
	unsigned len = a->family == AF_INET6 ? 16 : 4;

	memcpy(out, a->first, len);
	for (uint8_t *at = out + len; at > out && n; n >>= 8) {
		n += *--at;
		*at = (uint8_t)n;
	}
}

/*
 * Extracts a digit of the mixed-radix number that identifies a 5-tuple, for a range of size n.
 * Returns 0 if n is 0.
 */
static uint64_t digit(uint64_t *index, uint64_t n)
{
	uint64_t d = n ? *index % n : 0;

	*index /= n ? n : 1;
	return d;
}

void shape_tuple(const struct shape *s, const struct flow *flow, uint64_t index, struct flow *out)
{
	bool six = flow->family == AF_INET6;
	uint64_t src_port = digit(&index, s->src_port.n), dst_port = digit(&index, s->dst_port.n);
	uint64_t src = digit(&index, s->src_addr.n), dst = digit(&index, s->dst_addr.n);

	*out = *flow;
	if (s->src_port.n)
		out->src_port = (uint16_t)(s->src_port.first + src_port);
	if (s->dst_port.n)
		out->dst_port = (uint16_t)(s->dst_port.first + dst_port);
	if (s->src_addr.n)
		add_address(&s->src_addr, src, six ? (void *)&out->src6 : (void *)&out->src4);
	if (s->dst_addr.n)
		add_address(&s->dst_addr, dst, six ? (void *)&out->dst6 : (void *)&out->dst4);
}

/* Clears the bits after the prefix, which gives the prefix's first address. */
static void clear_behind(struct shape_addrs *a, unsigned prefix)
{
	for (unsigned i = prefix; i < (a->family == AF_INET6 ? 128 : 32); i++)
		a->first[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
}

unsigned shape_addrs_prefix(const struct shape_addrs *a, struct shape_addrs *base)
{
	unsigned bits = a->family == AF_INET6 ? 128 : 32, prefix = 0;
	uint8_t last[16];

	add_address(a, a->n - 1, last);
	while (prefix < bits && !((a->first[prefix / 8] ^ last[prefix / 8]) & (0x80 >> prefix % 8)))
		prefix++;
	*base = *a;
	clear_behind(base, prefix);
	return prefix;
}

int shape_complete(struct shape *s, unsigned threads, uint64_t flows, struct error *err)
{
	const uint64_t n[] = {s->src_port.n, s->dst_port.n, s->src_addr.n, s->dst_addr.n};
	unsigned __int128 all = 1;

	s->threads = threads;
	for (unsigned i = 0; i < 4; i++)
		all *= n[i] ? n[i] : 1; /* at most 2^96 */
	if (all > SHAPE_FLOWS_MAX && !flows)
		return error_set(err, STATUS_USAGE, -ERANGE, "use smaller ranges, or --flows N",
				 "the ranges make more than 2^32 flows");
	if (flows > all)
		return error_usage(err, "give a larger range, or fewer flows",
				   "--flows %llu is more than the ranges make (%llu)",
				   (unsigned long long)flows, (unsigned long long)all);
	s->flows = flows ? flows : (uint64_t)all;
	if (s->flows < threads)
		return error_usage(err, "use fewer threads, or more flows",
				   "%u sending threads need as many flows, and these ranges make "
				   "%llu",
				   threads, (unsigned long long)s->flows);
	return 0;
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
	       (s->frames || !s->n_payload) && (!s->scheduled || profile_valid(&s->profile));
}

double shape_peak(const struct shape *s, double pps)
{
	return s->scheduled ? profile_peak(&s->profile) : pps;
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
		out->smallest = (unsigned)smaller(out->smallest, one.payload);
		out->largest = (unsigned)larger(out->largest, one.payload);
		sum += s->capture ? capture_frame_bytes(s->capture, i) : flow_frame_bytes(&one);
	}
	out->mean_frame = sum / s->n_payload;
}

#define ITEM_MAX  64
#define FRAME_MAX 65535

/*
 * Splits `text` at `sep` into `front` and *rest (NULL if there is no separator). Returns false if a
 * part is too long.
 */
static bool cut(const char *text, const char *sep, char front[ITEM_MAX], const char **rest)
{
	const char *at = strstr(text, sep);
	size_t len = at ? (size_t)(at - text) : strlen(text);

	*rest = at ? at + strlen(sep) : NULL;
	return snprintf(front, ITEM_MAX, "%.*s", (int)len, text) < ITEM_MAX;
}

/*
 * Parses SIZE:WEIGHT,... The cycle always continues with the size that is furthest behind its
 * weight, to keep runs short.
 */
static int parse_weights(const char *text, struct imix *out)
{
	int weight[IMIX_RUNS], behind[IMIX_RUNS] = {}, total = 0;
	uint16_t frame[IMIX_RUNS];
	unsigned runs = 0;

	for (const char *rest = text; rest; runs++) {
		char item[ITEM_MAX], size[ITEM_MAX];
		uint64_t bytes, times = 1;
		const char *more;
		int rc;

		if (runs == IMIX_RUNS || !cut(rest, ",", item, &rest))
			return -ERANGE;
		cut(item, ":", size, &more);
		rc = num_u64(size, 1, FRAME_MAX, &bytes);
		if (!rc && more)
			rc = num_u64(more, 0, SHAPE_SIZES, &times);
		if (!rc && !times)
			return -EDOM;
		if (rc)
			return rc;
		frame[runs] = (uint16_t)bytes;
		weight[runs] = (int)times;
		total += (int)times;
	}
	if (total > SHAPE_SIZES)
		return -ERANGE;
	for (out->n = 0; (int)out->n < total; out->n++) {
		unsigned best = 0;

		for (unsigned i = 0; i < runs; i++) {
			behind[i] += weight[i];
			if (behind[i] > behind[best])
				best = i;
		}
		behind[best] -= total;
		out->frame[out->n] = frame[best];
	}
	return 0;
}

int imix_parse(const char *text, void *out, struct error *err)
{
	struct imix made = {.simple = !strcmp(text, "simple")};
	int rc = parse_weights(made.simple ? "64:7,594:4,1518:1" : text, &made);

	if (!rc)
		*(struct imix *)out = made;
	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      rc == -EDOM ? "'%.40s' has a size with the weight 0"
			      : rc == -ERANGE
				      ? "'%.40s' is too long or out of range (sizes to %d, %d "
					"packets in a cycle)"
				      : "'%.40s' is not a mix of sizes (examples: simple, "
					"64:7,594:4,1518:1)",
			      text, FRAME_MAX, SHAPE_SIZES)
		  : 0;
}

static int parse_rate(const char *text, struct rate *rate)
{
	int rc = num_rate(text, rate);

	return rc ? rc : rate->unit == RATE_MAX ? -EINVAL : 0;
}

/* Parses RATE/TIME. Splits at the last slash, because a rate such as 1Gbit/l1 contains one. */
static int parse_rate_time(const char *text, struct rate *rate, uint64_t *ns)
{
	const char *slash = strrchr(text, '/');
	char front[ITEM_MAX];
	int rc = -EINVAL;

	if (slash && snprintf(front, ITEM_MAX, "%.*s", (int)(slash - text), text) < ITEM_MAX)
		rc = parse_rate(front, rate);
	if (!rc)
		rc = num_time(slash + 1, ns);
	return rc ? rc : *ns ? 0 : -ERANGE;
}

/* Parses FROM..TO/TIME. FROM may be 0. */
static int parse_ramp(const char *text, struct rate_plan *plan)
{
	char from[ITEM_MAX];
	const char *to;
	int rc = cut(text, "..", from, &to) && to ? 0 : -EINVAL;

	plan->n = 2;
	plan->rate[0] = (struct rate){RATE_PPS, 0};
	if (!rc && strcmp(from, "0"))
		rc = parse_rate(from, &plan->rate[0]);
	return rc ? rc : parse_rate_time(to, &plan->rate[1], &plan->time_ns);
}

/* Parses RATE,RATE,.../TIME. */
static int parse_steps(const char *text, struct rate_plan *plan)
{
	char item[ITEM_MAX];
	int rc = 0;

	for (const char *rest = text; rest && !rc; plan->n++) {
		if (plan->n == PROFILE_PARTS)
			return -ERANGE;
		if (!cut(rest, ",", item, &rest))
			return -EINVAL;
		rc = rest ? parse_rate(item, &plan->rate[plan->n])
			  : parse_rate_time(item, &plan->rate[plan->n], &plan->time_ns);
	}
	return rc;
}

int rate_plan_parse(const char *text, void *out, struct error *err)
{
	static const char *const kinds[] = {
		[PLAN_RAMP] = "ramp:", [PLAN_STEPS] = "steps:", [PLAN_ONOFF] = "onoff:"};
	int rc = -EINVAL;

	for (enum plan_kind kind = PLAN_RAMP; kind <= PLAN_ONOFF; kind++) {
		struct rate_plan plan = {.kind = kind};
		const char *rest = text + strlen(kinds[kind]);

		if (strncmp(text, kinds[kind], strlen(kinds[kind])))
			continue;
		rc = kind == PLAN_RAMP	  ? parse_ramp(rest, &plan)
		     : kind == PLAN_STEPS ? parse_steps(rest, &plan)
					  : reader_parse_pause(rest, &plan.time_ns, &plan.off_ns);
		if (!rc)
			*(struct rate_plan *)out = plan;
	}
	return rc ? error_set(err, STATUS_USAGE, rc, NULL,
			      "'%.60s' is not a profile (examples: ramp:10k..1M/10s, "
			      "steps:10k,50k,100k/2s, onoff:100ms/900ms)",
			      text)
		  : 0;
}

int rate_plan_profile(const struct rate_plan *plan, const struct shape_sizes *sizes, int link_mbit,
		      double pps, struct profile *out)
{
	double seconds = (double)plan->time_ns * 1e-9, rate[PROFILE_PARTS] = {};

	*out = (struct profile){};
	for (unsigned i = 0; i < plan->n; i++) {
		int rc = rate_to_pps(&plan->rate[i], sizes->mean_frame, link_mbit, &rate[i]);

		if (rc)
			return rc;
		out->part[i] = (struct profile_part){seconds, rate[i], rate[i]};
	}
	out->parts = plan->n;
	if (plan->kind == PLAN_RAMP) {
		out->parts = 1;
		out->part[0].to = rate[1];
	} else if (plan->kind == PLAN_ONOFF && pps > 0) {
		*out = (struct profile){
			.parts = 2,
			.repeat = true,
			.part = {{seconds, pps, pps}, {(double)plan->off_ns * 1e-9, 0, 0}},
		};
	}
	return out->parts ? 0 : -EINVAL;
}

int ports_parse(const char *text, struct shape_ports *out)
{
	char first[ITEM_MAX];
	const char *last;
	uint64_t a = 0, b;
	int rc = cut(text, "..", first, &last) ? num_u64(first, 1, UINT16_MAX, &a) : -EINVAL;

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

/* Parses the end of a range of 1 to 2^32 addresses. */
static int parse_last(const char *text, struct shape_addrs *a)
{
	unsigned __int128 first = 0, last = 0;
	struct shape_addrs b = {};
	int rc = parse_address(text, &b);

	if (rc || a->family != b.family)
		return -EINVAL;
	for (unsigned i = 0; i < (a->family == AF_INET6 ? 16 : 4); i++) {
		first = first << 8 | a->first[i];
		last = last << 8 | b.first[i];
	}
	if (last < first || last - first >= SHAPE_FLOWS_MAX)
		return -ERANGE;
	a->n = (uint64_t)(last - first) + 1;
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
	clear_behind(a, (unsigned)prefix);
	return 0;
}

int addrs_parse(const char *text, struct shape_addrs *out)
{
	struct shape_addrs a = {.n = 1};
	char first[ITEM_MAX];
	const char *last, *prefix = NULL;
	int rc = -EINVAL;

	if (cut(text, "..", first, &last) && (last || cut(text, "/", first, &prefix)))
		rc = parse_address(first, &a);
	if (!rc && last)
		rc = parse_last(last, &a);
	if (!rc && prefix)
		rc = parse_prefix(prefix, &a);
	if (!rc)
		*out = a;
	return rc;
}
