/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A fault is a row in its mechanism's array (by_*.c). The row has the fault's name, its
 * requirements, and how the fault is planned and applied. To add a fault, add its row in the order
 * of the stage that starts its name. Two faults exclude each other if one lets no packet past its
 * place and the other comes later, if both need the same slot, or if no topology allows both.
 */
#ifndef PKTLEDGER_EXPERIMENT_FAULTS_ROW_H
#define PKTLEDGER_EXPERIMENT_FAULTS_ROW_H

#include <linux/types.h>

#include "experiment/experiment.h"
#include "experiment/faults/fault.h"
#include "fault_abi.h"
#include "host/journal.h"

/* Properties of a fault. */
#define OF_PROGRAM  (1U << 0) /* made by the sending or receiving program, or dependent on it */
#define GOES	    (1U << 1) /* does not change the test network, detached on exit */
#define BY_TIMER    (1U << 2) /* loses packets in a timer, which interrupts any task */
#define HARMLESS    (1U << 3) /* loses no packets */
#define SILENT	    (1U << 4) /* no event shows the loss, but two probes do */
#define HOST_GLOBAL (1U << 5) /* changes host-wide settings while it runs */
#define ALL_LOST    (1U << 6) /* lets no packet past its place */
#define NO_BACKLOG  (1U << 7) /* enables NAPI on the veth, or uses the backlog for other packets */

/* Topologies that allow a fault. */
#define IN_ROUTER (1U << LAB_ROUTER)
#define IN_BRIDGE (1U << LAB_BRIDGE)
#define IN_TAPS	  (1U << LAB_TAP)
#define IN_TUNNEL (1U << LAB_VXLAN)
#define IN_VETHS  (1U << LAB_PAIR | IN_ROUTER | IN_BRIDGE)

/* Where a loss happens, in path order. */
enum fault_place {
	AT_OUTPUT, /* the sender's IP layer, output hook, */
	AT_ROUTE,
	AT_POSTROUTING,
	AT_NEIGH,
	AT_SENDER,   /* the sender's interface */
	AT_LINK,     /* the ring of the next interface, or the tunnel */
	AT_BRIDGE,   /* a bridge in the middle, */
	AT_ROUTER,   /* or a router, first its route, */
	AT_FORWARD,  /* then its forward hook */
	AT_RECEIVER, /* the receiver's interface */
	AT_ADDRESS,  /* the MAC address of the next hop */
	AT_IP_HEADER,
	AT_IP_ROUTE,
	AT_REASSEMBLY,
	AT_INPUT,
	AT_UDP_HEADER,
	AT_LOOKUP,
	AT_SOCKET,
};

/* Resources that only one fault in an experiment can have: "both need ...". */
#define SLOT_TC_EGRESS	"the tc program of the sender"
#define SLOT_TC_INGRESS "the tc program of the receiver"
#define SLOT_QUEUE	"the queue of the sender's interface"
#define SLOT_XDP	"the first program that reads a frame"
#define SLOT_XSK	"the AF_XDP socket"
#define SLOT_BACKLOG	"the backlog of a CPU"
#define SLOT_FRAGMENTS	"the program that changes fragments"
#define SLOT_POLICY	"the IPsec policy of a packet"
#define SLOT_CHECKSUM	"the checksum of a packet"
#define SLOT_BUFFER	"the receive buffer"

enum fault_value {
	FAULT_VALUE_NONE,
	FAULT_VALUE_SHARE,
	FAULT_VALUE_RATE,
};

/* The faults' BPF programs. tc programs are first, in priority order. */
enum fault_program {
	PROGRAM_MERGED, /* reinjects packets, so it runs first. At ingress, like all tc programs
			 * but two */
	PROGRAM_SLOW,	/* uses CPU time for each packet */
	PROGRAM_SPOIL,
	PROGRAM_INGRESS,
	PROGRAM_FRAGMENT,
	PROGRAM_DEAF,	/* drops ARP and neighbour discovery packets */
	PROGRAM_UNTOLD, /* drops reports about a smaller path MTU */
	PROGRAM_KEEP,	/* keeps all packets, as if this host were their destination */
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

	unsigned fault;	   /* the fault being planned */
	unsigned frames;   /* frames per datagram */
	unsigned segments; /* datagrams per packet */
	unsigned threads;
	uint64_t bytes;	   /* size of a packet's frames without FCS */
	uint64_t truesize; /* bytes charged to a socket */
	double passing;	   /* fraction of sent packets left after all faults, 0 .. 1 */
};

struct fault_state {
	const struct fault_list *list;
	const struct fault_effects *fx;
	struct lab *lab;
	struct recipe recipe; /* steps not yet run, or to be printed */
	unsigned fault;	      /* the fault being applied */
	struct fault_config cfg;
	struct fault_bpf *skel;			     /* the BPF programs, NULL: not needed */
	int xdp_link, cgroup_link;		     /* -1: not attached */
	struct journal_change *udp_mem, *flow_limit; /* NULL: unchanged */
	bool midway_due;
};

#define FAULT_STEPS 5

struct fault_row {
	const char *name, *title; /* name: STAGE[:VARIANT] */
	enum fault_value value;
	enum fault_place at;
	unsigned is; /* properties */
	const char *slot; /* SLOT_*, or NULL */
	unsigned in;	     /* topologies that allow it, 0: any */
	const char *tx, *rx; /* the only compatible engine, NULL: any */
	const char *not_tx;  /* a sending engine with which the fault has no effect, or no
			      * visible effect */
	int family;	     /* only possible family: AF_INET, AF_INET6, 0: any */
	unsigned payload;    /* datagram length required with MTUs of 1500, 0: any */
	unsigned programs;   /* PROGRAM() bits of the required programs */
	struct fault_config
		cfg; /* ... and their parameters. A fraction of 1 is replaced by the fault's */

	/*
	 * Requirements on the experiment, which are the members of fx that fault_effects_merge()
	 * reads, and frames ...
	 */
	struct fault_effects fx;
	unsigned flight; /* ... in flight per sending thread, 0: default */
	uint64_t holds;	 /* ... twice this number, named by `where`, 0: any number */
	const char *where;
	/* Plans the parts that depend on the experiment, in path order. NULL: not needed. */
	int (*plan)(struct fault_plan *p);
	/*
	 * Steps that apply the fault to the test network, each "NS TOOL TEXT" as in add_steps(),
	 * followed by steps that apply() adds. NULL: not needed.
	 */
	const char *steps[FAULT_STEPS];
	void (*apply)(struct fault_state *s);
	/*
	 * Called before the first packet, after fx->midway packets (or at the end), and after the
	 * last packet.
	 */
	int (*begin)(struct fault_state *s, struct error *err);
	int (*midway)(struct fault_state *s, struct error *err);
	int (*end)(struct fault_state *s, struct error *err);
};

/* The rows for each mechanism. A row without a name ends an array. */
extern const struct fault_row faults_by_program[], faults_by_nft[], faults_by_qdisc[],
	faults_by_link[], faults_by_ip[], faults_by_socket[];

/*
 * Formats a mask with one CPU for bitmap_parse(), as comma-separated hex words. LAB_MASK_LEN is
 * enough.
 */
#define LAB_MASK_LEN 1024
char *lab_cpu_mask(char *buf, size_t size, unsigned cpu);

/* Adds a step in a port's namespace. */
#define port_step(s, tool, port, ...) recipe_add(&(s)->recipe, tool, (port)->ns, __VA_ARGS__)

/* Adds steps for the plan's interface settings, which are checksums, NAPI and RPS. */
int fault_apply_devices(struct fault_state *s, struct error *err);

/* The interface that receives the frames a bridge floods. */
#define FAULT_THIRD "v-third"

const struct fault_row *fault_row(unsigned fault);

static inline bool fault_is(unsigned fault, unsigned properties)
{
	return fault_row(fault)->is & properties;
}

/*
 * Limits a buffer size in bytes to the range of setsockopt(), because the kernel doubles the value.
 */
int fault_plan_ask(uint64_t bytes);

/*
 * Allows each sending thread this many frames in flight. The buffer size is forced, because
 * wmem_max is lower.
 */
void fault_plan_flight(struct fault_plan *p, uint64_t frames);

/* Returns -EINVAL unless the experiment sends twice as many frames as fit in `what`. */
int fault_plan_count(struct fault_plan *p, uint64_t frames, const char *what);

/*
 * Rejects a plan with STATUS_USAGE, or STATUS_UNABLE for -EOPNOTSUPP. The message starts with
 * "--fault NAME...".
 */
int fault_plan_refuse(struct fault_plan *p, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Loads the required programs and attaches tc and cgroup programs (by_program.c). */
int fault_programs_open(struct fault_state *s, const struct tracer *tracer, struct error *err);

/*
 * Attaches the XDP program until the receiver's namespace is removed, or with a link that we hold.
 */
int fault_attach_xdp(struct fault_state *s, bool stay, struct error *err);

void fault_programs_close(struct fault_state *s);

#endif
