// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/capfile.h"

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX  (16u << 20) /* bytes: no packet is as long */
#define IFACES_MAX 4096

enum block { SECTION = 0x0a0d0d0a, INTERFACE = 1, SIMPLE = 3, STATISTICS = 5, PACKET = 6 };
enum option { OPTION_COMMENT = 1, OPTION_TSRESOL = 9, OPTION_IFDROP = 5, OPTION_OSDROP = 7 };

#define ORDER_MAGIC	 0x1a2b3c4du
#define PCAP_MAGIC	 0xa1b2c3d4u
#define PCAP_MAGIC_NS	 0xa1b23c4du
#define PCAP_RECORD	 16
#define BLOCK_FRAME	 12 /* type and length before, length behind */
#define PACKET_HEAD	 20
#define RESOLUTION_MICRO 6

struct iface {
	unsigned link;
	uint8_t resolution; /* 10^-n s, or with the highest bit 2^-n s */
};

struct capfile {
	const char *path;
	FILE *f;
	bool swapped;
	struct iface *iface;
	unsigned ifaces;
	uint8_t *body; /* of the block that is read */
	uint32_t room;
	int (*each)(void *arg, const struct capfile_packet *p);
	void *arg;
	struct capfile_state *state;
	struct error *err;
};

static uint32_t u32_at(const struct capfile *c, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return c->swapped ? bswap_32(v) : v;
}

static uint16_t u16_at(const struct capfile *c, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return c->swapped ? bswap_16(v) : v;
}

static int spoilt(struct capfile *c, const char *what)
{
	return error_set(c->err, STATUS_FAILED, -EINVAL, NULL,
			 "%s is spoilt after %llu packets: %s", c->path,
			 (unsigned long long)c->state->packets, what);
}

/* 1: `len` bytes are in the body; 0: the file ends here, or is cut; -errno. */
static int read_body(struct capfile *c, uint32_t len)
{
	if (len > BLOCK_MAX)
		return spoilt(c, "a block is longer than any can be");
	if (!c->body || len > c->room) {
		uint8_t *more = realloc(c->body, len + 1); /* of an empty packet too */

		if (!more)
			return error_set(c->err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
		c->body = more;
		c->room = len;
	}
	if (fread(c->body, 1, len, c->f) == len)
		return 1;
	c->state->cut = true;
	return ferror(c->f)
		       ? error_set(c->err, STATUS_FAILED, -EIO, NULL, "cannot read %s", c->path)
		       : 0;
}

/* The value of the first option of that code, from `at` on; NULL: none. */
static const uint8_t *find_option(const struct capfile *c, uint32_t at, uint32_t end,
				  enum option wanted, uint16_t *len)
{
	while (at + 4 <= end) {
		uint16_t code = u16_at(c, c->body + at);

		*len = u16_at(c, c->body + at + 2);
		at += 4;
		if (!code || *len > end - at)
			break;
		if (code == wanted)
			return c->body + at;
		at += (*len + 3u) & ~3u;
	}
	return NULL;
}

static int add_interface(struct capfile *c, uint32_t len)
{
	struct iface *more;
	const uint8_t *value;
	uint16_t n;

	if (len < 8 || c->ifaces == IFACES_MAX)
		return spoilt(c, "an interface is not told as it should be");
	more = realloc(c->iface, (c->ifaces + 1) * sizeof(*more));
	if (!more)
		return error_set(c->err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	c->iface = more;
	value = find_option(c, 8, len, OPTION_TSRESOL, &n);
	more[c->ifaces++] = (struct iface){.link = u16_at(c, c->body),
					   .resolution = value && n ? *value : RESOLUTION_MICRO};
	return 1;
}

/* From units of an interface to ns. */
static uint64_t to_ns(uint64_t units, uint8_t resolution)
{
	unsigned n = resolution & 0x7f;

	if (resolution & 0x80)
		return n > 63 ? 0 : (uint64_t)(((unsigned __int128)units * 1000000000) >> n);
	for (; n > 9; n--)
		units /= 10;
	for (; n < 9; n++)
		units *= 10;
	return units;
}

static int tell(struct capfile *c, struct capfile_packet *p)
{
	c->state->packets++;
	c->state->shortened += p->len < p->wire_len;
	return c->each(c->arg, p);
}

static int take_packet(struct capfile *c, uint32_t len, int *told)
{
	char comment[CAPFILE_COMMENT] = "";
	struct capfile_packet p = {.comment = comment};
	const uint8_t *value;
	uint32_t iface;
	uint16_t n;

	if (len < PACKET_HEAD)
		return spoilt(c, "a packet is too short");
	iface = u32_at(c, c->body);
	p.len = u32_at(c, c->body + 12);
	p.wire_len = u32_at(c, c->body + 16);
	if (iface >= c->ifaces || p.len > len - PACKET_HEAD)
		return spoilt(c, "a packet is not told as it should be");
	p.bytes = c->body + PACKET_HEAD;
	p.link = c->iface[iface].link;
	p.time_ns = to_ns((uint64_t)u32_at(c, c->body + 4) << 32 | u32_at(c, c->body + 8),
			  c->iface[iface].resolution);
	value = find_option(c, PACKET_HEAD + ((p.len + 3) & ~3u), len, OPTION_COMMENT, &n);
	if (value)
		snprintf(comment, sizeof(comment), "%.*s", n, (const char *)value);
	*told = tell(c, &p);
	return 1;
}

/* What the capture lost itself, of one interface. */
static void take_statistics(struct capfile *c, uint32_t len)
{
	static const enum option drops[] = {OPTION_IFDROP, OPTION_OSDROP};

	for (unsigned i = 0; i < 2 && len >= 12; i++) {
		uint16_t n;
		const uint8_t *value = find_option(c, 12, len, drops[i], &n);
		uint64_t v;

		if (!value || n != sizeof(v))
			continue;
		memcpy(&v, value, sizeof(v));
		c->state->dropped += c->swapped ? bswap_64(v) : v;
	}
}

/* Only the magic behind its length tells the byte order of the section that begins. */
static int begin_section(struct capfile *c, uint8_t head[8])
{
	uint32_t magic;

	if (fread(&magic, 1, sizeof(magic), c->f) != sizeof(magic)) {
		c->state->cut = true;
		return 0;
	}
	if (magic != ORDER_MAGIC && bswap_32(magic) != ORDER_MAGIC)
		return spoilt(c, "a section does not tell its byte order");
	c->swapped = magic != ORDER_MAGIC;
	c->ifaces = 0;
	if (u32_at(c, head + 4) < BLOCK_FRAME + sizeof(magic))
		return spoilt(c, "a section is too short");
	return read_body(c, u32_at(c, head + 4) - 8 - sizeof(magic));
}

/* 1: one block has been read; 0: no more; -errno. */
static int read_block(struct capfile *c, int *told)
{
	uint8_t head[8];
	size_t got = fread(head, 1, sizeof(head), c->f);
	uint32_t len;
	int rc;

	if (got < sizeof(head)) {
		c->state->cut = got;
		return 0;
	}
	if (u32_at(c, head) == SECTION)
		return begin_section(c, head);
	len = u32_at(c, head + 4);
	if (len < BLOCK_FRAME || len % 4)
		return spoilt(c, "a block has no sensible length");
	rc = read_body(c, len - 8);
	if (rc <= 0)
		return rc;
	len -= BLOCK_FRAME;
	switch (u32_at(c, head)) {
	case INTERFACE:
		return add_interface(c, len);
	case PACKET:
		return take_packet(c, len, told);
	case STATISTICS:
		take_statistics(c, len);
		return 1;
	default: /* SIMPLE ones have no time */
		return 1;
	}
}

/* Classic pcap: 1, 0, -errno as read_block(). */
static int read_record(struct capfile *c, unsigned link, bool ns, int *told)
{
	struct capfile_packet p = {.link = link, .comment = ""};
	uint8_t head[PCAP_RECORD];
	size_t got = fread(head, 1, sizeof(head), c->f);
	int rc;

	if (got < sizeof(head)) {
		c->state->cut = got;
		return 0;
	}
	p.len = u32_at(c, head + 8);
	p.wire_len = u32_at(c, head + 12);
	p.time_ns =
		(uint64_t)u32_at(c, head) * 1000000000 + u32_at(c, head + 4) * (ns ? 1ULL : 1000);
	rc = read_body(c, p.len);
	if (rc <= 0)
		return rc;
	p.bytes = c->body;
	*told = tell(c, &p);
	return 1;
}

static int read_classic(struct capfile *c, uint32_t magic)
{
	uint8_t head[20];
	int told = 0, rc;
	bool ns;

	c->swapped = bswap_32(magic) == PCAP_MAGIC || bswap_32(magic) == PCAP_MAGIC_NS;
	ns = (c->swapped ? bswap_32(magic) : magic) == PCAP_MAGIC_NS;
	if (fread(head, 1, sizeof(head), c->f) != sizeof(head)) {
		c->state->cut = true;
		return 0;
	}
	do
		rc = read_record(c, u32_at(c, head + 16) & 0xffff, ns, &told);
	while (rc == 1 && !told);
	return rc < 0 ? rc : told;
}

static int read_pcapng(struct capfile *c)
{
	int told = 0, rc;

	do
		rc = read_block(c, &told);
	while (rc == 1 && !told);
	return rc < 0 ? rc : told;
}

static bool is_classic(uint32_t magic)
{
	return magic == PCAP_MAGIC || magic == PCAP_MAGIC_NS || bswap_32(magic) == PCAP_MAGIC ||
	       bswap_32(magic) == PCAP_MAGIC_NS;
}

bool capfile_is(const char *path)
{
	FILE *f = fopen(path, "re");
	uint32_t magic = 0;
	bool is;

	if (!f)
		return false;
	is = fread(&magic, 1, sizeof(magic), f) == sizeof(magic) &&
	     (magic == SECTION || is_classic(magic));
	fclose(f);
	return is;
}

int capfile_read(const char *path, int (*each)(void *arg, const struct capfile_packet *p),
		 void *arg, struct capfile_state *state, struct error *err)
{
	struct capfile c = {.path = path, .each = each, .arg = arg, .state = state, .err = err};
	uint32_t magic;
	int rc;

	*state = (struct capfile_state){};
	c.f = fopen(path, "re");
	if (!c.f)
		return error_set(err, STATUS_FAILED, -errno, NULL, "cannot open %s: %s", path,
				 strerror(errno));
	if (fread(&magic, 1, sizeof(magic), c.f) != sizeof(magic) ||
	    (magic != SECTION && !is_classic(magic))) {
		rc = error_set(err, STATUS_USAGE, -EINVAL, NULL, "%s is no capture", path);
	} else if (magic == SECTION) {
		rewind(c.f);
		rc = read_pcapng(&c);
	} else {
		rc = read_classic(&c, magic);
	}
	fclose(c.f);
	free(c.iface);
	free(c.body);
	return rc;
}
