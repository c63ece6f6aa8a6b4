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

/* A recorded file without the lines that describe it ("# "). To be freed. */
static char *load(const char *name)
{
	char path[128], line[4096], *text = calloc(1, 65536);
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/%s", name);
	f = fopen(path, "r");
	if (!f || !text)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# ", 2))
			continue;
		assert_true(n + strlen(line) < 65536);
		strcpy(text + n, line);
		n += strlen(line);
	}
	fclose(f);
	return text;
}

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

static void take_line(void *arg, const char *verb, char *text)
{
	static char *sample[2];
	static struct facts_link link;
	char *word[32], **to = &sample[*verb == 'a'], *from = sample[1];
	uint64_t v = 7;
	int n;

	if (!strcmp(verb, "qdisc")) {
		facts_link_qdisc(&link, text);
		tell("%s", link.qdisc);
		return;
	}
	n = recorded_words(text, word, LENGTH(word));
	if (!strcmp(verb, "cpus")) {
		tell_cpus(sample);
	} else if (!strcmp(verb, "interrupts")) {
		tell_interrupts(sample, word, n);
	} else if (!strcmp(verb, "sockstat")) {
		tell_value(sockstat_value(from, word[0], word[1], &v), &v);
	} else if (!strcmp(verb, "column")) {
		tell_value(procnet_column(from, strlen(from), word[0], n > 1, &v), &v);
	} else if (!strcmp(verb, "nfqueue")) {
		tell("%d", (int)nfqueue_drops(from));
	} else if (strcmp(verb, "case")) {
		free(*to);
		*to = *word[0] == '@' ? load(word[0] + 1) : strdup(word[0]);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/check/samples", take_line, NULL);
}

CASE(sockets)
{
	struct facts_socks *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
	char *text = load("proc/udp-1.txt");

	sockmem_parse(text, strlen(text), AF_INET, facts_socks_add, after);
	assert_int_equal(after->n, 1);
	assert_int_equal(after->at[0].port, 5001);
	assert_int_equal(after->at[0].inode, 174809);
	assert_int_equal(after->at[0].queued, 212992);
	assert_int_equal(after->at[0].drops, 4744);
	facts_socks_rates(before, after);
	assert_int_equal(after->at[0].lost, 4744); /* opened between the samples */
	*before = *after;
	before->at[0].drops = UINT32_MAX - 255; /* the counter has 32 bits */
	after->at[1].drops = 5;			/* not one of them */
	facts_socks_rates(before, after);
	assert_int_equal(after->at[1].lost, 0);
	assert_int_equal(after->at[0].lost, 5000);
	assert_int_equal(after->at[0].queued_before, 212992);

	memset(after, 0, sizeof(*after));
	after->port = 9;
	sockmem_parse(text, strlen(text), AF_INET, facts_socks_add, after);
	assert_int_equal(after->n, 0);
	assert_int_equal(after->all, 1);
	free(text);
	free(before);
	free(after);
}

/* The counters of two queues are one loss, the counter of the port is another. */
CASE(link_rates)
{
	static const struct {
		const char *name;
		uint64_t before, after;
	} rows[] = {
		{"rx_missed_errors", 5, 8},
		{"rx_queue_0_drops", 100, 140},
		{"rx_queue_1_drops", 7, 17},
		{"rx_queue_2_drops", 9, 9},
	};
	struct facts_link *link = calloc(1, sizeof(*link));
	struct counters_device before = {.driver = "igb"}, after = {.driver = "igb"};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		nic_sample_add(&before.nic, rows[i].name, rows[i].before);
		nic_sample_add(&after.nic, rows[i].name, rows[i].after);
	}
	facts_link_rates(link, &before, &after);
	assert_int_equal(link->n_losses, 2);
	assert_int_equal(facts_link_lost(link, NIC_RING), 50);
	assert_int_equal(facts_link_lost(link, NIC_PORT), 3);
	for (unsigned i = 0; i < 2; i++) {
		bool port = link->loss[i].cause == NIC_PORT;

		assert_string_equal(link->loss[i].counter, rows[!port].name);
		assert_int_equal(link->loss[i].total,
				 port ? 8 : 0); /* of several: not comparable */
	}
	nic_plan_free(after.plan);
	nic_sample_free(&before.nic);
	nic_sample_free(&after.nic);
	free(link);
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

/* A socket with a known first count has a rate, even if the lists are full. */
CASE(rates_of_sockets)
{
	struct facts_socks *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));

	before->n = 1;
	before->at[0] = (struct facts_sock){.inode = 7, .drops = 3, .queued = 9};
	before->at[1] = (struct facts_sock){.inode = 8, .drops = 4}; /* not one of them */
	after->n = 2;
	after->at[0] = (struct facts_sock){.inode = 7, .drops = 5};
	after->at[1] = (struct facts_sock){.inode = 8, .drops = 6};
	for (unsigned full = 0; full < 2; full++) {
		before->more_lose = full;
		facts_socks_rates(before, after);
		assert_int_equal(after->at[0].lost, 2);
		assert_int_equal(after->at[0].queued_before, 9);
		assert_false(after->at[0].young);
		assert_int_equal(after->at[1].lost, full ? 0 : 6);
		assert_int_equal(after->at[1].queued_before, 0);
		assert_true(after->at[1].young);
	}
	free(before);
	free(after);
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

CASE(drops_of_connection_tracking)
{
	static const struct {
		unsigned drop[2], failed[2], chains[2]; /* of two CPUs */
		uint64_t drops, clashes;
	} rows[] = {
		{{0, 0}, {0, 0}, {0, 0}, 0, 0}, {{7, 0x20}, {0, 0}, {0, 0}, 39, 0},
		{{7, 2}, {1, 3}, {0, 0}, 5, 4}, {{7, 2}, {2, 3}, {1, 2}, 7, 2},
		{{7, 2}, {2, 3}, {3, 4}, 9, 0}, /* chains that are too long, alone */
		{{1, 2}, {2, 3}, {0, 0}, 0, 3},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stack_sample got;
		char text[256];

		snprintf(text, sizeof(text),
			 "entries drop insert_failed chaintoolong\n"
			 "00000001 %08x %08x %08x\n00000001 %08x %08x %08x\n",
			 rows[i].drop[0], rows[i].failed[0], rows[i].chains[0], rows[i].drop[1],
			 rows[i].failed[1], rows[i].chains[1]);
		stack_conntrack_parse(text, &got);
		assert_int_equal(got.conntrack_drops, rows[i].drops);
		assert_int_equal(got.conntrack_clashes, rows[i].clashes);
	}
}

static void add_capture(struct list *socks, uint64_t inode, unsigned pid, const char *ifname,
			uint64_t drops)
{
	struct silent_record *r = list_add(socks);

	r->sock.inode = inode;
	r->sock.drops = drops;
	r->pid = pid;
	strcpy(r->process, "suricata");
	strcpy(r->ifname, ifname);
}

/* A program's sockets of one interface are one loss. What it has read itself counts from 0 again.
 */
CASE(captures)
{
	struct list before = {.size = sizeof(struct silent_record)}, after = before;
	struct facts_capture t[FACTS_CAPTURES] = {};

	add_capture(&before, 1, 5, "eth0", 100);
	add_capture(&before, 2, 5, "eth0", 70);
	add_capture(&before, 4, 6, "", 9);
	add_capture(&after, 1, 5, "eth0", 130);
	add_capture(&after, 2, 5, "eth0", 8);
	add_capture(&after, 3, 5, "eth1", 40);
	add_capture(&after, 4, 6, "", 9);
	assert_int_equal(facts_captures_rates(&before, &after, t), 2);
	assert_int_equal(t[0].lost, 30 + 8);
	assert_string_equal(t[0].process, "suricata");
	assert_string_equal(t[0].ifname, "eth0");
	assert_int_equal(t[1].lost, 40);
	assert_int_equal(t[1].pid, 5);
	list_free(&before);
	list_free(&after);
}

/* Counters of a single cause that count packets. Entries after the list are ignored. */
CASE(lost_of_a_link)
{
	static const struct link_loss losses[] = {
		{.cause = NIC_RING, .class = NIC_LOSS, .lost = 1},
		{.cause = NIC_PORT, .class = NIC_LOSS, .lost = 2},
		{.cause = NIC_RING, .class = NIC_BOUND, .lost = 4},
		{.cause = NIC_RING, .class = NIC_EVENT, .lost = 8},
		{.cause = NIC_RING, .class = NIC_TRAFFIC, .lost = 16},
		{.cause = NIC_PORT, .class = NIC_EVENT, .lost = 32},
		{.cause = NIC_RING, .class = NIC_LOSS, .lost = 64},
	};
	struct facts_link *link = calloc(1, sizeof(*link));

	memcpy(link->loss, losses, sizeof(losses));
	link->n_losses = LENGTH(losses) - 1;
	assert_int_equal(facts_link_lost(link, NIC_RING), 1 + 4);
	assert_int_equal(facts_link_lost(link, NIC_PORT), 2);
	assert_int_equal(facts_link_lost(link, NIC_XDP), 0);
	free(link);
}

/* Facts of loopback, compared with another source. */
CASE(settings_of_loopback)
{
	struct facts_link *link = calloc(1, sizeof(*link));
	const struct {
		const char *name;
		const bool *is;
	} features[] = {
		{"rx-gro", &link->gro},
		{"rx-gro-hw", &link->gro_hw},
		{"rx-lro", &link->lro},
		{"tx-generic-segmentation", &link->gso},
		{"tx-udp-segmentation", &link->udp_gso},
		{"rx-checksum", &link->rx_csum},
	};
	char text[128];

	assert_int_equal(facts_link_read(NULL, "pl-none", link), -ENODEV);
	assert_int_equal(facts_link_read(NULL, "lo", link), 0);
	for (size_t i = 0; i < LENGTH(features); i++) {
		bool on = false;

		netdev_get_feature(NULL, "lo", features[i].name, &on);
		assert_int_equal(*features[i].is, on);
	}
	assert_true(link->gso && !link->gro_hw);
	assert_string_equal(link->master_name, "");
	assert_int_equal(link->peer_mtu, 0);
	assert_string_equal(link->qdisc, "noqueue");
	assert_false(link->threaded || link->rps_flow_cnt);
	assert_int_equal(link_sysfs(NULL, "lo", "queues/rx-0/rps_cpus", text, sizeof(text)),
			 *link->rps_cpus != '\0');
	assert_string_equal(link->rps_cpus, text);
	assert_true(link_sysfs(NULL, "lo", "mtu", text, sizeof(text)));
	assert_int_equal(atoi(text), link->dev.link.mtu);
	assert_false(link_sysfs(NULL, "lo", "none", text, sizeof(text)));
	assert_string_equal(text, "");
	free(link);
}

static uint64_t setting(const char *path)
{
	uint64_t value = 0;
	FILE *f = fopen(path, "r");

	assert_true(f && fscanf(f, "%lu", &value) == 1);
	fclose(f);
	return value;
}

static const char *const settings[] = {
	"core/rmem_default",
	"core/rmem_max",
	"core/wmem_default",
	"core/wmem_max",
	"core/netdev_max_backlog",
	"core/netdev_budget",
	"core/netdev_budget_usecs",
	"ipv4/udp_mem",
	"ipv4/ipfrag_high_thresh",
	"ipv6/ip6frag_high_thresh",
	"ipv4/neigh/default/gc_thresh3",
	"ipv6/neigh/default/gc_thresh3",
};

static void read_settings(uint64_t value[LENGTH(settings)])
{
	for (size_t i = 0; i < LENGTH(settings); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/proc/sys/net/%s", settings[i]);
		value[i] = access(path, R_OK) ? 0 : setting(path);
	}
}

/* Other tests may change a setting of the host meanwhile. */
CASE(settings_of_the_stack)
{
	static struct facts_stack facts, *const stack = &facts;
	uint64_t before[LENGTH(settings)], after[LENGTH(settings)];
	struct netns host;

	assert_int_equal(netns_current(&host, &(struct error){}), 0);
	read_settings(before);
	facts_stack_read(NULL, &host, stack);
	netns_close(&host);
	const uint64_t value[] = {
		stack->rmem_default,
		stack->rmem_max,
		stack->wmem_default,
		stack->wmem_max,
		stack->max_backlog,
		stack->budget,
		stack->budget_usecs,
		stack->udp_mem[0],
		stack->frag_high[STACK_V4],
		stack->frag_high[STACK_V6],
		stack->neighbours_max[STACK_V4],
		stack->neighbours_max[STACK_V6],
	};

	read_settings(after);
	for (size_t i = 0; i < LENGTH(settings); i++) {
		if (value[i] != before[i])
			assert_int_equal(value[i], after[i]);
	}
	assert_int_equal(stack->page_bytes, sysconf(_SC_PAGESIZE));
}
