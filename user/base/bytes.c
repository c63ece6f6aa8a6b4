// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/bytes.h"

#include <pthread.h>

#define POLYNOMIAL 0xedb88320

static uint32_t table[256];

static void fill_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = v >> 1 ^ (v & 1 ? POLYNOMIAL : 0);
		table[i] = v;
	}
}

uint32_t crc32_ieee(const void *data, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint8_t *p = data;
	uint32_t crc = ~0u;

	pthread_once(&once, fill_table);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}
