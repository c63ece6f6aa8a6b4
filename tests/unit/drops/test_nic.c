// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The table of driver counters, against recorded `ethtool -S` output. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "host/counters.h"
#include "drops/stagemap.h"

#define MOST 64 /* losses of a fixture */

/* "name: value", where names may have colons. */
static void add_line(struct nic_sample *s, char *line)
{
	char *colon = strrchr(line, ':'), *end;
	uint64_t value;

	if (!colon || !colon[1])
		return;
	value = strtoull(colon + 1, &end, 10);
	end += strspn(end, " \n");
	if (end == colon + 1 || *end)
		return;
	*colon = '\0';
	nic_sample_add(s, line, value);
}

/* The line of numbers below "RX:  bytes packets errors dropped ..." of `ip -s -s link`. */
static void add_link(struct nic_sample *s, const char *header, const char *numbers)
{
	unsigned long long v[5] = {0};

	assert_int_equal(
		sscanf(numbers, "%llu %llu %llu %llu %llu", &v[0], &v[1], &v[2], &v[3], &v[4]), 5);
	if (strstr(header, "RX:")) {
		nic_sample_add(s, "link:rx_dropped", v[3]);
		nic_sample_add(s, "link:rx_missed_errors", v[4]);
	} else {
		nic_sample_add(s, "link:tx_dropped", v[3]);
	}
}

static struct nic_sample load(const char *name)
{
	char path[128], line[512], header[512] = "";
	struct nic_sample s = {0};
	bool counters = true;
	FILE *f;

	snprintf(path, sizeof(path), "tests/fixtures/nic/%s.txt", name);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s (run from the top of the tree)", path);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "# ", 2))
			continue;
		if (!strncmp(line, "--- ", 4))
			counters = !strncmp(line + 4, "ethtool -S", 10);
		else if (*header)
			add_link(&s, header, line);
		else if (counters)
			add_line(&s, line);
		*header = '\0';
		if (strstr(line, "X:  bytes"))
			strcpy(header, line);
	}
	fclose(f);
	return s;
}

/* The same counters, all 0. */
static struct nic_sample zeros(const struct nic_sample *s)
{
	struct nic_sample z = {0};

	for (unsigned i = 0; i < s->n; i++)
		nic_sample_add(&z, s->at[i].name, 0);
	return z;
}

struct sum {
	enum stage stage;
	enum nic_cause cause;
	uint64_t packets;
};

/* What a recorded output means: losses by stage and cause, and the sum of what may be one. */
struct recorded {
	const char *file, *driver;
	struct sum losses[4]; /* of class NIC_LOSS; ends with 0 packets */
	uint64_t bound;
};

static const struct recorded recorded[] = {
	/* the ring's losses are in rx_fifo_errors too: once */
	{"igb-1", "igb", {{STAGE_NIC_RING, NIC_RING, 79270}}, 0},
	{"igb-2-before",
	 "igb",
	 {{STAGE_NIC_RING, NIC_PORT, 270844}, {STAGE_WIRE, NIC_DAMAGED, 6}},
	 0},
	{"igc-1", "igc", {{0}}, 0}, /* rx_long_byte_count is no error */
	{"ixgbe-1", "ixgbe", {{STAGE_NIC_RING, NIC_RING, 236}}, 0},    /* RSC, fdir_miss: no loss */
	{"e1000e-3", "e1000e", {{STAGE_NIC_RING, NIC_PORT, 4954}}, 0}, /* rnbc: events */
	{"i40e-3", "i40e", {{STAGE_NIC_RING, NIC_RING, 3322 + 768}}, 0},
	{"ice-2", "ice", {{STAGE_NIC_RING, NIC_RING, 7206525 + 6889634}}, 0},
	{"ice-3", "ice", {{STAGE_NIC_RING, NIC_PORT, 158225 + 74285}}, 0},
	{"iavf-1", "iavf", {{0}}, 0},
	/* rx_prio0_discards are those of the port again; steering misses are for others */
	{"mlx5_core-2",
	 "mlx5_core",
	 {{STAGE_NIC_RING, NIC_RING, 990473555},
	  {STAGE_NIC_RING, NIC_PORT, 58591428329},
	  {STAGE_XDP, NIC_XDP, 3753342954}},
	 1962570491ULL + 67469721},
	{"bnxt_en-1",
	 "bnxt_en",
	 {{STAGE_NIC_RING, NIC_RING, 123116579}, {STAGE_NIC_RING, NIC_PORT, 49337}},
	 0},
	{"tg3-4", "tg3", {{STAGE_NIC_RING, NIC_PORT, 609}}, 0}, /* rxbds_empty: events */
	{"r8169-2", "r8169", {{STAGE_NIC_RING, NIC_RING, 2497}}, 0},
	{"vmxnet3-1", "vmxnet3", {{0}}, 0},
	{"vmxnet3-2", "vmxnet3", {{STAGE_NIC_RING, NIC_RING, 632}}, 0}, /* ring full: TX waits */
	{"ena-2", "ena", {{0}}, 3241329 + 530 + 784}, /* delayed or dropped; available: a level */
	{"gve-2", "gve", {{0}}, 0},
	{"hv_netvsc-2", "hv_netvsc", {{0}}, 0},
	{"virtio_net-1", "virtio_net", {{0}}, 0},
	/* drops = xdp_drops: a program's verdict, not memory */
	{"virtio_net-2", "virtio_net", {{STAGE_XDP, NIC_XDP, 104446}}, 0},
	{"virtio_net-3", "virtio_net", {{0}}, 0},
	{"veth-2-rx", "veth", {{STAGE_XDP, NIC_XDP, 3000}}, 0},
	{"veth-3-tx", "veth", {{STAGE_TX_DEVICE, NIC_SEND, 4744}}, 0},
	{"tun-1", "tun", {{STAGE_TX_DEVICE, NIC_SEND, 1903}}, 0},
	{"sfc-1", "sfc", {{0}}, 0}, /* what no filter wanted is no loss */
	{"be2net-2", "be2net", {{STAGE_NIC_RING, NIC_RING, 10000}}, 0},
	{"unsupported-1", "e1000e", {{0}}, 0},
	{"odd-names-1", "r8169", {{STAGE_NIC_RING, NIC_RING, 401}}, 0},
};

static void check_recorded(const struct recorded *r)
{
	struct nic_sample after = load(r->file), before = zeros(&after);
	struct nic_plan *p = nic_plan_new(r->driver, &after);
	struct nic_loss l[MOST];
	uint64_t bound = 0, known = 0, sum = 0;
	unsigned n;

	assert_non_null(p);
	n = nic_losses(p, &before, &after, l, MOST);
	assert_true(n <= MOST);
	for (unsigned i = 0; i < n; i++) {
		if (l[i].item->row->class == NIC_BOUND)
			bound += l[i].packets;
		if (l[i].item->row->class == NIC_LOSS)
			sum += l[i].packets;
	}
	for (const struct sum *w = r->losses; w < r->losses + 4 && w->packets; w++) {
		uint64_t packets = 0;

		for (unsigned i = 0; i < n; i++) {
			const struct nic_row *row = l[i].item->row;

			if (row->class == NIC_LOSS && row->stage == w->stage &&
			    row->cause == w->cause)
				packets += l[i].packets;
		}
		if (packets != w->packets)
			fail_msg("%s: %s %s: %llu, not %llu", r->file, stage_name(w->stage),
				 nic_cause_names[w->cause], (unsigned long long)packets,
				 (unsigned long long)w->packets);
		known += packets;
	}
	if (sum != known || bound != r->bound)
		fail_msg("%s: %llu lost of which %llu expected; bound %llu, not %llu", r->file,
			 (unsigned long long)sum, (unsigned long long)known,
			 (unsigned long long)bound, (unsigned long long)r->bound);
	nic_plan_free(p);
	nic_sample_free(&before);
	nic_sample_free(&after);
}

CASE(recorded_output)
{
	for (unsigned i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++)
		check_recorded(&recorded[i]);
}

CASE(two_readings)
{
	struct nic_sample before = load("ixgbe-2-before"), after = load("ixgbe-2-after");
	struct nic_plan *p = nic_plan_new("ixgbe", &before);
	struct nic_loss l[MOST];

	assert_true(nic_plan_fits(p, &after));
	assert_int_equal(nic_losses(p, &before, &after, l, MOST), 1);
	assert_string_equal(l[0].name, "rx_no_dma_resources");
	assert_int_equal(l[0].packets, 10);
	assert_false(l[0].restarted);
	nic_plan_free(p);
	nic_sample_free(&before);
	nic_sample_free(&after);
}

/* ethtool -L in between: the counters of queues began anew, those of the port did not. */
CASE(queues_restarted)
{
	struct nic_sample before = load("igb-2-before"), after = load("igb-2-after");
	struct nic_plan *p = nic_plan_new("igb", &before);
	struct nic_loss l[MOST];
	const struct nic_item *items;
	unsigned n, restarted = 0;

	assert_true(nic_plan_fits(p, &after));
	assert_int_equal(nic_losses(p, &before, &after, l, MOST), 0);
	items = nic_plan_items(p, &n);
	for (unsigned i = 0; i < n; i++) {
		bool anew;

		nic_item_delta(&items[i], &before, &after, &anew);
		if (anew)
			assert_true(items[i].queue >= 0);
		restarted += anew;
	}
	assert_true(restarted > 0);
	nic_plan_free(p);
	nic_sample_free(&before);
	nic_sample_free(&after);
}

/* Queues came and went: counters are known by name, and the n-th of a name is the n-th again. */
CASE(queues_changed)
{
	static const char *const names[2][4] = {{"rx_queue_1_drops", "rx_queue_0_drops", "x", "x"},
						{"rx_queue_0_drops", "rx_queue_2_drops", "x", "x"}};
	struct nic_sample s[2] = {0}, matched = {0};
	struct nic_plan *p;

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < 4; j++)
			nic_sample_add(&s[i], names[i][j], 10 * i + j);
	}
	p = nic_plan_new("igb", &s[0]);
	assert_false(nic_plan_fits(p, &s[1]));
	nic_sample_match(&s[0], &s[1], &matched);
	assert_int_equal(matched.n, 4);
	assert_int_equal(matched.at[0].value, 1);
	assert_int_equal(matched.at[1].value, 11); /* new: has not moved */
	assert_int_equal(matched.at[2].value, 2);
	assert_int_equal(matched.at[3].value, 3);
	nic_plan_free(p);
	nic_sample_free(&matched);
	nic_sample_free(&s[0]);
	nic_sample_free(&s[1]);
}

static const struct nic_item *item_of(const struct nic_plan *p, const struct nic_sample *s,
				      const char *name, int queue)
{
	const struct nic_item *items;
	unsigned n;

	items = nic_plan_items(p, &n);
	for (unsigned i = 0; i < n; i++) {
		if (!strcmp(s->at[items[i].at].name, name) && items[i].queue == queue)
			return &items[i];
	}
	return NULL;
}

/* A queue is named by the line in front of its counters. */
CASE(sections)
{
	struct nic_sample s = load("vmxnet3-1");
	struct nic_plan *p = nic_plan_new("vmxnet3", &s);

	for (int queue = 0; queue < 2; queue++) {
		const struct nic_item *rx = item_of(p, &s, "ucast pkts rx", queue);
		const struct nic_item *tx = item_of(p, &s, "ucast pkts tx", queue);

		assert_non_null(rx);
		assert_non_null(tx);
		assert_int_equal(s.at[rx->at].value, queue ? 143523 : 40863);
		assert_int_equal(s.at[tx->at].value, queue ? 64809 : 54123);
	}
	assert_null(item_of(p, &s, "pkts rx OOB", -1));
	nic_plan_free(p);
	nic_sample_free(&s);
}

/* Packets of a queue are shown once, though a driver and netdev-genl both have them. */
CASE(traffic_of_queues)
{
	struct nic_sample s = {0};
	struct nic_plan *p;

	nic_sample_add(&s, "rx3_packets", 7);
	nic_sample_add(&s, "qstat:rx-3-packets", 7);
	nic_sample_add(&s, "qstat:rx-3-alloc-fail", 2);
	nic_sample_add(&s, "rx_packets", 7);
	p = nic_plan_new("mlx5_core", &s);
	assert_false(item_of(p, &s, "rx3_packets", 3)->repeated);
	assert_int_equal(item_of(p, &s, "rx3_packets", 3)->row->cause, NIC_RX_PACKETS);
	assert_true(item_of(p, &s, "qstat:rx-3-packets", 3)->repeated);
	assert_false(item_of(p, &s, "qstat:rx-3-alloc-fail", 3)->repeated);
	assert_null(item_of(p, &s, "rx_packets", -1));
	nic_plan_free(p);
	nic_sample_free(&s);
}

struct move {
	const char *name;
	uint64_t before, after;
};

static unsigned losses_of(const char *driver, const struct move *m, unsigned count,
			  struct nic_loss *out)
{
	struct nic_sample before = {0}, after = {0};
	struct nic_plan *p;
	unsigned n;

	for (unsigned i = 0; i < count; i++) {
		nic_sample_add(&before, m[i].name, m[i].before);
		nic_sample_add(&after, m[i].name, m[i].after);
	}
	p = nic_plan_new(driver, &after);
	n = nic_losses(p, &before, &after, out, MOST);
	for (unsigned i = 0; i < n; i++) {
		out[i].item = NULL; /* it dies with the plan, and the name with the sample */
		for (unsigned j = 0; j < count; j++) {
			if (!strcmp(out[i].name, m[j].name))
				out[i].name = m[j].name;
		}
	}
	nic_plan_free(p);
	nic_sample_free(&before);
	nic_sample_free(&after);
	return n;
}

CASE(wrap_and_restart)
{
	const struct move wraps[] = {{"rx_missed", 65530, 4}};
	const struct move restarts[] = {{"rx_queue_0_drops", 500, 4}};
	struct nic_loss l[MOST];

	assert_int_equal(losses_of("r8169", wraps, 1, l), 1);
	assert_int_equal(l[0].packets, 10);
	assert_false(l[0].restarted);
	assert_int_equal(losses_of("igb", restarts, 1, l), 1);
	assert_int_equal(l[0].packets, 4);
	assert_true(l[0].restarted);
}

/* Of a driver that nobody has read, the three fields may tell one loss three times. */
CASE(unknown_driver)
{
	const struct move m[] = {
		{"link:rx_missed_errors", 5, 105}, {"link:rx_fifo_errors", 5, 205},
		{"link:rx_over_errors", 0, 0},	   {"rx_drops_of_some_kind", 0, 3000},
		{"link:rx_crc_errors", 0, 1},
	};
	struct nic_loss l[MOST];
	unsigned n = losses_of("never_heard_of", m, 5, l);
	uint64_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += l[i].packets;
	assert_int_equal(n, 2);
	assert_int_equal(sum, 201);
}

/* An owner that the kernel does not have yet leaves the loss to the counter that repeats it. */
CASE(owner_absent)
{
	const struct move without[] = {{"rx_fifo_errors", 0, 9}};
	const struct move with[] = {{"rx_fifo_errors", 0, 9}, {"rx_queue_0_drops", 0, 9}};
	struct nic_loss l[MOST];

	assert_int_equal(losses_of("igb", without, 1, l), 1);
	assert_int_equal(l[0].packets, 9);
	assert_int_equal(losses_of("igb", with, 2, l), 1);
	assert_string_equal(l[0].name, "rx_queue_0_drops");
}

static bool has_counter(const struct nic_row *rows, const char *list, size_t len)
{
	for (; rows->counter; rows++) {
		if (strlen(rows->counter) == len && !strncmp(rows->counter, list, len))
			return true;
	}
	return false;
}

static void check_list(const struct nic_row *rows, const struct nic_row *row, const char *list)
{
	for (const char *p = list; *p; p += *p == '|') {
		size_t len = strcspn(p, "|");

		if (!has_counter(rows, p, len) && !has_counter(nic_common_rows, p, len))
			fail_msg("%s: no row for %.*s", row->counter, (int)len, p);
		p += len;
	}
}

static void check_rows(const struct nic_row *rows)
{
	for (const struct nic_row *r = rows; r->counter; r++) {
		assert_true(strlen(r->counter) < NIC_NAME);
		assert_true(r->what && *r->what);
		assert_true(r->class != NIC_LOSS || r->stage != STAGE_NONE);
		assert_int_equal(!!(r->events & NIC_EV_KFREE), r->places != NULL);
		assert_int_equal(r->class == NIC_TRAFFIC, r->cause >= NIC_RX_PACKETS);
		if (r->repeats)
			check_list(rows, r, r->repeats);
		if (r->less)
			check_list(rows, r, r->less);
		for (const struct nic_row *q = rows; q < r; q++)
			assert_string_not_equal(q->counter, r->counter);
	}
}

CASE(table)
{
	check_rows(nic_common_rows);
	check_rows(nic_unknown_rows);
	for (unsigned i = 0; i < nic_driver_count; i++) {
		assert_true(*nic_drivers[i].source);
		check_rows(nic_drivers[i].rows);
	}
	assert_non_null(nic_driver_find("mlx5e_rep"));
	assert_non_null(nic_driver_find("802.1Q"));
	assert_null(nic_driver_find("igb igc"));
	assert_null(nic_driver_find("ig"));
	assert_null(nic_driver_find(""));
}

/* What a counter contains is looked for by name: all of one name are not of each of them. */
CASE(names_that_are_repeated)
{
	struct nic_sample s = {0};
	const struct nic_item *items;
	struct nic_plan *plan;
	unsigned n, less = 0;

	for (unsigned i = 0; i < 20; i++)
		nic_sample_add(&s, i % 2 ? "rx0_drops" : "rx0_xdp_drops", i);
	plan = nic_plan_new("virtio_net", &s);
	assert_non_null(plan);
	items = nic_plan_items(plan, &n);
	for (unsigned i = 0; i < n; i++)
		less += items[i].less_count;
	assert_in_range(less, 10, 2 * s.n); /* there is room for so many */
	nic_plan_free(plan);
	nic_sample_free(&s);
}

static void add(struct nic_sample *s, const char *name, uint64_t value)
{
	nic_sample_add(s, name, value);
}

static struct nic_ring_loss lost_in_rings(const char *driver, struct nic_sample *before,
					  struct nic_sample *after)
{
	struct counters_device b = {.nic = *before}, a = {.nic = *after};
	struct nic_ring_loss loss;

	strcpy(a.link.ifname, "eth7");
	strcpy(a.driver, driver);
	loss = nic_ring_loss(&b, &a);
	nic_plan_free(a.plan);
	nic_sample_free(before);
	nic_sample_free(after);
	return loss;
}

/* Of all queues together, by the largest; what the stack lost has events, and is left out. */
CASE(rings_of_vmxnet3)
{
	struct nic_sample before = {0}, after = {0};
	struct nic_ring_loss loss;

	for (unsigned q = 0; q < 2; q++) {
		add(&before, "Rx Queue#", q);
		add(&before, "pkts rx OOB", 10);
		add(&after, "Rx Queue#", q);
		add(&after, "pkts rx OOB", 10 + 100 * (q + 1));
	}
	add(&before, "link:rx_dropped", 0);
	add(&after, "link:rx_dropped", 7);
	loss = lost_in_rings("vmxnet3", &before, &after);
	assert_int_equal(loss.packets, 300 + 7); /* there is no "drv dropped rx total" to own it */
	assert_string_equal(loss.counter, "ethtool:eth7:pkts rx OOB");
}

CASE(rings_of_8139cp)
{
	struct nic_sample before = {0}, after = {0};
	struct nic_ring_loss loss;

	add(&before, "rx_fifo", 3);
	add(&before, "link:rx_missed_errors", 3);
	add(&before, "link:rx_dropped", 0);
	add(&after, "rx_fifo", 45);
	add(&after, "link:rx_missed_errors", 45);
	add(&after, "link:rx_dropped", 5);
	loss = lost_in_rings("8139cp", &before, &after);
	assert_int_equal(loss.packets, 42);
	assert_string_equal(loss.counter, "eth7:rx_missed_errors");
}

/* Counters of dumps that users sent. */
CASE(counters_of_users)
{
	static const struct {
		const char *driver, *counter;
		enum nic_class class;
		enum nic_cause cause;
	} rows[] = {
		{"be2net", "rx_dropped_tcp_length", NIC_LOSS, NIC_DAMAGED},
		{"be2net", "rxq3: rx_compl_err", NIC_EVENT, NIC_CSUM},
		{"bnx2", "rx_filtered_packets", NIC_EVENT, NIC_FILTER},
		{"bnx2x", "rx_constant_pause_events", NIC_EVENT, NIC_PAUSE},
		{"bnxt_en", "[4]: rx_l4_csum_errors", NIC_EVENT, NIC_CSUM},
		{"mlx5_core", "rx_cache_empty", NIC_EVENT, NIC_ALLOC},
		{"sfc", "rx_overflow", NIC_LOSS, NIC_PORT},
		{"ice", "tx_errors.nic", NIC_LOSS, NIC_SEND},
		{"i40e", "port.rx_priority_2_xoff", NIC_EVENT, NIC_PAUSE},
		{"e1000e", "rx_over_errors", NIC_BOUND, NIC_PORT},
		{"r8169", "tx_underrun", NIC_LOSS, NIC_SEND},
		{"vmxnet3", "hdr err", NIC_EVENT, NIC_SEND},
		{"fsl_dpaa2_eth", "[hw] rx nobuffer discards", NIC_LOSS, NIC_RING},
		{"macb", "rx_resource_errors", NIC_LOSS, NIC_RING},
		{"st_gmac", "mmc_rx_fifo_overflow", NIC_LOSS, NIC_PORT},
		{"bcmgenet", "rx_missed_errors", NIC_LOSS, NIC_RING},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct nic_driver *driver = nic_driver_find(rows[i].driver);
		const struct nic_row *row;

		assert_non_null(driver);
		row = nic_row_find(driver->rows, rows[i].counter);
		if (!row || row->class != rows[i].class || row->cause != rows[i].cause)
			fail_msg("%s: %s", rows[i].driver, rows[i].counter);
	}
	assert_null(nic_row_find(nic_driver_find("macb")->rows, "rx_resource"));
}

CASE(rings_that_lost_nothing)
{
	struct nic_sample before = {0}, after = {0};
	struct nic_ring_loss loss;

	add(&before, "qstat:rx-hw-drops", 8);
	add(&after, "qstat:rx-hw-drops", 8);
	loss = lost_in_rings("virtio_net", &before, &after);
	assert_int_equal(loss.packets, 0);
	assert_string_equal(loss.counter, "");
}
