/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is exported to Prometheus: the sums of all that the collector has seen, by labels, for as
 * long as the program runs, and what it says of itself.
 *
 * Sums never go back. Their number is bounded: where there is no room, a series that has not moved
 * for an hour gives way; if all have, what is new goes to a series of others, one for each stage
 * and class, so that the sums of stages hold. A label has few values on a host; what has many
 * (sockets, numbers of processes, flows) is no label. What is benign has stage and reason only.
 */
#ifndef PKTLEDGER_MONITOR_METRICS_H
#define PKTLEDGER_MONITOR_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/live.h"
#include "monitor/tcp.h"

/* OpenMetrics 1.0, and the older format, which is what node_exporter reads from files. */
enum expose_format { EXPOSE_TEXT, EXPOSE_OPENMETRICS, EXPOSE_FORMATS };

const char *expose_content_type(enum expose_format format);

/* What both formats begin with. */
#define METRICS_BEGIN "# TYPE pktledger_"

/* The fields of the collector that the labels are made of; with LIVE_PROCESS its name, too. */
#define METRICS_BY                                                                                 \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |    \
	 LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_CGROUP))

#define METRICS_IDLE_NS 3600000000000ULL /* until a series may give way */

struct metrics;

/*
 * `max_series`: that are told apart, at least 1, without those of others; `xdp_gaps`: not all
 * losses of XDP itself are seen.
 */
struct metrics *metrics_new(unsigned max_series, bool xdp_gaps);
void metrics_free(struct metrics *m); /* NULL is allowed */

/* Adds an interval that ended at `time_ns` since the start, `realtime_ns` since the epoch. */
void metrics_take(struct metrics *m, const struct live_table *rows, const struct live_own *own,
		  uint64_t time_ns, uint64_t realtime_ns);

/* From then on what TCP sent again is shown, too: up to now, by tcp_account_look(). */
void metrics_tcp(struct metrics *m, const struct tcp_balance *b);

/* As text, to be freed. */
char *metrics_text(const struct metrics *m, enum expose_format format, size_t *len);

/*
 * As a file for node_exporter's textfile collector, readable for all: there at once or not at all.
 * `m` NULL: only whether it can be written. STATUS_FAILED; STATUS_USAGE: there is a file that is
 * not of this program.
 */
int metrics_file(const struct metrics *m, const char *path, struct error *err);

#endif
