/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ways in which a host is sick: one for each row of test_check_sick.c. */
#ifndef PKTLEDGER_CHECK_SICK_H
#define PKTLEDGER_CHECK_SICK_H

#include <linux/if_link.h>

#include "check_host.h"

#define GIB (1ULL << 30)

/* A VPN's or a virtual machine's. */
static void tun(struct host *h)
{
	strcpy(h->f.link[0].dev.driver, "tun");
	h->f.link[0].dev.link.txqueuelen = 100;
	lose(h, NIC_SEND, NIC_LOSS, 40);
}

static void small_default(struct host *h)
{
	h->f.stack.rmem_default = 8192;
	sock_at(h, 8192, 500);
	rested(h);
}

static void capped(struct host *h)
{
	sock_at(h, 2 * 212992, 500);
	rested(h);
}

/* As large as the host allows, and its reader reads less than arrives. */
static void capped_and_slow(struct host *h)
{
	sock_at(h, 2 * 212992, 500);
}

static void capped_beyond_reason(struct host *h)
{
	h->f.stack.rmem_max = GIB / 2;
	sock_at(h, GIB, 500);
}

static void kernel_default_is_no_small_one(struct host *h)
{
	sock_at(h, 212992, 500);
}

static void stopped_reader(struct host *h)
{
	sock_at(h, 300000, 0);
}

static void throttled_reader(struct host *h)
{
	sock_at(h, 300000, 500);
	h->f.socks.at[0].reading = (struct reading){.pid = 77,
						    .process = "reader",
						    .threads = 1,
						    .window_ns = 1000000000,
						    .throttled_ns = 800000000};
}

static void no_udp_mem(struct host *h)
{
	h->f.stack.udp_pages = 3000;
	h->f.socks.at[0].lost = 50; /* newer kernels: no counter of the namespace moves */
}

static void udp_mem_counted(struct host *h)
{
	h->f.stack.udp_pages = 2000; /* of 3000 */
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:MemErrors", 50);
	move(h, "here", "Udp:InErrors", 50);
}

static void filtered(struct host *h)
{
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:InErrors", 50);
}

static void bad_checksums(struct host *h)
{
	h->f.socks.at[0].lost = 50;
	move(h, "here", "Udp:InErrors", 50);
	move(h, "here", "Udp:InCsumErrors", 50);
}

static void closed_meanwhile(struct host *h)
{
	move(h, "here", "Udp:RcvbufErrors", 50);
}

static void port_closed(struct host *h)
{
	h->f.port = 9;
	h->f.socks.n = 0;
}

static void rp_filter(struct host *h)
{
	strcpy(h->f.link[0].rp_filter, "1");
	h->f.back = (struct way_back){"192.0.2.1", "eth1", "eth2"};
	move(h, "here", "TcpExt:IPReversePathFilter", 50);
}

static void flow_limit(struct host *h)
{
	move(h, "host", "softnet:cpu1:dropped", 50);
	move(h, "host", "softnet:cpu1:flow_limit", 50);
}

static void fragments(struct host *h)
{
	move(h, "here", "Ip:ReasmFails", 5);
	move(h, "here", "Ip:ReasmReqds", 50);
}

static void ring_at_its_largest(struct host *h)
{
	h->f.link[0].set.ring.rx = 4096;
	lose(h, NIC_RING, NIC_LOSS, 40);
}

static void port_overflow(struct host *h)
{
	lose(h, NIC_PORT, NIC_LOSS, 40);
}

static void cloud(struct host *h)
{
	lose(h, NIC_SHAPER, NIC_BOUND, 40);
}

static void damaged(struct host *h)
{
	lose(h, NIC_DAMAGED, NIC_LOSS, 40);
}

static void no_memory(struct host *h)
{
	lose(h, NIC_ALLOC, NIC_EVENT, 40);
}

static void send_ring(struct host *h)
{
	lose(h, NIC_SEND, NIC_LOSS, 40);
}

static void qdisc(struct host *h)
{
	move(h, "here", "eth1:qdisc:drops", 50);
	strcpy(h->f.link[0].qdisc, "pfifo limit 10");
}

static void tc_filter(struct host *h)
{
	move(h, "here", "eth1:qdisc:clsact", 60);
}

static void shared_irqs(struct host *h)
{
	busy(h);
	h->f.link[0].irq[2].fired = h->f.link[0].irq[2].most = 900;
}

static void one_queue(struct host *h)
{
	busy(h);
	h->f.link[0].set.channels.combined = 1;
	h->f.link[0].set.rss.used = 1;
}

static void rss_on_one(struct host *h)
{
	busy(h);
	h->f.link[0].set.rss.used = 1;
}

static void no_more_queues(struct host *h)
{
	busy(h);
	h->f.link[0].n_irqs = 1;
	h->f.link[0].set.channels.combined = h->f.link[0].set.channels.combined_max = 1;
	h->f.link[0].set.rss.known = false;
}

/* The work cannot go anywhere else. */
static void no_more_cpus(struct host *h)
{
	no_more_queues(h);
	for (unsigned i = 1; i < h->f.cpus.n; i++)
		h->f.cpus.at[i].online = false;
	h->f.cpus.online = 1;
}

static void busy_without_nic(struct host *h)
{
	busy(h);
	h->f.link[0].n_irqs = 0;
}

static void long_coalescing(struct host *h)
{
	h->f.link[0].rx_packets = 4000000; /* 1 M a queue: 512 in half a millisecond */
	h->f.link[0].set.coalesce.rx_usecs = 400;
}

static void deep_sleep(struct host *h)
{
	h->f.link[0].rx_packets = 4000000;
	h->f.cpus.at[3].idle_latency_us = 400;
}

static void steal(struct host *h)
{
	h->f.cpus.steal = 0.2;
}

static void conntrack_full(struct host *h)
{
	h->f.stack.conntrack = 1000;
	h->f.stack.before.conntrack_drops = 3;
	h->f.stack.after.conntrack_drops = 15;
}

static void neighbours_full(struct host *h)
{
	move(h, "host", "arp_cache:table_fulls", 3);
	h->f.stack.neighbours[STACK_V4] = 1024;
}

static void neighbours_near(struct host *h)
{
	h->f.stack.neighbours[STACK_V6] = 1000;
}

static void frag_memory(struct host *h)
{
	h->f.stack.frag_memory[STACK_V6] = 4000000;
}

static void udp_mem_near(struct host *h)
{
	h->f.stack.udp_pages = 2700;
}

static void nfqueue(struct host *h)
{
	h->f.stack.before.nfqueue_drops = 5;
	h->f.stack.after.nfqueue_drops = 9;
}

static void upcalls(struct host *h)
{
	h->f.stack.after.ovs_lost = 9;
}

static void raw_socket(struct host *h)
{
	h->f.taps.raws = 70; /* more than are kept */
	h->f.taps.raw[0] = (struct facts_owner){.pid = 5, .process = "agent"};
}

static void paused(struct host *h)
{
	lose(h, NIC_PAUSE, NIC_EVENT, 40);
}

static void send_buffer(struct host *h)
{
	move(h, "here", "Udp:SndbufErrors", 50);
}

static void qdisc_tells_the_socket(struct host *h)
{
	send_buffer(h);
	move(h, "here", "eth1:qdisc:drops", 50);
}

static void generic_xdp(struct host *h)
{
	h->f.link[0].dev.link.xdp_attached = XDP_ATTACHED_SKB;
	h->f.link[0].features_known = h->f.link[0].native_xdp = true;
}

static void half_rfs(struct host *h)
{
	h->f.link[0].rps_flow_cnt = 2048;
}

static void two_mtus(struct host *h)
{
	h->f.link[1] = h->f.link[0];
	strcpy(h->f.link[1].dev.link.ifname, "eth2");
	h->f.link[1].dev.link.mtu = 9000;
	h->f.link[0].dev.link.bridge_port = h->f.link[1].dev.link.bridge_port = true;
	h->f.link[0].dev.link.master = h->f.link[1].dev.link.master = 7;
	strcpy(h->f.link[0].master_name, "br0");
	h->f.n_links = 2;
}

static void polled_without_end(struct host *h)
{
	shared_irqs(h);
	for (unsigned i = 0; i < 4; i++)
		h->f.link[0].irq[i] =
			(struct facts_irq){.irq = 64 + i, .cpu = -1, .target = 0, .name = "rx"};
}

static void two_ends(struct host *h)
{
	h->f.link[0].peer_mtu = 9000;
}

static void fragments_made(struct host *h)
{
	move(h, "here", "Ip:FragCreates", 50);
}

static void small_send_default(struct host *h)
{
	h->f.stack.wmem_default = h->f.socks.at[0].sndbuf = 4608;
	send_buffer(h);
}

static void capped_send_buffer(struct host *h)
{
	h->f.socks.at[0].sndbuf = 2 * 212992;
	send_buffer(h);
}

static void stopped_by_a_signal(struct host *h)
{
	slow_reader(h);
	h->f.socks.at[0].reading = (struct reading){
		.pid = 77, .process = "reader", .threads = 1, .window_ns = 1000, .stopped = true};
}

/* It waits for another thread of its program. */
static void waits_for_a_thread(struct host *h)
{
	slow_reader(h);
	rested(h);
	h->f.socks.at[0].reading.full = 9;
	strcpy(h->f.socks.at[0].reading.sleeps_in, "futex_wait_queue");
}

static void stopped_and_capped(struct host *h)
{
	stopped_by_a_signal(h);
	h->f.socks.at[0].rcvbuf = 2 * 212992;
}

static void no_btf(struct host *h)
{
	h->f.self.btf = false;
}

static void no_capabilities(struct host *h)
{
	strcpy(h->f.self.missing_caps, "CAP_BPF");
}

#endif
