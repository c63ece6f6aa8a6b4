// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/pcapng.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUFFER	   (256u << 10)
#define OTHERS_MAX 4096 /* bytes of a block beside its packet; texts are PCAPNG_COMMENT at most */

enum block { SECTION = 0x0a0d0d0a, INTERFACE = 1, PACKET = 6 };
enum option {
	OPTION_END,
	OPTION_COMMENT,
	OPTION_IF_NAME = 2,
	OPTION_EPB_FLAGS = 2,
	OPTION_IF_DESCRIPTION,
	OPTION_SHB_USERAPPL,
	OPTION_IF_TSRESOL = 9,
};

#define BYTE_ORDER_MAGIC 0x1a2b3c4du
#define RESOLUTION	 9 /* 10^-9 s */

struct interface {
	enum pcapng_link link;
	uint32_t netns, ifindex;
};

struct pcapng {
	int fd, failed; /* failed: -errno */
	bool is_file;
	uint32_t snaplen;
	off_t size;	  /* of the file, in whole blocks */
	uint32_t used;	  /* of the buffer */
	uint32_t block;	  /* where the block begins that is being put together */
	uint64_t written; /* packets */
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
	if (text && *text)
		put_option(p, option, text, strnlen(text, PCAPNG_COMMENT));
}

static uint32_t u32_at(const struct pcapng *p, uint32_t offset)
{
	uint32_t v;

	memcpy(&v, p->buffer + offset, sizeof(v));
	return v;
}

/* Counts the packets of the blocks that are whole in the first `len` bytes. Returns their end. */
static uint32_t count_blocks(struct pcapng *p, uint32_t len)
{
	uint32_t at = 0;

	while (at < len && u32_at(p, at + 4) <= len - at) {
		p->written += u32_at(p, at) == PACKET;
		at += u32_at(p, at + 4);
	}
	return at;
}

/* What was written of the buffer, as a whole. */
static ssize_t write_buffer(const struct pcapng *p)
{
	uint32_t done = 0;

	while (done < p->used) {
		ssize_t n = write(p->fd, p->buffer + done, p->used - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (uint32_t)n;
	}
	return done;
}

int pcapng_flush(struct pcapng *p)
{
	uint32_t done, whole;

	if (p->failed || !p->used)
		return p->failed;
	errno = ENOSPC; /* for a write of 0 bytes */
	done = (uint32_t)write_buffer(p);
	if (done < p->used)
		p->failed = -errno;
	whole = count_blocks(p, done);
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
	static const int64_t length = -1; /* not known */
	int rc = begin_block(p, SECTION, 0);

	if (rc)
		return rc;
	put_u32(p, BYTE_ORDER_MAGIC);
	put(p, version, sizeof(version));
	put(p, &length, sizeof(length));
	put_text(p, OPTION_SHB_USERAPPL, "pktledger " PKTLEDGER_VERSION);
	end_block(p);
	return pcapng_flush(p);
}

static bool is_ours(const struct stat *st)
{
	return !st->st_uid || st->st_uid == geteuid();
}

/*
 * Whoever else owns what is there, a link, file or pipe, could choose what is emptied, or read what
 * is written. So a link is followed only if it is ours or root's, as /dev/stdout is, and nothing is
 * emptied by opening it. Opening a pipe waits for its reader, so its owner is looked at before.
 */
static int open_ours(const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, fd;
	struct stat st;

	if (!lstat(path, &st)) {
		if (!is_ours(&st))
			return -EPERM;
		if (S_ISLNK(st.st_mode))
			return (fd = open(path, flags & ~O_NOFOLLOW, 0600)) < 0 ? -errno : fd;
	}
	fd = open(path, flags, 0600);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && is_ours(&st))
		return fd;
	close(fd); /* it came meanwhile */
	return -EPERM;
}

static int open_file(struct pcapng *p, const char *path)
{
	struct stat st;

	p->fd = open_ours(path);
	if (p->fd < 0)
		return p->fd;
	if (fstat(p->fd, &st))
		return -errno;
	p->is_file = S_ISREG(st.st_mode);
	if (p->is_file && (fchmod(p->fd, 0600) || ftruncate(p->fd, 0))) /* it may have been there */
		return -errno;
	return put_section(p);
}

int pcapng_create(struct pcapng **out, const char *path, uint32_t snaplen, struct error *err)
{
	struct pcapng *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	p->snaplen = snaplen;
	rc = open_file(p, path);
	if (rc) {
		pcapng_close(p);
		return error_set(err, STATUS_FAILED, rc,
				 rc == -EPERM ? "name one that is not there yet" : NULL,
				 "cannot write %s: %s", path,
				 rc == -EPERM ? "it belongs to another user" : strerror(-rc));
	}
	*out = p;
	return 0;
}

static int add_interface(struct pcapng *p, const struct interface *i, const char *name,
			 const char *description)
{
	const uint16_t link[2] = {(uint16_t)i->link, 0};
	const uint8_t resolution = RESOLUTION;
	struct interface *more = realloc(p->interfaces, (p->n + 1) * sizeof(*more));
	int rc;

	if (!more)
		return -ENOMEM;
	p->interfaces = more;
	rc = begin_block(p, INTERFACE, 0);
	if (rc)
		return rc;
	put(p, link, sizeof(link));
	put_u32(p, p->snaplen);
	put_text(p, OPTION_IF_NAME, name);
	put_text(p, OPTION_IF_DESCRIPTION, description);
	put_option(p, OPTION_IF_TSRESOL, &resolution, sizeof(resolution));
	end_block(p);
	p->interfaces[p->n] = *i;
	p->last = p->n++;
	return (int)p->last;
}

static bool same(const struct interface *a, const struct interface *b)
{
	return a->link == b->link && a->netns == b->netns && a->ifindex == b->ifindex;
}

int pcapng_interface(struct pcapng *p, enum pcapng_link link, uint32_t netns, uint32_t ifindex,
		     const char *name, const char *description)
{
	const struct interface wanted = {link, netns, ifindex};

	if (p->last < p->n && same(&p->interfaces[p->last], &wanted))
		return (int)p->last;
	for (unsigned i = 0; i < p->n; i++) {
		if (same(&p->interfaces[i], &wanted)) {
			p->last = i;
			return (int)i;
		}
	}
	return add_interface(p, &wanted, name, description);
}

int pcapng_packet(struct pcapng *p, const struct pcapng_packet *packet)
{
	const uint32_t flags = packet->direction;
	int rc;

	if (packet->len > BUFFER - OTHERS_MAX)
		return -EMSGSIZE;
	rc = begin_block(p, PACKET, packet->len);
	if (rc)
		return rc;
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
