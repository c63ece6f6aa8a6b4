// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int(error_set)(struct error *e, enum status status, int code, const char *hint, const char *fmt,
	       ...)
{
	va_list ap;

	if (!e || e->status != STATUS_OK)
		return code;
	e->status = status;
	va_start(ap, fmt);
	vsnprintf(e->message, sizeof(e->message), fmt, ap);
	va_end(ap);
	snprintf(e->hint, sizeof(e->hint), "%s", hint ? hint : "");
	return code;
}

int(error_errno)(struct error *e, enum status status, int code, const char *hint, const char *fmt,
		 ...)
{
	char what[sizeof(e->message)];
	va_list ap;

	if (!code)
		return 0;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return (error_set)(e, status, code, hint, "%s: %s", what, strerror(-code));
}
