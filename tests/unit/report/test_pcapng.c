// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The bytes of a capture, as the format has them. */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cases.h"
#include "report/capfile.h"
#include "recorded.h"
#include "unit/scratch.h"

static uint8_t file[1 << 20];
static size_t size;

static void read_file(void)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	size = fread(file, 1, sizeof(file), f);
	fclose(f);
}

static uint32_t u32(size_t at)
{
	uint32_t v;

	assert_true(at + sizeof(v) <= size);
	memcpy(&v, file + at, sizeof(v));
	return v;
}

static uint16_t u16(size_t at)
{
	return (uint16_t)u32(at); /* options are padded: there are always 4 bytes */
}

/* The begin of block `n`; every one before it is whole, with its length at both ends. */
static size_t block(unsigned n)
{
	size_t at = 0;

	for (;; n--) {
		uint32_t len = u32(at + 4);

		assert_int_equal(len % 4, 0);
		assert_int_equal(u32(at + len - 4), len);
		if (!n)
			return at;
		at += len;
	}
}

/* "block N FROM TO": bytes of a block, in words of 4. */
static void take_line(void *arg, const char *verb, char *text)
{
	unsigned n, from, to;
	size_t at;

	if (sscanf(text, "%u %u %u", &n, &from, &to) != 3)
		return;
	for (at = block(n); from < to; from += 4)
		tell("%08x", ntohl(u32(at + from)));
}

static struct pcapng *create(void)
{
	struct error err = {};
	struct pcapng *p;

	assert_int_equal(pcapng_create(&p, path, 96, &err), 0);
	return p;
}

static const uint8_t bytes[] = {1, 2, 3, 4, 5};

static int add(struct pcapng *p, unsigned interface, const char *comment)
{
	const struct pcapng_packet packet = {
		.interface = interface,
		.time_ns = 0x1122334455667788,
		.bytes = bytes,
		.len = sizeof(bytes),
		.wire_len = 1500,
		.direction = PCAPNG_OUTBOUND,
		.comment = comment,
	};

	return pcapng_packet(p, &packet);
}

CASE_WITH(test_layout, NULL, remove_file)
{
	struct pcapng *p = create();

	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 7, 3, "eth0", "netns a"), 0);
	assert_int_equal(add(p, 0, "why: x"), 0);
	assert_int_equal(pcapng_close(p), 0);
	read_file();
	recorded_stories("tests/fixtures/capture", take_line, NULL);
	assert_int_equal(block(2) + u32(block(2) + 4), size);
}

CASE_WITH(test_interfaces_are_written_once, NULL, remove_file)
{
	struct pcapng *p = create();

	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 7, 3, "a", ""), 0);
	assert_int_equal(pcapng_interface(p, PCAPNG_LINUX_SLL, 7, 3, "a", ""), 1);
	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 8, 3, "", ""), 2);
	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 7, 4, "b", ""), 3);
	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 7, 3, "a", ""), 0);
	assert_int_equal(pcapng_interface(p, PCAPNG_LINUX_SLL, 7, 3, "a", ""), 1);
	assert_int_equal(pcapng_close(p), 0);
	read_file();
	assert_int_equal(u16(block(2) + 8), 113);
	assert_int_equal(block(4) + u32(block(4) + 4), size);
}

CASE_WITH(test_long_texts_and_packets, NULL, remove_file)
{
	static uint8_t large[65535 + 16];
	static char comment[5000];
	struct pcapng_packet packet = {.bytes = large,
				       .len = sizeof(large),
				       .wire_len = sizeof(large),
				       .comment = comment};
	struct pcapng *p = create();

	memset(comment, 'c', sizeof(comment) - 1);
	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 1, 1, comment, comment), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(pcapng_packet(p, &packet), 0);
	packet.len = 1 << 20;
	assert_int_equal(pcapng_packet(p, &packet), -EMSGSIZE);
	assert_int_equal(pcapng_flush(p), 0);
	assert_int_equal(pcapng_written(p), 10);
	assert_int_equal(pcapng_close(p), 0);
	read_file();
	assert_int_equal(block(11) + u32(block(11) + 4), size);
	assert_int_equal(u16(block(11) + 28 + sizeof(large) + 1 + 2), PCAPNG_COMMENT);
}

/* As on a full disk: a write is cut in the middle of a block, the next ones fail. */
CASE_WITH(test_ends_with_a_whole_block, NULL, remove_file)
{
	const struct rlimit small = {1000, RLIM_INFINITY};
	struct rlimit before;
	struct pcapng *p = create();
	unsigned packets = 0;

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(pcapng_interface(p, PCAPNG_ETHERNET, 1, 1, "a", ""), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(add(p, 0, "c"), 0);
	setrlimit(RLIMIT_FSIZE, &small);
	assert_int_equal(pcapng_flush(p), -EFBIG);
	assert_int_equal(add(p, 0, "c"), -EFBIG);
	assert_int_equal(pcapng_flush(p), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &before);
	packets = (unsigned)pcapng_written(p);
	assert_int_equal(pcapng_close(p), -EFBIG);
	read_file();
	assert_in_range(size, 1000 - 60, 1000);
	assert_int_equal(block(1 + packets) + u32(block(1 + packets) + 4), size);
}

CASE_WITH(test_mode_and_errors, NULL, remove_file)
{
	struct error err = {};
	struct pcapng *p;
	struct stat st;
	int fd = open(path, O_CREAT | O_WRONLY, 0644);

	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(fchmod(fd, 0644), 0);
	close(fd);
	p = create();
	assert_int_equal(pcapng_close(p), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	read_file();
	assert_int_equal(u32(4), size);
	assert_int_equal(pcapng_create(&p, "/nonexistent/f", 96, &err), -ENOENT);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_non_null(strstr(err.message, "/nonexistent/f: No such file"));
}

static void is_refused(const char *name)
{
	struct pcapng *p = NULL;
	struct error err = {};

	assert_int_equal(pcapng_create(&p, name, 100, &err), -EPERM);
	assert_int_equal(err.status, STATUS_FAILED);
	assert_non_null(strstr(err.hint, "belongs to another user"));
	assert_null(p);
}

/* A file of another user is not written, and the target of its link is not truncated. */
CASE_WITH(test_of_others, NULL, remove_file)
{
	const uid_t nobody = 65534;
	char link[80], kept[5] = "";
	struct error err = {};
	struct pcapng *p;
	int fd;

	if (geteuid())
		skip();
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mine", 4), 4);
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(lchown(link, nobody, nobody), 0);
	is_refused(link);
	assert_int_equal(pread(fd, kept, 4, 0), 4);
	assert_string_equal(kept, "mine");

	assert_int_equal(lchown(link, 0, 0), 0); /* one's own leads on */
	assert_int_equal(pcapng_create(&p, link, 100, &err), 0);
	assert_int_equal(pcapng_close(p), 0);
	assert_int_equal(pread(fd, kept, 4, 0), 4);
	assert_string_not_equal(kept, "mine");
	assert_int_equal(unlink(link), 0);

	assert_int_equal(fchown(fd, nobody, nobody), 0);
	is_refused(path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(lchown(path, nobody, nobody), 0);
	is_refused(path);
	close(fd);
}

int main(void)
{
	return run_cases(make_dir, remove_dir);
}
