// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A probe at a tc hook comes before the programs of others, which may end the chain. */
#include <linux/pkt_cls.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"
#include "drops/probes.h"

#define TCX_INGRESS 46 /* BPF_TCX_INGRESS */
#define PATIENCE    10 /* seconds for what takes microseconds */

static int tx = -1, rx = -1;

static int open_all(void **state)
{
	const struct timeval patience = {.tv_sec = PATIENCE};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(TEST_PORT)};

	if (open_lab(state))
		return -1;
	to.sin_addr = lab.rx.ip4;
	rx = bound_in(&lab.rx_ns, TEST_PORT);
	tx = socket_in(&lab.tx_ns, AF_INET, SOCK_DGRAM, 0);
	return setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	       connect(tx, (const void *)&to, sizeof(to));
}

static int close_all(void **state)
{
	close(tx);
	close(rx);
	return close_lab(state);
}

static void send_one(char what)
{
	assert_int_equal(send(tx, &what, 1, 0), 1);
}

static void assert_next(char what)
{
	char got = 0;

	assert_int_equal(recv(rx, &got, 1, 0), 1);
	assert_int_equal(got, what);
}

/* A foreign program that passes all packets and ends the chain. -1: no tcx on this kernel. */
static int pass_all(int prog)
{
	int saved = netns_push(&lab.rx_ns), link;

	assert_true(saved >= 0);
	link = bpf_link_create(prog, (int)lab.rx.ifindex, (enum bpf_attach_type)TCX_INGRESS, NULL);
	netns_pop(saved);
	return link;
}

/* The detach works immediately, even if another program lists links and holds a reference. */
static void end_pass_all(int link)
{
	if (link >= 0)
		assert_int_equal(bpf_link_detach(link), 0);
	close(link);
}

/* It drops, so that it can be seen to have run. */
CASE(runs_before_others)
{
	int pass = verdict_program(BPF_PROG_TYPE_SCHED_CLS, 0, TC_ACT_OK);
	int drop = verdict_program(BPF_PROG_TYPE_SCHED_CLS, 0, TC_ACT_SHOT);
	int theirs = pass_all(pass);
	struct tc_first ours = TC_FIRST_INIT;
	int listed;

	assert_true(pass >= 0 && drop >= 0);
	send_one('a');
	assert_next('a');
	assert_int_equal(tc_first_attach(&ours, &lab.rx_ns, lab.rx.ifindex, BPF_TC_INGRESS, drop),
			 0);
	assert_int_equal(ours.link < 0, theirs < 0);
	send_one('b');
	listed = dup(ours.link); /* as who lists the links of the host has it for a moment */
	tc_first_detach(&ours);
	send_one('c');
	assert_next('c');
	close(listed);
	end_pass_all(theirs);
	close(pass);
	close(drop);
}

/* The next program runs. */
CASE(passes_on)
{
	int unspec = verdict_program(BPF_PROG_TYPE_SCHED_CLS, 0, TC_ACT_UNSPEC);
	int drop = verdict_program(BPF_PROG_TYPE_SCHED_CLS, 0, TC_ACT_SHOT);
	int theirs = pass_all(drop);
	struct tc_first ours = TC_FIRST_INIT;

	assert_int_equal(tc_first_attach(&ours, &lab.rx_ns, lab.rx.ifindex, BPF_TC_INGRESS, unspec),
			 0);
	send_one('d');
	end_pass_all(theirs);
	if (theirs < 0)
		assert_next('d');
	send_one('e');
	assert_next('e');
	tc_first_detach(&ours);
	close(unspec);
	close(drop);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_all, close_all);
}
