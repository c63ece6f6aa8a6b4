// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The histogram against the sorted values themselves. */
#include "cases.h"

#include <math.h>
#include <stdlib.h>

#include "base/hist.h"
#include "ledger/result.h"

#define VALUES 20000

static int open_hist(void **state)
{
	*state = calloc(1, sizeof(struct hist));
	return !*state;
}

static int close_hist(void **state)
{
	free(*state);
	return 0;
}

/* Asserts that `got` is not below `exact`, and at most 1/64 (1.6 %) above. */
static void assert_close(uint64_t got, uint64_t exact)
{
	assert_true(got >= exact);
	assert_true(got - exact <= exact / 64);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Of all magnitudes: as many below 10 as above 2^60. */
static uint64_t any_value(void)
{
	uint64_t bits = (uint64_t)(unsigned)rand() << 33 ^ (uint64_t)(unsigned)rand() << 11 ^
			(unsigned)rand();

	return bits >> (rand() % 64);
}

CASE_WITH(empty, open_hist, close_hist)
{
	struct hist *h = *state;
	struct result_latency l = {.measured = true};

	assert_int_equal(h->count, 0);
	assert_int_equal(h->min, 0);
	assert_int_equal(h->max, 0);
	assert_int_equal(hist_quantile(h, 0.5), 0);
	result_latency_fill(&l, h);
	assert_false(l.measured);
	result_latency_fill(&l, NULL);
	assert_false(l.measured);
}

/* 1.6 % at every quantile of values over 64 powers of two. */
CASE_WITH(quantiles_are_close, open_hist, close_hist)
{
	static const double shares[] = {0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
	static uint64_t values[VALUES];
	struct hist *h = *state;

	srand(1);
	for (unsigned i = 0; i < VALUES; i++)
		hist_add(h, values[i] = any_value());
	qsort(values, VALUES, sizeof(values[0]), by_value);
	assert_int_equal(h->count, VALUES);
	assert_int_equal(h->min, values[0]);
	assert_int_equal(h->max, values[VALUES - 1]);
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		assert_close(hist_quantile(h, shares[i]),
			     values[(unsigned)ceil(shares[i] * VALUES) - 1]);
	/* a bucket's upper edge is never reported where no value was: the maximum is known */
	assert_int_equal(hist_quantile(h, 1), values[VALUES - 1]);
}

/* The edges of the buckets: on both sides of every power of two. */
CASE(edges_of_powers_of_two)
{
	for (unsigned shift = 0; shift < 64; shift++) {
		for (int side = -1; side <= 1; side++) {
			uint64_t value = (1ULL << shift) + (uint64_t)side;
			struct hist *h = calloc(1, sizeof(struct hist));

			assert_non_null(h);
			hist_add(h, value);
			hist_add(h, UINT64_MAX);
			assert_close(hist_quantile(h, 0.5), value);
			assert_int_equal(h->min, value);
			free(h);
		}
	}
}

CASE_WITH(small_values_are_exact, open_hist, close_hist)
{
	struct hist *h = *state;

	for (uint64_t v = 0; v < 128; v++)
		hist_add(h, v);
	for (unsigned v = 0; v < 128; v++)
		assert_int_equal(hist_quantile(h, (v + 1) / 128.0), v);
}

CASE_WITH(extremes, open_hist, close_hist)
{
	struct hist *h = *state;

	hist_add(h, UINT64_MAX);
	assert_int_equal(h->min, UINT64_MAX);
	assert_int_equal(hist_quantile(h, 0), UINT64_MAX);
	hist_add(h, 0);
	assert_int_equal(h->count, 2);
	assert_int_equal(h->min, 0);
	assert_int_equal(h->max, UINT64_MAX);
	assert_int_equal(hist_quantile(h, 0), 0);
	assert_int_equal(hist_quantile(h, 0.5), 0);
	assert_int_equal(hist_quantile(h, 0.51), UINT64_MAX);
	assert_int_equal(hist_quantile(h, 1), UINT64_MAX);
}

CASE_WITH(merging_is_adding, open_hist, close_hist)
{
	struct hist *all = *state, *part[3];

	srand(2);
	for (unsigned i = 0; i < 3; i++)
		assert_non_null(part[i] = calloc(1, sizeof(struct hist)));
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t v = any_value() | 1; /* the least is not 0 */

		hist_add(all, v);
		hist_add(part[i % 2], v);
	}
	hist_merge(part[2], part[0]); /* into an empty one */
	hist_merge(part[2], part[1]);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(part[2]->count, 1000);
		assert_int_equal(part[2]->min, all->min);
		assert_int_equal(part[2]->max, all->max);
		for (double q = 0; q <= 1; q += 0.01)
			assert_int_equal(hist_quantile(part[2], q), hist_quantile(all, q));
		free(part[1]);
		assert_non_null(part[1] = calloc(1, sizeof(struct hist)));
		hist_merge(part[2], part[1]); /* an empty one changes nothing */
	}
	for (unsigned i = 0; i < 3; i++)
		free(part[i]);
}

CASE_WITH(latency_of_a_result, open_hist, close_hist)
{
	struct hist *h = *state;
	struct result_latency l;

	for (uint64_t v = 1; v <= 1000; v++)
		hist_add(h, v * 1000);
	result_latency_fill(&l, h);
	assert_true(l.measured);
	assert_int_equal(l.min, 1000);
	assert_int_equal(l.max, 1000000);
	assert_close(l.p50, 500000);
	assert_close(l.p90, 900000);
	assert_close(l.p99, 990000);
	assert_close(l.p999, 999000);
}

CASE_WITH(quarters_hold_everything_once, open_hist, close_hist)
{
	static const uint64_t values[] = {0, 1, 15, 16, 63, 64, 79, 80, 1000, 1 << 20, UINT64_MAX};
	struct hist *h = *state;
	uint64_t count[HIST_QUARTERS], sum = 0;

	for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hist_add(h, values[i]);
	hist_quarters(h, count);
	for (unsigned i = 0; i < HIST_QUARTERS; i++) {
		uint64_t from = hist_quarter_from(i), to = hist_quarter_to(i), within = 0;

		assert_true(from <= to);
		assert_true(!i || from == hist_quarter_to(i - 1) + 1);
		for (unsigned k = 0; k < sizeof(values) / sizeof(values[0]); k++)
			within += values[k] >= from && values[k] <= to;
		assert_int_equal(count[i], within);
		sum += count[i];
	}
	assert_int_equal(sum, h->count);
	assert_true(hist_quarter_to(HIST_QUARTERS - 1) == UINT64_MAX);
}
