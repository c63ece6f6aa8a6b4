// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "drops/nftrules.h"

/*
 * Two lists of nft 1.0.6, with rules of nft and of iptables-nft. Between them 7 packets were sent
 * to port 9000, 11 to 9001, 3 to 9002, 4 to 9003, 5 to 9004, 2 to 9006, 20 to 9008 (5/second
 * dropped), 8 to 9101, 9 to 9102, 12 to 9201, 1 to 9202, 2 to 1.
 */
static char *load(const char *name)
{
	char path[128];
	char *text = malloc(65536);
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/owners/%s", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	n = fread(text, 1, 65535, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static void parse(const char *name, struct list *list)
{
	char *text = load(name);

	assert_int_equal(nftlist_parse(text, list), 0);
	free(text);
}

static const char *describe(const struct nft_rule *r)
{
	static const char *const kinds[] = {"moved", "blind", "policy"};
	static char text[256];

	snprintf(text, sizeof(text), "%s %s %s %s %u %s %u%s%s%s", kinds[r->kind], r->family,
		 r->table, r->chain, (unsigned)r->handle, r->verdict, (unsigned)r->packets,
		 r->exact ? " exact" : "", r->comment[0] ? " " : "", r->comment);
	return text;
}

static void expect(enum netfilter_hook hook, const char *const *rows)
{
	struct list before, after;
	struct nft_result result;
	unsigned n = 0;

	parse("nft-before.json", &before);
	parse("nft-after.json", &after);
	nftlist_compare(&before, &after, hook, &result);
	for (; rows[n]; n++) {
		if (n >= result.n)
			fail_msg("not found: %s", rows[n]);
		assert_string_equal(describe(&result.rule[n]), rows[n]);
	}
	if (result.n > n)
		fail_msg("too much: %s", describe(&result.rule[n]));
	list_free(&before);
	list_free(&after);
}

CASE(input)
{
	static const char *const rows[] = {
		"moved inet t input 8 drop 88", /* its counter stands before the match */
		"moved ip filter INPUT 2 drop 12 exact",
		"moved inet t sub 5 drop 11 exact sub rule", /* by a jump */
		"moved inet t input 6 drop 7 exact",
		"moved inet t input 10 reject 5 exact",
		"moved inet t input 14 drop 5 exact",
		"moved inet t input 9 drop 4 exact", /* a counter with a name */
		"moved ip filter INPUT 3 reject 1 exact",
		"blind inet t input 7 drop 0",
		"blind inet t input 13 drop 0", /* in a map */
		NULL,
	};

	expect(HOOK_INPUT, rows);
}

CASE(prerouting_and_ingress)
{
	static const char *const rows[] = {
		"moved inet v sub 4 drop 8 exact", /* jumped to from a map with a name */
		"moved netdev n ing 2 drop 2 exact",
		"blind inet v pre 5 drop 0",
		NULL,
	};

	expect(HOOK_PREROUTING, rows);
}

CASE(policy)
{
	static const char *const rows[] = {"policy inet t forw 0 drop 0", NULL};
	static const char *const none[] = {NULL};

	expect(HOOK_FORWARD, rows);
	expect(HOOK_OUTPUT, none);
}

CASE(rules_that_were_not_there)
{
	struct list before = {}, after;
	struct nft_result result;

	parse("nft-after.json", &after);
	nftlist_compare(&before, &after, HOOK_INGRESS, &result);
	assert_int_equal(result.n, 1);
	assert_string_equal(describe(&result.rule[0]), "moved netdev n ing 2 drop 2 exact");
	/* and all that are gone */
	nftlist_compare(&after, &before, HOOK_NONE, &result);
	assert_int_equal(result.n, 0);
	list_free(&after);
}

CASE(counters_that_were_reset)
{
	struct list before, after;
	struct nft_result result;

	parse("nft-after.json", &before);
	parse("nft-before.json", &after);
	nftlist_compare(&before, &after, HOOK_NONE, &result);
	for (unsigned i = 0; i < result.n; i++)
		assert_int_not_equal(result.rule[i].kind, NFT_RULE_MOVED);
	list_free(&before);
	list_free(&after);
}

CASE(bad_texts)
{
	static const char *const texts[] = {"",	    "{",	 "[]", "{\"nftables\": 3}",
					    "null", "nft: error"};
	static const char *const odd[] = {
		"{\"nftables\": []}",
		"{\"nftables\": [1, null, {}, {\"rule\": {}}, {\"rule\": 5}, {\"chain\": {}}]}",
		"{\"nftables\": [{\"chain\": {\"name\": \"c\"}}, {\"rule\": {\"chain\": \"c\", "
		"\"expr\": "
		"[3, {\"counter\": \"x\"}, {\"counter\": null}, {\"vmap\": {\"data\": {\"set\": "
		"[4, "
		"[5]]}}}, {\"vmap\": 1}, {\"jump\": {}}, {\"xt\": 2}]}}]}",
	};
	struct list list;

	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(nftlist_parse(texts[i], &list), -EINVAL);
		list_free(&list);
	}
	for (unsigned i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_int_equal(nftlist_parse(odd[i], &list), 0);
		assert_int_equal(list.n, 0);
		list_free(&list);
	}
}

/* A hook of one family is not that of another. */
CASE(families)
{
	static const char text[] =
		"{\"nftables\": [{\"chain\": {\"family\": \"bridge\", \"table\": \"t\", "
		"\"name\": \"c\", \"hook\": \"forward\"}}, "
		"{\"chain\": {\"family\": \"inet\", \"table\": \"t\", \"name\": \"c\", "
		"\"hook\": \"forward\"}}, "
		"{\"rule\": {\"family\": \"bridge\", \"table\": \"t\", \"chain\": \"c\", "
		"\"handle\": 1, \"expr\": [{\"counter\": {\"packets\": 7}}, {\"drop\": null}]}}, "
		"{\"rule\": {\"family\": \"inet\", \"table\": \"t\", \"chain\": \"c\", "
		"\"handle\": 2, \"expr\": [{\"counter\": {\"packets\": 9}}, {\"drop\": null}]}}]}";
	static const struct {
		enum netfilter_hook hook;
		const char *rule;
	} found[] = {
		{HOOK_BRIDGE_FORWARD, "moved bridge t c 1 drop 7 exact"},
		{HOOK_FORWARD, "moved inet t c 2 drop 9 exact"},
	};
	struct list before = {}, after;
	struct nft_result result;

	assert_int_equal(nftlist_parse(text, &after), 0);
	for (unsigned i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		nftlist_compare(&before, &after, found[i].hook, &result);
		assert_int_equal(result.n, 1);
		assert_string_equal(describe(&result.rule[0]), found[i].rule);
	}
	list_free(&after);
}

/* Chains that jump in a circle, which the kernel refuses, and more rules than a result holds. */
CASE(many)
{
	char *text = malloc(1 << 20);
	struct list before = {}, after;
	struct nft_result result;
	size_t n;

	n = (size_t)sprintf(text,
			    "{\"nftables\": [{\"chain\": {\"name\": \"a\", \"hook\": \"input\"}}, "
			    "{\"chain\": {\"name\": \"b\"}}, "
			    "{\"rule\": {\"chain\": \"a\", \"expr\": [{\"jump\": {\"target\": "
			    "\"b\"}}]}}, {\"rule\": {\"chain\": \"b\", \"expr\": [{\"goto\": "
			    "{\"target\": \"a\"}}]}}");
	for (unsigned i = 1; i <= 1000; i++)
		n += (size_t)sprintf(text + n,
				     ", {\"rule\": {\"chain\": \"b\", \"handle\": %u, \"expr\": "
				     "[{\"counter\": {\"packets\": %u}}, {\"drop\": null}]}}",
				     i, i * 7919 % 1000 + 1);
	strcpy(text + n, "]}");
	assert_int_equal(nftlist_parse(text, &after), 0);
	assert_int_equal(after.n, 1000);
	nftlist_compare(&before, &after, HOOK_INPUT, &result);
	assert_int_equal(result.n, 64);
	for (unsigned i = 0; i < result.n; i++)
		assert_int_equal(result.rule[i].packets, 1000 - i);
	list_free(&after);
	free(text);
}
