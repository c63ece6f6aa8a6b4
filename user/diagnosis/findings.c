// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#include <errno.h>
#include <string.h>

#include "diagnosis/findings_data.h"

static const struct finding_row *row_of(enum stage stage, const struct finding_facts *f)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (finding_rows[i].stage == stage && finding_loss_holds(finding_rows[i].when, f))
			return &finding_rows[i];
	}
	return NULL;
}

static void plan_change(struct change *change, const struct finding_change *row, findings_fact fact,
			const void *arg)
{
	memset(change, 0, sizeof(*change));
	change->kind = row->kind;
	findings_fill(change->ifname, sizeof(change->ifname), row->ifname, fact, arg);
	findings_fill(change->wanted, sizeof(change->wanted), row->wanted, fact, arg);
	findings_fill(change->old, sizeof(change->old), row->old, fact, arg);
	/* A change that is not known in all its parts is none. */
	if (change->wanted[0] && (!row->ifname || change->ifname[0]))
		findings_fill(change->name, sizeof(change->name), row->name, fact, arg);
}

void finding_write(const struct finding_row *row, findings_fact fact, const void *arg,
		   struct finding *out, struct change *change)
{
	memset(out, 0, sizeof(*out));
	out->id = row->id;
	out->stage = row->stage;
	out->severity = row->severity;
	findings_fill(out->text, sizeof(out->text), row->text, fact, arg);
	findings_fill(out->evidence, sizeof(out->evidence), row->evidence, fact, arg);
	findings_fill(out->current, sizeof(out->current), row->current, fact, arg);
	findings_fill(out->wanted, sizeof(out->wanted), row->wanted, fact, arg);
	findings_fill(out->command, sizeof(out->command), row->command, fact, arg);
	plan_change(change, &row->change, fact, arg);
	if (change->name[0])
		change_command(change, out->command, sizeof(out->command));
	if (change->name[0] && change->old[0])
		change_undo_command(change, out->undo, sizeof(out->undo));
	/* A risk belongs to something that can be done. */
	if (out->command[0] || out->wanted[0])
		findings_fill(out->risk, sizeof(out->risk), row->risk, fact, arg);
}

int findings_with_change(enum stage stage, const struct finding_facts *facts, struct finding *out,
			 struct change *change)
{
	const struct finding_row *row = row_of(stage, facts);

	if (!row)
		return -ENOENT;
	finding_write(row, finding_loss_fact, facts, out, change);
	return 0;
}

int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out)
{
	struct change change;

	return findings_with_change(stage, facts, out, &change);
}

const struct finding_row *finding_state(unsigned i)
{
	if (i < finding_states_nic_n)
		return &finding_states_nic[i];
	i -= finding_states_nic_n;
	return i < finding_states_stack_n ? &finding_states_stack[i] : NULL;
}

const struct finding_row *finding_row(const char *id)
{
	const struct finding_row *row;

	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (!strcmp(finding_rows[i].id, id))
			return &finding_rows[i];
	}
	for (unsigned i = 0; (row = finding_state(i)); i++) {
		if (!strcmp(row->id, id))
			return row;
	}
	return NULL;
}

const char *finding_about(const char *id)
{
	for (unsigned i = 0; i < finding_abouts_n; i++) {
		if (!strcmp(finding_abouts[i].id, id))
			return finding_abouts[i].text;
	}
	return NULL;
}
