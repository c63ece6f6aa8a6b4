/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structs as text, for tests with recorded inputs and results: in "bytes=5 lost_at.qdisc=3" all
 * other fields are 0. A file has lines "VERB TEXT". A line "case NAME" starts a case, and a line
 * with '#' is a comment. Comparisons use the whole text, so that every field of the table is
 * compared.
 */
#ifndef PKTLEDGER_RECORDED_H
#define PKTLEDGER_RECORDED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"

/*
 * An unsigned number, or an array of them. `names`: of its elements, or of the values of an
 * enumeration (n is 0); NULL: numbers.
 */
struct recorded_field {
	const char *name;
	size_t at, size;
	unsigned n;
	const char *const *names;
};

#define FIELD(type, member) {#member, offsetof(type, member), sizeof(((type *)0)->member), 1, NULL}
#define FIELD_ENUM(type, member, names)                                                            \
	{#member, offsetof(type, member), sizeof(((type *)0)->member), 0, names}
#define FIELDS(type, member, names)                                                                \
	{#member, offsetof(type, member), sizeof(((type *)0)->member[0]),                          \
	 LENGTH(((type *)0)->member), names}

#define RECORDED_TEXT 2048

static const char *recorded_name(const struct recorded_field *f, unsigned i, char buf[64])
{
	if (f->n <= 1)
		snprintf(buf, 64, "%s", f->name);
	else if (f->names)
		snprintf(buf, 64, "%s.%s", f->name, f->names[i]);
	else
		snprintf(buf, 64, "%s.%u", f->name, i);
	return buf;
}

static inline const char *recorded_text(const struct recorded_field *f, const void *from)
{
	static char text[RECORDED_TEXT];
	size_t len = 0;
	char name[64];

	*text = '\0';
	for (; f->name; f++) {
		for (unsigned i = 0; i < larger(f->n, 1); i++) {
			uint64_t value = 0;

			memcpy(&value, (const char *)from + f->at + i * f->size, f->size);
			if (!value)
				continue;
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s=",
						len ? " " : "", recorded_name(f, i, name));
			len += (size_t)(f->n ? snprintf(text + len, sizeof(text) - len, "%" PRId64,
							value)
					     : snprintf(text + len, sizeof(text) - len, "%s",
							f->names[value]));
		}
	}
	assert_true(len < sizeof(text));
	return text;
}

static void recorded_set(const struct recorded_field *f, const char *word, const char *text,
			 void *to)
{
	uint64_t value = strtoull(text, NULL, 10);
	char name[64];

	for (; f->name; f++) {
		for (unsigned i = 0; i < larger(f->n, 1); i++) {
			if (strcmp(f->n <= 1 ? f->name : recorded_name(f, i, name), word))
				continue;
			while (!f->n && strcmp(f->names[value], text))
				value++;
			memcpy((char *)to + f->at + i * f->size, &value, f->size);
			return;
		}
	}
	fail_msg("no field %s", word);
}

/* Sets the fields of a text, which is used up. */
static inline void recorded_read(const struct recorded_field *f, char *text, void *to)
{
	for (char *word; (word = strsep(&text, " "));) {
		char *value = strchr(word, '=');

		if (!value)
			continue;
		*value++ = '\0';
		recorded_set(f, word, value, to);
	}
}

/* Calls `line` for each line of the file, and for "case" at its end. */
static inline void recorded_each(const char *path,
				 void (*line)(void *arg, const char *verb, char *text), void *arg)
{
	FILE *f = fopen(path, "r");
	char *text = NULL, end[] = "";
	size_t size = 0;
	ssize_t n;

	if (!f)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while ((n = getline(&text, &size, f)) > 0) {
		char *rest = text, *verb;

		text[n - 1] = '\0';
		verb = strsep(&rest, " ");
		if (*verb && *verb != '#')
			line(arg, verb, rest ? rest : end);
	}
	line(arg, "case", end);
	free(text);
	fclose(f);
}

/*
 * Stories: a line does something, and what it told by tell() is the line "is TEXT" after it. With
 * UPDATE=1 recorded_stories() writes these lines again: look at the difference before it is
 * committed.
 */
static char told[RECORDED_TEXT];

/* Adds a word, or several. */
__attribute__((format(printf, 1, 2))) static inline void tell(const char *fmt, ...)
{
	size_t n = strlen(told);
	va_list args;

	if (n)
		told[n++] = ' ';
	va_start(args, fmt);
	n += (size_t)vsnprintf(told + n, sizeof(told) - n, fmt, args);
	va_end(args);
	assert_true(n < sizeof(told));
}

/* Takes the next word, "" after the last. */
static inline char *recorded_word(char **text)
{
	static char none[] = "";
	char *word = strsep(text, " ");

	*text = *text ? *text : none;
	return word;
}

/* In quotes "\\n", "\\t" and "\\xHH" are one character. Returns its length, 0: none of them. */
static inline int recorded_escape(const char *text, char *to)
{
	unsigned byte;

	if (text[0] == '\\' && (text[1] == 'n' || text[1] == 't')) {
		*to = text[1] == 'n' ? '\n' : '\t';
		return 2;
	}
	if (sscanf(text, "\\x%2x", &byte) != 1)
		return 0;
	*to = (char)byte;
	return 4;
}

/* All words, of which some have blanks, and are in quotes. */
static inline int recorded_words(char *text, char **word, int most)
{
	int n = 0;

	for (char *to = text; *text; n++) {
		const bool quoted = *text == '\'';
		const char end = quoted ? '\'' : ' ';

		assert_true(n < most);
		word[n] = to;
		for (text += quoted; *text && *text != end;) {
			const int escaped = quoted ? recorded_escape(text, to) : 0;

			if (!escaped)
				*to = *text;
			text += larger((unsigned)escaped, 1);
			to++;
		}
		text += *text && quoted;
		text += *text == ' ';
		*to++ = '\0';
	}
	return n;
}

/* Adds a text, in which characters other than ASCII are shown as in the words of a line. */
static inline void tell_escaped(const char *text)
{
	char shown[RECORDED_TEXT] = "";
	size_t n = 0;

	for (; *text && n < sizeof(shown) - 5; text++) {
		if (*text == '\n')
			n += (size_t)sprintf(shown + n, "\\n");
		else if ((signed char)*text < ' ' || *text == 0x7f)
			n += (size_t)sprintf(shown + n, "\\x%02x", (uint8_t)*text);
		else
			shown[n++] = *text;
	}
	shown[n] = '\0';
	tell("%s", shown);
}

/* The text, or that of "@FILE" without the lines that describe it ("# "). To be freed. */
static inline char *recorded_input(const char *word)
{
	char path[128], line[8192], *text = NULL;
	size_t size;
	FILE *in, *out;

	if (*word != '@')
		return strdup(word);
	snprintf(path, sizeof(path), "tests/fixtures/%s", word + 1);
	in = fopen(path, "r");
	if (!in)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	out = open_memstream(&text, &size);
	while (fgets(line, sizeof(line), in)) {
		if (strncmp(line, "# ", 2))
			fputs(line, out);
	}
	fclose(in);
	fclose(out);
	return text;
}

static inline void
recorded_stories(const char *path, void (*line)(void *arg, const char *verb, char *text), void *arg)
{
	const bool update = getenv("UPDATE");
	FILE *in = fopen(path, "r"), *out;
	char *text = NULL, *now = NULL, name[128] = "";
	size_t size = 0, length = 0;
	ssize_t n;

	if (!in)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	out = open_memstream(&now, &length);
	while ((n = getline(&text, &size, in)) > 0) {
		const bool is = !strncmp(text, "is ", 3);
		char *rest = text;

		text[n - 1] = '\0';
		if (!update && strcmp(told, is ? text + 3 : ""))
			fail_msg("%s\n   %s\nis %s", name, is ? text + 3 : "nothing", told);
		*told = '\0';
		if (is)
			continue;
		fprintf(out, "%s\n", text);
		if (!strncmp(text, "case ", 5))
			snprintf(name, sizeof(name), "%s", text + 5);
		if (*text && *text != '#') {
			const char *verb = strsep(&rest, " ");

			line(arg, verb, rest ? rest : text + n - 1);
		}
		if (update && *told)
			fprintf(out, "is %s\n", told);
	}
	assert_true(update || !*told);
	fclose(in);
	fclose(out);
	if (update) {
		out = fopen(path, "w");
		assert_true(out && fwrite(now, 1, length, out) == length && !fclose(out));
	}
	free(text);
	free(now);
}

#endif
