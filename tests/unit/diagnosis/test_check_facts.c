// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What check reads: its parsers on recorded texts, whole. tests/fuzz/fuzz_proc.c has them spoilt. */

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

CASE(cpu_shares)
{
	struct cpu_sample *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
	struct facts_cpus *cpus = calloc(1, sizeof(*cpus));
	char *b = load("check/stat-before.txt"), *a = load("check/stat-after.txt");

	cpu_sample_parse(before, b);
	cpu_sample_parse(after, a);
	facts_cpus_rates(cpus, before, after);
	assert_int_equal(cpus->n, 2);
	assert_int_equal(cpus->online, 2);
	assert_true(cpus->at[0].ticked);
	/* cpu0: 3 user, 25 system, 30 idle, 43 softirq: 101 ticks */
	assert_float_equal(cpus->at[0].softirq, 43.0 / 101, 1e-9);
	assert_float_equal(cpus->at[0].idle, 30.0 / 101, 1e-9);
	assert_float_equal(cpus->at[1].softirq, 0, 1e-9);
	assert_float_equal(cpus->steal, 0, 1e-9);
	free(before);
	free(after);
	free(cpus);
	free(a);
	free(b);
}

CASE(cpu_that_came)
{
	struct cpu_sample *before = calloc(1, sizeof(*before)), *after = calloc(1, sizeof(*after));
	struct facts_cpus *cpus = calloc(1, sizeof(*cpus));

	/* a host that was just booted */
	cpu_sample_parse(before, "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 0 0 0 100 0 0 0 0 0 0\n");
	cpu_sample_parse(after, "cpu  9 9 9 9 9 9 9 9 0 0\n"
				"cpu0 0 0 0 150 0 0 0 50 0 0\ncpu3 1 1 1 1 1 1 1 1 0 0\n"
				"cpu9999 1 1 1 1 1 1 1 1 0 0\ncpu1 1 2\nintr 5\n");
	facts_cpus_rates(cpus, before, after);
	assert_int_equal(cpus->n, 4);
	assert_int_equal(cpus->online, 2);
	assert_false(cpus->at[3].ticked);
	assert_false(cpus->at[1].online);
	assert_float_equal(cpus->steal, 0.5, 1e-9);
	/* each state has its own number of ticks, and idle time may decrease */
	cpu_sample_parse(before, "cpu0 0 0 0 0 0 0 0 8 0 0\ncpu1 0 0 0 90 0 0 0 0 0 0\n");
	cpu_sample_parse(after, "cpu0 1 2 4 8 16 32 64 136 0 0\ncpu1 80 0 0 80 0 0 0 0 0 0\n"
				"cpu1024 1 1 1 1 1 1 1 1 0 0\n");
	facts_cpus_rates(cpus, before, after);
	assert_int_equal(cpus->n, 2);
	assert_float_equal(cpus->at[0].idle, 24.0 / 255, 1e-9);
	assert_float_equal(cpus->at[0].softirq, 64.0 / 255, 1e-9);
	assert_float_equal(cpus->at[1].idle, 0, 1e-9);
	assert_float_equal(cpus->steal, 128.0 / (255 + 70), 1e-9);
	free(before);
	free(after);
	free(cpus);
}

CASE(interrupts)
{
	static const unsigned wanted[] = {64, 65, 66, 67, 68, 164};
	char *b = load("check/interrupts-queues-before.txt");
	char *a = load("check/interrupts-queues-after.txt");
	struct facts_irq irq[FACTS_IRQS];

	assert_int_equal(irq_rates(b, a, wanted, 6, irq), 5);
	assert_int_equal(irq[0].irq, 64);
	assert_int_equal(irq[0].fired, 8000);
	assert_int_equal(irq[0].cpu, 0);
	assert_string_equal(irq[0].name, "eth0-TxRx-0");
	assert_int_equal(irq[1].fired, 7000);
	assert_int_equal(irq[1].cpu, 0);
	/* 4294967290 to 94 is 100, and 10 on another CPU */
	assert_int_equal(irq[2].fired, 110);
	assert_int_equal(irq[2].most, 100);
	assert_int_equal(irq[3].cpu, -1);
	assert_int_equal(irq[4].irq, 164);
	assert_int_equal(irq[4].cpu, 3); /* the third column is CPU3 */
	assert_string_equal(irq[4].name, "mlx5_comp3@pci:0000:01:00.0");
	free(a);
	free(b);
}

CASE(interrupts_of_virtio)
{
	static const unsigned wanted[] = {37, 38, 39};
	char *b = load("check/interrupts-virtio-before.txt");
	char *a = load("check/interrupts-virtio-after.txt");
	struct facts_irq irq[FACTS_IRQS];

	assert_int_equal(irq_rates(b, a, wanted, 3, irq), 3);
	assert_string_equal(irq[1].name, "virtio2-input.0");
	/* A removed CPU shifts the columns: no value is reported. */
	assert_int_equal(irq_rates("CPU0 CPU1\n38: 1 2 x\n", "CPU0\n38: 3 x\n", wanted, 3, irq), 0);
	assert_int_equal(irq_rates("", "", wanted, 3, irq), 0);
	/* nor of a line with fewer counts than there are columns */
	assert_int_equal(irq_rates("CPU0 CPU1\n38: 1 2 x\n39: 1 2 x\n",
				   "CPU0 CPU1\n38: 3 x\n39: 3 3 y\n", wanted, 3, irq),
			 1);
	assert_string_equal(irq[0].name, "y");
	/* nor of those that were not asked for; and a line may end with its counts */
	assert_int_equal(irq_rates("CPU0 CPU1\n37: 1 2\n38: 1 2 x\n",
				   "CPU0 CPU1\n37: 1 9\n38: 3 3 x\n", wanted, 1, irq),
			 1);
	assert_string_equal(irq[0].name, "");
	assert_int_equal(irq[0].fired, 7);
	free(a);
	free(b);
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

CASE(taps)
{
	char *packet = load("check/packet.txt"), *raw = load("check/raw.txt");
	char *raw6 = load("check/raw6.txt");
	struct facts_taps t = {.taps = 0};

	facts_taps_parse(&t, false, packet);
	assert_int_equal(t.taps, 1); /* of all protocols; the other is of IP only */
	assert_int_equal(t.tap[0].inode, 795909);
	facts_taps_parse(&t, true, raw);
	facts_taps_parse(&t, true, raw6);
	assert_int_equal(t.raws, 2); /* UDP, not ICMP */
	assert_int_equal(t.raw[0].inode, 795911);
	assert_int_equal(t.raw[1].inode, 795913);
	free(packet);
	free(raw);
	free(raw6);
}

CASE(tables)
{
	char *sockstat = load("check/sockstat.txt"), *arp = load("check/stat-arp_cache.txt");
	char *conntrack = load("check/stat-nf_conntrack.txt");
	char *nfqueue = load("check/nfnetlink_queue.txt");
	const char *two = "entries drop\n00000010 00000001\n00000010 0000000a\n";
	uint64_t v = 7;

	assert_true(sockstat_value(sockstat, "TCP", "mem", &v));
	assert_int_equal(v, 43);
	assert_true(sockstat_value(sockstat, "FRAG", "memory", &v));
	assert_int_equal(v, 0);
	assert_false(sockstat_value(sockstat, "UDPLITE", "mem", &v)); /* not of the next line */
	assert_false(sockstat_value(sockstat, "UD", "mem", &v));

	assert_true(procnet_column(two, strlen(two), "entries", false, &v));
	assert_int_equal(v, 16); /* each CPU's line shows the whole table */
	assert_true(procnet_column(two, strlen(two), "drop", true, &v));
	assert_int_equal(v, 11);
	assert_true(procnet_column(arp, strlen(arp), "entries", false, &v));
	assert_true(procnet_column(conntrack, strlen(conntrack), "early_drop", true, &v));
	assert_int_equal(v, 0);
	assert_false(procnet_column(conntrack, strlen(conntrack), "early", true, &v));
	assert_int_equal(nfqueue_drops(nfqueue), 35);
	free(sockstat);
	free(arp);
	free(conntrack);
	free(nfqueue);
}

CASE(qdiscs)
{
	static const struct {
		const char *value, *qdisc;
	} rows[] = {
		{"default fq_codel limit 10240", "fq_codel limit 10240"},
		{"pfifo handle 8001: limit 1000", "pfifo limit 1000"},
		{"mq handle 0:", "mq"},
		{"noqueue", "noqueue"},
	};
	struct facts_link *link = calloc(1, sizeof(*link));

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		facts_link_qdisc(link, rows[i].value);
		assert_string_equal(link->qdisc, rows[i].qdisc);
	}
	free(link);
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

/* More than are listed are counted, of both kinds. */
CASE(many_taps)
{
	struct facts_taps *t = calloc(1, sizeof(*t));

	for (unsigned i = 0; i <= FACTS_TAPS; i++) {
		facts_taps_parse(t, false, "ffff 3 3 0003 0 1 0 0 5\n");
		facts_taps_parse(t, true,
				 " 1: 00000000:0011 00000000:0000 07 00000000:00000000 "
				 "00:00000000 00000000 0 0 6 2 0000000000000000 0\n");
	}
	assert_int_equal(t->taps, FACTS_TAPS + 1);
	assert_int_equal(t->raws, FACTS_TAPS + 1);
	for (unsigned i = 0; i < FACTS_TAPS; i++) {
		assert_int_equal(t->tap[i].inode, 5);
		assert_int_equal(t->raw[i].inode, 6);
	}
	free(t);
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
	struct facts_taps t = {};

	add_capture(&before, 1, 5, "eth0", 100);
	add_capture(&before, 2, 5, "eth0", 70);
	add_capture(&before, 4, 6, "", 9);
	add_capture(&after, 1, 5, "eth0", 130);
	add_capture(&after, 2, 5, "eth0", 8);
	add_capture(&after, 3, 5, "eth1", 40);
	add_capture(&after, 4, 6, "", 9);
	facts_captures_rates(&before, &after, &t);
	assert_int_equal(t.n_captures, 2);
	assert_int_equal(t.capture[0].lost, 30 + 8);
	assert_string_equal(t.capture[0].process, "suricata");
	assert_string_equal(t.capture[0].ifname, "eth0");
	assert_int_equal(t.capture[1].lost, 40);
	assert_int_equal(t.capture[1].pid, 5);
	list_free(&before);
	list_free(&after);
}

/* This process's own is named. */
CASE(owner_of_a_tap)
{
	int own = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));
	struct facts_taps *t = calloc(1, sizeof(*t));
	struct error err = {};
	struct owners *o;
	struct stat st;
	pid_t found = 0;

	if (own < 0)
		skip();
	assert_int_equal(fstat(own, &st), 0);
	assert_int_equal(owners_open(&o, NULL, &err), 0);
	assert_int_equal(facts_taps_read(NULL, o, t), 0);
	for (unsigned i = 0; i < t->taps && i < FACTS_TAPS; i++)
		found += t->tap[i].inode == st.st_ino ? t->tap[i].pid : 0;
	assert_int_equal(found, t->taps > FACTS_TAPS && !found ? 0 : getpid());
	owners_close(o);
	close(own);
	free(t);
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
