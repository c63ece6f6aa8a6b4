/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents of experiments as one HTML file: pictures are inline SVG, the style is inside, nothing
 * is loaded from anywhere, and no script is run. The documents themselves are in it, to be read
 * back: JSON in <script type="application/json" class="pktledger-document" data-name="..">.
 */
#ifndef PKTLEDGER_REPORT_HTML_H
#define PKTLEDGER_REPORT_HTML_H

#include <json-c/json.h>
#include <stdio.h>

struct html_document {
	const char *name;	 /* what it was read from; NULL or "": not told */
	struct json_object *doc; /* as `-j` prints it; whatever is missing is left out */
};

/*
 * Writes the page. `comparison`: of two documents, as compare_documents() makes it; NULL: they are
 * not compared. Documents may hold anything: names are escaped, bytes that are not UTF-8 become
 * U+FFFD. 0, -ENOMEM, or -errno of the first write that failed.
 */
int html_write(FILE *out, const struct html_document *docs, unsigned n,
	       struct json_object *comparison);

#endif
