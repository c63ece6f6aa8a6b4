// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The forms of values: what is one, and how the kernel will write it. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "host/change_parts.h"
#include "host/journal_entry.h"

#define MAX_CPUS 8192 /* NR_CPUS of the largest kernels */

static int put(char value[JOURNAL_VALUE_SIZE], const char *text)
{
	return snprintf(value, JOURNAL_VALUE_SIZE, "%s", text) < JOURNAL_VALUE_SIZE ? 0 : -ENOSPC;
}

static int form_number(const struct change_setting *set, uint64_t max, const char *wanted,
		       char value[JOURNAL_VALUE_SIZE])
{
	uint64_t n;
	int ret = num_u64(wanted, set->min, max, &n);

	if (!ret)
		snprintf(value, JOURNAL_VALUE_SIZE, "%llu", (unsigned long long)n);
	return ret;
}

/* How many decimal numbers, with one blank between them, the text is made of; 0: none. */
static unsigned count_numbers(const char *s)
{
	unsigned n = 0;

	for (;; s++) {
		if (*s == '-')
			s++;
		if (!isdigit((unsigned char)*s))
			return 0;
		while (isdigit((unsigned char)*s))
			s++;
		n++;
		if (!*s)
			return n;
		if (*s != ' ')
			return 0;
	}
}

static bool is_printable(const char *s)
{
	for (; *s; s++) {
		if (!isprint((unsigned char)*s))
			return false;
	}
	return true;
}

static int form_numbers(const char *old, const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	char normal[JOURNAL_VALUE_SIZE];

	if (strlen(wanted) >= sizeof(normal))
		return -ENOSPC;
	journal_value_normal(normal, wanted, strlen(wanted));
	if (!*normal || !is_printable(normal) ||
	    (*old && count_numbers(normal) != count_numbers(old)))
		return -EINVAL;
	return put(value, normal);
}

/* The kernel writes as many digits as it has CPUs or queues for: those of `old`. */
static int form_mask(const char *old, const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	size_t at = strlen(old), from = strlen(wanted);

	if (!from || at >= JOURNAL_VALUE_SIZE)
		return -EINVAL;
	for (const char *c = wanted; *c; c++) {
		if (*c == ',' ? c == wanted || !c[1] || c[1] == ',' : !isxdigit((unsigned char)*c))
			return -EINVAL;
	}
	value[at] = '\0';
	while (at--) {
		if (old[at] == ',') {
			value[at] = ',';
			continue;
		}
		while (from && wanted[from - 1] == ',')
			from--;
		value[at] = from ? tolower((unsigned char)wanted[--from]) : '0';
	}
	while (from--) {
		if (wanted[from] != '0' && wanted[from] != ',')
			return -ERANGE;
	}
	return 0;
}

/* "3" or "0-3" at *s, which is moved behind it. */
static int read_range(const char **s, bool cpus[MAX_CPUS])
{
	char *end;
	unsigned long first, last;

	if (!isdigit((unsigned char)**s))
		return -EINVAL;
	first = last = strtoul(*s, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return -EINVAL;
		last = strtoul(end + 1, &end, 10);
	}
	if (last < first)
		return -EINVAL;
	if (last >= MAX_CPUS)
		return -ERANGE;
	memset(cpus + first, true, last - first + 1);
	*s = end;
	return 0;
}

/* As bitmap_list_string() of lib/vsprintf.c. */
static int form_cpus(const char *wanted, char value[JOURNAL_VALUE_SIZE])
{
	bool cpus[MAX_CPUS + 1] = {};
	size_t len = 0;
	int ret;

	for (;; wanted++) {
		ret = read_range(&wanted, cpus);
		if (ret)
			return ret;
		if (!*wanted)
			break;
		if (*wanted != ',')
			return -EINVAL;
	}
	for (unsigned first = 0; first < MAX_CPUS; first++) {
		unsigned last = first;

		if (!cpus[first])
			continue;
		while (cpus[last + 1])
			last++;
		len += snprintf(value + len, JOURNAL_VALUE_SIZE - len,
				last > first ? "%s%u-%u" : "%s%u", len ? "," : "", first, last);
		if (len >= JOURNAL_VALUE_SIZE)
			return -ENOSPC;
		first = last;
	}
	return 0;
}

int change_form(const struct change_setting *set, uint64_t max, const char *old, const char *wanted,
		char value[JOURNAL_VALUE_SIZE])
{
	switch (set->form) {
	case FORM_NUMBER:
		return form_number(set, max, wanted, value);
	case FORM_NUMBERS:
		return form_numbers(old, wanted, value);
	case FORM_MASK:
		return form_mask(old, wanted, value);
	case FORM_CPUS:
		return form_cpus(wanted, value);
	case FORM_SWITCH:
		if (strcmp(wanted, "on") && strcmp(wanted, "off"))
			return -EINVAL;
		return put(value, wanted);
	case FORM_WORD:
		if (!*wanted || !is_printable(wanted) || strchr(wanted, ' '))
			return -EINVAL;
		return put(value, wanted);
	case FORM_OWN:
		break;
	}
	return -EINVAL;
}
