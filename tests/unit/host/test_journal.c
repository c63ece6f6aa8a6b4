// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Entries of the journal as text, and the file of those that outlive their owner. */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "host/journal.h"
#include "recorded.h"
#include "unit/scratch.h"

static struct journal_record sample(void)
{
	struct journal_record r = {.pid = 4711, .start = 99, .kind = "sysctl"};

	strcpy(r.target, "net/ipv4/udp_mem");
	strcpy(r.old, "1 2 3");
	strcpy(r.new, "4 5 6");
	return r;
}

CASE(record_round_trip)
{
	struct journal_record r = sample(), back = {};
	char text[JOURNAL_RECORD_SIZE], small[64];
	int n;

	r.old[0] = '\0'; /* a value may be empty */
	memset(r.new, 'n', sizeof(r.new) - 1);
	n = journal_record_print(&r, text, sizeof(text));
	assert_int_equal(n, strlen(text));
	assert_int_equal(journal_record_parse(&back, text), 0);
	assert_null(strchr(text, '\n'));
	assert_int_equal(back.pid, r.pid);
	assert_int_equal(back.start, r.start);
	assert_string_equal(back.kind, r.kind);
	assert_string_equal(back.target, r.target);
	assert_string_equal(back.old, "");
	assert_string_equal(back.new, r.new);
	assert_int_equal(journal_record_print(&r, small, sizeof(small)), -ENOSPC);
	/* however short it is cut */
	for (int cut = n - 1; cut >= 0; cut--) {
		text[cut] = '\0';
		assert_int_equal(journal_record_parse(&back, text), -ENODATA);
	}
}

/* The seeds of the fuzzer match the current format. */
CASE(seed_is_understood)
{
	struct journal_record r = {};
	char *text;

	assert_int_equal(file_read("tests/fuzz/seeds/words/journal", &text, NULL), 0);
	assert_int_equal(journal_record_parse(&r, text), 0);
	assert_string_equal(r.target, "net/core/rmem_max");
	free(text);
}

static void take_line(void *arg, const char *verb, char *text)
{
	char value[JOURNAL_VALUE_SIZE], *word = "";
	struct journal_record r;

	if (!strcmp(verb, "record")) {
		assert_int_equal(journal_record_parse(&r, text), -ENODATA);
	} else if (!strcmp(verb, "value")) {
		recorded_words(text, &word, 1);
		journal_value_normal(value, word, strlen(word));
		tell("'%s'", value);
	}
}

CASE(records_that_are_none)
{
	recorded_stories("tests/fixtures/journal", take_line, NULL);
	take_line(NULL, "record", (char[]){""});
	take_line(NULL, "record", (char[]){"\n"});
}

static struct journal_kept opened(bool create)
{
	struct journal_kept f;
	struct error err = {};

	if (journal_kept_open(&f, path, create, &err))
		fail_msg("%s", err.message);
	return f;
}

static size_t count(const struct journal_kept *f)
{
	return json_object_array_length(f->entries);
}

static void add(struct journal_kept *f, unsigned i)
{
	struct json_object *o = json_object_new_object();

	json_put_u64(o, "old", i);
	json_put_text(o, "apply", "ethtool -G 'a;b $(date)' rx 4096");
	assert_int_equal(json_object_array_add(f->entries, o), 0);
}

static void save_and_close(struct journal_kept *f)
{
	assert_int_equal(journal_kept_save(f), 0);
	journal_kept_close(f);
}

static void fill(unsigned n)
{
	struct journal_kept f = opened(true);

	for (unsigned i = 0; i < n; i++)
		add(&f, i);
	save_and_close(&f);
}

CASE(owners)
{
	struct journal_record r = sample();

	assert_false(journal_owner_alive(&r));
	assert_int_equal(journal_own(&r.pid, &r.start), 0);
	assert_int_not_equal(r.start, 0);
	assert_int_equal(r.pid, getpid());
	assert_true(journal_owner_alive(&r));
	r.start++;
	assert_false(journal_owner_alive(&r));
}

CASE(kept_round_trip)
{
	struct journal_kept f;
	struct stat st;

	fill(3);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	f = opened(false);
	assert_int_equal(count(&f), 3);
	assert_string_equal(f.path, path);
	for (unsigned i = 0; i < 3; i++) {
		const struct json_object *o = json_object_array_get_idx(f.entries, i);

		assert_int_equal(json_get_u64(o, "old"), i);
		assert_string_equal(json_get_text(o, "apply"), "ethtool -G 'a;b $(date)' rx 4096");
	}
	json_object_array_del_idx(f.entries, 1, 1);
	save_and_close(&f);
	f = opened(false);
	assert_int_equal(count(&f), 2);
	assert_int_equal(json_get_u64(json_object_array_get_idx(f.entries, 0), "old"), 0);
	assert_int_equal(json_get_u64(json_object_array_get_idx(f.entries, 1), "old"), 2);
	json_object_array_del_idx(f.entries, 0, 2);
	save_and_close(&f);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(journal_kept_open(&f, path, false, NULL), -ENOENT);
}

static void write_file(const char *text, size_t len)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	fclose(f);
}

/* Cut anywhere it is refused, and left as it is. */
CASE(cut_files)
{
	struct journal_kept f;
	size_t len, now;
	char *text, *left;

	fill(2);
	assert_int_equal(file_read(path, &text, &len), 0);
	for (size_t cut = 1; cut < len - 1; cut++) {
		write_file(text, cut);
		assert_int_equal(journal_kept_open(&f, path, false, NULL), -EBADMSG);
		assert_int_equal(file_read(path, &left, &now), 0);
		assert_int_equal(now, cut);
		free(left);
	}
	free(text);
	unlink(path);
}

CASE(files_that_are_others)
{
	struct journal_kept f;
	struct error err = {};
	char old[sizeof(path) + 4];

	write_file("\0\0", 2);
	assert_int_equal(journal_kept_open(&f, path, true, &err), -EBADMSG);
	assert_non_null(strstr(err.message, "is not a file of changes"));
	unlink(path);
	/* not by a link to somewhere else */
	snprintf(old, sizeof(old), "%s.old", path);
	fill(1);
	assert_int_equal(rename(path, old), 0);
	assert_int_equal(symlink(old, path), 0);
	assert_int_equal(journal_kept_open(&f, path, true, NULL), -ELOOP);
	unlink(path);
	unlink(old);
	err = (struct error){};
	assert_int_equal(journal_kept_open(&f, dir, true, &err), -EISDIR);
	assert_int_equal(err.status, STATUS_UNABLE);
}

/* The lock belongs to the name, even if the file is replaced. */
CASE(locked)
{
	struct journal_kept f;

	f = opened(true);
	assert_int_equal(journal_file_lock(path, false), -EWOULDBLOCK);
	add(&f, 0);
	assert_int_equal(journal_kept_save(&f), 0);
	assert_int_equal(journal_file_lock(path, false), -EWOULDBLOCK);
	json_object_array_del_idx(f.entries, 0, 1);
	save_and_close(&f);
	assert_int_equal(journal_file_lock(path, false), -ENOENT);
}

int main(void)
{
	return run_cases(make_dir, remove_dir);
}
