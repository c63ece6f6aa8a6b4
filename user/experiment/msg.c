// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/msg.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "stamp.h"

struct json_object *msg_make(const char *type, const struct record_field *rows, const void *from)
{
	struct json_object *o = json_object_new_object();

	json_put_text(o, "type", type);
	record_put(o, rows, from);
	return o;
}

const char *msg_type(struct json_object *msg)
{
	return json_get_text(msg, "type");
}

int msg_take_cause(struct json_object *msg, struct ledger_cause *c)
{
	memset(c, 0, sizeof(*c));
	if (record_read(msg, msg_cause, c) || !c->raw.index)
		return -EBADMSG;
	c->verdict.class = VERDICT_LOSS;
	c->verdict.stage = c->named.stage;
	return 0;
}

int msg_take_counter(struct json_object *msg, struct result_counter *c)
{
	memset(c, 0, sizeof(*c));
	return record_read(msg, msg_counter, c) || !c->scope ? -EBADMSG : 0;
}

bool msg_plan_valid(const struct peer_plan *plan)
{
	if (!fates_numbers_valid(&plan->numbers) || !plan->flows || !plan->count || !plan->port)
		return false;
	if (!plan->reverse)
		return true;
	return plan->payload >= STAMP_LEN &&
	       (!plan->shaped || shape_valid(&plan->shape, plan->numbers.streams));
}
