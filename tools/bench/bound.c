// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Bare loops of system calls, the upper bounds of our engines. They write the sequence header into
 * each packet, as our engines do, and keep no outcomes. `gaps` is the independent witness of pacing:
 * it captures with the kernel's time stamps.
 *
 * bound sendmmsg ADDR PORT LEN [SEGMENTS] | recvmmsg PORT RCVBUF GAP_US
 *     | tcpsend ADDR PORT | tcpread PORT | xsk IFNAME DST_MAC SRC_MAC | absorb IFNAME
 *     | live IFNAME DST_MAC SRC_MAC | gaps IFNAME SECONDS RATE
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ether.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <xdp/xsk.h>

#define CALL	   64
#define FRAME	   60 /* 64 with FCS */
#define RING	   2048
#define XSK_CALL   512
#define XSK_BUDGET 9 /* XDP_MAX_TX_SKB_BUDGET */

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	perror(what);
	exit(1);
}

static void stamp(void *payload, uint64_t word)
{
	uint64_t two[2] = {htobe64(word), htobe64(~word)};

	memcpy((char *)payload + 2, two, sizeof(two));
}

static void sending(const char *addr, unsigned port, unsigned len, unsigned segments)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	static struct mmsghdr msg[CALL];
	static struct iovec iov[CALL];
	unsigned calls = segments > 1 ? 4 : CALL, one = segments * len;
	char *data = calloc(calls, one);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), size = (int)len;

	inet_pton(AF_INET, addr, &to.sin_addr);
	check(connect(fd, (void *)&to, sizeof(to)), "connect");
	check(segments > 1 && setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof(size)), "GSO");
	for (unsigned i = 0; i < calls; i++) {
		iov[i] = (struct iovec){data + i * one, one};
		msg[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	for (uint64_t word = 0;;) {
		for (unsigned i = 0; i < calls * segments; i++)
			stamp(data + i * len, word++);
		check(sendmmsg(fd, msg, calls, 0) < 0, "sendmmsg");
	}
}

static void receiving(unsigned port, int rcvbuf, unsigned gap_us)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	static struct mmsghdr msg[CALL];
	static struct iovec iov[CALL];
	static char data[CALL][2048];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	volatile uint64_t sum = 0;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &rcvbuf, sizeof(rcvbuf));
	check(bind(fd, (void *)&at, sizeof(at)), "bind");
	for (unsigned i = 0; i < CALL; i++) {
		iov[i] = (struct iovec){data[i], sizeof(data[i])};
		msg[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
	}
	for (;;) {
		int n = recvmmsg(fd, msg, CALL, MSG_WAITFORONE, NULL);

		for (int i = 0; i < n; i++)
			sum += (unsigned char)data[i][3];
		if (gap_us && n < CALL / 2)
			usleep(gap_us);
	}
}

static void tcp(const char *addr, unsigned port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	static char data[1 << 17];

	if (addr) {
		inet_pton(AF_INET, addr, &at.sin_addr);
		check(connect(fd, (void *)&at, sizeof(at)), "connect");
		for (;;)
			check(write(fd, data, sizeof(data)) < 0, "write");
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	check(bind(fd, (void *)&at, sizeof(at)) || listen(fd, 1), "listen");
	fd = accept(fd, NULL, NULL);
	while (read(fd, data, sizeof(data)) > 0)
		;
}

/* Ethernet, IPv4, UDP to the discard port; the checksum of UDP is left out. */
static void frame_build(uint8_t *at, const char *dst, const char *src)
{
	struct ether_header *eth = (void *)at;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	uint32_t sum = 0;

	memcpy(eth->ether_dhost, ether_aton(dst), 6);
	memcpy(eth->ether_shost, ether_aton(src), 6);
	eth->ether_type = htons(ETH_P_IP);
	*ip = (struct iphdr){.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_UDP,
			     .tot_len = htons(FRAME - 14), .frag_off = htons(IP_DF),
			     .saddr = inet_addr("198.18.0.1"), .daddr = inet_addr("198.18.0.2")};
	for (unsigned i = 0; i < 10; i++)
		sum += ((uint16_t *)ip)[i];
	sum = (sum & 0xffff) + (sum >> 16);
	ip->check = (uint16_t)~(sum + (sum >> 16));
	*udp = (struct udphdr){.source = htons(9), .dest = htons(9), .len = htons(FRAME - 34)};
}

static void xsk(const char *ifname, const char *dst, const char *src)
{
	struct xsk_umem_config umem_cfg = {.fill_size = 64, .comp_size = RING, .frame_size = 2048};
	struct xsk_socket_config cfg = {.tx_size = RING, .bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
					.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD};
	size_t bytes = (size_t)RING * 2048;
	uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct xsk_ring_prod fill, tx;
	struct xsk_ring_cons comp;
	struct xsk_umem *umem;
	struct xsk_socket *xs;
	uint32_t at, budget = RING, idle = RING;
	uint64_t word = 0;
	int fd;

	for (unsigned i = 0; i < RING; i++)
		frame_build(area + (size_t)i * 2048, dst, src);
	check(xsk_umem__create(&umem, area, bytes, &fill, &comp, &umem_cfg), "umem");
	check(xsk_socket__create(&xs, ifname, 0, umem, NULL, &tx, &cfg), "AF_XDP socket");
	fd = xsk_socket__fd(xs);
	setsockopt(fd, SOL_XDP, XSK_BUDGET, &budget, sizeof(budget));
	for (;;) {
		uint32_t n = idle < XSK_CALL ? idle : XSK_CALL;

		if (n && xsk_ring_prod__reserve(&tx, n, &at)) {
			for (uint32_t i = 0; i < n; i++, word++) {
				uint64_t addr = word % RING * 2048;

				stamp(area + addr + 42, word);
				*xsk_ring_prod__tx_desc(&tx, at + i) =
					(struct xdp_desc){.addr = addr, .len = FRAME};
			}
			xsk_ring_prod__submit(&tx, n);
			idle -= n;
		}
		sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
		n = xsk_ring_cons__peek(&comp, RING, &at);
		xsk_ring_cons__release(&comp, n);
		idle += n;
	}
}

/* By the program of libxdp, which takes what comes. Each stamp is read, as ours does. */
static void absorb(const char *ifname)
{
	struct xsk_umem_config umem_cfg = {.fill_size = 2 * RING, .comp_size = 64, .frame_size = 2048};
	struct xsk_socket_config cfg = {.rx_size = RING, .bind_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
					.xdp_flags = XDP_FLAGS_DRV_MODE};
	size_t bytes = (size_t)2 * RING * 2048;
	uint8_t *area = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct xsk_ring_prod fill;
	struct xsk_ring_cons comp, rx;
	struct xsk_umem *umem;
	struct xsk_socket *xs;
	volatile uint64_t stamped = 0;
	uint32_t at, to = 0;

	check(xsk_umem__create(&umem, area, bytes, &fill, &comp, &umem_cfg), "umem");
	check(xsk_socket__create(&xs, ifname, 0, umem, &rx, NULL, &cfg), "AF_XDP socket");
	check(!xsk_ring_prod__reserve(&fill, 2 * RING, &to), "fill ring");
	for (uint32_t i = 0; i < 2 * RING; i++)
		*xsk_ring_prod__fill_addr(&fill, to + i) = (uint64_t)i * 2048;
	xsk_ring_prod__submit(&fill, 2 * RING);
	for (;;) {
		uint32_t n = xsk_ring_cons__peek(&rx, CALL, &at);

		if (!n || !xsk_ring_prod__reserve(&fill, n, &to))
			continue;
		for (uint32_t i = 0; i < n; i++) {
			uint64_t addr = xsk_ring_cons__rx_desc(&rx, at + i)->addr, two[2];

			memcpy(two, area + addr + 42 + 2, sizeof(two));
			stamped += two[0] == ~two[1];
			*xsk_ring_prod__fill_addr(&fill, to + i) = addr & ~2047ULL;
		}
		xsk_ring_prod__submit(&fill, n);
		xsk_ring_cons__release(&rx, n);
	}
}

/* Live frames by a program that redirects and does nothing else. */
static void live(const char *ifname, const char *dst, const char *src)
{
	const struct bpf_insn code[] = {
		{.code = 0xb7, .dst_reg = 1, .imm = (int)if_nametoindex(ifname)},
		{.code = 0xb7, .dst_reg = 2},
		{.code = 0x85, .imm = BPF_FUNC_redirect},
		{.code = 0x95},
	};
	static uint8_t frame[FRAME];
	union bpf_attr load = {.prog_type = BPF_PROG_TYPE_XDP, .insn_cnt = 4,
			       .insns = (uintptr_t)code, .license = (uintptr_t) "GPL"};
	union bpf_attr run = {.test = {.data_in = (uintptr_t)frame, .data_size_in = FRAME,
				       .repeat = 1 << 20, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
				       .batch_size = 64}};
	long fd = syscall(SYS_bpf, BPF_PROG_LOAD, &load, sizeof(load));

	check(fd < 0, "program");
	frame_build(frame, dst, src);
	run.test.prog_fd = (uint32_t)fd;
	for (;;)
		check(syscall(SYS_bpf, BPF_PROG_RUN, &run, sizeof(run)) < 0, "live frames");
}

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of the datagrams that arrive here, not of what the other way is spoken. */
static int gaps(const char *ifname, double seconds, double rate)
{
	struct tpacket_req req = {.tp_block_size = 1 << 20, .tp_block_nr = 64, .tp_frame_size = 256,
				  .tp_frame_nr = 64 << 12};
	struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(ifname)};
	size_t most = (size_t)(rate * seconds * 1.2) + 1000, n = 0;
	double *deviation = calloc(most, sizeof(*deviation)), ideal = 1e9 / rate, first = 0, last = 0;
	int fd = socket(AF_PACKET, SOCK_DGRAM, 0), version = TPACKET_V2;
	struct tpacket_stats lost;
	socklen_t size = sizeof(lost);
	struct timespec end, now;
	uint8_t *ring;

	check(fd < 0, "AF_PACKET");
	setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version));
	check(setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)), "ring");
	ring = mmap(NULL, (size_t)req.tp_block_size * req.tp_block_nr, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	check(ring == MAP_FAILED || bind(fd, (void *)&at, sizeof(at)), "bind");
	clock_gettime(CLOCK_MONOTONIC, &end);
	seconds += (double)end.tv_sec + (double)end.tv_nsec * 1e-9;
	for (size_t i = 0;; i = (i + 1) % req.tp_frame_nr) {
		struct tpacket2_hdr *h = (void *)(ring + i * req.tp_frame_size);
		const struct iphdr *ip;
		const struct sockaddr_ll *from = (void *)((uint8_t *)h + TPACKET_ALIGN(sizeof(*h)));
		double t;

		while (!(__atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER)) {
			clock_gettime(CLOCK_MONOTONIC, &now);
			if ((double)now.tv_sec + (double)now.tv_nsec * 1e-9 > seconds)
				goto out;
			usleep(20000);
		}
		ip = (void *)((uint8_t *)h + h->tp_net);
		t = (double)(h->tp_sec % 100000) * 1e9 + h->tp_nsec;
		if (from->sll_pkttype != PACKET_OUTGOING &&
		    from->sll_protocol == htons(ETH_P_IP) && ip->protocol == IPPROTO_UDP &&
		    h->tp_len >= 46 && n < most) {
			if (last > 0)
				deviation[n++] = fabs(t - last - ideal);
			else
				first = t;
			last = t;
		}
		__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	}
out:
	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &size);
	check(n < 2, "no packets");
	qsort(deviation, n, sizeof(*deviation), by_size);
	printf("{\"packets\":%zu,\"missed\":%u,\"rate_pps\":%.1f,\"p50_ns\":%.0f,\"p99_ns\":%.0f,"
	       "\"p999_ns\":%.0f,\"max_ns\":%.0f}\n", n + 1, lost.tp_drops,
	       (double)n * 1e9 / (last - first), deviation[n / 2], deviation[n * 99 / 100],
	       deviation[n * 999 / 1000], deviation[n - 1]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc >= 5 && !strcmp(what, "sendmmsg"))
		sending(argv[2], (unsigned)atoi(argv[3]), (unsigned)atoi(argv[4]),
			argc > 5 ? (unsigned)atoi(argv[5]) : 1);
	if (argc == 5 && !strcmp(what, "recvmmsg"))
		receiving((unsigned)atoi(argv[2]), atoi(argv[3]), (unsigned)atoi(argv[4]));
	if (argc == 4 && !strcmp(what, "tcpsend"))
		tcp(argv[2], (unsigned)atoi(argv[3]));
	if (argc == 3 && !strcmp(what, "tcpread"))
		tcp(NULL, (unsigned)atoi(argv[2]));
	if (argc == 5 && !strcmp(what, "xsk"))
		xsk(argv[2], argv[3], argv[4]);
	if (argc == 3 && !strcmp(what, "absorb"))
		absorb(argv[2]);
	if (argc == 5 && !strcmp(what, "live"))
		live(argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(what, "gaps"))
		return gaps(argv[2], atof(argv[3]), atof(argv[4]));
	fprintf(stderr, "bound: what?\n");
	return 2;
}
