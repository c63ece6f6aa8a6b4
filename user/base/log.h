/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages that are not part of the result. All go to stderr, one line per call, and the format has
 * no newline. Thread-safe.
 */
#ifndef PKTLEDGER_BASE_LOG_H
#define PKTLEDGER_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR, /* always shown */
	LOG_LEVEL_WARN,	 /* hidden by -q, like all levels below */
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG, /* shown with -v, which adds warnings from libbpf and libxdp */
	LOG_LEVEL_TRACE, /* shown with -vv, which adds all messages from libbpf and libxdp */
};

/*
 * Sets the verbosity: -1 for -q, 0, or the number of -v options. Checks whether stderr is a
 * terminal, and redirects messages from libbpf and libxdp. Call this function once, before other
 * threads start.
 */
void log_init(int verbosity);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/*
 * Returns whether lines at this level are shown, so that callers can avoid work for hidden lines.
 */
bool log_shows(enum log_level level);

/*
 * Prints a progress line that overwrites the previous one, truncated to the terminal's width.
 * Prints nothing if there is no terminal or with -q. Any log line clears it first. Call
 * log_progress_clear() before writing to stdout.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_clear(void);

/*
 * Returns whether to use colour on `fd`. It must be a terminal, TERM must not be dumb, and NO_COLOR
 * must be unset or empty (no-color.org).
 */
bool log_colour(int fd);

/*
 * Copies the end of the last verifier log into `buf` and returns it. Without the statistics, the
 * end gives the reason why a program was rejected. Uses the most recent lines, oldest first,
 * separated by "; ", or "" if there is no log. Call log_libbpf_clear() before an operation if you
 * want to explain its failure.
 */
char *log_verifier_last(char *buf, size_t size);
void log_libbpf_clear(void);

/*
 * Returns the reason why a program was not loaded (`rc`: -errno), with the verifier's message,
 * which is then cleared.
 */
char *log_load_failure(char *buf, size_t size, int rc);

#endif
