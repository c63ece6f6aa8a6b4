/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_UTF8_H
#define PKTLEDGER_UTF8_H

/* Bytes of the well-formed sequence at the beginning of `s` (RFC 3629); 0: none, or the end. */
unsigned utf8_length(const char *s);

/* What stands for bytes that are not UTF-8: U+FFFD. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
