/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Selects the namespaces that `check` examines: one namespace, or this one and all others with
 * losses. First reads the loss counters in each namespace twice, which is cheap. If the judge's
 * rules find that they increased, reads everything in that namespace.
 */
#ifndef PKTLEDGER_DIAGNOSIS_LOOK_H
#define PKTLEDGER_DIAGNOSIS_LOOK_H

#include "diagnosis/facts.h"
#include "diagnosis/judge.h"

#define LOOK_PLACES	8    /* namespaces read in full, starting with the most losses */
#define LOOK_SPACES	4096 /* namespaces with counters that are read */
#define LOOK_ENOUGH	100  /* losses per namespace that suffice to explain them */
#define LOOK_NS		1000000000
#define LOOK_LONGEST_NS 10000000000

struct look_spec {
	const char *netns;  /* only this namespace, a name or path (NULL: this one and all
			       others) */
	const char *ifname; /* see facts_spec, limits the check to this namespace */
	uint16_t port;	    /* checked in every namespace where the port is open */
	pid_t pid;	    /* only this process's namespace */
	const char *mtu_to; /* see facts_spec, measured from the first namespace */
	/*
	 * Window length. 0: one second, or if there are losses until LOOK_ENOUGH have been seen, at
	 * most LOOK_LONGEST_NS.
	 */
	uint64_t window_ns;
	/* Called once per second during a longer check. May be NULL. */
	/* `all_ns`: latest end. `losing`: namespaces with losses, 0 while unknown */
	void (*on_second)(uint64_t elapsed_ns, uint64_t all_ns, unsigned losing);
};

/* Namespace that was read. */
struct look_place {
	char name[OWNER_NETNS];	 /* "" for the thread's namespace */
	char enter[OWNER_ENTER]; /* words that run a command there, "" if not needed or unknown */
	struct netns ns;
	struct facts facts;
};

struct look {
	uint64_t window_ns;
	struct look_place *at[LOOK_PLACES]; /* the first place also represents the host */
	unsigned n;
	unsigned spaces; /* namespaces with counters that were read twice */
	unsigned losing; /* how many of these have losses but got no place */
	unsigned unread; /* least number of namespaces that could not be entered */
	bool compared;	 /* two texts were compared */
	struct check_findings findings; /* planned findings. Their changes borrow from the places */
	struct owners *owners;
};

/*
 * Reads, judges, and plans the changes. `l` must be zero-initialised, and closed even after an
 * error. Returns STATUS_FAILED if the namespace, process or interface does not exist.
 */
int look(struct look *l, const struct look_spec *spec, struct error *err);
void look_close(struct look *l);

/* Judges data read elsewhere. Plans no changes and gives no commands for this host. */
void look_judge(struct look *l);

/* Remaining loss after the changes for its finding were made. */
struct remedy {
	char id[32], subject[64], netns[OWNER_NETNS]; /* identifies the finding */
	double lost_pps, lost_pps_after;
	double arrived_pps, arrived_pps_after; /* packets/s received by IP in the namespace */
	enum remedy_outcome {
		REMEDY_HELPED, /* less than half of the loss remains */
		REMEDY_NO_HELP,
		REMEDY_NO_TRAFFIC, /* less than half of the traffic arrived: inconclusive */
	} outcome;
};

/*
 * Judges by the rates of `r`. If fewer packets arrived than before, the loss before is scaled by the
 * same ratio: fewer packets lose fewer, whatever was changed.
 */
enum remedy_outcome remedy_judge(const struct remedy *r);

/*
 * Measures again where the finding is, for as long as `l` did and with the same `spec`. Returns
 * -ENODATA if the finding has no losses or they are not counted in packets.
 */
int look_again(const struct look *l, const struct look_spec *spec,
	       const struct check_finding *finding, struct remedy *out, struct error *err);

#endif
