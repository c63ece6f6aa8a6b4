// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/expose.h"

#include <inttypes.h>

#include "base/json.h"

static const char *suffix_of(const struct family *f)
{
	static const char *const suffixes[] = {
		[EXPOSE_COUNTER] = "_total", [EXPOSE_GAUGE] = "", [EXPOSE_INFO] = "_info"};

	return suffixes[f->type];
}

static const char *type_of(enum expose_format format, const struct family *f)
{
	static const char *const types[] = {
		[EXPOSE_COUNTER] = "counter", [EXPOSE_GAUGE] = "gauge", [EXPOSE_INFO] = "info"};

	if (f->type == EXPOSE_INFO && format == EXPOSE_TEXT)
		return "gauge";
	return types[f->type];
}

void expose_family(FILE *out, enum expose_format format, const struct family *f)
{
	const char *suffix = format == EXPOSE_TEXT ? suffix_of(f) : "";

	fprintf(out, "# TYPE %s%s %s\n", f->name, suffix, type_of(format, f));
	if (f->unit && format == EXPOSE_OPENMETRICS)
		fprintf(out, "# UNIT %s %s\n", f->name, f->unit);
	fprintf(out, "# HELP %s%s %s\n", f->name, suffix, f->help);
}

/* Both formats escape these three in a label. */
static void put_escaped(FILE *out, const char *text)
{
	while (*text) {
		unsigned len = utf8_length(text);

		if (!len)
			fputs(UTF8_REPLACEMENT, out);
		else if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fwrite(text, 1, len, out);
		text += len ? len : 1;
	}
}

static void put_name(FILE *out, const struct family *f, const struct label *labels, unsigned n)
{
	char before = '{';

	fprintf(out, "%s%s", f->name, suffix_of(f));
	for (unsigned i = 0; i < n; i++) {
		if (!*labels[i].value)
			continue;
		fprintf(out, "%c%s=\"", before, labels[i].name);
		put_escaped(out, labels[i].value);
		fputc('"', out);
		before = ',';
	}
	if (before == ',')
		fputc('}', out);
}

void expose_sample(FILE *out, const struct family *f, const struct label *labels, unsigned n,
		   uint64_t value)
{
	put_name(out, f, labels, n);
	fprintf(out, " %" PRIu64 "\n", value);
}

void expose_seconds(FILE *out, const struct family *f, uint64_t ns)
{
	put_name(out, f, NULL, 0);
	fprintf(out, " %" PRIu64 ".%09" PRIu64 "\n", ns / 1000000000, ns % 1000000000);
}

void expose_end(FILE *out, enum expose_format format)
{
	if (format == EXPOSE_OPENMETRICS)
		fputs("# EOF\n", out);
}

const char *expose_content_type(enum expose_format format)
{
	return format == EXPOSE_OPENMETRICS
		       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
