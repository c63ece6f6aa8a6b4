// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/html_put.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* What HTML has no use for; blank, tab and LF are text. */
static bool is_control(unsigned char c)
{
	return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7f;
}

static const char *entity_of(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

static void put_text(FILE *out, const char *s)
{
	while (s && *s) {
		unsigned length = utf8_length(s);
		const char *entity = entity_of(*s);

		if (entity)
			fputs(entity, out);
		else if (!length || is_control((unsigned char)*s))
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
}

/* The conversion at `fmt`, which begins with %. Returns what is behind it. */
static const char *put_one(FILE *out, const char *fmt, va_list *ap)
{
	size_t n = 1 + strspn(fmt + 1, "+0123456789.l");
	bool is_long = fmt[n - 1] == 'l';
	char spec[16];

	if (n + 2 > sizeof(spec))
		abort();
	memcpy(spec, fmt, n + 1);
	spec[n + 1] = '\0';
	switch (fmt[n]) {
	case '%':
		fputc('%', out);
		break;
	case 's':
		put_text(out, va_arg(*ap, const char *));
		break;
	case 'u':
		if (is_long)
			fprintf(out, spec, va_arg(*ap, unsigned long));
		else
			fprintf(out, spec, va_arg(*ap, unsigned));
		break;
	case 'd':
		fprintf(out, spec, va_arg(*ap, int));
		break;
	case 'f':
	case 'g':
		fprintf(out, spec, va_arg(*ap, double));
		break;
	default:
		abort(); /* a format that this function is not made for */
	}
	return fmt + n + 1;
}

void html_put(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	while (*fmt) {
		size_t n = strcspn(fmt, "%");

		fwrite(fmt, 1, n, out);
		fmt += n;
		if (*fmt)
			fmt = put_one(out, fmt, &ap);
	}
	va_end(ap);
}

int html_put_json(FILE *out, struct json_object *doc)
{
	const char *s = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN);

	if (!s)
		return -ENOMEM;
	while (*s) {
		unsigned length = utf8_length(s);

		if (*s == '<')
			fputs("\\u003c", out);
		else if (!length)
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, length, out);
		s += length ? length : 1;
	}
	return 0;
}
