// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/shape.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "stamp.h"

/* What a draw is for: draws of one number must not depend on each other. */
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
