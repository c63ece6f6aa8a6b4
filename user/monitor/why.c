// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "monitor/why.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drops/nftrules.h"
#include "diagnosis/reading_told.h"

#define RULES_TOLD  3
#define START_NETNS 16	/* namespaces looked at before there is any loss */
#define START_MS    500 /* that this may delay the start */

struct why {
	struct owners *owners;
	struct readings *readings;
	struct nftrules *rules; /* NULL: no memory for it */
	struct live_source source;

	struct reading reading;
	char reader[READING_TOLD], rules_text[256], chain[2 * NFT_NAME + 16];
};

/* The rules of a namespace as they are now. */
static void note_rules(struct why *w, uint32_t inum)
{
	struct error err = {};
	struct netns ns;

	if (!w->rules || nftrules_known(w->rules, inum) ||
	    owners_netns_open(w->owners, inum, &ns, &err))
		return;
	nftrules_note(w->rules, inum, &ns);
	netns_close(&ns);
}

static int start(void *arg, struct error *err)
{
	uint32_t netns[START_NETNS];
	struct why *w = arg;
	unsigned n = owners_netns_list(w->owners, netns, START_NETNS);

	(void)err;
	readings_begin(w->readings, netns, n);
	for (unsigned i = 0; i < n; i++)
		note_rules(w, netns[i]);
	/* what is lost before the first list cannot be told from what was lost long ago */
	if (w->rules)
		nftrules_wait(w->rules, START_MS);
	return 0;
}

static void note_socket(struct why *w, const struct watch_sock *s, uint64_t packets)
{
	const struct reading_socket id = {.inode = s->inode,
					  .netns = s->netns,
					  .family = s->family,
					  .port = s->local_port,
					  .cgroup = s->cgroup};

	if (s->protocol == IPPROTO_UDP)
		readings_note(w->readings, &id, packets);
}

static void collect(void *arg, struct live *l)
{
	const struct live_table *t = live_interval(l);
	struct why *w = arg;

	for (unsigned i = 0; i < t->n; i++) {
		const struct live_row *row = &t->rows[i];
		struct watch_sock sock;

		if (row->stage == STAGE_RCVBUF && !live_socket(l, row, &sock))
			note_socket(w, &sock, row->counts.packets);
		else if (row->stage == STAGE_NETFILTER && row->netns)
			note_rules(w, row->netns);
	}
	readings_interval(w->readings);
}

int why_open(struct why **why, struct owners *owners, struct error *err)
{
	struct why *w = calloc(1, sizeof(*w));
	int ret;

	*why = NULL;
	if (!w)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "not enough memory");
	w->owners = owners;
	w->source = (struct live_source){.start = start, .collect = collect, .arg = w};
	ret = readings_open(&w->readings, owners, NULL, err);
	if (ret) {
		free(w);
		return ret;
	}
	nftrules_open(&w->rules, NULL);
	*why = w;
	return 0;
}

void why_close(struct why *w)
{
	if (!w)
		return;
	readings_close(w->readings);
	nftrules_close(w->rules);
	free(w);
}

const struct live_source *why_source(const struct why *w)
{
	return &w->source;
}

void why_tick(struct why *w)
{
	readings_sample(w->readings);
}

static void fill_reader(struct why *w, uint64_t inode, struct finding_facts *f)
{
	if (!readings_get(w->readings, inode, &w->reading))
		reading_tell(&w->reading, w->reader, f);
}

static void add_text(char *buf, size_t size, const char *text)
{
	size_t n = strlen(buf);

	if (n + strlen(text) < size)
		strcpy(buf + n, text);
}

/* "rule 6 of chain inet t input (comment): 300 packets" */
static void tell_rule(struct why *w, const struct nft_rule *r, bool first)
{
	char what[64], text[4 * NFT_NAME + 96];

	if (r->kind == NFT_POLICY_BLIND)
		snprintf(what, sizeof(what), "the policy");
	else
		snprintf(what, sizeof(what), "rule %llu", (unsigned long long)r->handle);
	snprintf(text, sizeof(text), "%s%s of chain %s %s %s%s%s%s", first ? "" : ", ", what,
		 r->family, r->table, r->chain, r->comment[0] ? " (" : "", r->comment,
		 r->comment[0] ? ")" : "");
	add_text(w->rules_text, sizeof(w->rules_text), text);
	if (r->kind != NFT_RULE_MOVED)
		return;
	snprintf(text, sizeof(text), ": %s%llu packets", r->exact ? "" : "at most ",
		 (unsigned long long)r->packets);
	add_text(w->rules_text, sizeof(w->rules_text), text);
}

/* Those that moved; where none did, those that could have dropped. */
static void tell_rules(struct why *w, const struct nft_result *result, struct finding_facts *f)
{
	bool moved = result->n && result->rule[0].kind == NFT_RULE_MOVED;
	unsigned told = 0;

	w->rules_text[0] = '\0';
	if (!moved && result->n)
		add_text(w->rules_text, sizeof(w->rules_text), "no counter tells which: ");
	for (unsigned i = 0; i < result->n && told < RULES_TOLD; i++) {
		if (moved == (result->rule[i].kind == NFT_RULE_MOVED))
			tell_rule(w, &result->rule[i], !told++);
	}
	if (!result->n && result->problem[0])
		snprintf(w->rules_text, sizeof(w->rules_text), "%s", result->problem);
	else if (!result->n && result->legacy)
		add_text(w->rules_text, sizeof(w->rules_text),
			 "there are tables of iptables-legacy, which are not read");
	f->rules = w->rules_text;
	if (!moved)
		return;
	snprintf(w->chain, sizeof(w->chain), "%s %s %s", result->rule[0].family,
		 result->rule[0].table, result->rule[0].chain);
	f->rule_chain = w->chain;
}

static enum netfilter_hook hook_of(const char *name)
{
	for (int h = HOOK_NONE + 1; h <= HOOK_POSTROUTING; h++) {
		if (!strcmp(name, netfilter_hook_name((enum netfilter_hook)h)))
			return (enum netfilter_hook)h;
	}
	return HOOK_NONE;
}

static void fill_rules(struct why *w, const struct live_row *row, int patience_ms,
		       struct finding_facts *f)
{
	struct nft_result result;
	struct error err = {};
	struct netns ns;

	if (owners_netns_open(w->owners, row->netns, &ns, &err))
		return;
	if (!nftrules_compare(w->rules, row->netns, &ns, hook_of(row->text[LIVE_HOOK]), patience_ms,
			      &result))
		tell_rules(w, &result, f);
	nftrules_result_free(&result);
	netns_close(&ns);
}

void why_fill(struct why *w, const struct live *l, const struct live_row *row, int patience_ms,
	      struct finding_facts *f)
{
	struct watch_sock sock;

	if (row->stage == STAGE_RCVBUF && !live_socket(l, row, &sock))
		fill_reader(w, sock.inode, f);
	if (row->stage == STAGE_NETFILTER && row->netns && w->rules)
		fill_rules(w, row, patience_ms, f);
}
