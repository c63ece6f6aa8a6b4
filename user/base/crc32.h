/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef PKTLEDGER_BASE_CRC32_H
#define PKTLEDGER_BASE_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of IEEE 802.3, reflected, as in zlib: "123456789" gives cbf43926. */
uint32_t crc32_ieee(const void *data, size_t len);

#endif
