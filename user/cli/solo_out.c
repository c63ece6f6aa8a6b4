// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cli/solo_out.h"

#include <errno.h>
#include <stdio.h>

#include "report/ledgerfile.h"

int solo_out_open(struct solo_out *o, const char *schema, const struct global_options *g,
		  const char *ledger, struct error *err)
{
	*o = (struct solo_out){.schema = schema};
	o->json = global_json_out(g, schema);
	if (global_json(g) && !o->json)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	return ledger ? ledgerfile_open(&o->ledger, ledger, err) : 0;
}

void solo_out_start(struct solo_out *o, struct json_object *data)
{
	if (o->ledger)
		ledgerfile_start(o->ledger, o->schema, data);
	if (o->json)
		json_out_once(o->json, "start", json_object_get(data));
	json_object_put(data);
}

void solo_out_end(struct solo_out *o, struct json_object *data,
		  void (*print)(FILE *out, const struct json_object *end))
{
	if (o->ledger)
		ledgerfile_event(o->ledger, "end", NULL, data);
	if (o->json)
		json_out_once(o->json, "end", json_object_get(data));
	else
		print(stdout, data);
	json_object_put(data);
}

void solo_out_interval(struct solo_out *o, const struct experiment_interval *now)
{
	struct json_object *data;

	if (!o->json && !o->ledger)
		return;
	data = json_interval(now);
	if (o->ledger)
		ledgerfile_interval(o->ledger, data);
	if (o->json)
		json_out_each(o->json, "interval", json_object_get(data));
	json_object_put(data);
}

void solo_out_fates(void *arg, uint16_t stream, uint64_t first, uint64_t last, const char *fate,
		    const struct result_cause *cause)
{
	struct solo_out *o = arg;

	ledgerfile_fates(o->ledger, stream, first, last, fate, cause);
}

void solo_out_close(struct solo_out *o, struct error *err)
{
	struct json_object *data;

	if (o->ledger && err->status != STATUS_OK) {
		data = json_error(err->message, err->hint, err->status);
		ledgerfile_event(o->ledger, "error", NULL, data);
		json_object_put(data);
	}
	ledgerfile_close(o->ledger, err);
	if (o->json && err->status != STATUS_OK)
		json_out_error(o->json, err);
	output_end(o->json, err);
}
