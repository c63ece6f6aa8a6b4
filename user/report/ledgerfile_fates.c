// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerfile_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "drops/stagemap.h"

int ledgerfile_end_ranges(struct ledgerfile *lf)
{
	char json[64 + LEDGERFILE_RANGES * 56];
	size_t n;

	if (!lf->n_ranges)
		return lf->rc;
	n = (size_t)snprintf(json, sizeof(json),
			     "{\"event\":\"fates\",\"data\":{\"stream\":%u,\"ranges\":[",
			     lf->stream);
	for (unsigned i = 0; i < lf->n_ranges; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s[%" PRIu64 ",%" PRIu64 ",%u]",
				      i ? "," : "", lf->range[i].first, lf->range[i].last,
				      lf->range[i].id);
	n += (size_t)snprintf(json + n, sizeof(json) - n, "]}}");
	lf->n_ranges = 0;
	return ledgerfile_line(lf, json, n);
}

static bool same(const struct ledgerfile_outcome *o, const char *fate, const struct result_cause *c)
{
	const struct result_cause *known = &o->cause;

	if (strcmp(o->fate, fate))
		return false;
	return !c || (known->stage == c->stage && known->hook == c->hook &&
		      known->direction == c->direction && !strcmp(known->reason, c->reason) &&
		      !strcmp(known->location, c->location) && !strcmp(known->ifname, c->ifname) &&
		      !strcmp(known->netns, c->netns) && known->given_up == c->given_up);
}

static void append_outcome(struct ledgerfile *lf, const struct ledgerfile_outcome *o, bool dropped)
{
	struct json_object *data = json_object_new_object();

	json_put_u64(data, "id", lf->n_outcomes);
	json_put_text(data, "fate", o->fate);
	if (dropped) {
		json_put_text(data, "stage", stage_name(o->cause.stage));
		json_put_text(data, "reason", o->cause.reason);
		json_put_text(data, "location", o->cause.location);
		json_put_text(data, "ifname", o->cause.ifname);
		json_put_text(data, "netns", o->cause.netns);
		json_put_text(data, "direction", o->cause.direction);
		json_put_text(data, "hook", o->cause.hook);
		if (o->cause.given_up)
			json_put_bool(data, "given_up", true);
	}
	ledgerfile_event(lf, "fate", NULL, data);
	json_object_put(data);
}

/* Its id; -ENOMEM. */
static int find_outcome(struct ledgerfile *lf, const char *fate, const struct result_cause *cause)
{
	struct ledgerfile_outcome *grown;

	for (unsigned i = 0; i < lf->n_outcomes; i++) {
		if (same(&lf->outcome[i], fate, cause))
			return (int)i;
	}
	grown = realloc(lf->outcome, (lf->n_outcomes + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	lf->outcome = grown;
	grown += lf->n_outcomes;
	*grown = (struct ledgerfile_outcome){.fate = fate};
	if (cause)
		grown->cause = *cause;
	append_outcome(lf, grown, cause);
	return (int)lf->n_outcomes++;
}

int ledgerfile_fates(struct ledgerfile *lf, uint16_t stream, uint64_t first, uint64_t last,
		     const char *fate, const struct result_cause *cause)
{
	struct ledgerfile_range *newest;
	int id = find_outcome(lf, fate, cause);

	if (id < 0 && !lf->rc)
		lf->rc = id;
	if (lf->rc)
		return lf->rc;
	newest = lf->n_ranges && lf->stream == stream ? &lf->range[lf->n_ranges - 1] : NULL;
	if (newest && newest->id == (unsigned)id && newest->last + 1 == first) {
		newest->last = last;
		return 0;
	}
	if (!newest || lf->n_ranges == LEDGERFILE_RANGES)
		ledgerfile_end_ranges(lf);
	lf->stream = stream;
	lf->range[lf->n_ranges++] = (struct ledgerfile_range){first, last, (unsigned)id};
	return lf->rc;
}
