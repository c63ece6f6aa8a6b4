// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The n-th packet of a shape: sizes and flows, by chance but the same with the same seed. */
#include "cases.h"
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "traffic/frames.h"
#include "traffic/shape.h"
#include "unit/residue.h"

static struct shape shape_of(unsigned threads)
{
	static const uint16_t sizes[] = {18, 548, 18, 1472};
	struct shape s = {.threads = threads, .seed = 7, .flows = threads, .frames = true};

	memcpy(s.sizes, sizes, sizeof(sizes));
	s.n_payload = 4;
	return s;
}

static const struct flow flow4 = {
	.family = AF_INET, .payload = 1472, .dst_port = 28779, .src_port = 40000, .time = true};

CASE(test_sizes_take_turns_over_threads)
{
	struct shape s = shape_of(2);

	s.payload = s.sizes;
	/* thread 0 has the packets 0, 2, 4 ... of the whole, thread 1 the others */
	assert_int_equal(shape_payload(&s, &flow4, 0, 0), 18);
	assert_int_equal(shape_payload(&s, &flow4, 1, 0), 548);
	assert_int_equal(shape_payload(&s, &flow4, 0, 1), 18);
	assert_int_equal(shape_payload(&s, &flow4, 1, 1), 1472);
	assert_int_equal(shape_payload(&s, &flow4, 1, 3), 1472);
}

CASE(test_same_seed_same_traffic)
{
	struct shape a = shape_of(3), b = shape_of(3), c = shape_of(3);
	unsigned differ = 0, streams_differ = 0;

	a.payload = a.sizes;
	b.payload = b.sizes;
	c.payload = c.sizes;
	a.random = b.random = c.random = true;
	a.flows = b.flows = c.flows = 3000;
	c.seed = 8;
	for (uint64_t n = 0; n < 2000; n++) {
		assert_int_equal(shape_flow(&a, 1, n), shape_flow(&b, 1, n));
		assert_int_equal(shape_payload(&a, &flow4, 1, n), shape_payload(&b, &flow4, 1, n));
		differ += shape_flow(&a, 1, n) != shape_flow(&c, 1, n);
		streams_differ += shape_flow(&a, 1, n) != shape_flow(&a, 2, n);
	}
	assert_true(differ > 1900);
	assert_true(streams_differ > 1900);
}

CASE(test_flows_of_threads_do_not_meet)
{
	struct shape s = shape_of(3);
	uint64_t next = 0;

	s.flows = 10;
	for (unsigned slot = 0; slot < 3; slot++) {
		uint64_t first, n = shape_flows_of(&s, slot, &first);

		assert_int_equal(first, next);
		assert_true(n >= 3);
		next += n;
		for (uint64_t k = 0; k < 100; k++)
			assert_int_equal(shape_flow(&s, slot, k), k % n);
	}
	assert_int_equal(next, 10);
}

CASE(test_tuples)
{
	struct shape s = shape_of(1);
	struct flow f;

	assert_int_equal(addrs_parse("198.18.0.254..198.18.1.1", &s.src_addr), 0);
	assert_int_equal(ports_parse("5000..5002", &s.src_port), 0);
	assert_int_equal(ports_parse("9..10", &s.dst_port), 0);
	assert_int_equal(shape_complete(&s, 1, 0, &(struct error){}), 0);
	assert_int_equal(s.flows, 24);
	shape_tuple(&s, &flow4, 0, &f);
	assert_int_equal(f.src_port, 5000);
	assert_int_equal(f.dst_port, 9);
	assert_int_equal(ntohl(f.src4.s_addr), 0xc61200fe);
	shape_tuple(&s, &flow4, 4 + 2 * 6, &f); /* the third address carries into the next byte */
	assert_int_equal(f.src_port, 5001);
	assert_int_equal(f.dst_port, 10);
	assert_int_equal(ntohl(f.src4.s_addr), 0xc6120100);
	shape_tuple(&s, &flow4, 23, &f);
	assert_int_equal(ntohl(f.src4.s_addr), 0xc6120101);
	assert_int_equal(f.dst4.s_addr, flow4.dst4.s_addr);
}

CASE(test_complete_refuses)
{
	struct error err = {};
	struct shape s = shape_of(1);

	assert_int_equal(ports_parse("1..4", &s.src_port), 0);
	assert_int_equal(shape_complete(&s, 1, 5, &err), -EINVAL);
	assert_int_equal(shape_complete(&s, 5, 0, &err), -EINVAL);
	assert_int_equal(shape_complete(&s, 4, 4, &err), 0);
	assert_int_equal(addrs_parse("10.0.0.0/2", &s.src_addr), 0);
	assert_int_equal(addrs_parse("10.0.0.0/2", &s.dst_addr), 0);
	assert_int_equal(shape_complete(&s, 1, 0, &err), -ERANGE);
}

CASE(test_prefix_of_a_range)
{
	struct shape_addrs a, base;

	assert_int_equal(addrs_parse("198.18.4.3..198.18.4.9", &a), 0);
	assert_int_equal(shape_addrs_prefix(&a, &base), 28);
	assert_int_equal(base.first[3], 0);
	assert_int_equal(addrs_parse("198.18.4.3", &a), 0);
	assert_int_equal(shape_addrs_prefix(&a, &base), 32);
	assert_int_equal(addrs_parse("2001:2::/100", &a), 0);
	assert_int_equal(shape_addrs_prefix(&a, &base), 100);
}

CASE(test_rates_of_mixed_sizes)
{
	struct shape s = shape_of(1);
	struct shape_sizes sizes;
	struct rate l2 = {RATE_L2_BPS, 1e9}, l1 = {RATE_L1_BPS, 1e9}, share = {RATE_PERCENT, 50};
	double pps;

	s.payload = s.sizes;
	shape_sizes(&s, &flow4, &sizes); /* frames of 64, 594, 64 and 1518 */
	assert_int_equal(sizes.smallest, 18);
	assert_int_equal(sizes.largest, 1472);
	assert_true(sizes.mean_frame == 560);
	assert_int_equal(rate_to_pps(&l2, sizes.mean_frame, -1, &pps), 0);
	assert_true(fabs(pps - 1e9 / 8 / 560) < 1e-6);
	assert_int_equal(rate_to_pps(&l1, sizes.mean_frame, -1, &pps), 0);
	assert_true(fabs(pps - 1e9 / 8 / 580) < 1e-6);
	assert_int_equal(rate_to_pps(&share, sizes.mean_frame, 2000, &pps), 0);
	assert_true(fabs(pps - 1e9 / 8 / 580) < 1e-6);
	assert_int_equal(rate_to_pps(&share, sizes.mean_frame, -1, &pps), -ENODATA);
}

static void check_frames(struct flow flow)
{
	static const uint16_t payload[] = {1472, 18, 19, 33, 34, 35, 1400, 20};
	struct shape s = {.threads = 1, .seed = 3, .frames = true, .n_payload = 8};
	struct error err = {};
	uint8_t buffer[2048], fill[2048];
	struct frames *f;

	s.payload = payload;
	assert_int_equal(ports_parse("65000..65535", &s.src_port), 0);
	assert_int_equal(shape_complete(&s, 1, 0, &err), 0);
	flow.time = true;
	assert_int_equal(frames_open(&f, &flow, &s, 0, sizeof(buffer), &err), 0);
	frames_prepare(f, buffer);
	for (uint64_t n = 0; n < 2000; n++) {
		unsigned len = payload[n % 8], had;
		unsigned length = frames_write(f, buffer, n, 0x1234000000000000 + n, n * 977 + 1);
		const uint8_t *at = proto_udp_payload(buffer, length, flow.family, 28779, &had);

		assert_non_null(at);
		assert_int_equal(had, len);
		assert_ptr_equal(at + len, buffer + length);
		assert_checksums(buffer + 14 + (flow.vlan ? 4 : 0), flow.family);
		flow_fill(fill, len);
		flow_stamp(fill, len, 0x1234000000000000 + n, n * 977 + 1);
		assert_memory_equal(at, fill, len);
	}
	frames_close(f);
}

CASE(test_frames)
{
	struct flow flow = flow4;

	inet_pton(AF_INET, "198.18.0.1", &flow.src4);
	inet_pton(AF_INET, "198.18.255.254", &flow.dst4);
	inet_pton(AF_INET6, "2001:2::1", &flow.src6);
	inet_pton(AF_INET6, "2001:2::ffff:2", &flow.dst6);
	check_frames(flow);
	flow.vlan = 4094;
	flow.tos = 0xb8;
	check_frames(flow);
	flow.family = AF_INET6;
	check_frames(flow);
	flow.vlan = 0;
	flow.ttl = 1;
	check_frames(flow);
}

CASE(test_frames_that_do_not_fit)
{
	struct shape s = shape_of(1);
	struct error err = {};
	struct frames *f;

	s.payload = s.sizes;
	assert_int_equal(frames_open(&f, &flow4, &s, 0, 1500, &err), -EMSGSIZE);
	assert_int_equal(err.status, STATUS_USAGE);
}
