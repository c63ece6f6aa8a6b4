// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/capfile.h"

#include <arpa/inet.h>
#include <byteswap.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/num.h"
#include "headers.h"
#include "stamp.h"

enum block { SECTION = 0x0a0d0d0a, INTERFACE = 1, STATISTICS = 5, PACKET = 6 };
enum option {
	OPTION_END,
	OPTION_COMMENT,
	OPTION_IF_NAME = 2,
	OPTION_EPB_FLAGS = 2,
	OPTION_IF_DESCRIPTION,
	OPTION_SHB_USERAPPL,
	OPTION_IFDROP,
	OPTION_OSDROP = 7,
	OPTION_TSRESOL = 9,
};

#define ORDER_MAGIC    0x1a2b3c4du
#define PCAP_MAGIC     0xa1b2c3d4u
#define PCAP_MAGIC_NS  0xa1b23c4du
#define BLOCK_HEAD     12  /* bytes: type, length, and magic number or interface */
#define STATISTICS_MAX 512 /* block size in bytes, more than its counters need */

/* Returns the magic number in host byte order, or 0 if the file is not a capture. */
static uint32_t read_magic(FILE *f)
{
	uint32_t magic = 0;

	if (fread(&magic, sizeof(magic), 1, f) != 1)
		return 0;
	if (magic == bswap_32(PCAP_MAGIC) || magic == bswap_32(PCAP_MAGIC_NS))
		magic = bswap_32(magic);
	return magic == SECTION || magic == PCAP_MAGIC || magic == PCAP_MAGIC_NS ? magic : 0;
}

bool capfile_is(const char *path)
{
	FILE *f = fopen(path, "re");
	bool is = f && read_magic(f);

	if (f)
		fclose(f);
	return is;
}

/* Returns the losses recorded in a statistics block's options. */
static uint64_t losses_in(const uint8_t *option, uint32_t len, bool swapped)
{
	uint64_t sum = 0, v;

	while (len >= 4) {
		uint16_t head[2];
		uint32_t size;

		memcpy(head, option, sizeof(head));
		if (swapped)
			head[0] = bswap_16(head[0]), head[1] = bswap_16(head[1]);
		size = 4 + ((head[1] + 3u) & ~3u);
		if (head[0] == OPTION_END || size > len)
			break;
		if ((head[0] == OPTION_IFDROP || head[0] == OPTION_OSDROP) && head[1] == sizeof(v)) {
			memcpy(&v, option + 4, sizeof(v));
			sum += swapped ? bswap_64(v) : v;
		}
		option += size;
		len -= size;
	}
	return sum;
}

/*
 * Returns the number of packets that a pcapng capture dropped. libpcap skips these statistics. An
 * invalid block ends the search, and libpcap reports it.
 */
static uint64_t dropped_by_capture(FILE *f)
{
	uint8_t body[STATISTICS_MAX];
	bool swapped = false;
	uint32_t head[3];
	uint64_t sum = 0;

	rewind(f);
	while (fread(head, sizeof(head), 1, f) == 1) {
		uint32_t len;

		if (head[0] == SECTION)
			swapped = head[2] != ORDER_MAGIC;
		len = swapped ? bswap_32(head[1]) : head[1];
		if (len < BLOCK_HEAD || len > INT32_MAX)
			break;
		len -= BLOCK_HEAD;
		if ((swapped ? bswap_32(head[0]) : head[0]) != STATISTICS ||
		    len > sizeof(body) || len < 12) {
			if (fseek(f, len, SEEK_CUR))
				break;
			continue;
		}
		if (fread(body, 1, len, f) != len)
			break;
		/* the options are between the time and the repeated length */
		sum += losses_in(body + 8, len - 12, swapped);
	}
	return sum;
}

/* Reads all packets. Returns 0, the result of `each`, or an error. */
static int read_packets(pcap_t *file, int (*each)(void *arg, const struct capfile_packet *p),
			void *arg, struct capfile_state *state, const char *path, struct error *err)
{
	struct pcap_pkthdr *head;
	const uint8_t *bytes;
	int rc, stop = 0;

	while (!stop && (rc = pcap_next_ex(file, &head, &bytes)) == 1) {
		const struct capfile_packet p = {
			.time_ns = (uint64_t)head->ts.tv_sec * 1000000000 + (uint64_t)head->ts.tv_usec,
			.bytes = bytes,
			.len = head->caplen,
			.wire_len = head->len,
			.link = (unsigned)pcap_datalink(file),
		};

		state->packets++;
		stop = each(arg, &p);
	}
	if (stop || rc == PCAP_ERROR_BREAK)
		return stop;
	state->cut = !strncmp(pcap_geterr(file), "truncated", 9);
	if (state->cut)
		return 0;
	return error_set(err, STATUS_FAILED, -EINVAL, NULL, "%s is damaged after %s: %s", path,
			 fmt_many(state->packets, "packet"), pcap_geterr(file));
}

int capfile_read(const char *path, int (*each)(void *arg, const struct capfile_packet *p),
		 void *arg, struct capfile_state *state, struct error *err)
{
	FILE *f = fopen(path, "re");
	char why[PCAP_ERRBUF_SIZE];
	uint32_t magic;
	pcap_t *file;
	int rc;

	*state = (struct capfile_state){};
	if (!f)
		return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot open %s", path);
	magic = read_magic(f);
	if (magic == SECTION)
		state->dropped = dropped_by_capture(f);
	rewind(f);
	file = magic ? pcap_fopen_offline_with_tstamp_precision(f, PCAP_TSTAMP_PRECISION_NANO, why)
		     : NULL;
	if (!file) {
		fclose(f);
		return magic ? error_set(err, STATUS_FAILED, -EINVAL, NULL, "cannot read %s: %s", path,
					 why)
			     : error_usage(err, NULL, "%s is not a capture", path);
	}
	rc = read_packets(file, each, arg, state, path, err);
	pcap_close(file); /* also closes f */
	return rc;
}

/* Packet headers */

/* Returns where to start parsing headers: after the link-layer header. */
static struct headers begin_headers(const struct capfile_packet *p)
{
	static const struct {
		unsigned link;
		enum header next;
		uint8_t at, type_at; /* offsets of the IP header and its Ethertype */
	} links[] = {
		{DLT_EN10MB, HEADER_ETHERNET, 0, 0}, {DLT_LINUX_SLL, HEADER_IP, 16, 14},
		{DLT_LINUX_SLL2, HEADER_IP, 20, 0},		{DLT_RAW, HEADER_IP, 0, 0},
	};

	for (unsigned i = 0; i < LENGTH(links); i++) {
		if (links[i].link != p->link || p->len < links[i].at)
			continue;
		return (struct headers){
			.at = links[i].at,
			.type = links[i].at ? get16(p->bytes + links[i].type_at) : 0,
			.next = links[i].next,
		};
	}
	return (struct headers){.next = HEADER_UNKNOWN};
}

/* Reads the UDP payload, up to the length given by the IP header. */
static void read_udp(struct datagram *d, const struct headers *h)
{
	const uint32_t at = h->l4 - h->l3, whole = h->bytes > at ? h->bytes - at : 0;

	if (d->ip_len < at + UDP_HLEN || whole < UDP_HLEN)
		return;
	d->flow.src_port = htons(h->src_port);
	d->flow.dst_port = htons(h->dst_port);
	d->payload = d->ip + at + UDP_HLEN;
	d->payload_sent = h->length > UDP_HLEN ? h->length - UDP_HLEN : 0;
	d->payload_len = d->ip_len - at - UDP_HLEN;
	if (d->payload_len > whole - UDP_HLEN)
		d->payload_len = whole - UDP_HLEN;
}

void datagram_read(struct datagram *d, const struct capfile_packet *p)
{
	struct headers h = begin_headers(p);

	while (h.at <= p->len && headers_step(&h, p->bytes + h.at, p->len - h.at))
		;
	*d = (struct datagram){};
	if (!h.version)
		return;
	d->ip = p->bytes + h.l3;
	d->ip_len = p->len - h.l3;
	d->ip_wire_len = p->wire_len > h.l3 ? p->wire_len - h.l3 : 0;
	if (h.bytes < d->ip_wire_len)
		d->ip_wire_len = h.bytes;
	if (h.bytes < d->ip_len)
		d->ip_len = h.bytes;
	d->flow.family = h.version == 4 ? AF_INET : AF_INET6;
	d->flow.proto = h.proto;
	headers_addresses(h.version, d->ip, d->flow.src, d->flow.dst);
	d->id = h.version == 4 ? (uint16_t)h.id : 0;
	if (h.proto == IPPROTO_UDP && h.next == HEADER_PAYLOAD)
		read_udp(d, &h);
}

/* Packet identification */

#define ID_BYTES    32 /* payload bytes, enough to include an application's sequence number */
#define RTP_LEN	    12
#define RTP_VERSION 2

/* splitmix64 finalizer. */
static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return v ^ v >> 31;
}

static uint64_t add(uint64_t hash, uint64_t v)
{
	return mix(hash ^ (v + 0x9e3779b97f4a7c15ULL));
}

static uint64_t add_bytes(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	for (; len; len -= len < 8 ? len : 8, bytes += 8) {
		uint64_t v = 0;

		memcpy(&v, bytes, len < 8 ? len : 8);
		hash = add(hash, v);
	}
	return hash;
}

/*
 * Hashes packet bytes. Leaves out addresses, TTL and checksums, because NAT and routers change
 * them.
 */
static enum packetid by_bytes(const struct datagram *d, uint64_t *key)
{
	const uint8_t *bytes = d->payload;
	uint32_t have = d->payload_len, sent = d->payload_sent;
	uint64_t hash;

	if (!d->flow.family)
		return PACKETID_OTHER;
	if (!bytes) { /* use the bytes that follow the IP header, without IPv4 options */
		uint32_t head = d->flow.family == AF_INET ? (d->ip[0] & 15) * 4u : 40;

		bytes = d->ip + head;
		have = d->ip_len > head ? d->ip_len - head : 0;
		sent = d->ip_wire_len > head ? d->ip_wire_len - head : 0;
	}
	if (have < (sent < ID_BYTES ? sent : ID_BYTES))
		return PACKETID_CUT;
	hash = add(d->flow.proto, (uint64_t)d->id << 32 | d->ip_wire_len);
	hash = add(hash, (uint64_t)d->flow.src_port << 16 | d->flow.dst_port);
	*key = add_bytes(hash, bytes, sent < ID_BYTES ? sent : ID_BYTES);
	return PACKETID_KNOWN;
}

enum packetid packetid_of(enum packetid_method method, const struct datagram *d, uint64_t *key)
{
	const uint32_t len = method == PACKETID_STAMP ? STAMP_LEN : RTP_LEN;
	struct stamp stamp;
	bool known;

	if (method == PACKETID_BYTES)
		return by_bytes(d, key);
	if (!d->payload || d->payload_sent < len)
		return PACKETID_OTHER;
	if (d->payload_len < len)
		return PACKETID_CUT;
	if (method == PACKETID_STAMP) {
		memcpy(&stamp, d->payload, sizeof(stamp));
		*key = mix(stamp.word);
		known = ntohs(stamp.magic) == STAMP_MAGIC && stamp.check == ~stamp.word;
	} else {
		*key = add_bytes(0, d->payload + 2, RTP_LEN - 2);
		/* RTCP uses packet types 64 to 95 and has no sequence numbers (RFC 5761) */
		known = d->payload[0] >> 6 == RTP_VERSION && (d->payload[1] & 0x60) != 0x40;
	}
	return known ? PACKETID_KNOWN : PACKETID_OTHER;
}

const char *const packetid_names[] = {
	[PACKETID_STAMP] = "header", [PACKETID_RTP] = "rtp", [PACKETID_BYTES] = "bytes"};

/* Writer */

#define BUFFER	   (256u << 10)
#define OTHERS_MAX 4096 /* bytes of a block without its packet (texts: PCAPNG_COMMENT at most) */

#define RESOLUTION 9 /* 10^-9 s */

struct interface {
	enum pcapng_link link;
	uint32_t netns, ifindex;
};

struct pcapng {
	int fd, failed; /* failed: -errno of a failed write, or 0 */
	bool is_file;
	uint32_t snaplen;
	off_t size;	  /* bytes in the file, complete blocks only */
	uint32_t used;	  /* bytes in the buffer */
	uint32_t block;	  /* offset of the block being built */
	uint64_t written; /* packets written */
	struct interface *interfaces;
	unsigned n, last;
	uint8_t buffer[BUFFER];
};

static void put(struct pcapng *p, const void *from, uint32_t len)
{
	static const uint8_t zero[4];
	uint32_t pad = -len & 3;

	memcpy(p->buffer + p->used, from, len);
	memcpy(p->buffer + p->used + len, zero, pad);
	p->used += len + pad;
}

static void put_u32(struct pcapng *p, uint32_t v)
{
	put(p, &v, sizeof(v));
}

static void put_option(struct pcapng *p, enum option option, const void *value, size_t len)
{
	const uint16_t head[2] = {(uint16_t)option, (uint16_t)len};

	put(p, head, sizeof(head));
	put(p, value, (uint32_t)len);
}

static void put_text(struct pcapng *p, enum option option, const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len)
		put_option(p, option, text, len < PCAPNG_COMMENT ? len : PCAPNG_COMMENT);
}

static uint32_t buffered(const struct pcapng *p, uint32_t offset)
{
	uint32_t v;

	memcpy(&v, p->buffer + offset, sizeof(v));
	return v;
}

int pcapng_flush(struct pcapng *p)
{
	uint32_t done, whole = 0;

	if (p->failed || !p->used)
		return p->failed;
	done = (uint32_t)file_write(p->fd, p->buffer, p->used);
	if (done < p->used)
		p->failed = -errno;
	/* find the end of the last complete block in the file */
	while (whole < done && buffered(p, whole + 4) <= done - whole) {
		p->written += buffered(p, whole) == PACKET;
		whole += buffered(p, whole + 4);
	}
	p->size += whole;
	if (whole < done && p->is_file && ftruncate(p->fd, p->size))
		p->failed = -errno;
	p->used = 0;
	return p->failed;
}

static int begin_block(struct pcapng *p, enum block type, uint32_t packet_len)
{
	if (!p->failed && p->used + packet_len + OTHERS_MAX > BUFFER)
		pcapng_flush(p);
	if (p->failed)
		return p->failed;
	p->block = p->used;
	put_u32(p, type);
	put_u32(p, 0);
	return 0;
}

static void end_block(struct pcapng *p)
{
	uint32_t len;

	put_option(p, OPTION_END, "", 0);
	len = p->used + (uint32_t)sizeof(len) - p->block;
	memcpy(p->buffer + p->block + sizeof(len), &len, sizeof(len));
	put_u32(p, len);
}

static int put_section(struct pcapng *p)
{
	static const uint16_t version[2] = {1, 0};
	static const int64_t length = -1; /* -1: unknown length */

	begin_block(p, SECTION, 0);
	put_u32(p, ORDER_MAGIC);
	put(p, version, sizeof(version));
	put(p, &length, sizeof(length));
	put_text(p, OPTION_SHB_USERAPPL, "pktledger " PKTLEDGER_VERSION);
	end_block(p);
	return pcapng_flush(p);
}

int pcapng_create(struct pcapng **out, const char *path, uint32_t snaplen, struct error *err)
{
	struct pcapng *p = mem_new(p);
	struct stat st;
	int rc;

	p->snaplen = snaplen;
	p->fd = file_open_ours(path, O_WRONLY);
	rc = p->fd < 0 ? p->fd : fstat(p->fd, &st) ? -errno : 0;
	if (!rc) {
		p->is_file = S_ISREG(st.st_mode);
		/* the file may have existed before */
		rc = p->is_file && (fchmod(p->fd, 0600) || ftruncate(p->fd, 0)) ? -errno
										: put_section(p);
	}
	if (rc) {
		pcapng_close(p);
		return error_errno(err, STATUS_FAILED, rc, rc == -EPERM ? FILE_OF_OTHERS : NULL,
				   "cannot write %s", path);
	}
	*out = p;
	return 0;
}

int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description)
{
	const uint16_t head[2] = {(uint16_t)link, 0};
	const uint8_t resolution = RESOLUTION;

	for (unsigned i = 0; p->n && i <= p->n; i++) { /* often the same as the last interface */
		unsigned at = i ? i - 1 : p->last;
		const struct interface *known = &p->interfaces[at];

		if (known->link == link && known->netns == netns && known->ifindex == ifindex) {
			p->last = at;
			return (int)at;
		}
	}
	if (begin_block(p, INTERFACE, 0))
		return p->failed;
	put(p, head, sizeof(head));
	put_u32(p, p->snaplen);
	put_text(p, OPTION_IF_NAME, name);
	put_text(p, OPTION_IF_DESCRIPTION, description);
	put_option(p, OPTION_TSRESOL, &resolution, sizeof(resolution));
	end_block(p);
	p->interfaces = list_room(p->interfaces, p->n, sizeof(*p->interfaces));
	p->interfaces[p->n] = (struct interface){link, netns, ifindex};
	p->last = p->n++;
	return (int)p->last;
}

int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet)
{
	const uint32_t flags = packet->direction;

	if (packet->len > BUFFER - OTHERS_MAX)
		return -EMSGSIZE;
	if (begin_block(p, PACKET, packet->len))
		return p->failed;
	put_u32(p, packet->interface);
	put_u32(p, (uint32_t)(packet->time_ns >> 32));
	put_u32(p, (uint32_t)packet->time_ns);
	put_u32(p, packet->len);
	put_u32(p, packet->wire_len);
	put(p, packet->bytes, packet->len);
	put_text(p, OPTION_COMMENT, packet->comment);
	if (flags)
		put_option(p, OPTION_EPB_FLAGS, &flags, sizeof(flags));
	end_block(p);
	return 0;
}

uint64_t pcapng_written(const struct pcapng *p)
{
	return p->written;
}

int pcapng_close(struct pcapng *p)
{
	int rc;

	if (!p)
		return 0;
	rc = p->fd < 0 ? 0 : pcapng_flush(p);
	if (p->fd >= 0 && close(p->fd) && !rc)
		rc = -errno;
	free(p->interfaces);
	free(p);
	return rc;
}
