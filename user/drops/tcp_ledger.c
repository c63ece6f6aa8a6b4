// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Decides what happened to the transmission before each retransmission. Ranges are stored by flow,
 * in chunks of 64 KiB of sequence space. A retransmission is processed segment by segment, and each
 * segment is compared with the ranges in its chunk, newest first.
 */
#include "drops/tcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

#define NONE	   UINT32_MAX
#define CHUNK_BITS 16
#define HEADS	   (1u << 16)	  /* heads of the chains of chunks and of flows */
#define ACKS_SEEN  256		  /* maximum acknowledgments compared per segment */
#define RANGES	   8		  /* average number of ranges per flow */
#define WAYS	   256		  /* exits from this host used by folded flows, including "none" */
#define SMALL_MSS  536		  /* default of a host without an MSS option: fits every path */
#define TOO_OFTEN  3		  /* timeouts of a segment, default value of tcp_retries1 */
#define PATIENCE   10000000000ULL /* ns: a range not retransmitted by then has no sender here */

/* A range that was dropped or retransmitted. Rows stay in chronological order. */
struct range {
	uint64_t place;	      /* position of `seq`, as in struct tcp_entry; 0 in a drop: unknown */
	uint64_t time, start; /* as in struct tcp_record; CAME: `start` is the time of the drop */
	uint32_t flow, seq, end, tsval;
	uint32_t bytes;
	uint16_t segs, size;
	uint8_t what;  /* enum what */
	uint8_t stage; /* stage of a drop */
	uint8_t kind;  /* RESENT: enum tcp_kind */
	bool sacked;   /* RESENT: later data had arrived */
	bool unsent;   /* as in struct tcp_record */
	bool outside;  /* LOST: dropped before the entry */
	bool used;     /* a drop that explains a retransmission */
	bool refused; /* when this was retransmitted, TCP counted all unsent data as not sent */
	bool late;    /* before tracing began, the socket had sent everything up to here */
	uint32_t next; /* ACK: previous one in this flow; `end` is the acknowledged number */
};

enum what { LOST, TWICE, RESENT, SETTLED, ACK, CAME };

/* Links a range into a chunk. */
struct node {
	uint32_t range, next;
};

struct tcp_ledger {
	tcp_judge *judge;
	void *arg;
	unsigned room, max_flows;
	struct list ranges, nodes, flows;
	struct list ways; /* struct tcp_flow: sums of folded flows; the first has no exit */
	uint32_t chunks[HEADS];
	uint64_t n_folded;
	uint64_t refused, fold_at; /* records refused, and the count at which folding is retried */
	uint64_t unranged;	   /* records lost so far */
	uint64_t known_lost;	   /* records refused or lost by then: later flows are complete */
	struct hist stall, received_stall;
	struct trail *trail; /* NULL: not recorded */
};

struct tcp_ledger *tcp_ledger_new(unsigned flows, tcp_judge *judge, void *arg)
{
	struct tcp_ledger *b = mem_new(b);

	b->room = RANGES * flows;
	b->max_flows = flows;
	b->judge = judge;
	b->arg = arg;
	b->ranges.size = sizeof(struct range);
	b->nodes.size = sizeof(struct node);
	b->flows.size = b->ways.size = sizeof(struct tcp_flow);
	b->flows.key = sizeof(struct watch_flow);
	list_add(&b->ways);
	memset(b->chunks, 0xff, sizeof(b->chunks));
	return b;
}

void tcp_ledger_free(struct tcp_ledger *b)
{
	if (!b)
		return;
	list_free(&b->ranges);
	list_free(&b->nodes);
	list_free(&b->flows);
	list_free(&b->ways);
	free(b);
}

void tcp_ledger_keep(struct tcp_ledger *b, struct trail *trail)
{
	b->trail = trail;
}

static struct range *range_at(const struct tcp_ledger *b, uint32_t i)
{
	return (struct range *)b->ranges.at + i;
}

static struct tcp_flow *flow_at(const struct tcp_ledger *b, uint32_t i)
{
	return (struct tcp_flow *)b->flows.at + i;
}

/* Flows */

/* Returns the number of a flow, or NONE. */
static uint32_t flow_find(const struct tcp_ledger *b, const struct watch_flow *key)
{
	const struct tcp_flow *f = list_get(&b->flows, key);

	return f ? (uint32_t)(f - (struct tcp_flow *)b->flows.at) : NONE;
}

/* Returns the number of a flow, creating it if it is missing. NONE: no room. */
static uint32_t flow_make(struct tcp_ledger *b, const struct watch_flow *key)
{
	const uint32_t known = flow_find(b, key);
	struct tcp_flow *f;

	if (known != NONE)
		return known;
	if (b->flows.n >= b->max_flows) {
		b->refused++;
		return NONE;
	}
	f = list_row(&b->flows, key);
	f->acks = NONE;
	return b->flows.n - 1;
}

/* Chunks */

static uint32_t *chunk_of(struct tcp_ledger *b, uint32_t flow, uint32_t seq)
{
	uint64_t h = ((uint64_t)flow << CHUNK_BITS | seq >> CHUNK_BITS) * 0x9e3779b97f4a7c15;

	return &b->chunks[h >> 48 & (HEADS - 1)];
}

static void range_index(struct tcp_ledger *b, uint32_t i)
{
	struct range *r = range_at(b, i);
	uint32_t first = r->seq >> CHUNK_BITS, last = (r->end - 1) >> CHUNK_BITS;

	if (r->what == CAME)
		return;
	if (r->what == ACK) {
		r->next = flow_at(b, r->flow)->acks;
		flow_at(b, r->flow)->acks = i;
		return;
	}
	for (uint32_t chunk = first;; chunk = (chunk + 1) & (UINT32_MAX >> CHUNK_BITS)) {
		uint32_t *head = chunk_of(b, r->flow, chunk << CHUNK_BITS);
		struct node *n = list_add(&b->nodes);

		n->range = i;
		n->next = *head;
		*head = b->nodes.n - 1;
		if (chunk == last)
			return;
	}
}

static void index_all(struct tcp_ledger *b)
{
	b->nodes.n = 0;
	memset(b->chunks, 0xff, sizeof(b->chunks));
	for (uint32_t i = 0; i < b->flows.n; i++)
		flow_at(b, i)->acks = NONE;
	for (uint32_t i = 0; i < b->ranges.n; i++)
		range_index(b, i);
}

static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* Returns the maximum bytes per segment on the wire. */
static uint32_t segment_bytes(const struct range *r)
{
	return r->segs > 1 && r->size ? r->size : r->bytes;
}

/*
 * Returns true if the drop belongs to a transmission before `sent`. The timestamp option of a drop
 * shows which transmission it ended, if the two have different values. Otherwise its time decides,
 * which is before or after `sent` began. A drop larger than the segments of `sent` was not one of
 * them, for example when the path's MTU has just been learned.
 */
static bool is_older(const struct range *drop, const struct range *sent)
{
	if (drop->tsval && sent->tsval && drop->tsval != sent->tsval)
		return before(drop->tsval, sent->tsval);
	return drop->time < sent->start || segment_bytes(drop) > segment_bytes(sent);
}

/* What is known about [seq, end) of a retransmission. */
struct found {
	const struct range *before; /* the previous retransmission; NULL: the first transmission */
	const struct range *lost;   /* the drop of the previous transmission */
	const struct range *after;  /* the next retransmission */
	const struct range *stayed; /* its own drop, if it was the last: it never left this host */
	bool twice;
	/* Over all transmissions: retransmitted, dropped on this host, and already received. */
	unsigned resent, dropped, doubled;
};

static void look(struct tcp_ledger *b, const struct range *r, uint32_t seq, uint32_t end,
		 struct found *f)
{
	uint32_t i;

	memset(f, 0, sizeof(*f));
	f->resent = 1;
	/* other retransmissions first, because they show which of them a drop can belong to */
	for (i = *chunk_of(b, r->flow, seq); i != NONE; i = ((struct node *)b->nodes.at)[i].next) {
		const struct range *x = range_at(b, ((struct node *)b->nodes.at)[i].range);

		if (x->flow != r->flow || x == r || !before(x->seq, end) || !before(seq, x->end) ||
		    (x->what != RESENT && x->what != SETTLED))
			continue;
		f->resent++;
		if (x > r)
			f->after = x;
		else if (!f->before)
			f->before = x;
	}
	for (i = *chunk_of(b, r->flow, seq); i != NONE; i = ((struct node *)b->nodes.at)[i].next) {
		struct range *x = range_at(b, ((struct node *)b->nodes.at)[i].range);

		if (x->flow != r->flow || !before(x->seq, end) || !before(seq, x->end))
			continue;
		f->doubled += x->what == TWICE;
		f->dropped += x->what == LOST && !(x->unsent && r->refused);
		if (x->what == TWICE && x->time >= r->start &&
		    (!f->after || x->time < f->after->start))
			f->twice = true;
		if (x->what != LOST || (x->unsent && r->refused))
			continue;
		if (!is_older(x, r)) {
			f->stayed = f->after ? NULL : x;
			continue;
		}
		if (f->before && is_older(x, f->before))
			continue;
		/*
		 * TCP may retransmit several small segments as one. It may have withdrawn some of
		 * them, so only this one is known to have been sent
		 */
		x->used |= !f->lost || !x->unsent;
		f->lost = f->lost ? f->lost : x;
	}
}

/*
 * Returns true if the peer acknowledged `end` before it was retransmitted and the acknowledgment
 * was dropped on this host.
 */
static bool is_acked(struct tcp_ledger *b, const struct range *r, uint32_t end)
{
	uint32_t i = flow_at(b, r->flow)->acks;

	for (unsigned n = 0; i != NONE && n < ACKS_SEEN; n++, i = range_at(b, i)->next) {
		if (range_at(b, i)->time < r->start && !before(range_at(b, i)->end, end))
			return true;
	}
	return false;
}

/*
 * Returns true if no transmission was lost. Data that the receiver acknowledged and then received
 * again has arrived in that many transmissions. If this accounts for all transmissions that were
 * not dropped here, none was lost, whatever happened to their acknowledgments.
 */
static bool all_came(const struct tcp_flow *flow, const struct range *r, const struct found *f)
{
	return !r->late && !flow->forgotten && flow->sum.sockets <= 1 &&
	       f->resent <= f->dropped + f->doubled;
}

/* Returns true if the socket had already counted the packet. */
static bool is_of_tcp(enum stage stage)
{
	return stage == STAGE_TCP_BACKLOG || stage == STAGE_TCP_RCVBUF ||
	       stage == STAGE_TCP_STATE || stage == STAGE_TCP;
}

/*
 * Records a segment that other hosts may know more about. A SYN-ACK has no socket and is the start
 * of the flow.
 */
static void leave_trail(struct tcp_ledger *b, const struct range *r, enum trail_what what,
			bool sends, uint32_t seq, uint32_t end)
{
	struct trail_range to = {.from = r->place + (seq - r->seq),
				 .time_ns = r->time,
				 .what = (uint8_t)what,
				 .stage = r->stage};
	struct trail_flow *f;

	if (!b->trail || (!sends && !r->place))
		return;
	to.to = to.from + (end - seq);
	to.flow = trail_make(b->trail, &flow_at(b, r->flow)->key, sends);
	trail_add(b->trail, &to);
	f = to.flow == TRAIL_NONE ? NULL : trail_flow(b->trail, to.flow);
	if (f && !sends && what == TRAIL_DROPPED && r->bytes && !is_of_tcp(r->stage))
		f->dropped += r->segs;
	if (f && f->sends && !f->known) {
		f->first = f->acked = to.from;
		f->next = to.to;
		f->known = f->begun = true;
	}
}

/*
 * Returns true if the peer's acknowledgments show that the data was missing. Recovery begins with
 * such an acknowledgment, a timeout does not. Segments without data do not need any.
 */
static bool was_missing(const struct range *r, bool again)
{
	return !r->bytes || r->kind == TCP_FAST || (r->kind == TCP_RTO && r->sacked && !again);
}

static void decide(struct tcp_ledger *b, struct range *r)
{
	struct tcp_flow *flow = flow_at(b, r->flow);
	uint32_t size = segment_bytes(r), seq = r->seq;

	for (unsigned i = 0; i < r->segs; i++, seq += size) {
		uint32_t end = i + 1 < r->segs ? seq + size : r->end;
		struct found f;

		look(b, r, seq, end, &f);
		if (f.stayed) {
			r->stage = f.stayed->stage;
			leave_trail(b, r, TRAIL_DROPPED, true, seq, end);
		}
		if (f.lost) {
			if (r->time > f.lost->time)
				hist_add(&b->stall, r->time - f.lost->time);
			flow->sum.lost_here++;
			flow->sum.lost_again += f.before != NULL;
			flow->sum.lost_at[f.lost->stage]++;
		} else if (is_acked(b, r, end)) {
			flow->unexplained++;
			flow->twice++;
			flow->sum.ack_lost++;
		} else if (f.twice) {
			flow->unexplained++;
			flow->twice++;
		} else if (flow->full) {
			flow->sum.undecided[TCP_WHY_FULL]++;
		} else if (r->late && !f.before) {
			flow->sum.undecided[TCP_WHY_LATE]++;
		} else if (flow->alive && before(flow->last.snd_una, end)) {
			flow->sum.undecided[TCP_WHY_OPEN]++;
		} else if (all_came(flow, r, &f) && !before(flow->last.snd_una, end)) {
			flow->unexplained += f.doubled != 0;
			flow->twice += f.doubled != 0;
			flow->came += !f.doubled;
		} else {
			flow->unexplained++;
			flow->unproven += !was_missing(r, f.before);
			flow->unproven_again += f.before && !was_missing(r, true);
			leave_trail(b, r, TRAIL_RESENT, true, seq, end);
		}
	}
	r->what = SETTLED;
}

/* Resolves a drop that explains no retransmission, or records that the segment arrived again. */
static void settle_drop(struct tcp_ledger *b, const struct range *r)
{
	const struct tcp_flow *flow = flow_at(b, r->flow);
	struct tcp_sum *sum = &flow_at(b, r->flow)->sum;

	if (!sum->sockets && !sum->retransmitted) { /* its sender is elsewhere */
		if (r->what == CAME)
			hist_add(&b->received_stall, r->time - r->start);
		if (r->what == (flow->has_receiver ? LOST : CAME) &&
		    (r->what == CAME || !before(flow->came_to, r->end)))
			sum->received_again += r->segs;
		if (r->what == LOST || r->what == TWICE)
			leave_trail(b, r,
				    r->what == TWICE ? TRAIL_TWICE
				    : r->outside     ? TRAIL_OUTSIDE
						     : TRAIL_DROPPED,
				    false, r->seq, r->end);
	}
	if (r->used || r->what != LOST)
		return;
	if (r->unsent) {
		sum->returned += r->segs;
		sum->returned_at[r->stage] += r->segs;
		sum->bytes_returned += r->bytes;
	} else {
		sum->not_resent += r->segs;
		if (sum->sockets && before(flow->last.snd_una, r->end) &&
		    r->stage != STAGE_TCP_STATE)
			sum->never += r->segs;
		flow_at(b, r->flow)->not_resent_at[r->stage] += r->segs;
	}
}

/* Decides and discards the older half of the ranges. */
static void turn_over(struct tcp_ledger *b)
{
	const uint32_t half = b->ranges.n / 2;

	for (uint32_t i = 0; i < half; i++) {
		if (range_at(b, i)->what == RESENT)
			decide(b, range_at(b, i));
	}
	for (uint32_t i = 0; i < half; i++) {
		const struct range *r = range_at(b, i);

		settle_drop(b, r);
		flow_at(b, r->flow)->forgotten |= r->what == SETTLED || r->what == LOST;
		if (r->what == LOST && !r->used && !r->unsent)
			flow_at(b, r->flow)->full = true;
	}
	memmove(b->ranges.at, range_at(b, half), (b->ranges.n - half) * sizeof(struct range));
	b->ranges.n -= half;
	index_all(b);
}

static void remember(struct tcp_ledger *b, const struct range *r)
{
	if (b->ranges.n >= b->room)
		turn_over(b);
	*(struct range *)list_add(&b->ranges) = *r;
	range_index(b, b->ranges.n - 1);
}

/* Returns the bytes that the socket sent but has not added to snd_nxt, modulo 2^32 like snd_nxt. */
static uint32_t returned_bytes(const struct tcp_totals *first, const struct tcp_totals *last)
{
	return (uint32_t)(last->bytes_sent - first->bytes_sent) -
	       (uint32_t)(last->bytes_retrans - first->bytes_retrans) -
	       (last->snd_nxt - first->snd_nxt);
}

/*
 * Stores a socket's position in its flow and returns the position of `seq`, in numbers that do not
 * wrap. It is the same at both ends if the flow was seen from its beginning.
 */
static uint64_t note_sender(struct tcp_ledger *b, const struct tcp_record *rec, bool make)
{
	const struct tcp_totals *from = &rec->first, *to = &rec->last;
	const bool begun = !(from->flags & TCP_LATE);
	const uint64_t origin =
		begun ? (uint64_t)(from->snd_nxt - 1) + 1 : 1ULL << 32 | from->snd_nxt;
	const uint64_t next = origin + (to->bytes_sent - from->bytes_sent) -
			      (to->bytes_retrans - from->bytes_retrans) -
			      (uint64_t)(int32_t)returned_bytes(from, to);
	uint32_t flow = !b->trail ? TRAIL_NONE
			: make	  ? trail_make(b->trail, &rec->flow, true)
				  : trail_find(b->trail, &rec->flow, true);

	if (flow != TRAIL_NONE) {
		struct trail_flow *f = trail_flow(b->trail, flow);

		f->first = origin - begun;
		f->begun = begun;
		f->next = next;
		f->acked = next - (to->snd_nxt - to->snd_una);
		f->known = true;
	}
	return next + (uint64_t)(int32_t)(rec->seq - to->snd_nxt);
}

static struct watch_flow reverse(const struct watch_flow *f)
{
	struct watch_flow back = *f;

	memcpy(back.src, f->dst, sizeof(back.src));
	memcpy(back.dst, f->src, sizeof(back.dst));
	back.src_port = f->dst_port;
	back.dst_port = f->src_port;
	return back;
}

/* Handles the acknowledgment in a dropped segment, which belongs to the opposite direction. */
static void add_ack(struct tcp_ledger *b, const struct tcp_record *rec)
{
	struct range r = {.time = rec->time_ns, .end = rec->ack, .what = ACK};
	struct watch_flow key = reverse(&rec->flow);

	r.flow = flow_make(b, &key);
	if (r.flow != NONE)
		remember(b, &r);
}

/* Returns true if one end of the flow is closed and the receiver had all data up to `end`. */
static bool was_had(const struct tcp_flow *f, uint32_t end)
{
	return (f->last.flags & TCP_DEAD && !before(f->last.snd_una, end)) ||
	       (f->has_receiver && !before(f->came_to, end));
}

static void add_drop(struct tcp_ledger *b, const struct tcp_record *rec, struct range *r)
{
	enum stage stage = STAGE_OTHER;
	enum tcp_drop is = b->judge(b->arg, &rec->key, &stage, &r->outside);
	struct tcp_flow *f;

	/*
	 * also if TCP refused the segment, as it does with segments from a SYN proxy
	 * (TSEcrRejected)
	 */
	if ((is == TCP_DROP_LOSS || is == TCP_DROP_UNSURE) && rec->has_ack)
		add_ack(b, rec);
	if (is == TCP_DROP_UNSURE)
		is = rec->bytes && !rec->kind && !was_had(flow_at(b, r->flow), rec->end)
			     ? TCP_DROP_LOSS
			     : TCP_DROP_TWICE;
	f = flow_at(b, r->flow); /* add_ack() may have moved the flows */
	if (is == TCP_DROP_NOTHING || rec->seq == rec->end)
		return;
	r->what = is == TCP_DROP_TWICE ? TWICE : LOST;
	r->stage = (uint8_t)stage;
	r->unsent = rec->unsent;
	f->dropped_ns = rec->time_ns;
	f->netns = f->netns ? f->netns : rec->key.netns; /* until the sender is known */
	if (r->unsent)
		f->unsent_bytes += rec->bytes;
	remember(b, r);
}

/*
 * Records a timeout of a segment that may have been lost because of its size. That is the case if
 * less than a full segment has arrived during the whole connection, or if later data has arrived in
 * smaller segments.
 */
static void note_large(struct tcp_flow *f, const struct tcp_record *rec, uint32_t size)
{
	const uint32_t full_to = rec->first.snd_nxt + size;
	const bool never =
		rec->unsent && !(rec->first.flags & TCP_LATE) && before(rec->last.snd_una, full_to);
	const uint32_t to = never ? full_to : rec->seq + size;

	if (rec->kind != TCP_RTO || rec->seq != rec->last.snd_una ||
	    !(never || (rec->has_ack && size > SMALL_MSS)))
		return;
	f->large = f->large_to == to ? f->large + 1 : 1;
	f->large_bytes = size;
	f->large_to = to;
}

static void add_resent(struct tcp_ledger *b, const struct tcp_record *rec, struct range *r)
{
	struct tcp_flow *f = flow_at(b, r->flow);
	uint32_t returned;

	f->netns = rec->netns;
	f->sum.retransmitted += rec->segs;
	f->sum.kinds[rec->kind] += rec->segs;
	f->sum.without_data += rec->bytes ? 0 : rec->segs;
	r->what = RESENT;
	r->kind = rec->kind;
	r->sacked = rec->ack;
	r->place = r->seq;
	if (rec->event != TCP_SYNACK) {
		f->last = rec->last;
		r->place = note_sender(b, rec, true);
		note_large(f, rec, segment_bytes(r));
		r->late = rec->first.flags & TCP_LATE && before(rec->seq, rec->first.snd_nxt);
		returned = returned_bytes(&rec->first, &rec->last);
		/* a FIN, if one was sent, uses a sequence number but no byte */
		r->refused = f->unsent_bytes && (returned == (uint32_t)f->unsent_bytes ||
						 returned + 1 == (uint32_t)f->unsent_bytes);
	}
	remember(b, r);
}

static void add_socket(struct tcp_flow *f, const struct tcp_record *rec)
{
	const struct tcp_totals *from = &rec->first, *to = &rec->last;
	struct tcp_sum *s = &f->sum;

	s->sockets++;
	s->data_segs_out += to->data_segs_out - from->data_segs_out;
	s->bytes_sent += to->bytes_sent - from->bytes_sent;
	s->bytes_retrans += to->bytes_retrans - from->bytes_retrans;
	s->dsack_dups += to->dsack_dups - from->dsack_dups;
	f->dsack_dups = 0;
	f->returned += (int32_t)returned_bytes(from, to);
	f->retransmitted += to->total_retrans - from->total_retrans;
	f->netns = rec->netns;
	f->last = *to;
	f->alive = !(to->flags & TCP_DEAD);
	f->read_ns = f->alive ? rec->time_ns : 0;
	f->unsent_bytes = 0;
	if ((from->flags | to->flags) & TCP_TORN)
		s->torn++;
}

/*
 * Compares how far snd_nxt has advanced with bytes_sent plus locally dropped bytes. A FIN uses a
 * sequence number but no byte, and a closed socket does not report whether it sent one.
 */
static void balance_bytes(struct tcp_flow *f)
{
	struct tcp_sum *s = &f->sum;
	int64_t over = (int64_t)s->bytes_returned - f->returned;
	uint64_t fins = over > 0 && (uint64_t)over <= s->sockets ? (uint64_t)over : 0;

	s->bytes_new = s->bytes_sent - s->bytes_retrans - (uint64_t)f->returned - fins;
	if (!s->torn && !fins)
		s->bytes_unaccounted = (uint64_t)(over < 0 ? -over : over);
}

/* Decides the retransmissions that no drop explains. */
static void close_flow(struct tcp_flow *f)
{
	struct tcp_sum *s = &f->sum;
	uint64_t twice = s->dsack_dups > f->twice ? s->dsack_dups : f->twice, left, unsure;
	/* a socket counts a SYN-ACK only after accept */
	const uint64_t events = s->retransmitted - s->kinds[TCP_KIND_SYNACK];

	if (!s->sockets && !s->retransmitted) { /* its sender is elsewhere and not observed */
		s->received = s->not_resent;
		s->not_resent = 0;
		for (unsigned i = 0; i < STAGE_COUNT; i++)
			s->received_at[i] = f->not_resent_at[i];
	}
	left = f->unexplained - (twice < f->unexplained ? twice : f->unexplained);
	s->not_lost = f->came + f->unexplained - left;
	s->large_only =
		f->large >= TOO_OFTEN && !s->lost_here && before(f->last.snd_una, f->large_to);
	/* a peer that reports duplicates does so for the last transmission that arrived */
	unsure = smaller(left, s->dsack_dups ? f->unproven_again : f->unproven);
	if (f->last.role != TCP_ROLE_EDGE && !f->exit.ifindex) {
		s->undecided[TCP_WHY_INSIDE] += left;
	} else if (!f->last.sack) {
		s->undecided[TCP_WHY_NO_SACK] += left;
	} else {
		s->undecided[TCP_WHY_ACK] += unsure;
		s->beyond = left - unsure;
	}
	if (f->retransmitted > events) {
		s->undecided[f->full ? TCP_WHY_FULL : TCP_WHY_UNSEEN] += f->retransmitted - events;
		s->retransmitted += f->retransmitted - events;
	} else if (s->sockets) {
		s->overcounted = events - f->retransmitted;
	}
	balance_bytes(f);
}

/*
 * Returns true if no more events can follow for the flow. If the sender is elsewhere, that is
 * assumed after a long time without events.
 */
static bool is_over(const struct tcp_flow *f, uint64_t now)
{
	return f->last.flags & TCP_DEAD ||
	       (!f->sum.retransmitted && f->dropped_ns && now > f->dropped_ns + PATIENCE);
}

/*
 * Adds a flow to the sum of the flows with the same exit interface. The sum shows whether that
 * interface lost the segments.
 */
static void add_folded(struct tcp_ledger *b, struct tcp_flow *f)
{
	struct tcp_flow *way = b->ways.at;
	unsigned i = 1;

	close_flow(f);
	b->n_folded++;
	while (f->sum.beyond && i < b->ways.n &&
	       (way[i].netns != f->netns || way[i].last.ifindex != f->last.ifindex ||
		memcmp(&way[i].exit, &f->exit, sizeof(f->exit))))
		i++;
	if (f->sum.beyond && i < b->ways.n) {
		way += i;
	} else if (f->sum.beyond && i < WAYS) {
		way = list_add(&b->ways);
		way->netns = f->netns;
		way->last.ifindex = f->last.ifindex;
		way->exit = f->exit;
	} else { /* not known whether its interface lost the segments */
		way = b->ways.at;
		f->sum.undecided[TCP_WHY_FULL] += f->sum.beyond;
		f->sum.beyond = 0;
	}
	sum_words(&way->sum, &f->sum, sizeof(f->sum));
}

/*
 * Folds finished flows into the sum: at first only flows with nothing to display, or all of them.
 */
static void fold(struct tcp_ledger *b, uint64_t now, bool all)
{
	uint32_t *to = mem_zero(b->flows.n, sizeof(*to)), n = 0;

	for (uint32_t i = 0; i < b->flows.n; i++) {
		const struct tcp_flow *f = flow_at(b, i);

		if (is_over(f, now) && (all || (!f->sum.retransmitted && !f->dropped_ns)))
			to[i] = NONE;
	}
	for (uint32_t i = 0; i < b->ranges.n; i++) {
		if (to[range_at(b, i)->flow] == NONE && range_at(b, i)->what == RESENT)
			decide(b, range_at(b, i));
	}
	for (uint32_t i = 0; i < b->ranges.n; i++) {
		if (to[range_at(b, i)->flow] == NONE)
			settle_drop(b, range_at(b, i));
	}
	for (uint32_t i = 0; i < b->flows.n; i++) {
		if (to[i] == NONE) {
			add_folded(b, flow_at(b, i));
			continue;
		}
		*flow_at(b, n) = *flow_at(b, i);
		to[i] = n++;
	}
	b->flows.n = n;
	list_index(&b->flows);
	/* fold a quarter of the flows at a time, so as not to do it for each record */
	b->fold_at = n > b->max_flows / 4 * 3 ? b->refused + b->max_flows / 4 : 0;
	n = 0;
	for (uint32_t i = 0; i < b->ranges.n; i++) {
		const uint32_t flow = to[range_at(b, i)->flow];

		if (flow == NONE)
			continue;
		*range_at(b, n) = *range_at(b, i);
		range_at(b, n++)->flow = flow;
	}
	b->ranges.n = n;
	free(to);
	index_all(b);
}

/* Processes an open socket that has retransmitted. */
static void look_at_socket(struct tcp_ledger *b, const struct tcp_record *rec)
{
	const uint32_t flow = flow_find(b, &rec->flow);
	struct tcp_flow *f = flow == NONE ? NULL : flow_at(b, flow);

	if (!f)
		return;
	f->last = rec->last;
	f->alive = true;
	f->dsack_dups = rec->last.dsack_dups - rec->first.dsack_dups;
}

/* Records the data received in the opposite direction since the connection or tracing began. */
static void note_receiver(struct tcp_ledger *b, const struct tcp_record *rec,
			  const struct watch_flow *back)
{
	uint32_t before = rec->first.flags & TCP_LATE ? rec->first.data_segs_in : 0;
	uint32_t taken = rec->last.data_segs_in - before, flow;

	flow = taken ? trail_make(b->trail, back, false) : TRAIL_NONE;
	if (flow != TRAIL_NONE)
		trail_flow(b->trail, flow)->taken += taken;
}

/* Processes a socket that ended. Most sockets lose nothing and take up no room. */
static void end_socket(struct tcp_ledger *b, const struct tcp_record *rec)
{
	const struct watch_flow back = reverse(&rec->flow);
	uint32_t flow = flow_find(b, &rec->flow), received = flow_find(b, &back);
	struct tcp_flow whole = {.full = b->refused || b->unranged};

	if (received != NONE) {
		flow_at(b, received)->came_to = rec->last.rcv_nxt;
		flow_at(b, received)->has_receiver = true;
	}

	note_sender(b, rec, false);
	if (b->trail)
		note_receiver(b, rec, &back);
	if (flow != NONE)
		return add_socket(flow_at(b, flow), rec);
	add_socket(&whole, rec);
	add_folded(b, &whole);
}

/*
 * Returns true if the socket counted the record after its last reading, which means that it is in
 * none of the sums.
 */
static bool is_behind(const struct tcp_flow *f, const struct tcp_record *rec)
{
	return f->read_ns && rec->time_ns > f->read_ns &&
	       (rec->event == TCP_RETRANSMITTED || (rec->event == TCP_DROPPED && rec->unsent));
}

static void enters(struct tcp_ledger *b, const struct tcp_record *rec)
{
	struct trail_range r = {
		.from = rec->place,
		.to = rec->place + (rec->end - rec->seq),
		.time_ns = rec->time_ns,
		.what = rec->event == TCP_HOLE ? TRAIL_HOLE : TRAIL_AGAIN,
	};

	if (!b->trail)
		return;
	r.flow = trail_make(b->trail, &rec->flow, false);
	trail_add(b->trail, &r);
}

void tcp_ledger_add(struct tcp_ledger *b, const struct tcp_record *rec)
{
	struct range r = {
		.place = rec->place,
		.time = rec->time_ns,
		.start = rec->start_ns,
		.seq = rec->seq,
		.end = rec->end,
		.tsval = rec->tsval,
		.bytes = rec->bytes,
		.segs = rec->segs,
		.size = rec->size,
	};

	if (b->flows.n >= b->max_flows && b->refused >= b->fold_at) {
		fold(b, rec->time_ns, false);
		if (b->flows.n > b->max_flows / 2)
			fold(b, rec->time_ns, true);
	}
	if (rec->event == TCP_SOCKET)
		return end_socket(b, rec);
	if (rec->event == TCP_LOOKED)
		return look_at_socket(b, rec);
	if (rec->event == TCP_HOLE || rec->event == TCP_AGAIN)
		return enters(b, rec);
	r.flow = flow_make(b, &rec->flow);
	if (r.flow == NONE || is_behind(flow_at(b, r.flow), rec))
		return;
	if (rec->event == TCP_CAME) {
		r.what = CAME;
		remember(b, &r);
	} else if (rec->event == TCP_DROPPED) {
		add_drop(b, rec, &r);
	} else {
		add_resent(b, rec, &r);
	}
}

void tcp_ledger_lost(struct tcp_ledger *b, uint64_t records)
{
	b->unranged = records;
}

void tcp_ledger_exit(struct tcp_ledger *b, const struct watch_flow *key,
		     const struct tcp_exit *exit)
{
	uint32_t flow = flow_find(b, key);

	if (flow != NONE && flow_at(b, flow)->last.role == TCP_ROLE_INSIDE)
		flow_at(b, flow)->exit = *exit;
}

/* Marks all existing flows, because it is not known which flow a lost record belongs to. */
static void mark_full(struct tcp_ledger *b, uint64_t lost)
{
	for (uint32_t i = 0; lost + b->refused > b->known_lost && i < b->flows.n; i++)
		flow_at(b, i)->full = true;
	b->known_lost = lost + b->refused;
}

/* Returns true if the range is not acknowledged yet, so that later events may explain it. */
static bool is_open(const struct tcp_ledger *b, const struct range *r)
{
	const struct tcp_flow *f = flow_at(b, r->flow);

	return f->alive && before(f->last.snd_una, r->end);
}

static void sum_folded(const struct tcp_ledger *b, struct tcp_sum *sum, tcp_each *each, void *arg)
{
	const struct tcp_flow *way = b->ways.at;

	memset(sum, 0, sizeof(*sum));
	for (unsigned i = 0; i < b->ways.n; i++) {
		sum_words(sum, &way[i].sum, sizeof(*sum));
		each(arg, &way[i]);
	}
}

void tcp_ledger_look(struct tcp_ledger *b, uint64_t until_ns, uint64_t lost, struct tcp_sum *sum,
		     tcp_each *each, void *arg)
{
	mark_full(b, lost);
	for (uint32_t i = 0; i < b->ranges.n && range_at(b, i)->time < until_ns; i++) {
		if (range_at(b, i)->what == RESENT && !is_open(b, range_at(b, i)))
			decide(b, range_at(b, i));
	}
	sum_folded(b, sum, each, arg);
	for (uint32_t i = 0; i < b->flows.n; i++) {
		struct tcp_flow f = *flow_at(b, i);

		if (!f.sum.retransmitted && !f.retransmitted)
			continue;
		f.sum.dsack_dups += f.dsack_dups;
		close_flow(&f);
		sum_words(sum, &f.sum, sizeof(*sum));
		each(arg, &f);
	}
}

uint64_t tcp_sum_undecided(const struct tcp_sum *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TCP_WHYS; i++)
		sum += s->undecided[i];
	return sum;
}

static bool is_returned(const struct range *r)
{
	return r->what == LOST && r->unsent && !r->used;
}

/*
 * Handles sockets for which more bytes were dropped before they were counted as sent than the
 * socket has sent again as new. A queue that cuts a packet into segments may accept some of them,
 * and TCP then treats all of them as sent. The rejected segments are not acknowledged, because
 * otherwise they would have been retransmitted.
 */
static void find_sent(struct tcp_ledger *b)
{
	for (uint32_t i = 0; i < b->flows.n; i++)
		flow_at(b, i)->unsent_bytes = 0;
	for (uint32_t i = 0; i < b->ranges.n; i++) {
		if (is_returned(range_at(b, i)))
			flow_at(b, range_at(b, i)->flow)->unsent_bytes += range_at(b, i)->bytes;
	}
	for (uint32_t i = b->ranges.n; i-- > 0;) {
		struct range *r = range_at(b, i);
		struct tcp_flow *f = flow_at(b, r->flow);
		int64_t more = (int64_t)(f->sum.bytes_returned + f->unsent_bytes) - f->returned;

		if (!is_returned(r) || f->sum.sockets != 1 || before(r->seq, f->last.snd_una) ||
		    more < r->bytes)
			continue;
		r->unsent = false;
		f->unsent_bytes -= r->bytes;
	}
}

void tcp_ledger_close(struct tcp_ledger *b, uint64_t lost, struct tcp_sum *sum, tcp_each *each,
		      void *arg)
{
	mark_full(b, lost);
	for (uint32_t i = 0; i < b->ranges.n; i++) {
		if (range_at(b, i)->what == RESENT)
			decide(b, range_at(b, i));
	}
	find_sent(b);
	for (uint32_t i = 0; i < b->ranges.n; i++)
		settle_drop(b, range_at(b, i));
	sum_folded(b, sum, each, arg);
	for (uint32_t i = 0; i < b->flows.n; i++) {
		close_flow(flow_at(b, i));
		sum_words(sum, &flow_at(b, i)->sum, sizeof(*sum));
		each(arg, flow_at(b, i));
	}
}

const struct hist *tcp_ledger_stall(const struct tcp_ledger *b, bool received)
{
	return received ? &b->received_stall : &b->stall;
}

const struct list *tcp_ledger_flows(const struct tcp_ledger *b)
{
	return &b->flows;
}

uint64_t tcp_ledger_folded(const struct tcp_ledger *b)
{
	return b->n_folded;
}

uint64_t tcp_ledger_refused(const struct tcp_ledger *b)
{
	return b->refused;
}

uint64_t tcp_ledger_bytes(const struct tcp_ledger *b)
{
	return sizeof(*b) + (b->flows.cap + b->ways.cap) * sizeof(struct tcp_flow) +
	       b->ranges.cap * sizeof(struct range) + b->nodes.cap * sizeof(struct node);
}
