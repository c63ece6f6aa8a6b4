/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Prometheus metrics. These are sums of all drops that the collector reported since the program
 * started, by label, and metrics about the exporter itself.
 *
 * Sums never decrease. The number of series is bounded. When the limit is reached, a series that
 * has not changed for an hour is removed. If all series have changed within the hour, new drops are
 * added to one "others" series per stage and class, so that the sums per stage remain correct.
 * Labels have few values per host. Fields with many values (sockets, process numbers, flows) are
 * not labels. Expected drops have only the labels stage and reason.
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

/* The collector's fields from which labels are made. LIVE_PROCESS adds the process name. */
#define METRICS_BY                                                                                 \
	(LIVE_BY_STAGE | LIVE_BIT(LIVE_REASON) | LIVE_BIT(LIVE_IFNAME) | LIVE_BIT(LIVE_NETNS) |    \
	 LIVE_BIT(LIVE_POD) | LIVE_BIT(LIVE_CONTAINER) | LIVE_BIT(LIVE_CGROUP))

#define METRICS_IDLE_NS 3600000000000ULL /* 1 h without a change, after which a series may be
					  * removed */

struct metrics;

/*
 * `max_series`: maximum number of separate series, at least 1, without the "others" series.
 * `xdp_gaps`: some losses in XDP itself cannot be observed.
 */
struct metrics *metrics_new(unsigned max_series, bool xdp_gaps);
void metrics_free(struct metrics *m); /* NULL is allowed */

/* Adds an interval that ended `time_ns` after the start, at `realtime_ns` since the epoch. */
void metrics_take(struct metrics *m, const struct live_table *rows, const struct live_own *own,
		  uint64_t time_ns, uint64_t realtime_ns);

/* Updates the TCP retransmission metrics from tcp_account_look(). They are shown once this was
 * called. */
void metrics_tcp(struct metrics *m, const struct tcp_balance *b);

/* Returns the metrics as text, which the caller frees. */
char *metrics_text(const struct metrics *m, enum expose_format format, size_t *len);

/*
 * Writes a file for node_exporter's textfile collector. All users can read the file, and it is
 * replaced atomically. `m` NULL: only checks that the file can be written. STATUS_FAILED: the file
 * cannot be written. STATUS_USAGE: an existing file was not written by this program.
 */
int metrics_file(const struct metrics *m, const char *path, struct error *err);

#endif
