// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "books/result.h"

void result_latency_fill(struct result_latency *l, const struct hist *delay)
{
	*l = (struct result_latency){};
	if (!delay || !hist_count(delay))
		return;
	*l = (struct result_latency){
		.measured = true,
		.min = hist_min(delay),
		.p50 = hist_quantile(delay, 0.5),
		.p90 = hist_quantile(delay, 0.9),
		.p99 = hist_quantile(delay, 0.99),
		.p999 = hist_quantile(delay, 0.999),
		.max = hist_max(delay),
	};
}
