/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Documents of experiments as one HTML file: pictures are inline SVG, the style is inside, nothing
 * is loaded from anywhere, and no script is run. The documents themselves are in it as
 * JSON, each in an element that begins with HTML_DOCUMENT: report/load.h reads them back.
 */
#ifndef PKTLEDGER_REPORT_HTML_H
#define PKTLEDGER_REPORT_HTML_H

#include <json-c/json.h>
#include <stdio.h>

#include "base/err.h"
#include "report/load.h"

#define HTML_BEGIN    "<!DOCTYPE html>"
#define HTML_DOCUMENT "<script type=\"application/json\" class=\"pktledger-document\""

struct html_page {
	const struct ledgers_document
		*docs; /* as `-j` prints them; whatever is missing is left out */
	unsigned n;
	struct json_object *comparison; /* of the first two, by compare_documents(); or NULL */
	struct json_object *matrix;	/* of all, by matrix_new(): shown in their place; or NULL */
	bool redact;			/* paths are not shown */
};

/*
 * Writes the page. Documents may hold anything: names are escaped, bytes that are not UTF-8 become
 * U+FFFD. 0, -ENOMEM, or -errno of the first write that failed.
 */
int html_write(FILE *out, const struct html_page *page);

/*
 * The same as a file with mode 0600, which is there at once or not at all: the page that was there
 * before stays until then. A file that is no page is not overwritten: STATUS_USAGE. "-" is stdout;
 * what is no regular file is written as it is.
 */
int html_file(const char *path, const struct html_page *page, struct error *err);

#endif
