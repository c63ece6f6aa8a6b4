// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "cases.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "host/counters.h"
#include "host/sockdiag.h"

/* A recorded file without the lines that describe it ("# "). */
static size_t load(const char *name, char *buf, size_t size)
{
	char path[128], line[8192];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/proc/%s", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while (fgets(line, sizeof(line), f)) {
		size_t len = strlen(line);

		if (!strncmp(line, "# ", 2))
			continue;
		assert_true(n + len < size);
		memcpy(buf + n, line, len);
		n += len;
	}
	fclose(f);
	return n;
}

typedef void (*parser)(struct counters *c, const char *scope, const char *text, size_t len);

static struct counters parse(parser p, const char *scope, const char *file)
{
	static char buf[65536];
	struct counters c = {0};
	size_t n = load(file, buf, sizeof(buf));

	p(&c, scope, buf, n);
	return c;
}

static struct counters parse_text(parser p, const char *text)
{
	struct counters c = {0};

	p(&c, "rx", text, strlen(text));
	return c;
}

static void has_value(const struct counters *c, const char *scope, const char *name,
		      uint64_t wanted)
{
	uint64_t v = ~0ULL;

	if (!counters_get(c, scope, name, &v))
		fail_msg("%s %s is missing", scope, name);
	if (v != wanted)
		fail_msg("%s %s is %llu, not %llu", scope, name, (unsigned long long)v,
			 (unsigned long long)wanted);
}

static void has_not(const struct counters *c, const char *scope, const char *name)
{
	uint64_t v;

	if (counters_get(c, scope, name, &v))
		fail_msg("%s %s should be absent", scope, name);
}

CASE(snmp_recorded)
{
	struct counters c = parse(procnet_snmp, "rx", "snmp-2.txt");

	has_value(&c, "rx", "Udp:RcvbufErrors", 4744);
	has_value(&c, "rx", "Udp:InErrors", 4744);
	has_value(&c, "rx", "Udp:MemErrors", 0);
	has_value(&c, "rx", "Ip:InReceives", 5000);
	has_value(&c, "rx", "Ip:OutTransmits", 0);
	has_value(&c, "rx", "UdpLite:InErrors", 0);
	has_not(&c, "tx", "Udp:InErrors");
	has_not(&c, "rx", "Tcp:MaxConn"); /* -1 is no count */
	counters_free(&c);
}

CASE(snmp_old_kernel)
{
	struct counters c = parse(procnet_snmp, "rx", "snmp-1.txt");

	has_value(&c, "rx", "Udp:RcvbufErrors", 9);
	has_value(&c, "rx", "Udp:SndbufErrors", 8);
	has_value(&c, "rx", "Udp:NoPorts", 120);
	has_value(&c, "rx", "Icmp:OutDestUnreachs", 120);
	has_not(&c, "rx", "Udp:MemErrors");   /* absent, not 0 */
	has_not(&c, "rx", "IcmpMsg:InType3"); /* printed only once not 0 */
	counters_free(&c);
}

CASE(netstat_recorded)
{
	struct counters c = parse(procnet_snmp, "rx", "proc-net-netstat-1.txt");

	has_value(&c, "rx", "IpExt:InOctets", 640000);
	has_value(&c, "rx", "IpExt:InNoECTPkts", 5000);
	has_value(&c, "rx", "IpExt:InCsumErrors", 0);
	has_value(&c, "rx", "TcpExt:IPReversePathFilter", 0);
	counters_free(&c);
}

CASE(snmp_cut)
{
	struct counters c;

	c = parse_text(procnet_snmp, "Udp: InDatagrams NoPorts InErrors\nUdp: 10 20 474");
	has_value(&c, "rx", "Udp:NoPorts", 20);
	has_not(&c, "rx", "Udp:InErrors"); /* may have been 4744 */
	counters_free(&c);

	c = parse_text(procnet_snmp, "Ip: A B\nUdp: C D\nUdp: 1 2\nno colon\nUdp: 5\n");
	has_not(&c, "rx", "Ip:A");
	has_value(&c, "rx", "Udp:C", 1);
	assert_int_equal(c.n, 2);
	counters_free(&c);

	/* More values than names, more names than values, text instead of a number, overflow. */
	c = parse_text(procnet_snmp, "A: x\nA: 1 2\nB: p q\nB: 7\nC: r s t\n"
				     "C: 18446744073709551616 12abc 3\n");
	assert_int_equal(c.n, 3);
	has_value(&c, "rx", "C:t", 3);
	counters_free(&c);

	c = parse_text(procnet_snmp, "");
	assert_int_equal(c.n, 0);
	counters_free(&c);
}

CASE(snmp6_lines)
{
	struct counters c = parse_text(procnet_snmp6, "Ip6InReceives                   \t17\n"
						      "Udp6RcvbufErrors\t495\n"
						      "Icmp6OutType1\t4\n"
						      "odd line with words\n"
						      "Udp6InErrors\t49");

	has_value(&c, "rx", "Udp6RcvbufErrors", 495);
	has_value(&c, "rx", "Ip6InReceives", 17);
	has_not(&c, "rx", "Icmp6OutType1");
	has_not(&c, "rx", "Udp6InErrors"); /* cut */
	assert_int_equal(c.n, 2);
	counters_free(&c);
}

CASE(softnet_shapes)
{
	struct counters c = parse(procnet_softnet, "host", "softnet_stat-1.txt");

	has_value(&c, "host", "softnet:row0:dropped", 18);
	has_value(&c, "host", "softnet:row1:dropped", 255);
	has_value(&c, "host", "softnet:row3:processed", 0x372f);
	has_not(&c, "host", "softnet:row0:flow_limit");
	has_not(&c, "host", "softnet:cpu0:dropped"); /* a line is no CPU number */
	counters_free(&c);

	c = parse(procnet_softnet, "host", "softnet_stat-2.txt");
	has_value(&c, "host", "softnet:cpu0:dropped", 25219);
	has_value(&c, "host", "softnet:cpu4:dropped", 187284);
	counters_free(&c);

	c = parse(procnet_softnet, "host", "softnet_stat-3.txt");
	has_value(&c, "host", "softnet:row0:time_squeeze", 1);
	counters_free(&c);

	c = parse(procnet_softnet, "host", "softnet_stat-4.txt");
	has_value(&c, "host", "softnet:row0:flow_limit", 1);
	has_value(&c, "host", "softnet:row0:dropped", 0xfe);
	counters_free(&c);

	c = parse(procnet_softnet, "host", "softnet_stat-5.txt");
	has_value(&c, "host", "softnet:row1:dropped", 41);
	counters_free(&c);

	/* CPU 3 is offline, the last line has lost its CPU. */
	c = parse_text(procnet_softnet, "1 2 0 0 0 0 0 0 0 0 5 7 4\n1 9 0 0 0 0 0 0 0 0 0 0 00");
	has_value(&c, "rx", "softnet:cpu4:dropped", 2);
	has_value(&c, "rx", "softnet:cpu4:flow_limit", 5);
	has_value(&c, "rx", "softnet:cpu4:backlog_len", 7);
	has_not(&c, "rx", "softnet:row1:dropped");
	has_not(&c, "rx", "softnet:cpu0:dropped");
	counters_free(&c);
}

CASE(softnet_delta)
{
	struct counters before = parse(procnet_softnet, "host", "softnet_stat-7-before.txt");
	struct counters after = parse(procnet_softnet, "host", "softnet_stat-7-after.txt");
	struct counters d = {0};
	uint64_t v;

	counters_delta(&before, &after, &d);
	assert_true(counters_get(&d, "host", "softnet:cpu1:processed", &v));
	assert_int_equal(v, 1000004);
	assert_true(counters_get(&d, "host", "softnet:cpu1:dropped", &v));
	assert_int_equal(v, 0); /* 4614 of other work, before */
	assert_false(counters_get(&d, "host", "softnet:cpu1:backlog_len", &v));
	counters_free(&d);
	counters_free(&before);
	counters_free(&after);
}

CASE(neigh_stat)
{
	static const char text[] =
		"entries  allocs   destroys hash_grows lookups  hits     res_failed "
		"rcv_probes_mcast rcv_probes_ucast periodic_gc_runs forced_gc_runs "
		"unresolved_discards table_fulls\n"
		"00000002 00000001 00000000 00000000 00000004 00000000 00000003 00000000 00000000 "
		"00000040 00000000 0000001f 00000000\n"
		"00000002 00000001 00000000 00000000 00000002 00000002 00000000 00000000 00000000 "
		"00000000 00000000 00000001 00000000\n";
	struct counters c = {0};

	procnet_neigh_stat(&c, "host", "arp_cache", text, strlen(text));
	has_value(&c, "host", "arp_cache:unresolved_discards", 32);
	has_value(&c, "host", "arp_cache:res_failed", 3);
	counters_free(&c);

	/* Cut in the second CPU's line: a sum over one CPU is no sum. */
	procnet_neigh_stat(&c, "host", "arp_cache", text, strlen(text) - 30);
	has_not(&c, "host", "arp_cache:unresolved_discards");
	has_value(&c, "host", "arp_cache:res_failed", 3);
	counters_free(&c);
}

struct rows {
	struct sockmem_row last;
	unsigned n;
};

static void keep_row(void *arg, const struct sockmem_row *row)
{
	struct rows *rows = arg;

	rows->last = *row;
	rows->n++;
}

CASE(udp_sockets)
{
	static char buf[65536];
	size_t n = load("udp-1.txt", buf, sizeof(buf));
	struct rows rows = {.n = 0};

	sockmem_parse(buf, n, 2, keep_row, &rows);
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.last.family, 2);
	assert_int_equal(rows.last.port, 5001);
	assert_int_equal(rows.last.inode, 174809);
	assert_int_equal(rows.last.drops, 4744);
	assert_int_equal(rows.last.rmem, 212992);
	assert_false(rows.last.connected);

	/* Without its end the line's drops may have lost digits. */
	while (n && buf[n - 1] != '4')
		n--;
	sockmem_parse(buf, n - 1, 2, keep_row, &rows);
	assert_int_equal(rows.n, 1);
}

static void add(struct counters *c, const char *name, uint64_t v)
{
	counters_add(c, "rx", name, v);
}

CASE(delta_rules)
{
	struct counters before = {0}, after = {0};
	struct counters d = {0};
	uint64_t v;

	add(&before, "softnet:cpu0:dropped", 0xfffffff0);
	add(&after, "softnet:cpu0:dropped", 0x10);
	add(&before, "socket:drops", 0xffffffff);
	add(&after, "socket:drops", 1);
	add(&before, "ethtool:e0:rx_queue_0_drops", 1000);
	add(&after, "ethtool:e0:rx_queue_0_drops", 7);
	add(&before, "ethtool:e1:pkts rx OOB", 1); /* the label repeats per queue */
	add(&before, "ethtool:e1:pkts rx OOB", 2);
	add(&after, "ethtool:e1:pkts rx OOB", 10);
	add(&after, "ethtool:e1:pkts rx OOB", 20);
	add(&before, "only:before", 1);
	add(&after, "only:after", 1);
	add(&before, "Udp:NoPorts", 1ULL << 40);
	add(&after, "Udp:NoPorts", (1ULL << 40) + 5);
	counters_delta(&before, &after, &d);

	assert_true(counters_get(&d, "rx", "softnet:cpu0:dropped", &v));
	assert_int_equal(v, 0x20);
	assert_true(counters_get(&d, "rx", "socket:drops", &v));
	assert_int_equal(v, 2);
	assert_true(counters_get(&d, "rx", "ethtool:e0:rx_queue_0_drops", &v));
	assert_int_equal(v, 7);
	assert_true(counters_get(&d, "rx", "ethtool:e1:pkts rx OOB", &v));
	assert_int_equal(v, 27);
	assert_true(counters_get(&d, "rx", "Udp:NoPorts", &v));
	assert_int_equal(v, 5);
	assert_false(counters_get(&d, "rx", "only:before", &v));
	assert_false(counters_get(&d, "rx", "only:after", &v));
	assert_int_equal(d.n, 5);
	counters_free(&d);
	counters_free(&before);
	counters_free(&after);
}

static bool is_odd(const struct counter *it)
{
	return it->value % 2;
}

static bool is_none(const struct counter *it)
{
	return it->value > 100;
}

CASE(only_what_is_wanted_is_kept)
{
	struct counters c = parse_text(procnet_snmp, "A: p q r\nA: 1 2 3\n");

	counters_keep(&c, is_odd);
	assert_int_equal(c.n, 2);
	assert_int_equal(malloc_usable_size(c.items) / sizeof(*c.items), 2);
	has_value(&c, "rx", "A:p", 1);
	has_not(&c, "rx", "A:q");
	has_value(&c, "rx", "A:r", 3);
	counters_keep(&c, is_none);
	assert_int_equal(c.n, 0);
	counters_free(&c);
	counters_keep(&c, is_odd); /* nothing was read */
	assert_int_equal(c.n, 0);
	counters_free(&c);
}

CASE(this_host)
{
	const struct counters_scope scope = {.role = "host", .what = COUNTERS_RUN};
	struct counters c = {0};
	uint64_t v;

	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_true(counters_get(&c, "host", "Udp:InErrors", &v));
	assert_true(counters_get(&c, "host", "Ip:InReceives", &v));
	counters_free(&c);
}

CASE(device_gone)
{
	static const char *const names[] = {"no-such-dev", "lo", NULL};
	struct counters_scope scope = {.role = "rx", .ifnames = names, .what = COUNTERS_RUN};
	struct counters c = {0};

	assert_int_equal(counters_read(&c, &scope, 1), -ENODEV);
	assert_int_equal(c.n_devices, 0);
	counters_free(&c);
	scope.what |= COUNTERS_GOING;
	assert_int_equal(counters_read(&c, &scope, 1), 0);
	assert_int_equal(c.n_devices, 1);
	assert_string_equal(c.devices[0].link.ifname, "lo");
	counters_free(&c);
}
