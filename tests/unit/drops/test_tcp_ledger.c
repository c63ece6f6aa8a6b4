// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What became of the transmission before a retransmission, from records that no kernel made. */
#include "cases.h"

#include <string.h>

#include "drops/tcp.h"

#define MSS 1000
#define MS  1000000ULL

/* The reason of a drop stands for what it means, its place for the stage. */
static enum tcp_drop judge(void *arg, const struct watch_key *key, enum stage *stage, bool *outside)
{
	(void)arg;
	*stage = (enum stage)key->location;
	*outside = *stage == STAGE_BACKLOG;
	return (enum tcp_drop)key->reason;
}

struct scene {
	struct tcp_ledger *ledger;
	struct tcp_totals first, now; /* of the socket */
	uint64_t ms;
	bool ended;
	struct tcp_sum sum;
};

static struct scene begun(unsigned room)
{
	struct scene s = {.ledger = tcp_ledger_new(room / 8, judge, NULL), .ms = 1000};

	s.first.snd_nxt = s.first.snd_una = UINT32_MAX - 3 * MSS; /* wraps in between */
	s.first.sack = 1;
	s.first.role = TCP_ROLE_EDGE;
	s.first.ifindex = 7;
	s.now = s.first;
	return s;
}

static struct tcp_record record(struct scene *s, enum tcp_event event, unsigned from, unsigned segs)
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

	r.seq = s->first.snd_nxt + from * MSS;
	r.end = r.seq + r.bytes;
	return r;
}

static void add(struct scene *s, const struct tcp_record *r)
{
	tcp_ledger_add(s->ledger, r);
}

static void sends(struct scene *s, unsigned segs)
{
	s->ms++;
	s->now.data_segs_out += segs;
	s->now.bytes_sent += segs * MSS;
	s->now.snd_nxt += segs * MSS;
}

static void drops(struct scene *s, unsigned from, unsigned segs, enum stage stage)
{
	struct tcp_record r = record(s, TCP_DROPPED, from, segs);

	s->ms++;
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = stage;
	add(s, &r);
}

/* Dropped while it was transmitted: TCP may send it again as new. */
static void returns(struct scene *s, unsigned from, unsigned segs)
{
	struct tcp_record r = record(s, TCP_DROPPED, from, segs);

	s->ms++;
	s->now.data_segs_out += segs;
	s->now.bytes_sent += segs * MSS;
	r.unsent = 1;
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = STAGE_QDISC;
	add(s, &r);
}

/* `at_once`: what went in so many is one segment now. */
static void sends_again_as(struct scene *s, unsigned from, unsigned segs, unsigned at_once)
{
	struct tcp_record r;

	s->ms++;
	r = record(s, TCP_RETRANSMITTED, from, segs);
	r.time_ns += MS / 2; /* it is reported when it has been handed down */
	r.bytes *= at_once;
	r.end = r.seq + r.bytes;
	s->now.data_segs_out += segs;
	s->now.total_retrans += segs;
	s->now.bytes_sent += r.bytes;
	s->now.bytes_retrans += r.bytes;
	r.first = s->first;
	r.last = s->now;
	add(s, &r);
}

static void sends_again(struct scene *s, unsigned from, unsigned segs)
{
	sends_again_as(s, from, segs, 1);
}

static void count_beyond(void *arg, const struct tcp_flow *f)
{
	*(uint64_t *)arg += f->sum.beyond;
}

static void closes(struct scene *s)
{
	uint64_t beyond = 0;

	tcp_ledger_close(s->ledger, 0, &s->sum, count_beyond, &beyond);
	assert_int_equal(s->sum.beyond, beyond);
	s->ended = true;
}

static void ends(struct scene *s)
{
	struct tcp_record r = record(s, TCP_SOCKET, 0, 0);

	r.first = s->first;
	r.last = s->now;
	add(s, &r);
	closes(s);
}

static uint64_t undecided(const struct tcp_sum *sum)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < TCP_WHYS; i++)
		n += sum->undecided[i];
	return n;
}

/* Both equations, and that it is what was said. */
static void assert_sum(struct scene *s, uint64_t here, uint64_t beyond, uint64_t not_lost,
		       uint64_t open)
{
	const struct tcp_sum *sum = &s->sum;

	if (!s->ended) {
		s->now.snd_una = s->now.snd_nxt;
		ends(s);
	}
	assert_int_equal(sum->retransmitted,
			 sum->lost_here + sum->beyond + sum->not_lost + undecided(sum));
	assert_int_equal(sum->bytes_sent,
			 sum->bytes_new + sum->bytes_retrans + sum->bytes_returned);
	assert_int_equal(sum->bytes_unaccounted, 0);
	assert_int_equal(sum->lost_here, here);
	assert_int_equal(sum->beyond, beyond);
	assert_int_equal(sum->not_lost, not_lost);
	assert_int_equal(undecided(sum), open);
	tcp_ledger_free(s->ledger);
}

CASE(lost_here_and_beyond)
{
	struct scene s = begun(64);

	sends(&s, 10);
	drops(&s, 2, 3, STAGE_NETFILTER);
	sends_again(&s, 1, 5);
	assert_sum(&s, 3, 2, 0, 0);
	assert_int_equal(s.sum.lost_at[STAGE_NETFILTER], 3);
}

/* What was sent again in one segment was lost in several. */
CASE(several_in_one)
{
	struct scene s = begun(4096);

	sends(&s, 6);
	for (unsigned i = 0; i < 3; i++)
		drops(&s, i, 1, STAGE_RCVBUF);
	drops(&s, 4, 1, STAGE_RCVBUF);
	sends_again_as(&s, 0, 1, 3);
	s.now.snd_una = s.now.snd_nxt;
	ends(&s);
	assert_sum(&s, 1, 0, 0, 0);
	assert_int_equal(s.sum.not_resent, 1);
	assert_int_equal(s.sum.never, 0); /* it had been there before */
}

/* The copy that is dropped within its own transmission does not explain it, but the next one. */
CASE(its_own_drop)
{
	struct scene s = begun(64);
	struct tcp_record r;

	sends(&s, 4);
	s.ms++;
	r = record(&s, TCP_DROPPED, 0, 1);
	r.time_ns += MS + MS / 4; /* between begin and end of what follows */
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = STAGE_TC_EGRESS;
	add(&s, &r);
	sends_again(&s, 0, 1);
	sends_again(&s, 0, 1);
	assert_sum(&s, 1, 1, 0, 0);
	assert_int_equal(s.sum.lost_again, 1);
}

/* Others are told that it has not left this host, if it was the last. */
CASE(the_last_one_stays)
{
	for (unsigned follow = 0; follow < 2; follow++) {
		struct trail *trail = trail_new();
		struct scene s = begun(64);
		unsigned n[TRAIL_WHATS] = {};
		struct tcp_record r;

		tcp_ledger_keep(s.ledger, trail);
		sends(&s, 4);
		sends_again(&s, 1, 1);
		s.ms++;
		r = record(&s, TCP_DROPPED, 1, 1);
		r.time_ns += MS + MS / 4; /* between begin and end of what follows */
		r.key.reason = TCP_DROP_LOSS;
		r.key.location = STAGE_TC_EGRESS;
		add(&s, &r);
		for (unsigned i = 0; i <= follow; i++)
			sends_again(&s, 1, 1);
		assert_sum(&s, follow, 2, 0, 0);
		for (unsigned i = 0; i < trail->ranges.n; i++) {
			const struct trail_range *left = (struct trail_range *)trail->ranges.at + i;

			n[left->what]++;
			assert_true(trail_flow(trail, left->flow)->sends);
			assert_int_equal(left->to - left->from, MSS);
			if (left->what == TRAIL_DROPPED)
				assert_int_equal(left->stage, STAGE_TC_EGRESS);
		}
		assert_int_equal(n[TRAIL_RESENT], 2);
		assert_int_equal(n[TRAIL_DROPPED], !follow);
		assert_int_equal(trail->ranges.n, 3 - follow);
		trail_free(trail);
	}
}

/* One that waited in a queue: its time stamp says that it is older than the retransmission. */
CASE(dropped_after_it_was_sent_again)
{
	struct scene s = begun(64);
	struct tcp_record r;

	sends(&s, 2);
	s.ms = 2000;
	r = record(&s, TCP_RETRANSMITTED, 0, 1);
	r.tsval = 2000;
	r.first = s.first;
	s.now.total_retrans++;
	s.now.bytes_sent += MSS;
	s.now.bytes_retrans += MSS;
	r.last = s.now;
	add(&s, &r);
	s.ms = 2100;
	r = record(&s, TCP_DROPPED, 0, 1);
	r.tsval = 1001;
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = STAGE_QDISC;
	add(&s, &r);
	assert_sum(&s, 1, 0, 0, 0);
}

/* Sent again, as the first was late: that comes behind the end of its connection, at either end. */
CASE(late_behind_the_end)
{
	enum { NOBODY, SENDER, RECEIVER, ENDS };

	for (unsigned ended = NOBODY; ended < ENDS; ended++) {
		struct scene s = begun(64);
		struct tcp_record r;

		sends(&s, 2);
		r = record(&s, TCP_RETRANSMITTED, 0, 1);
		r.tsval = 1003;
		r.first = s.first;
		s.now.total_retrans++;
		s.now.bytes_sent += MSS;
		s.now.bytes_retrans += MSS;
		r.last = s.now;
		add(&s, &r);
		s.now.snd_una = s.now.snd_nxt;
		r = record(&s, TCP_SOCKET, 0, 0);
		if (ended == SENDER) {
			r.first = s.first;
			r.last = s.now;
			r.last.flags = TCP_DEAD;
			add(&s, &r);
		} else if (ended == RECEIVER) {
			r.flow.src_port = 2;
			r.flow.dst_port = 1;
			r.last.rcv_nxt = s.now.snd_nxt;
			add(&s, &r);
		}
		r = record(&s, TCP_DROPPED, 0, 1);
		r.tsval = 1001;
		r.time_ns += 100 * MS;
		r.key.reason = TCP_DROP_UNSURE;
		r.key.location = STAGE_TCP_STATE;
		add(&s, &r);
		if (ended == SENDER)
			closes(&s);
		assert_sum(&s, ended == NOBODY, 0, ended != NOBODY, 0);
	}
}

CASE(larger_than_the_path)
{
	struct scene s = begun(64);
	struct tcp_record drop, r;

	sends(&s, 4);
	drop = record(&s, TCP_DROPPED, 0, 1);
	drop.key.reason = TCP_DROP_LOSS;
	drop.key.location = STAGE_IP_FORWARD;
	drop.time_ns += MS; /* behind what TCP took for now when it sent the smaller ones */
	add(&s, &drop);
	r = record(&s, TCP_RETRANSMITTED, 0, 1);
	r.bytes = MSS;
	r.size = MSS / 2;
	r.segs = 2;
	r.first = s.first;
	s.now.total_retrans += 2;
	s.now.bytes_sent += MSS;
	s.now.bytes_retrans += MSS;
	r.last = s.now;
	add(&s, &r);
	assert_sum(&s, 2, 0, 0, 0);
}

/* So many timeouts of the second segment; the first one was acknowledged, or not. */
static uint64_t times_out(unsigned times, bool acked, bool full, bool smaller_came, unsigned bytes)
{
	struct scene s = begun(64);
	struct tcp_record r;

	sends(&s, 4);
	s.now.snd_una += acked ? MSS : 0;
	for (unsigned i = 0; i < times; i++) {
		s.ms += 200;
		r = record(&s, TCP_RETRANSMITTED, acked, 1);
		r.bytes = bytes;
		r.end = r.seq + bytes;
		r.kind = TCP_RTO;
		r.unsent = full;
		r.has_ack = smaller_came;
		s.now.total_retrans++;
		s.now.bytes_sent += bytes;
		s.now.bytes_retrans += bytes;
		r.first = s.first;
		r.last = s.now;
		add(&s, &r);
	}
	ends(&s);
	tcp_ledger_free(s.ledger);
	return s.sum.large_only;
}

CASE(black_hole)
{
	/* nothing so large ever arrived; not before the third timeout */
	assert_int_equal(times_out(2, false, true, false, MSS), 0);
	assert_int_equal(times_out(3, false, true, false, MSS), 1);
	assert_int_equal(times_out(3, false, false, false, MSS), 0);
	/* so large arrived before, and smaller ones behind it, or nothing */
	assert_int_equal(times_out(3, true, true, true, MSS), 1);
	assert_int_equal(times_out(3, true, true, false, MSS), 0);
	/* of no full segment, and of a small one */
	assert_int_equal(times_out(3, true, false, true, MSS - 100), 1);
	assert_int_equal(times_out(3, true, false, true, 500), 0);
}

CASE(not_lost)
{
	struct scene s = begun(64);
	struct tcp_record r;

	sends(&s, 10);
	sends_again(&s, 0, 1); /* the peer says so */
	s.now.dsack_dups = 1;
	sends_again(&s, 1, 1); /* the receiver is here */
	r = record(&s, TCP_DROPPED, 1, 1);
	r.time_ns += MS;
	r.key.reason = TCP_DROP_TWICE;
	add(&s, &r);
	s.now.dsack_dups = 2;
	r = record(&s, TCP_DROPPED, 0, 0); /* an acknowledgment of all of it */
	r.flow.src_port = 2;
	r.flow.dst_port = 1;
	r.has_ack = 1;
	r.ack = s.now.snd_nxt;
	r.key.reason = TCP_DROP_LOSS;
	add(&s, &r);
	s.ms += 10;
	sends_again(&s, 2, 1);
	s.now.dsack_dups = 3;
	assert_sum(&s, 0, 0, 3, 0);
	assert_int_equal(s.sum.ack_lost, 1);
}

/* Nothing else can have been acknowledged: what is sent again is dropped, or comes twice. */
CASE(all_else_was_dropped)
{
	for (unsigned again = 0; again < 2; again++) {
		struct scene s = begun(64);
		struct tcp_record r;

		sends(&s, 4);
		sends_again(&s, 1, 1);
		s.ms++;
		drops(&s, 1, 1, STAGE_NETFILTER);
		if (again) {
			sends_again(&s, 1, 1);
			r = record(&s, TCP_DROPPED, 1, 1);
			r.time_ns += MS;
			r.key.reason = TCP_DROP_UNSURE;
			r.kind = 1; /* its receiver had it */
			add(&s, &r);
		}
		assert_sum(&s, again, 0, 1, 0);
	}
}

CASE(returned)
{
	struct scene s = begun(64);

	sends(&s, 4);
	returns(&s, 4, 2);
	returns(&s, 4, 2);
	sends(&s, 2);
	assert_sum(&s, 0, 0, 0, 0);
	assert_int_equal(s.sum.returned, 4);
	assert_int_equal(s.sum.returned_at[STAGE_QDISC], 4);
}

/* A part of a large segment: the rest went, so TCP counted all of it as sent. */
CASE(a_part_is_not_returned)
{
	struct scene s = begun(64);
	struct tcp_record r = record(&s, TCP_DROPPED, 1, 2);

	r.unsent = 1;
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = STAGE_QDISC;
	add(&s, &r);
	sends(&s, 4);
	sends_again(&s, 1, 2);
	assert_sum(&s, 2, 0, 0, 0);
	assert_int_equal(s.sum.returned, 0);
}

/* It was returned, went with the next attempt, and was lost then: the first does not explain it. */
/* A queue cuts what is too large for it: with the next segment it takes, all is sent. */
CASE(taken_in_part)
{
	struct scene s = begun(64);

	returns(&s, 0, 2);
	sends(&s, 2);
	returns(&s, 2, 1);
	s.now.snd_nxt += MSS;
	sends(&s, 1);
	s.now.snd_una = s.now.snd_nxt - 2 * MSS;
	ends(&s);
	assert_sum(&s, 0, 0, 0, 0);
	assert_int_equal(s.sum.returned, 2);
	assert_int_equal(s.sum.not_resent, 1);
	assert_int_equal(s.sum.never, 1);
}
CASE(returned_then_lost_beyond)
{
	struct scene s = begun(64);

	returns(&s, 0, 2);
	sends(&s, 2);
	sends_again(&s, 0, 1);
	assert_sum(&s, 0, 1, 0, 0);
	assert_int_equal(s.sum.returned, 2);
}

/* FIN moves snd_nxt, too, and is no byte. */
CASE(returned_and_ended)
{
	struct scene s = begun(64);

	returns(&s, 0, 2);
	sends(&s, 2);
	s.now.snd_nxt++;
	sends_again(&s, 0, 1);
	assert_sum(&s, 0, 1, 0, 0);
	assert_int_equal(s.sum.returned, 2);
}

CASE(undecided_says_why)
{
	static const struct {
		enum tcp_why why;
		bool late, open, no_sack, inside;
	} cases[] = {
		{TCP_WHY_LATE, .late = true},
		{TCP_WHY_OPEN, .open = true},
		{TCP_WHY_NO_SACK, .no_sack = true},
		{TCP_WHY_INSIDE, .inside = true},
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene s = begun(64);

		if (cases[i].inside)
			s.now.role = TCP_ROLE_INSIDE;
		if (cases[i].no_sack)
			s.now.sack = 0;
		sends(&s, 4);
		if (cases[i].late) {
			s.first = s.now;
			s.first.snd_una -= 4 * MSS;
			s.first.flags = TCP_LATE;
			s.first.snd_nxt = s.now.snd_nxt;
		}
		sends_again(&s, cases[i].late ? UINT32_MAX - 1 : 0, 1); /* 2 before snd_nxt */
		if (cases[i].open)
			ends(&s);
		assert_sum(&s, 0, 0, 0, 1);
		assert_int_equal(s.sum.undecided[cases[i].why], 1);
	}
}

CASE(an_event_is_missing)
{
	struct scene s = begun(64);

	sends(&s, 4);
	drops(&s, 0, 2, STAGE_RCVBUF);
	sends_again(&s, 0, 1);
	s.now.total_retrans++;
	s.now.bytes_sent += MSS;
	s.now.bytes_retrans += MSS;
	assert_sum(&s, 1, 0, 0, 1);
	assert_int_equal(s.sum.undecided[TCP_WHY_UNSEEN], 1);
}

/* What is old is decided and forgotten; nothing is counted twice, or not at all. */
CASE(little_room)
{
	const unsigned n = 1000;
	struct scene s = begun(16);

	for (unsigned i = 0; i < n; i++) {
		sends(&s, 1);
		drops(&s, i, 1, STAGE_BACKLOG);
		sends_again(&s, i, 1);
	}
	assert_sum(&s, n, 0, 0, 0);
	assert_int_equal(s.sum.lost_at[STAGE_BACKLOG], n);
}

CASE(forgotten_is_undecided)
{
	struct scene s = begun(16);

	sends(&s, 100);
	for (unsigned i = 0; i < 100; i++)
		drops(&s, i, 1, STAGE_BACKLOG);
	sends_again(&s, 0, 1);
	sends_again(&s, 99, 1);
	assert_sum(&s, 1, 0, 0, 1);
	assert_int_equal(s.sum.undecided[TCP_WHY_FULL], 1);
}

/* More flows than are kept: those that are over are in the sum. */
CASE(many_flows)
{
	const unsigned n = 100000;
	struct scene s = begun(1024);

	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = record(&s, TCP_SOCKET, 0, 0);

		r.first = r.last = s.first;
		memcpy(r.flow.src, &i, sizeof(i));
		if (i % 2) { /* the others take no row */
			struct tcp_record again = r;

			again.event = TCP_RETRANSMITTED;
			again.seq = s.first.snd_nxt;
			again.end = again.seq + MSS;
			again.bytes = MSS;
			again.segs = 1;
			add(&s, &again);
			r.last.total_retrans++;
			r.last.data_segs_out++;
			r.last.bytes_sent += MSS;
			r.last.bytes_retrans += MSS;
		}
		r.last.data_segs_out += 1;
		r.last.bytes_sent += MSS;
		r.last.snd_nxt += MSS + 1; /* FIN */
		r.last.flags = TCP_DEAD;
		add(&s, &r);
	}
	closes(&s);
	assert_int_equal(s.sum.data_segs_out, n + n / 2);
	assert_int_equal(s.sum.sockets, n);
	assert_in_range(tcp_ledger_flows(s.ledger)->n, 1, 1 << 15);
	assert_int_equal(tcp_ledger_folded(s.ledger) + tcp_ledger_flows(s.ledger)->n, n);
	assert_sum(&s, 0, n / 2, 0, 0);
}

/* More flows than there is room for, and none of them is over: they take no memory, and it is said.
 */
CASE(flows_without_room)
{
	const unsigned n = 1000, room = 16;
	struct scene s = begun(8 * room);
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = record(&s, TCP_RETRANSMITTED, 0, 1);

		r.first = r.last = s.first;
		memcpy(r.flow.src, &i, sizeof(i));
		add(&s, &r);
		if (i == room)
			bytes = tcp_ledger_bytes(s.ledger);
	}
	assert_int_equal(tcp_ledger_bytes(s.ledger), bytes);
	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = record(&s, TCP_SOCKET, 0, 0);

		r.first = r.last = s.first;
		memcpy(r.flow.src, &i, sizeof(i));
		r.last.total_retrans++;
		add(&s, &r);
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), n - room);
	closes(&s);
	assert_int_equal(s.sum.retransmitted, n);
	assert_int_equal(s.sum.undecided[TCP_WHY_FULL], n);
	assert_int_equal(s.sum.undecided[TCP_WHY_UNSEEN], 0);
	tcp_ledger_free(s.ledger);
}

/* Flows of senders elsewhere never end by themselves: their room is used again. */
CASE(room_of_senders_elsewhere)
{
	const unsigned n = 1000;
	struct scene s = begun(8 * 16);

	for (unsigned i = 0; i < n; i++) {
		struct tcp_record r = record(&s, TCP_DROPPED, 0, 1);

		memcpy(r.flow.src, &i, sizeof(i));
		r.key.reason = TCP_DROP_LOSS;
		r.key.location = STAGE_RCVBUF;
		add(&s, &r);
		s.ms += 1000;
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), 0);
	closes(&s);
	assert_int_equal(s.sum.received_at[STAGE_RCVBUF], n);
	tcp_ledger_free(s.ledger);
}

/* Where no socket of this host sends, nobody here sends again. */
CASE(of_senders_elsewhere)
{
	struct scene s = begun(64);
	struct tcp_record r;

	drops(&s, 0, 3, STAGE_RCVBUF);
	r = record(&s, TCP_CAME, 0, 2);
	r.start_ns -= 200 * MS;
	add(&s, &r);
	closes(&s);
	assert_int_equal(s.sum.received, 3);
	assert_int_equal(s.sum.received_at[STAGE_RCVBUF], 3);
	assert_int_equal(s.sum.received_again, 2);
	assert_int_equal(tcp_ledger_stall(s.ledger, true)->max, 200 * MS);
	assert_int_equal(s.sum.not_resent, 0);
	assert_sum(&s, 0, 0, 0, 0);
}

/* The socket that receives them says up to where it has all, seen or not. */
CASE(came_by_the_receiver)
{
	struct scene s = begun(64);
	struct tcp_record r;

	for (unsigned i = 0; i < 4; i++)
		drops(&s, i, 1, STAGE_RCVBUF);
	r = record(&s, TCP_CAME, 0, 1);
	r.start_ns -= 200 * MS;
	add(&s, &r);
	r = record(&s, TCP_SOCKET, 0, 0);
	r.flow.src_port = 2;
	r.flow.dst_port = 1;
	r.last.rcv_nxt = s.first.snd_nxt + 3 * MSS;
	add(&s, &r);
	closes(&s);
	assert_int_equal(s.sum.received, 4);
	assert_int_equal(s.sum.received_again, 3);
	assert_int_equal(tcp_ledger_stall(s.ledger, true)->count, 1);
	tcp_ledger_free(s.ledger);
}

/* Its socket is read while it sends: records of before count, though they come later. */
CASE(goes_on_after_its_last_reading)
{
	struct scene s = begun(64);
	struct tcp_record end;
	uint64_t read_ms;

	sends(&s, 10);
	drops(&s, 2, 3, STAGE_NETFILTER);
	s.now.bytes_sent += 2 * MSS; /* of what is returned, below */
	s.now.data_segs_out += 2;
	sends_again(&s, 2, 3);
	read_ms = s.ms += 10;
	end = record(&s, TCP_SOCKET, 0, 0);
	end.first = s.first;
	end.last = s.now;
	end.last.snd_una = end.last.snd_nxt;
	add(&s, &end);
	s.ms = read_ms - 5;
	returns(&s, 10, 2);
	s.ms = read_ms + 1;
	returns(&s, 10, 1);
	sends_again(&s, 1, 4);
	closes(&s);
	assert_sum(&s, 3, 0, 0, 0);
	assert_int_equal(s.sum.retransmitted, 3);
	assert_int_equal(s.sum.returned, 2);
	assert_int_equal(s.sum.overcounted, 0);
}

/* Before the end */

/* The socket is read, then all that was sent again up to now is looked at. */
static struct tcp_sum looked(struct scene *s, uint64_t lost)
{
	struct tcp_record r = record(s, TCP_LOOKED, 0, 0);
	uint64_t beyond = 0;
	struct tcp_sum sum;

	r.first = s->first;
	r.last = s->now;
	add(s, &r);
	tcp_ledger_look(s->ledger, ++s->ms * MS, lost, &sum, count_beyond, &beyond);
	assert_int_equal(sum.beyond, beyond);
	return sum;
}

static void assert_looked(struct scene *s, uint64_t here, uint64_t beyond, uint64_t not_lost)
{
	const struct tcp_sum sum = looked(s, 0);

	assert_int_equal(sum.lost_here, here);
	assert_int_equal(sum.lost_at[STAGE_NETFILTER], here);
	assert_int_equal(sum.beyond, beyond);
	assert_int_equal(sum.not_lost, not_lost);
	assert_int_equal(undecided(&sum), 0);
}

CASE(looked_at_before_the_end)
{
	struct scene s = begun(64);

	sends(&s, 10);
	drops(&s, 2, 3, STAGE_NETFILTER);
	sends_again(&s, 1, 5);
	assert_looked(&s, 0, 0, 0); /* nothing is acknowledged: it may come twice */
	s.now.snd_una = s.now.snd_nxt;
	assert_looked(&s, 3, 2, 0);
	assert_looked(&s, 3, 2, 0);
	s.now.dsack_dups = 1; /* of a socket that lives on */
	assert_looked(&s, 3, 1, 1);
	sends_again(&s, 7, 1);
	assert_looked(&s, 3, 2, 1);
	assert_sum(&s, 3, 2, 1, 0); /* and the end is as without a look */
}

CASE(what_is_too_new_is_not_decided)
{
	struct scene s = begun(64);
	uint64_t beyond = 0;
	struct tcp_record r;
	struct tcp_sum sum;

	sends(&s, 2);
	r = record(&s, TCP_DROPPED, 0, 1);
	r.key.reason = TCP_DROP_LOSS;
	r.key.location = STAGE_NETFILTER;
	s.now.snd_una = s.now.snd_nxt;
	sends_again(&s, 0, 1);
	tcp_ledger_look(s.ledger, s.ms * MS, 0, &sum, count_beyond, &beyond);
	assert_int_equal(sum.beyond + sum.lost_here, 0);
	add(&s, &r); /* the ring had it later */
	assert_looked(&s, 1, 0, 0);
	assert_sum(&s, 1, 0, 0, 0);
}

/* A record that was lost is of a flow that was there: those that come later are whole. */
CASE(a_lost_record_is_of_flows_that_were_there)
{
	struct scene s = begun(64);
	struct tcp_record r;
	struct tcp_sum sum;

	sends(&s, 2);
	s.now.snd_una = s.now.snd_nxt;
	sends_again(&s, 0, 1);
	sum = looked(&s, 7);
	assert_int_equal(sum.undecided[TCP_WHY_FULL], 1);
	r = record(&s, TCP_RETRANSMITTED, 0, 1);
	r.flow.src_port = 3;
	r.first = r.last = s.first;
	add(&s, &r);
	sum = looked(&s, 7);
	assert_int_equal(sum.undecided[TCP_WHY_FULL], 1);
	assert_int_equal(sum.beyond, 1);
	tcp_ledger_free(s.ledger);
}

/* Those that are over give their room to others: what was shown of them stays in the sum. */
CASE(looked_at_while_flows_come_and_go)
{
	const unsigned n = 1000, room = 16;
	struct scene s = begun(8 * room);
	struct tcp_sum sum = {};

	for (unsigned i = 0; i < n; i++) {
		const uint64_t before = sum.lost_here, beyond_before = sum.beyond;
		struct tcp_record r = record(&s, TCP_DROPPED, 0, 1);
		uint64_t beyond = 0;

		memcpy(r.flow.src, &i, sizeof(i));
		r.key.reason = i % 2 ? TCP_DROP_LOSS : TCP_DROP_NOTHING;
		r.key.location = STAGE_NETFILTER;
		add(&s, &r);
		s.ms++;
		r = record(&s, TCP_RETRANSMITTED, 0, 1);
		memcpy(r.flow.src, &i, sizeof(i));
		r.first = r.last = s.first;
		r.last.total_retrans++;
		add(&s, &r);
		r.event = TCP_SOCKET;
		r.last.flags = TCP_DEAD;
		add(&s, &r);
		s.ms++;
		tcp_ledger_look(s.ledger, s.ms * MS, 0, &sum, count_beyond, &beyond);
		assert_int_equal(sum.lost_here, before + i % 2);
		assert_int_equal(sum.beyond, beyond_before + !(i % 2));
	}
	assert_int_equal(tcp_ledger_refused(s.ledger), 0);
	assert_int_equal(undecided(&sum), 0);
	tcp_ledger_free(s.ledger);
}

static void count_netns(void *arg, const struct tcp_flow *f)
{
	*(unsigned *)arg += f->netns == 7;
}

/* Each dropped segment acknowledges the opposite direction, which adds a flow and moves the others. */
CASE(drops_of_many_flows)
{
	struct scene s = begun(80000);
	unsigned kept = 0;

	for (uint16_t port = 1; port <= 1000; port++) {
		struct tcp_record r = record(&s, TCP_DROPPED, 0, 1);

		r.flow.src_port = port;
		r.has_ack = 1;
		r.key.reason = TCP_DROP_LOSS;
		r.key.location = STAGE_NETFILTER;
		r.key.netns = 7;
		add(&s, &r);
	}
	tcp_ledger_close(s.ledger, 0, &s.sum, count_netns, &kept);
	assert_int_equal(kept, 1000);
	tcp_ledger_free(s.ledger);
}
