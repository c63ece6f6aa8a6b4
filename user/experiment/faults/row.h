/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fault is a row in the array of its mechanism (by_*.c): its name, its requirements, and how it
 * is planned and applied. To add a fault, add its row in the order of the stage that starts its
 * name. faults.c lists by kind which faults exclude each other.
 */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_ROW_H
#define PKTLEDGER_EXPERIMENT_FAULTS_ROW_H

#include <linux/types.h>

#include "experiment/experiment.h"
#include "experiment/faults/fault.h"
#include "fault_abi.h"
#include "host/journal.h"

/* Kinds of faults, for the table of contradictions and for queries. */
#define OF_PROGRAM  (1ULL << 0)	 /* made by, or dependent on, the sending or receiving program */
#define GOES	    (1ULL << 1)	 /* does not change the test network: detached on exit */
#define BY_TIMER    (1ULL << 2)	 /* lost in a timer, which interrupts any task */
#define HARMLESS    (1ULL << 3)	 /* loses no packets */
#define SILENT	    (1ULL << 4)	 /* no event shows it, but two probes do */
#define HOST_GLOBAL (1ULL << 5)	 /* changes host-wide settings while it runs */
#define CSUM_OFF    (1ULL << 6)	 /* the sender's interface must not compute checksums */
#define STOLEN	    (1ULL << 7)	 /* its losses are freed as consumed */
#define ROUTED	    (1ULL << 8)	 /* needs a router, */
#define BRIDGED	    (1ULL << 9)	 /* a bridge, */
#define TAPPED	    (1ULL << 10) /* taps, */
#define TUNNELLED   (1ULL << 11) /* a tunnel */
/* veth only: its NAPI is threaded, or it loses by native XDP, which has no event on a tap. */
#define OF_VETH	      (1ULL << 12)
#define OF_XDP_DRIVER (1ULL << 13) /* the driver of a tap supports XDP programs, a vxlan does not */
#define NATIVE_XDP    (1ULL << 14)
#define GENERIC_XDP   (1ULL << 15)
#define RX_DEVICE     (1ULL << 16) /* at the receiver: up to its IP layer, */
#define RX_IP	      (1ULL << 17) /* in that, */
#define RX_SOCKET     (1ULL << 18) /* after it */
#define AT_XSK	      (1ULL << 19)
#define AT_BACKLOG    (1ULL << 20)
#define IN_QDISC      (1ULL << 21)
#define RING_FULL     (1ULL << 22) /* of the next interface */
#define BY_POLICY     (1ULL << 23)
#define AT_TC_EGRESS  (1ULL << 24)
#define AT_TC_INGRESS (1ULL << 25)
#define UNROUTED      (1ULL << 26) /* no packet gets an outgoing route, */
#define BEFORE_ROUTE  (1ULL << 27) /* but may be lost earlier */
#define UNRESOLVED    (1ULL << 28) /* no packet gets past the neighbour, */
#define BEFORE_NEIGH  (1ULL << 29) /* but may be lost earlier */
#define ROUTER_ENDS   (1ULL << 30) /* packets end at the router, */
#define IN_ROUTER     (1ULL << 31) /* only some packets end there */
#define TAP_ENDS      (1ULL << 32) /* no frame leaves the tap */
#define FRAME_REFUSED (1ULL << 33) /* no frame is accepted */
#define ROUTE_REFUSED (1ULL << 34) /* packets end at the receiver's routing */
#define AT_INPUT      (1ULL << 35) /* acts on whole datagrams */
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
#define ROUTER_MTU    (1ULL << 47) /* requires packets almost as large as the first link's MTU */

enum fault_value {
	FAULT_VALUE_NONE,
	FAULT_VALUE_SHARE,
	FAULT_VALUE_RATE,
};

/* The BPF programs of faults. tc programs come first, in the order of their priorities. */
enum fault_program {
	PROGRAM_MERGED, /* reinjects packets, so it runs first. At ingress, like all but two */
	PROGRAM_SLOW,	/* uses CPU time for each packet */
	PROGRAM_SPOIL,
	PROGRAM_INGRESS,
	PROGRAM_FRAGMENT,
	PROGRAM_DEAF,	/* drops ARP and neighbour discovery */
	PROGRAM_UNTOLD, /* drops reports of a smaller path MTU */
	PROGRAM_KEEP,	/* keeps all packets, like a host that is their destination */
	PROGRAM_EGRESS,
	PROGRAM_MUTE, /* also at egress: blocks the kernel's own IPv6 reports */
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

	unsigned fault;	   /* fault being planned */
	unsigned frames;   /* per datagram */
	unsigned segments; /* datagrams per packet */
	unsigned threads;
	uint64_t bytes;	   /* of its frames, without FCS */
	uint64_t truesize; /* bytes charged to a socket */
	double passing;	   /* fraction of sent packets left after all faults: 0 .. 1 */
};

struct fault_state {
	const struct fault_list *list;
	const struct fault_effects *fx;
	struct lab *lab;
	unsigned fault; /* fault being applied */
	struct fault_config cfg;
	struct fault_bpf *skel;			     /* the programs, NULL: not needed */
	int xdp_link, cgroup_link;		     /* -1: not attached */
	struct journal_change *udp_mem, *flow_limit; /* NULL: unchanged */
	bool midway_due;
};

struct fault_row {
	const char *name, *title; /* name: STAGE[:VARIANT] */
	enum fault_value value;
	uint64_t is;	     /* kinds of the fault */
	const char *tx, *rx; /* the only compatible engine, NULL: any */
	const char *not_tx;  /* a sending engine for which it has no effect or no visible effect */
	int family;	     /* only possible family: AF_INET, AF_INET6, 0: any */
	unsigned payload;    /* required datagram length with MTUs of 1500, 0: any */
	unsigned arg;	     /* parameter of its functions */
	unsigned programs;   /* PROGRAM() bits of the required programs */
	struct fault_config
		cfg; /* ... and their parameters. A fraction of 1 is replaced by the fault's */

	/*
	 * Requirements on the experiment in addition to the kinds: each bit of fx, and of frames
	 * ...
	 */
	struct fault_effects fx;
	unsigned flight; /* ... in flight per sending thread, 0: default */
	uint64_t holds;	 /* ... twice this number, named by `where`, 0: any number */
	const char *where;
	/* Plans the parts that depend on the experiment, in path order. NULL: not needed. */
	int (*plan)(struct fault_plan *p);
	/* Applies the fault to the open test network. NULL: programs or the plan do everything. */
	int (*apply)(struct fault_state *s, struct error *err);
	/*
	 * Called before the first packet, after fx->midway packets (or at the end), and after the
	 * last.
	 */
	int (*begin)(struct fault_state *s, struct error *err);
	int (*midway)(struct fault_state *s, struct error *err);
	int (*end)(struct fault_state *s, struct error *err);
};

/* The rows of each mechanism. A row without a name ends them. */
extern const struct fault_row faults_by_program[], faults_by_nft[], faults_by_qdisc[],
	faults_by_link[], faults_by_ip[], faults_by_socket[];

/*
 * Formats a mask with one CPU for bitmap_parse(): hex words, comma-separated. LAB_MASK_LEN is
 * enough.
 */
#define LAB_MASK_LEN 1024
char *lab_cpu_mask(char *buf, size_t size, unsigned cpu);

/*
 * Returns 0, or STATUS_UNABLE for -errno: "cannot WHAT of PORT: ...". port NULL: the test network.
 */
int lab_failed(int ret, const char *what, const struct lab_port *port, struct error *err);

/* Applies the plan's interface settings: checksums, NAPI, RPS. */
int fault_apply_devices(const struct fault_state *s, struct error *err);

/* The interface that receives frames flooded by a bridge. */
#define FAULT_THIRD "v-third"

const struct fault_row *fault_row(unsigned fault);

static inline bool fault_is(unsigned fault, uint64_t kinds)
{
	return fault_row(fault)->is & kinds;
}

/* Returns the faults in the list that have any of the kinds. */
uint64_t fault_with(const struct fault_list *list, uint64_t kinds);

/* Measures the spec for the rows' plans. spec, fx and err belong to the caller. */
void fault_plan_measure(struct fault_plan *p);

/* Plans everything a row defines, with its requirements in p->fx. */
int fault_plan_row(struct fault_plan *p, const struct fault_row *row);

/* Limits a buffer size in bytes to the range of setsockopt(): the kernel doubles it. */
int fault_plan_ask(uint64_t bytes);

/* Allows each sending thread this many frames in flight. Forced, because wmem_max is lower. */
void fault_plan_flight(struct fault_plan *p, uint64_t frames);

/* Returns -EINVAL unless the experiment sends twice as many frames as fit in `what`. */
int fault_plan_count(struct fault_plan *p, uint64_t frames, const char *what);

/* Rejects a plan: STATUS_USAGE, or STATUS_UNABLE for -EOPNOTSUPP, with "--fault NAME..." */
int fault_plan_refuse(struct fault_plan *p, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Loads the required programs, and attaches tc and cgroup programs (by_program.c). */
int fault_programs_open(struct fault_state *s, const struct tracer *tracer, struct error *err);

/* Attaches the XDP program: until the receiver's namespace is removed, or with a link of ours. */
int fault_attach_xdp(struct fault_state *s, bool stay, struct error *err);

void fault_programs_close(struct fault_state *s);

#endif
