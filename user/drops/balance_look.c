// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Looking at all counts and queues at once, and choosing the moments of the books. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "drops/balance_parts.h"

#define MS 1000000ULL

#define BEGIN_NS   (250 * MS) /* to find a moment to begin at */
#define QUIET_NS   (200 * MS) /* nothing came for so long: the flow has ended */
#define BUSY_NS	   (500 * MS) /* a flow that goes on is looked at for so long at least */
#define SOCKETS_NS (50 * MS)  /* between two searches for sockets */
#define LOOKS_MIN  20	      /* of one moment, before a flow that goes on is believed to balance */
#define FIRM_MIN   4	      /* times that as little was under way, with packets read in between */

static int iter_error(struct error *err, int rc)
{
	return error_set(err, STATUS_FAILED, rc, NULL, "cannot look into the queues of sockets: %s",
			 strerror(-rc));
}

/* Runs an iterator to its end; what it tells goes to `each`, which may be NULL. 0 or -errno. */
static int iterate(const struct bpf_link *link,
		   void (*each)(void *arg, const struct balance_queued *q), void *arg)
{
	struct balance_queued queued[BALANCE_CHUNK];
	int fd = bpf_iter_create(bpf_link__fd(link)), rc = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (!rc && (n = read(fd, queued, sizeof(queued)))) {
		if (n < 0 && errno != EAGAIN)
			rc = -errno;
		for (ssize_t i = 0; each && i < n / (ssize_t)sizeof(*queued); i++)
			each(arg, &queued[i]);
	}
	close(fd);
	return rc;
}

/* `unread`: all sockets that have something unread; else those of the flow. */
static int find_sockets(struct balance *b, bool unread)
{
	b->skel->bss->take_unread = unread;
	return iterate(b->skel->links.balance_sockets, NULL, NULL);
}

struct unread {
	struct balance *b;
	uint64_t told, matched;
	bool note; /* packets came before the checkpoints did: their lengths are to be known */
};

static void length_came(struct balance_lengths *l, uint32_t bytes)
{
	uint32_t bit = balance_length_bit(bytes);

	__atomic_fetch_or(&l->bits[bit / 64], 1ULL << bit % 64, __ATOMIC_RELAXED);
}

static void note_lengths(struct balance_cell *cell, const struct balance_queued *q, bool ours)
{
	struct balance_lengths *l = ours ? &cell->matched : &cell->others;

	length_came(l, q->payload);
	if (!q->size) {
		if (cell->single < q->payload)
			cell->single = (uint16_t)q->payload;
		return;
	}
	if (!cell->size_min || cell->size_min > q->size)
		cell->size_min = q->size;
	if (cell->size_max < q->size)
		cell->size_max = q->size;
}

static void take_unread(void *arg, const struct balance_queued *q)
{
	struct unread *u = arg;
	bool ours = filter_match_user(u->b->filter, q->layer, q->bytes, q->have, q->length);

	u->told++;
	if (ours)
		u->matched += q->segments;
	if (!u->note || q->cell >= BALANCE_CELLS)
		return;
	note_lengths(&u->b->cells[q->cell], q, ours);
	if (ours)
		u->b->skel->bss->ports[q->port] = 1;
}

/* All packets in the queues of known sockets, some of each queue at a time. */
static int walk_unread(struct unread *u)
{
	struct balance *b = u->b;
	uint64_t before;
	int rc;

	b->skel->bss->unread_from = 0;
	do {
		before = u->told;
		rc = iterate(b->skel->links.balance_unread, take_unread, u);
		b->skel->bss->unread_from += BALANCE_CHUNK;
	} while (!rc && u->told > before);
	return rc;
}

static int look_once(struct balance *b, struct balance_moment *m)
{
	const struct balance_look *look = &b->skel->bss->look;
	int rc;

	b->skel->bss->look_begun = 0;
	rc = iterate(b->skel->links.balance_looks, NULL, NULL);
	m->sum = look->sum;
	m->queued = look->queued;
	m->mixed = look->mixed;
	m->dying = look->dying;
	m->moved = look->moved;
	m->time_ns = clock_now();
	return rc;
}

static bool same_counts(const struct balance_moment *a, const struct balance_moment *b)
{
	return !memcmp(&a->sum, &b->sum, sizeof(a->sum));
}

/* Where sockets have others' packets too, it is asked of each packet whose it is. */
static int count_mixed(struct balance *b, struct balance_moment *m)
{
	struct unread u = {.b = b};
	struct balance_moment after;
	int rc = walk_unread(&u);

	if (!rc)
		rc = look_once(b, &after);
	if (rc)
		return rc;
	m->moved |= after.moved || !same_counts(m, &after);
	m->queued = u.matched;
	return 0;
}

static int look(struct balance *b, struct balance_moment *m)
{
	int rc = balance_judge(b);

	if (!rc)
		rc = look_once(b, m);
	if (!rc && m->mixed)
		rc = count_mixed(b, m);
	/* A cause that nobody has judged yet: its packets are on neither side. */
	if (!rc)
		m->moved |= b->skel->bss->cause_next != b->judged;
	return rc;
}

/* What has entered, and is neither gone nor in a queue that we know. */
static int64_t under_way(const struct balance_moment *m)
{
	const struct balance_tally *t = &m->sum;

	return (int64_t)(t->entered - t->left - t->delivered - t->dropped[SIDE_INSIDE] - m->queued);
}

/* The best of many looks. */
struct search {
	struct balance_moment best, last;
	uint64_t since, changed, sockets;
	unsigned looks; /* of one moment */
	/*
	 * How often as little was under way as in the best look, with packets read in between: a
	 * reader may have taken a packet and then lost the CPU for a long time.
	 */
	unsigned firm;
	uint64_t firm_delivered;
};

static void search_judge(struct search *s, const struct balance_moment *m)
{
	int64_t now = under_way(m), best = under_way(&s->best);

	if (!s->looks++ || now < best)
		s->firm = 0;
	else if (now > best)
		return;
	if (!s->firm || m->sum.delivered != s->firm_delivered)
		s->firm++;
	s->firm_delivered = m->sum.delivered;
	s->best = *m;
}

static int search_look(struct balance *b, struct search *s)
{
	struct balance_moment m;
	uint64_t now = clock_now();
	int rc = 0;

	if (now - s->sockets > SOCKETS_NS) {
		rc = find_sockets(b, false);
		s->sockets = now;
	}
	if (!rc)
		rc = look(b, &m);
	if (rc)
		return rc;
	if (m.moved || !same_counts(&m, &s->last))
		s->changed = now;
	s->last = m;
	if (!m.moved)
		search_judge(s, &m);
	return 0;
}

/* Not in step with what comes at regular times. */
static void pause_a_little(unsigned n)
{
	const struct timespec t = {.tv_nsec = 200000 + n * 7919 % 1000 * 1500};

	nanosleep(&t, NULL);
}

static int finish(const struct balance *b, const struct search *s, int rc, struct balance_moment *m,
		  struct error *err)
{
	if (rc)
		return iter_error(err, rc);
	*m = s->looks ? s->best : s->last;
	m->unjudged = b->skel->bss->causes_full;
	for (unsigned i = 0; i < BALANCE_CAUSES; i++)
		m->unjudged += b->doubtful[i];
	if (filter_unread(b->skel->obj, &m->filter_unread))
		m->filter_unread = 0;
	return 0;
}

static void search_begin(struct search *s)
{
	memset(s, 0, sizeof(*s));
	s->since = s->changed = clock_now();
}

/* Nothing of the flow came or was read since the checkpoints are there. */
static bool is_idle(const struct balance_moment *m)
{
	const struct balance_tally zero = {};

	return !memcmp(&m->sum, &zero, sizeof(zero));
}

int balance_begin(struct balance *b, struct balance_moment *m, struct error *err)
{
	struct unread unread = {.b = b, .note = true};
	struct search s;
	int rc = balance_attach(b, err);

	if (rc)
		return rc;
	rc = find_sockets(b, true);
	if (!rc)
		rc = walk_unread(&unread);
	search_begin(&s);
	for (unsigned n = 0; !rc && clock_now() - s.since < BEGIN_NS; n++) {
		rc = search_look(b, &s);
		if (s.looks && (s.firm >= FIRM_MIN || is_idle(&s.last)))
			break;
		pause_a_little(n);
	}
	return finish(b, &s, rc, m, err);
}

int balance_end(struct balance *b, const struct balance_moment *begin, uint64_t settle_ns,
		struct balance_moment *m, struct error *err)
{
	int64_t wanted = under_way(begin);
	struct search s;
	int rc = 0;

	search_begin(&s);
	for (unsigned n = 0; !rc; n++) {
		uint64_t now, since;
		bool closes;

		rc = search_look(b, &s);
		now = clock_now();
		since = now - s.since;
		closes = s.looks && under_way(&s.best) <= wanted && !s.last.dying;
		if (closes && now - s.changed > QUIET_NS)
			break;
		if (closes && since > BUSY_NS && s.looks > LOOKS_MIN)
			break;
		if (since > settle_ns && s.looks)
			break;
		if (since > settle_ns + BUSY_NS)
			break;
		pause_a_little(n);
	}
	return finish(b, &s, rc, m, err);
}
