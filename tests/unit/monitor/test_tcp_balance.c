// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When the balance of TCP flows is balanced. Its text and JSON are in tests/golden. */

#include "cases.h"

#include "monitor/tcp.h"

static struct tcp_counter counters[] = {
	{.netns = "a",
	 .name = "Tcp:RetransSegs",
	 .delta = 20,
	 .events = 20,
	 .compared = true,
	 .agrees = true},
	{.netns = "a", .name = "TcpExt:TCPTimeouts", .delta = 3},
};

/* 100 segments: 70 new, 12 rejected, 20 sent again. */
static struct tcp_balance balance(void)
{
	return (struct tcp_balance){
		.sum = {.data_segs_out = 100,
			.retransmitted = 20,
			.returned = 12,
			.lost_here = 12,
			.beyond = 5,
			.not_lost = 3},
		.fresh = 70,
		.counters = {.at = counters, .size = sizeof(*counters), .n = 2},
	};
}

CASE(balanced)
{
	struct tcp_balance b = balance();

	tcp_balance_judge(&b);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, TCP_BOTH);
}

CASE(undecided)
{
	struct tcp_balance b = balance();

	b.sum.undecided[TCP_WHY_UNSEEN] = 4;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	assert_int_equal(b.undecided, 4);
}

CASE(counters_that_differ)
{
	struct tcp_balance b = balance();

	counters[0].agrees = false;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	counters[0].agrees = true;
}

/* Where events were missed, a segment called lost downstream may be one of them. */
CASE(missed)
{
	struct tcp_balance b = balance();

	b.missed = 1;
	tcp_balance_judge(&b);
	assert_false(b.balanced);
	b.sum.beyond = 0;
	tcp_balance_judge(&b);
	assert_true(b.balanced);
	assert_int_equal(b.verdict, TCP_THIS_HOST);
}
