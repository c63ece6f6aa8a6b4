/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two text formats of Prometheus, line by line: OpenMetrics 1.0, and the older one, which is
 * what node_exporter reads from files. In OpenMetrics a family has the name, and its samples a
 * suffix (_total, _info); in the older format both have the suffix.
 */
#ifndef PKTLEDGER_MONITOR_EXPOSE_H
#define PKTLEDGER_MONITOR_EXPOSE_H

#include <stdint.h>
#include <stdio.h>

enum expose_format { EXPOSE_TEXT, EXPOSE_OPENMETRICS, EXPOSE_FORMATS };

enum expose_type { EXPOSE_COUNTER, EXPOSE_GAUGE, EXPOSE_INFO };

struct family {
	const char *name; /* without suffix; ends with the unit */
	enum expose_type type;
	const char *unit; /* NULL: none */
	const char *help; /* a sentence */
};

struct label {
	const char *name, *value; /* an empty value is as no label */
};

/* The head of a family; its samples follow, before that of another. */
void expose_family(FILE *out, enum expose_format format, const struct family *f);

/*
 * Labels are escaped; what is not UTF-8 becomes U+FFFD. The number of a counter or gauge: whole, or
 * in seconds from nanoseconds.
 */
void expose_sample(FILE *out, const struct family *f, const struct label *labels, unsigned n,
		   uint64_t value);
void expose_seconds(FILE *out, const struct family *f, uint64_t ns);

void expose_end(FILE *out, enum expose_format format);

const char *expose_content_type(enum expose_format format);

/* What both formats begin with, if a family of this program is the first. */
#define EXPOSE_BEGIN "# TYPE pktledger_"

#endif
