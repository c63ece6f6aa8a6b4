// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/ledgerkeep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/ledgerline.h"

#define PARTS	  16 /* of the time to keep: so much more may be there */
#define LINE_MORE 10 /* bytes of a line beside its JSON: CRC, blank, LF */

void ledgerkeep_init(struct ledgerkeep *k, uint64_t keep_ns)
{
	*k = (struct ledgerkeep){.keep_ns = keep_ns};
}

static uint64_t later(uint64_t time_ns, int64_t step)
{
	return step < 0 && time_ns < (uint64_t)-step ? 0 : time_ns + (uint64_t)step;
}

void ledgerkeep_clock(struct ledgerkeep *k, uint64_t realtime_ns, uint64_t boottime_ns)
{
	int64_t clock = (int64_t)(realtime_ns - boottime_ns);
	int64_t step = k->clock_ns ? clock - k->clock_ns : 0;

	k->clock_ns = clock;
	for (unsigned i = 0; i < k->n; i++)
		k->mark[i].time_ns = later(k->mark[i].time_ns, step);
	k->started_ns = later(k->started_ns, step);
	k->pause_ns = later(k->pause_ns, step);
}

/* Every other mark goes: the file is very old. */
static void thin_out(struct ledgerkeep *k)
{
	for (unsigned i = 0; i < k->n / 2; i++)
		k->mark[i] = k->mark[2 * i];
	k->n /= 2;
}

/* What stands before a line is no newer than it, though the clock may have been set back since. */
static void add_mark(struct ledgerkeep *k, uint64_t time_ns, off_t at)
{
	for (unsigned i = k->n; i-- > 0 && k->mark[i].time_ns > time_ns;)
		k->mark[i].time_ns = time_ns;
	if (k->n && time_ns < k->mark[k->n - 1].time_ns + k->keep_ns / PARTS)
		return;
	if (k->n == LEDGERKEEP_MARKS)
		thin_out(k);
	k->mark[k->n++] = (struct ledgerkeep_mark){time_ns, at, k->start, k->start_len};
}

void ledgerkeep_line(struct ledgerkeep *k, const char *json, size_t len, off_t at)
{
	struct ledgerline line;
	uint64_t time_ns;

	if (!ledgerline_peek(json, len, &line))
		return;
	if (line.kind == LEDGERLINE_START) {
		k->others |= !line.of_trace;
		k->start = at;
		k->start_len = (off_t)len + LINE_MORE;
		k->started_ns = line.realtime_ns;
		add_mark(k, line.realtime_ns, at);
	} else if (line.kind == LEDGERLINE_INTERVAL) {
		time_ns = line.realtime_ns ? line.realtime_ns : k->started_ns + line.time_ns;
		add_mark(k, time_ns - (time_ns > line.length_ns ? line.length_ns : 0), at);
	}
}

bool ledgerkeep_due(struct ledgerkeep *k, uint64_t now_ns, struct ledgerkeep_mark *cut)
{
	uint64_t oldest = now_ns > k->keep_ns ? now_ns - k->keep_ns : 0;
	unsigned last = 0;

	while (last + 1 < k->n && k->mark[last + 1].time_ns <= oldest)
		last++;
	memmove(k->mark, k->mark + last, (k->n - last) * sizeof(k->mark[0]));
	k->n -= last;
	/* the newest start line may be all that is before it */
	if (now_ns < k->pause_ns || !k->n || k->mark[0].time_ns > oldest ||
	    k->mark[0].at <= k->mark[0].start_len)
		return false;
	k->pause_ns = now_ns + k->keep_ns / PARTS;
	*cut = k->mark[0];
	return true;
}

static int copy_part(int to, int from, off_t at, off_t end)
{
	char buf[65536];

	while (at < end) {
		size_t wanted = end - at < (off_t)sizeof(buf) ? (size_t)(end - at) : sizeof(buf);
		ssize_t n = pread(from, buf, wanted, at);

		if (n <= 0)
			return n ? -errno : -EIO;
		for (ssize_t done = 0, w; done < n; done += w) {
			w = write(to, buf + done, (size_t)(n - done));
			if (w < 0)
				return -errno;
		}
		at += n;
	}
	return 0;
}

/* Where the new file is made: beside the old one. */
static int new_path(char *buf, size_t size, const char *path)
{
	return snprintf(buf, size, "%s.pktledger~", path) < (int)size ? 0 : -ENAMETOOLONG;
}

void ledgerkeep_tidy(const char *path)
{
	char beside[PATH_MAX];

	if (!new_path(beside, sizeof(beside), path))
		unlink(beside);
}

static int fill(int to, int from, off_t size, const struct ledgerkeep_mark *cut)
{
	struct stat st;
	int rc = 0;

	if (flock(to, LOCK_EX | LOCK_NB) || fstat(from, &st) || fchmod(to, st.st_mode & 0777))
		return -errno;
	if (cut->start < cut->at)
		rc = copy_part(to, from, cut->start, cut->start + cut->start_len);
	if (!rc)
		rc = copy_part(to, from, cut->at, size);
	return !rc && fsync(to) ? -errno : rc;
}

/* All places are now so much nearer to the begin. */
static void move_marks(struct ledgerkeep *k, const struct ledgerkeep_mark *cut)
{
	off_t head = cut->start < cut->at ? cut->start_len : 0, gone = cut->at - head;

	for (unsigned i = 0; i < k->n; i++) {
		struct ledgerkeep_mark *m = &k->mark[i];

		m->start = m->start == cut->start ? 0 : m->start - gone;
		m->at -= gone;
	}
	k->start = k->start == cut->start ? 0 : k->start - gone;
}

int ledgerkeep_rewrite(struct ledgerkeep *k, const char *path, int fd, off_t *size,
		       const struct ledgerkeep_mark *cut)
{
	char beside[PATH_MAX];
	int to, rc = new_path(beside, sizeof(beside), path);

	if (rc)
		return rc;
	unlink(beside);
	to = open(beside, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	rc = fill(to, fd, *size, cut);
	if (!rc && rename(beside, path))
		rc = -errno;
	if (rc) {
		unlink(beside);
		close(to);
		return rc;
	}
	*size = lseek(to, 0, SEEK_END);
	move_marks(k, cut);
	return to;
}
