// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When the balance of TCP flows is balanced. Its text and JSON are in tests/golden. */

#include "cases.h"

#include "monitor/tcp.h"

/*
 * 100 segments: 70 new, 12 rejected, 20 sent again. Where events were missed, a segment called lost
 * downstream may be one of them.
 */
CASE(balanced)
{
	static const struct {
		uint64_t beyond, undecided, missed;
		bool differs, balanced; /* a counter that is compared differs */
		enum tcp_verdict verdict;
	} rows[] = {
		{5, 0, 0, false, true, TCP_BOTH},  {5, 4, 0, false, false, TCP_BOTH},
		{5, 0, 0, true, false, TCP_BOTH},  {5, 0, 1, false, false, TCP_BOTH},
		{0, 0, 1, false, true, TCP_THIS_HOST},
	};

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct tcp_counter counters[] = {
			{.netns = "a", .name = "Tcp:RetransSegs", .delta = 20, .events = 20,
			 .compared = true, .agrees = !rows[i].differs},
			{.netns = "a", .name = "TcpExt:TCPTimeouts", .delta = 3},
		};
		struct tcp_balance b = {
			.sum = {.data_segs_out = 100, .retransmitted = 20, .returned = 12,
				.lost_here = 12, .beyond = rows[i].beyond, .not_lost = 3,
				.undecided[TCP_WHY_UNSEEN] = rows[i].undecided},
			.fresh = 70,
			.missed = rows[i].missed,
			.counters = {.at = counters, .size = sizeof(*counters), .n = 2},
		};

		tcp_balance_judge(&b);
		assert_int_equal(b.balanced, rows[i].balanced);
		assert_int_equal(b.undecided, rows[i].undecided);
		assert_int_equal(b.verdict, rows[i].verdict);
	}
}
