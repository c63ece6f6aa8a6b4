/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `recv --serve`: its options, and what it says. */
#ifndef PKTLEDGER_CLI_SERVE_H
#define PKTLEDGER_CLI_SERVE_H

#include "cli/options.h"

struct serve_options {
	bool serve;
	uint64_t control_port; /* 0: as the UDP port */
	const char *token_file;
	struct rate max_rate;
};

#define SERVE_DEFAULTS                                                                             \
	{                                                                                          \
		.max_rate = { RATE_PPS, 100000 }                                                   \
	}

extern const struct opt serve_opts[];

/* Serves, and prints what was done. Returns the exit status. */
int serve(const struct serve_options *o, enum output output, const char *ifname, uint16_t port,
	  bool stay, struct error *err);

#endif
