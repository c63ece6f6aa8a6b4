// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "cases.h"
#include "drops/balance.h"

CASE(read_as_written)
{
	static const struct {
		const char *text;
		struct balance_numbering n;
	} rows[] = {
		{"rtp", {.kind = NUMBERS_RTP}},
		{"0:4", {NUMBERS_OFFSET, 0, 4, 1}},
		{"8:8", {NUMBERS_OFFSET, 8, 8, 1}},
		{"2:2:160", {NUMBERS_OFFSET, 2, 2, 160}},
		{"65519:8", {NUMBERS_OFFSET, 65519, 8, 1}},
		{"65526:1", {NUMBERS_OFFSET, 65526, 1, 1}},
		{"2:4:1", {NUMBERS_OFFSET, 2, 4, 1}},
	};
	struct balance_numbering n;
	struct error err = {};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(numbering_parse(rows[i].text, &n, &err), 0);
		assert_int_equal(n.kind, rows[i].n.kind);
		assert_int_equal(n.offset, rows[i].n.offset);
		assert_int_equal(n.bytes, rows[i].n.bytes);
		assert_int_equal(n.step, rows[i].n.step);
	}
}

CASE(refused)
{
	static const char *const texts[] = {
		"RTP",
		"rtp:1",
		"x",
		"1",
		":",
		"1:",
		"1:0",
		"1:9",
		":4",
		"-1:4",
		"1:4:",
		"1:4:0",
		"1:4:-1",
		"1:4:1:1",
		"1:4:2x",
		" 1:4",
		"65527:1",
		"65520:8",
		"0:1:64",
		"0:2:20000",
		"0:8:4294967297",
		"0000000000000000000000000000000000000000000000000000000000000000:1",
	};

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct balance_numbering n;
		struct error err = {};

		if (numbering_parse(texts[i], &n, &err) >= 0)
			fail_msg("'%s' was taken", texts[i]);
		assert_int_equal(err.status, STATUS_USAGE);
		assert_true(strlen(err.message) > 0 && !strchr(err.message, '\n'));
	}
}
