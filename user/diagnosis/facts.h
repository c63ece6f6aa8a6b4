/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `check` reads of a host: settings once, counters twice, so that there is a rate. What
 * cannot be read is listed, and the rest is judged.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FACTS_H
#define PKTLEDGER_DIAGNOSIS_FACTS_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#include "base/proc.h"
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

/* The line behind this one; NULL: there is none. */
static inline const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line && line[1] ? line + 1 : NULL;
}

/* What the CPUs did between two moments, and how they are set up. */

#define FACTS_CPUS 1024

/* /proc/stat, in ticks since boot. */
struct cpu_ticks {
	bool online;
	uint64_t idle, softirq, steal, total;
};

struct cpu_sample {
	struct cpu_ticks at[FACTS_CPUS];
};

/* /proc/stat: lines "cpuN user nice system idle iowait irq softirq steal ..."; what is short is not
 * online. */
void cpu_sample_parse(struct cpu_sample *s, const char *text);

struct facts_cpu {
	bool online;
	bool ticked;		  /* the shares are known */
	double idle, softirq;	  /* of the window, 0 .. 1 */
	char governor[24];	  /* "" unknown */
	unsigned mhz, mhz_max;	  /* as cpufreq says; 0 unknown */
	char idle_state[24];	  /* the deepest that is not disabled; "" unknown */
	unsigned idle_latency_us; /* to leave it */
};

struct facts_cpus {
	unsigned n; /* highest number + 1 */
	unsigned online;
	double steal; /* of all CPUs together */
	struct facts_cpu at[FACTS_CPUS];
};

void facts_cpus_rates(struct facts_cpus *cpus, const struct cpu_sample *before,
		      const struct cpu_sample *after);

/* Governor, speed and idle states of the CPUs that are online, from sysfs. `root`: proc_root(). */
void facts_cpus_read(int root, struct facts_cpus *cpus);

/* Which CPU handles the interrupts of an interface. */

#define FACTS_IRQS 128 /* of one interface */

struct facts_irq {
	unsigned irq;
	uint64_t fired;	  /* in the window, on all CPUs */
	int cpu;	  /* that took the most of them; -1: none fired */
	uint64_t most;	  /* how many it took */
	int target;	  /* the CPU that it is sent to; -1: not known, or several */
	bool moving;	  /* to another one, with the next interrupt: while polled it has none */
	char allowed[32]; /* CPUs that it may be sent to, as "0-3,8"; "": not known */
	char name[48];	  /* the driver's: "eth0-TxRx-3", "virtio2-input.0" */
};

/*
 * The numbers of an interface's interrupts, from the directory msi_irqs of its device (or of the
 * device that a virtio one sits on). Returns how many, 0: none known.
 */
unsigned irq_numbers(const struct netns *ns, const char *ifname, unsigned *irq, unsigned max);

/*
 * How often each of the `n` interrupts fired between two texts of /proc/interrupts, and where. A
 * line without a count for every CPU is left out. Returns how many of them were found; 0 too if a
 * CPU came or went between the two. Their targets are set by irq_affinities().
 */
unsigned irq_rates(const char *before, const char *after, const unsigned *irq, unsigned n,
		   struct facts_irq *out);

/* Sets `target`, `moving` and `allowed`, from /proc/irq. `root`: proc_root(). */
void irq_affinities(int root, struct facts_irq *irq, unsigned n);

/* Whether it is one of a receive queue, as drivers call theirs. */
bool irq_receives(const struct facts_irq *irq);

/* One interface: how it is set up, who handles its queues, and what its driver lost. */

#define FACTS_LINK_LOSSES 24

/* /sys/class/net/IFNAME/FILE; false, and "": it cannot be read. */
bool link_sysfs(const struct netns *ns, const char *ifname, const char *file, char *buf,
		unsigned size);

struct link_loss {
	enum nic_cause cause;
	enum nic_class class;
	enum stage stage;
	char counter[NIC_NAME];
	uint64_t lost;	/* in the window */
	uint64_t total; /* as the counter stands; 0: not comparable (several counters) */
};

struct facts_link {
	struct netdev dev;
	struct netdev_settings set;
	char master_name[16]; /* of its bridge, bond ... */
	unsigned peer_mtu;    /* of the other end of a veth; 0: not known */
	bool features_known;
	bool native_xdp, zero_copy; /* what the driver can do (netdev-genl, Linux 6.3) */
	bool threaded;		    /* NAPI in threads */
	char qdisc[64];		    /* kind, with its limit where known: "pfifo limit 1000" */

	/* Of queue 0; "" or 0 where the kernel has none of it. */
	char rps_cpus[128], xps_cpus[128];
	unsigned rps_flow_cnt;
	char rp_filter[8]; /* effective: the larger of the interface's and all's; "" unknown */
	bool gro, gro_hw, lro, gso, udp_gso, rx_csum;

	struct facts_irq irq[FACTS_IRQS]; /* those that have a line in /proc/interrupts */
	unsigned n_irqs;

	uint64_t rx_packets, tx_packets; /* in the window; by facts_end() */
	struct link_loss loss[FACTS_LINK_LOSSES];
	unsigned n_losses;
};

/* Everything that does not need two samples. 0 or -errno (-ENODEV). */
int facts_link_read(const struct netns *ns, const char *ifname, struct facts_link *link);

/* Sets link->qdisc from what change_read() shows of the root. Pure. */
void facts_link_qdisc(struct facts_link *link, const char *value);

/* Losses between two snapshots of the interface. */
void facts_link_rates(struct facts_link *link, struct counters_device *before,
		      struct counters_device *after);

/* Sum of the losses of one cause that count packets. */
uint64_t facts_link_lost(const struct facts_link *link, enum nic_cause cause);

/* The UDP sockets of a namespace, who has them, and how they are served. */

#define FACTS_SOCKS 512 /* more are counted, not judged */

struct facts_sock {
	uint64_t inode;
	uint64_t cookie; /* 0: not known */
	int family;	 /* AF_INET, AF_INET6 */
	uint16_t port;
	char bound[FMT_MAX];	/* local address; "": any */
	char peer[FMT_MAX];	/* address and port that it is connected to; "": none */
	uint64_t queued;	/* bytes of truesize waiting (SK_MEMINFO_RMEM_ALLOC) */
	uint64_t queued_before; /* a window ago */
	uint64_t truesize;	/* bytes that a waiting packet takes, of the mean; 0: not known */
	uint64_t rcvbuf;	/* as getsockopt(SO_RCVBUF) shows; 0: not known */
	uint64_t sndbuf;	/* as getsockopt(SO_SNDBUF) shows; 0: not known */
	uint32_t drops;		/* since it was opened */
	uint32_t lost;		/* in the window */
	bool young;		/* opened in it: no rate of the window is its own */
	bool reads_known;
	uint64_t reads; /* calls that took one from it in the window; merged by UDP_GRO are one */

	struct reading reading; /* what its reader did while it lost; window_ns 0: not known */

	/* Its owner; pid 0: not found, or one of several processes that have it. */
	pid_t pid;
	unsigned holders;
	char process[16]; /* name */
};

struct facts_socks {
	uint16_t port; /* on which they have to be; 0: any */
	unsigned all;  /* of the namespace, on any port */
	unsigned n;
	unsigned more;	  /* that are not in the list, those first that neither lost nor wait */
	bool more_lose;	  /* not only such are left out */
	unsigned settled; /* private: entries before are not replaced */
	bool no_buffer;	  /* rcvbuf is unknown: the kernel has no udp_diag */
	struct facts_sock at[FACTS_SOCKS];
};

/*
 * The UDP sockets of `ns` on this port (0: any), by sock_diag; where the kernel has no udp_diag,
 * from the files. 0 or -errno.
 */
int facts_socks_read(const struct netns *ns, uint16_t port, struct facts_socks *socks);

/* Appends a socket; sockmem_cb of a struct facts_socks. Pure. */
void facts_socks_add(void *arg, const struct sockmem_row *row);

/*
 * What the sockets of `after` lost since `before`, by inode; of those opened meanwhile, all. What
 * is not known because the list was full is 0.
 */
void facts_socks_rates(const struct facts_socks *before, struct facts_socks *after);

/*
 * How long a process's group has been without CPU because its quota was used up, ns, over all CPUs:
 * one value for each level from it upwards, at most `max`. Returns the levels, 0: no quota, or
 * unknown. `root`: proc_root().
 */
unsigned group_throttled(int root, pid_t pid, uint64_t *ns, unsigned max);

/* Who has the sockets, and how much CPU time these processes were refused. */

struct facts_owner {
	uint64_t inode;	  /* asked for */
	pid_t pid;	  /* 0: none found */
	bool reads;	  /* as in struct owner */
	unsigned holders; /* the same */
	char process[16]; /* its name, /proc/PID/comm */
};

/*
 * Fills in the owners of `n` sockets, as owners_socket() has them. `pid` 0: looks at all processes,
 * else at this one. `o` NULL: none is found. 0; -EACCES if descriptors of some processes may not be
 * read (CAP_SYS_PTRACE); -errno.
 */
int facts_owners_find(struct owners *o, struct facts_owner *owner, unsigned n, pid_t pid);

/* Names the owner of each socket. `pid` and the result as those of facts_owners_find(). */
int facts_holders_find(struct owners *o, struct facts_socks *socks, pid_t pid);

/* Sockets that get a copy of every packet, or of every datagram. */

#define FACTS_TAPS 64 /* more are counted, without their owner */

struct facts_taps {
	unsigned taps; /* packet sockets of ETH_P_ALL */
	unsigned raws; /* raw sockets of IPPROTO_UDP */
	struct facts_owner tap[FACTS_TAPS], raw[FACTS_TAPS];
};

/*
 * Adds those of /proc/net/packet (packet_seq_show()), or of /proc/net/raw and raw6, where the local
 * port is the protocol (raw_sock_seq_show()). Pure.
 */
void facts_taps_parse(struct facts_taps *t, bool raw, const char *text);

/* 0 or -errno of facts_owners_find(). */
int facts_taps_read(const struct netns *ns, struct owners *o, struct facts_taps *t);

/* Limits of the network stack beside what they limit. 0: not known, where a 0 has no meaning. */

/* Counters that are in no other place; both samples have them. */
struct stack_sample {
	uint64_t conntrack_drops; /* no room in the table, or no memory; not early_drop, which made
				     room */
	uint64_t conntrack_clashes;
	uint64_t nfqueue_drops; /* packets that a queue to user space had no room for */
	uint64_t ovs_lost;	/* packets that Open vSwitch could not give to its daemon */
};

enum { STACK_V4, STACK_V6, STACK_FAMILIES };

struct facts_stack {
	uint64_t rmem_default, rmem_max, wmem_default, wmem_max;
	uint64_t udp_mem[3], udp_pages; /* pages; limits and use, both of the whole host */
	uint64_t page_bytes;
	uint64_t max_backlog, budget, budget_usecs;
	uint64_t flow_entries; /* rps_sock_flow_entries */
	bool flow_entries_known;
	char flow_limit_cpus[128]; /* flow_limit_cpu_bitmap */
	uint64_t conntrack, conntrack_max;
	uint64_t frag_high[STACK_FAMILIES], frag_memory[STACK_FAMILIES];     /* bytes */
	uint64_t neighbours[STACK_FAMILIES], neighbours_max[STACK_FAMILIES]; /* gc_thresh3 */

	struct stack_sample before, after;
};

/* A number behind a word in a line of sockstat: ("FRAG", "memory"). */
bool sockstat_value(const char *text, const char *group, const char *word, uint64_t *value);

/* queue_dropped of all lines of /proc/net/netfilter/nfnetlink_queue (seq_show()). */
uint64_t nfqueue_drops(const char *text);

/* `host`: the namespace that has the host's own settings; those of others are read in `ns`. */
void facts_stack_read(const struct netns *ns, const struct netns *host, struct facts_stack *stack);

/*
 * Packets that connection tracking dropped in a namespace, since boot: those that found the table
 * full, and those whose new entry clashed with one that was there (__nf_conntrack_confirm()).
 */
struct stack_conntrack {
	uint64_t drops, clashes;
};

/* Pages that UDP has, of the whole host. False: not known. */
bool stack_udp_pages(const struct netns *ns, uint64_t *pages);
/* /proc/net/stat/nf_conntrack. Pure. */
struct stack_conntrack stack_conntrack_parse(const char *text);
struct stack_conntrack stack_conntrack_read(const struct netns *ns);

void stack_sample_read(const struct netns *ns, struct stack_sample *sample);

/* What pktledger itself can do on this host. */

struct facts_self {
	bool btf;
	char missing_caps[96]; /* "": none */
	unsigned reasons;      /* that the kernel gives for drops; 0: none, places only */
	bool drop_socket;      /* it says which socket a packet was dropped for (Linux 6.11) */
	bool af_xdp;
	bool xdp_features; /* it says what drivers can do (netdev-genl, Linux 6.3) */
};

/* All of it. */

#define FACTS_LINKS  64 /* more are left out, and listed as unread */
#define FACTS_UNREAD 48

/* Scopes of the counters. */
#define FACTS_HERE "here" /* the namespace looked at */
#define FACTS_HOST "host"

struct facts_unread {
	char what[64], why[96];
};

#define FACTS_RULES 4 /* those that dropped most */

struct facts {
	uint64_t window_ns;
	uint16_t port;
	pid_t pid;	    /* what was asked for; 0: all */
	bool counters_only; /* nothing else was read, no sockets either */

	struct counters moved;
	struct counters after;
	struct facts_cpus cpus;
	struct facts_link link[FACTS_LINKS];
	unsigned n_links;
	struct facts_stack stack;
	struct facts_socks socks; /* those asked for */
	struct facts_taps taps;
	struct way_dnat dnat; /* one that leads nowhere, if there is one */
	struct way_silent silent;
	struct way_back back; /* of what reverse path filtering refused, if it did */

	/* Rules of netfilter that dropped packets, and how long they were watched. */
	struct nft_rule rule[FACTS_RULES];
	unsigned n_rules;
	uint64_t rules_ns;

	struct facts_self self;

	struct facts_unread unread[FACTS_UNREAD];
	unsigned n_unread;
};

struct facts_spec {
	const struct netns *ns; /* to look at; borrowed, as the next; NULL: the thread's */
	struct owners *owners;	/* of sockets; NULL: none is known */
	const char *ifname;	/* NULL: all that are up, but for loopback */
	uint16_t port;
	pid_t pid;
};

/*
 * Reads settings and takes the first sample of what has two; facts_end() takes the second one, from
 * which on `facts` can be judged. `facts` stays the caller's, to be freed in any case. -ENODEV: no
 * such interface.
 */
struct facts_reader;
int facts_begin(struct facts_reader **r, const struct facts_spec *spec, struct facts *facts,
		struct error *err);
int facts_end(struct facts_reader *r, struct error *err); /* frees `r`, also after an error */

/*
 * Waits for so long, and looks meanwhile at the readers of sockets that lose. False: SIGINT,
 * SIGTERM or SIGHUP came, which the caller has blocked.
 */
bool facts_wait(struct facts_reader *const *r, unsigned n, uint64_t ns);

/* Whether a socket loses packets and watching for longer may show why. */
bool facts_undecided(const struct facts_reader *r);

void facts_free(struct facts *facts);

/* How much a counter moved, and how far it stands; 0: it is not there. */
uint64_t facts_moved(const struct facts *f, const char *scope, const char *name);
uint64_t facts_total(const struct facts *f, const char *scope, const char *name);

/* The circumstances of a measurement: what two results must have in common to be compared. */

/*
 * Versions, quirks (drops/reason.h), the BPF maps that are open (host/load.h), CPUs, the
 * interfaces of `lab` (NULL: none) and the sysctls that decide where packets are lost. What cannot
 * be read is left out; null is what is read and not set. Needs no privilege without a lab, but some
 * quirks are known only with those of tracing. The caller owns the object (json_object_put()).
 */
struct json_object *env_read(const struct lab *lab);

#endif
