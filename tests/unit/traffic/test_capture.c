// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Captures for replay: both formats, and errors that name the packet. */
#include "cases.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "traffic/shape.h"
#include "traffic/frames.h"

struct file {
	uint8_t at[8192];
	unsigned n;
};

static void put32(struct file *f, uint32_t v)
{
	memcpy(f->at + f->n, &v, 4); /* a capture has the byte order of its writer */
	f->n += 4;
}

static void put16(struct file *f, uint16_t v)
{
	memcpy(f->at + f->n, &v, 2);
	f->n += 2;
}

static void put_pcap(struct file *f, uint32_t link)
{
	*f = (struct file){};
	put32(f, 0xa1b2c3d4);
	put16(f, 2);
	put16(f, 4);
	put32(f, 0);
	put32(f, 0);
	put32(f, 65535);
	put32(f, link);
}

static void put_packet(struct file *f, uint32_t s, uint32_t us, const void *data, uint32_t had,
		       uint32_t length)
{
	put32(f, s);
	put32(f, us);
	put32(f, had);
	put32(f, length);
	memcpy(f->at + f->n, data, had);
	f->n += had;
}

/* 5-tuple of a flow, `payload` bytes; returns the frame's length. */
static unsigned datagram(uint8_t *frame, int family, unsigned payload)
{
	struct flow flow = {.family = family, .dst_port = 53, .src_port = 1234, .payload = payload};

	inet_pton(AF_INET, "192.0.2.1", &flow.src4);
	inet_pton(AF_INET, "192.0.2.2", &flow.dst4);
	return (unsigned)proto_build(frame, 2048, &flow, 0);
}

static int open_file(struct capture **c, const struct file *f, struct error *err)
{
	char path[] = "/tmp/test_capture_XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, f->at, f->n), f->n);
	close(fd);
	*err = (struct error){};
	rc = capture_open(c, path, err);
	unlink(path);
	return rc;
}

static void assert_refused(const struct file *f, const char *why)
{
	struct capture *c;
	struct error err;

	assert_true(open_file(&c, f, &err) < 0);
	assert_int_equal(err.status, STATUS_FAILED);
	if (!strstr(err.message, why))
		fail_msg("'%s' is not in '%s'", why, err.message);
}

CASE(test_pcap)
{
	uint8_t frame[2048];
	unsigned a = datagram(frame, AF_INET, 100), length;
	struct capture *c;
	struct error err;
	struct file f;

	put_pcap(&f, 1);
	put_packet(&f, 10, 999999, frame, a, a);
	put_packet(&f, 11, 1, frame, 60, 60);
	put_packet(&f, 11, 0, frame, a, a); /* before the one in front of it */
	assert_int_equal(open_file(&c, &f, &err), 0);
	assert_int_equal(c->packets, 3);
	assert_int_equal(c->due_ns[0], 0);
	assert_int_equal(c->due_ns[1], 2000);
	assert_int_equal(c->due_ns[2], 2000);
	assert_int_equal(c->pass_ns, 3001);
	assert_int_equal(c->longest, a);
	assert_memory_equal(capture_frame(c, 2, &length), frame, a);
	assert_int_equal(length, a);
	assert_int_equal(capture_frame_bytes(c, 1), 64);
	capture_free(c);
}

/* Three datagrams of 60 bytes, which need no padding in the file, 500 us apart. */
static void put_pcapng(struct file *f)
{
	uint8_t frame[2048];
	unsigned a = datagram(frame, AF_INET, 18);

	*f = (struct file){};
	put32(f, 0x0a0d0d0a), put32(f, 28), put32(f, 0x1a2b3c4d), put16(f, 1), put16(f, 0);
	put32(f, 0xffffffff), put32(f, 0xffffffff), put32(f, 28);
	put32(f, 1), put32(f, 20), put16(f, 1), put16(f, 0), put32(f, 0), put32(f, 20);
	for (unsigned i = 0; i < 3; i++) {
		put32(f, 6), put32(f, 32 + a), put32(f, 0), put32(f, 0), put32(f, 500 * i);
		put32(f, a), put32(f, a);
		memcpy(f->at + f->n, frame, a);
		f->n += a;
		put32(f, 32 + a);
	}
}

CASE(test_pcapng)
{
	struct capture *c;
	struct error err;
	struct file f;

	put_pcapng(&f);
	assert_int_equal(open_file(&c, &f, &err), 0);
	assert_int_equal(c->packets, 3);
	assert_int_equal(c->due_ns[2], 1000000);
	capture_free(c);
	f.n -= 9;
	assert_refused(&f, "after 2 packets");
}

CASE(test_refused)
{
	uint8_t frame[2048];
	unsigned a = datagram(frame, AF_INET, 100);
	struct file f = {.n = 30};

	assert_refused(&f, "cannot read");
	f.n = 0;
	assert_refused(&f, "cannot read");
	put_pcap(&f, 1);
	assert_refused(&f, "no packets");
	put_packet(&f, 1, 0, frame, a, a);
	put_packet(&f, 1, 0, frame, 96, a);
	assert_refused(&f, "packet 2 is truncated: 96 of its 142");
	put_pcap(&f, 1);
	put_packet(&f, 1, 0, frame, 13, 13);
	assert_refused(&f, "packet 1 is shorter");
	put_pcap(&f, 113);
	put_packet(&f, 1, 0, frame, a, a);
	assert_refused(&f, "not Ethernet");
	put_pcap(&f, 1);
	put_packet(&f, 1, 0, frame, a, a);
	put_packet(&f, 1, 0, frame, a, a);
	f.n -= 20;
	assert_refused(&f, "after 1 packets");
}

CASE(test_stamped)
{
	struct flow to = {.family = AF_INET, .dst_port = 28779, .src_mac = {2}, .dst_mac = {4}};
	uint8_t frame[2048];
	unsigned a = datagram(frame, AF_INET, 100), had, length;
	struct capture *c;
	struct error err;
	struct file f;
	const uint8_t *out, *payload;
	unsigned sum = 0;

	inet_pton(AF_INET, "198.18.0.1", &to.src4);
	inet_pton(AF_INET, "198.18.0.2", &to.dst4);
	put_pcap(&f, 1);
	put_packet(&f, 1, 0, frame, a, a);
	assert_int_equal(open_file(&c, &f, &err), 0);
	assert_int_equal(capture_measure(c, AF_INET, &err), 0);
	assert_int_equal(c->payload[0], 100);
	capture_stamp(c, &to);
	out = capture_frame(c, 0, &length);
	payload = proto_udp_payload(out, length, AF_INET, 28779, &had);
	assert_non_null(payload);
	assert_int_equal(had, 100);
	assert_memory_equal(out + 26, &to.src4, 4);
	assert_memory_equal(out + 30, &to.dst4, 4);
	assert_int_equal(out[0], 4);
	assert_int_equal(out[34] << 8 | out[35], 1234);		/* the source port stays */
	assert_memory_equal(payload + 34, frame + 42 + 34, 66); /* and the bytes after the
								 * sequence header */
	for (unsigned i = 14; i < 34; i += 2)
		sum += (unsigned)out[i] << 8 | out[i + 1];
	assert_int_equal(sum % 65535, 0);
	sum = 17 + 108;
	for (unsigned i = 26; i < 142; i += 2)
		sum += (unsigned)out[i] << 8 | out[i + 1];
	assert_int_equal(sum % 65535, 0);
	capture_free(c);
}

CASE(test_not_to_be_stamped)
{
	uint8_t frame[2048];
	unsigned a = datagram(frame, AF_INET, 18);
	struct capture *c;
	struct error err;
	struct file f;

	put_pcap(&f, 1);
	put_packet(&f, 1, 0, frame, a, a);
	frame[23] = 6; /* TCP */
	put_packet(&f, 1, 0, frame, a, a);
	assert_int_equal(open_file(&c, &f, &err), 0);
	assert_true(capture_measure(c, AF_INET, &err) < 0);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_non_null(strstr(err.message, "packet 2"));
	capture_free(c);
}
