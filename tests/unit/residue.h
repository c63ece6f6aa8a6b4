/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The checksum by its definition, not by the code under test: a number modulo 2^16 - 1, taken of
 * the bytes one by one. Right if it is 0, for a sum that is never the number 0 itself.
 */
#ifndef PKTLEDGER_RESIDUE_H
#define PKTLEDGER_RESIDUE_H

#include <stdint.h>

static inline unsigned residue(unsigned sum, const uint8_t *data, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		sum = (sum + (i & 1 ? data[i] : data[i] * 256u)) % 65535;
	return sum;
}

#endif
