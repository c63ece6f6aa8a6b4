// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerfile_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/bytes.h"

#define WAITING 65536
/* Bytes of whole lines. */
static size_t whole_lines(const char *p, size_t n)
{
	const char *last = memrchr(p, '\n', n);

	return last ? (size_t)(last - p) + 1 : 0;
}

/* What of a line did not find room is taken back. */
static int write_lines(struct ledgerfile *lf, const char *p, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t now = write(lf->fd, p + done, n - done);

		if (now < 0 && errno == EINTR)
			continue;
		if (now < 0) {
			int rc = -errno;

			lf->size += (off_t)whole_lines(p, done);
			if (lf->is_file && ftruncate(lf->fd, lf->size))
				return rc; /* then it is cut: the reader can tell */
			return rc;
		}
		done += (size_t)now;
	}
	lf->size += (off_t)n;
	return 0;
}

static int flush(struct ledgerfile *lf)
{
	if (!lf->rc && lf->n_waiting)
		lf->rc = write_lines(lf, lf->waiting, lf->n_waiting);
	lf->n_waiting = 0;
	return lf->rc;
}

/* Into `to`, which has room. */
static void put_line(char *to, const char *json, size_t len)
{
	snprintf(to, 10, "%08" PRIx32 " ", crc32_ieee(json, len));
	memcpy(to + 9, json, len);
	to[9 + len] = '\n';
}

static int write_long(struct ledgerfile *lf, const char *json, size_t len)
{
	char *line = malloc(len + 10);

	if (!line)
		return -ENOMEM;
	put_line(line, json, len);
	lf->rc = write_lines(lf, line, len + 10);
	free(line);
	return lf->rc;
}

int ledgerfile_line(struct ledgerfile *lf, const char *json, size_t len)
{
	if (lf->n_waiting + len + 10 > WAITING)
		flush(lf);
	if (lf->rc)
		return lf->rc;
	if (lf->keep)
		ledgerkeep_line(lf->keep, json, len, lf->size + (off_t)lf->n_waiting);
	if (len + 10 > WAITING)
		return write_long(lf, json, len);
	put_line(lf->waiting + lf->n_waiting, json, len);
	lf->n_waiting += len + 10;
	return 0;
}

int ledgerfile_event(struct ledgerfile *lf, const char *event, const char *schema,
		     struct json_object *data)
{
	struct json_object *line = json_object_new_object();
	const char *text;
	size_t len;

	json_put_text(line, "event", event);
	if (schema)
		json_put_text(line, "schema", schema);
	json_put(line, "data", json_object_get(data));
	text = json_object_to_json_string_length(
		line, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &len);
	if (text)
		ledgerfile_line(lf, text, len);
	else if (!lf->rc)
		lf->rc = -ENOMEM;
	json_object_put(line);
	return lf->rc;
}

int ledgerfile_start(struct ledgerfile *lf, const char *schema, struct json_object *data)
{
	ledgerfile_end_ranges(lf);
	lf->n_outcomes = 0;
	return ledgerfile_event(lf, "start", schema, data);
}

/* A file that cannot be replaced just now grows on. */
static void drop_old(struct ledgerfile *lf)
{
	struct ledgerkeep_mark cut;
	int fd;

	if (lf->rc || !ledgerkeep_due(lf->keep, when_now(), &cut))
		return;
	fd = ledgerkeep_rewrite(lf->keep, lf->path, lf->fd, &lf->size, &cut);
	if (fd < 0)
		return;
	close(lf->fd);
	lf->fd = fd;
}

static void tell_clock(struct ledgerkeep *keep)
{
	ledgerkeep_clock(keep, when_now(), clock_ns(CLOCK_BOOTTIME));
}

int ledgerfile_interval(struct ledgerfile *lf, struct json_object *data)
{
	if (lf->keep)
		tell_clock(lf->keep);
	ledgerfile_end_ranges(lf);
	ledgerfile_event(lf, "interval", NULL, data);
	flush(lf);
	if (lf->keep)
		drop_old(lf);
	return lf->rc;
}

static int tell(struct ledgerfile *lf, const char *event, const char *schema,
		struct json_object *data)
{
	ledgerfile_end_ranges(lf);
	ledgerfile_event(lf, event, schema, data);
	return flush(lf);
}

int ledgerfile_limit(struct ledgerfile *lf, struct json_object *data)
{
	return tell(lf, "limit", NULL, data);
}

int ledgerfile_error(struct ledgerfile *lf, struct json_object *data)
{
	return tell(lf, "error", NULL, data);
}

int ledgerfile_end(struct ledgerfile *lf, struct json_object *data)
{
	return tell(lf, "end", NULL, data);
}

int ledgerfile_series(struct ledgerfile *lf, const char *schema, struct json_object *data)
{
	return tell(lf, "series", schema, data);
}

int ledgerfile_trial(struct ledgerfile *lf, struct json_object *data)
{
	return tell(lf, "trial", NULL, data);
}

int ledgerfile_series_end(struct ledgerfile *lf, struct json_object *data)
{
	return tell(lf, "series_end", NULL, data);
}

static int first_only(void *arg, const char *json, size_t len)
{
	static const char *const first[] = {"{\"event\":\"start\"", "{\"event\":\"series\""};

	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(first[i]);

		*(bool *)arg |= len >= n && !memcmp(json, first[i], n);
	}
	return 1;
}

/* What stands in the file must be a ledger, and its last line must be ended. */
static int check_old(struct ledgerfile *lf, struct error *err)
{
	struct ledgerfile_state state;
	struct stat st;
	bool ours = false;
	char last;
	int rc;

	if (fstat(lf->fd, &st))
		return error_set(err, STATUS_FAILED, -errno, NULL, "cannot read %s: %s", lf->path,
				 strerror(errno));
	lf->is_file = S_ISREG(st.st_mode);
	lf->size = st.st_size;
	if (!lf->is_file || !st.st_size)
		return 0;
	rc = ledgerfile_read(lf->path, first_only, &ours, &state, err);
	if (rc < 0)
		return rc;
	if (!ours)
		return error_set(err, STATUS_USAGE, -EEXIST,
				 "name a new file, or a ledger to append to",
				 "%s exists and is no ledger", lf->path);
	if (pread(lf->fd, &last, 1, st.st_size - 1) != 1)
		return error_set(err, STATUS_FAILED, -EIO, NULL, "cannot read %s", lf->path);
	if (last != '\n')
		lf->rc = write_lines(lf, "\n", 1);
	return lf->rc ? error_set(err, STATUS_FAILED, lf->rc, NULL, "cannot write %s: %s", lf->path,
				  strerror(-lf->rc))
		      : 0;
}

/* Locked, and still the file of that name: --keep may have put another in its place. */
static bool is_same(const struct ledgerfile *lf)
{
	struct stat opened, named;

	return !fstat(lf->fd, &opened) && !stat(lf->path, &named) &&
	       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

static int open_locked(struct ledgerfile *lf, struct error *err)
{
	do {
		if (lf->fd >= 0)
			close(lf->fd);
		lf->fd = open(lf->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
		if (lf->fd < 0)
			return error_set(err, STATUS_FAILED, -errno,
					 "name a file that can be written", "cannot open %s: %s",
					 lf->path, strerror(errno));
		if (flock(lf->fd, LOCK_EX | LOCK_NB))
			return error_set(err, STATUS_FAILED, -EBUSY,
					 "give each run a file of its own", "another run writes %s",
					 lf->path);
	} while (!is_same(lf));
	return check_old(lf, err);
}

static void ledgerfile_free(struct ledgerfile *lf)
{
	if (lf->fd >= 0)
		close(lf->fd);
	free(lf->outcome);
	free(lf->waiting);
	free(lf->keep);
	free(lf->path);
	free(lf);
}

int ledgerfile_open(struct ledgerfile **out, const char *path, struct error *err)
{
	struct ledgerfile *lf = calloc(1, sizeof(*lf));
	int rc;

	*out = NULL;
	if (!lf)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	lf->fd = -1;
	lf->path = strdup(path);
	lf->waiting = malloc(WAITING);
	rc = lf->path && lf->waiting
		     ? open_locked(lf, err)
		     : error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	if (rc)
		ledgerfile_free(lf);
	else
		*out = lf;
	return rc;
}

struct scan {
	struct ledgerkeep *keep;
	struct ledgerfile_state state;
};

static int scan_line(void *arg, const char *json, size_t len)
{
	struct scan *s = arg;

	ledgerkeep_line(s->keep, json, len, (off_t)s->state.at);
	return 0;
}

int ledgerfile_keep(struct ledgerfile *lf, uint64_t keep_ns, struct error *err)
{
	struct scan scan = {};
	char *path;
	int rc;

	if (!lf->is_file)
		return 0;
	path = realpath(lf->path, NULL); /* a link stays one */
	scan.keep = malloc(sizeof(*scan.keep));
	if (!path || !scan.keep) {
		free(path);
		free(scan.keep);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	}
	free(lf->path);
	lf->path = path;
	ledgerkeep_init(scan.keep, keep_ns);
	rc = ledgerfile_read(path, scan_line, &scan, &scan.state, err);
	if (!rc && scan.keep->others)
		rc = error_set(err, STATUS_USAGE, -EEXIST, "name a new file",
			       "%s holds more than traces, which --keep would drop", path);
	if (rc) {
		free(scan.keep);
		return rc;
	}
	ledgerkeep_tidy(path);
	lf->keep = scan.keep;
	return 0;
}

int ledgerfile_close(struct ledgerfile *lf, struct error *err)
{
	int rc;

	if (!lf)
		return 0;
	ledgerfile_end_ranges(lf);
	flush(lf);
	/* EINVAL: not a file that can be synced, such as a pipe */
	if (!lf->rc && fsync(lf->fd) && errno != EINVAL)
		lf->rc = -errno;
	rc = lf->rc;
	if (rc)
		error_set(err, STATUS_FAILED, rc,
			  rc == -ENOSPC ? "make room; the lines written before are whole" : NULL,
			  "the ledger %s is not complete: %s", lf->path, strerror(-rc));
	ledgerfile_free(lf);
	return rc;
}
