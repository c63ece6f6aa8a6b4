// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/reading_told.h"

#include <stdio.h>
#include <string.h>

/* Which thread, if there are several. */
static void name_thread(const struct reading *r, char buf[READING_TOLD], const char *process)
{
	if (r->threads == 1)
		snprintf(buf, READING_TOLD, "%s", process);
	else if (r->seen)
		snprintf(buf, READING_TOLD, "the thread %s of %s", r->thread, process);
	else if (strcmp(r->thread, r->process))
		snprintf(buf, READING_TOLD, "%s (its busiest thread, %s)", process, r->thread);
	else
		snprintf(buf, READING_TOLD, "%s (the busiest of its %u threads)", process,
			 r->threads);
}

/* "sip[812]", "the thread rtp-3 of sip[812] (one of 4 processes that have the socket)" */
static void name_reader(const struct reading *r, char buf[READING_TOLD])
{
	char process[32];
	size_t n;

	snprintf(process, sizeof(process), "%s[%d]", r->process, r->pid);
	name_thread(r, buf, process);
	n = strlen(buf);
	if (r->holders > 1)
		snprintf(buf + n, READING_TOLD - n, " (one of %u processes that have the socket)",
			 r->holders);
}

void reading_tell(const struct reading *r, char buf[READING_TOLD], struct finding_facts *f)
{
	name_reader(r, buf);
	f->reader = buf;
	f->reader_ns = r->window_ns;
	f->reader_run_ns = r->run_ns;
	f->reader_wait_ns = r->wait_ns;
	f->reader_throttled_ns = r->throttled_ns;
	f->reader_stopped = r->stopped;
	f->reader_sleeps_in = r->sleeps_in;
	f->queue_samples = r->samples;
	f->queue_bytes = r->queue_bytes;
	if (r->window_ns)
		f->arrival_most_pps =
			(double)(r->lost + r->received_around) * 1e9 / (double)r->window_ns;
}
