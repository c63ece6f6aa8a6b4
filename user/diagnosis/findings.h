/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From facts to advice. A finding is one block of the table in findings_data.c: its cause, the
 * condition under which it holds, the fix, the command, the risk. Facts decide which block holds
 * and fill its texts. If a fact is not known, the part of a text that needs it is left out: no
 * advice goes beyond the evidence.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FINDINGS_H
#define PKTLEDGER_DIAGNOSIS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "diagnosis/reader.h"
#include "diagnosis/way.h"
#include "host/change.h"
#include "host/nic.h"
#include "ledger/result.h"

/*
 * Facts about one cause. Each is one row of finding_fact_rows, which gives it the name that texts
 * use as {name} and JSON as a key. Zero or NULL: not known. Strings are borrowed.
 */
struct finding_facts {
	/* The loss. */
	uint64_t lost;	    /* packets, of this cause */
	uint64_t sent;	    /* packets sent in all */
	uint64_t window_ns; /* in which `lost` were lost */
	double loss_pps;
	uint64_t total;	     /* packets lost since `since` */
	const char *since;   /* "boot", "it was opened" */
	const char *counter; /* that shows the loss */
	uint64_t events;     /* by which `counter` moved if it does not count lost packets */
	const char *reason;
	const char *location;
	bool injected; /* made by --fault */

	/* Where. */
	const char *ifname;
	const char *process; /* "name (pid)" */
	uint16_t port;
	const char *bound, *peer; /* address of a socket on that port: local, remote */
	const char *hook;	  /* of netfilter: "input" */
	unsigned ttl;		  /* of the packets sent */
	unsigned mtu;		  /* of the interface that they leave by */
	const char *tunnel;	  /* interface whose UDP port it is */
	bool not_joined;	  /* multicast to a group without a member here */
	bool no_carrier;	  /* the interface has none, now */
	bool tap;		  /* a packet socket's loss, of copies */
	bool port_closed;	  /* the port that was asked for has no socket */
	uint64_t refused;	  /* datagrams for ports without a socket, any of the namespace */

	/* The socket and its reader. */
	double arrival_pps; /* while packets arrived */
	double read_pps;    /* by the application meanwhile */
	uint64_t rcvbuf;    /* bytes, as getsockopt(SO_RCVBUF) shows: twice what was asked for */
	uint64_t rmem_max, rmem_default;     /* net.core, bytes */
	uint64_t truesize;		     /* bytes that a packet takes in the queue */
	bool queue_seen;		     /* the next two were read */
	uint64_t queued, queued_before;	     /* bytes in the queue now, and a window ago */
	const char *reader;		     /* "asterisk[812]", "the thread rtp-3 of asterisk[812]" */
	struct reading reading;		     /* what it did; window_ns 0, samples 0: not known */
	const char *socket;		     /* of a listener: its address and port */
	uint64_t waiting, room, somaxconn;   /* of a listener: connections; at most */
	bool half_open;			     /* it refused SYNs, not connections */
	uint64_t sndbuf, wmem_now;	     /* bytes */
	const char *wmem;		     /* "wmem_default": the setting that makes sndbuf small */
	bool send_full;			     /* send buffers were full */

	/* Limits. */
	uint64_t udp_mem[3]; /* net.ipv4.udp_mem, pages */
	bool udp_pages_known;
	uint64_t udp_pages; /* in use, of the whole host */
	uint64_t page_bytes;
	uint64_t tcp_rmem[3]; /* net.ipv4.tcp_rmem, bytes */
	uint64_t conntrack_drops, conntrack_used, conntrack_max;
	uint64_t conntrack_clashes; /* packets whose new entry clashed with another */
	unsigned netdev_max_backlog;
	const char *flow_limit; /* net.core.flow_limit_cpu_bitmap, if it took most of them */
	uint64_t used, limit;	/* of a table or a memory that is full, or nearly */
	unsigned family;	/* 4 or 6, of that table */
	const char *limit_sysctl;

	/* Queues, interfaces, rules. */
	const char *qdisc;	  /* kind */
	const char *qdisc_limit;  /* as tc writes it: "limit 64Kb", "limit 1000p" */
	const char *qdisc_fix;	  /* a better one of that kind: "pfifo limit 1000" */
	unsigned txqueuelen, txqueuelen_fix; /* of a tun or tap interface */
	uint64_t tsq;		  /* net.ipv4.tcp_limit_output_bytes, if TCP's own queue is full */
	unsigned ring, ring_max;  /* NIC ring or AF_XDP ring entries */
	const char *rp_filter;	  /* effective value for ifname: "1" */
	struct way_back back;	  /* of a packet that it refused */
	struct way_dnat dnat;	  /* leads to where it was lost */
	struct way_silent silent; /* a next hop that does not answer */
	const char *rules;	  /* of netfilter (drops/nftrules.h) */
	const char *rule_chain;	  /* of the first of them, "inet filter input"; NULL: none moved */
	bool clsact;		  /* filters of both directions, which share a counter */
	bool nfqueue, ovs;	  /* a program that judges packets was too slow */
	bool arriving, leaving;	  /* fragments */
	enum nic_cause nic;	  /* of a counter of the driver */
	const char *pause_tx, *pause_rx, *pause_fix;
	const char *driver, *master, *other; /* interfaces */
	unsigned other_mtu, flow_cnt, flow_entries_fix;

	/* CPUs. */
	bool of_cpu; /* the next two are known */
	unsigned cpu;
	unsigned softirq_percent;
	unsigned cpus;
	double processed_pps;
	unsigned queues, queues_max, queues_fix, rss_used;
	const char *channel; /* "combined", "rx" */
	unsigned irqs, irq, idle_cpu;
	const char *irq_list, *rps, *rps_fix;
	unsigned rx_usecs, rx_usecs_fix;
	uint64_t ring_ns; /* in which a ring fills */
	const char *idle_state, *governor;
	unsigned idle_latency_us, idle_latency_fix_us, mhz, mhz_max, steal_percent;
	uint64_t squeezed, budget, budget_usecs;

	/* Others. */
	bool generic_xdp, no_btf;
	unsigned taps, raws;
	const char *processes, *missing;
	uint64_t flows, again; /* of TCP: black holes, retransmissions */

	/* Derived by finding_find(). */
	struct {
		char lost_percent[FMT_MAX], sleeps[80];
		unsigned running, waiting, sleeping, full; /* percent */
		bool reader, queue, share;		   /* these are known */
		uint64_t burst, burst_ns, per_packet_ns;
		uint64_t rcvbuf_fix, rcvbuf_request, rmem_max_fix, mem_fix, wmem_fix, enough;
		uint64_t udp_mem_fix[3], tcp_rmem_fix[3], udp_mem_bytes;
		uint64_t backlog_fix, limit_fix, conntrack_fix, room_fix, budget_fix, usecs_fix;
		unsigned used_percent;
		bool listener;
		bool bursts; /* the losses are a few fillings of the buffer */
	} d;
};

extern const struct record_field finding_fact_rows[];

/*
 * How it is known that a finding is right. The tests have it: cases under @proves() bring about
 * what is proven in a test network or a virtual machine, test_check_sick.c has what is judged by
 * data.
 */
enum finding_proof {
	PROOF_NOT,
	PROOF_LAB,   /* brought about in namespaces, and named first */
	PROOF_GUEST, /* in a virtual machine, where settings of the whole host can be changed */
	PROOF_DATA,  /* recorded or written facts are judged */
};

extern const char *const finding_proofs[PROOF_DATA + 1]; /* "not", "lab", "guest", "data" */

/* All but the kind are texts to be filled. */
struct finding_change {
	enum change_kind kind;
	const char *ifname, *name, *wanted, *old;
};

/*
 * A block of the table. Texts name facts: {name} as it is, {name#} for people (a time, a rate, a
 * count with commas), {name#packet} with the noun that it counts. A part in [brackets] is left out
 * if one of its facts is not known; outside of brackets an unknown fact empties the text.
 */
struct finding_row {
	enum stage stage;
	const char *id;
	enum severity severity;
	enum finding_proof proof;
	bool (*when)(const struct finding_facts *f); /* NULL: always */
	size_t has, has_size;			     /* a fact that has to be known; 0, 0: none */
	const char *reason, *location;		     /* as in struct stagemap_row; NULL: any */
	const char *cause;			     /* one or two sentences */
	const char *about;			     /* paragraph of the manual, which is not filled */
	const char *seen, *setting;		     /* further evidence, and the value in force */
	const char *fix;			     /* begins with a verb */
	const char *command;			     /* that shows more; a change has its own */
	struct finding_change change;
	const char *risk;
};

/* In the manual's order. For a stage the first block that holds is taken. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

/* The block with that name, in which - and _ are the same; NULL: none. For names that users give. */
const struct finding_row *finding_row(const char *id);

/* Finishes the facts and returns the block that they lead to. NULL: they need no advice. */
const struct finding_row *finding_find(enum stage stage, struct finding_facts *f);

/* Fills `out` and the change behind its command; one without a name: there is none. */
void finding_write(const struct finding_row *row, const struct finding_facts *f,
		   struct finding *out, struct change *change);

/* Both of these. -ENOENT: no advice. `change` may be NULL. */
int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change);

/* Appends a text to `facts` of a finding, under a key that is a fact's name. */
void finding_add_fact(struct finding *f, const char *key, const char *text);

/* Fills a text as those of a row. Returns false, and "": a fact is not known. */
bool finding_fill(char *out, size_t size, const char *template, const struct finding_facts *f);

/*
 * Whether a drop site shows that a neighbour did not answer. A few packets that waited for it in
 * vain explain why many more found the queue of these full. IPv6 gives no reason.
 */
bool finding_is_silence(const char *reason, const char *location);

/*
 * Reads the settings of this host: rmem_max and rmem_default as a socket in `ns` has it (NULL: this
 * thread's namespace), udp_mem, page_bytes and netdev_max_backlog.
 */
void findings_read_host(const struct netns *ns, struct finding_facts *f);

/* Whether a setting is one of the namespace and can be written there; NULL: one of the host. */
bool change_belongs(const struct change *change, const struct netns *ns);

/* Removes the commands of a finding whose change cannot be made from here. */
void finding_forget(struct finding *f);

/*
 * Rewrites the commands of a finding as they are typed outside of its namespace, which the words
 * `enter` enter ("ip netns exec b"); those of the host's settings stay.
 */
void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter);

/* From where on a buffer is only delay: sk_rcvbuf is an int, too. */
#define MEM_SANE (64ULL << 20)
/* SK_RMEM_MAX and SK_WMEM_MAX of 64-bit kernels: what every socket has unless that was changed. */
#define KERNEL_MEM 212992

#endif
