/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of findings. Private to findings.c and its test.
 *
 * A text may name facts as {lost}; see findings.c for the names. A part in [brackets] goes
 * away if one of its facts is unknown; outside of brackets an unknown fact empties the field.
 */
#ifndef PKTLEDGER_FINDINGS_DATA_H
#define PKTLEDGER_FINDINGS_DATA_H

#include "books/findings.h"

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

struct finding_row {
	enum stage stage;
	const char *id;
	enum finding_when when;
	enum severity severity;
	const char *text, *evidence, *current, *wanted, *command, *undo, *risk;
};

/* The first row of a stage whose condition holds is taken. */
extern const struct finding_row finding_rows[];
extern const unsigned finding_rows_n;

#endif
