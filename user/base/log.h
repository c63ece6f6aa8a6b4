/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the program says beside its result: all on stderr, one line a call without a newline in the
 * format. Safe from any thread.
 */
#ifndef PKTLEDGER_BASE_LOG_H
#define PKTLEDGER_BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR, /* always shown */
	LOG_LEVEL_WARN,	 /* not with -q, as are all below */
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG, /* -v: also what libbpf and libxdp warn of */
	LOG_LEVEL_TRACE, /* -vv: all that libbpf and libxdp say */
};

/*
 * verbosity: -1 for -q, 0, else the number of -v. Looks whether stderr is a terminal, and takes
 * over the messages of libbpf and libxdp. To be called once, before other threads.
 */
void log_init(int verbosity);

void log_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Whether lines of this level are shown: for what is costly to find out. */
bool log_shows(enum log_level level);

/*
 * One line that overwrites itself, cut to the terminal's width; nothing without a terminal or with
 * -q. Any log line clears it first. Before stdout is written, call log_progress_clear().
 */
void log_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_progress_clear(void);

/* Colour is wanted on fd: a terminal, not TERM=dumb, NO_COLOR unset or empty (no-color.org). */
bool log_colour(int fd);

/*
 * The end of the last verifier log, without its statistics: why a program was refused. The newest
 * lines, oldest first, divided by "; "; "" if there is none. Returns buf. log_libbpf_clear() is to
 * be called before an operation whose failure is to be explained.
 */
char *log_verifier_last(char *buf, size_t size);
void log_libbpf_clear(void);

/* Why a program was not loaded (`rc`: -errno), with what the verifier said: then forgotten. */
char *log_load_failure(char *buf, size_t size, int rc);

#endif
