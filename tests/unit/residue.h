/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes the checksum by its definition, not with the code under test: modulo 2^16 - 1, byte by
 * byte. The result 0 means a correct checksum.
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
