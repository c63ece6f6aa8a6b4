/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Turns facts into advice. Each finding is a block in the findings_data.c table: its cause,
 * condition, fix, command and risk. The facts decide which block applies, and fill in its texts. If
 * a fact is unknown, the part of the text that needs it is left out, so advice never goes beyond
 * the evidence.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FINDINGS_H
#define PKTLEDGER_DIAGNOSIS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "diagnosis/path.h"
#include "diagnosis/reader.h"
#include "diagnosis/way.h"
#include "host/change.h"
#include "host/nic.h"
#include "ledger/result.h"

/*
 * Facts about one cause, declared once. Each is a member of struct finding_facts and a row in
 * finding_fact_rows, with the name used as {name} in texts and as the key in JSON. U() is a
 * uint64_t, D() a double, S() a borrowed string, B() a bool. K() has a name that differs from its
 * member's. I() is known if a flag is set. All others are known if they are not zero or empty. L()
 * is a list. X() is only a row, for parts of the members declared in struct finding_facts.
 */
#define FINDING_FACT_LIST(U, K, D, S, B, I, L, X)                                                  \
	/* Loss. `lost`: packets with this cause in `window_ns`. `total`: packets lost `since`     \
	 * (boot). `events`: increase of `counter` if that does not count lost packets. */         \
	U(lost) U(sent) X("lost_percent", TEXT, d.lost_percent) U(window_ns) D(loss_pps)           \
	U(total) S(since) S(counter) U(events) S(reason) S(location)                               \
	B(injected) /* by --fault */                                                               \
	X("nic", ENUM, nic, RECORD_NAMES(nic_cause_names))                                         \
	/* Place. `mtu`: outgoing interface's. `not_joined`: multicast without a local member.     \
	 * `tap`: lost by a packet socket, which only gets copies. `port_closed`: no socket on the \
	 * requested port. `refused`: datagrams to any such port in the namespace. */              \
	S(ifname) X("program", POINTER, process) U(port)                                           \
	S(bound) S(peer) /* local and remote address of a socket on that port */                   \
	S(hook) U(ttl) U(mtu)                                                                      \
	S(tunnel) /* interface using the UDP port */                                               \
	B(not_joined) B(no_carrier) B(tap) B(port_closed) U(refused)                               \
	/* Socket and reader. Rates cover the time in which packets arrived. Buffers are as in     \
	 * getsockopt(): twice the requested size. `queued`: bytes queued now, and one window      \
	 * earlier. `loss_bursts`: times the buffer overflowed, if it was nearly empty most of the \
	 * time, 0: unknown. */                                                                    \
	D(arrival_pps) D(read_pps) X("per_packet_ns", UINT, d.per_packet_ns)                       \
	K(rcvbuf, "rcvbuf_bytes") X("rcvbuf_fix_bytes", UINT, d.rcvbuf_fix)                        \
	X("rcvbuf_request_bytes", UINT, d.rcvbuf_request)                                          \
	K(rmem_max, "rmem_max_bytes") X("rmem_max_fix_bytes", UINT, d.rmem_max_fix)                \
	K(rmem_default, "rmem_default_bytes") X("rmem_default_enough_bytes", UINT, d.enough)       \
	X("mem_fix_bytes", UINT, d.mem_fix) K(truesize, "truesize_bytes")                          \
	X("burst_packets", UINT, d.burst) X("burst_ns", UINT, d.burst_ns)                          \
	B(queue_seen) I(queued, "queued_bytes", queue_seen) K(queued_before, "queued_before_bytes") \
	U(loss_bursts)                                                                             \
	U(sharing) /* sockets on the same port and address, all others of which received nothing */ \
	S(reader) /* "asterisk[812]", "the thread rtp-3 of asterisk[812]" */                       \
	X("watched_ns", UINT, reading.window_ns)                                                   \
	X("running_percent", UINT, d.running, RECORD_WHEN(finding_facts, d.reader))                \
	X("waiting_percent", UINT, d.waiting, RECORD_WHEN(finding_facts, d.reader))                \
	X("sleeping_percent", UINT, d.sleeping, RECORD_WHEN(finding_facts, d.reader))              \
	X("full_percent", UINT, d.full, RECORD_WHEN(finding_facts, d.queue))                       \
	X("sleeps", TEXT, d.sleeps) X("throttled_ns", UINT, reading.throttled_ns)                  \
	X("lost_at_once", UINT, reading.burst)                                                     \
	/* Listener: connections waiting, and the maximum. `half_open`: it refused SYNs.           \
	 * `signature`: what is wrong with the TCP signature: "missing". */                        \
	S(socket) I(waiting, "waiting", d.listener) I(room, "room", d.listener) U(somaxconn)       \
	B(half_open) B(cookie) X("signature", POINTER, d.signature)                                \
	K(sndbuf, "sndbuf_bytes") S(wmem) /* "wmem_default": the setting that limits it */         \
	K(wmem_now, "wmem_bytes") X("wmem_fix_bytes", UINT, d.wmem_fix) B(send_full)               \
	/* Limits, with udp_mem and udp_pages in pages. `conntrack_clashes`: packets whose new     \
	 * entry clashed with another. `flow_limit`: bitmap, if it dropped most packets. `used`,   \
	 * `limit`: for a table or memory. `family`: 4 or 6. */                                    \
	L(udp_mem, 3) X("udp_mem_bytes", UINT, d.udp_mem_bytes) U(page_bytes)                      \
	B(udp_pages_known) I(udp_pages, "udp_pages", udp_pages_known)                              \
	X("limit_pages", UINT, udp_mem[0]) /* the others have no effect */                         \
	B(exceeded_known) I(exceeded, "udp_mem_exceeded", exceeded_known) /* packets */            \
	L(tcp_rmem, 3) X("tcp_rmem_fix", TEXT, d.tcp_rmem_fix)                                     \
	U(conntrack_drops) U(conntrack_clashes)                                                    \
	K(netdev_max_backlog, "backlog") X("backlog_fix", UINT, d.backlog_fix) S(flow_limit)       \
	U(used) U(limit) X("used_percent", UINT, d.used_percent) U(family) S(limit_sysctl)         \
	/* Queues, interfaces, rules. `qdisc_limit` is in tc syntax, `qdisc_fix` a better limit,   \
	 * "pfifo limit 1000". `rule_chain`: "inet filter input", NULL if no counter increased.    \
	 * `rule`, `rule_handle`: as nft prints them, if it was a single rule. `clsact`: filters   \
	 * in both directions, which share a counter. `forwarded`: packets that a router passed on. \
	 * `told`: ICMP messages to senders of packets that are too large.                         \
	 * `nfqueue`: a program that decides on packets was too slow. `arriving`, `leaving`:       \
	 * fragments. */                                                                           \
	X("qdisc", TEXT, d.qdisc) X("qdisc_limit", TEXT, d.qdisc_limit) S(qdisc_fix)               \
	K(tsq, "tcp_limit_output_bytes")                                                           \
	U(txqueuelen) U(txqueuelen_fix) U(ring) U(ring_max) S(rp_filter)                           \
	X("source", TEXT, back.source) X("back", TEXT, back.by)                                    \
	X("asked", TEXT, dnat.asked) X("backend", TEXT, dnat.backend)                              \
	X("silent_on", TEXT, dnat.ifname) X("nat_rule", TEXT, dnat.rule)                           \
	X("entries", TEXT, dnat.entries) X("silent", TEXT, silent.address)                         \
	X("silent_in", TEXT, silent.netns) X("silent_enter", TEXT, silent.enter)                   \
	X("path_to", TEXT, path.to) X("path_via", TEXT, path.via) X("path_mtu", UINT, path.fits)   \
	X("path_before", TEXT, path.before) X("path_after", TEXT, path.after)                      \
	X("told_by", TEXT, path.told_by)                                                           \
	S(rules) S(rule_chain) S(rule) U(rule_handle) B(clsact) B(nfqueue) B(arriving) B(leaving)  \
	X("next", TEXT, next.ifname) X("next_mtu", UINT, next.mtu) U(forwarded) U(told)            \
	S(pause_tx) S(pause_rx) S(pause_fix) S(driver) S(master) S(other) U(other_mtu)             \
	S(stray) U(stray_vlan)                                                                     \
	/* CPUs. */                                                                                \
	B(of_cpu) I(cpu, "cpu", of_cpu) I(softirq_percent, "softirq_percent", of_cpu) U(cpus)      \
	D(processed_pps) U(queues) U(queues_max) U(queues_fix) U(rss_used) S(channel)              \
	U(irqs) U(irq) S(irq_list) I(idle_cpu, "idle_cpu", of_cpu) S(rps) S(rps_fix)               \
	S(governor) U(mhz) U(mhz_max) U(steal_percent) U(squeezed) U(budget) U(budget_usecs)       \
	/* Other facts. `flows`, `segment_bytes`: TCP black holes. `again`: retransmissions.       \
	 * `retransmits`: counted by the kernel. */                                                \
	B(retransmits) B(generic_xdp) B(no_btf) S(missing) U(flows) U(segment_bytes) U(again)

#define FACT_D(member)	 double member;
#define FACT_S(member)	 const char *member;
#define FACT_NONE(...)

struct finding_facts {
	FINDING_FACT_LIST(FACT_Q, FACT_Q, FACT_D, FACT_S, FACT_B, FACT_Q, FACT_L, FACT_NONE)
	const char *process;	  /* "name (pid)" */
	const char *qdisc;	  /* kind and options in tc syntax: "tbf rate 1Mbit" */
	struct reading reading;	  /* reader activity, unknown if window_ns or samples is 0 */
	enum nic_cause nic;	  /* cause that a driver counter shows */
	struct way_back back;	  /* reverse route for a rejected packet */
	struct way_dnat dnat;	  /* NAT entry that leads to the place of the loss */
	struct way_silent silent; /* next hop that does not answer */
	struct way_next next;	  /* link that large packets do not fit */
	struct path_mtu path;	  /* largest packet that reaches an address */

	/* Computed by findings_for_stage(). */
	struct {
		char lost_percent[FMT_MAX], sleeps[80], tcp_rmem_fix[FMT_MAX];
		char qdisc[32], qdisc_limit[96];
		unsigned running, waiting, sleeping, full, used_percent;
		const char *signature;
		bool reader, queue, listener; /* facts in these groups are known */
		uint64_t burst, burst_ns, per_packet_ns, enough, udp_mem_bytes, backlog_fix;
		uint64_t rcvbuf_fix, rcvbuf_request, rmem_max_fix, mem_fix, wmem_fix;
		bool bursts; /* the losses amount to a few buffers */
	} d;
};

extern const struct record_field finding_fact_rows[];

/*
 * Evidence that a finding is correct, from the tests: cases under @proves() provoke the finding in
 * a test network or a virtual machine, and tests/fixtures/advice has recorded data.
 */
enum finding_proof {
	PROOF_NOT,
	PROOF_LAB,   /* reproduced in namespaces, and listed first */
	PROOF_GUEST, /* reproduced in a virtual machine, where host-wide settings can be changed */
	PROOF_DATA,  /* only checked with recorded or hand-written facts */
};

extern const char *const finding_proofs[PROOF_DATA + 1]; /* "not", "lab", "guest", "data" */

/* All members except the kind are templates. */
struct finding_change {
	enum change_kind kind;
	const char *ifname, *name, *wanted, *old;
};

/*
 * Table block. Texts refer to facts: {name} is the plain value, {name#} is formatted for users (a
 * time, a rate, a count with commas), {name#packet} includes the noun being counted, and {name*2}
 * is doubled. A part in [brackets] is left out if one of its facts is unknown. Outside brackets, an
 * unknown fact empties the text.
 */
struct finding_row {
	enum stage stage;
	const char *id;
	enum severity severity;
	enum finding_proof proof;
	bool (*when)(const struct finding_facts *f); /* NULL: always */
	size_t has, has_size;			     /* fact that must be known (0, 0: none) */
	enum nic_cause nic;			     /* cause shown by a driver counter (0: any) */
	const char *reason, *location;		     /* as in struct stagemap_row, NULL: any */
	const char *cause;			     /* one or two sentences */
	const char *about;			     /* background, not a template, NULL: none */
	const char *seen, *setting;		     /* more evidence, and the current value */
	const char *fix;			     /* starts with a verb */
	const char *command;			     /* shows more details, or makes a change that
							--apply does not make */
	const char *undo;			     /* of that command */
	struct finding_change change;
	const char *risk;
};

/* Sorted as in the manual. The first matching block for a stage wins. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

/*
 * Returns the block with that name, treating - and _ as equal, or NULL. For names entered by users.
 */
const struct finding_row *finding_row(const char *id);

/*
 * Fills `out` and the change that its command makes. Without a change, the change's name is empty.
 */
void finding_write(const struct finding_row *row, const struct finding_facts *f,
		   struct finding *out, struct change *change);

/*
 * Finds the block that applies to a loss at this stage, and writes it. Returns -ENOENT if there is
 * no advice. `change` may be NULL.
 */
int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change);

/*
 * Sorts by lost packets, then by severity. An error that accounts for only a small fraction of the
 * loss becomes a warning.
 */
void findings_sort(struct finding *list, unsigned n);

/* Fraction of the loss below which an error is a warning. */
#define FINDING_SMALL 0.01

/* Appends a text to a finding's `facts`, keyed by the name of a fact. */
void finding_add_fact(struct finding *f, const char *key, const char *text);

/*
 * Fills a row's template from `facts`, which finding_fact_rows describes. Returns false and sets ""
 * if a fact is unknown.
 */
bool finding_fill(char *out, size_t size, const char *template, const struct json_object *facts);

/*
 * Fills a template without facts, to describe it: {ifname} becomes IFNAME, and optional parts are
 * left out.
 */
void finding_outline(char *out, size_t size, const char *template);

/*
 * Returns true if a drop site means that a neighbour did not answer. A few packets that waited for
 * the neighbour in vain explain many more that found the queue full. IPv6 gives no reason.
 */
bool finding_is_silence(const char *reason, const char *location);

/*
 * Reads this host's settings: rmem_max and rmem_default for a socket in `ns` (NULL: this thread's
 * namespace), udp_mem, page_bytes and netdev_max_backlog.
 */
void findings_read_host(const struct netns *ns, struct finding_facts *f);

/*
 * Returns true if a setting belongs to the namespace and can be written there. NULL: a host-wide
 * setting.
 */
bool change_belongs(const struct change *change, const struct netns *ns);

/* Removes a finding's commands if its change cannot be made from here. */
void finding_forget(struct finding *f);

/*
 * Rewrites a finding's commands for a shell outside its namespace, using the words in `enter` ("ip
 * netns exec b"). Commands for host-wide settings do not change.
 */
void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter);

/*
 * Names the namespace (inode `inum`, 0: unknown) that has a finding's settings, and rewrites the
 * finding's commands for a shell in the namespace of this process. Removes the commands if nothing
 * is known that enters the namespace.
 */
void finding_enter_netns(struct finding *f, const struct change *change, struct owners *owners,
			 uint32_t inum);

/* Size above which a buffer only adds latency. sk_rcvbuf is also only an int. */
#define MEM_SANE (64ULL << 20)
/* SK_RMEM_MAX and SK_WMEM_MAX on 64-bit kernels: the default socket buffer size. */
#define KERNEL_MEM 212992

#endif
