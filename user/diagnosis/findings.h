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
 * Facts about one cause, declared once: each is a member of struct finding_facts and a row of
 * finding_fact_rows, with the name that texts use as {name} and JSON as a key. U() is a uint64_t, D()
 * a double, S() a borrowed text, B() a bool. K() has another name than its member. I() is known if a
 * flag is set, all others if they are not zero or empty. L() is a list. X() is a row only, for parts
 * of the members declared in struct finding_facts.
 */
#define FINDING_FACT_LIST(U, K, D, S, B, I, L, X)                                                  \
	/* The loss. `lost`: packets of this cause in `window_ns`. `total`: packets lost `since` (boot). \
	 * `events`: increase of `counter` if it does not count lost packets. */                   \
	U(lost) U(sent) X("lost_percent", TEXT, d.lost_percent) U(window_ns) D(loss_pps)           \
	U(total) S(since) S(counter) U(events) S(reason) S(location)                               \
	B(injected) /* by --fault */                                                               \
	X("nic", ENUM, nic, RECORD_NAMES(nic_cause_names))                                         \
	/* The place. `mtu`: of the outgoing interface. `not_joined`: multicast without a local    \
	 * member. `tap`: the loss of a packet socket, which only gets copies. `port_closed`: the  \
	 * requested port has no socket. `refused`: datagrams to any such port of the namespace. */ \
	S(ifname) X("program", POINTER, process) U(port)                                           \
	S(bound) S(peer) /* local and remote address of a socket on that port */                   \
	S(hook) U(ttl) U(mtu)                                                                      \
	S(tunnel) /* interface that uses the UDP port */                                           \
	B(not_joined) B(no_carrier) B(tap) B(port_closed) U(refused)                               \
	/* The socket and its reader. Rates are of the time while packets arrived. Buffers are as in \
	 * getsockopt(): twice the requested size. `queued`: bytes in the queue now, and one window \
	 * before. */                                                                              \
	D(arrival_pps) D(read_pps) X("per_packet_ns", UINT, d.per_packet_ns)                       \
	K(rcvbuf, "rcvbuf_bytes") X("rcvbuf_fix_bytes", UINT, d.rcvbuf_fix)                        \
	X("rcvbuf_request_bytes", UINT, d.rcvbuf_request)                                          \
	K(rmem_max, "rmem_max_bytes") X("rmem_max_fix_bytes", UINT, d.rmem_max_fix)                \
	K(rmem_default, "rmem_default_bytes") X("rmem_default_enough_bytes", UINT, d.enough)       \
	X("mem_fix_bytes", UINT, d.mem_fix) K(truesize, "truesize_bytes")                          \
	X("burst_packets", UINT, d.burst) X("burst_ns", UINT, d.burst_ns)                          \
	B(queue_seen) I(queued, "queued_bytes", queue_seen) K(queued_before, "queued_before_bytes") \
	S(reader) /* "asterisk[812]", "the thread rtp-3 of asterisk[812]" */                       \
	X("watched_ns", UINT, reading.window_ns)                                                   \
	X("running_percent", UINT, d.running, RECORD_WHEN(finding_facts, d.reader))                \
	X("waiting_percent", UINT, d.waiting, RECORD_WHEN(finding_facts, d.reader))                \
	X("sleeping_percent", UINT, d.sleeping, RECORD_WHEN(finding_facts, d.reader))              \
	X("full_percent", UINT, d.full, RECORD_WHEN(finding_facts, d.queue))                       \
	X("sleeps", TEXT, d.sleeps) X("throttled_ns", UINT, reading.throttled_ns)                  \
	X("lost_at_once", UINT, reading.burst)                                                     \
	/* A listener: connections waiting, and at most. `half_open`: it refused SYNs. */          \
	S(socket) I(waiting, "waiting", d.listener) I(room, "room", d.listener) U(somaxconn)       \
	B(half_open)                                                                               \
	K(sndbuf, "sndbuf_bytes") S(wmem) /* "wmem_default": the setting that limits it */         \
	K(wmem_now, "wmem_bytes") X("wmem_fix_bytes", UINT, d.wmem_fix) B(send_full)               \
	/* Limits, udp_mem and udp_pages in pages. `conntrack_clashes`: packets whose new entry    \
	 * clashed with another. `flow_limit`: the bitmap, if it dropped most packets. `used`,     \
	 * `limit`: of a table or memory, whose family is 4 or 6. */                               \
	L(udp_mem, 3) X("udp_mem_bytes", UINT, d.udp_mem_bytes) U(page_bytes)                      \
	B(udp_pages_known) I(udp_pages, "udp_pages", udp_pages_known)                              \
	X("limit_pages", UINT, udp_mem[2])                                                         \
	L(tcp_rmem, 3) X("tcp_rmem_fix", TEXT, d.tcp_rmem_fix)                                     \
	U(conntrack_drops) U(conntrack_clashes)                                                    \
	K(netdev_max_backlog, "backlog") X("backlog_fix", UINT, d.backlog_fix) S(flow_limit)       \
	U(used) U(limit) X("used_percent", UINT, d.used_percent) U(family) S(limit_sysctl)         \
	/* Queues, interfaces, rules. `qdisc_limit` is in tc syntax, `qdisc_fix` a better limit,   \
	 * "pfifo limit 1000". `rule_chain`: "inet filter input", NULL if no counter increased.    \
	 * `rule`, `rule_handle`: as nft prints it, if it was one rule.                            \
	 * `clsact`: filters of both directions, which share a counter. `nfqueue`, `ovs`: a        \
	 * program that judges packets was too slow. `arriving`, `leaving`: fragments. */          \
	S(qdisc) S(qdisc_limit) S(qdisc_fix) K(tsq, "tcp_limit_output_bytes")                      \
	U(txqueuelen) U(txqueuelen_fix) U(ring) U(ring_max) S(rp_filter)                           \
	X("source", TEXT, back.source) X("back", TEXT, back.by)                                    \
	X("asked", TEXT, dnat.asked) X("backend", TEXT, dnat.backend)                              \
	X("silent_on", TEXT, dnat.ifname) X("nat_rule", TEXT, dnat.rule)                           \
	X("entries", TEXT, dnat.entries) X("silent", TEXT, silent.address)                         \
	X("silent_in", TEXT, silent.netns) X("silent_enter", TEXT, silent.enter)                   \
	S(rules) S(rule_chain) S(rule) U(rule_handle) B(clsact) B(nfqueue) B(ovs) B(arriving) B(leaving)                  \
	S(pause_tx) S(pause_rx) S(pause_fix) S(driver) S(master) S(other) U(other_mtu)             \
	U(flow_cnt) U(flow_entries_fix) S(stray) U(stray_vlan)                                     \
	/* CPUs. `ring_ns`: in which a ring fills. */                                              \
	B(of_cpu) I(cpu, "cpu", of_cpu) I(softirq_percent, "softirq_percent", of_cpu) U(cpus)      \
	D(processed_pps) U(queues) U(queues_max) U(queues_fix) U(rss_used) S(channel)              \
	U(irqs) U(irq) S(irq_list) I(idle_cpu, "idle_cpu", of_cpu) S(rps) S(rps_fix)               \
	U(rx_usecs) U(rx_usecs_fix) U(ring_ns) S(idle_state) U(idle_latency_us)                    \
	U(idle_latency_fix_us) S(governor) U(mhz) U(mhz_max) U(steal_percent) U(squeezed)          \
	U(budget) U(budget_usecs)                                                                  \
	/* Others. `flows`, `again`: TCP black holes, retransmissions. */                          \
	B(generic_xdp) B(no_btf) U(taps) U(raws) S(processes) S(missing) U(flows) U(again)

#define FACT_D(member)	 double member;
#define FACT_S(member)	 const char *member;
#define FACT_NONE(...)

struct finding_facts {
	FINDING_FACT_LIST(FACT_Q, FACT_Q, FACT_D, FACT_S, FACT_B, FACT_Q, FACT_L, FACT_NONE)
	const char *process;	  /* "name (pid)" */
	struct reading reading;	  /* work of the reader, unknown with window_ns 0 or samples 0 */
	enum nic_cause nic;	  /* cause of a driver's counter */
	struct way_back back;	  /* route back of a refused packet */
	struct way_dnat dnat;	  /* a translation that leads to the place of the loss */
	struct way_silent silent; /* a next hop that does not answer */

	/* Derived by findings_for_stage(). */
	struct {
		char lost_percent[FMT_MAX], sleeps[80], tcp_rmem_fix[FMT_MAX];
		unsigned running, waiting, sleeping, full, used_percent;
		bool reader, queue, listener; /* the facts of these groups are known */
		uint64_t burst, burst_ns, per_packet_ns, enough, udp_mem_bytes, backlog_fix;
		uint64_t rcvbuf_fix, rcvbuf_request, rmem_max_fix, mem_fix, wmem_fix;
		bool bursts; /* the losses are a few buffer sizes */
	} d;
};

extern const struct record_field finding_fact_rows[];

/*
 * Proof that a finding is correct. The tests have it: cases under @proves() cause the finding in a
 * test network or a virtual machine, and tests/fixtures/advice has data.
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
 * time, a rate, a count with commas), {name#packet} with the noun that it counts, {name*2} doubled.
 * A part in [brackets] is left out if one of its facts is unknown. Outside of brackets an unknown fact
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
	enum nic_cause nic;			     /* cause of a driver's counter, 0: any */
	const char *reason, *location;		     /* as in struct stagemap_row, NULL: any */
	const char *cause;			     /* one or two sentences */
	const char *about;			     /* background, not a template, NULL: none */
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

/* Fills `out`, and the change of its command, whose name is empty without a change. */
void finding_write(const struct finding_row *row, const struct finding_facts *f,
		   struct finding *out, struct change *change);

/*
 * Finds the block that holds for a loss at this stage, and writes it. Returns -ENOENT without
 * advice. `change` may be NULL.
 */
int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change);

/* Appends a text to `facts` of a finding, with the name of a fact as key. */
void finding_add_fact(struct finding *f, const char *key, const char *text);

/* Fills a template of a row. `facts`: by finding_fact_rows. Returns false, and "", if one is unknown. */
bool finding_fill(char *out, size_t size, const char *template, const struct json_object *facts);

/* Fills a template without facts, as a description: {ifname} is IFNAME, optional parts are left out. */
void finding_outline(char *out, size_t size, const char *template);

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
