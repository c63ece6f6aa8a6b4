/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Exit statuses, and how a module says what went wrong. Modules print nothing: they fill a
 * struct error and return a negative errno; the command prints it once.
 */
#ifndef PKTLEDGER_BASE_ERR_H
#define PKTLEDGER_BASE_ERR_H

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 1, /* the run failed */
	STATUS_USAGE = 2,  /* bad command line */
	STATUS_UNABLE = 3, /* not possible here: kernel, capability, driver */
	STATUS_BROKEN = 4, /* done, but not balanced, or a limit is broken */
};

struct error {
	enum status status; /* STATUS_OK: no error recorded */
	char message[320];  /* what and why, one line, no full stop; control characters are '?' */
	char hint[320];	    /* what to do, the same; may be empty */
};

/*
 * Records an error, unless one is recorded already: the first is the cause. `hint` may be NULL.
 * Returns `code`, a negative errno, so that a failing function can end in `return error_set(...)`.
 */
int error_set(struct error *e, enum status status, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The same of a bad command line, STATUS_USAGE; -EINVAL. And STATUS_FAILED for want of memory. */
int error_usage(struct error *e, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int error_memory(struct error *e);

/* The first with ": " and strerror() of `code`. Records nothing and returns 0 if it is 0. */
int error_errno(struct error *e, enum status status, int code, const char *hint, const char *fmt,
		...) __attribute__((format(printf, 5, 6)));

#ifdef __clang_analyzer__ /* `make analyze`: it cannot see into the function */
#define error_set(e, status, code, ...)                                                            \
	((error_set)(e, status, code, __VA_ARGS__), (code) < 0 ? (code) : -1)
#define error_usage(e, ...) ((error_usage)(e, __VA_ARGS__), -1)
#define error_memory(e)	    ((error_memory)(e), -1)
#define error_errno(e, status, code, ...)                                                          \
	((error_errno)(e, status, code, __VA_ARGS__), (code) < 0 ? (code) : 0)
#endif

#endif
