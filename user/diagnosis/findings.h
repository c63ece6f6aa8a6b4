/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a loss means and what to change, stage by stage. One table of sentences (findings_data.c),
 * filled with what was measured. Where a fact is missing, the part that needs it is left out:
 * no advice that the evidence does not carry.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FINDINGS_H
#define PKTLEDGER_DIAGNOSIS_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "diagnosis/reader.h"
#include "diagnosis/way.h"
#include "host/change.h"
#include "ledger/result.h"

/* What is known about a loss. Zero or NULL: not known. Strings are borrowed. */
struct finding_facts {
	uint64_t lost;	    /* packets lost at the stage */
	uint64_t sent;	    /* packets sent in all, for the share */
	const char *reason; /* of the largest cause */
	const char *location;
	const char *ifname;  /* device at which it happened */
	const char *process; /* name of the receiving process */
	uint16_t port;
	const char *hook; /* netfilter: "input", "output" ... */
	unsigned ttl;	  /* of the packets sent */
	unsigned mtu;	  /* of the device in the way */

	double arrival_pps; /* at the socket, while packets arrived */
	double read_pps;    /* what the application read meanwhile */
	uint64_t rcvbuf;    /* bytes, as getsockopt(SO_RCVBUF) shows: twice what was asked for */
	uint64_t rmem_max, rmem_default; /* net.core, bytes */
	uint64_t truesize;   /* bytes a packet takes in the queue: sk_rmem / packets waiting */
	uint64_t udp_mem[3]; /* net.ipv4.udp_mem, pages */
	const uint64_t *udp_pages; /* in use, of the whole host; NULL: not known */
	uint64_t tcp_rmem[3];	   /* net.ipv4.tcp_rmem, bytes */
	/* Of conntrack: packets without an entry, while it was full; entries now, and at most. */
	uint64_t conntrack_drops, conntrack_used, conntrack_max;
	uint64_t conntrack_clashes; /* packets whose new entry clashed with another */
	uint64_t page_bytes;
	unsigned netdev_max_backlog;
	const char *qdisc;		 /* kind */
	const char *qdisc_limit;	 /* as tc writes it: "limit 64Kb", "limit 1000p" */
	const char *qdisc_wanted;	 /* a better one of that kind: "pfifo limit 1000" */
	unsigned ring_now, ring_max;	 /* NIC ring or AF_XDP ring entries */
	const char *rp_filter;		 /* effective value for ifname: "1" */
	const struct way_back *back;	 /* of a packet that it refused */
	const char *tunnel;		 /* device whose UDP port it is */
	bool not_joined;		 /* multicast, to a group that has no member here */
	bool no_carrier;		 /* the device has none, now */
	bool tap;			 /* a packet socket's loss, of copies */
	const struct way_dnat *dnat;	 /* that leads to where it was lost */
	const struct way_silent *silent; /* a next hop that does not answer */

	/* Where counters were watched for a while instead of packets that were numbered. */
	uint64_t window_ns;  /* in which `lost` were lost */
	uint64_t total;	     /* lost since `since` in all */
	const char *since;   /* "boot", "it was opened" */
	const char *counter; /* that said so */

	/* What the reader of the socket did while packets were lost */
	const char *reader;	/* "asterisk[812]", "the thread rtp-3 of asterisk[812]" */
	struct reading reading; /* window_ns 0, samples 0: not known */

	/* netfilter: what is known of the rules (drops/nftrules.h) */
	const char *rules;
	const char *rule_chain; /* of the first of them, "inet filter input"; NULL: none moved */
};

/*
 * Whether a drop site says that a neighbour did not answer. A few packets that waited for it in
 * vain show why many more found the queue of these full. IPv6 gives no reason.
 */
bool finding_is_silence(const char *reason, const char *location);

/*
 * Fills the settings of this host: rmem_max and rmem_default as a socket in `ns` has it (NULL: this
 * thread's namespace), udp_mem, page_bytes and netdev_max_backlog.
 */
void findings_read_host(const struct netns *ns, struct finding_facts *f);

/*
 * What a loss at this stage means, and the change behind the command, if `change` is not NULL; one
 * without a name: there is none. -ENOENT if a loss at this stage needs no advice (STAGE_NONE).
 */
int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change);

/* Whether a setting is one of the namespace and can be written there; NULL: one of the host. */
bool change_belongs(const struct change *change, const struct netns *ns);

/* Its change cannot be made from here: neither the commands nor what comes of them are shown. */
void finding_forget(struct finding *f);

/*
 * The commands of a finding as they are typed outside of its namespace, which the words `enter`
 * enter ("ip netns exec b"); those of the host's settings stay.
 */
void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter);

/*
 * Facts for the sentences of a finding, as text. A name that is not bound is not known; neither is
 * what there is no more room for.
 */
#define BINDS_MAX  80
#define BINDS_TEXT 16384

struct binds {
	unsigned n, used; /* of the text */
	struct {
		const char *name; /* static */
		unsigned value;	  /* where it begins in the text */
	} at[BINDS_MAX];
	char text[BINDS_TEXT];
};

/* Empty texts and zeros are not bound. */
void bind_text(struct binds *b, const char *name, const char *value);
void bind_count(struct binds *b, const char *name, uint64_t value);
void bind_zero(struct binds *b, const char *name, uint64_t value); /* a 0 too */
/* 1234567 as 1.23M: rates are measured, more digits would pretend. */
void bind_rate(struct binds *b, const char *name, double per_second);
void bind_percent(struct binds *b, const char *name, double share);
void bind_time(struct binds *b, const char *name, uint64_t ns);
void bind_dnat(struct binds *b, const struct way_dnat *dnat);
void bind_three(struct binds *b, const char *name, const uint64_t mem[3], uint64_t factor);
void bind_reader(struct binds *b, const struct finding_facts *f);
/* counter, lost, window, loss_rate, total. */
void bind_loss(struct binds *b, uint64_t window_ns, const char *counter, uint64_t lost,
	       uint64_t total);

/*
 * The table of findings: what losses mean, which states of a host will; and what the manual says.
 *
 * A text may name facts as {lost}: those of a loss are in findings.c, those of a state are what its
 * rule binds (diagnosis/judge.h). A part in [brackets] goes away if one of its facts is unknown;
 * outside of brackets an unknown fact empties the text.
 */

enum finding_when {
	WHEN_ALWAYS,
	WHEN_STATE,   /* not what a loss means: a rule takes it by its id */
	WHEN_BALANCE, /* the same, of a balance of TCP: monitor/summary.c */
	WHEN_READER_STOPPED,
	WHEN_READER_THROTTLED, /* the CPU quota held it back */
	WHEN_READER_WAITS,     /* for a CPU */
	WHEN_READER_BUSY,      /* it ran nearly all the time */
	WHEN_READER_ASLEEP,    /* although packets waited */
	WHEN_READER_RESTED,    /* because mostly none waited: bursts */
	WHEN_BURST,	       /* rcvbuf: the losses are a few fillings of the buffer */
	WHEN_READER_SLOW,      /* rcvbuf: more came than was read, for longer than that */
	WHEN_CONNTRACK,	       /* netfilter: no entry was left for most of them */
	WHEN_CLASH,	       /* netfilter: new entries of connections clashed with others */
	WHEN_RULES,	       /* netfilter: a rule's counter moved */
	WHEN_RING_GROWS,       /* the ring is not at its largest */
	WHEN_NOT_SILENT,       /* neigh: no next hop is */
	WHEN_ROOM,	       /* tcp_rcvbuf: the buffer was not full while its reader slept */
	WHEN_UDP_FREE,	       /* udp_mem: less than half of it is in use, now */
	WHEN_TCP_RMEM,	       /* tcp_rcvbuf: the buffer was as large as tcp_rmem lets it be */
	WHEN_DNAT,	       /* neigh, udp_lookup: a NAT leads there */
	WHEN_TUNNEL,	       /* udp_csum: what a tunnel has sent */
	WHEN_NOT_JOINED,       /* l2, ip_route: to a group that has no member here, no loss */
	WHEN_NO_WAY_BACK,      /* ip_route: there is no route back to the source */
	WHEN_OTHER_WAY_BACK,   /* there is one, by another device */
	WHEN_NO_CARRIER,       /* qdisc: the device has no link */
	WHEN_TAP,	       /* rcvbuf: the socket is a packet socket */
};

/*
 * How it is known that a finding is right. The tests have it: cases under @proves() bring about
 * what is proven in a lab or a guest, test_check_sick.c has what is judged by data.
 */
enum finding_proof {
	PROOF_NOT,
	PROOF_LAB,   /* brought about in namespaces, and named first */
	PROOF_GUEST, /* in a virtual machine, where settings of the whole host can be changed */
	PROOF_DATA,  /* facts that were recorded, or written, are given to the rules */
};

extern const char *const finding_proofs[PROOF_DATA + 1]; /* "not", "lab", "guest", "data" */

/* All but the kind are texts to be filled. */
struct finding_change {
	enum change_kind kind;
	const char *ifname, *name, *wanted, *old;
};

/* Evidence: a counter that moved while it was watched. */
#define FINDING_MOVED                                                                              \
	"{counter} +{lost}[ in {window}][, {loss_rate} a second][, {total} since boot]"

struct finding_row {
	enum stage stage;
	const char *id;
	enum finding_when when;
	enum severity severity;
	enum finding_proof proof;
	const char *text;
	const char *about; /* paragraph of the manual, for people who have it before them */
	const char *reason, *location; /* of its drop sites, as in struct stagemap_row */
	const char *evidence, *current, *wanted;
	const char *command; /* that shows more; a change has its own */
	struct finding_change change;
	const char *risk;
};

/* Of a loss the first row of its stage, reason and place whose condition holds is taken. In the
 * manual's order. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

/* The row of that id, of a loss or of a state; NULL: none. */
const struct finding_row *finding_row(const char *id);

/* Fills `out` and `change` from a row. */
void finding_write(const struct finding_row *row, const struct binds *b, struct finding *out,
		   struct change *change);

#endif
