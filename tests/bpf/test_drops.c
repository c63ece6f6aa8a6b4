// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The observers of losses, end to end: a tracepoint with an skb cannot be run by BPF_PROG_RUN, so
 * datagrams with stamps made by hand meet their end between two namespaces.
 */
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>

#define TEST_PORT 40410

#include "cases.h"
#include "bpf/helpers.h"
#include "bpf/pair.h"
#include "ledger/ledger.h"
#include "experiment/site.h"
#include "trace_abi.h"
#include "probe.skel.h"

#define STREAMS	  2
#define LEN	  64 /* payload */
#define PATIENCE  10 /* seconds for what takes microseconds */
#define NO_NUMBER UINT64_MAX

static struct tracer tracer;
static struct ledger ledger;
static int tx = -1;

static int open_tracer(void **state)
{
	const struct tracer_spec spec = {
		.streams = STREAMS, .window = TRACE_PAGE_SIZE, .config.port = TEST_PORT};
	struct error err = {};

	memset(&ledger, 0, sizeof(ledger));
	if (tracer_open(&tracer, &spec, &err)) {
		print_error("%s\n", err.message);
		return -1;
	}
	tx = socket_in(&lab.tx_ns, AF_INET, SOCK_DGRAM, 0);
	return 0;
}

static int close_tracer(void **state)
{
	close(tx);
	tracer_close(&tracer);
	return 0;
}

static void send_to(struct in_addr ip4, uint16_t port, const void *data, unsigned len)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = ip4};

	assert_int_equal(sendto(tx, data, len, 0, (const void *)&to, sizeof(to)), len);
}

static void send_to_port(uint16_t port, const void *data, unsigned len)
{
	send_to(lab.rx.ip4, port, data, len);
}

static void send_bytes(const void *data, unsigned len)
{
	send_to_port(TEST_PORT, data, len);
}

static void send_word_to(struct in_addr ip4, uint64_t word)
{
	uint8_t payload[LEN];

	flow_fill(payload, LEN);
	flow_stamp(payload, LEN, word, 1);
	send_to(ip4, TEST_PORT, payload, LEN);
}

static void send_word(uint64_t word)
{
	send_word_to(lab.rx.ip4, word);
}

static uint64_t word(unsigned slot, uint64_t n)
{
	return STAMP_WORD(tracer.outcomes.stream0 + slot, tracer.outcomes.base + n);
}

static uint8_t outcome(uint16_t slot, uint64_t n)
{
	return *(volatile uint8_t *)&tracer.outcomes
			.cause[outcomes_index(&tracer.outcomes, slot, tracer.outcomes.base + n)];
}

/*
 * Packets go in order, so when the end of this one is seen, nothing is under way any more. Its
 * outcome is the last number of the last stream.
 */
static void send_marker(void)
{
	send_word(word(STREAMS - 1, TRACE_PAGE_SIZE - 1));
	AWAIT(outcome(STREAMS - 1, TRACE_PAGE_SIZE - 1));
}

/* Numbers with a outcome, the marker left out. */
static unsigned settled(void)
{
	unsigned n = 0;

	for (uint16_t slot = 0; slot < STREAMS; slot++) {
		for (uint64_t i = 0; i < TRACE_PAGE_SIZE; i++)
			n += !!outcome(slot, i);
	}
	return n - !!outcome(STREAMS - 1, TRACE_PAGE_SIZE - 1);
}

static struct trace_loss losses(void)
{
	return drops_read_losses(tracer.drops).bpf;
}

static void name_causes(void)
{
	const struct ledger_place places[] = {
		{lab.tx_ns.inum, lab.tx.ifindex, "tx", lab.tx.ifname},
		{lab.rx_ns.inum, lab.rx.ifindex, "rx", lab.rx.ifname},
	};

	assert_int_equal(tracer_name(&tracer, places, 2, &ledger), 0);
}

static void assert_no_socket(uint8_t index, uint64_t events, unsigned l3_bytes)
{
	const struct ledger_cause *c;

	name_causes();
	c = ledger_cause(&ledger, index);
	assert_non_null(c);
	assert_int_equal(c->named.stage, STAGE_UDP_LOOKUP);
	assert_string_equal(c->named.reason, "NO_SOCKET");
	assert_string_equal(c->named.netns, "rx");
	assert_string_equal(c->named.ifname, lab.rx.ifname);
	assert_int_equal(c->raw.cause.flags & WATCH_COPY, 0);
	assert_int_equal(c->raw.count.events, events);
	assert_int_equal(c->raw.count.packets, events);
	assert_int_equal(c->raw.count.bytes, events * l3_bytes);
}

CASE_WITH(closed_port, open_tracer, close_tracer)
{
	send_word(word(1, TRACE_PAGE_SIZE - 2));
	send_marker();
	assert_int_equal(settled(), 1);
	assert_int_equal(drops_packets(tracer.drops), 2);
	assert_no_socket(outcome(1, TRACE_PAGE_SIZE - 2), 2, 28 + LEN);
	assert_int_equal(losses().foreign + losses().late + losses().stamp_unreadable, 0);
}

/* As if the function that drops it did so for others: its caller is the place. */
CASE_WITH(place_is_the_callers, open_tracer, close_tracer)
{
	const char *place = "__udp4_lib_rcv";
	struct trace_range at;
	struct trace_places places;
	struct trace_kfree kernel;
	static struct drops_cause cause[TRACE_CAUSES];
	struct ksym caller;
	struct drops *d;
	struct error err = {};

	ksym_ranges(tracer.ksyms, &place, 1, &at);
	if (!at.end) { /* Linux 7.2 */
		place = "udp_rcv";
		ksym_ranges(tracer.ksyms, &place, 1, &at);
	}
	ksym_places(tracer.ksyms, &places);
	places.freeing = at;
	assert_int_equal(reasons_kfree(tracer.reasons, &kernel, &err), 0);
	assert_int_equal(drops_open(&d, &tracer.config, &kernel, DROPS_OF_SKBS, 0, &err), 0);
	assert_int_equal(drops_attach(d, &places, &err), 0);
	send_marker();
	name_causes();
	assert_string_equal(
		ledger_cause(&ledger, outcome(STREAMS - 1, TRACE_PAGE_SIZE - 1))->named.location,
		place);
	assert_int_equal(drops_read(d, cause, TRACE_CAUSES), 1);
	assert_int_equal(ksym_find(tracer.ksyms, cause[0].cause.location, &caller), 0);
	drops_close(d);
	if (strcmp(caller.name, "udp_rcv")) /* which the compiler may have made a jump */
		assert_string_equal(caller.name, "ip_protocol_deliver_rcu");
}

CASE_WITH(closed_port_ip6, open_tracer, close_tracer)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_port = htons(TEST_PORT)};
	uint8_t payload[STAMP_LEN];
	int fd;

	if (IN6_IS_ADDR_UNSPECIFIED(&lab.rx.ip6)) {
		print_message("the kernel has no IPv6\n");
		skip();
	}
	fd = socket_in(&lab.tx_ns, AF_INET6, SOCK_DGRAM, 0);
	to.sin6_addr = lab.rx.ip6;
	flow_stamp(payload, STAMP_LEN, word(0, 7), 0);
	assert_int_equal(sendto(fd, payload, STAMP_LEN, 0, (void *)&to, sizeof(to)), STAMP_LEN);
	close(fd);
	AWAIT(outcome(0, 7));
	assert_int_equal(settled(), 1);
	assert_no_socket(outcome(0, 7), 1, 48 + STAMP_LEN);
}

CASE_WITH(other_runs_are_foreign, open_tracer, close_tracer)
{
	send_word(word(0, 3) + STAMP_SPAN);
	send_word(word(0, 3) - (1ULL << 32));
	send_word(STAMP_WORD(tracer.outcomes.stream0 - 1, tracer.outcomes.base));
	send_word(word(STREAMS, 0));
	send_marker();
	assert_int_equal(losses().foreign, 4);
	assert_int_equal(settled(), 0);
	assert_int_equal(drops_packets(tracer.drops), 1);
}

CASE_WITH(what_is_not_the_flow_is_nothing, open_tracer, close_tracer)
{
	uint8_t payload[LEN] = {};
	struct trace_loss l;

	send_bytes(payload, LEN);
	send_bytes(payload, STAMP_LEN - 1);
	send_bytes(payload, 0);
	flow_stamp(payload, LEN, word(0, 1), 0);
	payload[STAMP_LEN - 1] ^= 1;
	send_bytes(payload, LEN);
	flow_stamp(payload, LEN, word(0, 1), 0);
	send_to_port(TEST_PORT + 1, payload, LEN);
	put16(payload, END_MAGIC);
	send_bytes(payload, LEN);
	flow_stamp(payload + 1, LEN - 1, word(0, 1), 0); /* a stamp is never searched for */
	payload[0] = 0;
	send_bytes(payload, LEN);
	send_marker();
	assert_int_equal(settled(), 0);
	assert_int_equal(drops_packets(tracer.drops), 1);
	l = losses();
	assert_int_equal(l.foreign + l.late + l.stamp_unreadable + l.causes_full, 0);
}

/* The byte of a number that left the window is another number's by now. */
CASE_WITH(late_numbers_settle_nothing, open_tracer, close_tracer)
{
	drops_set_tail(tracer.drops, 0, tracer.outcomes.base + 10);
	send_word(word(0, 9));
	send_word(word(0, 10));
	send_word(word(1, 9));
	send_marker();
	assert_int_equal(losses().late, 1);
	assert_int_equal(outcome(0, 9), 0);
	assert_int_not_equal(outcome(0, 10), 0);
	assert_int_not_equal(outcome(1, 9), 0);
	assert_int_equal(settled(), 2);
}

CASE_WITH(count_all_counts_foreign_ends, open_tracer, close_tracer)
{
	const struct tracer_spec spec = {.streams = STREAMS, .config.port = TEST_PORT};
	struct error err = {};

	tracer_close(&tracer);
	assert_int_equal(tracer_open(&tracer, &spec, &err), 0);
	send_word(word(0, 3) + STAMP_SPAN);
	send_marker();
	assert_int_equal(drops_packets(tracer.drops), 2);
	assert_int_equal(settled(), 0);
}

static uint64_t unread(const struct netns *ns, bool closing)
{
	struct error err = {};
	uint64_t n = NO_NUMBER;

	assert_int_equal(drops_walk_unread(tracer.drops, ns, closing, &n, &err), 0);
	return n;
}

/* Returns whether the drops of two sockets were seen, one in the receiver's namespace. */
static bool two_close_unread(const struct tracer_spec *own)
{
	const struct tracer_spec any = {.streams = STREAMS, .config.port = TEST_PORT};
	const int here = bound_in(&lab.rx_ns, TEST_PORT),
		  elsewhere = bound_in(&lab.tx_ns, TEST_PORT);
	struct tracer witness = {};
	struct error err = {};
	bool seen = false;

	tracer_close(&tracer);
	assert_int_equal(tracer_open(&tracer, own, &err), 0);
	assert_int_equal(tracer_open(&witness, &any, &err), 0);
	send_word_to(lab.tx.ip4, word(0, 1));
	send_word(word(1, 1));
	AWAIT(unread(&lab.rx_ns, false) == 1);
	close(elsewhere);
	close(here);
	/* other tests may add to the witness before this socket is freed */
	for (unsigned ms = 0; !seen && ms < PATIENCE * 1000; ms++) {
		clock_sleep(1000000);
		seen = drops_packets(witness.drops) >= 2 && drops_packets(tracer.drops);
	}
	tracer_close(&witness);
	return seen;
}

/*
 * A datagram that is unread when its socket closes does not tell its namespace. The witness counts
 * those of all namespaces, after the receiver's tracer. Repeated if the callback that frees them
 * ran in the context of PID 1, where no event shows it.
 */
CASE_WITH(a_receiver_counts_only_its_own_streams, open_tracer, close_tracer)
{
	const struct tracer_spec own = {.streams = STREAMS,
					.config = {.port = TEST_PORT, .netns = {lab.rx_ns.inum}}};

	for (unsigned again = 1; !two_close_unread(&own); again++) {
		assert_int_not_equal(quirks_found()[QUIRK_SUPPRESSED], QUIRK_ABSENT);
		assert_true(again < 4);
		print_message("REPEATED %u\n", again);
	}
	assert_int_equal(drops_packets(tracer.drops), 1);
}

/*
 * The kernel's own checks drop a truncated frame. The memory after its end holds a complete packet,
 * which must not be read.
 */
CASE_WITH(truncated_frames_settle_nothing, open_tracer, close_tracer)
{
	const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)lab.tx.ifindex};
	int fd = socket_in(&lab.tx_ns, AF_PACKET, SOCK_RAW, 0);
	int families = IN6_IS_ADDR_UNSPECIFIED(&lab.rx.ip6) ? 1 : 2;
	unsigned whole = 0;

	for (int six = 0; six < families; six++) {
		struct frame f = frame_make((struct frame_spec){.six = six, .word = word(0, 5)});

		memcpy(f.at, lab.rx.mac, 6);
		for (unsigned len = ETH_BYTES; len < f.payload + STAMP_LEN; len++, whole++) {
			assert_int_equal(sendto(fd, f.at, f.len, 0, (const void *)&to, sizeof(to)),
					 f.len);
			assert_int_equal(sendto(fd, f.at, len, 0, (const void *)&to, sizeof(to)),
					 len);
		}
	}
	send_marker();
	assert_int_equal(settled(), 1);
	assert_int_equal(drops_packets(tracer.drops), whole + 1);
	assert_in_range(losses().stamp_unreadable, 0, families * STAMP_LEN);
	close(fd);
}

/* A tap that is too slow loses clones of packets that then end themselves. */
CASE_WITH(own_end_stands_before_a_copys, open_tracer, close_tracer)
{
	enum { SENT = 500 };
	static struct drops_cause cause[TRACE_CAUSES];
	uint64_t copies = 0, own = 0, packets = 0;
	int tiny = 1, tap;

	/* On the way out: on the way in it only lets go of the packet itself, which is no event. */
	tap = socket_in(&lab.tx_ns, AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	assert_int_equal(setsockopt(tap, SOL_SOCKET, SO_RCVBUF, &tiny, sizeof(tiny)), 0);
	for (uint64_t n = 0; n < SENT; n++)
		send_word(word(0, n));
	send_marker();
	name_causes();
	for (int i = 0; i < ledger.n; i++) {
		if (ledger.cause[i].raw.cause.flags & WATCH_COPY)
			copies += ledger.cause[i].raw.count.events;
		else
			own += ledger.cause[i].raw.count.events;
		packets += ledger.cause[i].raw.count.packets;
	}
	assert_int_equal(drops_packets(tracer.drops), packets);
	assert_int_equal(drops_read(tracer.drops, cause, TRACE_CAUSES), ledger.n);
	assert_int_equal(drops_read(tracer.drops, cause, 1), 1); /* of two */
	assert_int_equal(own, SENT + 1);
	assert_true(copies > SENT / 2);
	for (uint64_t n = 0; n < SENT; n++) {
		const struct ledger_cause *c = ledger_cause(&ledger, outcome(0, n));

		assert_non_null(c);
		assert_string_equal(c->named.reason, "NO_SOCKET");
	}
	close(tap);
}

/* Both queues of a UDP socket: a read takes all that waits into the reader's. */
CASE_WITH(unread_datagrams_are_found, open_tracer, close_tracer)
{
	const struct ledger_cause *c;
	uint8_t none[LEN] = {}, got[LEN];
	int fd = bound_in(&lab.rx_ns, TEST_PORT);

	assert_int_equal(unread(&lab.rx_ns, false), 0);
	send_bytes(none, LEN); /* no stamp: not counted */
	for (uint64_t n = 0; n < 4; n++)
		send_word(word(0, n));
	AWAIT(unread(&lab.rx_ns, false) == 4);
	assert_int_equal(recv(fd, got, LEN, 0), LEN);
	assert_int_equal(unread(&lab.rx_ns, false), 4);
	send_word(word(1, 8));
	AWAIT(unread(&lab.rx_ns, false) == 5);
	assert_int_equal(settled(), 0); /* in flight, not lost */
	assert_int_equal(unread(&lab.tx_ns, true), 0);
	assert_int_equal(settled(), 0);

	assert_int_equal(unread(&lab.rx_ns, true), 5);
	assert_int_equal(settled(), 5);
	assert_int_equal(outcome(1, 8), outcome(0, 0));
	name_causes();
	c = ledger_cause(&ledger, outcome(0, 3));
	assert_non_null(c);
	assert_int_equal(c->named.stage, STAGE_SOCKET_CLOSE);
	assert_string_equal(c->named.netns, "rx");
	assert_int_equal(c->raw.count.events, 0); /* they come when it is closed */
	close(fd);
}

/* Packets that programs of faults redirect are followed if a target of that kind exists. */
CASE_WITH(redirects_are_followed, open_tracer, close_tracer)
{
	int cpumap =
		bpf_map_create(BPF_MAP_TYPE_CPUMAP, "cpus", sizeof(__u32), sizeof(__u32), 1, NULL);
	int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct {
		struct drops_redirects to;
		int rc;
	} rows[] = {
		{{.cpumap_fd = -1}, 0},
		{{.cpumap_fd = -1, .target = 3}, 0},
		{{.cpumap_fd = cpumap}, 0},
		{{.cpumap_fd = other}, -1},
	};

	assert_true(cpumap >= 0 && other >= 0);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct error err = {};
		int rc = drops_watch_redirects(tracer.drops, &rows[i].to, &err);

		assert_int_equal(rc < 0, rows[i].rc < 0);
		assert_true(rc <= 0 && !*err.message == !rc);
	}
	assert_int_equal(drops_watch_xskmap(tracer.drops, cpumap), 0);
	assert_true(drops_watch_xskmap(tracer.drops, other) < 0);
	close(cpumap);
	close(other);
}

/* Probes have the same numbers and the same fragments. */
CASE_WITH(maps_are_shared, open_tracer, close_tracer)
{
	static const char *const names[] = {"tails", "fragments", "fragment_counts"};
	struct probe_bpf *probes = probe_bpf__open();

	assert_non_null(probes);
	assert_int_equal(drops_share(tracer.drops, probes->obj), 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct bpf_map_info info[2] = {};
		const int fd[] = {bpf_object__find_map_fd_by_name(probes->obj, names[i]),
				  drops_map_fd(tracer.drops, names[i])};

		for (unsigned k = 0; k < 2; k++) {
			__u32 len = sizeof(info[k]);

			assert_int_equal(bpf_obj_get_info_by_fd(fd[k], &info[k], &len), 0);
		}
		assert_int_equal(info[0].id, info[1].id);
	}
	probe_bpf__destroy(probes);
	drops_close(NULL);
}

/* Indices are assigned up to the index of the difference. All later causes share an index. */
CASE_WITH(table_of_causes_that_is_full, open_tracer, close_tracer)
{
	static const struct {
		__u32 next;
		unsigned packets;
		bool full;
	} rows[] = {{1, 0, false},
		    {2, 1, false},
		    {TRACE_CAUSE_DIFFERENCE, TRACE_CAUSE_DIFFERENCE - 1, false},
		    {TRACE_CAUSE_DIFFERENCE + 1, TRACE_CAUSE_DIFFERENCE - 1, true},
		    {1000, TRACE_CAUSE_DIFFERENCE - 1, true}};
	const int counts = drops_map_fd(tracer.drops, "counts"),
		  data = drops_map_fd(tracer.drops, ".data");
	struct trace_count *of_cpu = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*of_cpu));
	const __u32 zero = 0;
	struct drops_cause cause;

	of_cpu[0].packets = 1;
	for (__u32 i = 0; i < TRACE_CAUSES; i++)
		assert_int_equal(bpf_map_update_elem(counts, &i, of_cpu, BPF_ANY), 0);
	free(of_cpu);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(bpf_map_update_elem(data, &zero, &rows[i].next, BPF_ANY), 0);
		assert_int_equal(drops_packets(tracer.drops), rows[i].packets);
		assert_int_equal(drops_read(tracer.drops, &cause, 0), 0);
		assert_int_equal(drops_read(tracer.drops, &cause, 1), rows[i].full);
		if (rows[i].full)
			assert_int_equal(cause.index, TRACE_CAUSE_FULL);
	}
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_lab, close_lab);
}
