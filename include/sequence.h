/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Evaluates the sequence numbers that an application puts in its packets: missing, duplicate and
 * late numbers, and restarts. There is one state per stream, updated in order of arrival. The same
 * code runs in the kernel (bpf/balance.bpf.c) and in user space (tests), so it needs no library and
 * no lock, and allocates no memory.
 *
 * Based on RFC 3550, appendix A.1: a stream counts from its second packet in sequence. A number far
 * from the last one is a jump, which starts a new epoch if the next packet continues it. Unlike the
 * RFC, it uses a window of recent numbers to tell late packets from duplicates.
 */
#ifndef PKTLEDGER_SEQUENCE_H
#define PKTLEDGER_SEQUENCE_H

#include <linux/types.h>

#define SEQUENCE_WORDS	16
#define SEQUENCE_WINDOW (SEQUENCE_WORDS * 64) /* numbers, a power of two */

/* How a stream counts. All values are in units of the counter. */
struct sequence_rule {
	__u64 mask;   /* 2^width - 1, at which the counter wraps */
	__u64 step;   /* difference between two packets in sequence */
	__u64 ahead;  /* a number further ahead than this is a jump (MAX_DROPOUT) */
	__u64 behind; /* a number at least this far behind is a jump (MAX_MISORDER) */
};

/* Zero-initialised: nothing seen yet. */
struct sequence {
	__u64 last;	  /* highest number in this epoch, as sent */
	__u64 highest;	  /* steps from the epoch's first number to the highest */
	__u64 seen;	  /* distinct numbers in this epoch */
	__u64 next;	  /* the number that would continue a jump */
	__u64 missing;	  /* numbers never seen in earlier epochs */
	__u64 total;	  /* distinct numbers in earlier epochs */
	__u64 duplicates; /* repeated numbers */
	__u64 reordered;  /* numbers that arrived after a higher one */
	__u64 stray; /* packets out of window: before the first number, off the step, or too far */
	__u32 restarts; /* epochs, not counting the first */
	__u8 jumped;	/* `next` is set */
	__u8 valid;	/* two numbers in sequence have been seen */
	__u16 pad;
	__u64 window[SEQUENCE_WORDS]; /* bit n & (SEQUENCE_WINDOW - 1): n has been seen */
};

static inline __u64 sequence_bit(__u64 n)
{
	return 1ULL << (n & 63);
}

static inline __u64 *sequence_word(struct sequence *s, __u64 n)
{
	return &s->window[n >> 6 & (SEQUENCE_WORDS - 1)];
}

static inline void sequence_begin(struct sequence *s, __u64 number)
{
	for (int i = 0; i < SEQUENCE_WORDS; i++)
		s->window[i] = 0;
	s->window[0] = 1;
	s->last = number;
	s->highest = 0;
	s->seen = 1;
}

/*
 * Marks the numbers first .. last as unseen when they enter the window. Marks no more numbers than
 * fit in the window.
 */
static inline void sequence_clear(struct sequence *s, __u64 first, __u64 last)
{
	__u64 word = first >> 6;

	for (int i = 0; i <= SEQUENCE_WORDS; i++, word++) {
		__u64 bits = ~0ULL;

		if (word > last >> 6)
			break;
		if (word == first >> 6)
			bits &= ~0ULL << (first & 63);
		if (word == last >> 6)
			bits &= ~0ULL >> (63 - (last & 63));
		s->window[word & (SEQUENCE_WORDS - 1)] &= ~bits;
	}
}

static inline void sequence_forward(struct sequence *s, __u64 number, __u64 steps)
{
	__u64 first = s->highest + 1;

	s->highest += steps;
	if (steps > SEQUENCE_WINDOW)
		first = s->highest - (SEQUENCE_WINDOW - 1);
	sequence_clear(s, first, s->highest);
	*sequence_word(s, s->highest) |= sequence_bit(s->highest);
	s->last = number;
	s->seen++;
	if (steps == 1)
		s->valid = 1;
}

static inline void sequence_late(struct sequence *s, __u64 steps, int again)
{
	__u64 n = s->highest - steps;
	__u64 *word = sequence_word(s, n);

	if (steps > s->highest) { /* from before this epoch */
		s->stray += !again;
	} else if (*word & sequence_bit(n)) {
		s->duplicates += !again;
	} else {
		*word |= sequence_bit(n);
		s->seen++;
		s->reordered += !again;
	}
}

static inline void sequence_jump(struct sequence *s, const struct sequence_rule *r, __u64 number)
{
	if (!s->jumped || number != s->next) {
		s->stray++;
		s->next = (number + r->step) & r->mask;
		s->jumped = 1;
		return;
	}
	/* The previous stray packet turned out to be the first of the new epoch. */
	s->stray--;
	s->restarts++;
	s->missing += s->highest + 1 - s->seen;
	s->total += s->seen;
	s->jumped = 0;
	sequence_begin(s, (number - r->step) & r->mask);
	sequence_forward(s, number, 1);
}

/*
 * Adds a packet with this number. `again`: another event for a packet that may have been added
 * before. In that case, a number that is already known or outside the window is not counted.
 */
static inline void sequence_see(struct sequence *s, const struct sequence_rule *r, __u64 number,
				int again)
{
	__u64 ahead = (number - s->last) & r->mask, behind = (s->last - number) & r->mask;

	if (!s->seen)
		sequence_begin(s, number);
	else if (ahead && ahead <= r->ahead && !(ahead % r->step))
		sequence_forward(s, number, ahead / r->step);
	else if (behind < r->behind && !(behind % r->step))
		sequence_late(s, behind / r->step, again);
	else if (!again)
		sequence_jump(s, r, number);
}

/*
 * Returns the rule for a counter that is `width` bits wide and grows by `step`. RTP uses the limits
 * from RFC 3550.
 */
static inline struct sequence_rule sequence_rule_of(unsigned width, __u64 step)
{
	struct sequence_rule r = {.mask = ~0ULL >> (64 - width), .step = step};
	__u64 quarter = r.mask / 4;

	r.ahead = width == 16 ? 3000 : 1 << 20;
	r.behind = SEQUENCE_WINDOW;
	if (step > 1) {
		r.ahead = r.ahead > quarter / step ? quarter : r.ahead * step;
		r.behind = r.behind > quarter / step ? quarter : r.behind * step;
	}
	if (r.ahead > quarter)
		r.ahead = quarter;
	if (r.behind > quarter)
		r.behind = quarter;
	return r;
}

/* Returns how many numbers were skipped in all epochs. */
static inline __u64 sequence_missing(const struct sequence *s)
{
	return s->seen ? s->missing + s->highest + 1 - s->seen : 0;
}

#endif
