/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The documents of run, send, recv, sweep and search (`help --schema`), by tables of records: what the
 * command knows becomes JSON, which is written, kept in ledgers and printed, of this moment or from
 * a ledger. So text looks the same whether it is printed at once or by `report`.
 *
 * What is made is to be given away or put. What is read may be anything, or NULL: members that are
 * missing or of another type are 0 or ""; texts that the model points to are borrowed.
 */
#ifndef PKTLEDGER_REPORT_DOCUMENT_H
#define PKTLEDGER_REPORT_DOCUMENT_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/num.h"
#include "base/record.h"
#include "ledger/result.h"
#include "experiment/experiment.h"
#include "experiment/search/search.h"
#include "report/json.h"

struct header_port {
	const char *role; /* "tx", "rx" */
	char ifname[16];
	char address[INET6_ADDRSTRLEN]; /* "" unknown */
};

/* What is known of an experiment when it starts. */
struct run_header {
	char host[65];	   /* nodename */
	uint64_t time_ns;  /* of the start, CLOCK_REALTIME */
	char *const *argv; /* borrowed; NULL: unknown */
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
	unsigned threads, flows;
	uint64_t count;			     /* UINT64_MAX: open */
	uint64_t duration_ns;		     /* 0: no limit */
	double rate_pps;		     /* 0: unthrottled */
	unsigned payload_bytes, frame_bytes; /* the largest */
	double mean_frame_bytes;	     /* 0: all are alike */
	unsigned trial, trials;		     /* of --repeat, from 1; 0: there is one */
	uint16_t stream0, streams;
	uint64_t base;
};

/*
 * From what experiment_view.on_start gets; the clock and the name of the host are read. argv,
 * faults and trials are left to the caller.
 */
void run_header_fill(struct run_header *h, const struct run_spec *spec, const struct lab *lab,
		     const struct result *so_far, const struct fates_numbers *streams);

/* The events of run. `env` of env_read(), taken; NULL: left out. */
struct json_object *json_start(const struct run_header *head, struct json_object *env);
struct json_object *json_interval(const struct experiment_interval *now);
struct json_object *json_limit(const struct limit *limit, double measured, bool broken);
struct json_object *json_end(const struct result *res);

/* When, where, by which command: what the start of all others begins with. `env` is taken. */
struct json_object *json_origin(int argc, char *const *argv, struct json_object *env);

/* The events of send and recv: their side of what run reports. `env` is taken; NULL: none. */
struct json_object *json_send_start(int argc, char *const *argv, struct json_object *env,
				    const struct run_spec *spec, const struct result *res,
				    const struct fates_numbers *streams);
struct json_object *json_send_end(const struct result *res);
struct json_object *json_recv_start(int argc, char *const *argv, struct json_object *env,
				    const char *rx, uint16_t port, const struct result *res);
struct json_object *json_recv_end(const struct recv_result *r);

/*
 * A search: what is reported of a trial beside the end of its run, that is what was intended and
 * what came of it; and its end, ndr, pdr and mrr (null: not looked for), and between which limits.
 */
struct json_object *json_found_trial(const struct found_trial *t);
struct json_object *json_found(const struct found *f);

#define FOUND_GOALS 2
extern const char *const found_goals[FOUND_GOALS]; /* "ndr", "pdr" */

/* Parts. */
struct json_object *json_finding(const struct finding *f);
/* But for the stage. What is missing stays empty. */
void json_read_cause(const struct json_object *from, struct result_cause *c);

/* hist_quarters() as a list: {"from_ns","to_ns","packets"} of those that are not empty. */
struct json_object *json_quarters(const uint64_t count[HIST_QUARTERS]);

/*
 * The JSON Schema of the documents of a command (report/schema.c); NULL: it prints none. To be put.
 */
struct json_object *json_schema(const char *command);

/* The rows of a table of document.c, "cause" or "end"; NULL: there is none. */
const struct record_field *document_table(const char *name);

#endif
