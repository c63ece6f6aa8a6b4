/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Data that `check` reads from a host: settings once, and counters twice to compute rates. Items
 * that cannot be read are listed, and everything else is judged.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_H
#define PKTLEDGER_DIAGNOSIS_FACTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/proc.h"
#include "diagnosis/path.h"
#include "diagnosis/reader.h"
#include "diagnosis/way.h"
#include "drops/owners.h"
#include "host/counters.h"
#include "drops/nftrules.h"
#include "host/journal.h"
#include "host/lab.h"
#include "host/netdev.h"
#include "host/netns.h"
#include "host/sockdiag.h"

/* Returns the next line, or NULL. */
static inline const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line && line[1] ? line + 1 : NULL;
}

/* CPU activity between two points in time, and the CPU configuration. */

#define FACTS_CPUS 1024

/* One CPU's ticks since boot, from /proc/stat. */
struct cpu_ticks {
	bool online;
	uint64_t idle, softirq, steal, total;
};

struct cpu_sample {
	struct cpu_ticks at[FACTS_CPUS];
};

/*
 * Parses the "cpuN user nice system idle iowait irq softirq steal ..." lines in /proc/stat. A CPU
 * with a short line is offline.
 */
void cpu_sample_parse(struct cpu_sample *s, const char *text);

/* `ticked`: the window's fractions are known. */
#define FACTS_CPU(U, Q, B, T, K, L, X)                                                             \
	B(online) B(ticked) X(double idle, DOUBLE, "idle", idle)                                   \
	X(double softirq, DOUBLE, "softirq", softirq) T(governor, 24) U(mhz) U(mhz_max)

struct facts_cpu {
	FACTS(FACTS_CPU)
};

struct facts_cpus {
	unsigned n; /* highest CPU number + 1 */
	unsigned online;
	double steal; /* fraction over all CPUs */
	struct facts_cpu at[FACTS_CPUS];
};

void facts_cpus_rates(struct facts_cpus *cpus, const struct cpu_sample *before,
		      const struct cpu_sample *after);

/* Reads the online CPUs' governor and frequency from sysfs. `root`: proc_root(). */
void facts_cpus_read(int root, struct facts_cpus *cpus);

/* CPUs that handle an interface's interrupts. */

#define FACTS_IRQS 128 /* per interface */

/*
 * `fired`: interrupts in the window, on all CPUs. `cpu`: the CPU that handled most of them, -1:
 * none fired. `target`: the CPU the interrupt is routed to, -1 if unknown or more than one.
 * `moving`: the next interrupt will arrive on another CPU, but none occurs during polling.
 */
#define FACTS_IRQ(U, Q, B, T, K, L, X)                                                             \
	U(irq) T(name, 48) /* the driver's name for it: "eth0-TxRx-3" */ Q(fired)                  \
	X(char allowed[32], TEXT, "affinity", allowed) /* "0-3,8" */                               \
	B(moving) X(int cpu, INT, "cpu", cpu) X(int target, INT, "target", target)

struct facts_irq {
	FACTS(FACTS_IRQ)
	uint64_t most; /* interrupts handled by `cpu` */
};

/*
 * Reads an interface's interrupt numbers from its device's msi_irqs directory (or from the device
 * below a virtio device). Returns how many there are, 0 if unknown.
 */
unsigned irq_numbers(const struct netns *ns, const char *ifname, unsigned *irq, unsigned max);

/*
 * Computes how often, and on which CPU, each of the `n` interrupts fired between two readings of
 * /proc/interrupts. Skips lines that lack a count for some CPU. Returns the number of interrupts
 * found, which is also 0 if a CPU appeared or disappeared in between. The targets are set by
 * irq_affinities().
 */
unsigned irq_rates(const char *before, const char *after, const unsigned *irq, unsigned n,
		   struct facts_irq *out);

/* Sets `target`, `moving` and `allowed` from /proc/irq. `root`: proc_root(). */
void irq_affinities(int root, struct facts_irq *irq, unsigned n);

/* Returns true if the interrupt has a name typical of receive queues. */
bool irq_receives(const struct facts_irq *irq);

/*
 * Interface: its configuration, the CPUs that serve its queues, and losses counted by its driver.
 */

#define FACTS_LINK_LOSSES 24

/* Reads /sys/class/net/IFNAME/FILE. Returns false and sets "" if it cannot be read. */
bool link_sysfs(const struct netns *ns, const char *ifname, const char *file, char *buf,
		unsigned size);

/* `lost`: packets in the window. `total`: counter value, 0 if there are several counters. */
#define FACTS_LOSS(U, Q, B, T, K, L, X)                                                            \
	X(enum nic_cause cause, ENUM, "cause", cause, RECORD_NAMES(nic_cause_names))               \
	X(enum nic_class class, ENUM, "class", class, RECORD_NAMES(nic_class_names))               \
	T(counter, NIC_NAME) Q(lost) Q(total)

struct link_loss {
	FACTS(FACTS_LOSS)
	enum stage stage;
};

/*
 * `peer_mtu`: MTU at the other end of a veth. `rp_filter`: effective value, the larger of the
 * interface's and `all`. `qdisc`: includes its limit or rate, "pfifo limit 1000". `tun_reader`:
 * "name (pid)" of a process that reads a tun which lost packets. facts_end() sets the packets and
 * what only losses require. Queue 0 settings are "" or 0 if the kernel does not support them.
 */
#define FACTS_LINK(U, Q, B, T, K, L, X)                                                            \
	X(char master_name[16], TEXT, "master", master_name) /* bridge, bond ... it belongs to */  \
	X(unsigned peer_mtu, UINT, "peer_mtu", peer_mtu, .how = RECORD_NULL)                       \
	B(features_known) B(native_xdp) B(zero_copy) /* driver features (Linux 6.3) */             \
	X(bool threaded, BOOL, "threaded_napi", threaded) T(qdisc, 64)                             \
	T(rps_cpus, 128) T(xps_cpus, 128) U(rps_flow_cnt) T(rp_filter, 8)                          \
	B(gro) B(gro_hw) B(lro) B(gso) B(udp_gso) X(bool rx_csum, BOOL, "rx_checksum", rx_csum)    \
	X(bool tx_csum, BOOL, "tx_checksum", tx_csum) Q(rx_packets) Q(tx_packets)                  \
	X(char tun_reader[32], TEXT, "tun_reader", tun_reader, .how = RECORD_OMITTED)

struct facts_link {
	struct netdev dev;
	struct netdev_settings set;
	FACTS(FACTS_LINK)
	struct way_stray stray;		  /* frames counted by rx_dropped */
	struct facts_irq irq[FACTS_IRQS]; /* interrupts listed in /proc/interrupts */
	unsigned n_irqs;
	struct link_loss loss[FACTS_LINK_LOSSES];
	unsigned n_losses;
};

/* Reads everything that does not require two samples. Returns 0 or -errno (-ENODEV). */
int facts_link_read(const struct netns *ns, const char *ifname, struct facts_link *link);

/* Sets link->qdisc from the text that change_read() returns for the root. Pure. */
void facts_link_qdisc(struct facts_link *link, const char *value);

/* Computes the losses between two snapshots of the interface. */
void facts_link_rates(struct facts_link *link, struct counters_device *before,
		      struct counters_device *after);

/* Returns the sum of losses with one cause, from counters that count packets. */
uint64_t facts_link_lost(const struct facts_link *link, enum nic_cause cause);

/*
 * A namespace's UDP sockets, their owners, and the activity of the processes that read them. Also
 * its TCP listeners.
 */

#define FACTS_SOCKS 512 /* further sockets are counted but not judged */

/*
 * `lost`, `reads`: in the window. A message merged by UDP_GRO counts as one read. Sizes are 0 if
 * unknown. `truesize`: mean bytes per queued packet. `young`: opened in the window, so the window's
 * rates do not apply. `pid`: the owner, or one of several, 0 if not found.
 */
#define FACTS_SOCK(U, Q, B, T, K, L, X)                                                            \
	X(uint16_t port, UINT, "port", port) T(process, 16)                                        \
	X(pid_t pid, INT, "pid", pid, .how = RECORD_NULL) U(holders)                               \
	T(bound, FMT_MAX) /* local address, "" for any */                                          \
	T(peer, FMT_MAX) /* address and port it is connected to */                                 \
	K(queued, "queued_bytes") K(queued_before, "queued_before_bytes")                          \
	K(truesize, "truesize_bytes") K(rcvbuf, "rcvbuf_bytes") K(sndbuf, "sndbuf_bytes")          \
	X(uint32_t drops, UINT, "drops", drops) /* since it was opened */                          \
	X(uint32_t lost, UINT, "lost", lost) B(young)                                              \
	X(uint32_t waiting, UINT, "waiting", waiting, .how = RECORD_OMITTED) /* of a listener */   \
	X(uint32_t room, UINT, "room", room, .how = RECORD_OMITTED)                                \
	X(uint32_t half_open, UINT, "half_open", half_open, .how = RECORD_OMITTED)                 \
	X(bool md5, BOOL, "md5", md5, .how = RECORD_OMITTED) /* a listener with TCP MD5 keys */    \
	X(uint64_t exceeded, UINT, "udp_mem_exceeded", exceeded, .how = RECORD_OMITTED,            \
	  RECORD_WHEN(facts_sock, exceeded_known)) /* see readings_exceeded() */                   \
	X(uint64_t reads, UINT, "reads", reads, RECORD_WHEN(facts_sock, reads_known))

struct facts_sock {
	uint64_t inode;
	uint64_t cookie; /* 0 if unknown */
	int family;	 /* AF_INET, AF_INET6 */
	bool reads_known, exceeded_known;
	FACTS(FACTS_SOCK)
	struct reading reading; /* reader activity during losses, window_ns 0 if unknown */
};

struct facts_socks {
	uint16_t port; /* port that all listed sockets use (0: any) */
	unsigned all;  /* sockets in the namespace, on any port */
	unsigned n;
	unsigned more;	  /* sockets left out for lack of room, idle sockets without losses first */
	bool more_lose;	  /* sockets with losses or queued packets were left out too */
	unsigned settled; /* private: entries before this index stay */
	bool no_buffer;	  /* rcvbuf is unknown because the kernel lacks udp_diag */
	struct facts_sock at[FACTS_SOCKS];
};

/*
 * Reads the UDP sockets in `ns` on this port (0: any) using sock_diag, or from /proc if the kernel
 * lacks udp_diag. Returns 0 or -errno.
 */
int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks);

/* Reads the TCP listeners in `ns`. Returns 0 or -errno. */
int facts_listeners_read(const struct netns *ns, struct facts_socks *socks);

/* Counts the half-open connections of each listener, those without an answer to their SYN-ACK. */
int facts_half_open_read(const struct netns *ns, struct facts_socks *listeners);

/* Appends a socket. Works as a sockmem_cb for struct facts_socks. Pure. */
void facts_socks_add(void *arg, const struct sockmem_row *row);

/*
 * Computes the losses of the sockets in `after` since `before`, matching them by inode. All losses
 * of a newer socket count. Losses that are unknown because the list was full are 0.
 */
void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after);

/*
 * Reads how long a process's cgroup was throttled because its CPU quota was used up: ns summed over
 * all CPUs, one value per level from the group upwards, at most `max`. Returns the number of
 * levels, 0 if there is no quota or it is unknown. `root`: proc_root().
 */
unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max);

/*
 * Finds the sockets' owners using owners_socket(). If `pid` is 0, searches all processes, otherwise
 * only that process. Finds no owners if `o` is NULL. Returns 0, -EACCES if some processes'
 * descriptors cannot be read (CAP_SYS_PTRACE), or -errno.
 */
int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid);

#define FACTS_CAPTURES 8 /* further programs are left out */

/* Packets that a program lost in the window, in its packet sockets on one interface ("": any). */
#define FACTS_CAPTURE(U, Q, B, T, K, L, X)                                                         \
	T(process, 16) X(pid_t pid, INT, "pid", pid) T(ifname, 16) Q(lost)

struct facts_capture {
	FACTS(FACTS_CAPTURE)
};

/*
 * Appends the packet sockets in a namespace that have lost packets so far, each once, as struct
 * silent_record. Reads nothing if the namespace `ns` (inode `inum`) has no packet sockets.
 * Returns 0, or -errno from owners_silent().
 */
int facts_captures_read(struct owners *o, const struct netns *ns, uint32_t inum,
			struct list *socks);

/* Sums the losses between two such lists by program and interface. Pure. Returns how many. */
unsigned facts_captures_rates(const struct list *before, const struct list *after,
			      struct facts_capture capture[FACTS_CAPTURES]);

/* Limits in the network stack, with current usage. 0 means unknown if 0 would be meaningless. */

/*
 * Counters that belong nowhere else, in both samples. `conntrack_drops`: table full or out of
 * memory, excluding early_drop, which made room.
 */
#define FACTS_SAMPLE(U, Q, B, T, K, L, X)                                                          \
	Q(conntrack_drops) Q(conntrack_clashes) Q(nfqueue_drops)

struct stack_sample {
	FACTS(FACTS_SAMPLE)
};

enum { STACK_V4, STACK_V6, STACK_FAMILIES };

#define FACTS_STACK(U, Q, B, T, K, L, X)                                                           \
	Q(rmem_default) Q(rmem_max) Q(wmem_default) Q(wmem_max)                                    \
	X(uint64_t somaxconn, UINT, "somaxconn", somaxconn, .how = RECORD_OMITTED)                 \
	L(udp_mem, 3) Q(udp_pages) /* pages, used by the whole host */ Q(page_bytes)               \
	K(max_backlog, "netdev_max_backlog") K(budget, "netdev_budget")                            \
	K(budget_usecs, "netdev_budget_usecs")                                                     \
	X(char flow_limit_cpus[128], TEXT, "flow_limit_cpu_bitmap", flow_limit_cpus)               \
	Q(conntrack) Q(conntrack_max)                                                              \
	/* for both families: bytes, and entries on the whole host (gc_thresh3) */                 \
	L(frag_high, STACK_FAMILIES)                 \
	L(frag_memory, STACK_FAMILIES) L(neighbours, STACK_FAMILIES)                               \
	L(neighbours_max, STACK_FAMILIES)

struct facts_stack {
	FACTS(FACTS_STACK)
	struct stack_sample before, after;
};

/* Returns the text of a file in /proc/net of a namespace, which the caller frees, or NULL. */
char *facts_net_text(const struct netns *ns, const char *file);

/* Returns the number that follows a word on a sockstat line: ("FRAG", "memory"). */
bool sockstat_value(const char *text, const char *group, const char *word, uint64_t *value);

/* Returns the sum of queue_dropped in /proc/net/netfilter/nfnetlink_queue (seq_show()). NULL: 0. */
uint64_t nfqueue_drops(const char *text);

/*
 * Reads the limits. `host` is the namespace that has the host's settings. All other settings are
 * read in `ns`.
 */
void facts_stack_read(const struct netns *ns, const struct netns *host, struct facts_stack *stack);

/* Reads how many pages UDP uses on the whole host. Returns false if unknown. */
bool stack_udp_pages(const struct netns *ns, uint64_t *pages);

/*
 * Sets the number of packets that connection tracking has dropped since boot, from
 * /proc/net/stat/nf_conntrack: because the table was full, or because the new entry clashed with an
 * existing entry (__nf_conntrack_confirm()). Pure.
 */
void stack_conntrack_parse(const char *text, struct stack_sample *sample);

void stack_sample_read(const struct netns *ns, struct stack_sample *sample);

/* Kernel features that pktledger can use on this host. */
#define FACTS_SELF(U, Q, B, T, K, L, X)                                                            \
	B(btf) X(char missing_caps[96], TEXT, "missing_capabilities", missing_caps)                \
	X(unsigned reasons, UINT, "drop_reasons", reasons) /* 0: function names only */            \
	B(drop_socket) /* available for a drop (Linux 6.11) */ B(af_xdp)                           \
	B(xdp_features) /* reported by drivers (Linux 6.3) */

struct facts_self {
	FACTS(FACTS_SELF)
};

/* All facts. */

#define FACTS_LINKS  64 /* further interfaces are left out and listed as unread */
#define FACTS_UNREAD 48

/* Counter scopes. */
#define FACTS_HERE "here" /* the namespace being examined */
#define FACTS_HOST "host"

struct facts_unread {
	char what[64], why[96];
};

#define FACTS_RULES 4 /* rules that dropped the most */

struct facts {
	uint64_t window_ns;
	uint16_t port;
	pid_t pid;	    /* process to look at (0: all) */
	bool counters_only; /* only counters were read, nothing else */

	struct counters moved;
	struct counters after;
	struct facts_cpus cpus;
	struct facts_link link[FACTS_LINKS];
	unsigned n_links;
	char egress[16]; /* interface of the default route, "" if there is none */
	struct facts_stack stack;
	struct facts_socks socks; /* the sockets asked for */
	struct facts_socks listeners; /* those that lost packets */
	struct facts_capture capture[FACTS_CAPTURES];
	unsigned n_captures;
	struct way_dnat dnat; /* a NAT entry with a new destination that does not exist, if found */
	struct way_silent silent;
	struct way_next next;
	uint16_t closed_port; /* port without a socket to which the most packets came, 0: unknown */
	struct path_mtu path; /* to the address asked for, if any */
	struct way_back back; /* reverse route of a source rejected by rp_filter, if any */

	/* Netfilter rules that dropped packets, and how long they were observed. */
	struct nft_rule rule[FACTS_RULES];
	char rule_text[FACTS_RULES][256]; /* as nft prints it, "" if unknown */
	unsigned n_rules;
	uint64_t rules_ns;

	struct facts_self self;

	struct facts_unread unread[FACTS_UNREAD];
	unsigned n_unread;
};

struct facts_spec {
	const struct netns *ns; /* namespace to read, NULL: the thread's. Borrowed, as is the
				   next */
	struct owners *owners;	/* socket owners, NULL: unknown */
	const char *ifname;	/* NULL: all that are up, except loopback */
	uint16_t port;
	pid_t pid;
	const char *mtu_to; /* measure the path MTU to this address, NULL: none */
};

/*
 * Reads the settings and takes the first counter sample. facts_end() takes the second, after which
 * `facts` can be judged. The caller owns `facts` and must free it even after an error. Returns
 * -ENODEV if the interface does not exist.
 */
struct facts_reader;
int facts_begin(struct facts_reader **r, const struct facts_spec *spec, struct facts *facts,
		struct error *err);
int facts_end(struct facts_reader *r, struct error *err); /* frees `r`, even after an error */

/*
 * Waits `ns` while sampling the threads that read lossy sockets. Returns false after SIGINT,
 * SIGTERM or SIGHUP, which the caller must have blocked.
 */
bool facts_wait(struct facts_reader *const *r, unsigned n, uint64_t ns);

/* Returns true if a socket loses packets and watching longer may show why. */
bool facts_undecided(const struct facts_reader *r);

/* Notes that `n` other namespaces could not be entered. */
void facts_unread_netns(struct facts *f, unsigned n);

void facts_free(struct facts *facts);

/*
 * Write or read the facts as a JSON object that contains everything judge() needs, a line in a
 * bundle. Names are validated when read, because they may end up in commands that users paste. The
 * caller owns the object, zero-initialises `facts`, and frees it with facts_free().
 */
struct json_object *facts_write(const struct facts *facts);
void facts_load(const struct json_object *o, struct facts *facts);

/*
 * Reads facts from text: output of nstat, netstat -s, ethtool -S or ss -uam, or the contents of
 * /proc/net/snmp, netstat or softnet_stat. `before` is the same source at an earlier time, or NULL
 * if nothing changed. The time between them is unknown (window_ns 0). Returns -ENOMSG if `after` is
 * none of these, -EXDEV if the texts have no counter in common, or -ERANGE if more counters are
 * smaller than larger in `after`. `f` must be zero-initialised, and freed even after an error.
 */
int facts_text(struct facts *f, const char *before, const char *after);

/* Document rows. */
extern const struct record_field facts_link_rows[], facts_sock_rows[], facts_reading_rows[],
	facts_unread_rows[], facts_self_rows[];

/* Return a counter's increase, and its value. 0 if it does not exist. */
uint64_t facts_moved(const struct facts *f, const char *scope, const char *name);
uint64_t facts_total(const struct facts *f, const char *scope, const char *name);

/*
 * Returns the maximum number of frames the kernel may have dropped in the window because nothing
 * receives them.
 */
uint64_t facts_strays(const struct facts *f, const char *ifname);

/* Environment of a measurement. Two results are comparable only if their environments match. */

/*
 * Returns versions, quirks (drops/reason.h), open BPF maps (host/load.h), CPUs, the interfaces in
 * `lab` (NULL: none), and the sysctls that decide where packets are lost. Unreadable values are
 * left out, and null means the value was read but is not set. Without a lab no privileges are
 * needed, but some quirks can be detected only with the privileges for tracing. The caller owns the
 * object (json_object_put()).
 */
struct json_object *env_read(const struct lab *lab);

#endif
