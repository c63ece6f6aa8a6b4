/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Selects the namespaces that `check` examines: one namespace, or this one and all others with
 * losses. The loss counters of each namespace are read twice, at low cost. The rules of the judge
 * decide whether they increased, and then everything in that namespace is read.
 */
#ifndef PKTLEDGER_DIAGNOSIS_LOOK_H
#define PKTLEDGER_DIAGNOSIS_LOOK_H

#include "diagnosis/facts.h"
#include "diagnosis/judge.h"

#define LOOK_PLACES	8    /* namespaces read fully, those with the most losses */
#define LOOK_SPACES	4096 /* namespaces whose counters are read */
#define LOOK_ENOUGH	100  /* losses per namespace that are enough to explain them */
#define LOOK_NS		1000000000
#define LOOK_LONGEST_NS 10000000000

struct look_spec {
	const char *netns;  /* only this namespace, a name or path. NULL: this namespace and all
			     * others */
	const char *ifname; /* see facts_spec, like the next. Only this namespace then */
	uint16_t port;	    /* in all namespaces where the port is open */
	pid_t pid;	    /* only the namespace of this process */
	/*
	 * Length of the window. 0: one second, or with losses until LOOK_ENOUGH of them are seen,
	 * LOOK_LONGEST_NS at most.
	 */
	uint64_t window_ns;
	/* Called once per second during a longer check. NULL if not needed. */
	/* `all_ns`: latest end. `losing`: namespaces with losses, 0 while unknown */
	void (*on_second)(uint64_t elapsed_ns, uint64_t all_ns, unsigned losing);
};

/* A namespace that was read. */
struct look_place {
	char name[OWNER_NETNS];	 /* "" for the thread's namespace */
	char enter[OWNER_ENTER]; /* words that run a command there, "" if not needed or unknown */
	struct netns ns;
	struct facts facts;
};

struct look {
	uint64_t window_ns;
	struct look_place *at[LOOK_PLACES]; /* the first place also stands for the host */
	unsigned n;
	unsigned spaces; /* other namespaces whose counters were read */
	unsigned losing; /* of these, namespaces with losses for which there was no place */
	struct check_findings findings; /* findings of all places, planned. Changes borrow from
					 * the places */
	struct owners *owners;
};

/*
 * Reads, judges, and plans the changes. Zero-initialise `l`, and close it in any case. Returns
 * STATUS_FAILED if the namespace, process or interface does not exist.
 */
int look(struct look *l, const struct look_spec *spec, struct error *err);
void look_close(struct look *l);

/* Judges data read elsewhere: plans no changes, and gives no commands for this host. */
void look_judge(struct look *l);

/* The result of a loss after the changes of its finding were made. */
struct remedy {
	char id[32], subject[64], netns[OWNER_NETNS]; /* identification of the finding */
	double lost_pps, lost_pps_after;
	double arrived_pps, arrived_pps_after; /* packets received by IP in the namespace */
	enum remedy_outcome {
		REMEDY_HELPED, /* less than half of the loss is left */
		REMEDY_NO_HELP,
		REMEDY_NO_TRAFFIC, /* less than half of the traffic arrived: no result */
	} outcome;
};

/*
 * Measures again at the place of the finding, for as long as `l` did, with the same `spec`. Returns
 * -ENODATA for a finding without losses, or without losses counted in packets.
 */
int look_again(const struct look *l, const struct look_spec *spec,
	       const struct check_finding *finding, struct remedy *out, struct error *err);

#endif
