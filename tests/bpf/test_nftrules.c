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
#include "recorded.h"

#define INUM 1 /* any number does */

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

/* Tells the rules of a hook that may have dropped packets, those that dropped most first. */
static void tell_rules(enum netfilter_hook hook)
{
	static const char *const kinds[] = {"moved", "blind", "policy"};

	nftrules_compare(rules, INUM, &ns, hook, &result);
	assert_string_equal(result.problem, "");
	assert_false(result.legacy);
	assert_false(nftrules_note(rules, INUM, &ns, false));
	if (result.late)
		tell("late");
	for (unsigned n = 0; n < result.n; n++) {
		const struct nft_rule *r = &result.rule[n];

		tell("%s %s %s %s", kinds[r->kind], r->family, r->table, r->chain);
		if (r->dport)
			tell("%u", r->dport);
		tell("%s %u%s%s%s;", r->verdict, (unsigned)r->packets, r->exact ? " exact" : "",
		     r->comment[0] ? " " : "", r->comment);
	}
}

static void take_line(void *arg, const char *verb, char *text)
{
	static char ruleset[4096];
	unsigned six, port, packets;

	if (!strcmp(verb, "rule")) {
		strcat(strcat(ruleset, text), "\n");
		return;
	}
	if (!strcmp(verb, "case")) {
		close_rules(NULL);
		open_rules(NULL);
	}
	if (!strcmp(verb, "case") || !strcmp(verb, "reset")) {
		nft("flush ruleset");
		nft(ruleset);
	} else if (!strcmp(verb, "note")) {
		nftrules_note(rules, INUM, &ns, false);
	} else if (sscanf(text, "%u %u %u", &six, &port, &packets) == 3) {
		send_to(six == 6 ? AF_INET6 : AF_INET, (uint16_t)port, packets);
	} else {
		tell_rules(nft_hook(text)); /* no such one: of all */
	}
}

CASE_WITH(recorded, open_rules, close_rules)
{
	recorded_stories("tests/fixtures/nftrules", take_line, NULL);
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
	nft("table inet t { chain c { type filter hook input priority 0;\n"
	    "udp dport 9000 counter drop\n}\n}\n");
	nftrules_note(rules, INUM, &ns, false);
	send_to(AF_INET, 9000, 1);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_int_equal(result.rule[0].packets, 1);
}

/* Another namespace has the number of one that is gone. */
CASE_WITH(number_of_a_former_namespace, open_rules, close_rules)
{
	const char *const table = "table inet t { chain c { type filter hook input priority 0;\n"
				  "udp dport 9000 counter drop\n}\n}\n";

	nft(table);
	send_to(AF_INET, 9000, 5);
	assert_true(nftrules_note(rules, INUM, &ns, false));
	netns_close(&ns);
	assert_int_equal(netns_create(&ns, &(struct error){}), 0);
	nft(table);
	send_to(AF_INET, 9000, 7);
	nftrules_compare(rules, INUM, &ns, HOOK_NONE, &result);
	assert_true(result.late);
	assert_int_equal(result.rule[0].packets, 7);
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
	nftrules_note(rules, INUM, &ns, false);
	for (unsigned i = 0; i < 100; i++)
		send_to(AF_INET, (uint16_t)(10000 + i), i + 1);
	nftrules_compare(rules, INUM, &ns, HOOK_INPUT, &result);
	assert_int_equal(result.n, NFT_RULES);
	for (unsigned i = 0; i < result.n; i++)
		assert_int_equal(result.rule[i].packets, 100 - i);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(NULL, NULL);
}
