/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exit statuses, and how modules report errors. Modules do not print anything. They fill in a
 * struct error and return a negative errno, and the command prints the error once.
 */
#ifndef PKTLEDGER_BASE_ERR_H
#define PKTLEDGER_BASE_ERR_H

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1, /* the command failed */
	STATUS_USAGE = 2,  /* bad command line */
	STATUS_UNABLE = 3, /* not supported here: kernel, capability, driver */
	STATUS_BROKEN = 4, /* completed, but not balanced or a limit is broken */
};

struct error {
	enum status status; /* STATUS_OK: no error recorded */
	char message[320];  /* the error and its reason: one line, no full stop, control characters
			     * replaced by '?' */
	char hint[320];	    /* the advice, in the same format, may be empty */
};

/*
 * Records an error, unless one is already recorded, because the first error is the cause. `hint`
 * may be NULL. Returns `code`, a negative errno, so that a function that fails can end with `return
 * error_set(...)`.
 */
int error_set(struct error *e, enum status status, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/*
 * error_usage() records an invalid command line (STATUS_USAGE) and returns -EINVAL. The other
 * function records memory exhaustion (STATUS_FAILED).
 */
int error_usage(struct error *e, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int error_memory(struct error *e);

/*
 * Records the text followed by ": " and strerror() of `code`. If `code` is 0, does nothing and
 * returns 0.
 */
int error_errno(struct error *e, enum status status, int code, const char *hint, const char *fmt,
		...) __attribute__((format(printf, 5, 6)));

#ifdef __clang_analyzer__ /* `make analyze` cannot see into the function */
#define error_set(e, status, code, ...)                                                            \
	((error_set)(e, status, code, __VA_ARGS__), (code) < 0 ? (code) : -1)
#define error_usage(e, ...) ((error_usage)(e, __VA_ARGS__), -1)
#define error_memory(e)	    ((error_memory)(e), -1)
#define error_errno(e, status, code, ...)                                                          \
	((error_errno)(e, status, code, __VA_ARGS__), (code) < 0 ? (code) : 0)
#endif

#endif
