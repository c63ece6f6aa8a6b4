// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `report` and `check --from` with a foreign file, in all output formats. Lines after an `L` get
 * the checksum of a ledger line, which random bytes would never have. All other input is used
 * unchanged: -j output, a page, a capture.
 */
#include "lines.h"

#include "base/json.h"
#include "diagnosis/look.h"
#include "report/capfile.h"
#include "report/ledgerfile.h"
#include "report/load.h"
#include "report/print.h"

static FILE *nowhere;

static int ledger_of(const uint8_t *data, size_t size, char path[32])
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int fd;

	MUST(f);
	for (size_t n; size; data += n, size -= n) {
		const uint8_t *end = memchr(data, '\n', size);

		n = end ? (size_t)(end - data) : size;
		fprintf(f, "%08lx ", crc32_z(0, (const void *)data, n));
		fwrite(data, 1, n, f);
		fputc('\n', f);
		n += end != NULL;
	}
	fclose(f);
	fd = fuzz_file((const uint8_t *)text, len, path);
	free(text);
	return fd;
}

static void show_page(const struct ledgers_document *d, unsigned n, bool redact)
{
	struct html_page page = {.docs = d, .n = n < 8 ? n : 8, .redact = redact};
	struct error err = {0};

	matrix_new(d, page.n, &page.matrix, &err);
	MUST(!html_write(nowhere, &page));
	json_object_put(page.matrix);
	page.matrix = NULL;
	MUST(!html_live(nowhere, &page));
}

static void assert_shown(const char *text, size_t len)
{
	for (const char *s = text; s < text + len; s += utf8_shown(s) + (*s == '\n'))
		MUST(*s == '\n' || utf8_shown(s));
}

/* For people: whatever the file holds, nothing of it drives a terminal. */
static void show_text(struct show_view view, struct ledgers *l)
{
	struct error err = {0};
	char *text = NULL;
	size_t len;

	view.text.out = open_memstream(&text, &len);
	MUST(view.text.out);
	show_ledgers(&view, l, &err);
	fclose(view.text.out);
	assert_shown(text, len);
	free(text);
}

static void show_forms(struct ledgers *l)
{
	struct show_view view = {.text = {.out = nowhere, .width = 80, .verbosity = 1}};
	struct error err = {0};

	show_text(view, l);
	view.matrix = true;
	show_text(view, l);
	view.matrix = false;
	view.csv = true;
	show_ledgers(&view, l, &err);
}

static void show_other_names(struct ledgers *l)
{
	const struct show_view view = {.redact = true, .text = {.width = 200}};

	show_text(view, l);
	show_disagrees(l);
}

static void show_beside(struct ledgers *l, const struct ledgers_document *a,
			const struct ledgers_document *b)
{
	const struct show_view view = {.text = {.width = 80}, .a = a, .b = b};

	if (!strcmp(a->command, b->command) && json_get(a->json, "end") && json_get(b->json, "end"))
		show_text(view, l);
}

/* The file twice. */
static void show_twice(const char *path)
{
	char again[32];
	const char *const twice[] = {path, again};
	const struct load_spec spec = {.path = twice, .n = 2, .until_ns = UINT64_MAX};
	const struct ledgers_document *a, *b;
	struct error err = {0};
	struct ledgers *l;

	snprintf(again, sizeof(again), "%s", path);
	if (ledgers_load(&l, &spec, &err))
		return;
	if (l->documents && !choose_pair(l, &a, &b, &err))
		show_beside(l, a, b);
	ledgers_free(l);
}

static void compare_ends(const char *path)
{
	const struct ends_spec spec = {
		.a = path, .b = path, .until_ns = UINT64_MAX, .choose = true};
	struct show_view view = {.text = {.out = nowhere, .width = 80}};
	struct error err = {0};
	struct json_object *ends = NULL;

	if (!ends_compare(&spec, &ends, &err))
		MUST(!show_ends(&view, ends, &err));
	json_object_put(ends);
}

/* What `check --from` shows of it, in both forms. */
static void judge_again(const char *path)
{
	struct print_view view = {.width = 80, .verbosity = 1};
	struct json_object *start, *end;
	struct look l = {0};
	struct error err = {0};
	char *text = NULL;
	size_t len;

	if (!bundle_read(path, &l, &start, &err)) {
		end = json_check_end(&l);
		for (unsigned i = 0; i < l.findings.n; i++)
			MUST(!*l.findings.at[i].finding.command && !l.findings.at[i].n_changes);
		view.out = open_memstream(&text, &len);
		MUST(view.out);
		print_check(&view, end);
		fclose(view.out);
		assert_shown(text, len);
		free(text);
		json_object_put(end);
	} else {
		MUST(err.status != STATUS_OK && *err.message);
	}
	json_object_put(start);
	look_close(&l);
}

static void report(const char *path)
{
	const struct load_spec spec = {.path = &path, .n = 1, .until_ns = UINT64_MAX};
	const struct ledgers_document *d;
	struct error err = {0};
	struct ledgers *l;
	unsigned n;

	if (ledgers_load(&l, &spec, &err)) {
		MUST(err.status != STATUS_OK && *err.message);
		return;
	}
	if (joined_wanted(l) && joined_make(l, &err)) {
		MUST(err.status != STATUS_OK && *err.message);
		ledgers_free(l);
		return;
	}
	if (joined_tcp_wanted(l))
		joined_tcp_make(l, false, &err);
	d = l->document;
	n = l->documents;
	show_forms(l);
	if (n > 1 && !d->parts)
		show_beside(l, &d[0], &d[n - 1]);
	show_page(d, n, false);
	show_other_names(l);
	show_page(l->document, l->documents, true);
	ledgers_free(l);
	show_twice(path);
}

static int take(void *arg, const char *json, size_t len)
{
	char *copy = fuzz_text((const uint8_t *)json, len); /* all of it can be read */

	free(copy);
	++*(uint64_t *)arg;
	return 0;
}

/* Each complete line is shown once, truncated lines are counted. */
static void read_lines(const char *path, size_t size)
{
	struct ledgerfile_state state = {0};
	struct error err = {0};
	uint64_t shown = 0;

	if (ledgerfile_read(path, take, &shown, &state, &err))
		return;
	MUST(shown == state.lines && state.cut_at <= size);
	MUST(state.lines + state.bad <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool lines = size && *data == 'L';
	char path[32];
	int fd = lines ? ledger_of(data + 1, size - 1, path) : fuzz_file(data, size, path);

	if (!nowhere)
		nowhere = fopen("/dev/null", "we");
	MUST(nowhere);
	read_lines(path, (size_t)lseek(fd, 0, SEEK_END));
	if (capfile_is(path))
		compare_ends(path);
	report(path);
	if (lines)
		judge_again(path);
	close(fd);
	return 0;
}
