// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/utf8.h"

unsigned utf8_length(const char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* of the first byte, of the second */
		unsigned length;
	} forms[] = {
		{0x01, 0x7f, 0, 0, 1},	     {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};
	const unsigned char *s = (const unsigned char *)text;

	for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (*s < forms[i].first || *s > forms[i].last)
			continue;
		if (forms[i].length == 1)
			return 1;
		if (s[1] < forms[i].low || s[1] > forms[i].high)
			return 0;
		for (unsigned k = 2; k < forms[i].length; k++) {
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		}
		return forms[i].length;
	}
	return 0;
}

unsigned utf8_shown(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned length = utf8_length(text);

	if (length == 1)
		return *s >= 0x20 && *s != 0x7f;
	return length == 2 && *s == 0xc2 && s[1] < 0xa0 ? 0 : length;
}

char *utf8_tame(char *s)
{
	for (char *at = s; *at;) {
		unsigned length = utf8_shown(at);

		if (!length)
			*at = '?';
		at += length ? length : 1;
	}
	return s;
}

unsigned utf8_print(FILE *out, const char *s)
{
	unsigned column = 0;

	for (; *s; column++) {
		unsigned length = utf8_shown(s);

		if (length)
			fwrite(s, 1, length, out);
		else
			fputc('?', out);
		s += length ? length : 1;
	}
	return column;
}
