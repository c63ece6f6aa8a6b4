/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prometheus metrics: sums of all drops that the collector reported, by label, since the start of
 * the program, and metrics about the exporter itself.
 *
 * Sums never decrease. The number of series is bounded. If the limit is reached, a series that has
 * not changed for an hour is removed. If all series changed within the hour, new drops are added to
 * an "others" series per stage and class, so the sums per stage stay correct. Labels have few
 * values per host. Fields with many values (sockets, process numbers, flows) are not labels.
 * Expected drops have only the labels stage and reason.
 */
#ifndef PKTLEDGER_MONITOR_METRICS_H
#define PKTLEDGER_MONITOR_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "monitor/live.h"
#include "monitor/tcp.h"

/* OpenMetrics 1.0, and the older text format, which node_exporter reads from files. */
enum expose_format { EXPOSE_TEXT, EXPOSE_OPENMETRICS, EXPOSE_FORMATS };

const char *expose_content_type(enum expose_format format);

/* First bytes of both formats. */
#define METRICS_BEGIN "# TYPE pktledger_"

/* Fields of the collector from which the labels are made. LIVE_PROCESS adds the process name. */
#define METRICS_BY                                                                                 \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |    \
	 LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_CGROUP))

#define METRICS_IDLE_NS 3600000000000ULL /* 1 h without a change, then a series may be removed */

struct metrics;

/*
 * `max_series`: limit of separate series, at least 1, without the "others" series. `xdp_gaps`: some
 * losses of XDP itself cannot be observed.
 */
struct metrics *metrics_new(unsigned max_series, bool xdp_gaps);
void metrics_free(struct metrics *m); /* NULL is allowed */

/* Adds an interval that ended `time_ns` after the start and at `realtime_ns` since the epoch. */
void metrics_take(struct metrics *m, const struct live_table *rows, const struct live_own *own,
		  uint64_t time_ns, uint64_t realtime_ns);

/* Updates the TCP retransmission metrics from tcp_account_look(). They are shown after the first
 * call. */
void metrics_tcp(struct metrics *m, const struct tcp_balance *b);

/* Returns the metrics as text, to be freed by the caller. */
char *metrics_text(const struct metrics *m, enum expose_format format, size_t *len);

/*
 * Writes a file for node_exporter's textfile collector, readable for all users, replaced
 * atomically. `m` NULL: only checks that the file can be written. STATUS_FAILED: cannot write.
 * STATUS_USAGE: the existing file is not from this program.
 */
int metrics_file(const struct metrics *m, const char *path, struct error *err);

#endif
