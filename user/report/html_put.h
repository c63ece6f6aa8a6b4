/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writing HTML so that what a name contains never becomes markup. */
#ifndef PKTLEDGER_REPORT_HTML_PUT_H
#define PKTLEDGER_REPORT_HTML_PUT_H

#include <json-c/json.h>
#include <stdio.h>

/*
 * As fprintf(), but each %s is escaped: for text and for quoted attributes. Bytes that are not
 * UTF-8, and control characters, become U+FFFD. NULL is nothing. Only %s %u %d %f and %g, with
 * precision and l. The format itself is markup and static.
 */
void html_put(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * A document as JSON for a <script> element: < is \u003c, so neither an end tag nor a comment can
 * begin in it. -ENOMEM, or 0.
 */
int html_put_json(FILE *out, struct json_object *doc);

#endif
