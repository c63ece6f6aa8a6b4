/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads and writes numbers in network byte order at any alignment. */
#ifndef PKTLEDGER_BASE_BYTES_H
#define PKTLEDGER_BASE_BYTES_H

#include <stdint.h>

static inline uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static inline uint64_t get64(const uint8_t *at)
{
	return (uint64_t)get32(at) << 32 | get32(at + 4);
}

static inline void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

#endif
