// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The bytes of the stamp as the contract has them, and what makes them free of checksums. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "traffic/shape.h"
#include "unit/residue.h"

#define WORD 0x123456789abcdef0ULL /* stream 0x1234 */
#define TIME 0x1716151413121110ULL

static const uint8_t golden[STAMP_TIME_LEN] = {
	0x70, 0x6b,					/* magic */
	0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, /* word: stream, number */
	0xed, 0xcb, 0xa9, 0x87, 0x65, 0x43, 0x21, 0x0f, /* ~word */
	0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x10, /* time */
	0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, /* ~time */
};

CASE(stamp_is_as_agreed)
{
	uint8_t payload[STAMP_TIME_LEN + 1];

	assert_int_equal(STAMP_WORD(0x1234, 0x56789abcdef0ULL), WORD);
	assert_int_equal(STAMP_WORD(0x1234, 0xffff56789abcdef0ULL), WORD);
	assert_int_equal(STAMP_STREAM(WORD), 0x1234);
	assert_int_equal(STAMP_NUMBER(WORD), 0x56789abcdef0ULL);
	memset(payload, 0xaa, sizeof(payload));
	flow_stamp(payload, sizeof(payload), WORD, TIME);
	assert_memory_equal(payload, golden, sizeof(golden));
	assert_int_equal(payload[STAMP_TIME_LEN], 0xaa);
}

/* One byte too short for the time: nothing of it is written. */
CASE(time_only_where_it_fits)
{
	uint8_t payload[STAMP_TIME_LEN];

	memset(payload, 0xaa, sizeof(payload));
	flow_stamp(payload, STAMP_TIME_LEN - 1, WORD, TIME);
	assert_memory_equal(payload, golden, STAMP_LEN);
	for (unsigned i = STAMP_LEN; i < sizeof(payload); i++)
		assert_int_equal(payload[i], 0xaa);
}

static uint64_t any_word(void)
{
	return (uint64_t)(unsigned)rand() << 40 ^ (uint64_t)(unsigned)rand() << 20 ^
	       (unsigned)rand();
}

CASE(checksum_is_a_constant_of_the_flow)
{
	static const unsigned lengths[] = {STAMP_LEN, STAMP_LEN + 1, 33, 34, 35, 512, 1472};
	uint8_t payload[1472];

	srand(1);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		unsigned len = lengths[i];
		unsigned sum;

		flow_fill(payload, len);
		flow_stamp(payload, len, WORD, TIME);
		sum = residue(0, payload, len);
		for (unsigned n = 0; n < 1000; n++) {
			flow_stamp(payload, len, any_word(), any_word());
			assert_int_equal(residue(0, payload, len), sum);
		}
		payload[len - 1] ^= 1;
		assert_int_not_equal(residue(0, payload, len), sum);
	}
}

CASE(fill_leaves_the_stamp_alone)
{
	uint8_t payload[STAMP_LEN + 60];

	memset(payload, 0, sizeof(payload));
	flow_fill(payload, sizeof(payload) - 1);
	for (unsigned i = 0; i < STAMP_LEN; i++)
		assert_int_equal(payload[i], 0);
	for (unsigned i = STAMP_LEN; i < sizeof(payload) - 1; i++)
		assert_in_range(payload[i], 'a', 'z');
	assert_int_equal(payload[sizeof(payload) - 1], 0);
	/* Content that is moved by a few bytes is noticed. */
	for (unsigned by = 1; by < 26; by++)
		assert_memory_not_equal(payload + STAMP_LEN, payload + STAMP_LEN + by, 26);
}
