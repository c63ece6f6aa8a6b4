/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns facts into advice. A finding is one block of the table in findings_data.c: its cause, its
 * condition, the fix, the command, the risk. Facts decide which block holds and fill its texts. If
 * a fact is unknown, the part of a text that needs it is left out: no advice goes further than the
 * evidence.
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
 * Facts about one cause. Each fact is a row of finding_fact_rows, which gives it the name that
 * texts use as {name} and JSON as a key. Zero or NULL if unknown. Strings are borrowed.
 */
struct finding_facts {
	/* The loss. */
	uint64_t lost;	    /* packets, of this cause */
	uint64_t sent;	    /* packets sent in total */
	uint64_t window_ns; /* length of the window with `lost` losses */
	double loss_pps;
	uint64_t total;	     /* packets lost since `since` */
	const char *since;   /* "boot", "it was opened" */
	const char *counter; /* name of the counter with the loss */
	uint64_t events;     /* increase of `counter` if it does not count lost packets */
	const char *reason;
	const char *location;
	bool injected; /* caused by --fault */

	/* The place. */
	const char *ifname;
	const char *process; /* "name (pid)" */
	uint16_t port;
	const char *bound, *peer; /* addresses of a socket on that port: local, remote */
	const char *hook;	  /* netfilter hook: "input" */
	unsigned ttl;		  /* TTL of the packets sent */
	unsigned mtu;		  /* MTU of the outgoing interface */
	const char *tunnel;	  /* interface that uses the UDP port */
	bool not_joined;	  /* multicast to a group without a local member */
	bool no_carrier;	  /* the interface has no carrier now */
	bool tap;		  /* loss of a packet socket, which only gets copies */
	bool port_closed;	  /* the requested port has no socket */
	uint64_t refused;	  /* datagrams to ports without a socket, anywhere in the
				   * namespace */

	/* The socket and its reader. */
	double arrival_pps; /* while packets arrived */
	double read_pps;    /* reads by the application in the same time */
	uint64_t rcvbuf;    /* bytes as in getsockopt(SO_RCVBUF): twice the requested size */
	uint64_t rmem_max, rmem_default;     /* net.core, bytes */
	uint64_t truesize;		     /* bytes per queued packet */
	bool queue_seen;		     /* the next two are known */
	uint64_t queued, queued_before;	     /* bytes in the queue now, and one window before */
	const char *reader;		     /* "asterisk[812]", "the thread rtp-3 of asterisk[812]" */
	struct reading reading;		     /* work of the reader, unknown with window_ns 0 or
					      * samples 0 */
	const char *socket;		     /* address and port of a listener */
	uint64_t waiting, room, somaxconn;   /* connections of a listener: waiting, maximum */
	bool half_open;			     /* it refused SYNs, not connections */
	uint64_t sndbuf, wmem_now;	     /* bytes */
	const char *wmem;		     /* "wmem_default": the setting that limits sndbuf */
	bool send_full;			     /* send buffers were full */

	/* Limits. */
	uint64_t udp_mem[3]; /* net.ipv4.udp_mem, pages */
	bool udp_pages_known;
	uint64_t udp_pages; /* in use, on the whole host */
	uint64_t page_bytes;
	uint64_t tcp_rmem[3]; /* net.ipv4.tcp_rmem, bytes */
	uint64_t conntrack_drops, conntrack_used, conntrack_max;
	uint64_t conntrack_clashes; /* packets whose new entry clashed with another */
	unsigned netdev_max_backlog;
	const char *flow_limit; /* net.core.flow_limit_cpu_bitmap, if it dropped most of them */
	uint64_t used, limit;	/* use and size of a table or memory that is full or nearly full */
	unsigned family;	/* 4 or 6, family of that table */
	const char *limit_sysctl;

	/* Queues, interfaces, rules. */
	const char *qdisc;	  /* kind */
	const char *qdisc_limit;  /* tc syntax: "limit 64Kb", "limit 1000p" */
	const char *qdisc_fix;	  /* a better limit for that kind: "pfifo limit 1000" */
	unsigned txqueuelen, txqueuelen_fix; /* for a tun or tap interface */
	uint64_t tsq;		  /* net.ipv4.tcp_limit_output_bytes, if TCP's own queue is full */
	unsigned ring, ring_max;  /* NIC ring or AF_XDP ring entries */
	const char *rp_filter;	  /* effective value for ifname: "1" */
	struct way_back back;	  /* route back of a refused packet */
	struct way_dnat dnat;	  /* a translation that leads to the place of the loss */
	struct way_silent silent; /* a next hop that does not answer */
	const char *rules;	  /* netfilter rules (drops/nftrules.h) */
	const char *rule_chain;	  /* chain of the first rule, "inet filter input". NULL if no
				   * counter increased */
	bool clsact;		  /* filters of both directions, which share a counter */
	bool nfqueue, ovs;	  /* a user-space program that judges packets was too slow */
	bool arriving, leaving;	  /* fragments */
	enum nic_cause nic;	  /* cause of a driver's counter */
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
	uint64_t ring_ns; /* ns in which a ring fills */
	const char *idle_state, *governor;
	unsigned idle_latency_us, idle_latency_fix_us, mhz, mhz_max, steal_percent;
	uint64_t squeezed, budget, budget_usecs;

	/* Other facts. */
	bool generic_xdp, no_btf;
	unsigned taps, raws;
	const char *processes, *missing;
	uint64_t flows, again; /* TCP: black holes, retransmissions */

	/* Derived by finding_find(). */
	struct {
		char lost_percent[FMT_MAX], sleeps[80];
		unsigned running, waiting, sleeping, full; /* percent */
		bool reader, queue, share;		   /* the facts of these groups are known */
		uint64_t burst, burst_ns, per_packet_ns;
		uint64_t rcvbuf_fix, rcvbuf_request, rmem_max_fix, mem_fix, wmem_fix, enough;
		uint64_t udp_mem_fix[3], tcp_rmem_fix[3], udp_mem_bytes;
		uint64_t backlog_fix, limit_fix, conntrack_fix, room_fix, budget_fix, usecs_fix;
		unsigned used_percent;
		bool listener;
		bool bursts; /* the losses are a few buffer sizes */
	} d;
};

extern const struct record_field finding_fact_rows[];

/*
 * Proof that a finding is correct. The tests have it: cases under @proves() cause the finding in a
 * test network or a virtual machine, and test_check_sick.c judges data.
 */
enum finding_proof {
	PROOF_NOT,
	PROOF_LAB,   /* caused in namespaces, and listed first */
	PROOF_GUEST, /* caused in a virtual machine, where settings of the whole host can be
		      * changed */
	PROOF_DATA,  /* recorded or written facts are judged */
};

extern const char *const finding_proofs[PROOF_DATA + 1]; /* "not", "lab", "guest", "data" */

/* All members except the kind are templates. */
struct finding_change {
	enum change_kind kind;
	const char *ifname, *name, *wanted, *old;
};

/*
 * A block of the table. Texts refer to facts: {name} unchanged, {name#} formatted for users (a
 * time, a rate, a count with commas), {name#packet} with the noun that it counts. A part in
 * [brackets] is left out if one of its facts is unknown. Outside of brackets an unknown fact
 * empties the text.
 */
struct finding_row {
	enum stage stage;
	const char *id;
	enum severity severity;
	enum finding_proof proof;
	bool (*when)(const struct finding_facts *f); /* NULL: always */
	size_t has, has_size;			     /* a fact that must be known, 0, 0: no such
						      * fact */
	const char *reason, *location;		     /* as in struct stagemap_row, NULL: any */
	const char *cause;			     /* one or two sentences */
	const char *about;			     /* paragraph of the manual, not a template */
	const char *seen, *setting;		     /* further evidence, and the current value */
	const char *fix;			     /* begins with a verb */
	const char *command;			     /* shows more details. A change has a
						      * separate command */
	struct finding_change change;
	const char *risk;
};

/* Sorted as in the manual. The first block that holds for a stage is used. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

/* Returns the block of that name, where - and _ are the same, or NULL. For names given by users. */
const struct finding_row *finding_row(const char *id);

/* Completes the facts and returns the block that holds, or NULL if no advice is needed. */
const struct finding_row *finding_find(enum stage stage, struct finding_facts *f);

/* Fills `out`, and the change of its command, whose name is empty without a change. */
void finding_write(const struct finding_row *row, const struct finding_facts *f,
		   struct finding *out, struct change *change);

/*
 * Combines finding_find() and finding_write(). Returns -ENOENT without advice. `change` may be
 * NULL.
 */
int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change);

/* Appends a text to `facts` of a finding, with the name of a fact as key. */
void finding_add_fact(struct finding *f, const char *key, const char *text);

/* Fills a template of a row. Returns false, and "", if a fact is unknown. */
bool finding_fill(char *out, size_t size, const char *template, const struct finding_facts *f);

/*
 * Returns whether a drop site means that a neighbour did not answer. A few packets that waited for
 * the neighbour in vain explain many more packets that found the queue full. IPv6 gives no reason.
 */
bool finding_is_silence(const char *reason, const char *location);

/*
 * Reads the settings of this host: rmem_max and rmem_default for a socket in `ns` (NULL: this
 * thread's namespace), udp_mem, page_bytes and netdev_max_backlog.
 */
void findings_read_host(const struct netns *ns, struct finding_facts *f);

/*
 * Returns whether a setting belongs to the namespace and is writable there. NULL: a setting of the
 * host.
 */
bool change_belongs(const struct change *change, const struct netns *ns);

/* Removes the commands of a finding whose change is not possible from here. */
void finding_forget(struct finding *f);

/*
 * Rewrites the commands of a finding for a shell outside of its namespace, with the words `enter`
 * to enter it ("ip netns exec b"). Commands of host settings stay unchanged.
 */
void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter);

/* Size from which a buffer only adds latency: sk_rcvbuf is an int, too. */
#define MEM_SANE (64ULL << 20)
/* SK_RMEM_MAX and SK_WMEM_MAX of 64-bit kernels: the default buffer of sockets. */
#define KERNEL_MEM 212992

#endif
