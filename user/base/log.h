/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages next to the result: all on stderr, one line per call, without a newline in the format.
 * Thread-safe.
 */
#ifndef PKTLEDGER_BASE_LOG_H
#define PKTLEDGER_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR, /* always shown */
	LOG_LEVEL_WARN,	 /* hidden by -q, like all levels below */
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG, /* -v: adds warnings of libbpf and libxdp */
	LOG_LEVEL_TRACE, /* -vv: adds all messages of libbpf and libxdp */
};

/*
 * Sets the verbosity: -1 for -q, 0, or the number of -v. Detects whether stderr is a terminal, and
 * redirects the messages of libbpf and libxdp. Call this function once, before other threads start.
 */
void log_init(int verbosity);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Returns whether lines of this level are shown, to skip work for hidden lines. */
bool log_shows(enum log_level level);

/*
 * Prints a progress line that overwrites itself, cut to the terminal's width. Prints nothing
 * without a terminal or with -q. Any log line clears it first. Call log_progress_clear() before
 * writing to stdout.
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_clear(void);

/*
 * Returns whether to use colour on fd: a terminal, not TERM=dumb, NO_COLOR unset or empty
 * (no-color.org).
 */
bool log_colour(int fd);

/*
 * Returns buf with the end of the last verifier log, without its statistics: the reason why a
 * program was refused. The newest lines, oldest first, separated by "; ", or "" without a log. Call
 * log_libbpf_clear() before an operation whose failure is to be explained.
 */
char *log_verifier_last(char *buf, size_t size);
void log_libbpf_clear(void);

/*
 * Returns the reason why a program was not loaded (`rc`: -errno), with the verifier's message,
 * which is then cleared.
 */
char *log_load_failure(char *buf, size_t size, int rc);

#endif
