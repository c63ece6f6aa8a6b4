/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Computes the checksum by its definition, not with the code under test: modulo 2^16 - 1, byte by
 * byte. The result 0 means a correct checksum.
 */
#ifndef PKTLEDGER_RESIDUE_H
#define PKTLEDGER_RESIDUE_H

#include <stdint.h>
#include <sys/socket.h>

static inline unsigned residue(unsigned sum, const uint8_t *data, unsigned length)
{
	for (unsigned i = 0; i < length; i++)
		sum = (sum + (i & 1 ? data[i] : data[i] * 256u)) % 65535;
	return sum;
}

/* Of the IPv4 header, and of pseudo header, UDP header and payload: correct, and not "none". */
static inline void assert_checksums(const uint8_t *ip, int family)
{
	const uint8_t *udp = ip + (family == AF_INET6 ? 40 : 20);
	const unsigned length = udp[4] * 256u + udp[5];
	const unsigned sum = residue(17 + length, family == AF_INET6 ? ip + 8 : ip + 12,
				     family == AF_INET6 ? 32 : 8);

	if (family == AF_INET)
		assert_int_equal(residue(0, ip, 20), 0);
	assert_true(udp[6] || udp[7]);
	assert_int_equal(residue(sum, udp, length), 0);
}

#endif
