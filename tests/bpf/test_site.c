// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sites: the status of each kind of experiment during traffic, and its ledger at the end. The
 * experiment is between two namespaces of a lab, or one end alone in one of them.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TEST_PORT 40412

#include "cases.h"
#include "base/clock.h"
#include "experiment/settle.h"
#include "experiment/site.h"
#include "host/netdev.h"
#include "recorded.h"
#include "helpers.h"
#include "pair.h"

#define COUNT	     200
#define PAYLOAD	     100
#define ROOM	     (8 << 20)
#define SECOND	     1000000000ULL

static struct run_spec spec;
static const struct outcomes_numbers numbers = {TEST_BASE, TRACE_PAGE_SIZE, TEST_STREAM, 2};

enum ends { LAB, PORTS, SENDS, RECEIVES };

/* An experiment, as it differs from 200 packets of one sending thread. */
struct kind {
	const char *name;
	enum ends ends;
	const char *faults;
	struct run_spec spec;
};

static struct site s;
static struct result res;

/* Properties that all experiments of a kind share are omitted. */
static void tell_but(bool is, bool usual, const char *what)
{
	if (is != usual)
		tell("%s%s", is ? "" : "no ", what);
}

/* The BPF program of this name that this process has loaded; 0: none. */
static __u32 loaded(const char *name)
{
	__u32 found = 0;

	for (int fd = 0; fd < 1024; fd++) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    !strncmp(info.name, name, BPF_OBJ_NAME_LEN - 1))
			found = info.id;
	}
	return found;
}

/* The link of that program; -1: it is not attached. */
static int link_of(const char *name)
{
	__u32 id = loaded(name);

	for (int fd = 0; fd < 1024 && id; fd++) {
		struct bpf_link_info info = {};
		__u32 len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) &&
		    (info.type == BPF_LINK_TYPE_TRACING ||
		     info.type == BPF_LINK_TYPE_RAW_TRACEPOINT) &&
		    info.prog_id == id)
			return fd;
	}
	return -1;
}

/* Returns the expected count among the sent packets. Partial losses are random. */
static const char *amount(uint64_t n)
{
	static char text[16];

	snprintf(text, sizeof(text), "%d", (int)n);
	return n && n < spec.count ? "some" : text;
}

static void describe_end(void)
{
	bool moved = false, came = res.delivered;

	if (res.delivered != spec.count)
		tell("%s of %d", amount(res.delivered), (int)res.attempted);
	assert_int_equal(res.attempted, res.sent + res.refused);
	if (res.refused)
		tell("refused %d", (int)res.refused);
	if (res.unaccounted || res.in_flight || res.impossible)
		tell("open %d queued %d impossible %d", (int)res.unaccounted, (int)res.in_flight,
		     (int)res.impossible);
	for (int i = 0; i < STAGE_COUNT; i++) {
		if (res.stage[i].packets)
			tell("%s %s %s %s", stage_name(i), amount(res.stage[i].packets),
			     res.stage[i].source, res.stage[i].scope);
		else if (res.stage[i].events) /* of copies, or of delivered packets */
			tell("%s events %s", stage_name(i), amount(res.stage[i].events));
	}
	if (res.frame_bytes != PAYLOAD + 46)
		tell("%d bytes", res.frame_bytes);
	tell_but(came && res.rx_cost.calls && res.rx_cost.cpu_ns, came, "rx-cost");
	tell_but(res.tx_cost.calls, true, "tx-cost");
	tell_but(res.rx_pps > 0, came, "rx-rate");
	tell_but(res.tx_pps > 0, true, "tx-rate");
	tell_but(*res.tx_mode, spec.tx != &tx_socket, "tx-mode");
	tell_but(*res.rx_mode, s.receives && s.receiver_config.ops != &rx_socket, "rx-mode");
	if (res.fragments.seen)
		tell("fragments %d reassembled %d", (int)res.fragments.seen, (int)res.reassembled);
	for (unsigned i = 0; i < res.n_counters; i++) {
		const struct result_counter *c = &res.counter[i];

		moved |= c->delta && c->agrees;
		if (!c->agrees)
			tell("%s %s %d%s", stage_name(c->stage), c->name, (int)c->delta,
			     c->documented ? " documented" : " DISAGREES");
	}
	tell_but(moved, res.dropped, "counted");
	if (s.lone && *res.cause[0].netns)
		tell("in %s", res.cause[0].netns);
}

static unsigned notes;

/* Drops of faults in their order, before a drop that is not traced. */
static void take_note(void *arg, const char *note)
{
	if (notes < s.fx.n_notes)
		assert_string_equal(note, s.fx.notes[notes]);
	else
		assert_non_null(strstr(note, "are not traced"));
	notes++;
}

static ino_t namespace_here(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/thread-self/ns/net", &st), 0);
	return st.st_ino;
}

static int open_kind(const struct kind *k)
{
	static char port_a[64], port_b[64];
	const struct experiment_view view = {.on_note = take_note};
	const ino_t here = namespace_here();
	struct error err = {};
	int rc;

	spec = k->spec;
	spec.count = spec.count ? spec.count : COUNT;
	spec.payload = spec.payload ? spec.payload : PAYLOAD;
	spec.port = TEST_PORT;
	spec.flows = 1;
	spec.threads = spec.threads ? spec.threads : 1;
	if (k->ends != RECEIVES)
		spec.tx = spec.tx ? spec.tx : &tx_socket;
	if (k->ends != SENDS)
		spec.rx = spec.rx ? spec.rx : &rx_socket;
	if (!k->faults && !spec.rcvbuf)
		spec.rcvbuf = ROOM; /* a busy host loses nothing */
	if (k->ends == PORTS) {
		snprintf(port_a, sizeof(port_a), "/proc/self/fd/%d/v-tx", lab.tx_ns.fd);
		snprintf(port_b, sizeof(port_b), "/proc/self/fd/%d/v-rx", lab.rx_ns.fd);
		spec.port_a = port_a;
		spec.port_b = port_b;
	}
	if (k->ends == SENDS)
		spec.to =
			(struct endpoint){.family = AF_INET, .ip4 = lab.rx.ip4, .port = TEST_PORT};
	if (k->ends == SENDS || k->ends == RECEIVES)
		spec.ifname = k->ends == SENDS ? "v-tx" : "v-rx";
	if (k->faults)
		assert_int_equal(fault_parse(k->faults, false, &spec.faults, &err), 0);
	notes = 0;
	rc = site_open(&s, &spec, &view, &err);
	if (rc)
		print_message("%s: %s\n", k->name, err.message);
	else
		assert_int_equal(notes, s.fx.n_notes + (!s.traced && !s.by_engine));
	assert_int_equal(namespace_here(), here);
	return rc;
}

static uint64_t open_numbers(void)
{
	uint64_t next[TRACE_STREAMS] = {}, sum = 0;

	site_next(&s, next);
	for (unsigned t = 0; t < spec.threads; t++)
		sum += next[t];
	return sum;
}

static void start(void)
{
	struct site_status st;
	struct error err = {};

	AWAIT((site_status(&s, &st), st.idle)); /* new interfaces send packets of IPv6 */
	assert_false(st.running);
	assert_int_equal(open_numbers(), 0);
	if (s.faults)
		assert_int_equal(fault_begin(s.faults, &err), 0);
	site_start(&s);
}

static void stop_sending(void)
{
	struct site_status st;
	struct error err = {};

	AWAIT((site_status(&s, &st), !st.running && sender_done(s.sender)));
	assert_false(site_failed(&s, &err));
	site_stop_sending(&s, &err);
	site_status(&s, &st);
	assert_false(st.running);
	assert_int_equal(open_numbers(), spec.count);
	assert_string_equal(err.message, "");
}

/* What only the sender of two, or alone, does. */
static void close_one(void)
{
	uint64_t accepted, refused, sent = 0, next[TRACE_STREAMS] = {};
	const struct outcomes *f = &s.tracer.outcomes;

	site_next(&s, next);
	f->failed[outcomes_index(f, 0, f->base + 1)] = EPERM;
	site_prepare(&s, next);
	for (uint16_t t = 0; t < spec.threads && s.by_number; t++) {
		const uint8_t *seen = &f->seen[outcomes_index(f, t, f->base)];

		tell("%d%d", !!(seen[0] & SEEN_TX_DEVICE), !!(seen[1] & SEEN_TX_DEVICE));
	}
	site_fold(&s, next, NULL);
	site_fold(&s, next, NULL);
	for (unsigned t = 0; t < spec.threads; t++) {
		site_count(&s, t, &accepted, &refused);
		assert_int_equal(refused, t == 0);
		sent += accepted;
	}
	assert_int_equal(sent, spec.count - 1);
	site_ledger(&s, 0, &res);
	site_end(&s, &res);
	if (spec.paired)
		assert_int_equal(site_check(&s, &res, &(struct error){}), 0);
	site_describe(&s, &res);
}

static void close_both(void)
{
	uint64_t next[TRACE_STREAMS] = {};
	struct site_status st;
	struct error err = {};

	/* a receiving thread counts a batch after the outcomes of its packets */
	AWAIT(site_is_complete(&s) && (site_status(&s, &st), st.idle) &&
	      st.delivered + st.dropped == site_outcomes_seen(&s));
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	assert_int_equal(site_stop_receiving(&s, &err), 0); /* it has */
	site_status(&s, &st);
	assert_int_equal(st.in_socket, 0);
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_beyond(&s);
	site_ledger(&s, st.in_queues, &res);
	site_end(&s, &res);
	site_describe(&s, &res);
	assert_int_equal(site_check(&s, &res, &err), 0);
	assert_string_equal(err.message, "");
}

/* "tx|rx ip|tc ..." */
static void change_host(const struct lab *of, const char *text)
{
	const bool tc = !strncmp(text + 3, "tc", 2);
	struct recipe r = RECIPE;
	struct error err = {};

	recipe_add(&r, tc ? RECIPE_TC : RECIPE_IP, *text == 't' ? &of->tx_ns : &of->rx_ns, "%s",
		   text + 6);
	assert_int_equal(recipe_run(&r, "change the network", &err), 0);
}

static const char *when_open; /* what is changed before it starts */

static void run_kind(const struct kind *k)
{
	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(k), 0);
	if (when_open)
		change_host(&lab, when_open);
	start();
	stop_sending();
	if (s.lone)
		close_one();
	else
		close_both();
	describe_end();
}

/* A second trial uses the network and the observers of the first, with numbers of its own. */
static void run_twice(const struct kind *k)
{
	char first[RECORDED_TEXT];
	uint64_t next;
	unsigned space;

	run_kind(k);
	space = s.lab.tx_ns.inum;
	next = s.tracer.outcomes.base + spec.count / spec.threads;
	site_rest(&s);
	assert_int_equal(s.lab_open, !k->faults && k->spec.payload < 1500);
	if (!s.lab_open)
		return;
	strcpy(first, told);
	*told = '\0';
	run_kind(k);
	assert_string_equal(told, first);
	assert_int_equal(s.lab.tx_ns.inum, space);
	assert_int_equal(s.tracer.outcomes.base, next);
	site_close(&s);
}

struct request {
	struct run_spec spec;
	uint64_t pps;
	uint8_t tx, rx;
};

#define ASK(member)                                                                                \
	{                                                                                          \
#member, offsetof(struct request, spec.member), sizeof(spec.member), 1, NULL       \
	}
static const char *const engines[] = {"socket", "xsk", "xdp"};
static const struct tx_ops *const senders[] = {NULL, &tx_xsk, &tx_xdp};
static const struct rx_ops *const receivers[] = {NULL, &rx_xsk, &rx_xdp};
static const char *const topologies[] = {"pair", "router", "bridge", "tap", "vxlan"};
static const struct recorded_field requests[] = {
	ASK(count),
	ASK(payload),
	ASK(threads),
	ASK(rcvbuf),
	ASK(sndbuf),
	ASK(settle_ns),
	ASK(ipv6),
	ASK(legs),
	ASK(pass),
	ASK(ledger),
	ASK(paired),
	ASK(shaped),
	ASK(shape.threads),
	ASK(shape.flows),
	ASK(wish.gro),
	ASK(tuning.send.unconnected),
	ASK(tuning.reader.work_ns),
	ASK(tuning.reader.pause_ns),
	ASK(tuning.reader.read_ns),
	{"topology", offsetof(struct request, spec.topology), sizeof(spec.topology), 0, topologies},
	FIELD(struct request, pps),
	FIELD_ENUM(struct request, tx, engines),
	FIELD_ENUM(struct request, rx, engines),
	{0}};

/* "FAULTS FIELD=VALUE...", or "none". */
static struct kind read_kind(enum ends ends, char *text)
{
	const char *faults = recorded_word(&text);
	struct request r = {};

	recorded_read(requests, text, &r);
	r.spec.tx = senders[r.tx];
	r.spec.rx = receivers[r.rx];
	r.spec.topology_set = r.spec.topology != LAB_PAIR;
	r.spec.numbers = r.spec.paired ? &numbers : NULL;
	if (r.pps)
		r.spec.rate = (struct rate){.unit = RATE_PPS, .value = (double)r.pps};
	return (struct kind){faults, ends, strcmp(faults, "none") ? faults : NULL, r.spec};
}

/* As many numbers are kept as time may pass until their outcomes are known, at this rate. */
static void check_window(char *text)
{
	const uint64_t window = strtoull(recorded_word(&text), NULL, 10);
	const bool moving = !strcmp(recorded_word(&text), "moving");
	const bool ports = !strcmp(recorded_word(&text), "ports");
	const struct kind k = read_kind(ports ? PORTS : LAB, text);

	if (window_most(1) < window)
		return; /* of a host with little memory it is shorter */
	assert_int_equal(open_kind(&k), 0);
	assert_int_equal(s.tracer.config.window, window);
	assert_int_equal(s.moving, moving);
	site_close(&s);
}

/* Opens a single end without a capability. */
static void run_without(char *text)
{
	const char *name = recorded_word(&text);
	const bool sends = !strcmp(recorded_word(&text), "sends");
	const struct kind k = read_kind(sends ? SENDS : RECEIVES, text);
	const int saved = netns_push(sends ? &lab.tx_ns : &lab.rx_ns),
		  cap = capng_name_to_capability(name);
	char said[32];
	int rc;

	assert_true(cap >= 0);
	capng_get_caps_process();
	capng_update(CAPNG_DROP, CAPNG_EFFECTIVE, (unsigned)cap);
	assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
	rc = open_kind(&k);
	capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)cap);
	assert_int_equal(capng_apply(CAPNG_SELECT_CAPS), 0);
	assert_false(s.traced);
	snprintf(said, sizeof(said), "cap_%s", name);
	tell("%s%s", rc ? strerror(-rc) : "untraced",
	     strcasestr(s.untraced.message, said) ? " without it" : "");
	site_close(&s);
	netns_pop(saved);
}

/* Tells whether the lab delivers to an address, and the sender sends to it by its device. */
static void tell_routes(char *text)
{
	struct kind k = {.ends = strcmp(recorded_word(&text), "ports") ? LAB : PORTS,
			 .spec = {.tx = &tx_xsk, .rx = &rx_xsk}};
	struct endpoint to;
	unsigned ifindex;

	assert_int_equal(addrs_parse(recorded_word(&text), &k.spec.shape.dst_addr), 0);
	k.spec.ipv6 = k.spec.shape.dst_addr.family == AF_INET6;
	assert_int_equal(open_kind(&k), 0);
	for (const char *word; *(word = recorded_word(&text));) {
		assert_int_equal(num_endpoint(word, &to), 0);
		tell("%s", netdev_hop(&s.lab.rx_ns, &to, &ifindex) == HOP_LOCAL &&
					   netdev_way(&s.lab.tx_ns, &to) == s.lab.tx.ifindex
				   ? "there"
				   : "not");
	}
	site_close(&s);
}

static void run_line(void *arg, const char *verb, char *text)
{
	int saved = !strcmp(verb, "sends") ? netns_push(&lab.tx_ns) : -1;
	struct kind k;

	if (!strcmp(verb, "window")) {
		check_window(text);
	} else if (!strcmp(verb, "without")) {
		run_without(text);
	} else if (!strcmp(verb, "routes")) {
		tell_routes(text);
	} else if (!strcmp(verb, "host")) {
		change_host(&lab, text);
	} else if (!strcmp(verb, "lab")) {
		k = read_kind(LAB, text);
		run_twice(&k);
	} else if (!strcmp(verb, "trial")) { /* of a session */
		k = read_kind(LAB, text);
		run_kind(&k);
		site_rest(&s);
	} else if (!strcmp(verb, "close")) {
		site_close(&s);
	} else if (strcmp(verb, "case")) {
		k = read_kind(saved < 0 ? PORTS : SENDS, text);
		run_kind(&k);
		site_close(&s);
	}
	if (saved >= 0)
		netns_pop(saved);
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/sites", run_line, NULL);
}

/* What a tc program took in one trial must not count in the next. */
CASE(a_session_in_which_packets_are_taken)
{
	char taken[] = "tc_egress:stolen=100%", none[] = "none threads=2";

	skip_without_tracepoint("consume_skb", 2);
	run_line(NULL, "trial", taken);
	assert_string_equal(told, "0 of 200 tc_egress 200 event flow no counted");
	*told = '\0';
	run_line(NULL, "trial", none);
	assert_string_equal(told, "");
	site_close(&s);
}

/* The engine counts what the interface refused. On older kernels an observer has to know it. */
CASE(AF_XDP_alone)
{
	char text[] = "none tx=xsk", again[] = "none tx=xsk";

	if (!tx_xsk_knows_losses())
		skip();
	run_line(NULL, "sends", text);
	assert_string_equal(told, "0 of 200 refused 1 open 199 queued 0 impossible 0");
	*told = '\0';
	when_open = "rx ip link set v-rx down";
	run_line(NULL, "sends", again);
	when_open = NULL;
	change_host(&lab, "rx ip link set v-rx up");
	assert_string_equal(told, "0 of 200 refused 1 tx_device some counter flow no counted");
	assert_int_equal(res.stage[STAGE_TX_DEVICE].bytes, (COUNT - 1) * (PAYLOAD + 28));
	*told = '\0';
}

/* Packets that are unread at close are lost, even if the host hides the kernel's drop events. */
CASE(closed_unseen)
{
	const struct kind k = {.name = "unseen", .ends = LAB, .faults = "socket_close"};
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);

	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&k), 0);
	start();
	stop_sending();
	assert_true(dup2(other, link_of("kfree_skb")) >= 0);
	assert_true(dup2(other, link_of("kfree_skb_2nd")) >= 0);
	close_both();
	assert_int_equal(res.stage[STAGE_SOCKET_CLOSE].packets, COUNT);
	assert_int_equal(res.unaccounted, 0);
	site_close(&s);
	close(other);
}

/* Packets that are unread at the end of the run wait in the socket and are not lost. */
CASE(not_read_in_time)
{
	const struct kind k = {.name = "waits", .ends = LAB};
	uint64_t next[TRACE_STREAMS] = {};
	struct site_status st;
	struct error err = {};

	memset(&res, 0, sizeof(res));
	assert_int_equal(open_kind(&k), 0);
	receiver_close(s.receiver);
	s.receiver_config.paused = true;
	assert_int_equal(receiver_open(&s.receiver, &s.receiver_config, &err), 0);
	start();
	s.fx.reader = READER_NEVER; /* it is not to go on */
	stop_sending();
	s.fx.reader = READER_NORMAL;
	assert_int_equal(site_stop_receiving(&s, &err), 0);
	site_status(&s, &st);
	assert_int_equal(st.in_socket, COUNT);
	site_next(&s, next);
	site_prepare(&s, next);
	site_fold(&s, next, NULL);
	site_ledger(&s, st.in_queues, &res);
	assert_int_equal(res.in_flight, COUNT);
	assert_int_equal(res.dropped + res.delivered + res.unaccounted, 0);
	site_close(&s);
}

/* Packets in queues of the kernel are in flight. */
CASE(what_waits)
{
	static const struct kind rows[] = {
		{"qdisc", LAB, "qdisc=1k", {.count = 2000}},
		{"reassembly", LAB, "ip_frag:missing=100%", {.payload = 3000}},
		{"neighbour", LAB, "neigh", {}},
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct site_status st;

		assert_int_equal(open_kind(&rows[i]), 0);
		start();
		AWAIT((site_status(&s, &st), i == 0   ? st.in_qdiscs > 1
					     : i == 1 ? st.in_reassembly > 1
						      : !st.idle && !st.in_queues));
		assert_int_equal(st.in_queues, st.in_qdiscs + st.in_reassembly);
		assert_false(st.idle);
		assert_int_equal(i == 0, st.in_qdiscs > 0);
		assert_in_range(st.in_qdiscs, 0, spec.count);
		s.fragments = false; /* then the waiting packets belong to other programs */
		site_status(&s, &st);
		assert_int_equal(st.in_reassembly, 0);
		site_stop_sending(&s, &(struct error){});
		site_close(&s);
	}
}

/* A receiver that cannot read any more ends it. */
CASE(receiver_that_fails)
{
	const struct kind k = {.ends = LAB, .spec = {.count = UINT64_MAX}};
	int other = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct error err = {};

	assert_int_equal(open_kind(&k), 0);
	start();
	assert_false(site_failed(&s, &err));
	assert_true(dup2(other, receiver_fd(s.receiver, 0)) >= 0);
	AWAIT(site_failed(&s, &err));
	assert_true(*err.message);
	site_stop_sending(&s, &err);
	site_close(&s);
	close(other);
}

#define LATE_NS (SECOND / 2)

static void *set_up_late(void *arg)
{
	clock_sleep(LATE_NS);
	netdev_set_up(&lab.tx_ns, "v-tx", true);
	return NULL;
}

/* A device that is negotiating its link, as many do for an XDP program, is waited for. */
CASE(link_that_comes_late)
{
	const struct kind k = {.ends = RECEIVES};
	int saved = netns_push(&lab.rx_ns);
	uint64_t begin, took;
	pthread_t other;

	assert_int_equal(netdev_set_up(&lab.tx_ns, "v-tx", false), 0);
	begin = clock_now();
	assert_int_equal(pthread_create(&other, NULL, set_up_late, NULL), 0);
	assert_int_equal(open_kind(&k), 0);
	took = clock_now() - begin;
	pthread_join(other, NULL);
	site_close(&s);
	netns_pop(saved);
	assert_in_range(took, LATE_NS, 10 * LATE_NS);
}

/* A sender of frames may need XDP on its own device, if that is no veth. */
CASE(ports_that_are_no_veth)
{
	static const struct kind rows[] = {
		{.ends = PORTS, .spec = {.tx = &tx_xsk, .rx = &rx_socket}},
		{.ends = PORTS, .spec = {.tx = &tx_socket, .rx = &rx_socket}},
	};
	const struct lab_spec tap = {.topology = LAB_TAP};
	const struct netns tx_ns = lab.tx_ns, rx_ns = lab.rx_ns;
	struct error err = {};
	struct lab taps;

	assert_int_equal(lab_open(&taps, &tap, &err), 0);
	lab.tx_ns = taps.tx_ns;
	lab.rx_ns = taps.rx_ns;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		assert_int_equal(open_kind(&rows[i]), 0);
		assert_int_equal(s.sender_config.wants_xdp, i == 0);
		site_close(&s);
	}
	lab.tx_ns = tx_ns;
	lab.rx_ns = rx_ns;
	lab_close(&taps);
}

/* How a site whose packets are all read is changed, and the bytes of both streams. */
struct changed_site {
	enum lab_topology topology;
	struct fault_effects fx;
	bool lone, ports, taps, no_sender, no_receiver, no_outcomes, pfifo, generic, moved;
	uint8_t tx, rx;
	int drops; /* of the socket that is closed by now */
	bool asks[3];
	bool arrived[2];
	uint8_t seen;
};

#define CHANGE(member) FIELD(struct changed_site, member)
static const char *const reading[] = {"normal", "slow", "paused", "never"};
static const char *const asking[] = {"own", "first", "second"};
static const struct recorded_field changes[] = {
	FIELD_ENUM(struct changed_site, topology, topologies),
	FIELD_ENUM(struct changed_site, fx.reader, reading),
	FIELD_ENUM(struct changed_site, tx, engines),
	FIELD_ENUM(struct changed_site, rx, engines),
	FIELDS(struct changed_site, asks, asking),
	FIELDS(struct changed_site, arrived, NULL),
	CHANGE(fx.threaded_napi), CHANGE(fx.xdp), CHANGE(fx.qdisc_replaced), CHANGE(fx.tbf_bps),
	CHANGE(lone), CHANGE(ports), CHANGE(taps), CHANGE(no_sender), CHANGE(no_receiver),
	CHANGE(no_outcomes), CHANGE(pfifo), CHANGE(generic), CHANGE(moved), CHANGE(drops),
	CHANGE(seen), {0}};

static void change_site(const struct changed_site *c)
{
	static struct run_spec changed;
	const bool tunnel = c->topology == LAB_VXLAN;

	changed = spec;
	changed.tx = senders[c->tx] ? senders[c->tx] : &tx_socket;
	changed.rx = receivers[c->rx] ? receivers[c->rx] : &rx_socket;
	changed.port_a = c->ports ? "a" : NULL;
	changed.wish.rps_set = c->moved;
	s.spec = &changed;
	s.lone = c->lone;
	s.in_lab = !c->lone && !c->ports;
	s.by_number = !c->no_outcomes;
	s.receives = !c->no_receiver;
	s.sender = c->no_sender ? NULL : s.sender;
	s.sends = s.sender;
	s.fx = c->fx;
	s.receiver_config.xdp_skb_mode = c->generic;
	s.rx = (struct rx_stats){.socket_drops = c->drops, .xdp_drops = 5};
	s.lab.topology = c->topology;
	s.lab.taps = c->taps ? (void *)&s : NULL;
	s.lab.router_ns = s.lab.tx_ns;
	if (!tunnel && c->topology != LAB_ROUTER)
		return;
	s.lab.router_tx.ns = tunnel ? &s.lab.tx_ns : &s.lab.router_ns;
	s.lab.router_rx.ns = tunnel ? &s.lab.rx_ns : &s.lab.router_ns;
	s.lab.router_tx.role = tunnel ? "tx" : "router";
	s.lab.router_rx.role = tunnel ? "rx" : "router";
	strcpy(s.lab.router_tx.ifname, "v-tx");
	strcpy(s.lab.router_rx.ifname, tunnel ? "v-rx" : "v-tx");
	if (tunnel) { /* its interfaces are not those of the underlying link */
		strcpy(s.lab.tx.ifname, "lo");
		strcpy(s.lab.rx.ifname, "lo");
	}
}

/* Tells whether packets may wait for a next hop: one is asked for in the receiver's namespace. */
static void tell_idle(const struct changed_site *c)
{
	const unsigned ifindex = s.lab.rx.ifindex;
	struct site_status st;

	s.lab.tx_ns = s.lab.router_ns = s.lab.rx_ns;
	for (unsigned p = 0; p < LAB_PORTS; p++)
		s.lab.port[p].ifindex = ifindex + !(p < LENGTH(c->asks) && c->asks[p]);
	site_status(&s, &st);
	tell("%s", st.idle ? "idle" : "waits");
}

/* Tells whether all outcomes are known, or no more can follow. */
static void tell_complete(const struct changed_site *c)
{
	struct outcomes *f = &s.tracer.outcomes;

	memset(s.known, 0, sizeof(s.known));
	for (uint16_t t = 0; t < 2; t++) {
		for (uint64_t n = f->base; n < f->base + spec.count / 2; n++) {
			f->arrivals[outcomes_index(f, t, n)] = c->arrived[t];
			f->seen[outcomes_index(f, t, n)] = c->seen;
		}
	}
	tell("%s", site_is_complete(&s) ? "complete" : "open");
}

/*
 * Tells how many packets of an engine without an edge probe count as seen at the interface. Those
 * that were seen after it or refused do not.
 */
static void tell_handed(void)
{
	struct outcomes *f = &s.tracer.outcomes;
	uint64_t accepted, refused, next[TRACE_STREAMS] = {spec.count / 2, spec.count / 2};
	const size_t later = outcomes_index(f, 0, f->base + 1),
		     failed = outcomes_index(f, 1, f->base);
	unsigned handed = 0;

	memset(f->seen, 0, f->bytes);
	memset(f->arrivals, 0, f->bytes);
	f->seen[later] = SEEN_SOCKET;
	f->failed[failed] = EPERM;
	site_prepare(&s, next);
	for (size_t i = 0; i < f->bytes; i++)
		handed += f->seen[i] == SEEN_TX_DEVICE;
	assert_int_equal(f->seen[later], SEEN_SOCKET);
	assert_int_equal(f->seen[failed], 0);
	tell("%u", handed);
	if (!s.sender)
		return;
	s.refused[1] = 1; /* folded by now */
	site_count(&s, 1, &accepted, &refused);
	assert_int_equal(refused, 2);
	assert_int_equal(accepted, spec.count / 2 - 2);
}

static void check(void)
{
	struct error err = {};

	s.receiver = NULL;
	counters_free(&s.before);
	assert_int_equal(site_read_counters(&s, &s.before, &err), 0);
	assert_int_equal(site_check(&s, &res, &err), 0);
}

/* Tells the counters of the stage, their scope, and by how much they must move. */
static void tell_loss(const char *stage, const char *location, const char *netns)
{
	static const char *const counters[] = {":tx_dropped", ":rx_dropped", "_xdp_drops",
					       "Udp:SndbufErrors"};
	struct ledger_cause *c = &s.ledger.cause[0];

	*c = (struct ledger_cause){.raw = {.index = 1, .count = {.events = 7, .packets = 7}}};
	while (strcmp(stage_name(c->named.stage), stage))
		c->named.stage++;
	snprintf(c->named.location, sizeof(c->named.location), "%s",
		 strcmp(location, "-") ? location : "");
	snprintf(c->named.netns, sizeof(c->named.netns), "%s", netns);
	snprintf(c->named.ifname, sizeof(c->named.ifname), "v-%s", netns);
	s.ledger.n = 1;
	res.stage[c->named.stage].packets = 7;
	check();
	for (unsigned k = 0; k < res.n_counters; k++) {
		const struct result_counter *row = &res.counter[k];

		for (unsigned i = 0; i < LENGTH(counters); i++) {
			if (row->stage == c->named.stage && strstr(row->name, counters[i]))
				tell("%s %s %d;", row->name, row->scope, (int)row->expected);
		}
	}
	if (!*told)
		tell("none");
}

static void take_change(void *arg, const char *verb, char *text)
{
	static struct site opened;
	const bool loss = !strcmp(verb, "loss");
	const char *stage = loss ? recorded_word(&text) : NULL,
		   *location = loss ? recorded_word(&text) : NULL,
		   *netns = loss ? recorded_word(&text) : NULL;
	struct changed_site c = {.drops = -1};
	uint64_t drops;

	if (!strcmp(verb, "case"))
		return;
	recorded_read(changes, text, &c);
	if (c.pfifo)
		change_host(&s.lab, "tx tc qdisc replace dev v-tx root pfifo limit 10");
	opened = s;
	memset(&res, 0, sizeof(res));
	change_site(&c);
	if (loss) {
		tell_loss(stage, location, netns);
	} else if (!strcmp(verb, "status")) {
		tell_idle(&c);
	} else if (!strcmp(verb, "known")) {
		tell_complete(&c);
	} else if (!strcmp(verb, "handed")) {
		tell_handed();
	} else {
		assert_string_equal(verb, "socket");
		check();
		if (counters_get(&s.after, "rx", "socket:drops", &drops))
			tell("%u", (unsigned)drops);
		else
			tell("none");
	}
	counters_free(&s.after);
	opened.before = s.before;
	s = opened;
}

/* All packets of two threads are sent and read. Then the test changes their outcomes. */
CASE(changed)
{
	const struct kind two = {.name = "read", .spec = {.threads = 2}};
	struct sockaddr_in nobody = {.sin_family = AF_INET, .sin_port = htons(TEST_PORT)};
	int fd;

	assert_int_equal(open_kind(&two), 0);
	start();
	stop_sending();
	AWAIT(site_is_complete(&s));
	nobody.sin_addr.s_addr = s.lab.rx.ip4.s_addr ^ htonl(64);
	fd = socket_in(&s.lab.rx_ns, AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(sendto(fd, "", 1, 0, (const void *)&nobody, sizeof(nobody)), 1);
	close(fd);
	recorded_stories("tests/fixtures/counters/sites", take_change, NULL);
	site_close(&s);
}

static int open_queues(void **state)
{
	const struct lab_spec two = {.topology = LAB_PAIR, .queues = 2};
	struct error err = {};

	return lab_open(&lab, &two, &err);
}

int main(void)
{
	skip_unless_privileged();
	return run_cases(open_queues, close_lab);
}
