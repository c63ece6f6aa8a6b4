// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/settle.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/watch.h"
#include "drops/outcomes.h"

#define STEPS	     50	       /* steps per --settle time */
#define STEP_MIN_NS  20000000  /* ns, the loop that moves the window runs every 5 ms */
#define COARSE	     10	       /* steps per mark, if numbers are kept for longer than the
				* --settle time */
#define SLACK_NS     300000000 /* ns, margin for loops that run late and for folding */
#define GSO_PPS	     12e6      /* pps, with many datagrams per call */
#define COPY_PPS     3e6
#define MEMORY_SHARE 8

static uint64_t step_ns(uint64_t settle_ns)
{
	uint64_t step = settle_ns / STEPS;

	return step < STEP_MIN_NS ? STEP_MIN_NS : step;
}

double window_pps(const struct tx_ops *tx, bool gso, bool veth)
{
	if (gso)
		return GSO_PPS;
	return veth && tx == &tx_xsk ? COPY_PPS : tx->fastest_pps;
}

uint64_t window_most(unsigned streams)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	return bytes / MEMORY_SHARE / WINDOW_EACH / streams;
}

uint64_t window_size(uint64_t count, double pps, uint64_t settle_ns, unsigned streams)
{
	uint64_t ns = settle_ns + 2 * step_ns(settle_ns) + SLACK_NS;
	double need = pps * (double)ns * 1e-9;
	uint64_t size = outcomes_window(need < (double)count ? (uint64_t)need : count);
	uint64_t most = window_most(streams);

	while (size > most && size > TRACE_PAGE_SIZE)
		size /= 2;
	return size;
}

void window_init(struct window *w, unsigned streams, uint64_t settle_ns)
{
	*w = (struct window){.streams = streams, .settle_ns = settle_ns};
}

bool window_is_due(const struct window *w, uint64_t now_ns)
{
	return !w->marks || now_ns - w->moved_ns >= step_ns(w->settle_ns);
}

void window_note(struct window *w, uint64_t now_ns, const uint64_t *next)
{
	struct window_mark *newest = &w->mark[(w->oldest + w->marks - 1) % WINDOW_MARKS], *mark;
	uint64_t step = step_ns(w->settle_ns);

	if (w->marks)
		w->counted_ns += smaller(now_ns - w->moved_ns, step + SLACK_NS);
	w->moved_ns = now_ns;
	if (w->marks > WINDOW_MARKS / 2 && w->counted_ns - newest->counted_ns < COARSE * step)
		return;
	mark = w->marks == WINDOW_MARKS ? newest
					: &w->mark[(w->oldest + w->marks++) % WINDOW_MARKS];
	mark->counted_ns = w->counted_ns;
	memcpy(mark->next, next, w->streams * sizeof(*next));
}

const uint64_t *window_leaving(struct window *w)
{
	const uint64_t *leaving = NULL;

	/* several marks may have expired if the caller was late */
	while (w->marks && w->counted_ns - w->mark[w->oldest].counted_ns >= w->settle_ns) {
		leaving = w->mark[w->oldest].next;
		w->oldest = (w->oldest + 1) % WINDOW_MARKS;
		w->marks--;
	}
	return leaving;
}

bool settle_wait(const struct settling *s)
{
	uint64_t start = clock_now(), next = start + s->interval_ns, quiet_since = start;
	uint64_t last = 0, turned = start, outcomes;

	while (s->outcomes(s->arg, &outcomes)) {
		uint64_t now = clock_now(), stood = now - turned, quiet;

		stood -= smaller(stood, SLACK_NS);
		turned = now;
		start += stood;
		quiet_since += stood;
		if (outcomes != last)
			quiet_since = now;
		last = outcomes;
		quiet = now - quiet_since;
		if (now - start >= s->most_ns || (quiet >= s->quiet_ns && s->idle(s->arg) &&
						  (quiet >= s->silent_ns || s->complete(s->arg))))
			return false;
		if (s->interval_ns && now >= next) {
			s->show(s->arg, true);
			next += s->interval_ns;
		}
		if (watch_tick())
			return true;
	}
	return false;
}
