// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "ledger/secondbooks_data.h"

/* Whether a line of the rule's set is of the stage and, if `certain`, no mere possibility. */
static bool knows(const struct book_rule *rule, enum stage stage, bool certain)
{
	for (const struct book_member *m = rule->set; m->stage != STAGE_NONE; m++) {
		if (m->stage == stage && (!certain || m->force != MAY))
			return true;
	}
	return false;
}

static unsigned collect(enum stage stage, bool certain, const char **names, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < book_rules_n && n < max; i++) {
		if (knows(&book_rules[i], stage, certain) && !(book_rules[i].flags & BOOK_EVIDENCE))
			names[n++] = book_rules[i].name4;
	}
	return n;
}

unsigned secondbooks_counters(enum stage stage, const char **names, unsigned max)
{
	unsigned n = collect(stage, true, names, max);

	return n ? n : collect(stage, false, names, max);
}
