/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The options of an experiment with another host, a group of rows for every command that runs one.
 */
#ifndef PKTLEDGER_CLI_OPTIONS_FAR_H
#define PKTLEDGER_CLI_OPTIONS_FAR_H

#include "base/opt.h"
#include "experiment/experiment.h"

struct far_options {
	struct endpoint to; /* family 0: no other host */
	bool reverse;
	const char *token_file;
	bool shared_clock;
};

extern const struct opt far_opts[];

/* STATUS_USAGE if an experiment with another host cannot be as `spec` has it. */
int far_check(const struct far_options *o, const struct run_spec *spec, struct error *err);

/*
 * Connects to the other host, if one is asked for: *far, to be given to peer_close(). The control
 * port is `port` unless --to has one. Signals kill while it waits.
 */
int far_connect(const struct far_options *o, uint16_t port, struct peer **far, struct error *err);

#endif
