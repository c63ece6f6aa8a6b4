/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of findings: what losses mean (findings_data.c), which states of a host will lose
 * packets (findings_states_*.c), and the paragraphs of the manual (findings_about.c). Texts as in
 * findings_fill.h: the names of facts are those of findings_loss.c for losses, and for states those
 * that its rule in check/ gives.
 */
#ifndef PKTLEDGER_DIAGNOSIS_FINDINGS_DATA_H
#define PKTLEDGER_DIAGNOSIS_FINDINGS_DATA_H

#include "diagnosis/findings.h"
#include "diagnosis/findings_fill.h"

enum finding_when {
	WHEN_ALWAYS,
	WHEN_READER_STOPPED,
	WHEN_READER_THROTTLED, /* the CPU quota held it back */
	WHEN_READER_WAITS,     /* for a CPU */
	WHEN_READER_BUSY,      /* it ran nearly all the time */
	WHEN_READER_ASLEEP,    /* although packets waited */
	WHEN_READER_RESTED,    /* because mostly none waited: bursts */
	WHEN_BURST,	       /* rcvbuf: the losses are a few fillings of the buffer */
	WHEN_READER_SLOW,      /* rcvbuf: more came than was read, for longer than that */
	WHEN_RULES,	       /* netfilter: a rule's counter moved */
	WHEN_RING_GROWS,       /* the ring is not at its largest */
	WHEN_NEIGH_QUEUE,      /* reason NEIGH_QUEUEFULL */
	WHEN_TTL,	       /* ip_forward: reason IP_INHDR */
	WHEN_TOO_BIG,	       /* ip_forward: reason PKT_TOO_BIG */
	WHEN_RPFILTER,	       /* ip_route: reason IP_RPFILTER */
	WHEN_OTHERHOST,	       /* l2: reason OTHERHOST */
};

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
	const char *text, *evidence, *current, *wanted;
	const char *command; /* that shows more; a change has its own */
	struct finding_change change;
	const char *risk;
};

/* The first row of a stage whose condition holds is taken. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

/* Taken by id. */
extern const struct finding_row finding_states_nic[], finding_states_stack[];
extern const unsigned finding_states_nic_n, finding_states_stack_n;

/* One of all of them; NULL: there are fewer. */
const struct finding_row *finding_state(unsigned i);

struct finding_paragraph {
	const char *id, *text;
};

extern const struct finding_paragraph finding_abouts[];
extern const unsigned finding_abouts_n;

/* Whether this is known of the loss, and its facts (findings_fact; `arg`: struct finding_facts). */
bool finding_loss_holds(enum finding_when when, const struct finding_facts *f);
bool finding_loss_fact(const void *arg, const char *name, char *buf, size_t size);

/* The row of that id, of a loss or of a state; NULL: none. */
const struct finding_row *finding_row(const char *id);

/* Fills `out` and `change` from a row. */
void finding_write(const struct finding_row *row, findings_fact fact, const void *arg,
		   struct finding *out, struct change *change);

#endif
