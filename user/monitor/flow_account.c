// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/flow_account.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDED_CLASSES (1u << NOISE_LOSS | 1u << NOISE_SUSPECT)

struct flow_account {
	struct flow_account_spec spec;
	struct filter *filter;
	struct balance *balance;
	struct live_source source;
	struct balance_moment begin, end;
	uint64_t missed; /* when it began */
	bool ended;
};

/* Later fragments have no ports; for books of datagrams they are nothing. */
int flow_expression(const char *expr, char buf[FLOW_EXPRESSION], struct error *err)
{
	struct error quiet = {};
	struct filter *f;
	int rc = filter_compile(&f, expr, err);

	if (rc)
		return rc;
	filter_free(f);
	if (snprintf(buf, FLOW_EXPRESSION, "(%s) and udp and (ip6 or ip[6:2] & 0x1fff = 0)",
		     expr) >= FLOW_EXPRESSION)
		return error_set(err, STATUS_USAGE, -E2BIG, NULL, "the expression is too long");
	rc = filter_compile(&f, buf, &quiet);
	if (rc)
		return error_set(err, STATUS_USAGE, rc, "for example: udp port 5060",
				 "--balance is for UDP: '%s' matches none of it", expr);
	filter_free(f);
	return 0;
}

static int start(void *arg, struct error *err)
{
	struct flow_account *a = arg;
	int rc = balance_begin(a->balance, &a->begin, err);
	struct balance_cost cost;

	balance_read_cost(a->balance, &cost);
	a->missed = cost.recursion_misses;
	return rc;
}

static void collect(void *arg, struct live *l)
{
	const struct flow_account *a = arg;

	(void)l;
	balance_tick(a->balance);
}

int flow_account_open(struct flow_account **out, const struct flow_account_spec *spec,
		      const struct reasons *r, const struct ksyms *k, struct error *err)
{
	struct flow_account *a;
	int rc;

	if (!k)
		return error_set(err, STATUS_UNABLE, -EPERM, "it needs CAP_SYSLOG",
				 "functions of the kernel are hidden: what was dropped before it "
				 "arrived cannot be told from what was dropped after");
	a = calloc(1, sizeof(*a));
	if (!a)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	a->spec = *spec;
	a->source = (struct live_source){.start = start, .collect = collect, .arg = a};
	rc = filter_compile(&a->filter, spec->expr, err);
	if (!rc)
		rc = balance_open(&a->balance, a->filter, &spec->numbering, r, k, err);
	if (rc)
		flow_account_close(a);
	else
		*out = a;
	return rc;
}

const struct live_source *flow_account_source(const struct flow_account *a)
{
	return &a->source;
}

int flow_account_end(struct flow_account *a, struct error *err)
{
	if (a->ended)
		return 0;
	a->ended = true;
	return balance_end(a->balance, &a->begin, a->spec.settle_ns, &a->end, err);
}

static bool is_ended(const struct live_row *row)
{
	return ENDED_CLASSES >> row->noise & 1 && row->stage < STAGE_COUNT;
}

static bool is_scope(const struct live_row *row, const char *scope)
{
	return !strcmp(row->text[LIVE_SCOPE], scope);
}

/* Where packets end before an skb tells of them. */
static bool is_before_entry(const struct live_row *row)
{
	return row->noise == NOISE_LOSS &&
	       (row->stage == STAGE_NIC_RING || row->stage == STAGE_XDP || row->stage == STAGE_XSK);
}

/* The rows, and which of them lost most. */
static void add_rows(const struct live_table *t, struct flow_facts *f)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];

		if (!is_scope(row, "flow")) {
			if (is_before_entry(row))
				f->lost_by_interfaces += row->counts.packets;
			continue;
		}
		if (!is_ended(row))
			continue;
		f->dropped += row->counts.packets;
		if (row->counts.packets <= f->culprit.packets)
			continue;
		f->culprit = (struct flow_culprit){row->text[LIVE_STAGE], row->text[LIVE_SOCKET],
						   row->text[LIVE_PROCESS], row->counts.packets};
	}
}

void flow_account_books(const struct flow_account *a, const struct live *l,
			struct flow_books *books, struct balance_cost *cost)
{
	struct flow_facts f = {.begin = a->begin, .end = a->end};

	balance_read_cost(a->balance, cost);
	f.missed = cost->recursion_misses - a->missed;
	f.numbered = a->spec.numbering.kind != NUMBERS_NONE;
	if (f.numbered)
		balance_read_streams(a->balance, &f.streams);
	add_rows(live_total(l), &f);
	flow_books_close(books, &f);
}

void flow_account_close(struct flow_account *a)
{
	if (!a)
		return;
	balance_close(a->balance);
	filter_free(a->filter);
	free(a);
}
