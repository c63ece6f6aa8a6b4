/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_REPORT_HTML_FILE_H
#define PKTLEDGER_REPORT_HTML_FILE_H

#include "base/err.h"
#include "report/html.h"

/*
 * The page of html_write() as a file with mode 0600, which is there at once or not at all: the page
 * that was there before stays until then. A file that is no page is not overwritten: STATUS_USAGE.
 * "-" is stdout; what is no regular file is written as it is.
 */
int html_file(const char *path, const struct html_page *page, struct error *err);

#endif
