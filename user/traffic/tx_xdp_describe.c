// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "base/bytes.h"
#include "traffic/pace.h"
#include "traffic/proto.h"
#include "traffic/tx_xdp.h"

/* One's complement: taking the port out of the sum is adding its complement. */
static uint16_t sum_without_port(const uint8_t *payload)
{
	uint32_t sum = (uint16_t)~get16(payload - 2) + (uint16_t)~get16(payload - 8);

	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

void tx_xdp_describe(struct gen_config *gen, const uint8_t *frame, const struct flow *flow,
		     unsigned flows, const struct stream *stream)
{
	const uint8_t *payload = frame + proto_payload_offset(flow->family);

	*gen = (struct gen_config){
		.stream = STAMP_WORD(stream->id, 0),
		.flows = flows ? flows : 1,
		.first_port = get16(payload - 8),
		.port_free_sum = sum_without_port(payload),
		.ipv6 = flow->family == AF_INET6,
		.debt = (uint64_t)PACE_DEBT_NS << GEN_PERIOD_SHIFT,
		.depth = (uint64_t)PACE_DEPTH_NS << GEN_PERIOD_SHIFT,
	};
	memcpy(gen->header, frame, GEN_HEADER_MAX);
}
