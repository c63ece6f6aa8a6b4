// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

static void record(struct error *e, enum status status, const char *hint, const char *fmt,
		   va_list ap)
{
	if (!e || e->status != STATUS_OK)
		return;
	e->status = status;
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	snprintf(e->hint, sizeof(e->hint), "%s", hint ? hint : "");
	utf8_tame(e->message); /* the text may contain other programs' names and arguments */
	utf8_tame(e->hint);
}

int(error_set)(struct error *e, enum status status, int code, const char *hint, const char *fmt,
	       ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(e, status, hint, fmt, ap);
	va_end(ap);
	return code;
}

int(error_usage)(struct error *e, const char *hint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	record(e, STATUS_USAGE, hint, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

int(error_memory)(struct error *e)
{
	return (error_set)(e, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
}

int(error_errno)(struct error *e, enum status status, int code, const char *hint, const char *fmt,
		 ...)
{
	char what[sizeof(e->message)];
	va_list ap;

	if (!code)
		return 0;
	if (code == -EMFILE) /* whatever the descriptor was for */
		hint = "raise the limit, for example: ulimit -n 4096";
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return (error_set)(e, status, code, hint, "%s: %s", what, strerror(-code));
}
