// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every case is an experiment with known truth: what the tracer saw, what the counters did. */

#include <stdio.h>
#include <string.h>

#include "cases.h"
#include "ledger/ledger.h"
#include "unit/countercheck_experiments.h"

static struct countercheck compare(const struct experiment *x)
{
	struct counter items[MAX_COUNTERS] = {0};
	struct counters deltas = {.items = items};
	struct countercheck check;
	size_t n = 0;

	for (; deltas.n < MAX_COUNTERS && x->counters[deltas.n].name; deltas.n++) {
		const struct moved *m = &x->counters[deltas.n];

		snprintf(items[deltas.n].scope, sizeof(items->scope), "%s", m->scope);
		snprintf(items[deltas.n].name, sizeof(items->name), "%s", m->name);
		items[deltas.n].value = m->delta;
	}
	while (n < MAX_EVENTS && x->ev[n].raw.count.events)
		n++;
	countercheck_compare(&deltas, x->ev, n, &x->facts, &check);
	return check;
}

static uint64_t excess(const struct result_counter *u)
{
	return u->delta - u->expected_max;
}

/* Whether all rows of the stage agree, or disagree as documented; true if it has none. */
static bool agree(const struct countercheck *b, enum stage stage)
{
	bool all = true;

	for (size_t i = 0; i < b->n_rows; i++)
		all &= b->rows[i].stage != stage || b->rows[i].agrees || b->rows[i].documented;
	return all;
}

static void print(const struct countercheck *b)
{
	for (size_t i = 0; i < b->n_rows; i++)
		print_message("  stage %d %s: %llu, expected %llu..%llu%s%s\n", b->rows[i].stage,
			      b->rows[i].name, (unsigned long long)b->rows[i].delta,
			      (unsigned long long)b->rows[i].expected,
			      (unsigned long long)b->rows[i].expected_max,
			      b->rows[i].agrees ? "" : " DISAGREES",
			      b->rows[i].documented ? " (documented)" : "");
	for (size_t i = 0; i < b->n_unexplained; i++)
		print_message("  unexplained %s: %llu too many\n", b->unexplained[i].name,
			      (unsigned long long)excess(&b->unexplained[i]));
}

CASE(all_experiments)
{
	unsigned failed = 0;

	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		const struct experiment *x = &experiments[i];
		struct countercheck b = compare(x);
		unsigned documented = 0, disagree = 0;

		for (size_t r = 0; r < b.n_rows; r++) {
			const struct result_counter *row = &b.rows[r];

			assert_true(!r || row[-1].stage <= row->stage);
			documented += row->documented;
			disagree += !row->agrees && !row->documented;
			if (row->documented) {
				assert_false(row->agrees);
				assert_memory_equal(row->note, "documented:", 11);
			}
		}
		if (b.n_rows != x->truth.rows || documented != x->truth.documented ||
		    disagree != x->truth.disagree || b.n_unexplained != x->truth.unexplained) {
			print_message("%s:\n", x->name);
			print(&b);
			failed++;
		}
		countercheck_free(&b);
	}
	assert_int_equal(failed, 0);
}

static const struct experiment *named(const char *name)
{
	for (size_t i = 0; i < sizeof(experiments) / sizeof(experiments[0]); i++) {
		if (!strcmp(experiments[i].name, name))
			return &experiments[i];
	}
	fail_msg("no experiment \"%s\"", name);
	return NULL;
}

CASE(unexplained_names_the_stage)
{
	struct countercheck b = compare(named("tracer blind: fewer events than the counters say"));
	unsigned found = 0;

	for (size_t i = 0; i < b.n_unexplained; i++) {
		const struct result_counter *u = &b.unexplained[i];

		assert_int_equal(excess(u), 95);
		assert_string_equal(u->scope, "flow");
		/* InErrors serves many stages, RcvbufErrors one. */
		if (!strcmp(u->name, "rx Udp:RcvbufErrors")) {
			assert_int_equal(u->stage, STAGE_RCVBUF);
			found++;
		} else {
			assert_int_equal(u->stage, STAGE_NONE);
		}
	}
	assert_int_equal(found, 1);
	assert_false(agree(&b, STAGE_RCVBUF));
	assert_true(agree(&b, STAGE_QDISC));
	countercheck_free(&b);

	b = compare(named("softnet is the host's"));
	assert_string_equal(b.unexplained[0].scope, "host");
	assert_true(agree(&b, STAGE_BACKLOG));
	countercheck_free(&b);
}

CASE(documented_is_agreement)
{
	struct countercheck b = compare(named("E4 udp_mem on 6.18: only the socket counts"));

	assert_true(agree(&b, STAGE_UDP_MEM));
	countercheck_free(&b);
	b = compare(named("E4 until 6.12 but not counted: not documented"));
	assert_false(agree(&b, STAGE_UDP_MEM));
	countercheck_free(&b);
}

CASE(sums_have_a_pattern)
{
	struct countercheck b = compare(named("e9 XDP_DROP, native"));

	assert_int_equal(b.n_rows, 1);
	assert_string_equal(b.rows[0].name, "rx ethtool:v-rx:rx_queue_*_xdp_drops");
	assert_int_equal(b.rows[0].delta, 300);
	assert_string_equal(b.rows[0].scope, "interface");
	countercheck_free(&b);
}

/* What no counter of its own knows, or only some, has a word on that in the catalogue. */
CASE(silent_stages)
{
	static const enum stage silent[] = {
		STAGE_NEIGH,	  STAGE_QDISC,	      STAGE_WIRE,      STAGE_XDP,
		STAGE_TC_INGRESS, STAGE_L2,	      STAGE_NETFILTER, STAGE_IP_ROUTE,
		STAGE_TUNNEL,	  STAGE_SOCKET_CLOSE, STAGE_OTHER,
	};
	unsigned n = 0;

	for (unsigned i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		assert_non_null(counter_silents[silent[i]]);
	for (int s = 0; s < STAGE_COUNT; s++)
		n += counter_silents[s] != NULL;
	assert_int_equal(n, sizeof(silent) / sizeof(silent[0]));
}
