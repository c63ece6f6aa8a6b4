// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rates, sizes, times and shapes: a parsed value, written as text, parses to the same value. */
#include "fuzz.h"

#include "traffic/shape.h"
#include "drops/balance.h"

static void plain(const char *text)
{
	static const struct {
		int (*read)(const char *s, uint64_t *out);
		char *(*write)(uint64_t v);
	} kinds[] = {
		{num_count, num_text_count}, {num_size, num_text_size}, {num_time, num_text_time}};
	uint64_t v, again;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].read(text, &v))
			continue;
		MUST(!kinds[i].read(kinds[i].write(v), &again));
		MUST(v == again);
	}
}

static void others(const char *text)
{
	struct endpoint to, to_again;
	struct limit limit, limit_again;
	struct rate rate, rate_again;

	if (!num_rate(text, &rate) && rate.value > 1e-6) { /* room for digits */
		MUST(!num_rate(num_text_rate(&rate), &rate_again));
		MUST(rate.unit == rate_again.unit && rate.value == rate_again.value);
	}
	if (!num_limit(text, &limit)) {
		MUST(!num_limit(num_text_limit(&limit), &limit_again));
		MUST(limit.stage == limit_again.stage && limit.value == limit_again.value);
	}
	if (!num_endpoint(text, &to)) {
		MUST(!num_endpoint(num_text_endpoint(&to), &to_again));
		MUST(to.family == to_again.family && to.port == to_again.port);
	}
}

static void shapes(const char *text)
{
	static struct imix imix;
	static struct rate_plan plan;
	struct balance_numbering numbering;
	struct shape_ports ports;
	struct shape_addrs addrs;
	struct error err = {0};

	if (!imix_parse(text, &imix, &err))
		MUST(imix.n && imix.n <= SHAPE_SIZES);
	if (!rate_plan_parse(text, &plan, &err))
		MUST(plan.kind != PLAN_NONE && plan.n <= PROFILE_PARTS);
	if (!ports_parse(text, &ports))
		MUST(ports.n);
	if (!addrs_parse(text, &addrs))
		MUST(addrs.n);
	err = (struct error){0};
	if (!numbering_parse(text, &numbering, &err)) {
		MUST(numbering.kind == NUMBERS_RTP ||
		     (numbering.bytes >= 1 && numbering.bytes <= 8));
		MUST(numbering.kind == NUMBERS_RTP || numbering.step);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);

	plain(text);
	others(text);
	shapes(text);
	free(text);
	return 0;
}
