// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The outcome of segments that were sent again, from trails that no host has left:
 * tests/fixtures/tcp/join, and long ones.
 */
#include "cases.h"

#include <string.h>

#include "drops/stagemap.h"
#include "ledger/tcp_join.h"
#include "recorded.h"

#define MSS 1000
#define ISN 5000u

/* Hosts in path order, the sender first. One flow by default. */
struct scene {
	struct tcp_join_host host[4];
	unsigned hosts, flows;
	uint64_t ms;
	struct tcp_joint sum;
	uint64_t lost, wire, not_lost; /* of all flows */
	char name[64], text[1024];     /* the result */
};

static struct watch_flow key_of(uint16_t src, uint16_t dst)
{
	return (struct watch_flow){.family = 2,
				   .proto = 6,
				   .src = {10, 1},
				   .dst = {10, 2},
				   .src_port = src,
				   .dst_port = dst};
}

static void flow_at(struct scene *s, unsigned host, struct watch_flow key)
{
	struct trail *t = s->host[host].trail;
	struct trail_flow *f = trail_flow(t, trail_make(t, &key, !host));

	f->first = ISN;
	f->next = ISN + 100 * MSS;
	f->acked = host ? 0 : f->next;
	f->begun = f->known = true;
	f->ttl = (uint8_t)(64 - host);
}

static void begin(struct scene *s, unsigned hosts)
{
	s->hosts = hosts;
	for (unsigned i = 0; i < hosts; i++) {
		s->host[i] = (struct tcp_join_host){.trail = trail_new(), .ended_ns = 1000000000};
		flow_at(s, i, key_of(1, 2));
	}
}

static void ends(struct scene *s)
{
	for (unsigned i = 0; i < s->hosts; i++)
		trail_free(s->host[i].trail);
}

/* Of a flow of a host: the segment that begins at this number of segments. */
static void note(struct scene *s, unsigned host, uint32_t flow, enum trail_what what,
		 unsigned segment, enum stage stage)
{
	uint64_t first = trail_flow(s->host[host].trail, flow)->first;

	trail_add(s->host[host].trail, &(struct trail_range){
					       .from = first + 1 + segment * MSS,
					       .to = first + 1 + (segment + 1) * MSS,
					       .time_ns = ++s->ms * 1000000,
					       .flow = flow,
					       .what = (uint8_t)what,
					       .stage = (uint8_t)stage,
				       });
}

__attribute__((format(printf, 2, 3))) static void say(struct scene *s, const char *fmt, ...)
{
	size_t n = strlen(s->text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(s->text + n, sizeof(s->text) - n, fmt, args);
	va_end(args);
}

/* The way of a flow over the hosts; of one that is not joined the reason. */
static void on_flow(void *arg, const struct tcp_join_flow *f)
{
	struct scene *s = arg;

	assert_int_equal(f->segments, f->lost + f->wire + f->not_lost + f->undecided);
	s->flows++;
	s->lost += f->lost;
	s->wire += f->wire;
	s->not_lost += f->not_lost;
	say(s, "flow");
	for (unsigned i = 0; i < f->n; i++)
		say(s, " %u", f->way[i].host);
	say(s, f->n ? ": " : " unjoined %u: ", f->unjoined);
}

static void join(struct scene *s, unsigned sender)
{
	static const char *const why[] = {"elsewhere", "sequence", "wrapped", "reused",	 "before",
					  "after",     "unseen",   "full",    "no_event"};
	uint64_t lost = 0, wire = 0, undecided = 0;

	s->text[0] = '\0';
	tcp_join_prepare(s->host, s->hosts);
	tcp_join(s->host, s->hosts, sender, &s->sum, on_flow, s);
	say(s, "segments=%d", (int)s->sum.segments);
	if (s->sum.not_lost)
		say(s, " not_lost=%d", (int)s->sum.not_lost);
	for (unsigned i = 0; i < s->hosts; i++) {
		for (unsigned k = 0; k < s->hosts; k++) {
			wire += s->sum.wire[i][k];
			if (s->sum.wire[i][k])
				say(s, " wire.%u.%u=%d", i, k, (int)s->sum.wire[i][k]);
		}
		for (unsigned k = 0; k < STAGE_COUNT; k++) {
			lost += s->sum.lost[i][k];
			if (s->sum.lost[i][k])
				say(s, " lost.%u.%s=%d", i, stage_names[k], (int)s->sum.lost[i][k]);
		}
	}
	for (unsigned i = 0; i < JOIN_WHYS; i++) {
		undecided += s->sum.undecided[i];
		if (s->sum.undecided[i])
			say(s, " %s=%d", why[i], (int)s->sum.undecided[i]);
	}
	assert_int_equal(s->sum.segments, undecided + s->sum.not_lost + wire + lost);
	assert_int_equal(s->lost, lost);
	assert_int_equal(s->wire, wire);
	assert_int_equal(s->not_lost, s->sum.not_lost);
}

/* Recorded */

#define FLOW(member) FIELD(struct trail_flow, member)
static const struct recorded_field flow_fields[] = {FLOW(key.family),
						    FLOW(key.src_port),
						    FLOW(key.dst_port),
						    FIELDS(struct trail_flow, key.src, NULL),
						    FIELDS(struct trail_flow, key.dst, NULL),
						    FLOW(first),
						    FLOW(next),
						    FLOW(acked),
						    FLOW(came),
						    FLOW(dropped),
						    FLOW(taken),
						    FLOW(ttl),
						    FLOW(sends),
						    FLOW(begun),
						    FLOW(known),
						    FLOW(cut),
						    {0}};

#define HOST(member) FIELD(struct tcp_join_host, member)
static const struct recorded_field host_fields[] = {
	HOST(ended_ns), HOST(crowded), HOST(torn), HOST(refuses), {0}};

#define RANGE(member) FIELD(struct trail_range, member)
static const struct recorded_field range_fields[] = {
	RANGE(from), RANGE(to), FIELD_ENUM(struct trail_range, what, trail_names), {0}};

static void take_line(void *arg, const char *verb, char *text)
{
	struct scene *s = arg;
	const unsigned host = (unsigned)strtoul(text, NULL, 10);
	struct trail_range range = {};
	char stage[32] = "";
	unsigned segment;
	uint8_t what = 0;

	if (!strcmp(verb, "case")) {
		ends(s);
		*s = (struct scene){};
		snprintf(s->name, sizeof(s->name), "%s", text);
	} else if (!strcmp(verb, "hosts")) {
		begin(s, host);
	} else if (!strcmp(verb, "host")) {
		recorded_read(host_fields, text, &s->host[host]);
	} else if (!strcmp(verb, "flow")) {
		recorded_read(flow_fields, text, trail_flow(s->host[host].trail, 0));
	} else if (!strcmp(verb, "range")) {
		recorded_read(range_fields, text, &range);
		trail_add(s->host[host].trail, &range);
	} else if (!strcmp(verb, "join")) {
		join(s, host);
	} else if (!strcmp(verb, "is")) {
		if (strcmp(s->text, text))
			fail_msg("%s\n   %s\nis %s", s->name, text, s->text);
	} else { /* a segment */
		while (what < TRAIL_WHATS && strcmp(trail_names[what], verb))
			what++;
		assert_true(what < TRAIL_WHATS);
		assert_true(sscanf(text, "%*u %u %31s", &segment, stage) >= 1);
		while (*stage && strcmp(stage_names[range.stage], stage))
			range.stage++;
		note(s, host, 0, what, segment, range.stage);
	}
}

CASE(recorded)
{
	struct scene s = {};

	recorded_each("tests/fixtures/tcp/join", take_line, &s);
}

/* Long ones */

/*
 * Flows with the same numbers, unordered, in lists that fill their memory. For even flows all
 * segments arrived, for odd flows no retransmission arrived. The last flow is unknown at the
 * receiver.
 */
CASE(flows_beside_each_other)
{
	struct scene s = {};

	begin(&s, 2);
	for (unsigned i = 1; i < 64; i++) {
		flow_at(&s, 1, key_of((uint16_t)(1 + i), 2));
		if (i < 32)
			flow_at(&s, 0, i < 31 ? key_of((uint16_t)(1 + i), 2) : key_of(500, 600));
	}
	for (unsigned i = 0; i < 64; i++)
		note(&s, 0, 31 - i % 32, TRAIL_RESENT, 1, 0);
	for (unsigned i = 30; i < 32; i -= 2) {
		note(&s, 1, i, TRAIL_TWICE, 1, 0);
		note(&s, 1, i, TRAIL_DROPPED, 1, STAGE_NETFILTER);
		note(&s, 1, i, TRAIL_AGAIN, 1, 0);
		note(&s, 1, i, TRAIL_AGAIN, 1, 0);
	}
	assert_int_equal(s.host[0].trail->ranges.n, s.host[0].trail->ranges.cap);
	assert_int_equal(s.host[1].trail->ranges.n, s.host[1].trail->ranges.cap);
	assert_int_equal(s.host[1].trail->flows.n, s.host[1].trail->flows.cap);
	join(&s, 0);
	assert_int_equal(s.flows, 32);
	assert_int_equal(s.sum.segments, 64);
	assert_int_equal(s.sum.wire[0][1], 30);
	assert_int_equal(s.sum.lost[1][STAGE_NETFILTER], 16);
	assert_int_equal(s.sum.not_lost, 16);
	assert_int_equal(s.sum.undecided[JOIN_ELSEWHERE], 2);
	ends(&s);
}

/*
 * Where a number stands is searched for, not walked to. Crafted input that would take forever,
 * because each range contains all others, ends early, without a conclusion.
 */
CASE(long_lists)
{
	for (unsigned crafted = 0; crafted < 2; crafted++) {
		const unsigned n = TRAIL_RANGES << crafted;
		struct scene s = {};

		begin(&s, 2);
		for (unsigned i = 0; i < n; i++) {
			struct trail_range r = {.from = ISN + 1 + i, .to = ISN + 2 + i};

			trail_add(s.host[0].trail, &r);
			r.what = TRAIL_AGAIN;
			if (crafted)
				r = (struct trail_range){
					.from = ISN, .to = ISN + (1ULL << 40), .what = TRAIL_AGAIN};
			trail_add(s.host[1].trail, &r);
		}
		assert_int_equal(s.host[0].trail->ranges.n, TRAIL_RANGES);
		assert_int_equal(s.host[0].trail->lost_resent, n - TRAIL_RANGES);
		assert_int_equal(trail_flow(s.host[1].trail, 0)->cut, crafted);
		join(&s, 0);
		assert_int_equal(s.sum.segments, n);
		if (crafted)
			assert_true(s.sum.undecided[JOIN_FULL] > TRAIL_RANGES);
		else
			assert_int_equal(s.sum.undecided[JOIN_NO_EVENT], n);
		assert_int_equal(s.sum.not_lost + s.lost + s.wire, 0);
		ends(&s);
	}
}

CASE(more_flows_than_there_is_room_for)
{
	struct trail *t = trail_new();
	struct watch_flow key = {};

	for (unsigned i = 0; i < TRAIL_FLOWS + 7; i++) {
		memcpy(key.src, &i, sizeof(i));
		assert_int_equal(trail_make(t, &key, false), i < TRAIL_FLOWS ? i : TRAIL_NONE);
	}
	assert_int_equal(t->lost_flows, 7);
	trail_add(t, &(struct trail_range){.flow = TRAIL_NONE, .what = TRAIL_HOLE});
	assert_int_equal(t->lost_ranges, 1);
	assert_int_equal(t->ranges.n, 0);
	key.src[0]--;
	assert_true(trail_find(t, &key, true) == TRAIL_NONE);
	trail_free(t);
}
