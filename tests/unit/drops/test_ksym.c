// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <string.h>

#include "cases.h"
#include "drops/ksym.h"
#include "recorded.h"

#define FIXTURES "tests/fixtures/kallsyms/"

static struct ksyms *open_small(void)
{
	struct error err = {};
	struct ksyms *k;

	if (ksyms_open(&k, FIXTURES "small", &err))
		fail_msg("%s (run from the top of the tree)", err.message);
	return k;
}

static void tell_range(const struct trace_range *at)
{
	tell("%llx-%llx", at->start, at->end);
}

static struct trace_range range_of(const struct ksyms *k, const char *name)
{
	struct trace_range range;

	ksym_ranges(k, &name, 1, &range);
	return range;
}

/* An address, or names of functions. */
static void take_line(void *arg, const char *verb, char *text)
{
	const struct ksyms *k = arg;
	const uint64_t at = strtoull(text, NULL, 16);
	struct trace_range found[8], one;
	char buf[KSYM_NAME], *word[8];
	struct ksym sym;
	int n;

	if (!strcmp(verb, "case"))
		return;
	n = recorded_words(text, word, LENGTH(word));
	if (!strcmp(verb, "place")) {
		tell("%s", ksym_format(k, at, buf, sizeof(buf)));
	} else if (!strcmp(verb, "find")) {
		if (ksym_find(k, at, &sym) == -ENOENT)
			tell("none");
		else
			tell("%s '%s' %d", sym.name, sym.module, (int)sym.offset);
	} else if (!strcmp(verb, "address")) {
		one = range_of(k, text);
		if (one.start)
			tell("%llx", one.start);
		else
			tell("none");
	} else {
		assert_string_equal(verb, "ranges");
		ksym_ranges(k, (const char *const *)word, (unsigned)n, found);
		for (int i = 0; i < n; i++) {
			one = range_of(k, word[i]);
			assert_memory_equal(&one, &found[i], sizeof(one));
			tell_range(&one);
		}
	}
}

CASE(recorded)
{
	struct ksyms *k = open_small();

	recorded_stories(FIXTURES "cases", take_line, k);
	ksyms_free(k);
}

CASE(hidden)
{
	struct error err = {};
	struct ksyms *k;

	assert_int_equal(ksyms_open(&k, FIXTURES "hidden", &err), -EPERM);
	assert_null(k);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, "CAP_SYSLOG"));
	assert_true(err.hint[0] != '\0');
}

CASE(missing)
{
	struct error err = {};
	struct ksyms *k;

	assert_int_equal(ksyms_open(&k, FIXTURES "nothing", &err), -ENOENT);
	assert_int_equal(err.status, STATUS_UNABLE);
	assert_non_null(strstr(err.message, FIXTURES "nothing"));
}

CASE(running_kernel)
{
	struct error err = {};
	struct ksyms *k, *again, *other;
	struct ksym sym;
	uint64_t addr;

	if (ksyms_open(&k, NULL, &err)) {
		assert_int_equal(err.status, STATUS_UNABLE);
		skip();
	}
	addr = range_of(k, "consume_skb").start;
	assert_true(addr);
	assert_int_equal(ksym_find(k, addr + 1, &sym), 0);
	assert_string_equal(sym.name, "consume_skb");
	assert_int_equal(sym.offset, 1);
	/* the next one has them at once, two have their own */
	ksyms_free(k);
	assert_int_equal(ksyms_open(&again, NULL, &err), 0);
	assert_ptr_equal(again, k);
	assert_int_equal(ksyms_open(&other, NULL, &err), 0);
	assert_ptr_not_equal(other, k);
	assert_int_equal(range_of(other, "consume_skb").start, addr);
	ksyms_free(other);
	ksyms_free(again);
	/* one that was not closed is not taken, and a thread reads a new one */
	assert_int_equal(ksyms_open(&again, NULL, &err), 0);
	ksyms_prepare();
	ksyms_prepare();
	assert_int_equal(ksyms_open(&other, NULL, &err), 0);
	assert_ptr_not_equal(other, again);
	assert_int_equal(range_of(other, "consume_skb").start, addr);
	ksyms_free(other);
	ksyms_free(again);
}
