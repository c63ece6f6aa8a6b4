// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Captures for replay: both formats, and errors that name the packet. */
#include "cases.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorded.h"
#include "traffic/frames.h"
#include "traffic/shape.h"
#include "unit/residue.h"

#define TEXT 34 /* of a datagram: what follows the sequence header */

static struct {
	uint8_t at[8192];
	unsigned n;
} file;
static uint8_t frame[2048];
static struct capture *capture;

static void put(const uint8_t *bytes, unsigned n)
{
	assert_true(file.n + n <= sizeof(file.at));
	memcpy(file.at + file.n, bytes, n);
	file.n += n;
}

static void put_hex(const char *text)
{
	for (unsigned byte; sscanf(text, " %2x", &byte) == 1; text += *text == ' ' ? 3 : 2)
		put(&(uint8_t){(uint8_t)byte}, 1);
}

/* The first bytes of a datagram of a flow, 0: all. The byte at 23 is the protocol, 0: UDP. */
static void put_frame(unsigned payload, unsigned n, unsigned protocol)
{
	struct flow flow = {
		.family = AF_INET, .dst_port = 53, .src_port = 1234, .payload = payload};
	unsigned whole;

	inet_pton(AF_INET, "192.0.2.1", &flow.src4);
	inet_pton(AF_INET, "192.0.2.2", &flow.dst4);
	whole = (unsigned)proto_build(frame, sizeof(frame), &flow, 0);
	if (protocol)
		frame[23] = (uint8_t)protocol;
	put(frame, n ? n : whole);
}

/* Without the path, and without what is libpcap's text. */
static void tell_refusal(const char *message, const char *path)
{
	static const char *const theirs[] = {"cannot read FILE", "packets:", "frames"};
	const char *at = strstr(message, path);
	char text[512];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*sFILE%s", (int)(at - message), message, at + strlen(path));
	for (unsigned i = 0; i < LENGTH(theirs); i++) {
		if (strstr(text, theirs[i]))
			strstr(text, theirs[i])[strlen(theirs[i])] = '\0';
	}
	tell("%s", text);
}

static void tell_capture(void)
{
	char path[] = "/tmp/test_capture_XXXXXX";
	int fd = mkstemp(path), rc;
	struct error err = {};
	unsigned length;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.at, file.n), file.n);
	close(fd);
	capture_free(capture);
	capture = NULL;
	rc = capture_open(&capture, path, &err);
	unlink(path);
	if (rc) {
		assert_int_equal(err.status, STATUS_FAILED);
		tell_refusal(err.message, path);
		return;
	}
	for (unsigned i = 0; i < capture->packets; i++) {
		const uint8_t *at = capture_frame(capture, i, &length);

		assert_memory_equal(at, frame, 23);
		assert_memory_equal(at + 24, frame + 24, length - 24);
		tell("%u of %u at %u,", length, capture_frame_bytes(capture, i),
		     (unsigned)capture->due_ns[i]);
	}
	tell("longest %u in %u", capture->longest, (unsigned)capture->pass_ns);
}

/* The first datagram gets another flow and keeps its source port. */
static void stamp_it(unsigned payload)
{
	struct flow to = {.family = AF_INET, .dst_port = 28779, .src_mac = {2}, .dst_mac = {4}};
	unsigned had, length;
	const uint8_t *out, *at;

	inet_pton(AF_INET, "198.18.0.1", &to.src4);
	inet_pton(AF_INET, "198.18.0.2", &to.dst4);
	capture_stamp(capture, &to);
	out = capture_frame(capture, 0, &length);
	at = proto_udp_payload(out, length, AF_INET, 28779, &had);
	assert_non_null(at);
	assert_int_equal(had, payload);
	assert_memory_equal(out + 26, &to.src4, 4);
	assert_memory_equal(out + 30, &to.dst4, 4);
	assert_int_equal(out[0], 4);
	assert_int_equal(out[34] << 8 | out[35], 1234);
	assert_memory_equal(at + TEXT, frame + 42 + TEXT, payload - TEXT);
	assert_checksums(out + 14, AF_INET);
}

static void take_line(void *arg, const char *verb, char *text)
{
	unsigned n[3] = {};
	struct error err = {};

	sscanf(text, "%u %u %u", &n[0], &n[1], &n[2]);
	if (!strcmp(verb, "case")) {
		file.n = 0;
	} else if (!strcmp(verb, "hex")) {
		put_hex(text);
	} else if (!strcmp(verb, "frame")) {
		put_frame(n[0], n[1], n[2]);
	} else if (!strcmp(verb, "cut")) {
		file.n -= n[0];
	} else if (!strcmp(verb, "open")) {
		tell_capture();
	} else if (capture_measure(capture, AF_INET, &err)) {
		assert_int_equal(err.status, STATUS_USAGE);
		tell("%s", err.message);
	} else {
		assert_string_equal(verb, "stamp");
		tell("%u", capture->payload[0]);
		stamp_it(capture->payload[0]);
	}
}

CASE(recorded)
{
	recorded_stories("tests/fixtures/replay", take_line, NULL);
	capture_free(capture);
}
