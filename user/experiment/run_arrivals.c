// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/run_arrivals.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void name_source(char *out, size_t size, const struct line_source *s)
{
	char address[INET6_ADDRSTRLEN];

	if (!s->port)
		return;
	if (IN6_IS_ADDR_V4MAPPED(&s->address)) {
		inet_ntop(AF_INET, &s->address.s6_addr[12], address, sizeof(address));
		snprintf(out, size, "%s:%u", address, s->port);
	} else {
		inet_ntop(AF_INET6, &s->address, address, sizeof(address));
		snprintf(out, size, "[%s]:%u", address, s->port);
	}
}

/* Sums while they are made: the mean of jitter by packets, and the merged delays. */
struct sums {
	struct hist *delay;
	double jitter;
	uint64_t delivered;
};

static void sum_line(struct sums *sums, const struct line *l)
{
	sums->jitter += (double)line_jitter(l) * (double)l->delivered;
	sums->delivered += l->delivered;
	if (!l->delay)
		return;
	if (!sums->delay)
		sums->delay = hist_new();
	if (sums->delay)
		hist_merge(sums->delay, l->delay);
}

static uint64_t mean_jitter(const struct sums *sums)
{
	return sums->delivered ? (uint64_t)(sums->jitter / (double)sums->delivered) : 0;
}

/* The flow of lines[0], and of all that are the same: those are set to NULL. */
static void fill_flow(struct arrivals_flow *f, const struct line **lines, unsigned n,
		      const struct sink_streams *streams)
{
	const struct line *first = lines[0];
	struct sums sums = {};

	*f = (struct arrivals_flow){.stream = streams->at[first->stream].id};
	name_source(f->source, sizeof(f->source), &first->source);
	for (unsigned i = 0; i < n; i++) {
		const struct line *l = lines[i];

		if (!l || !line_is(l, first->stream, &first->source))
			continue;
		f->delivered += l->delivered;
		f->bytes += l->bytes;
		f->duplicated += l->duplicated;
		f->negative += l->negative;
		reordering_add(&f->order, &l->order);
		sum_line(&sums, l);
		lines[i] = NULL;
	}
	f->jitter_ns = mean_jitter(&sums);
	result_latency_fill(&f->latency, sums.delay);
	hist_free(sums.delay);
}

void arrivals_sum(struct arrivals *out, const struct sink *const *sink, unsigned n)
{
	const struct line **lines = calloc((size_t)n * SINK_LINES, sizeof(*lines));
	struct sums sums = {};
	unsigned found = 0;

	for (unsigned s = 0; lines && s < n; s++) {
		for (unsigned i = 0; i < sink[s]->lines; i++) {
			const struct line *l = sink[s]->line[i];

			lines[found++] = l;
			sum_line(&sums, l);
			reordering_add(&out->order, &l->order);
			out->negative += l->negative;
		}
	}
	for (unsigned i = 0; i < found; i++) {
		struct arrivals_flow more;

		if (!lines[i])
			continue;
		if (out->flows < ARRIVALS_FLOWS)
			fill_flow(&out->flow[out->flows++], lines + i, found - i, sink[0]->streams);
		else if (++out->flows_more)
			fill_flow(&more, lines + i, found - i, sink[0]->streams);
	}
	out->jitter_ns = mean_jitter(&sums);
	result_latency_fill(&out->latency, sums.delay);
	if (sums.delay)
		hist_quarters(sums.delay, out->delay);
	hist_free(sums.delay);
	free(lines);
}
