// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/options_far.h"

#include <errno.h>

#include "base/log.h"
#include "experiment/client.h"
#include "base/watch.h"

const struct opt far_opts[] = {
	{"to", 0, OPT_ENDPOINT, offsetof(struct far_options, to), .metavar = "ADDR[:PORT]",
	 .excludes = "lab", .default_text = "none",
	 .help = "with the host on which `recv --serve` runs; PORT: its control port"},
	{"reverse", 'R', OPT_FLAG, offsetof(struct far_options, reverse),
	 .help = "the other host sends, this one receives"},
	{"token-file", 0, OPT_STRING, offsetof(struct far_options, token_file), .metavar = "FILE",
	 .default_text = "none", .help = "the token that the other host wants"},
	{"shared-clock", 0, OPT_FLAG, offsetof(struct far_options, shared_clock),
	 .help = "the clocks of both hosts agree (PTP): one-way delays are told"},
	{0},
};

static void on_wait(void *arg)
{
	(void)arg;
	log_info("waiting for the other host, which serves one client at a time; several send at "
		 "once by `send --ledger`");
}

int far_check(const struct far_options *o, const struct run_spec *spec, struct error *err)
{
	if (!o->to.family)
		return o->reverse || o->token_file || o->shared_clock
			       ? error_set(err, STATUS_USAGE, -EINVAL, "add --to ADDR",
					   "--reverse, --token-file and --shared-clock are for "
					   "experiments with another host")
			       : 0;
	if (o->reverse && spec->shape && spec->shape->capture)
		return error_set(err, STATUS_USAGE, -EINVAL, "start it there, without --reverse",
				 "--pcap is a file of this host, and the other one sends");
	if (o->reverse && spec->shape && spec->shape->src_addr.n)
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --src-addr out",
				 "the other host sends by its own address only");
	if (!o->reverse && spec->tuning.reader.log)
		return error_set(err, STATUS_USAGE, -EINVAL, "add --reverse, or leave --log out",
				 "the other host reads, and writes no file for others");
	if (spec->shape && (spec->shape->dst_port.n || spec->shape->dst_addr.n))
		return error_set(err, STATUS_USAGE, -EINVAL, "leave --dst-port and --dst-addr out",
				 "packets go to the other host, at the port that it receives at");
	if (spec->tuning.receive.group.family)
		return error_set(err, STATUS_USAGE, -EINVAL, "use `send` and `recv`",
				 "--to is for one receiver, not for a multicast group");
	return 0;
}

int far_connect(const struct far_options *o, uint16_t port, struct peer **far, struct error *err)
{
	struct peer_target target = {
		.to = o->to, .shared_clock = o->shared_clock, .on_wait = on_wait};
	int rc = 0;

	if (!o->to.family)
		return 0;
	if (!target.to.port)
		target.to.port = port;
	if (o->token_file)
		rc = auth_read_token(&target.token, o->token_file, err);
	if (rc)
		return rc;
	watch_unblock_signals(); /* nothing is half done yet */
	rc = peer_connect(far, &target, err);
	watch_block_signals();
	return rc;
}
