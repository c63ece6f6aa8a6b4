// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The probes of a flow's balance, on real traffic between two namespaces: what arrives is
 * delivered, dropped or waits, whatever happens to it. tests/net/test_balance.py has copies,
 * fragments, several senders, and numbers of the application.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <linux/sock_diag.h>

#include "cases.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"
#include "drops/reason.h"
#include "monitor/session.h"

#define LEN	  100 /* payload */
#define SETTLE_NS 5000000000ULL
#define PATIENT_S 10 /* for what must come */

static uint16_t port; /* that no other program uses: the balance covers the whole host */
static struct reasons *reasons;
static struct ksyms *ksyms;
static struct filter *filter;
static struct balance *balance;
static struct balance_moment begun;
static int tx = -1, rx = -1;

static int open_all(void **state)
{
	struct error err = {};

	return open_lab(state) || ksyms_open(&ksyms, NULL, &err);
}

static int close_all(void **state)
{
	ksyms_free(ksyms);
	reasons_free(reasons);
	return close_lab(state);
}

static int bound(const struct netns *ns, uint16_t to)
{
	const struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(to)};
	int fd = socket_in(ns, AF_INET, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (const void *)&at, sizeof(at)), 0);
	return fd;
}

/* `and`: the rest of the expression, after the port. */
static void begin_with(const char *and)
{
	struct error err = {};
	struct trace_places places;
	struct balance_spec spec;
	char expr[128];

	ksym_places(ksyms, &places);
	snprintf(expr, sizeof(expr), "udp port %u%s", port, and);
	if (filter_compile(&filter, expr, &err))
		fail_msg("%s", err.message);
	spec = (struct balance_spec){.filter = filter, .reasons = reasons, .ksyms = ksyms};
	if (balance_open(&balance, &spec, &err) || balance_attach(balance, &places, &err) ||
	    balance_begin(balance, &begun, &err))
		fail_msg("%s", err.message);
}

static int open_sockets(void **state)
{
	tx = socket_in(&lab.tx_ns, AF_INET, SOCK_DGRAM, 0);
	rx = bound(&lab.rx_ns, port);
	return 0;
}

static int close_sockets(void **state)
{
	close(tx);
	if (rx >= 0)
		close(rx);
	balance_close(balance);
	filter_free(filter);
	balance = NULL;
	filter = NULL;
	return 0;
}

static void send_from(int fd, unsigned n, unsigned len)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = lab.rx.ip4};
	static uint8_t payload[65536];

	for (unsigned i = 0; i < n; i++)
		assert_int_equal(sendto(fd, payload, len, 0, (const void *)&to, sizeof(to)), len);
}

/* Receives a datagram of up to `size` bytes. Returns -1 if no datagram arrived in time. */
static int read_one(int fd, unsigned size, int flags)
{
	static uint8_t payload[65536];
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, PATIENT_S * 1000) > 0
		       ? (int)recv(fd, payload, size, flags | MSG_DONTWAIT)
		       : -1;
}

/* Peeks at each of the datagrams in the queue, at an increasing offset. */
static void await_arrival(int fd, unsigned n)
{
	struct timeval patience = {.tv_sec = PATIENT_S}, forever = {};
	int offset = 0, off = -1;
	char payload[LEN];

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof(offset)), 0);
	while (n--)
		assert_true(recv(fd, payload, sizeof(payload), MSG_PEEK) > 0);
	setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
}

#define AS_COUNTED UINT64_MAX /* any number of drops */

/* Until `want` have come, or none comes any more. Returns how many it read. */
static unsigned read_upto(int fd, unsigned want)
{
	unsigned n = 0;

	while (n < want && read_one(fd, 65536, 0) >= 0)
		n++;
	return n;
}

/* All that were not lost at the socket, of `sent`. */
static unsigned read_rest(int fd, unsigned sent)
{
	uint32_t mem[SK_MEMINFO_VARS] = {};
	socklen_t len = sizeof(mem);
	unsigned n = 0;

	for (;;) {
		assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len), 0);
		if (n + mem[SK_MEMINFO_DROPS] >= sent || read_one(fd, 65536, 0) < 0)
			return n;
		n++;
	}
}

static struct flow_balance close_balance(uint64_t dropped)
{
	struct flow_facts facts = {.begin = begun};
	struct flow_balance b;
	struct error err = {};

	if (balance_end(balance, &begun, SETTLE_NS, &facts.end, &err))
		fail_msg("%s", err.message);
	flow_balance_close(&b, &facts);
	if (dropped != AS_COUNTED)
		assert_int_equal(b.dropped + b.suspected, dropped);
	return b;
}

static void assert_balance(const struct flow_balance *b, int64_t arrived, uint64_t delivered,
			   int64_t in_flight)
{
	assert_int_equal(b->arrived, arrived);
	assert_int_equal(b->delivered, delivered);
	assert_int_equal(b->in_flight, in_flight);
	assert_int_equal(b->unaccounted, 0);
	for (unsigned i = 0; i < DOUBT_BALANCE; i++) {
		if (b->doubt[i])
			fail_msg("doubt %u: %llu", i, (unsigned long long)b->doubt[i]);
	}
	assert_true(b->balanced);
}

static struct flow_balance assert_closes(uint64_t dropped, int64_t arrived, uint64_t delivered,
					 int64_t in_flight)
{
	struct flow_balance b = close_balance(dropped);

	assert_balance(&b, arrived, delivered, in_flight);
	return b;
}

CASE_WITH(all_delivered, open_sockets, close_sockets)
{
	struct flow_balance b;

	begin_with("");
	send_from(tx, 50, LEN);
	assert_int_equal(read_upto(rx, 50), 50);
	b = assert_closes(0, 50, 50, 0);
	assert_int_equal(b.verdict, FLOW_NONE_SEEN);
}

CASE_WITH(nothing_came, open_sockets, close_sockets)
{
	struct flow_balance b;

	begin_with("");
	b = assert_closes(0, 0, 0, 0);
	assert_int_equal(b.verdict, FLOW_NONE_SEEN);
}

CASE_WITH(buffer_too_small, open_sockets, close_sockets)
{
	int tiny = 4096;
	struct flow_balance b;
	unsigned n;

	setsockopt(rx, SOL_SOCKET, SO_RCVBUF, &tiny, sizeof(tiny));
	begin_with("");
	send_from(tx, 500, LEN);
	n = read_rest(rx, 500);
	assert_in_range(n, 1, 499);
	b = assert_closes(500 - n, 500, n, 0);
	assert_int_equal(b.facts.end.dropped[SIDE_INSIDE], 500 - n);
	assert_int_equal(b.verdict, FLOW_THIS_HOST);
}

CASE_WITH(unread_before_and_after, open_sockets, close_sockets)
{
	send_from(tx, 30, LEN);
	await_arrival(rx, 30);
	begin_with("");
	for (int i = 0; i < 10; i++)
		assert_int_equal(read_one(rx, LEN, 0), LEN);
	send_from(tx, 5, LEN);
	assert_closes(0, 5, 10, -5);
}

CASE_WITH(no_socket, open_sockets, close_sockets)
{
	close(rx);
	rx = -1;
	begin_with("");
	send_from(tx, 7, LEN);
	assert_closes(7, 7, 0, 0);
}

CASE_WITH(peeked_and_truncated, open_sockets, close_sockets)
{
	begin_with("");
	send_from(tx, 3, LEN);
	send_from(tx, 1, 0);
	assert_int_equal(read_one(rx, LEN, MSG_PEEK), LEN);
	assert_int_equal(read_one(rx, 10, 0), 10);
	assert_int_equal(read_one(rx, 10, MSG_TRUNC), LEN);
	assert_int_equal(read_upto(rx, 2), 2);
	assert_closes(0, 4, 4, 0);
}

/* One datagram, with the address that it came from. */
static void read_named(int fd, unsigned n, unsigned size)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char payload[LEN];

	while (n--) {
		assert_true(poll(&p, 1, PATIENT_S * 1000) > 0);
		assert_true(recvfrom(fd, payload, size, MSG_DONTWAIT, (void *)&from, &len) >= 0);
	}
}

/*
 * Two senders use one port, and EXPR matches the second. Packets of both also arrive before the
 * trace begins.
 */
static int other_sender(void)
{
	int other = bound(&lab.tx_ns, port + 1);
	char from_tx[40];

	send_from(other, 2, LEN);
	send_from(tx, 3, LEN);
	await_arrival(rx, 5);
	snprintf(from_tx, sizeof(from_tx), " and not src port %u", port + 1);
	begin_with(from_tx);
	send_from(other, 5, LEN);
	send_from(tx, 7, LEN);
	return other;
}

/* A connected socket has one source: it need not be asked for. */
CASE_WITH(told_by_connection, open_sockets, close_sockets)
{
	const struct sockaddr_in tx_at = {
		.sin_family = AF_INET, .sin_port = htons(port + 2), .sin_addr = lab.tx.ip4};
	int other = other_sender(), connected = bound(&lab.tx_ns, port + 2);

	read_named(rx, 17, LEN);
	assert_int_equal(connect(rx, (const void *)&tx_at, sizeof(tx_at)), 0);
	send_from(connected, 4, LEN);
	assert_int_equal(read_upto(rx, 4), 4);
	assert_closes(0, 11, 14, -3);
	close(connected);
	close(other);
}

static void merged(int gro, unsigned reads)
{
	int size = 200;

	assert_int_equal(setsockopt(tx, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)), 0);
	assert_int_equal(setsockopt(rx, SOL_UDP, UDP_GRO, &gro, sizeof(gro)), 0);
	begin_with("");
	send_from(tx, 1, 200 * 5);
	send_from(tx, 1, 200 * 3 + 20);
	assert_int_equal(read_upto(rx, reads), reads);
	send_from(tx, 1, 200 * 2);
	assert_closes(0, 11, 9, 2);
}

CASE_WITH(merged_and_cut, open_sockets, close_sockets)
{
	merged(0, 9);
}

CASE_WITH(merged_and_read_whole, open_sockets, close_sockets)
{
	merged(1, 2);
}

CASE_WITH(loopback, open_sockets, close_sockets)
{
	int own = socket_in(&lab.rx_ns, AF_INET, SOCK_DGRAM, 0);

	begin_with("");
	send_from(own, 10, LEN);
	assert_int_equal(read_upto(rx, 10), 10);
	assert_closes(0, 10, 10, 0);
	close(own);
}

static atomic_bool over;
static atomic_uint n_sent;
static unsigned pause_us;

static void *sends(void *arg)
{
	const struct timespec pause = {.tv_nsec = pause_us * 1000};

	(void)arg;
	while (!over) {
		send_from(tx, 1, LEN);
		n_sent++;
		if (pause_us)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void *reads(void *arg)
{
	static uint8_t payload[LEN];

	(void)arg;
	while (rx >= 0 && !over)
		recv(rx, payload, sizeof(payload), 0);
	return NULL;
}

static void await_sent(unsigned n)
{
	for (int ms = 0; n_sent < n; ms++) {
		assert_true(ms < PATIENT_S * 1000);
		poll(NULL, 0, 1);
	}
}

/* The balance begins and ends in the middle of a flow. */
static void flows(unsigned us)
{
	struct timeval patience = {.tv_usec = 100000};
	pthread_t sender, reader;
	struct flow_balance b;

	pause_us = us;
	over = false;
	n_sent = 0;
	setsockopt(rx, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(pthread_create(&sender, NULL, sends, NULL), 0);
	assert_int_equal(pthread_create(&reader, NULL, reads, NULL), 0);
	await_sent(100);
	begin_with("");
	await_sent(n_sent + 2000);
	b = close_balance(AS_COUNTED);
	over = true;
	pthread_join(sender, NULL);
	pthread_join(reader, NULL);
	/* a host may be too busy for a look at one moment, which is said then */
	if (!b.doubt[DOUBT_MOVED])
		assert_int_equal(b.unaccounted, 0);
	assert_int_equal(b.balanced, !b.unaccounted && !b.doubt[DOUBT_MOVED]);
}

CASE_WITH(while_it_flows, open_sockets, close_sockets)
{
	flows(50);
}

CASE_WITH(while_it_floods, open_sockets, close_sockets)
{
	flows(0);
}

CASE_WITH(while_it_flows_and_nobody_reads, open_sockets, close_sockets)
{
	close(rx);
	rx = -1;
	flows(50);
	assert_int_equal(begun.sockets, 0);
}

int main(void)
{
	const char *given = getenv("PKTLEDGER_TEST_PORT");
	struct error err = {};

	port = given ? (uint16_t)atoi(given) : 20000;
	if (geteuid()) {
		print_message("needs root\n");
		return SKIPPED;
	}
	if (reasons_open(&reasons, NULL, &err)) {
		print_message("needs BTF\n");
		reasons_free(reasons);
		return SKIPPED;
	}
	return run_cases(open_all, close_all);
}
