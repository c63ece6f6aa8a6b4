// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/rx.h"

#include <endian.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * RFC 4737, section 4.2: the extent is counted from the first packet that arrived with a higher
 * number. That packet jumped over this number, so remembering jumps is enough.
 */
static void note_extent(struct line *l, uint64_t number)
{
	unsigned oldest = l->gaps > LINE_GAPS ? l->gaps - LINE_GAPS : 0;

	for (unsigned i = l->gaps; i-- > oldest;) {
		const struct line_gap *gap = &l->gap[i % LINE_GAPS];

		if (number >= gap->end)
			break;
		if (number < gap->first)
			continue;
		reordering_note(&l->order, l->delivered - gap->at);
		return;
	}
	l->order.extent_unknown++;
}

/* Records a number's first arrival. */
static void line_arrived(struct line *l, uint64_t number, unsigned bytes)
{
	if (number < l->next) {
		l->order.packets++;
		note_extent(l, number);
	} else {
		if (number > l->next)
			l->gap[l->gaps++ % LINE_GAPS] =
				(struct line_gap){l->next, number, l->delivered};
		l->next = number + 1;
	}
	l->delivered++;
	l->bytes += bytes;
}

/* Records the latency if the timestamp is intact. Both ends use CLOCK_TAI. */
static void note_delay(struct sink *s, struct line *l, uint64_t word, const uint8_t *data,
		       unsigned have, uint64_t now_tai)
{
	struct stamp_time t;
	int64_t transit, d;

	if (!s->timed || !now_tai || have < STAMP_TIME_LEN)
		return;
	memcpy(&t, data + STAMP_TIME_OFF, sizeof(t));
	if (t.check != ~t.ns)
		return;
	transit = (int64_t)(now_tai - be64toh(t.ns));
	/*
	 * a received timestamp may have any value, so subtract modulo 2^64, as for clock
	 * differences
	 */
	d = (int64_t)((uint64_t)transit - (uint64_t)l->transit);
	if (l->timed)
		l->jitter += (d < 0 ? -(uint64_t)d : (uint64_t)d) - ((l->jitter + 8) >> 4);
	if (!l->timed || transit < l->fastest)
		l->fastest = transit;
	l->timed = true;
	l->transit = transit;
	if (transit < 0) {
		l->negative++;
	} else {
		if (!l->delay)
			l->delay = mem_new(l->delay);
		hist_add(l->delay, (uint64_t)transit);
	}
	if (s->legs)
		legs_read(s->legs, &s->legs_sums, word, be64toh(t.ns), s->came_ns, now_tai);
}

static struct line *known_line(const struct sink *s, uint16_t stream, unsigned life,
			       const struct endpoint *source)
{
	for (unsigned i = 0; i < s->lines; i++) {
		if (line_is(s->line[i], stream, life, source))
			return s->line[i];
	}
	return NULL;
}

void line_add(struct line *sum, const struct line *l)
{
	const double jitter = (double)sum->jitter * (double)sum->delivered +
			      (double)l->jitter * (double)l->delivered;

	if (!sum->delivered)
		sum->jitter = l->jitter;
	else if (l->delivered)
		sum->jitter = (uint64_t)(jitter / (double)(sum->delivered + l->delivered));
	sum->delivered += l->delivered;
	sum->bytes += l->bytes;
	sum->duplicated += l->duplicated;
	sum->negative += l->negative;
	reordering_add(&sum->order, &l->order);
	if (l->delay && !sum->delay)
		sum->delay = mem_new(sum->delay);
	if (l->delay)
		hist_merge(sum->delay, l->delay);
}

/*
 * Returns an empty line. A line of a stream that has lost its slot is added to the sums of past
 * lines, and reused.
 */
static struct line *empty_line(struct sink *s)
{
	for (unsigned i = 0; i < s->lines; i++) {
		struct line *l = s->line[i];

		if (l->life == atomic_load(&s->streams->at[l->stream].life))
			continue;
		if (!s->past)
			s->past = mem_new(s->past);
		line_add(s->past, l);
		s->past_lines++;
		free(l->delay);
		memset(l, 0, sizeof(*l));
		return l;
	}
	return s->line[s->lines++] = mem_new(s->line[0]);
}

struct line *sink_line(struct sink *s, uint16_t stream)
{
	static const struct endpoint any;
	const struct endpoint *source = &s->source;
	const struct sink_stream *st = &s->streams->at[stream];
	const unsigned life = atomic_load_explicit(&st->life, memory_order_relaxed);
	struct line **recent = &s->recent[(source->port + stream) % SINK_RECENT], *l = *recent;

	if (l && line_is(l, stream, life, source))
		return l;
	l = known_line(s, stream, life, source);
	if (!l && s->lines >= SINK_LINES - TRACE_STREAMS) {
		source = &any; /* enough lines are reserved for one per stream */
		l = known_line(s, stream, life, source);
	}
	if (!l) {
		l = empty_line(s);
		l->stream = stream;
		l->id = st->id;
		l->life = life;
		l->source = *source;
		l->next = st->base;
	}
	return *recent = l;
}

/* Checks the length and content that the sender's shape specifies for this number. */
static bool is_whole(const struct sink *s, const struct line *l, uint64_t number,
		     const uint8_t *data, unsigned have, unsigned len)
{
	unsigned from = len < STAMP_TIME_LEN ? STAMP_LEN : STAMP_TIME_LEN, expected = s->payload;

	if (s->shape)
		expected = shape_payload(s->shape, &(struct flow){.payload = expected}, l->stream,
					 number - s->streams->at[l->stream].base);
	if (expected && len != expected)
		return false;
	return !s->fill || have <= from || !memcmp(data + from, s->fill + from, have - from);
}

/*
 * Matches only numbers up to the end of the window, because another sender may have chosen the same
 * stream ID.
 */
static bool is_stream(const struct sink_streams *t, const struct sink_stream *st, uint16_t id,
		      uint64_t number)
{
	uint64_t tail = atomic_load_explicit(&st->tail, memory_order_relaxed);

	return !atomic_load_explicit(&st->closed, memory_order_acquire) && st->id == id &&
	       number - st->base < tail - st->base + t->window;
}

/* Returns the upper half of a sequence word. */
static uint32_t upper_of(uint16_t id, uint64_t number)
{
	return (uint32_t)id << 16 | (uint32_t)(number >> 32);
}

static uint32_t key_of(const struct sink_streams *t, unsigned slot)
{
	return slot < t->room ? __atomic_load_n(&t->table->key[slot], __ATOMIC_ACQUIRE) : 0;
}

/* Makes the stream that the table has for a slot known. Requires the streams' lock. */
static void adopt(struct sink_streams *t, unsigned slot)
{
	const uint32_t key = key_of(t, slot);
	const uint64_t tail = __atomic_load_n(&t->table->at[slot], __ATOMIC_RELAXED);
	struct sink_stream *st = &t->at[slot];

	st->id = (uint16_t)(key >> 16);
	st->base = (uint64_t)(key & UINT16_MAX) << 32;
	st->tail = tail ? tail : st->base;
	atomic_store_explicit(&st->closed, false, memory_order_release);
}

/* Adopts slots below `end` as long as there is memory. Requires the streams' lock. */
static void take_over(struct sink_streams *t, unsigned end)
{
	for (unsigned n = atomic_load(&t->n); n < end && key_of(t, n); n++) {
		void *own = t->bytes ? NULL
				     : mmap(NULL, t->window, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (own == MAP_FAILED)
			return;
		t->at[n].arrivals = own ? own : t->bytes + n * t->window;
		adopt(t, n);
		atomic_store(&t->n, n + 1);
	}
}

#define TAIL_NS 1000000

void sink_streams_sync(struct sink_streams *t)
{
	unsigned n = atomic_load(&t->n), end = n;

	if (!t->table)
		return;
	while (key_of(t, end))
		end++;
	/* programs write a slot's tail after its key, so give them time to do so */
	if (end > n)
		pace_wait(TAIL_NS);
	pthread_mutex_lock(&t->lock);
	take_over(t, end);
	pthread_mutex_unlock(&t->lock);
}

static int find_known(const struct sink_streams *t, uint16_t id, uint64_t number)
{
	unsigned n = atomic_load(&t->n);

	for (unsigned i = 0; i < n; i++) {
		if (is_stream(t, &t->at[i], id, number))
			return (int)i;
	}
	return -1;
}

/* Records a number above its stream's window. */
static void note_ahead(struct sink_streams *t, uint16_t id, uint64_t number)
{
	for (unsigned i = 0; i < atomic_load(&t->n); i++) {
		struct sink_stream *st = &t->at[i];

		if (sink_streams_has(t, i) && number > st->ahead &&
		    trace_key_fits(upper_of(st->id, st->base), atomic_load(&st->tail),
				   upper_of(id, number)))
			atomic_store(&st->ahead, number);
	}
}

static bool fits(const struct sink_streams *t, unsigned slot, uint32_t known, uint32_t key)
{
	return trace_key_fits(known, __atomic_load_n(&t->table->at[slot], __ATOMIC_RELAXED), key);
}

/*
 * Learns a stream by entering it in the first free slot, like bpf/numbers.bpf.h. Also returns -1
 * for a number above its stream's window. Requires the streams' lock.
 */
static int learn(struct sink_streams *t, uint16_t id, uint64_t number)
{
	const uint32_t key = upper_of(id, number);
	int index = find_known(t, id, number); /* another thread may have been faster */
	bool entered = index >= 0;

	/* a slot that was dropped may come before the stream's */
	for (unsigned i = 0; i < t->room && !entered; i++)
		entered = key_of(t, i) && fits(t, i, key_of(t, i), key);
	for (unsigned i = 0; i < t->room && !entered; i++) {
		uint32_t known = 0;

		entered = __atomic_compare_exchange_n(&t->table->key[i], &known, key, false,
						      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
		/*
		 * a receiver that starts mid-stream cannot go back to the beginning of the stream
		 */
		if (entered && (uint32_t)number >= t->window / 2)
			__atomic_store_n(&t->table->at[i], number - t->window / 2,
					 __ATOMIC_RELAXED);
		if (entered && i < atomic_load(&t->n))
			adopt(t, i);
		entered |= fits(t, i, known, key);
	}
	if (index < 0) {
		take_over(t, t->room);
		index = find_known(t, id, number);
	}
	if (index < 0)
		note_ahead(t, id, number);
	return index;
}

/* Returns a stream's index, or -1 if it is unknown. */
static int find_stream(struct sink_streams *t, uint16_t id, uint64_t number)
{
	unsigned n = atomic_load_explicit(&t->n, memory_order_acquire);
	uint16_t guess = (uint16_t)(id - t->at[0].id); /* a run's stream IDs are consecutive */
	int index;

	if (guess < n && is_stream(t, &t->at[guess], id, number))
		return guess;
	if (!t->table)
		return -1;
	index = find_known(t, id, number);
	if (index >= 0)
		return index;
	pthread_mutex_lock(&t->lock);
	index = learn(t, id, number);
	pthread_mutex_unlock(&t->lock);
	return index;
}

/* If the receiver started after a stream's first 2^32 numbers, it assumed a later base. */
static int find_ended(struct sink_streams *t, uint16_t id, uint64_t base)
{
	unsigned n = atomic_load_explicit(&t->n, memory_order_acquire);
	int later = -1;

	for (unsigned i = 0; i < n; i++) {
		if (is_stream(t, &t->at[i], id, base))
			return (int)i;
		if (sink_streams_has(t, i) && t->at[i].id == id &&
		    t->at[i].base - base < STAMP_SPAN)
			later = (int)i;
	}
	return later >= 0 ? later : find_stream(t, id, base);
}

static void note_end(struct sink *s, const void *data, unsigned have)
{
	struct end_record end;
	struct sink_stream *st;
	uint64_t base, sent, refused;
	int index;

	if (have < sizeof(end))
		return;
	memcpy(&end, data, sizeof(end));
	base = be64toh(end.base);
	sent = be64toh(end.sent);
	refused = be64toh(end.refused);
	if (be64toh(end.check) != ~(be16toh(end.stream) ^ base ^ sent ^ refused))
		return;
	if (base > STAMP_NUMBER_MASK || sent > STAMP_SPAN || refused > STAMP_SPAN - sent)
		return; /* this number does not belong to any stream */
	index = find_ended(s->streams, be16toh(end.stream), base);
	if (index < 0 || s->streams->at[index].base < base)
		return;
	st = &s->streams->at[index];
	st->end_base = base;
	st->end_sent = sent;
	st->end_refused = refused;
	atomic_store(&st->ended, true);
}

/* Marks the number as received. Another thread may be receiving the duplicate at the same time. */
static bool is_second(const struct sink_streams *t, uint8_t *arrived)
{
	if (__atomic_load_n(arrived, __ATOMIC_RELAXED))
		return true;
	if (t->shared)
		return __atomic_exchange_n(arrived, 1, __ATOMIC_RELAXED);
	__atomic_store_n(arrived, 1, __ATOMIC_RELAXED);
	return false;
}

static void note_arrival(struct sink *s, struct line *l, uint64_t number, unsigned len)
{
	struct sink_streams *t = s->streams;
	struct sink_stream *st = &t->at[l->stream];
	uint8_t *arrived = &st->arrivals[number & (t->window - 1)];

	if (number < atomic_load_explicit(&st->tail, memory_order_acquire)) {
		s->sums.late++;
		return;
	}
	if (is_second(t, arrived)) {
		s->sums.duplicated++;
		l->duplicated++;
		return;
	}
	s->sums.delivered++;
	if (number >= s->next[l->stream])
		__atomic_store_n(&s->next[l->stream], number + 1, __ATOMIC_RELAXED);
	line_arrived(l, number, len);
}

static uint16_t magic_of(const void *data, unsigned have)
{
	uint16_t magic = 0;

	if (have >= sizeof(magic))
		memcpy(&magic, data, sizeof(magic));
	return be16toh(magic);
}

void sink_packet(struct sink *s, const void *data, unsigned have, unsigned len, uint64_t now_tai)
{
	struct stamp stamp;
	struct line *line;
	uint64_t word;
	int index;

	if (have >= sizeof(stamp))
		memcpy(&stamp, data, sizeof(stamp));
	if (have < sizeof(stamp) || magic_of(data, have) != STAMP_MAGIC ||
	    stamp.check != ~stamp.word) {
		if (sink_is_end(data, have))
			note_end(s, data, have);
		else
			s->sums.invalid++;
		return;
	}
	word = be64toh(stamp.word);
	index = find_stream(s->streams, STAMP_STREAM(word), STAMP_NUMBER(word));
	if (index < 0) {
		s->sums.foreign++;
		return;
	}
	line = sink_line(s, (uint16_t)index);
	if (!is_whole(s, line, STAMP_NUMBER(word), data, have, len))
		s->sums.damaged++;
	note_arrival(s, line, STAMP_NUMBER(word), len);
	note_delay(s, line, word, data, have, now_tai);
	if (s->reader) { /* this may take a long time */
		sink_end(s);
		reader_work(s->reader, STAMP_STREAM(word), STAMP_NUMBER(word), len);
		sink_begin(s);
	}
}

void sink_begin(struct sink *s)
{
	atomic_fetch_add(&s->turn, 1); /* must come before reading any tail */
}

void sink_end(struct sink *s)
{
	atomic_store_explicit(&s->turn, s->turn + 1, memory_order_release);
}

void sink_pass(const struct sink *s)
{
	uint32_t turn = atomic_load(&s->turn);

	while (turn % 2 && atomic_load(&s->turn) == turn)
		sched_yield();
}

void sink_sums_add(struct sink_sums *sum, const struct sink_sums *one)
{
	sum_words(sum, one, offsetof(struct sink_sums, first_ns));
	if (one->first_ns && (!sum->first_ns || one->first_ns < sum->first_ns))
		sum->first_ns = one->first_ns;
	sum->last_ns = larger(sum->last_ns, one->last_ns);
}

void sink_forget(struct sink *s)
{
	for (unsigned i = 0; i < s->lines; i++) {
		free(s->line[i]->delay);
		free(s->line[i]);
	}
	if (s->past)
		free(s->past->delay);
	free(s->past);
	s->past = NULL;
	s->lines = 0;
	legs_forget(&s->legs_sums);
	memset(s->recent, 0, sizeof(s->recent));
}

void sink_streams_set_tail(struct sink_streams *t, unsigned stream, uint64_t upto)
{
	/* the bytes for the new numbers have been cleared */
	atomic_store(&t->at[stream].tail, upto);
	if (t->table)
		__atomic_store_n(&t->table->at[stream], upto, __ATOMIC_RELEASE);
}

void sink_streams_empty(struct sink_streams *t, unsigned stream, uint64_t from, uint64_t upto)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	while (from < upto) {
		uint64_t at = from & (t->window - 1), n = smaller(upto - from, t->window - at);
		uint8_t *bytes = t->at[stream].arrivals + at;

		if (t->bytes) {
			memset(bytes, 0, n);
		} else if (at % page || n < page) {
			n = n < page - at % page ? n : page - at % page;
			memset(bytes, 0, n);
		} else {
			n -= n % page;
			madvise(bytes, n, MADV_DONTNEED);
		}
		from += n;
	}
}

void sink_streams_close(struct sink_streams *t, unsigned stream)
{
	atomic_store(&t->at[stream].closed, true);
}

void sink_streams_open(struct sink_streams *t, unsigned stream)
{
	atomic_store(&t->at[stream].closed, false);
}

void sink_streams_drop(struct sink_streams *t, unsigned stream)
{
	struct sink_stream *st = &t->at[stream];

	st->ended = false;
	st->ahead = 0;
	st->life++;
	t->table->at[stream] = 0;
	__atomic_store_n(&t->table->key[stream], 0, __ATOMIC_RELEASE);
}

bool sink_is_end(const void *data, unsigned have)
{
	return magic_of(data, have) == END_MAGIC;
}

void sink_streams_forget(struct sink_streams *t)
{
	if (!t->table || t->bytes)
		return;
	for (unsigned i = 0; i < atomic_load(&t->n); i++)
		munmap(t->at[i].arrivals, t->window);
	atomic_store(&t->n, 0);
}
