// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "books/fates.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "engine/tx.h"
#include "stamp.h"

uint64_t fates_window(uint64_t count)
{
	uint64_t window = TRACE_PAGE_SIZE;

	while (window < count)
		window *= 2;
	return window;
}

int fates_init(struct fates *f, uint16_t streams, uint64_t window, struct error *err)
{
	uint16_t random[2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return error_set(err, STATUS_FAILED, -errno, NULL, "no random numbers: %s",
				 strerror(errno));
	memset(f, 0, sizeof(*f));
	f->streams = streams;
	f->window = window;
	/* 0 is kept free: a word of 0 means "no number" to the observers */
	f->stream0 = (uint16_t)(1 + random[0] % (UINT16_MAX - TRACE_STREAMS));
	f->base = (uint64_t)(random[1] % UINT16_MAX + 1) << 32;
	for (unsigned i = 0; i < TRACE_STREAMS; i++)
		f->tail[i] = f->base;
	f->bytes = streams * window;
	return 0;
}

static int map_bytes(uint8_t **at, size_t bytes, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		return -errno;
	*at = p;
	return 0;
}

int fates_map(struct fates *f, int fates_fd, int seen_fd, int arrivals_fd, struct error *err)
{
	int rc;

	rc = map_bytes(&f->cause, f->bytes, fates_fd);
	if (!rc)
		rc = map_bytes(&f->seen, f->bytes, seen_fd);
	if (!rc)
		rc = map_bytes(&f->arrivals, f->bytes, arrivals_fd);
	if (!rc)
		rc = map_bytes(&f->failed, f->bytes, -1);
	if (!rc)
		return 0;
	fates_unmap(f);
	return error_set(err, STATUS_FAILED, rc, "a smaller --count needs less",
			 "cannot map 4 x %zu bytes for the fates: %s", f->bytes, strerror(-rc));
}

void fates_unmap(struct fates *f)
{
	uint8_t **part[] = {&f->cause, &f->seen, &f->arrivals, &f->failed};

	for (unsigned i = 0; i < 4; i++) {
		if (*part[i])
			munmap(*part[i], f->bytes);
		*part[i] = NULL;
	}
}

/* A number that was left out has no fate; if it has one, nobody sent that packet. */
static bool is_gap(const struct fates *f, size_t i)
{
	return f->failed[i] == TX_ERRNO_GAP;
}

/* Delivered stands before any drop; a failed send that an observer saw was a packet after all. */
static enum fate fate_of(const struct fates *f, size_t i, const uint8_t *ignored)
{
	if (is_gap(f, i))
		return FATE_GAP;
	if (f->arrivals[i])
		return FATE_DELIVERED;
	if (!ignored[f->cause[i]] && f->cause[i])
		return FATE_DROPPED;
	return f->failed[i] && !f->seen[i] && !f->cause[i] ? FATE_REFUSED : FATE_OPEN;
}

static void tally_one(struct fate_tally *t, const struct fates *f, uint16_t slot, uint64_t n,
		      size_t i, enum fate fate)
{
	struct fate_cause *c = &t->cause[slot][f->cause[i]];

	t->attempted += fate != FATE_GAP;
	t->missing[slot] += fate == FATE_DROPPED || fate == FATE_OPEN;
	switch (fate) {
	case FATE_GAP:
		t->left_out++;
		t->impossible += f->arrivals[i] || f->cause[i];
		break;
	case FATE_DELIVERED:
		t->delivered++;
		if (t->missing[slot])
			gaps_note(&t->gaps, t->missing[slot]);
		t->missing[slot] = 0;
		break;
	case FATE_DROPPED:
		t->dropped++;
		if (!c->packets++)
			c->first = n;
		c->last = n;
		if (f->l3_bytes)
			c->l3_bytes += f->l3_bytes(f->l3_arg, slot, n);
		break;
	case FATE_REFUSED:
		t->refused++;
		t->refused_by[f->failed[i]]++;
		break;
	case FATE_OPEN:
		t->unaccounted++;
		t->unaccounted_seen[f->seen[i] & SEEN_MASK]++;
		t->unaccounted_on_init += !!(f->seen[i] & SEEN_ON_INIT);
		break;
	}
}

void fates_fold(struct fates *f, uint16_t slot, uint64_t upto, const uint8_t *ignored,
		struct fate_tally *t, const struct fates_visitor *visitor)
{
	uint64_t first = f->tail[slot] - f->base;
	enum fate run_fate = FATE_OPEN;
	uint8_t run_cause = 0;

	for (uint64_t number = f->tail[slot]; number < upto; number++) {
		size_t i = fates_index(f, slot, number);
		enum fate fate = fate_of(f, i, ignored);
		uint8_t cause = fate == FATE_DROPPED ? f->cause[i] : 0;
		uint64_t n = number - f->base;

		if (visitor && n > first && (fate != run_fate || cause != run_cause)) {
			visitor->run(visitor->arg, slot, first, n - 1, run_fate, run_cause);
			first = n;
		}
		run_fate = fate;
		run_cause = cause;
		tally_one(t, f, slot, n, i, fate);
		f->arrivals[i] = f->cause[i] = f->seen[i] = f->failed[i] = 0;
	}
	if (upto <= f->tail[slot])
		return;
	if (visitor)
		visitor->run(visitor->arg, slot, first, upto - 1 - f->base, run_fate, run_cause);
	f->tail[slot] = upto;
}

void fates_beyond(struct fates *f, uint16_t slot, uint64_t next, struct fate_tally *t)
{
	for (uint64_t number = next; number < f->tail[slot] + f->window; number++) {
		size_t i = fates_index(f, slot, number);

		t->impossible += f->arrivals[i] || f->cause[i];
	}
}
