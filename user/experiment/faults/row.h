/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fault is one row of the array of its mechanism (by_*.c): what it is called, what it needs, how
 * it is planned and applied. To add one, write its row there; its place in the order is that of the
 * stage that its name begins with. What excludes what is said by kinds, in faults.c.
 */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_ROW_H
#define PKTLEDGER_EXPERIMENT_FAULTS_ROW_H

#include <linux/types.h>

#include "experiment/experiment.h"
#include "experiment/faults/fault.h"
#include "fault_abi.h"
#include "host/journal.h"

/* Kinds of faults, for the table of contradictions and for whoever asks about one. */
#define OF_PROGRAM  (1ULL << 0)	 /* made by, or depending on, the program that sends or receives */
#define GOES	    (1ULL << 1)	 /* changes nothing of the lab: what it attaches goes with us */
#define BY_TIMER    (1ULL << 2)	 /* lost in a timer, on top of any task */
#define HARMLESS    (1ULL << 3)	 /* nothing is lost by it */
#define SILENT	    (1ULL << 4)	 /* no event shows it, but two checkpoints */
#define HOST_GLOBAL (1ULL << 5)	 /* changes something of the whole host while it runs */
#define CSUM_OFF    (1ULL << 6)	 /* the sender's device must not be left to make checksums */
#define STOLEN	    (1ULL << 7)	 /* what it loses is freed as if used up */
#define ROUTED	    (1ULL << 8)	 /* needs a router, */
#define BRIDGED	    (1ULL << 9)	 /* a bridge, */
#define TAPPED	    (1ULL << 10) /* taps, */
#define TUNNELLED   (1ULL << 11) /* a tunnel */
/* For a veth only: its NAPI is threaded, or it loses by native XDP, which for a tap is silent. */
#define OF_VETH	      (1ULL << 12)
#define OF_XDP_DRIVER (1ULL << 13) /* the driver of a tap runs XDP programs, of a vxlan not */
#define NATIVE_XDP    (1ULL << 14)
#define GENERIC_XDP   (1ULL << 15)
#define RX_DEVICE     (1ULL << 16) /* at the receiver: up to its IP layer, */
#define RX_IP	      (1ULL << 17) /* in that, */
#define RX_SOCKET     (1ULL << 18) /* behind it */
#define AT_XSK	      (1ULL << 19)
#define AT_BACKLOG    (1ULL << 20)
#define IN_QDISC      (1ULL << 21)
#define RING_FULL     (1ULL << 22) /* of the next device */
#define BY_POLICY     (1ULL << 23)
#define AT_TC_EGRESS  (1ULL << 24)
#define AT_TC_INGRESS (1ULL << 25)
#define UNROUTED      (1ULL << 26) /* no packet gets a route out, */
#define BEFORE_ROUTE  (1ULL << 27) /* but may be lost before */
#define UNRESOLVED    (1ULL << 28) /* no packet gets past the neighbour, */
#define BEFORE_NEIGH  (1ULL << 29) /* but may be lost before */
#define ROUTER_ENDS   (1ULL << 30) /* no packet comes past the router, */
#define IN_ROUTER     (1ULL << 31) /* some do not */
#define TAP_ENDS      (1ULL << 32) /* no frame leaves the tap */
#define FRAME_REFUSED (1ULL << 33) /* no frame is taken */
#define ROUTE_REFUSED (1ULL << 34) /* no packet comes past the receiver's routing */
#define AT_INPUT      (1ULL << 35) /* where datagrams are whole */
#define OF_FRAGMENTS  (1ULL << 36)
#define NO_REASSEMBLY (1ULL << 37)
#define MERGED	      (1ULL << 38)
#define COMES_TWICE   (1ULL << 39)
#define NO_SOCKET     (1ULL << 40)
#define TUNNEL_PORT   (1ULL << 41)
#define OF_UDP_HEADER (1ULL << 42)
#define SMALL_BUFFER  (1ULL << 43)
#define LARGE_BUFFER  (1ULL << 44)
#define CSUM_LATE     (1ULL << 45) /* checksums verified by recv(), */
#define CSUM_EARLY    (1ULL << 46) /* before a socket filter */
#define ROUTER_MTU    (1ULL << 47) /* packets have to be almost as large as the first link takes */

enum fault_value {
	FAULT_VALUE_NONE,
	FAULT_VALUE_SHARE,
	FAULT_VALUE_RATE,
};

/* The BPF programs of faults; those at tc first, each with a priority of its own, in this order. */
enum fault_program {
	PROGRAM_MERGED, /* sends packets in again, so it is the first; at ingress, as all but two */
	PROGRAM_SLOW,	/* takes its time */
	PROGRAM_SPOIL,
	PROGRAM_INGRESS,
	PROGRAM_FRAGMENT,
	PROGRAM_DEAF,	/* answers nobody who asks for an address */
	PROGRAM_UNTOLD, /* hears nothing of a smaller MTU on the way */
	PROGRAM_KEEP,	/* keeps all, as a host does for which it is */
	PROGRAM_EGRESS,
	PROGRAM_MUTE, /* at egress too: what IPv6 reports of itself does not leave */
	PROGRAM_XDP,
	PROGRAM_CPU,
	PROGRAM_FILTER,
	PROGRAM_CGROUP,
	PROGRAM_COUNT,
};

#define PROGRAM(p) (1U << PROGRAM_##p)

struct fault_plan {
	const struct run_spec *spec;
	struct fault_effects *fx;
	struct error *err;

	unsigned fault;	   /* whose plan it is */
	unsigned frames;   /* of one datagram */
	unsigned segments; /* datagrams of one packet */
	unsigned threads;
	uint64_t bytes;	   /* of its frames, without FCS */
	uint64_t truesize; /* what it is charged to a socket */
	double passing;	   /* of what is sent, with all shares: 0 .. 1 */
};

struct fault_state {
	const struct fault_list *list;
	const struct fault_effects *fx;
	struct lab *lab;
	unsigned fault; /* whose turn it is */
	struct fault_config cfg;
	struct fault_bpf *skel;			     /* the programs; NULL: none is needed */
	int xdp_link, cgroup_link;		     /* -1: none */
	struct journal_change *udp_mem, *flow_limit; /* NULL: as it was */
	bool midway_due;
};

struct fault_row {
	const char *name, *title; /* name: STAGE[:VARIANT] */
	enum fault_value value;
	uint64_t is;	     /* its kinds */
	const char *tx, *rx; /* the only engine it makes sense with; NULL: any */
	const char *not_tx;  /* the sending engine with which it cannot be seen, or has no effect */
	int family;	     /* the only one in which it can happen: AF_INET, AF_INET6; 0: any */
	unsigned payload;    /* of datagrams that it can lose, where MTUs are 1500; 0: any */
	unsigned arg;	     /* for its functions */
	unsigned programs;   /* PROGRAM() of each that it needs */
	struct fault_config
		cfg; /* ... and what they are given; a share of 1 is that of the fault */

	/* What the experiment has to respect beside the kinds: each bit of this, and of frames ...
	 */
	struct fault_effects fx;
	unsigned flight; /* ... so many of a sending thread in flight; 0: as usual */
	uint64_t holds;	 /* ... twice as many as this in `where`; 0: as many as come */
	const char *where;
	/* What depends on the experiment, in path order. NULL: nothing. */
	int (*plan)(struct fault_plan *p);
	/* The lab is open. NULL: it is all done by programs, or by what was planned. */
	int (*apply)(struct fault_state *s, struct error *err);
	/* Before the first packet, when fx->midway were sent (or at the end), after the last. */
	int (*begin)(struct fault_state *s, struct error *err);
	int (*midway)(struct fault_state *s, struct error *err);
	int (*end)(struct fault_state *s, struct error *err);
};

/* A mechanism; what has no name ends its rows. */
extern const struct fault_row faults_by_program[], faults_by_nft[], faults_by_qdisc[],
	faults_by_link[], faults_by_ip[], faults_by_socket[];

/* A mask with one CPU as bitmap_parse() reads it: hex words, by comma. LAB_MASK_LEN holds any. */
#define LAB_MASK_LEN 1024
char *lab_cpu_mask(char *buf, size_t size, unsigned cpu);

/* 0, or for -errno STATUS_UNABLE: "cannot WHAT of PORT: ..."; port NULL: in the lab. */
int lab_failed(int ret, const char *what, const struct lab_port *port, struct error *err);

/* What the plan says of the devices: checksums, NAPI, RPS. */
int fault_apply_devices(const struct fault_state *s, struct error *err);

/* The device of who gets what a bridge floods. */
#define FAULT_THIRD "v-third"

const struct fault_row *fault_row(unsigned fault);

static inline bool fault_is(unsigned fault, uint64_t kinds)
{
	return fault_row(fault)->is & kinds;
}

/* Those of the list that are of any of the kinds. */
uint64_t fault_with(const struct fault_list *list, uint64_t kinds);

/* Of the spec, for the rows' plans; spec, fx and err are the caller's. */
void fault_plan_measure(struct fault_plan *p);

/* All that a row says; what it asks for is in p->fx. */
int fault_plan_row(struct fault_plan *p, const struct fault_row *row);

/* A buffer's size as setsockopt() takes it: the kernel doubles it. */
int fault_plan_ask(uint64_t bytes);

/* Lets each sending thread have this many frames in flight; forced, wmem_max is less. */
void fault_plan_flight(struct fault_plan *p, uint64_t frames);

/* -EINVAL unless twice as many frames come as fit in `what`. */
int fault_plan_count(struct fault_plan *p, uint64_t frames, const char *what);

/* Of a plan that is not to be: STATUS_USAGE, or STATUS_UNABLE for -EOPNOTSUPP; "--fault NAME..." */
int fault_plan_refuse(struct fault_plan *p, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Loads the programs that are needed, and attaches those at tc and to the cgroup (by_program.c). */
int fault_programs_open(struct fault_state *s, const struct tracer *tracer, struct error *err);

/* The XDP program, to stay until the namespace of the receiver goes, or by a link of ours. */
int fault_attach_xdp(struct fault_state *s, bool stay, struct error *err);

void fault_programs_close(struct fault_state *s);

#endif
