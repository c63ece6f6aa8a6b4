/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of an experiment when it starts, for every printer. Plain data. */
#ifndef PKTLEDGER_REPORT_HEADER_H
#define PKTLEDGER_REPORT_HEADER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "experiment/experiment.h"

struct json_object;

struct header_port {
	const char *role; /* "tx", "rx" */
	char ifname[16];
	char address[INET6_ADDRSTRLEN]; /* "" unknown */
};

struct run_header {
	char host[65];	   /* nodename */
	uint64_t time_ns;  /* of the start, CLOCK_REALTIME */
	char *const *argv; /* borrowed; NULL: not told */
	int argc;
	char lab[32]; /* "" anonymous */
	bool in_lab;
	bool two_hosts;
	struct result_host tx_host, rx_host; /* if there are two */
	struct json_object *far_env;	     /* of the other one; borrowed, NULL: not known */
	enum lab_topology topology;
	const char *tx, *rx;	       /* engines */
	char tx_mode[32], rx_mode[32]; /* as granted; "" where it has no meaning */
	struct header_port tx_port, rx_port;
	uint16_t port;
	const char *faults; /* as asked for, borrowed; NULL: none */
	bool ipv6;
	unsigned threads, flows;
	uint64_t count;			     /* UINT64_MAX: open */
	uint64_t duration_ns;		     /* 0: no limit */
	double rate_pps;		     /* 0: unthrottled */
	unsigned payload_bytes, frame_bytes; /* the largest */
	double mean_frame_bytes;	     /* 0: all are alike */
	uint16_t stream0, streams;
	uint64_t base;
};

/*
 * From what experiment_view.on_start is told; the clock and the name of the host are read. argv and
 * faults are left to the caller.
 */
void run_header_fill(struct run_header *h, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct experiment_streams *streams);

/* Packets of stream i (from 0); UINT64_MAX: open. */
uint64_t run_header_stream_count(const struct run_header *h, unsigned i);

#endif
