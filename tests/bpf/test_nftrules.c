// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Rules of nft and iptables-nft in a separate namespace, and datagrams dropped by the rules. */
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"
#include "drops/nftrules.h"

#define INUM 1 /* any number does */

static const char first_rules[] =
	"table inet t {\n"
	" counter named1 { }\n"
	" chain sub { udp dport 9001 counter drop comment \"sub rule\"; }\n"
	" chain input { type filter hook input priority 0;\n"
	"  udp dport 9000 counter drop; udp dport 9011 drop; counter udp dport 9002 drop;\n"
	"  udp dport 9003 counter name named1 drop; udp dport 9004 counter reject; jump sub;\n"
	"  udp dport vmap { 9006 : drop, 9007 : accept };\n"
	"  udp dport 9008 limit rate 1/day burst 1 packets counter drop\n"
	"  tcp dport 9000 counter drop; udp dport { 9009, 9010 } counter log drop\n }\n"
	" chain forw { type filter hook forward priority 0; policy drop; tcp dport 5 accept; }\n"
	"}\n"
	"table inet v {\n"
	" map ports { type inet_service : verdict; elements = { 9101 : jump sub }; }\n"
	" chain sub { counter drop; }\n"
	" chain pre { type filter hook prerouting priority 0; udp dport vmap @ports; }\n"
	"}\n"
	"table ip filter { chain INPUT { type filter hook input priority 0;\n"
	"  udp dport 9201 counter drop; }\n}\n"
	"table ip6 six { chain c { type filter hook output priority 0; udp dport 9301 counter drop; }\n}\n"
	"table bridge b { chain c { type filter hook forward priority 0; counter drop; }\n}\n";

static struct netns ns;
static struct nftrules *rules;
static struct nft_result result;

static void nft(const char *text)
{
	char *const argv[] = {"nft", "-f", "-", NULL};
	struct error err = {};

	if (netns_exec(&ns, argv, text, -1, &err))
		fail_msg("%s", err.message);
}

static int open_rules(void **state)
{
	if (netns_create(&ns, &(struct error){}))
		return -1;
	rules = nftrules_new();
	nft(first_rules);
	return 0;
}

static int close_rules(void **state)
{
	nftrules_close(rules);
	netns_close(&ns);
	return 0;
}

static void send_to(int family, uint16_t port, unsigned packets)
{
	const struct sockaddr_in v4 = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, {0}};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
					.sin6_port = htons(port),
					.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket_in(&ns, family, SOCK_DGRAM, 0);

	for (unsigned i = 0; i < packets; i++) /* refused or dropped packets may be an error */
		sendto(fd, "x", 1, 0, family == AF_INET ? (const void *)&v4 : (const void *)&v6,
		       family == AF_INET ? sizeof(v4) : sizeof(v6));
	close(fd);
}

static void note(bool late)
{
	nftrules_note(rules, INUM, &ns, late);
}

static void expect(enum netfilter_hook hook, const char *const *rows)
{
	static const char *const kinds[] = {"moved", "blind", "policy"};
	unsigned n = 0;

	nftrules_compare(rules, INUM, &ns, hook, &result);
	assert_string_equal(result.problem, "");
	for (; rows[n] || n < result.n; n++) {
		const struct nft_rule *r = &result.rule[n];
		char text[256];

		snprintf(text, sizeof(text), "%s %s %s %s %s %u%s%s%s", kinds[r->kind], r->family,
			 r->table, r->chain, r->verdict, (unsigned)r->packets,
			 r->exact ? " exact" : "", r->comment[0] ? " " : "", r->comment);
		if (n >= result.n || !rows[n])
			fail_msg("row %u: %s, not %s", n, n < result.n ? text : "none",
				 rows[n] ? rows[n] : "none");
		assert_string_equal(text, rows[n]);
	}
}

CASE_WITH(rules_of_a_hook, open_rules, close_rules)
{
	static const char *const input[] = {
		"moved inet t input drop 41", /* its counter is before the match: ICMP, too */
		"moved ip filter INPUT drop 12 exact",
		"moved inet t sub drop 11 exact sub rule", /* by a jump */
		"moved inet t input drop 7 exact",
		"moved inet t input reject 5 exact",
		"moved inet t input drop 4 exact", /* a counter with a name */
		"moved inet v sub drop 3 exact",   /* jumped to by a map: from anywhere */
		"moved inet t input drop 2 exact", /* log is between counter and verdict */
		"moved inet t input drop 1 exact", /* limited */
		"blind inet t input drop 0",
		"blind inet t input drop 0", /* a map */
		NULL};
	static const char *const output[] = {"moved ip6 six c drop 9 exact",
					     "moved inet v sub drop 3 exact", NULL};
	static const char *const forward[] = {"moved inet v sub drop 3 exact",
					      "policy inet t forw drop 0", NULL};
	static const char *const bridge[] = {"moved inet v sub drop 3 exact", NULL};
	static const struct {
		uint16_t port, packets;
	} sent[] = {{9000, 7}, {9001, 11}, {9002, 3}, {9003, 4},  {9004, 5}, {9006, 6},
		    {9008, 3}, {9009, 2},  {9101, 3}, {9201, 12}, {9011, 10}};

	note(false);
	for (unsigned i = 0; i < N_ELEMENTS(sent); i++)
		send_to(AF_INET, sent[i].port, sent[i].packets);
	send_to(AF_INET6, 9301, 9);
	expect(HOOK_INPUT, input);
	assert_false(result.late || result.legacy);
	assert_int_equal(result.rule[3].dport, 9000);
	assert_int_equal(result.rule[6].dport, 0);
	expect(HOOK_OUTPUT, output);
	expect(HOOK_FORWARD, forward);
	expect(HOOK_BRIDGE_FORWARD, bridge);
}

/* Earlier increments of a counter are not attributed to this trace. */
CASE_WITH(only_what_moved, open_rules, close_rules)
{
	send_to(AF_INET, 9000, 5);
	note(false);
	send_to(AF_INET, 9000, 2);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_int_equal(result.rule[0].packets, 2);
	assert_int_equal(result.rule[1].kind, NFT_RULE_BLIND);
}

/* A namespace that was not listed before its first loss: counters are whole, and none is exact. */
CASE_WITH(listed_late, open_rules, close_rules)
{
	send_to(AF_INET, 9000, 5);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_string_equal(result.problem, "");
	assert_true(result.late && nftrules_known(rules, INUM));
	assert_int_equal(result.rule[0].packets, 5);
	assert_false(result.rule[0].exact);
}

CASE_WITH(counters_that_were_reset, open_rules, close_rules)
{
	send_to(AF_INET, 9000, 5);
	note(false);
	nft("flush ruleset");
	nft(first_rules);
	send_to(AF_INET, 9000, 1);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_int_equal(result.rule[0].packets, 1);
}

/* More namespaces than any limit, and one without rules. */
CASE_WITH(many_namespaces, open_rules, close_rules)
{
	struct netns empty;

	assert_int_equal(netns_create(&empty, &(struct error){}), 0);
	for (unsigned i = 2; i < 1000; i++)
		nftrules_note(rules, i, &empty, false);
	nftrules_compare(rules, 1000, &empty, HOOK_NONE, &result);
	netns_close(&empty);
	assert_int_equal(result.n, 0);
	assert_string_equal(result.problem, "");
	note(false);
	send_to(AF_INET, 9000, 1);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_int_equal(result.rule[0].packets, 1);
}

/* A ruleset that takes many messages, and more rules that moved than a result holds. */
CASE_WITH(many_rules, open_rules, close_rules)
{
	char *text = malloc(1 << 20);
	size_t n = (size_t)sprintf(text, "table inet m { chain c { type filter hook input priority 1;\n");

	for (unsigned i = 0; i < 5000; i++)
		n += (size_t)sprintf(text + n, "udp dport %u counter drop\n", 10000 + i);
	strcpy(text + n, "}\n}\n");
	nft(text);
	free(text);
	note(false);
	for (unsigned i = 0; i < 100; i++)
		send_to(AF_INET, (uint16_t)(10000 + i), i + 1);
	nftrules_compare(rules, INUM, &ns, HOOK_INPUT, &result);
	assert_int_equal(result.n, NFT_RULES);
	for (unsigned i = 1; i < result.n; i++)
		assert_int_equal(result.rule[i].packets, 100 - i + 1);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(NULL, NULL);
}
