/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `check` looks at: a network namespace; or this one, and of all others those that lose. Of
 * each namespace the counters of losses are read twice, which costs little; the rules of the judge
 * say where they moved, and there everything is read.
 */
#ifndef PKTLEDGER_DIAGNOSIS_LOOK_H
#define PKTLEDGER_DIAGNOSIS_LOOK_H

#include "diagnosis/facts.h"
#include "diagnosis/judge.h"

#define LOOK_PLACES	8    /* namespaces that are read; those that lost most */
#define LOOK_SPACES	4096 /* whose counters are */
#define LOOK_ENOUGH	100  /* packets lost in each: what they mean is known then */
#define LOOK_NS		1000000000
#define LOOK_LONGEST_NS 10000000000

struct look_spec {
	const char *netns;  /* only this one: a name or a path; NULL: this one and the others */
	const char *ifname; /* as facts_spec's, as the next; with it this one only */
	uint16_t port;	    /* where it is open, if it is open anywhere */
	pid_t pid;	    /* only its namespace */
	/*
	 * So long. 0: a second, but while packets are lost as long as it takes to see LOOK_ENOUGH
	 * of them, LOOK_LONGEST_NS at most.
	 */
	uint64_t window_ns;
	/* Called each second of a look that goes on; NULL: not wanted. */
	/* `all_ns`: when it ends at the latest; `losing`: namespaces, 0 while that is not known */
	void (*on_second)(uint64_t elapsed_ns, uint64_t all_ns, unsigned losing);
};

/* A namespace that was read. */
struct look_place {
	char name[OWNER_NETNS];	 /* "": the thread's own */
	char enter[OWNER_ENTER]; /* words that run a command there; "": none are needed, or known */
	struct netns ns;
	struct facts facts;
};

struct look {
	uint64_t window_ns;
	struct look_place *at[LOOK_PLACES]; /* the first one stands for the host, too */
	unsigned n;
	unsigned spaces; /* whose counters were looked at, beside those */
	unsigned losing; /* of them, those that lost packets and for which there was no place */
	struct check_findings findings; /* of all places, planned; changes borrow from them */
	struct owners *owners;
};

/*
 * Looks, judges, and plans the changes. `l` is to be zero-initialised, and closed in any case.
 * STATUS_FAILED: there is no such namespace, process, interface.
 */
int look(struct look *l, const struct look_spec *spec, struct error *err);
void look_close(struct look *l);

/* Judges what was read elsewhere: nothing is planned, and no command of this host's is advised. */
void look_judge(struct look *l);

/* What became of a loss when the changes of its finding had been made. */
struct remedy {
	char id[32], subject[64], netns[OWNER_NETNS]; /* of the finding */
	double lost_pps, lost_pps_after;
	double arrived_pps, arrived_pps_after; /* packets that IP received in the namespace */
	enum remedy_outcome {
		REMEDY_HELPED, /* less than half of it is left */
		REMEDY_NO_HELP,
		REMEDY_NO_TRAFFIC, /* less than half as much arrived: it shows nothing */
	} outcome;
};

/*
 * Looks again where the finding is, for as long as `l` did; `spec` as then. One that lost nothing,
 * or no counted packets, is no question: -ENODATA.
 */
int look_again(const struct look *l, const struct look_spec *spec,
	       const struct check_finding *finding, struct remedy *out, struct error *err);

#endif
