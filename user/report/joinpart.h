/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One sender's part of a joined document: report/joined.h. */
#ifndef PKTLEDGER_REPORT_JOINPART_H
#define PKTLEDGER_REPORT_JOINPART_H

#include "report/document.h"
#include "report/joinends.h"

/* One receiver with its senders, while its document is made. */
struct joining {
	const struct joinends_receiver *to; /* NULL: of those whose receiver is not known */
	const char *target;		    /* then: where they sent to */
	struct json_object *senders, *strangers, *notes;
	struct result *sum, *one;	      /* of all; of the sender that is added */
	struct run_header head;		      /* of all */
	const struct ledgers_document *first; /* of the senders; NULL: there is none */
	uint64_t from_ns, to_ns;
	unsigned n;
	bool whole; /* nothing is missing in these ledgers */
};

const struct json_object *joinpart_start(const struct ledgers_document *d);
const struct json_object *joinpart_end(const struct ledgers_document *d); /* NULL: none */

void joinpart_note(struct joining *j, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The receiver's part of the header. */
void joinpart_receiver(const struct joinends_receiver *to, struct run_header *h);

void joinpart_add(struct joining *j, const struct joinends_sender *s);

#endif
