/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Deliberate losses. A fault sets up a kernel mechanism that then loses packets by itself. This
 * code neither counts nor simulates losses. For test networks only.
 *
 *	fault_parse()  parses the requested faults
 *	fault_plan()   checks feasibility and collects requirements on the experiment
 *	fault_apply()  after opening the test network, before sending
 *	fault_xdp()    after loading the receiver's XDP program, if it has one
 *	fault_socket() after opening a receiving socket
 *	fault_begin()  just before the first packet, fault_end() just after the last
 *	fault_watch()  repeatedly between them
 *	fault_close()
 *
 * All faults except udp_mem and backlog:flow_limit are confined to the test network's namespaces
 * and are removed with them.
 */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_FAULT_H
#define PKTLEDGER_EXPERIMENT_FAULTS_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/num.h"
#include "base/opt.h"
#include "host/lab.h"
#include "stages.h"
#include "drops/drops.h"
#include "trace_abi.h"

#define FAULT_MAX 64 /* more than there are. A fault is identified by its index in path order */

/* The requested faults. Zero-initialised: no faults. */
struct fault_list {
	uint64_t set;		 /* one bit per fault */
	double share[FAULT_MAX]; /* 0 .. 1, for faults that take a percentage */
	struct rate rate;	 /* qdisc rate, RATE_MAX: not given */
};

#define FAULT_BIT(fault) (1ULL << (fault))

static inline bool fault_has(const struct fault_list *list, unsigned fault)
{
	return list->set >> fault & 1;
}

/*
 * Adds `STAGE[:VARIANT][=VALUE]`, comma-separated, to the list. Returns -EINVAL with STATUS_USAGE
 * for an unknown name (and suggests the nearest), a bad value, a duplicate, or two faults that
 * exclude each other (allowed with `each`, which injects them separately). Returns -EOPNOTSUPP with
 * STATUS_UNABLE for a stage where losses cannot be caused deliberately.
 */
int fault_parse(const char *text, bool each, struct fault_list *list, struct error *err);

/* All faults by name, in path order, which are the values of --fault. Filled before main(). */
extern struct opt_value fault_values[FAULT_MAX + 1];
unsigned fault_count(void);

struct run_spec;

enum fault_reader {
	READER_NORMAL,
	READER_SLOW,   /* spends reader_ns per packet until fault_end() */
	READER_PAUSED, /* does not read before fault_end(), then reads everything */
	READER_NEVER,  /* never reads, its socket is closed after fault_end() */
};

#define FAULT_NOTES 4

/* What the faults require of the experiment. 0 and false: the same as without faults. */
struct fault_effects {
	uint16_t port;
	enum lab_topology topology;
	bool no_receiver; /* do not open a socket on the port */
	enum fault_reader reader;
	uint64_t reader_ns;
	unsigned xsk_frames; /* frames for an AF_XDP receiver, 0: its default */
	unsigned xsk_room;   /* usable bytes per frame, 0: enough for any packet */
	int rcvbuf, sndbuf;  /* bytes to request, forced, per socket, 0: unchanged */
	int ttl;	     /* TTL or hop limit for sent packets: flow.ttl */
	double rate_pps;     /* pace for all threads together, unless the user set a rate */
	int tx_cpu;	     /* CPU for every sending thread, -1: any */
	int busy_cpu;	     /* CPU kept busy in softirq, not to be used by senders, -1: none */
	bool socket_filter;  /* fault_socket() must be called */
	bool xdp;	     /* fault_xdp() must be called */
	bool other_vni;	     /* lab_spec.other_vni */
	bool consumed;	     /* some packets are freed as consumed, see tracer_spec */
	bool xdp_generic;	     /* the XDP program runs in generic (skb) mode */
	bool qdisc_replaced; /* replaced mid-run, which loses its counters */
	uint64_t settle_ns;  /* ns, extra time that queues need to drain */
	uint64_t midway; /* number of sent datagrams at which fault_watch() acts, 0: does not act */
	const char *notes[FAULT_NOTES]; /* for stderr, one line per note */
	unsigned n_notes;

	/* Set up by fault_apply(). Listed here so that the plan can be printed. */
	bool tx_csum_off;   /* checksum offload of the sender's interface is off */
	bool threaded_napi; /* the sender's next hop receives in a kernel thread, */
	uint64_t merge_ns;  /* ns that GRO waits for more packets of a flow, 0: no GRO */
	uint64_t tbf_bps;   /* bits/s, tbf rate for frames without FCS */
	uint32_t tbf_burst, tbf_limit; /* bytes */
	uint32_t pfifo_limit;	       /* packets in a pfifo inside the tbf, 0: the tbf's bfifo
					* is used */
	uint64_t slow_bps;	       /* bits/s, tbf rate until `midway`, 0: constant rate */
	uint32_t tc_burn_ns, xdp_burn_ns;
};

/*
 * Plans the faults of an otherwise complete experiment with `rate_pps` set. Returns -EINVAL with
 * STATUS_USAGE if an engine or the count is incompatible with a fault (the message names the
 * requirement), or -EOPNOTSUPP with STATUS_UNABLE if this host does not support a fault.
 */
int fault_plan(const struct run_spec *spec, struct fault_effects *fx, struct error *err);

struct fault_state;

struct tracer;

/*
 * Applies the faults. `list`, `fx` and `lab` are borrowed until fault_close(). *state is NULL on
 * error. `tracer` selects the affected packets and is told about redirects that fail. NULL: all
 * packets.
 */
int fault_apply(const struct fault_list *list, const struct fault_effects *fx, struct lab *lab,
		const struct tracer *tracer, struct fault_state **state, struct error *err);

/*
 * Checks an experiment in a named test network. Returns -EINVAL with STATUS_USAGE for a fault that
 * would remain after the experiment ends or is killed.
 */
int fault_check_named(const struct fault_list *list, const char *lab, struct error *err);

/*
 * Injects faults into a named test network, for UDP traffic from any program, until the network is
 * removed. Call fault_lab_topology() before creating the network. It returns -EINVAL with
 * STATUS_USAGE for a fault that requires our sending or receiving program, unless `any` is set. It
 * extends *topology if necessary.
 */
int fault_lab_topology(const struct fault_list *list, bool any, enum lab_topology *topology,
		       struct error *err);
int fault_lab_apply(const struct fault_list *list, struct lab *lab, struct error *err);

/*
 * Adds the steps for any faults to the recipe of a planned test network, with a note for each fault
 * that needs more than commands.
 */
int fault_lab_recipe(const struct fault_list *list, struct lab *lab, struct recipe *r,
		     struct error *err);

/*
 * Attaches the faults' XDP program to the receiver's interface. It tail-calls `next_fd`, which must
 * not be attached itself (-1: returns XDP_PASS). Sets *native to the mode. fault_close() detaches
 * the program.
 */
int fault_xdp(struct fault_state *state, int next_fd, bool *native, struct error *err);

/* Attaches the faults' socket filter to a receiving socket if required. */
int fault_socket(struct fault_state *state, int fd, struct error *err);

/* Returns the stage of the loss, which is the first part of the fault's name. */
enum stage fault_stage(unsigned fault);

/*
 * Changes host-wide settings under the journal's lock. The udp_mem change lasts until fault_end(),
 * and the flow limit change until fault_close(), because its counter is removed with it. Both end
 * with this process at the latest. Call this function in the initial network namespace.
 */
int fault_begin(struct fault_state *state, struct error *err);

/* Applies mid-run changes once `sent` datagrams were sent. `state` may be NULL. */
int fault_watch(struct fault_state *state, uint64_t sent, struct error *err);

/* Ends the faults. May be called more than once, and without fault_begin(). `state` may be NULL. */
int fault_end(struct fault_state *state, struct error *err);

/* Stops the faults and detaches programs and links. `state` may be NULL. */
void fault_close(struct fault_state *state);

/* Interface settings in a test network that differ from the lab_open() defaults (all 0). */
struct lab_wish {
	unsigned mtu;	    /* 0: 1500 */
	unsigned queues;    /* per interface, 0: as many as the engines need */
	bool gro;	    /* on the receiving interface */
	bool threaded_napi; /* on the receiving interface, in a kernel thread instead of softirq */
	bool rps_set;
	unsigned rps_cpu; /* CPU that the receiving interface hands packets to */
};

/* Returns whether packets are received outside their sender's context. */
static inline bool lab_wish_moves(const struct lab_wish *wish)
{
	return wish->gro || wish->threaded_napi || wish->rps_set;
}

/*
 * Applies the settings, which are removed with the test network. STATUS_UNABLE if the kernel
 * refuses.
 */
int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err);

/*
 * The self-test injects each loss that this host supports, in a test network, and checks that three
 * sources agree: both ends (sent - delivered), the tracer's events and the kernel's counters.
 * Unrelated losses on a busy host do not count as a disagreement if a counter confirms them.
 */

enum selftest_verdict {
	SELFTEST_AGREES,
	SELFTEST_DISAGREES,
	SELFTEST_SKIPPED, /* not supported by this host or not requested, see `note` */
};

const char *selftest_verdict_name(enum selftest_verdict v); /* "agrees", ... */

struct selftest_row {
	unsigned fault;
	enum stage stage;
	uint64_t injected; /* sent - delivered - losses that counters show at other stages */
	uint64_t settled;  /* number of outcomes at the stage */
	uint64_t events;
	unsigned counters, agreeing; /* counters of the stage, documented deviations count as
				      * agreeing */
	enum selftest_verdict verdict;
	unsigned repeated; /* earlier runs discarded because tracing was suppressed */
	char note[320];	   /* why the fault was skipped, the disagreement, or a known kernel
			    * issue */
};

struct selftest_spec {
	uint64_t count; /* packets per fault */
	bool ipv6;
	bool host_global;		 /* also includes faults that affect the whole host */
	const struct fault_list *values; /* faults with values, as in `xdp=5%` */
};

/* Tests one fault. Errors are in the row. Returns -EINTR after a signal, when testing must stop. */
int selftest_fault(const struct selftest_spec *spec, unsigned fault, struct selftest_row *row);

#endif
