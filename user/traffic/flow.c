// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/flow.h"

#include "stamp.h"

void flow_fill(uint8_t *payload, unsigned len)
{
	for (unsigned i = STAMP_LEN; i < len; i++)
		payload[i] = (uint8_t)('a' + i % 26);
}
