/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Facts of a finding, as its document has them. */
#ifndef PKTLEDGER_FACTS_OF_H
#define PKTLEDGER_FACTS_OF_H

#include <json-c/json.h>
#include <stdio.h>

#include "base/json.h"
#include "diagnosis/findings.h"

/* Text of a fact, "": not known. Valid for eight calls. */
static inline const char *fact(const struct finding *f, const char *key)
{
	static char texts[8][2048];
	static unsigned next;
	char *text = texts[next++ % 8];
	struct json_object *o = json_parse(f->facts, strlen(f->facts), 3), *member;

	assert_non_null(o);
	member = json_get(o, key);
	snprintf(text, sizeof(texts[0]), "%s", member ? json_object_get_string(member) : "");
	json_object_put(o);
	return text;
}

#endif
