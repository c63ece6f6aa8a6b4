/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_BASE_UTF8_H
#define PKTLEDGER_BASE_UTF8_H

#include <stdio.h>

/* Bytes of the well-formed sequence at the beginning of `s` (RFC 3629); 0: none, or the end. */
unsigned utf8_length(const char *s);

/*
 * The same if it is to be seen, and does nothing else: 0 for what a terminal obeys, which is all
 * controls, also those of two bytes (U+0080 to U+009F).
 */
unsigned utf8_shown(const char *s);

/* Makes a '?' of each byte that is no part of such a character, in place. Returns `s`. */
char *utf8_tame(char *s);

/* Prints `s` in that way. Returns how many characters it has. */
unsigned utf8_print(FILE *out, const char *s);

/* What stands for bytes that are not UTF-8: U+FFFD. */
#define UTF8_REPLACEMENT "\xef\xbf\xbd"

#endif
