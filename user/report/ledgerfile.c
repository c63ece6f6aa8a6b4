// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerfile.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/printbuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/num.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/mem.h"
#include "drops/stagemap.h"
#include "report/json.h"

#define LINE_MAX_LEN (64 << 20) /* bytes, longer than any line written */
#define NEAR	     200	/* bytes at the start of a line that include its time */

struct json_object *ledgerline_parse(const char *json, size_t len)
{
	return len <= LINE_MAX_LEN ? json_parse(json, len, JSON_DEPTH) : NULL;
}

/* Copies the value of a key found near the start of the line. */
static bool near_value(const char *json, size_t len, const char *key, char value[32])
{
	const char *p = memmem(json, len < NEAR ? len : NEAR, key, strlen(key));
	size_t n = 0;

	if (!p)
		return false;
	for (p += strlen(key); p < json + len && n < 31 && *p != ',' && *p != '"' && *p != '}'; p++)
		value[n++] = *p;
	value[n] = '\0';
	return true;
}

/* Reads a number found near the start of the line. Rejects times above INT64_MAX. */
static bool near_number(const char *json, size_t len, const char *key, uint64_t *number)
{
	char value[32];

	*number = 0;
	return !near_value(json, len, key, value) || !num_u64(value, 0, INT64_MAX, number);
}

static bool begins(const char *json, size_t len, const char *with)
{
	return len > strlen(with) && !memcmp(json, with, strlen(with));
}

bool ledgerline_peek(const char *json, size_t len, struct ledgerline *line)
{
	static const char *const first[] = {
		[LEDGERLINE_START] = "{\"event\":\"start\"",
		[LEDGERLINE_INTERVAL] = "{\"event\":\"interval\"",
		[LEDGERLINE_OUTCOMES] = "{\"event\":\"outcomes\"",
		[LEDGERLINE_SERIES] = "{\"event\":\"series\"",
	};
	char value[32];

	*line = (struct ledgerline){};
	while (line->kind < LEDGERLINE_OTHER && !begins(json, len, first[line->kind]))
		line->kind++;
	if (line->kind != LEDGERLINE_START && line->kind != LEDGERLINE_INTERVAL)
		return true;
	line->of_trace = begins(json, len, "{\"event\":\"start\",\"schema\":\"pktledger/trace/");
	if (near_value(json, len, "\"time\":\"", value) && when_date(value, &line->realtime_ns))
		return false;
	return near_number(json, len, "\"time_ns\":", &line->time_ns) &&
	       near_number(json, len, "\"interval_ns\":", &line->length_ns);
}

#define LINE_MORE 10 /* bytes in a line besides its JSON: CRC, blank, LF */

#define PREFIX 9 /* bytes used by the CRC and the blank */

/* Returns true if the line, without its LF, matches its CRC. */
static bool is_whole(const char *line, size_t len)
{
	char wanted[PREFIX + 1];

	if (len <= PREFIX)
		return false;
	snprintf(wanted, sizeof(wanted), "%08lx ",
		 crc32_z(0, (const void *)(line + PREFIX), len - PREFIX));
	return !memcmp(line, wanted, PREFIX);
}

/* Reads a line like getline(), but only the start of an overlong line. Strips the LF. */
static size_t read_line(FILE *f, char **buf, size_t *size)
{
	size_t n = 0;
	int c = 0;

	while (c != '\n' && n <= LINE_MAX_LEN + LINE_MORE) {
		char *more = n < *size ? *buf : realloc(*buf, *size = 2 * n + 4096);

		if (!more)
			return 0;
		*buf = more;
		c = getc_unlocked(f);
		if (c == EOF)
			break;
		more[n++] = (char)c;
	}
	return n;
}

int ledgerfile_read(const char *path, int (*line)(void *arg, const char *json, size_t len),
		    void *arg, struct ledgerfile_state *state, struct error *err)
{
	int fd = file_open_to_read(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	uint64_t offset = 0;
	char *buf = NULL;
	size_t size = 0;
	size_t n = 0;
	int rc = 0;

	*state = (struct ledgerfile_state){0};
	if (!f)
		return error_errno(err, STATUS_FAILED, fd, file_hint(fd, NULL), "cannot open %s",
				   path);
	while (!rc && n <= LINE_MAX_LEN + LINE_MORE && (n = read_line(f, &buf, &size))) {
		size_t len = n - (buf[n - 1] == '\n');

		state->at = offset;
		state->cut = !is_whole(buf, len);
		if (state->cut) {
			state->bad++;
			state->cut_at = offset;
			state->cut_line = state->lines + state->bad;
			if (!state->bad_line)
				state->bad_line = state->cut_line;
		} else {
			state->lines++;
			if (line)
				rc = line(arg, buf + PREFIX, len - PREFIX);
		}
		offset += n;
	}
	if (!rc && ferror(f))
		rc = error_set(err, STATUS_FAILED, -EIO, NULL, "cannot read %s", path);
	free(buf);
	fclose(f);
	return rc;
}

#define LEDGERFILE_RANGES 256 /* ranges per line */

/* Outcome defined by an `outcome` line. Its id is its index in the list. */
struct ledgerfile_outcome {
	const char *outcome;
	struct result_cause cause; /* set only for drops */
};

/*
 * Times in a trace are relative to its start, so setting the host's clock does not change their
 * order or age.
 */
struct keep {
	uint64_t keep_ns; /* 0: keep everything */
	uint64_t next_ns; /* CLOCK_BOOTTIME, do not read the file again before this time */
	char *beside;	  /* path of the new file that will replace this file */
	bool others;	  /* the file contains documents other than traces */
	uint64_t started_ns, now_ns; /* CLOCK_REALTIME, start of the newest trace, and start plus
					time to its newest line */
	uint64_t oldest_ns;	     /* cutoff: data before this time are dropped */
	off_t start, start_len;	     /* start line of the newest trace */
	off_t cut, head, head_len; /* everything before `cut` has expired, except the start line
				      of the trace that continues there */
};

struct ledgerfile {
	int fd;
	int rc; /* -errno of the first failed write */
	char *path;
	bool is_file, made; /* made: the file did not exist before */
	bool begun;	    /* a start has been appended */
	off_t size;	    /* bytes in the file */
	struct keep keep;
	struct ledgerfile_state old; /* state of the existing file while it is being read */
	struct printbuf *waiting;
	struct list outcome; /* struct ledgerfile_outcome */
	struct range range[LEDGERFILE_RANGES]; /* ranges in one stream (`detail` is the id) */
	unsigned n_ranges;
};

#define WAITING 65536 /* bytes buffered before they are written */

/* Writes complete lines. If only part of a line fits, removes that part again. */
static int write_lines(struct ledgerfile *lf, const char *p, size_t n)
{
	size_t done = file_write(lf->fd, p, n);
	const char *last = memrchr(p, '\n', done);
	int rc = done < n ? -errno : 0;

	lf->size += last ? (off_t)(last - p) + 1 : 0;
	if (rc && lf->is_file && ftruncate(lf->fd, lf->size))
		return rc; /* the partial line stays, and its CRC will reveal it */
	return rc;
}

static int flush(struct ledgerfile *lf)
{
	if (!lf->rc && lf->waiting->bpos)
		lf->rc = write_lines(lf, lf->waiting->buf, (size_t)lf->waiting->bpos);
	printbuf_reset(lf->waiting);
	return lf->rc;
}

/* Records the times on a line, which starts at `old.at` if the file is being read. */
static int see_line(void *arg, const char *json, size_t len)
{
	struct ledgerfile *lf = arg;
	struct keep *k = &lf->keep;
	struct ledgerline line;
	uint64_t begin;

	if (!ledgerline_peek(json, len, &line) || line.kind > LEDGERLINE_INTERVAL)
		return 0;
	if (line.kind == LEDGERLINE_START) {
		k->others |= !line.of_trace;
		k->start = (off_t)lf->old.at;
		k->start_len = (off_t)len + LINE_MORE;
		k->started_ns = line.realtime_ns;
	}
	k->now_ns = k->started_ns + line.time_ns;
	begin = k->now_ns - (line.length_ns < line.time_ns ? line.length_ns : line.time_ns);
	if (begin <= k->oldest_ns) {
		k->cut = (off_t)lf->old.at;
		k->head = k->start;
		k->head_len = k->start < k->cut ? k->start_len : 0;
	}
	return 0;
}

static int append_line(struct ledgerfile *lf, const char *json, size_t len)
{
	char crc[PREFIX + 1];

	if (lf->waiting->bpos + len + LINE_MORE > WAITING)
		flush(lf);
	if (lf->rc)
		return lf->rc;
	if (lf->keep.keep_ns)
		see_line(lf, json, len);
	snprintf(crc, sizeof(crc), "%08lx ", crc32_z(0, (const void *)json, len));
	if (len > INT_MAX || printbuf_memappend(lf->waiting, crc, PREFIX) < 0 ||
	    printbuf_memappend(lf->waiting, json, (int)len) < 0 ||
	    printbuf_memappend(lf->waiting, "\n", 1) < 0)
		lf->rc = -ENOMEM;
	return lf->rc;
}

/* Writes the ranges collected so far. */
static int end_ranges(struct ledgerfile *lf)
{
	char json[64 + LEDGERFILE_RANGES * 56];
	size_t n;

	if (!lf->n_ranges)
		return lf->rc;
	n = (size_t)snprintf(json, sizeof(json),
			     "{\"event\":\"outcomes\",\"data\":{\"stream\":%u,\"ranges\":[",
			     lf->range[0].stream);
	for (unsigned i = 0; i < lf->n_ranges; i++)
		n += (size_t)snprintf(json + n, sizeof(json) - n, "%s[%" PRIu64 ",%" PRIu64 ",%u]",
				      i ? "," : "", lf->range[i].first, lf->range[i].last,
				      lf->range[i].detail);
	n += (size_t)snprintf(json + n, sizeof(json) - n, "]}}");
	lf->n_ranges = 0;
	return append_line(lf, json, n);
}

static int append_event(struct ledgerfile *lf, const char *event, const char *schema,
			struct json_object *data)
{
	struct json_object *line = json_event(event, schema, json_object_get(data));
	const char *text;
	size_t len;

	text = json_object_to_json_string_length(
		line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	append_line(lf, text, len);
	json_object_put(line);
	lf->begun |= schema != NULL;
	return lf->rc;
}

int ledgerfile_start(struct ledgerfile *lf, const char *schema, struct json_object *data)
{
	if (!lf)
		return 0;
	end_ranges(lf);
	lf->outcome.n = 0;
	return append_event(lf, "start", schema, data);
}

static int copy_part(int to, int from, off_t at, off_t end)
{
	while (at < end) {
		ssize_t n = sendfile(to, from, &at, (size_t)(end - at));

		if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

static int fill(int to, const struct ledgerfile *lf)
{
	const struct keep *k = &lf->keep;
	struct stat st;
	int rc;

	if (flock(to, LOCK_EX | LOCK_NB) || fstat(lf->fd, &st) || fchmod(to, st.st_mode & 0777))
		return -errno;
	rc = copy_part(to, lf->fd, k->head, k->head + k->head_len);
	if (!rc)
		rc = copy_part(to, lf->fd, k->cut, lf->size);
	/* O_APPEND is set only now because sendfile() rejects it */
	return !rc && (fsync(to) || fcntl(to, F_SETFL, O_APPEND)) ? -errno : rc;
}

/* Returns true if the open file still has this name. */
static bool is_named(const struct ledgerfile *lf)
{
	struct stat opened, named;

	return !fstat(lf->fd, &opened) && !stat(lf->path, &named) &&
	       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

#define PARTS 16 /* the file may exceed its time limit by 1 / PARTS */

/*
 * Replaces the file with a copy without expired data, and locks the copy in the same way. If that
 * fails, the file keeps growing.
 */
static void drop_old(struct ledgerfile *lf)
{
	const uint64_t now = clock_ns(CLOCK_BOOTTIME);
	struct keep *k = &lf->keep;
	int to;

	if (lf->rc || !k->keep_ns || now < k->next_ns)
		return;
	k->next_ns = now + k->keep_ns / PARTS;
	k->oldest_ns = k->now_ns > k->keep_ns ? k->now_ns - k->keep_ns : 0;
	k->cut = k->head_len = 0;
	/* not worth cutting if only the start line precedes the data */
	if (!is_named(lf) || ledgerfile_read(lf->path, see_line, lf, &lf->old, NULL) ||
	    k->cut <= k->head_len)
		return;
	unlink(k->beside);
	to = open(k->beside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (to < 0)
		return;
	if (fill(to, lf) || rename(k->beside, lf->path)) {
		unlink(k->beside);
		close(to);
		return;
	}
	lf->size -= k->cut - k->head_len;
	close(lf->fd);
	lf->fd = to;
}

int ledgerfile_interval(struct ledgerfile *lf, struct json_object *data)
{
	if (!lf)
		return 0;
	ledgerfile_event(lf, "interval", NULL, data);
	drop_old(lf);
	return lf->rc;
}

int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data)
{
	/* an error before the start would make the file one that is not a ledger */
	if (!lf || (!lf->begun && !strcmp(event, "error")))
		return 0;
	end_ranges(lf);
	append_event(lf, event, schema, data);
	return flush(lf);
}

static int first_only(void *arg, const char *json, size_t len)
{
	struct ledgerline line;

	ledgerline_peek(json, len, &line);
	*(bool *)arg = line.kind == LEDGERLINE_START || line.kind == LEDGERLINE_SERIES;
	return 1;
}

/* Checks that the existing file is a ledger, and terminates its last line if necessary. */
static int check_old(struct ledgerfile *lf, struct error *err)
{
	struct stat st;
	bool ours = false;
	char last;
	int rc;

	if (fstat(lf->fd, &st))
		return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot read %s", lf->path);
	/* a reader that stalls would block the experiment */
	if (S_ISFIFO(st.st_mode) || isatty(lf->fd))
		return error_errno(err, STATUS_FAILED, -EOPNOTSUPP,
				   "a ledger has to be a regular file; -j prints to a pipe",
				   "cannot write a ledger to %s", lf->path);
	lf->is_file = S_ISREG(st.st_mode);
	lf->size = st.st_size;
	if (!lf->is_file || !st.st_size)
		return 0;
	rc = ledgerfile_read(lf->path, first_only, &ours, &lf->old, err);
	if (rc < 0)
		return rc;
	if (!ours)
		return error_set(err, STATUS_USAGE, -EEXIST,
				 "name a new file, or a ledger to append to",
				 "%s exists and is not a ledger file", lf->path);
	if (pread(lf->fd, &last, 1, st.st_size - 1) != 1)
		return error_set(err, STATUS_FAILED, -EIO, NULL, "cannot read %s", lf->path);
	if (last != '\n')
		lf->rc = write_lines(lf, "\n", 1);
	return error_errno(err, STATUS_FAILED, lf->rc, NULL, "cannot write %s", lf->path);
}

/* Retries until the locked file still has this name, because --keep may have replaced it. */
static int open_locked(struct ledgerfile *lf, struct error *err)
{
	do {
		if (lf->fd >= 0)
			close(lf->fd);
		lf->fd = file_open_ours(lf->path, O_RDWR | O_APPEND);
		if (lf->fd < 0)
			return error_errno(err, STATUS_FAILED, lf->fd,
					   file_hint(lf->fd, "name a file that can be written"),
					   "cannot open %s", lf->path);
		if (flock(lf->fd, LOCK_EX | LOCK_NB))
			return error_set(err, STATUS_FAILED, -EBUSY,
					 "use a separate file for each "
					 "run", "another run writes %s",
					 lf->path);
	} while (!is_named(lf));
	return check_old(lf, err);
}

static void ledgerfile_free(struct ledgerfile *lf)
{
	if (lf->fd >= 0)
		close(lf->fd);
	list_free(&lf->outcome);
	printbuf_free(lf->waiting);
	free(lf->keep.beside);
	free(lf->path);
	free(lf);
}

int ledgerfile_open(struct ledgerfile **out, const char *path, struct error *err)
{
	struct ledgerfile *lf = mem_new(lf);
	struct stat st;
	int rc;

	lf->fd = -1;
	lf->made = lstat(path, &st) != 0;
	lf->outcome.size = sizeof(struct ledgerfile_outcome);
	lf->path = mem_string(path);
	lf->waiting = printbuf_new();
	rc = open_locked(lf, err);
	if (rc) {
		ledgerfile_free(lf);
		lf = NULL;
	}
	*out = lf;
	return rc;
}

int ledgerfile_keep(struct ledgerfile *lf, uint64_t keep_ns, struct error *err)
{
	char *path;
	int rc;

	if (!lf->is_file)
		return 0;
	path = realpath(lf->path, NULL); /* preserve a symbolic link */
	if (!path)
		return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot find %s", lf->path);
	free(lf->path);
	lf->path = path;
	rc = ledgerfile_read(path, see_line, lf, &lf->old, err);
	if (!rc && lf->keep.others)
		rc = error_set(err, STATUS_USAGE, -EEXIST, "name a new file",
			       "%s holds more than traces, which --keep would drop", path);
	if (rc)
		return rc;
	lf->keep.beside = mem_print("%s.pktledger~", path);
	lf->keep.keep_ns = keep_ns;
	unlink(lf->keep.beside); /* left over from a rewrite that was killed */
	return 0;
}

int ledgerfile_close(struct ledgerfile *lf, struct error *err)
{
	int rc;

	if (!lf)
		return 0;
	end_ranges(lf);
	flush(lf);
	/* EINVAL: the file, for example a pipe, does not support fsync() */
	if (!lf->rc && fsync(lf->fd) && errno != EINVAL)
		lf->rc = -errno;
	rc = error_errno(err, STATUS_FAILED, lf->rc,
			 lf->rc == -ENOSPC ? "free disk space (all lines written before are "
					     "intact)" : NULL,
			 "the ledger %s is not complete", lf->path);
	if (lf->made && lf->is_file && !lf->size && is_named(lf))
		unlink(lf->path);
	ledgerfile_free(lf);
	return rc;
}

static const struct record_field dropped_rows[] = {
	RECORD("stage", ENUM, result_cause, stage, RECORD_NAMES(stage_names)),
	RECORD_ALSO(result_place_rows),
	RECORD("given_up", BOOL, result_cause, given_up, .how = RECORD_OMITTED),
	{0},
};

static void append_outcome(struct ledgerfile *lf, const struct ledgerfile_outcome *o, unsigned id,
			   bool dropped)
{
	struct json_object *data = json_object_new_object();

	json_put_u64(data, "id", id);
	json_put_text(data, "outcome", o->outcome);
	if (dropped)
		record_put(data, dropped_rows, &o->cause);
	append_event(lf, "outcome", NULL, data);
	json_object_put(data);
}

/* Returns the id of an outcome, adding the outcome if it is new. */
static unsigned find_outcome(struct ledgerfile *lf, const char *outcome,
			     const struct result_cause *cause)
{
	struct ledgerfile_outcome *known = lf->outcome.at;
	unsigned id = 0;

	while (id < lf->outcome.n && (strcmp(known[id].outcome, outcome) ||
				      (cause && !result_cause_same(&known[id].cause, cause))))
		id++;
	if (id < lf->outcome.n)
		return id;
	known = list_add(&lf->outcome);
	known->outcome = outcome;
	if (cause)
		known->cause = *cause;
	append_outcome(lf, known, id, cause);
	return id;
}

int ledgerfile_range(struct ledgerfile *lf, const struct range *r, const char *outcome,
		     const struct result_cause *cause)
{
	const uint16_t id = (uint16_t)find_outcome(lf, outcome, cause);
	struct range *newest = lf->n_ranges ? &lf->range[lf->n_ranges - 1] : NULL;

	if (lf->rc)
		return lf->rc;
	if (newest && newest->stream != r->stream)
		newest = NULL;
	if (newest && newest->detail == id && newest->last + 1 == r->first) {
		newest->last = r->last;
		return 0;
	}
	if (!newest || lf->n_ranges == LEDGERFILE_RANGES)
		end_ranges(lf);
	newest = &lf->range[lf->n_ranges++];
	*newest = *r;
	newest->detail = id;
	return lf->rc;
}
