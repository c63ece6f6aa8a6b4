// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Loads and attaches the observer of all drops with every option, so that the verifier of each
 * kernel checks it. test_xdplosses.c and tests/net/test_trace.py test its counts.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "drops/cause.h"
#include "drops/watch.h"
#include "host/load.h"

static struct reasons *reasons;
static struct ksyms *ksyms;
static struct filter *filter;

static int begin(void **state)
{
	struct error err = {};

	return reasons_open(&reasons, NULL, &err) || ksyms_open(&ksyms, NULL, &err) ||
	       filter_compile(&filter, "udp port 5060 and (vlan or net 198.18.0.0/15)", &err);
}

static int end(void **state)
{
	filter_free(filter);
	ksyms_free(ksyms);
	reasons_free(reasons);
	return 0;
}

static void takes(struct watch_spec *spec, const char *what)
{
	struct error err = {};
	struct watch *w;
	struct trace_places places;
	struct watch_state s;
	int rc = watch_open(&w, spec, reasons, &err);

	if (rc == -EPERM)
		skip();
	ksym_places(ksyms, &places);
	if (rc || watch_attach(w, &places, &err))
		fail_msg("%s: %s", what, err.message);
	watch_state(w, &s);
	assert_int_equal(s.filter_unread, 0);
	assert_int_equal(!watch_open_samples(w, NULL, NULL, &err), spec->cfg.snaplen > 0);
	watch_close(w);
}

/* `trace`, `trace EXPR`, `trace -w FILE EXPR`, each also with --by flow. */
CASE(with_filter_and_samples)
{
	for (unsigned n = 0; n < 8; n++) {
		struct watch_spec spec = {
			.filter = n & 1 ? filter : NULL,
			.cfg.snaplen = n & 2 ? 256 : 0,
			.cfg.stack = n & 2,
			.cfg.by_flow = n & 4,
		};

		takes(&spec, n & 4 ? "with flows" : "without flows");
	}
}

/* --consumed, --bursts, senders, and exclusions. */
CASE(with_all)
{
	for (unsigned n = 0; n < 2; n++) {
		struct watch_spec spec = {
			.cfg.netns = 1,
			.cfg.ifindex = 1,
			.cfg.has_reasons = true,
			.cfg.socket_only = true,
			.cfg.by_flow = n,
			.cfg.by_sender = true,
			.cfg.xdp = true,
			.cfg.snaplen = SAMPLE_SNAPLEN_MAX,
			.cfg.stack = true,
			.cfg.burst_ns = 1000000,
			.filter = filter,
		};

		if (reasons_tracepoint_args(reasons, "consume_skb") == 2)
			consumed_ranges(ksyms, spec.cfg.consumed);
		takes(&spec, n ? "all, with flows" : "all");
	}
}

/* What a program refused has the event of a port without a socket. */
CASE(refused_by_a_program)
{
	const struct bpf_insn drop[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = SK_DROP},
		{.code = BPF_JMP | BPF_EXIT},
	};
	const struct watch_key key = {.location = 4096, /* no function */
				      .reason = reasons_value(reasons, "NO_SOCKET"),
				      .protocol = htons(ETH_P_IP)};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_SK_LOOKUP);
	struct cause_judge before = {.reasons = reasons}, after = before;
	int fd;

	if (key.reason < 0 || progs_choose_sockets())
		skip(); /* another program may load one */
	assert_null(strstr(cause_judge(&before, &key)->verdict.note, "BPF"));
	fd = bpf_prog_load(BPF_PROG_TYPE_SK_LOOKUP, "refuses", "GPL", drop, 2, &opts);
	assert_true(fd >= 0);
	assert_int_equal(cause_judge(&after, &key)->verdict.stage, STAGE_UDP_LOOKUP);
	assert_non_null(strstr(cause_judge(&after, &key)->verdict.note, "sk_lookup"));
	close(fd);
}

int main(void)
{
	return run_cases(begin, end);
}
