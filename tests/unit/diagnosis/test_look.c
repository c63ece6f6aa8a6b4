// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Facts that were read elsewhere, and the judgement of a fix. tests/bpf/test_look.c looks at this
 * host. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cases.h"
#include "diagnosis/look.h"

#define MS 1000000ULL

/*
 * Facts from another host: commands that would change this host are not advised, and no host is
 * counted twice.
 */
CASE(two_places_of_another_host)
{
	static const char *const names[] = {"", "away"};
	unsigned hosts = 0, refused[2] = {};
	int fd[2];
	struct look l = {.n = 2};

	for (unsigned i = 0; i < l.n; i++) {
		struct look_place *p = l.at[i] = mem_new(p);

		p->ns = NETNS_NONE;
		p->ns.fd = fd[i] = dup(0);
		strcpy(p->name, names[i]);
		p->facts.window_ns = 1000 * MS;
		counters_add(&p->facts.moved, FACTS_HERE, "Udp:NoPorts", 50);
		counters_add(&p->facts.moved, FACTS_HOST, "arp_cache:unresolved_discards", 50);
	}
	look_judge(&l);
	for (unsigned i = 0; i < l.findings.n; i++) {
		const struct check_finding *c = &l.findings.at[i];

		assert_int_equal(c->n_changes, 0);
		assert_string_equal(c->finding.command, "");
		assert_string_equal(c->finding.undo, "");
		hosts += c->finding.stage == STAGE_NEIGH && c->losing;
		for (unsigned n = 0; n < 2; n++)
			refused[n] += c->finding.stage == STAGE_UDP_LOOKUP && c->losing &&
				      !strcmp(c->finding.netns, names[n]);
	}
	assert_int_equal(hosts, 1);
	assert_int_equal(refused[0], 1);
	assert_int_equal(refused[1], 1);
	look_close(&l);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(fcntl(fd[i], F_GETFD), -1);
}

CASE(a_remedy_is_judged_by_the_share_that_is_lost)
{
	static const struct {
		double lost, lost_after, arrived, arrived_after;
		enum remedy_outcome outcome;
	} rows[] = {
		{1000, 400, 2000, 2000, REMEDY_HELPED},
		{1000, 600, 2000, 2000, REMEDY_NO_HELP},
		{1000, 0, 2000, 900, REMEDY_NO_TRAFFIC},
		/* a quarter less arrives, and 5 of 8 are lost */
		{3674, 1699, 3674, 2697, REMEDY_NO_HELP},
		{3674, 1300, 3674, 2697, REMEDY_HELPED},
		/* more arrives: the loss itself has to fall */
		{1000, 600, 2000, 4000, REMEDY_NO_HELP},
		/* losses of packets that IP does not receive */
		{1000, 600, 0, 0, REMEDY_NO_HELP},
		{1000, 400, 0, 0, REMEDY_HELPED},
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct remedy r = {.lost_pps = rows[i].lost,
					 .lost_pps_after = rows[i].lost_after,
					 .arrived_pps = rows[i].arrived,
					 .arrived_pps_after = rows[i].arrived_after};

		assert_int_equal(remedy_judge(&r), rows[i].outcome);
	}
}
