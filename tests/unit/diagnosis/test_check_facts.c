// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What check reads: its parsers on recorded texts, whole. tests/fuzz/fuzz_proc.c has them spoilt.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "base/list.h"
#include "base/num.h"
#include "diagnosis/facts.h"
#include "recorded.h"

static void tell_cpus(char *const sample[2])
{
	static struct cpu_sample before, after;
	static struct facts_cpus cpus;

	memset(&cpus, 0, sizeof(cpus));
	cpu_sample_parse(&before, sample[0]);
	cpu_sample_parse(&after, sample[1]);
	facts_cpus_rates(&cpus, &before, &after);
	for (unsigned i = 0; i < cpus.n; i++)
		tell("cpu%u%s%s softirq %.6f idle %.6f |", i, cpus.at[i].online ? "" : " offline",
		     cpus.at[i].ticked ? "" : " without ticks", cpus.at[i].softirq,
		     cpus.at[i].idle);
	tell("%u online, steal %.6f", cpus.online, cpus.steal);
}

static void tell_interrupts(char *const sample[2], char *const word[], int n)
{
	struct facts_irq irq[FACTS_IRQS];
	unsigned wanted[FACTS_IRQS];
	int found;

	for (int i = 0; i < n; i++)
		wanted[i] = (unsigned)atoi(word[i]);
	found = irq_rates(sample[0], sample[1], wanted, (unsigned)n, irq);
	tell("%d:", found);
	for (int i = 0; i < found; i++)
		tell("| %u '%s' fired %d most %d on %d", irq[i].irq, irq[i].name, (int)irq[i].fired,
		     (int)irq[i].most, irq[i].cpu);
}

static void tell_value(bool found, const uint64_t *v)
{
	if (found)
		tell("%d", (int)*v);
	else
		tell("no such value");
}

/* What was added to two samples, [0] is before. */
static struct story {
	char *text[2];
	struct facts_socks socks[2];
	struct list captures[2];
	struct counters_device device[2];
} sample;

static void begin(void)
{
	for (unsigned i = 0; i < 2; i++) {
		free(sample.text[i]);
		list_free(&sample.captures[i]);
		nic_sample_free(&sample.device[i].nic);
	}
	memset(&sample, 0, sizeof(sample));
	for (unsigned i = 0; i < 2; i++)
		sample.captures[i].size = sizeof(struct silent_record);
}

static void tell_sockets(void)
{
	struct facts_socks *before = &sample.socks[0], *after = &sample.socks[1];

	/* entries after the lists are not part of them */
	if (after->n)
		before->at[before->n] = (struct facts_sock){.inode = after->at[after->n - 1].inode};
	after->at[after->n].drops = 5;
	facts_socks_rates(before, after);
	tell("%u of %u:", after->n, after->all);
	for (unsigned i = 0; i < after->n; i++) {
		const struct facts_sock *one = &after->at[i];

		tell("%sport %u inode %d drops %d queued %d, lost %d of %d%s", i ? "| " : "",
		     one->port, (int)one->inode, (int)one->drops, (int)one->queued, (int)one->lost,
		     (int)one->queued_before, one->young ? " young" : "");
	}
	for (unsigned i = after->n; i < FACTS_SOCKS; i++)
		assert_int_equal(after->at[i].lost, 0);
}

/* Losses of a link by cause and counter; of several counters there is no total. */
static void tell_losses(const char *driver)
{
	struct counters_device *d = sample.device;
	struct facts_link *link = calloc(1, sizeof(*link));

	for (unsigned i = 0; i < 2; i++)
		snprintf(d[i].driver, sizeof(d[i].driver), "%s", driver);
	facts_link_rates(link, &d[0], &d[1]);
	tell("ring %d, port %d", (int)facts_link_lost(link, NIC_RING),
	     (int)facts_link_lost(link, NIC_PORT));
	for (unsigned i = 0; i < link->n_losses; i++)
		tell("| %s %d of %d", link->loss[i].counter, (int)link->loss[i].lost,
		     (int)link->loss[i].total);
	nic_plan_free(d[1].plan);
	free(link);
}

static void add_capture(struct list *socks, char *const word[])
{
	struct silent_record *r = list_add(socks);

	r->sock.inode = strtoull(word[0], NULL, 10);
	r->pid = (unsigned)atoi(word[1]);
	r->sock.drops = strtoull(word[2], NULL, 10);
	strcpy(r->ifname, word[3]);
	strcpy(r->process, "suricata");
}

static void tell_captures(void)
{
	struct facts_capture t[FACTS_CAPTURES] = {};
	const int n = facts_captures_rates(&sample.captures[0], &sample.captures[1], t);

	for (int i = 0; i < n; i++)
		tell("%s[%u] at %s lost %d;", t[i].process, t[i].pid, t[i].ifname, (int)t[i].lost);
}

/* A socket is "INODE DROPS QUEUED", or all of a file, of this port. */
static void take_socket(struct facts_socks *to, char *const word[], int n)
{
	char *text;

	if (*word[0] == '@') {
		text = recorded_input(word[0]);
		to->port = n > 1 ? (uint16_t)atoi(word[1]) : 0;
		sockmem_parse(text, strlen(text), AF_INET, facts_socks_add, to);
		free(text);
		return;
	}
	to->at[to->n++] = (struct facts_sock){.inode = strtoull(word[0], NULL, 10),
					      .drops = strtoull(word[1], NULL, 10),
					      .queued = strtoull(word[2], NULL, 10)};
}

static void take_line(void *arg, const char *verb, char *text)
{
	static struct facts_link link;
	const bool after = *verb == 'a', begins = !strcmp(verb, "case");
	struct stack_sample stack;
	char *word[32], *from = sample.text[1];
	uint64_t v = 7;
	int n;

	if (!strcmp(verb, "qdisc")) {
		facts_link_qdisc(&link, text);
		tell("%s", link.qdisc);
		return;
	}
	n = begins ? 0 : recorded_words(text, word, LENGTH(word));
	if (begins) {
		begin();
	} else if (!strcmp(verb, "cpus")) {
		tell_cpus(sample.text);
	} else if (!strcmp(verb, "interrupts")) {
		tell_interrupts(sample.text, word, n);
	} else if (!strcmp(verb, "sockstat")) {
		tell_value(sockstat_value(from, word[0], word[1], &v), &v);
	} else if (!strcmp(verb, "column")) {
		tell_value(procnet_column(from, strlen(from), word[0], n > 1, &v), &v);
	} else if (!strcmp(verb, "nfqueue")) {
		tell("%d", (int)nfqueue_drops(from));
	} else if (!strcmp(verb, "conntrack")) {
		stack_conntrack_parse(from, &stack);
		tell("%d drops, %d clashes", (int)stack.conntrack_drops,
		     (int)stack.conntrack_clashes);
	} else if (!strcmp(verb, "sockets")) {
		tell_sockets();
	} else if (!strcmp(verb, "full")) { /* losing sockets found no room before */
		sample.socks[0].more_lose = 1;
	} else if (!strcmp(verb, "losses")) {
		tell_losses(word[0]);
	} else if (!strcmp(verb, "captures")) {
		tell_captures();
	} else if (!strcmp(word[0], "socket")) { /* before or after */
		take_socket(&sample.socks[after], word + 1, n - 1);
	} else if (!strcmp(word[0], "capture")) {
		add_capture(&sample.captures[after], word + 1);
	} else if (!strcmp(word[0], "counter")) {
		nic_sample_add(&sample.device[after].nic, word[1], strtoull(word[2], NULL, 10));
	} else {
		free(sample.text[after]);
		sample.text[after] = recorded_input(word[0]);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/check/samples", take_line, NULL);
	begin();
}

/* Of more CPUs than there is room for the first. */
CASE(interrupts_of_many_cpus)
{
	static char text[16 * FACTS_CPUS];
	struct facts_irq irq[1];
	char *at = text;

	for (unsigned i = 0; i <= FACTS_CPUS; i++)
		at += sprintf(at, " CPU%u", i);
	at += sprintf(at, "\n38:");
	for (unsigned i = 0; i <= FACTS_CPUS; i++)
		at += sprintf(at, " 0");
	strcpy(at, " rx\n");
	assert_int_equal(irq_rates(text, text, &(unsigned){38}, 1, irq), 1);
	assert_string_equal(irq[0].name, "rx");
}

CASE(interface_that_is_asked_for)
{
	static struct facts facts;
	struct facts_reader *r;
	struct error err = {};

	assert_int_equal(facts_begin(&r, &(struct facts_spec){.ifname = "none"}, &facts, &err),
			 -ENODEV);
	facts_free(&facts);
	assert_int_equal(facts_begin(&r, &(struct facts_spec){.ifname = "lo"}, &facts, &err), 0);
	assert_true(facts_wait(&r, 1, 1000000));
	assert_int_equal(facts_end(r, &err), 0);
	assert_int_equal(facts.n_links, 1);
	assert_true(facts.window_ns >= 1000000);
	facts_free(&facts);
}

/* If the list is full, a socket that loses or waits replaces a socket that does neither. */
CASE(sockets_find_room)
{
	struct facts_socks *socks = calloc(1, sizeof(*socks));
	const struct sockmem_row idle = {.port = 1}, loses = {.port = 2, .drops = 1},
				 waits = {.port = 3, .rmem = 1};

	facts_socks_add(socks, &idle);
	facts_socks_add(socks, &loses);
	facts_socks_add(socks, &waits);
	facts_socks_add(socks, &idle);
	while (socks->n < FACTS_SOCKS)
		facts_socks_add(socks, &loses);
	assert_int_equal(socks->more, 0);
	facts_socks_add(socks, &idle);
	assert_int_equal(socks->at[0].port, idle.port);
	facts_socks_add(socks, &waits);
	assert_int_equal(socks->at[0].port, waits.port);
	facts_socks_add(socks, &loses);
	for (unsigned i = 0; i < FACTS_SOCKS; i++)
		assert_int_equal(socks->at[i].port, i % 2 || i > 2 ? loses.port : waits.port);
	assert_false(socks->more_lose);
	facts_socks_add(socks, &idle);
	assert_false(socks->more_lose);
	facts_socks_add(socks, &waits);
	assert_true(socks->more_lose);
	assert_int_equal(socks->more, 5);
	assert_int_equal(socks->n, FACTS_SOCKS);
	assert_int_equal(socks->all, FACTS_SOCKS + 5);
	free(socks);
}

/* Only the requested socket of the requested process is found. */
CASE(owners_of_one)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct facts_socks *socks = calloc(1, sizeof(*socks));
	struct error err = {};
	struct owners *o;
	struct stat st;
	char name[16];

	assert_int_equal(fstat(fd, &st), 0);
	for (unsigned i = 0; i < FACTS_SOCKS; i++)
		socks->at[i] = (struct facts_sock){.inode = i == 1 ? 0 : st.st_ino, .pid = 77};
	socks->n = FACTS_SOCKS;
	assert_int_equal(facts_holders_find(NULL, socks, 0), 0);
	for (unsigned i = 0; i < FACTS_SOCKS; i++)
		assert_int_equal(socks->at[i].pid, 0);
	socks->n = 1;
	socks->at[1].pid = 77;
	assert_int_equal(owners_open(&o, NULL, &err), 0);
	assert_int_equal(facts_holders_find(o, socks, getpid()), 0);
	assert_int_equal(socks->at[0].pid, getpid());
	assert_int_equal(socks->at[0].holders, 1);
	assert_int_equal(prctl(PR_GET_NAME, name), 0); /* valgrind gives its own */
	assert_string_equal(socks->at[0].process, name);
	assert_int_equal(socks->at[1].pid, 77);
	/* known by now, and still no other's */
	assert_int_equal(facts_holders_find(o, socks, getppid()), 0);
	assert_int_equal(socks->at[0].pid, 0);
	owners_close(o);
	close(fd);
	free(socks);
}
