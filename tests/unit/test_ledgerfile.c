// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json_put.h"
#include "out/crc32.h"
#include "out/ledgerfile.h"

#define SCHEMA "pktledger/run/1"

static char dir[] = "/tmp/pktledger-test-XXXXXX";
static char path[64];
static char seen[65536]; /* the JSON of all whole lines, a line each */

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
	struct error err = {0};

	json_put_u64(data, "n", n);
	assert_int_equal(ledgerfile_open(&lf, path, &err), 0);
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	assert_int_equal(ledgerfile_fates(lf, 7, 0, 9, "delivered", NULL), 0);
	assert_int_equal(ledgerfile_fates(lf, 7, 10, 19, "delivered", NULL), 0);
	assert_int_equal(ledgerfile_fates(lf, 7, 20, 20, "dropped", &full), 0);
	assert_int_equal(ledgerfile_interval(lf, data), 0);
	assert_int_equal(ledgerfile_fates(lf, 7, 21, 21, "dropped", &same), 0);
	assert_int_equal(ledgerfile_fates(lf, 8, 22, UINT64_MAX, "unaccounted", NULL), 0);
	assert_int_equal(ledgerfile_end(lf, data), 0);
	assert_int_equal(ledgerfile_close(lf, &err), 0);
	json_object_put(data);
}

#define RUN(n)                                                                                     \
	"{\"event\":\"start\",\"schema\":\"" SCHEMA "\",\"data\":{\"n\":" n "}}\n"                 \
	"{\"event\":\"fate\",\"data\":{\"id\":0,\"fate\":\"delivered\"}}\n"                        \
	"{\"event\":\"fate\",\"data\":{\"id\":1,\"fate\":\"dropped\",\"stage\":\"rcvbuf\","        \
	"\"reason\":\"SOCKET_RCVBUFF\",\"location\":\"udp_rcv\",\"ifname\":\"v-rx\","              \
	"\"netns\":\"rx\",\"direction\":\"rx\",\"hook\":null}}\n"                                  \
	"{\"event\":\"fates\",\"data\":{\"stream\":7,\"ranges\":[[0,19,0],[20,20,1]]}}\n"          \
	"{\"event\":\"interval\",\"data\":{\"n\":" n "}}\n"                                        \
	"{\"event\":\"fate\",\"data\":{\"id\":2,\"fate\":\"unaccounted\"}}\n"                      \
	"{\"event\":\"fates\",\"data\":{\"stream\":7,\"ranges\":[[21,21,1]]}}\n"                   \
	"{\"event\":\"fates\",\"data\":{\"stream\":8,\"ranges\":[[22,18446744073709551615,2]]}}\n" \
	"{\"event\":\"end\",\"data\":{\"n\":" n "}}\n"

static void crc_is_zlibs(void **state)
{
	(void)state;
	assert_int_equal(crc32_ieee("123456789", 9), 0xcbf43926);
	assert_int_equal(crc32_ieee("", 0), 0);
}

static void runs_are_appended(void **state)
{
	struct ledgerfile_state st;
	struct stat file;

	(void)state;
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
static void any_cut_is_named(void **state)
{
	static char whole[4096];
	FILE *f;
	size_t size;

	(void)state;
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

static void a_changed_byte_is_seen(void **state)
{
	struct ledgerfile_state st;
	int fd;

	(void)state;
	write_run(1);
	fd = open(path, O_RDWR);
	assert_int_equal(pwrite(fd, "x", 1, 20), 1);
	close(fd);
	st = read_back();
	assert_int_equal(st.lines, 8);
	assert_int_equal(st.bad, 1);
	assert_false(st.cut);
}

static void what_is_no_ledger_is_left_alone(void **state)
{
	struct ledgerfile *lf;
	struct error err = {0};
	struct stat file;
	FILE *f = fopen(path, "w");

	(void)state;
	fputs("root:x:0:0\n", f);
	fclose(f);
	assert_int_equal(ledgerfile_open(&lf, path, &err), -EEXIST);
	assert_null(lf);
	assert_int_equal(err.status, STATUS_USAGE);
	assert_int_equal(stat(path, &file), 0);
	assert_int_equal(file.st_size, 11);
}

static void only_one_writes(void **state)
{
	struct ledgerfile *a, *b;
	struct error err = {0};

	(void)state;
	assert_int_equal(ledgerfile_open(&a, path, &err), 0);
	assert_int_equal(ledgerfile_open(&b, path, &err), -EBUSY);
	assert_int_equal(ledgerfile_close(a, NULL), 0);
	err.status = STATUS_OK;
	assert_int_equal(ledgerfile_open(&b, path, &err), 0);
	assert_int_equal(ledgerfile_close(b, NULL), 0);
	assert_int_equal(ledgerfile_close(NULL, NULL), 0);
}

static void full_disk_is_told(void **state)
{
	struct json_object *data = json_object_new_object();
	struct ledgerfile *lf;
	struct error err = {0};

	(void)state;
	assert_int_equal(ledgerfile_open(&lf, "/dev/full", &err), 0);
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	assert_int_equal(ledgerfile_interval(lf, data), -ENOSPC);
	assert_int_equal(ledgerfile_fates(lf, 0, 0, 0, "delivered", NULL), -ENOSPC);
	assert_int_equal(ledgerfile_close(lf, &err), -ENOSPC);
	assert_int_equal(err.status, STATUS_FAILED);
	json_object_put(data);
}

/* Many small ranges, and one line larger than what waits. */
static void much_is_kept(void **state)
{
	struct json_object *data = json_object_new_object();
	static char large[200001];
	struct ledgerfile_state st;
	struct ledgerfile *lf;
	struct error err = {0};
	struct stat file;

	(void)state;
	assert_int_equal(ledgerfile_open(&lf, path, &err), 0);
	assert_int_equal(ledgerfile_start(lf, SCHEMA, data), 0);
	for (uint64_t i = 0; i < 100000; i++)
		ledgerfile_fates(lf, 1, i, i, i % 2 ? "delivered" : "refused", NULL);
	memset(large, 'x', sizeof(large) - 1);
	json_put_text(data, "large", large);
	assert_int_equal(ledgerfile_end(lf, data), 0);
	assert_int_equal(ledgerfile_close(lf, &err), 0);
	assert_int_equal(ledgerfile_read(path, NULL, NULL, &st, &err), 0);
	assert_int_equal(st.lines, 1 + 2 + (100000 + 255) / 256 + 1);
	assert_int_equal(st.bad, 0);
	assert_int_equal(stat(path, &file), 0);
	assert_in_range(file.st_size, 200000 + 100000 * 8, 200000 + 100000 * 17 + 65536);
	json_object_put(data);
}

static int make_dir(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "%s/ledger", mkdtemp(dir) ? dir : ".");
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int remove_file(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc_is_zlibs),
		cmocka_unit_test_teardown(runs_are_appended, remove_file),
		cmocka_unit_test_teardown(any_cut_is_named, remove_file),
		cmocka_unit_test_teardown(a_changed_byte_is_seen, remove_file),
		cmocka_unit_test_teardown(what_is_no_ledger_is_left_alone, remove_file),
		cmocka_unit_test_teardown(only_one_writes, remove_file),
		cmocka_unit_test(full_disk_is_told),
		cmocka_unit_test_teardown(much_is_kept, remove_file),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
