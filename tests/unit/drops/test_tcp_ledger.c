// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The outcome of the transmission before a retransmission, from generated records:
 * tests/fixtures/tcp/ledger, and random ones.
 */
#include "cases.h"

#include <string.h>

#include "drops/stagemap.h"
#include "drops/tcp.h"
#include "recorded.h"

#define MSS 1000
#define MS  1000000ULL

/* The reason of a drop encodes its meaning, its location the stage. */
static enum tcp_drop judge(void *arg, const struct watch_key *key, enum stage *stage, bool *outside)
{
	(void)arg;
	*stage = (enum stage)key->location;
	*outside = *stage == STAGE_BACKLOG;
	return (enum tcp_drop)key->reason;
}

static void count_beyond(void *arg, const struct tcp_flow *f)
{
	*(uint64_t *)arg += f->sum.beyond;
}

/* Decides all; every segment and byte has its place. */
static void close_ledger(struct tcp_ledger *b, uint64_t lost, struct tcp_sum *sum)
{
	uint64_t beyond = 0;

	tcp_ledger_close(b, lost, sum, count_beyond, &beyond);
	assert_int_equal(sum->beyond, beyond);
	assert_int_equal(sum->retransmitted,
			 sum->lost_here + sum->beyond + sum->not_lost + tcp_sum_undecided(sum));
	assert_int_equal(sum->bytes_sent,
			 sum->bytes_new + sum->bytes_retrans + sum->bytes_returned);
}

/* Recorded */

static const char *const event_names[] = {"dropped", "retransmitted", "synack", "socket",
					  "came",    "looked",	      "hole",	"again"};
static const char *const drop_names[] = {"nothing", "loss", "twice", "unsure"};

#define RECORD(member) FIELD(struct tcp_record, member)
#define TOTALS(of)                                                                                 \
	RECORD(of.bytes_sent), RECORD(of.bytes_retrans), RECORD(of.data_segs_out),                 \
		RECORD(of.total_retrans), RECORD(of.dsack_dups), RECORD(of.snd_nxt),               \
		RECORD(of.snd_una), RECORD(of.rcv_nxt), RECORD(of.ifindex), RECORD(of.role),       \
		RECORD(of.sack), RECORD(of.flags)
#define SEGMENT                                                                                    \
	FIELD_ENUM(struct tcp_record, event, event_names), RECORD(time_ns), RECORD(start_ns),      \
		RECORD(flow.src_port), RECORD(flow.dst_port), RECORD(seq), RECORD(end),            \
		RECORD(bytes), RECORD(tsval), RECORD(segs), RECORD(size), RECORD(kind),            \
		RECORD(unsent), RECORD(has_ack), RECORD(netns), RECORD(ack), RECORD(place)

static const struct recorded_field record_fields[] = {
	SEGMENT, TOTALS(first), TOTALS(last), {0}};

/* The reason of a drop encodes its meaning, its location the stage. */
static const struct recorded_field drop_fields[] = {
	SEGMENT, FIELD_ENUM(struct tcp_record, key.reason, drop_names),
	FIELD_ENUM(struct tcp_record, key.location, stage_names), {0}};

#define SUM(member)	   FIELD(struct tcp_sum, member)
#define SUMS(member, names) FIELDS(struct tcp_sum, member, names)

static const struct recorded_field sum_fields[] = {
	SUM(sockets),	       SUM(data_segs_out),     SUM(returned),
	SUM(retransmitted),    SUM(without_data),      SUMS(kinds, NULL),
	SUM(lost_here),	       SUM(beyond),	       SUM(not_lost),
	SUMS(undecided, NULL), SUM(ack_lost), SUM(lost_again),
	SUMS(lost_at, stage_names),     SUMS(returned_at, stage_names),
	SUM(not_resent),       SUM(never),	       SUM(received),
	SUMS(received_at, stage_names), SUM(received_again),
	SUM(large_only),       SUM(overcounted),       SUM(bytes_sent),
	SUM(bytes_new),	       SUM(bytes_retrans),     SUM(bytes_returned),
	SUM(bytes_unaccounted), SUM(dsack_dups),       SUM(torn),
	{0},
};

/* What else the ledger tells. */
struct state {
	uint64_t flows, folded, refused, stalls, stall_max, received_stalls, received_stall_max;
};

static struct state state_of(const struct tcp_ledger *b)
{
	const struct hist *stall = tcp_ledger_stall(b, false), *received = tcp_ledger_stall(b, true);

	return (struct state){tcp_ledger_flows(b)->n, tcp_ledger_folded(b), tcp_ledger_refused(b),
			      stall->count, stall->max, received->count, received->max};
}

#define STATE(member) FIELD(struct state, member)
static const struct recorded_field state_fields[] = {
	STATE(flows),  STATE(folded),	       STATE(refused),		  STATE(stalls),
	STATE(stall_max), STATE(received_stalls), STATE(received_stall_max), {0}};

#define RANGE(member) FIELD(struct trail_range, member)
static const struct recorded_field range_fields[] = {RANGE(from), RANGE(to),   RANGE(time_ns),
						      RANGE(flow),
						      FIELD_ENUM(struct trail_range, what, trail_names),
						      FIELD_ENUM(struct trail_range, stage, stage_names), {0}};

struct run {
	struct tcp_ledger *ledger;
	struct trail *trail;
	struct tcp_sum sum;
	unsigned ranges; /* that were compared */
	char name[64];	 /* of the case */
};

static void compare(const struct run *r, const struct recorded_field *fields, const void *found,
		    const char *wanted)
{
	if (strcmp(recorded_text(fields, found), wanted))
		fail_msg("%s\n   %s\nis %s", r->name, wanted, recorded_text(fields, found));
}

static void look(struct run *r, char *text)
{
	const uint64_t until = strtoull(text, &text, 10), lost = strtoull(text, NULL, 10);
	uint64_t beyond = 0;

	tcp_ledger_look(r->ledger, until, lost, &r->sum, count_beyond, &beyond);
	assert_int_equal(r->sum.beyond, beyond);
}

static void begin(struct run *r, const char *name)
{
	if (r->trail)
		assert_int_equal(r->ranges, r->trail->ranges.n);
	tcp_ledger_free(r->ledger);
	trail_free(r->trail);
	*r = (struct run){};
	snprintf(r->name, sizeof(r->name), "%s", name);
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct tcp_record record = {};
	struct run *r = arg;
	struct state state;

	if (!strcmp(verb, "case")) {
		begin(r, text);
	} else if (!strcmp(verb, "new")) {
		r->ledger = tcp_ledger_new((unsigned)strtoul(text, NULL, 10), judge, NULL);
	} else if (!strcmp(verb, "keep")) {
		tcp_ledger_keep(r->ledger, r->trail = trail_new());
	} else if (!strcmp(verb, "add")) {
		recorded_read(strncmp(text, "event=", 6) ? drop_fields : record_fields, text,
			      &record);
		tcp_ledger_add(r->ledger, &record);
	} else if (!strcmp(verb, "look")) {
		look(r, text);
	} else if (!strcmp(verb, "close")) {
		close_ledger(r->ledger, strtoull(text, NULL, 10), &r->sum);
	} else if (!strcmp(verb, "sum")) {
		compare(r, sum_fields, &r->sum, text);
	} else if (!strcmp(verb, "state")) {
		state = state_of(r->ledger);
		compare(r, state_fields, &state, text);
	} else if (!strcmp(verb, "range")) {
		assert_true(r->ranges < r->trail->ranges.n);
		compare(r, range_fields, (struct trail_range *)r->trail->ranges.at + r->ranges++,
			text);
	} else {
		fail_msg("%s: no verb %s", r->name, verb);
	}
}

CASE(recorded)
{
	struct run r = {};

	recorded_each("tests/fixtures/tcp/ledger", take_line, &r);
}

/* Many */

struct scene {
	struct tcp_ledger *ledger;
	struct tcp_totals first; /* of the socket */
	uint64_t ms;
	struct tcp_sum sum;
};

static struct scene begun(unsigned flows)
{
	struct scene s = {.ledger = tcp_ledger_new(flows, judge, NULL), .ms = 1000};

	s.first.snd_nxt = s.first.snd_una = UINT32_MAX - 3 * MSS; /* wraps in between */
	s.first.sack = 1;
	s.first.role = TCP_ROLE_EDGE;
	s.first.ifindex = 7;
	return s;
}

/* Of the flow with this number. */
static struct tcp_record record(const struct scene *s, enum tcp_event event, unsigned flow,
				unsigned from, unsigned segs)
{
	struct tcp_record r = {
		.event = (uint8_t)event,
		.time_ns = s->ms * MS,
		.start_ns = s->ms * MS,
		.flow = {.family = 2, .proto = 6, .src_port = 1, .dst_port = 2},
		.segs = (uint16_t)segs,
		.bytes = segs * MSS,
		.size = segs > 1 ? MSS : 0,
		.netns = 1,
	};

	memcpy(r.flow.src, &flow, sizeof(flow));
	r.seq = s->first.snd_nxt + from * MSS;
	r.end = r.seq + r.bytes;
	return r;
}

static struct tcp_record dropped(const struct scene *s, unsigned flow, unsigned from,
				 enum stage stage)
{
	struct tcp_record r = record(s, TCP_DROPPED, flow, from, 1);

	r.key.reason = TCP_DROP_LOSS;
	r.key.location = stage;
	return r;
}

/* Of a socket that has sent so many segments, one of them again. */
static struct tcp_record resent(const struct scene *s, enum tcp_event event, unsigned flow,
				unsigned segs, unsigned again)
{
	struct tcp_record r = record(s, event, flow, 0, event == TCP_RETRANSMITTED);

	r.first = r.last = s->first;
	r.last.total_retrans = again;
	r.last.data_segs_out = segs + again;
	r.last.bytes_sent = (segs + again) * MSS;
	r.last.bytes_retrans = again * MSS;
	r.last.snd_nxt += segs * MSS;
	return r;
}

/* Old ranges are decided and discarded, each counted exactly once. */
CASE(little_room)
{
	const unsigned n = 1000;
	struct scene s = begun(2);
	struct tcp_record r;

	for (unsigned i = 0; i < n; i++) {
		r = dropped(&s, 0, i, STAGE_BACKLOG);
		tcp_ledger_add(s.ledger, &r);
		s.ms++;
		r = resent(&s, TCP_RETRANSMITTED, 0, i + 1, i + 1);
		r.seq += i * MSS;
		r.end += i * MSS;
		tcp_ledger_add(s.ledger, &r);
		s.ms++;
	}
	r = resent(&s, TCP_SOCKET, 0, n, n);
	r.last.snd_una = r.last.snd_nxt;
	tcp_ledger_add(s.ledger, &r);
	close_ledger(s.ledger, 0, &s.sum);
	assert_int_equal(s.sum.lost_here, n);
	assert_int_equal(s.sum.lost_at[STAGE_BACKLOG], n);
	tcp_ledger_free(s.ledger);
}

/* More flows than are kept: those that are over are in the sum. */
CASE(many_flows)
{
	const unsigned n = 100000;
	struct scene s = begun(128);

	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = resent(&s, TCP_RETRANSMITTED, i, 0, 0);

		if (i % 2) /* the others take no row */
			tcp_ledger_add(s.ledger, &r);
		r = resent(&s, TCP_SOCKET, i, 1, i % 2);
		r.last.snd_nxt++; /* FIN */
		r.last.flags = TCP_DEAD;
		tcp_ledger_add(s.ledger, &r);
	}
	close_ledger(s.ledger, 0, &s.sum);
	assert_int_equal(s.sum.data_segs_out, n + n / 2);
	assert_int_equal(s.sum.sockets, n);
	assert_int_equal(s.sum.beyond, n / 2);
	assert_in_range(tcp_ledger_flows(s.ledger)->n, 1, 1 << 15);
	assert_int_equal(tcp_ledger_folded(s.ledger) + tcp_ledger_flows(s.ledger)->n, n);
	tcp_ledger_free(s.ledger);
}

/* More flows than there is room for, and none of them is over: they take no memory, and it is said.
 */
CASE(flows_without_room)
{
	const unsigned n = 1000, room = 16;
	struct scene s = begun(room);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < 2 * n; i++) {
		struct tcp_record r = i < n ? resent(&s, TCP_RETRANSMITTED, i, 0, 0)
					    : resent(&s, TCP_SOCKET, i - n, 0, 0);

		r.last.total_retrans = i >= n;
		tcp_ledger_add(s.ledger, &r);
		if (i == room)
			bytes = tcp_ledger_bytes(s.ledger);
		if (i == n - 1)
			assert_int_equal(tcp_ledger_bytes(s.ledger), bytes);
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), n - room);
	close_ledger(s.ledger, 0, &s.sum);
	assert_int_equal(s.sum.retransmitted, n);
	assert_int_equal(s.sum.undecided[TCP_WHY_FULL], n);
	assert_int_equal(s.sum.undecided[TCP_WHY_UNSEEN], 0);
	tcp_ledger_free(s.ledger);
}

/* Flows of senders elsewhere never end by themselves: their room is used again. */
CASE(room_of_senders_elsewhere)
{
	const unsigned n = 1000;
	struct scene s = begun(16);

	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = dropped(&s, i, 0, STAGE_RCVBUF);

		tcp_ledger_add(s.ledger, &r);
		s.ms += 1000;
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), 0);
	close_ledger(s.ledger, 0, &s.sum);
	assert_int_equal(s.sum.received_at[STAGE_RCVBUF], n);
	tcp_ledger_free(s.ledger);
}

/* Finished flows free their memory. Their counts stay in the sum. */
CASE(looked_at_while_flows_come_and_go)
{
	struct scene s = begun(16);
	struct tcp_sum sum = {};

	for (unsigned i = 0; i < 1000; i++) {
		const uint64_t before = sum.lost_here, beyond_before = sum.beyond;
		struct tcp_record r = dropped(&s, i, 0, STAGE_NETFILTER);
		uint64_t beyond = 0;

		r.key.reason = i % 2 ? TCP_DROP_LOSS : TCP_DROP_NOTHING;
		tcp_ledger_add(s.ledger, &r);
		s.ms++;
		r = resent(&s, TCP_RETRANSMITTED, i, 0, 0);
		r.last.total_retrans++;
		tcp_ledger_add(s.ledger, &r);
		r.event = TCP_SOCKET;
		r.last.flags = TCP_DEAD;
		tcp_ledger_add(s.ledger, &r);
		s.ms++;
		tcp_ledger_look(s.ledger, s.ms * MS, 0, &sum, count_beyond, &beyond);
		assert_int_equal(sum.lost_here, before + i % 2);
		assert_int_equal(sum.beyond, beyond_before + !(i % 2));
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), 0);
	assert_int_equal(tcp_sum_undecided(&sum), 0);
	tcp_ledger_free(s.ledger);
}

static void count_netns(void *arg, const struct tcp_flow *f)
{
	*(unsigned *)arg += f->netns == 7;
}

/* Each dropped segment acknowledges the opposite direction, which adds a flow and moves the others. */
CASE(drops_of_many_flows)
{
	struct scene s = begun(10000);
	unsigned kept = 0;

	for (unsigned i = 0; i < 1000; i++) {
		struct tcp_record r = dropped(&s, i, 0, STAGE_NETFILTER);

		r.has_ack = 1;
		r.key.netns = 7;
		tcp_ledger_add(s.ledger, &r);
	}
	tcp_ledger_close(s.ledger, 0, &s.sum, count_netns, &kept);
	assert_int_equal(kept, 1000);
	tcp_ledger_free(s.ledger);
}
