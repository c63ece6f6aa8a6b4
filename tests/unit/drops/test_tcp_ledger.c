// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The outcome of the transmission before a retransmission, from generated records:
 * tests/fixtures/tcp/ledger.
 */
#include "cases.h"

#include <ctype.h>
#include <string.h>

#include "drops/stagemap.h"
#include "drops/tcp.h"
#include "recorded.h"

/* The reason of a drop encodes its meaning, its location the stage. */
static enum tcp_drop judge(void *arg, const struct watch_key *key, enum stage *stage, bool *outside)
{
	(void)arg;
	*stage = (enum stage)key->location;
	*outside = *stage == STAGE_BACKLOG;
	return (enum tcp_drop)key->reason;
}

/* Of all flows, as they are told one by one. */
struct counted {
	uint64_t beyond, of_netns_7;
};

static void count(void *arg, const struct tcp_flow *f)
{
	struct counted *c = arg;

	c->beyond += f->sum.beyond;
	c->of_netns_7 += f->netns == 7;
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
		{"flow", offsetof(struct tcp_record, flow.src), sizeof(uint32_t), 1, NULL},        \
		RECORD(flow.src_port), RECORD(flow.dst_port), RECORD(seq), RECORD(end),            \
		RECORD(bytes), RECORD(tsval), RECORD(segs), RECORD(size), RECORD(kind),            \
		RECORD(unsent), RECORD(has_ack), RECORD(netns), RECORD(ack), RECORD(place)

static const struct recorded_field record_fields[] = {
	SEGMENT, TOTALS(first), TOTALS(last), {0}};

/* The reason of a drop encodes its meaning, its location the stage. */
static const struct recorded_field drop_fields[] = {
	SEGMENT, RECORD(key.netns), FIELD_ENUM(struct tcp_record, key.reason, drop_names),
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
	uint64_t flows_of_netns_7;
};

#define STATE(member) FIELD(struct state, member)
static const struct recorded_field state_fields[] = {
	STATE(flows), STATE(folded), STATE(refused), STATE(stalls), STATE(stall_max),
	STATE(received_stalls), STATE(received_stall_max), STATE(flows_of_netns_7), {0}};

#define RANGE(member) FIELD(struct trail_range, member)
static const struct recorded_field range_fields[] = {RANGE(from), RANGE(to),   RANGE(time_ns),
						      RANGE(flow),
						      FIELD_ENUM(struct trail_range, what, trail_names),
						      FIELD_ENUM(struct trail_range, stage, stage_names), {0}};

struct run {
	struct tcp_ledger *ledger;
	struct trail *trail;
	struct tcp_sum sum;
	struct counted counted;
	uint64_t bytes;	    /* of memory */
	unsigned ranges;    /* that were told */
	unsigned times;	    /* that the lines up to "end" are taken, 0: once */
	char lines[8][700]; /* of these */
	unsigned n;
};

static void begin(struct run *r)
{
	if (r->trail)
		assert_int_equal(r->ranges, r->trail->ranges.n);
	tcp_ledger_free(r->ledger);
	trail_free(r->trail);
	*r = (struct run){};
}

/* Looks at it, or closes it; every segment and byte has its place then. */
static void sum_up(struct run *r, bool closes, char *text)
{
	const uint64_t until = closes ? 0 : strtoull(text, &text, 10),
		       lost = strtoull(text, NULL, 10);
	struct tcp_sum *sum = &r->sum;

	r->counted = (struct counted){};
	if (closes)
		tcp_ledger_close(r->ledger, lost, sum, count, &r->counted);
	else
		tcp_ledger_look(r->ledger, until, lost, sum, count, &r->counted);
	assert_int_equal(sum->beyond, r->counted.beyond);
	if (!closes)
		return;
	assert_int_equal(sum->retransmitted,
			 sum->lost_here + sum->beyond + sum->not_lost + tcp_sum_undecided(sum));
	assert_int_equal(sum->bytes_sent,
			 sum->bytes_new + sum->bytes_retrans + sum->bytes_returned);
}

static void tell_state(const struct run *r)
{
	const struct tcp_ledger *b = r->ledger;
	const struct hist *stall = tcp_ledger_stall(b, false),
			  *received = tcp_ledger_stall(b, true);
	const struct state state = {
		tcp_ledger_flows(b)->n, tcp_ledger_folded(b), tcp_ledger_refused(b),
		stall->count,		stall->max,	      received->count,
		received->max,		r->counted.of_netns_7};

	tell("%s", recorded_text(state_fields, &state));
}

static void take_line(void *arg, const char *verb, char *text);

/* Takes a line as it is in this round: "5+2" is 5 in the first, and 2 more in each next one. */
static void take_again(struct run *r, const char *line, unsigned round)
{
	char text[sizeof(r->lines[0])], *to = text, *rest = text, *end;
	const char *verb;

	while (*line) {
		const unsigned long long first =
			isdigit((uint8_t)*line) ? strtoull(line, &end, 10) : 0;

		if (!isdigit((uint8_t)*line) || *end != '+') {
			*to++ = *line++;
			continue;
		}
		to += sprintf(to, "%llu", first + round * strtoull(end + 1, &end, 10));
		line = end;
	}
	*to = '\0';
	verb = strsep(&rest, " ");
	take_line(r, verb, rest);
}

static void take_rounds(struct run *r)
{
	const unsigned times = r->times;

	r->times = 0;
	for (unsigned i = 0; i < times; i++) {
		for (unsigned n = 0; n < r->n; n++)
			take_again(r, r->lines[n], i);
	}
	r->n = 0;
}

static void take_line(void *arg, const char *verb, char *text)
{
	struct tcp_record record = {};
	struct run *r = arg;
	uint64_t bytes;

	if (r->times && strcmp(verb, "end")) {
		assert_true(r->n < LENGTH(r->lines));
		snprintf(r->lines[r->n++], sizeof(r->lines[0]) - 200, "%s %s", verb, text);
	} else if (!strcmp(verb, "case")) {
		begin(r);
	} else if (!strcmp(verb, "new")) {
		r->ledger = tcp_ledger_new((unsigned)strtoul(text, NULL, 10), judge, NULL);
	} else if (!strcmp(verb, "keep")) {
		tcp_ledger_keep(r->ledger, r->trail = trail_new());
	} else if (!strcmp(verb, "add")) {
		recorded_read(strncmp(text, "event=", 6) ? drop_fields : record_fields, text,
			      &record);
		tcp_ledger_add(r->ledger, &record);
	} else if (!strcmp(verb, "times")) {
		r->times = (unsigned)atoi(text);
	} else if (!strcmp(verb, "end")) {
		take_rounds(r);
	} else if (!strcmp(verb, "look") || !strcmp(verb, "close")) {
		sum_up(r, *verb == 'c', text);
	} else if (!strcmp(verb, "sum")) {
		tell("%s", recorded_text(sum_fields, &r->sum));
	} else if (!strcmp(verb, "state")) {
		tell_state(r);
	} else if (!strcmp(verb, "memory")) { /* than at the last such line */
		bytes = tcp_ledger_bytes(r->ledger);
		tell(bytes == r->bytes ? "the same" : "another size");
		r->bytes = bytes;
	} else {
		assert_string_equal(verb, "range");
		assert_true(r->ranges < r->trail->ranges.n);
		tell("%s", recorded_text(range_fields,
					 (struct trail_range *)r->trail->ranges.at + r->ranges++));
	}
}

CASE(recorded)
{
	struct run r = {};

	recorded_stories("tests/fixtures/tcp/ledger", take_line, &r);
	begin(&r);
}
