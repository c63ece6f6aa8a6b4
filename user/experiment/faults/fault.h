/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Losses on purpose. A fault sets up a mechanism of the kernel that then loses packets by itself;
 * nothing here counts or simulates. Only for labs.
 *
 *	fault_parse()  what the user asked for
 *	fault_plan()   whether it can be, and what the experiment has to respect
 *	fault_apply()  the lab is open, nothing was sent yet
 *	fault_xdp()    the receiver's XDP program is loaded, if it has one
 *	fault_socket() a receiving socket is open
 *	fault_begin()  just before the first packet; fault_end() just after the last
 *	fault_watch()  again and again between the two
 *	fault_close()
 *
 * All but udp_mem and backlog:flow_limit lives in the lab's namespaces and dies with them.
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

#define FAULT_MAX 64 /* more than there are; a fault is its number in path order */

/* What was asked for; {0}: nothing. */
struct fault_list {
	uint64_t set;		 /* bit of each fault */
	double share[FAULT_MAX]; /* 0 .. 1, of those that take one */
	struct rate rate;	 /* of qdisc; RATE_MAX: not given */
};

#define FAULT_BIT(fault) (1ULL << (fault))

static inline bool fault_has(const struct fault_list *list, unsigned fault)
{
	return list->set >> fault & 1;
}

/*
 * Adds `STAGE[:VARIANT][=VALUE]`, several by comma, to the list. -EINVAL with STATUS_USAGE for an
 * unknown name (the nearest is suggested), a bad value, one twice, and two that exclude each other
 * (`each`: they may, for they are to be injected one by one); -EOPNOTSUPP with STATUS_UNABLE for a
 * stage at which nothing can be lost on purpose.
 */
int fault_parse(const char *text, bool each, struct fault_list *list, struct error *err);

/* Every fault by its name, in path order: the values of --fault. Filled before main(). */
extern struct opt_value fault_values[FAULT_MAX + 1];
unsigned fault_count(void);

struct run_spec;

enum fault_reader {
	READER_NORMAL,
	READER_SLOW,   /* spends reader_ns on each packet, until fault_end() */
	READER_PAUSED, /* reads nothing before fault_end(), then all */
	READER_NEVER,  /* reads nothing; its socket is closed after fault_end() */
};

#define FAULT_NOTES 4

/* What the experiment has to respect. 0 and false: as without faults. */
struct fault_effects {
	uint16_t port;
	enum lab_topology topology;
	bool no_receiver; /* no socket is opened on the port */
	enum fault_reader reader;
	uint64_t reader_ns;
	unsigned xsk_frames; /* that an AF_XDP receiver has; 0: its own number */
	unsigned xsk_room;   /* bytes that its frames have room for; 0: for any packet */
	int rcvbuf, sndbuf;  /* bytes to ask for, forced, each socket; 0: no wish */
	int ttl;	     /* TTL or hop limit to send with: flow.ttl */
	double rate_pps;     /* to pace all threads together, if the user set no rate */
	int tx_cpu;	     /* to pin every sending thread to; -1: any */
	int busy_cpu;	     /* made busy in softirq, keep senders off it; -1: none */
	bool socket_filter;  /* fault_socket() must be called */
	bool xdp;	     /* fault_xdp() must be called */
	bool other_vni;	     /* lab_spec.other_vni */
	bool consumed;	     /* some is freed as if used up: tracer_spec */
	bool qdisc_replaced; /* in mid-run: what it counted goes with it */
	uint64_t settle_ns;  /* that queues need to drain, beyond what is usual */
	uint64_t midway; /* datagrams sent when fault_watch() is to act; 0: it has nothing to do */
	const char *notes[FAULT_NOTES]; /* for stderr, one line each */
	unsigned n_notes;

	/* Done by fault_apply(); reported so that the plan can be printed. */
	bool tx_csum_off;   /* checksum offload of the sender's device is off */
	bool threaded_napi; /* the sender's next hop receives in a kernel thread, */
	uint64_t merge_ns;  /* and waits so long for more of a flow to merge; 0: no GRO */
	uint64_t tbf_bps;   /* of frames without FCS */
	uint32_t tbf_burst, tbf_limit; /* bytes */
	uint32_t pfifo_limit;	       /* packets, of a pfifo in the tbf; 0: its own bfifo */
	uint64_t slow_bps;	       /* of the tbf until `midway`; 0: always the same */
	uint32_t tc_burn_ns, xdp_burn_ns;
};

/*
 * The faults of an experiment that is complete but for them, with `rate_pps` set. -EINVAL with
 * STATUS_USAGE if an engine or the count makes no sense with a fault (the message names what is
 * needed); -EOPNOTSUPP with STATUS_UNABLE if this host cannot do it.
 */
int fault_plan(const struct run_spec *spec, struct fault_effects *fx, struct error *err);

struct fault_state;

struct tracer;

/*
 * `list`, `fx` and `lab` are borrowed until fault_close(). *state is NULL on an error. `tracer`
 * knows whose packets are to suffer, and gets to know what is redirected in vain; NULL: anybody's.
 */
int fault_apply(const struct fault_list *list, const struct fault_effects *fx, struct lab *lab,
		const struct tracer *tracer, struct fault_state **state, struct error *err);

/*
 * For an experiment in a named lab: -EINVAL with STATUS_USAGE for a fault that would stay there
 * when the experiment is over, or was killed.
 */
int fault_check_named(const struct fault_list *list, const char *lab, struct error *err);

/*
 * Injects into a named lab, for whatever UDP other programs send there, and for as long as the lab
 * is there. fault_lab_topology() comes before the lab is made: -EINVAL with STATUS_USAGE for a
 * fault that only the sending or receiving program can make, *topology is raised to what is needed.
 */
int fault_lab_topology(const struct fault_list *list, enum lab_topology *topology,
		       struct error *err);
int fault_lab_apply(const struct fault_list *list, struct lab *lab, struct error *err);

/*
 * Attaches the faults' XDP program to the receiver's device; it ends in `next_fd` (-1: in
 * XDP_PASS), which must not be attached itself. *native is the mode. fault_close() drops it.
 */
int fault_xdp(struct fault_state *state, int next_fd, bool *native, struct error *err);

/* Attaches the faults' socket filter to a receiving socket, if one is wanted. */
int fault_socket(struct fault_state *state, int fd, struct error *err);

/* At which it loses packets: its name begins with it. */
enum stage fault_stage(unsigned fault);

/*
 * What is the whole host's is changed under the journal's lock, until this process dies, or:
 * udp_mem until fault_end(), the flow limit until fault_close(), because its counter goes with it.
 * To be called in the initial network namespace.
 */
int fault_begin(struct fault_state *state, struct error *err);

/* What is to happen in mid-run, once so many datagrams were sent. NULL is fine. */
int fault_watch(struct fault_state *state, uint64_t sent, struct error *err);

/* May be called more than once, and without fault_begin(); NULL is fine. */
int fault_end(struct fault_state *state, struct error *err);

/* Ends what was begun and drops programs and links; NULL is fine. */
void fault_close(struct fault_state *state);

/* How the devices of a lab are set up, if not as lab_open() leaves them (all 0). */
struct lab_wish {
	unsigned mtu;	    /* 0: 1500 */
	unsigned queues;    /* of each device; 0: as many as the engines need */
	bool gro;	    /* of the receiving device */
	bool threaded_napi; /* of the receiving device: a kernel thread instead of softirq */
	bool rps_set;
	unsigned rps_cpu; /* to which the receiving device hands its packets */
};

/* Whether packets are received elsewhere than in the context of their sender. */
static inline bool lab_wish_moves(const struct lab_wish *wish)
{
	return wish->gro || wish->threaded_napi || wish->rps_set;
}

/* STATUS_UNABLE if the kernel refuses. Nothing is put back: it dies with the lab. */
int lab_tune(const struct lab *lab, const struct lab_wish *wish, struct error *err);

/*
 * The self-test: injects each loss that this host allows, in a lab, and checks that three sources
 * say the same: what both ends know (sent - delivered), the tracer's events, the kernel's counters.
 * What a busy host loses elsewhere meanwhile is no disagreement if a counter confirms it.
 */

enum selftest_verdict {
	SELFTEST_AGREES,
	SELFTEST_DISAGREES,
	SELFTEST_SKIPPED, /* this host cannot do it, or was not asked to: see note */
};

const char *selftest_verdict_name(enum selftest_verdict v); /* "agrees", ... */

struct selftest_row {
	unsigned fault;
	enum stage stage;
	uint64_t injected; /* sent - delivered - lost at other stages as their counters say */
	uint64_t settled;  /* fates at the stage */
	uint64_t events;
	unsigned counters, agreeing; /* of the stage; documented disagreements agree */
	enum selftest_verdict verdict;
	unsigned repeated; /* runs before this one that are not judged: tracing was suppressed */
	char note[320];	   /* why skipped, or what disagrees; or what this kernel is known for */
};

struct selftest_spec {
	uint64_t count; /* packets for each fault */
	bool ipv6;
	bool host_global;		 /* also what affects the whole host while it runs */
	const struct fault_list *values; /* given with faults, as in `xdp=5%` */
};

/* Tests one fault. What goes wrong is in the row. -EINTR: a signal, after which to stop. */
int selftest_fault(const struct selftest_spec *spec, unsigned fault, struct selftest_row *row);

#endif
