// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "cases.h"
#include "base/json.h"
#include "base/clock.h"
#include "base/file.h"
#include "report/ledgerfile.h"
#include "unit/scratch.h"

static int note(struct ledgerfile *lf, unsigned stream, uint64_t first, uint64_t last,
		const char *outcome, const struct result_cause *cause)
{
	const struct range r = {.first = first, .last = last, .stream = (uint16_t)stream};

	return ledgerfile_range(lf, &r, outcome, cause);
}

#define SCHEMA "pktledger/run/1"

static struct ledgerfile *opened(void)
{
	struct ledgerfile *lf;
	struct error err = {0};

	assert_int_equal(ledgerfile_open(&lf, path, &err), 0);
	return lf;
}

/* So many ns are kept. */
static struct ledgerfile *opened_to_keep(uint64_t ns)
{
	struct ledgerfile *lf = opened();

	assert_int_equal(ledgerfile_keep(lf, ns, &(struct error){0}), 0);
	return lf;
}

static void closed(struct ledgerfile *lf)
{
	assert_int_equal(ledgerfile_close(lf, &(struct error){0}), 0);
}

static char seen[262144]; /* the JSON of all complete lines, one per line */

static int collect(void *arg, const char *json, size_t len)
{
	size_t n = strlen(seen);

	(void)arg;
	assert_true(n + len + 2 < sizeof(seen));
	snprintf(seen + n, sizeof(seen) - n, "%.*s\n", (int)len, json);
	return 0;
}

static struct ledgerfile_state read_back(void)
{
	struct ledgerfile_state state;
	struct error err = {0};

	*seen = '\0';
	assert_int_equal(ledgerfile_read(path, collect, NULL, &state, &err), 0);
	return state;
}

static void write_run(unsigned n)
{
	const struct result_cause full = {.stage = STAGE_RCVBUF,
					  .reason = "SOCKET_RCVBUFF",
					  .location = "udp_rcv",
					  .ifname = "v-rx",
					  .netns = "rx",
					  .direction = "rx"};
	struct json_object *data = json_object_new_object();
	struct result_cause same = full; /* elsewhere in memory after each reading of the causes */
	struct ledgerfile *lf;

	json_put_u64(data, "n", n);
	lf = opened();
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	assert_int_equal(note(lf, 7, 0, 9, "delivered", NULL), 0);
	assert_int_equal(note(lf, 7, 10, 19, "delivered", NULL), 0);
	assert_int_equal(note(lf, 7, 20, 20, "dropped", &full), 0);
	assert_int_equal(ledgerfile_interval(lf, data), 0);
	assert_int_equal(note(lf, 7, 21, 21, "dropped", &same), 0);
	assert_int_equal(note(lf, 8, 22, UINT64_MAX, "unaccounted", NULL), 0);
	assert_int_equal(ledgerfile_event(lf, "end", NULL, data), 0);
	closed(lf);
	json_object_put(data);
}

#define RUN(n)                                                                                     \
	"{\"event\":\"start\",\"schema\":\"" SCHEMA "\",\"data\":{\"n\":" n "}}\n"                 \
	"{\"event\":\"outcome\",\"data\":{\"id\":0,\"outcome\":\"delivered\"}}\n"                  \
	"{\"event\":\"outcome\",\"data\":{\"id\":1,\"outcome\":\"dropped\",\"stage\":\"rcvbuf\","  \
	"\"reason\":\"SOCKET_RCVBUFF\",\"location\":\"udp_rcv\",\"ifname\":\"v-rx\","              \
	"\"netns\":\"rx\",\"direction\":\"rx\"}}\n"                                                \
	"{\"event\":\"outcomes\",\"data\":{\"stream\":7,\"ranges\":[[0,19,0],[20,20,1]]}}\n"       \
	"{\"event\":\"interval\",\"data\":{\"n\":" n "}}\n"                                        \
	"{\"event\":\"outcome\",\"data\":{\"id\":2,\"outcome\":\"unaccounted\"}}\n"                \
	"{\"event\":\"outcomes\",\"data\":{\"stream\":7,\"ranges\":[[21,21,1]]}}\n"                \
	"{\"event\":\"outcomes\",\"data\":{\"stream\":8,\"ranges\":[[22,18446744073709551615,2]]}" \
	"}\n"                                                                                      \
	"{\"event\":\"end\",\"data\":{\"n\":" n "}}\n"

/* Ledgers that there are have this one. */
CASE(crc_is_of_ieee_802_3)
{
	assert_int_equal(crc32_z(0, (const void *)"123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_z(0, (const void *)"", 0), 0);
}

CASE_WITH(runs_are_appended, NULL, remove_file)
{
	struct ledgerfile_state st;
	struct stat file;

	write_run(1);
	st = read_back();
	assert_string_equal(seen, RUN("1"));
	assert_int_equal(st.lines, 9);
	assert_int_equal(st.bad, 0);
	assert_false(st.cut);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0600);
	write_run(2);
	st = read_back();
	assert_string_equal(seen, RUN("1") RUN("2"));
	assert_int_equal(st.lines, 18);
	assert_false(st.cut);
}

/* At whatever byte it is cut: the lines before stand, the cut one is named, the next run is whole.
 */
CASE_WITH(any_cut_is_named, NULL, remove_file)
{
	static char whole[4096];
	FILE *f;
	size_t size;

	write_run(1);
	f = fopen(path, "r");
	size = fread(whole, 1, sizeof(whole), f);
	fclose(f);
	for (size_t cut = size - 1; cut > 100; cut--) {
		struct ledgerfile_state st;
		size_t line_start = cut;
		uint64_t lines = 0;
		bool clean;

		assert_int_equal(truncate(path, (off_t)cut), 0);
		while (line_start && whole[line_start - 1] != '\n')
			line_start--;
		/* without its LF only, a line is whole */
		clean = line_start == cut || whole[cut] == '\n';
		for (size_t i = 0; i < line_start; i++)
			lines += whole[i] == '\n';
		lines += whole[cut] == '\n';
		st = read_back();
		assert_int_equal(st.lines, lines);
		assert_int_equal(st.cut, !clean);
		if (st.cut) {
			assert_int_equal(st.cut_at, line_start);
			assert_int_equal(st.cut_line, lines + 1);
			assert_int_equal(st.bad, 1);
		}
		write_run(2);
		st = read_back();
		assert_int_equal(st.lines, lines + 9);
		assert_int_equal(st.bad, !clean);
		assert_false(st.cut);
		assert_non_null(strstr(seen, RUN("2")));
		f = fopen(path, "w");
		assert_int_equal(fwrite(whole, 1, size, f), size);
		fclose(f);
	}
}

CASE_WITH(a_changed_byte_is_seen, NULL, remove_file)
{
	struct ledgerfile_state st;
	int fd;

	write_run(1);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, 20), 1);
	close(fd);
	st = read_back();
	assert_int_equal(st.lines, 8);
	assert_int_equal(st.bad, 1);
	assert_false(st.cut);
}

CASE_WITH(what_is_no_ledger_is_left_alone, NULL, remove_file)
{
	struct ledgerfile *lf;
	struct error err = {0};
	struct stat file;
	FILE *f = fopen(path, "w");

	fputs("root:x:0:0\n", f);
	fclose(f);
	assert_int_equal(ledgerfile_open(&lf, path, &err), -EEXIST);
	assert_null(lf);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, 11);
}

/* A hole of any size takes little room on a disk: it must not take as much memory. */
CASE_WITH(a_line_without_end, NULL, remove_file)
{
	FILE *f = fopen(path, "w");
	struct ledgerfile_state st;
	char *text;

	fprintf(f, "%08lx {}\n", crc32_z(0, (const void *)"{}", 2));
	assert_int_equal(fseek(f, 129 << 20, SEEK_CUR), 0);
	fprintf(f, "\n%08lx {}\n", crc32_z(0, (const void *)"{}", 2));
	fclose(f);
	st = read_back();
	assert_int_equal(st.lines, 1);
	assert_true(st.cut && st.cut_line == 2 && st.cut_at == 12);
	assert_int_equal(file_read(path, &text, NULL), -EFBIG);
}

CASE_WITH(only_one_writes, NULL, remove_file)
{
	struct ledgerfile *a, *b;
	struct error err = {0};

	assert_int_equal(ledgerfile_open(&a, path, &err), 0);
	assert_int_equal(ledgerfile_open(&b, path, &err), -EBUSY);
	assert_int_equal(ledgerfile_close(a, NULL), 0);
	err.status = STATUS_OK;
	assert_int_equal(ledgerfile_open(&b, path, &err), 0);
	assert_int_equal(ledgerfile_close(b, NULL), 0);
	assert_int_equal(ledgerfile_close(NULL, NULL), 0);
}

/* An error before the start leaves no file, and does not spoil one. */
CASE_WITH(nothing_begins_with_an_error, NULL, remove_file)
{
	struct json_object *data = json_object_new_object();
	struct ledgerfile *lf;

	for (unsigned i = 0; i < 2; i++) {
		lf = opened();
		assert_int_equal(ledgerfile_event(lf, "error", NULL, data), 0);
		closed(lf);
		if (!i) {
			assert_int_equal(access(path, F_OK), -1);
			write_run(1);
		}
	}
	read_back();
	assert_string_equal(seen, RUN("1"));
	json_object_put(data);
}

CASE(full_disk_is_told)
{
	struct json_object *data = json_object_new_object();
	struct ledgerfile *lf;
	struct error err = {0};

	assert_int_equal(ledgerfile_open(&lf, "/dev/full", &err), 0);
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	assert_int_equal(ledgerfile_interval(lf, data), -ENOSPC);
	assert_int_equal(note(lf, 0, 0, 0, "delivered", NULL), -ENOSPC);
	assert_int_equal(ledgerfile_close(lf, &err), -ENOSPC);
	assert_int_equal(err.status, STATUS_FAILED);
	json_object_put(data);
}

/* Many small ranges, and a line larger than the buffer. */
CASE_WITH(much_is_kept, NULL, remove_file)
{
	struct json_object *data = json_object_new_object();
	static char large[200001];
	struct ledgerfile_state st;
	struct ledgerfile *lf;
	struct error err = {0};
	struct stat file;

	lf = opened();
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	for (uint64_t i = 0; i < 100000; i++)
		note(lf, 1, i, i, i % 2 ? "delivered" : "refused", NULL);
	memset(large, 'x', sizeof(large) - 1);
	json_put_text(data, "large", large);
	assert_int_equal(ledgerfile_event(lf, "end", NULL, data), 0);
	closed(lf);
	assert_int_equal(ledgerfile_read(path, NULL, NULL, &st, &err), 0);
	assert_int_equal(st.lines, 1 + 2 + (100000 + 255) / 256 + 1);
	assert_int_equal(st.bad, 0);
	assert_int_equal(stat(path, &file), 0);
	assert_in_range(file.st_size, 200000 + 100000 * 8, 200000 + 100000 * 17 + 65536);
	json_object_put(data);
}

#define S 1000000000ULL

static uint64_t started; /* ns, CLOCK_REALTIME of the newest start line */
static uint64_t set;	 /* ns by which the clock of the host was set since then */

/* An interval of a second that ended at `ns`, CLOCK_REALTIME. */
static void put_interval(struct ledgerfile *lf, uint64_t ns, uint64_t n)
{
	struct json_object *data = json_object_new_object();
	json_put_u64(data, "time_ns", ns - started);
	json_put_u64(data, "interval_ns", S);
	json_put_text(data, "time", json_time(ns + set));
	json_put_u64(data, "n", n);
	assert_int_equal(ledgerfile_interval(lf, data), 0);
	json_object_put(data);
}

static void put_start(struct ledgerfile *lf, const char *schema, uint64_t ns)
{
	struct json_object *data = json_object_new_object();
	json_put_text(data, "time", json_time(ns));
	assert_int_equal(ledgerfile_start(lf, schema, data), 0);
	json_object_put(data);
	started = ns;
}

/* The content of the file: `starts` start lines, then intervals without a gap up to `last`. */
static uint64_t first_of(uint64_t last, unsigned starts)
{
	struct ledgerfile_state st = read_back();
	unsigned found = 0;
	uint64_t first = 0, n, next = 0;

	assert_int_equal(st.bad, 0);
	for (const char *p = seen; (p = strstr(p, "\"event\":\"start\"")); p++)
		found++;
	assert_int_equal(found, starts);
	assert_int_equal(strncmp(seen, "{\"event\":\"start\"", 16), 0);
	for (const char *p = seen; (p = strstr(p, "\"n\":")); p++) {
		n = strtoull(p + 4, NULL, 10);
		if (!next)
			first = n;
		else
			assert_int_equal(n, next);
		next = n + 1;
	}
	assert_int_equal(next, last + 1);
	return first;
}

/* 32 s are kept, and the lines needed to start with an interval. */
CASE_WITH(the_old_is_dropped, NULL, remove_file)
{
	uint64_t then = when_now() - 241 * S;
	struct ledgerfile *lf;
	struct stat file;

	lf = opened();
	put_start(lf, "pktledger/trace/1", then);
	for (unsigned i = 1; i <= 150; i++)
		put_interval(lf, then + i * S, i);
	closed(lf);
	assert_int_equal(chmod(path, 0640), 0);
	first_of(150, 1);
	/* the next trace reads the file of the previous trace */
	lf = opened_to_keep(32 * S);
	put_start(lf, "pktledger/trace/1", then + 150 * S);
	for (unsigned i = 151; i <= 200; i++) {
		put_interval(lf, then + (i + 40) * S, i);
		if (i == 151) /* one start line, and not two */
			assert_int_equal(first_of(151, 1), 151);
	}
	closed(lf);
	assert_int_equal(first_of(200, 1), 151);
	lf = opened_to_keep(32 * S);
	put_interval(lf, then + 241 * S, 201);
	assert_int_equal(first_of(201, 1), 170);
	closed(lf);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_mode & 0777, 0640);
}

/* Lines of a running trace stay after its start line, even if the start line is old. */
CASE_WITH(a_start_line_stays, NULL, remove_file)
{
	uint64_t then = when_now() - 1000 * S;
	struct ledgerfile *lf;

	lf = opened();
	put_start(lf, "pktledger/trace/1", then);
	for (unsigned i = 1; i <= 990; i++)
		put_interval(lf, then + i * S, i);
	closed(lf);
	lf = opened_to_keep(100 * S);
	put_interval(lf, then + 991 * S, 991);
	assert_int_equal(first_of(991, 1), 892);
	put_start(lf, "pktledger/trace/1", then + 991 * S);
	put_interval(lf, then + 992 * S, 992);
	first_of(992, 2);
	closed(lf);
}

CASE_WITH(others_are_not_dropped, NULL, remove_file)
{
	struct ledgerfile *lf;
	struct error err = {0};

	write_run(1);
	lf = opened();
	assert_int_equal(ledgerfile_keep(lf, S, &err), -EEXIST);
	assert_int_equal(err.status, STATUS_USAGE);
	closed(lf);
	assert_int_equal(read_back().lines, 9);
}

/* Returns the first interval kept of 100 since `before` and 40 since `now`, if 32 s are kept. */
static uint64_t kept_of_two(uint64_t before, uint64_t now)
{
	struct ledgerfile *lf;

	unlink(path);
	lf = opened();
	put_start(lf, "pktledger/trace/1", before);
	for (unsigned i = 1; i <= 100; i++)
		put_interval(lf, before + i * S, i);
	put_start(lf, "pktledger/trace/1", now);
	for (unsigned i = 101; i <= 140; i++)
		put_interval(lf, now + (i - 100) * S, i);
	closed(lf);
	lf = opened_to_keep(32 * S);
	put_interval(lf, now + 41 * S, 141);
	closed(lf);
	return first_of(141, 1);
}

/* Lines with a time in the future are not newer than the lines after them. */
CASE_WITH(the_clock_is_set, NULL, remove_file)
{
	uint64_t now = when_now(), year = 365 * 86400 * S;

	assert_in_range(kept_of_two(now - 100 * S, now), 109, 111);
	assert_in_range(kept_of_two(now + 1000 * S, now), 109, 111);
	assert_in_range(kept_of_two(5 * S, now), 109, 111);
	for (unsigned i = 0; i < 4; i++) {
		set = (uint64_t[]){year, -year, 10 * S, -10 * S}[i];
		assert_in_range(kept_of_two(now - 100 * S, now), 109, 111);
	}
	set = 0;
}

static void write_for_ever(void)
{
	struct ledgerfile *lf;
	struct error err = {0};

	if (ledgerfile_open(&lf, path, &err) || ledgerfile_keep(lf, S / 1000, &err))
		_exit(1);
	put_start(lf, "pktledger/trace/1", when_now());
	for (uint64_t i = 1;; i++) {
		put_interval(lf, when_now() + S, i);
		usleep(20);
	}
}

/*
 * The writer replaces the file thousands of times. After a kill at any time the file is a valid
 * ledger.
 */
CASE_WITH(killed_at_any_moment, NULL, remove_file)
{
	char beside[96];

	for (unsigned i = 0; i < 12; i++) {
		pid_t child = fork();
		struct ledgerfile_state st;

		if (!child)
			write_for_ever();
		for (unsigned ms = 0; access(path, F_OK) && ms < 10000; ms++)
			usleep(1000); /* a busy host has not let it begin yet */
		usleep(3000 + i * 1700);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		st = read_back();
		assert_true(st.bad <= st.cut);
		assert_true(st.lines < 1000);
		assert_true(!st.lines || !strncmp(seen, "{\"event\":\"start\"", 16));
	}
	snprintf(beside, sizeof(beside), "%s.pktledger~", path);
	unlink(beside);
}

int main(void)
{
	return run_cases(make_dir, remove_dir);
}
