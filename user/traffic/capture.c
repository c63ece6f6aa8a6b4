// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "traffic/frames.h"

#define FRAME_MIN 14 /* bytes, an Ethernet header */

static int refuse(struct error *err, const char *path, uint32_t n, const char *hint,
		  const char *what)
{
	return error_set(err, STATUS_FAILED, -EINVAL, hint, "%s: packet %u %s", path, n + 1, what);
}

static int check(const struct pcap_pkthdr *head, const char *path, uint32_t n, struct error *err)
{
	char what[96];

	if (head->caplen < head->len) {
		snprintf(what, sizeof(what), "is truncated: %u of its %u bytes were captured",
			 head->caplen, head->len);
		return refuse(err, path, n, "capture whole packets: tcpdump -s 0", what);
	}
	if (head->caplen < FRAME_MIN)
		return refuse(err, path, n, NULL, "is shorter than an Ethernet header");
	if (head->caplen > UINT16_MAX)
		return refuse(err, path, n, NULL, "is longer than 65535 bytes");
	if (head->ts.tv_sec < 0 || head->ts.tv_sec > UINT32_MAX || head->ts.tv_usec < 0 ||
	    head->ts.tv_usec >= 1000000000)
		return refuse(err, path, n, "editcap -t can correct "
					    "times", "has an impossible time");
	return 0;
}

/* Grows the arrays to make room for one more packet and its bytes. */
static int grow(struct capture *c, uint64_t *room, unsigned bytes)
{
	c->at = list_room(c->at, c->packets + 1, sizeof(*c->at));
	c->due_ns = list_room(c->due_ns, c->packets, sizeof(*c->due_ns));
	if (!c->data || c->at[c->packets] + bytes > *room) {
		uint64_t more = *room ? *room * 2 : 1 << 20;
		uint8_t *data = realloc(c->data, more);

		if (!data)
			return -ENOMEM;
		c->data = data;
		*room = more;
	}
	return 0;
}

static void add(struct capture *c, const struct pcap_pkthdr *head, const uint8_t *bytes,
		int64_t *first_ns)
{
	int64_t ns = (int64_t)head->ts.tv_sec * 1000000000 + head->ts.tv_usec; /* nanoseconds */
	uint64_t last = c->packets ? c->due_ns[c->packets - 1] : 0;

	if (!c->packets)
		*first_ns = ns;
	ns -= *first_ns;
	memcpy(c->data + c->at[c->packets], bytes, head->caplen);
	c->due_ns[c->packets] = ns > 0 && (uint64_t)ns > last ? (uint64_t)ns : last;
	c->at[c->packets + 1] = c->at[c->packets] + head->caplen;
	c->packets++;
	if (head->caplen > c->longest)
		c->longest = head->caplen;
}

static int read_all(struct capture *c, pcap_t *file, const char *path, struct error *err)
{
	struct pcap_pkthdr *head;
	const uint8_t *bytes;
	uint64_t room = 0;
	int64_t first_ns = 0;
	int rc;

	if (pcap_datalink(file) != DLT_EN10MB)
		return error_set(err, STATUS_FAILED, -EINVAL, NULL,
				 "%s: its packets are not Ethernet frames but %s", path,
				 pcap_datalink_val_to_description_or_dlt(pcap_datalink(file)));
	c->at = list_room(NULL, 0, sizeof(*c->at));
	while ((rc = pcap_next_ex(file, &head, &bytes)) == 1) {
		rc = check(head, path, c->packets, err);
		if (rc)
			return rc;
		if (c->packets == CAPTURE_PACKETS_MAX ||
		    c->at[c->packets] + head->caplen > CAPTURE_BYTES_MAX)
			return error_set(err, STATUS_FAILED, -EFBIG, "cut it: editcap -c",
					 "%s is too large: at most %u packets and 1 GiB", path,
					 CAPTURE_PACKETS_MAX);
		if (grow(c, &room, head->caplen))
			return error_memory(err);
		add(c, head, bytes, &first_ns);
	}
	if (rc == PCAP_ERROR)
		return error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s: after %u packets: %s",
				 path, c->packets, pcap_geterr(file));
	if (!c->packets)
		return error_set(err, STATUS_FAILED, -ENODATA, NULL, "%s has no packets", path);
	return 0;
}

int capture_open(struct capture **out, const char *path, struct error *err)
{
	char why[PCAP_ERRBUF_SIZE] = "";
	pcap_t *file =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, why);
	struct capture *c;
	uint64_t last;
	int rc;

	if (!file)
		return error_set(err, STATUS_FAILED, -EINVAL, NULL, "cannot read %s: %s", path,
				 !strncmp(why, path, strlen(path)) && why[strlen(path)] == ':'
					 ? why + strlen(path) + 2
					 : why);
	c = mem_new(c);
	rc = read_all(c, file, path, err);
	pcap_close(file);
	if (rc) {
		capture_free(c);
		return rc;
	}
	last = c->due_ns[c->packets - 1];
	c->pass_ns = last + (c->packets > 1 ? last / (c->packets - 1) : 0) + 1;
	*out = c;
	return 0;
}

int capture_measure(struct capture *c, int family, struct error *err)
{
	c->payload = mem_zero(c->packets, sizeof(*c->payload));
	c->payload_at = mem_zero(c->packets, sizeof(*c->payload_at));
	for (uint32_t i = 0; i < c->packets; i++) {
		unsigned length, payload;
		const uint8_t *frame = capture_frame(c, i, &length);
		const uint8_t *at = proto_udp_payload(frame, length, family, 0, &payload);

		if (!at || payload < STAMP_LEN)
			return error_usage(
				err,
				"leave other packets out of the file (tcpdump -r IN -w OUT udp)",
				"--sequence-header: packet %u of the file is no whole IPv%c UDP datagram "
				"with room for a stamp (%u bytes)",
				i + 1, family == AF_INET6 ? '6' : '4', STAMP_LEN);
		c->payload[i] = (uint16_t)payload;
		c->payload_at[i] = (uint16_t)(at - frame);
	}
	return 0;
}

void capture_stamp(struct capture *c, const struct flow *flow)
{
	for (uint32_t i = 0; i < c->packets; i++)
		frame_readdress(c->data + c->at[i], c->payload_at[i], c->payload[i], flow);
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	free(c->at);
	free(c->data);
	free(c->due_ns);
	free(c->payload);
	free(c->payload_at);
	free(c);
}
