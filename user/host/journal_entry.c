// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#define WAIT_MS 10000 /* for another's lock */
#define POLL_MS 20

static int start_time(pid_t pid, unsigned long long *start)
{
	char path[64], buf[1024], *rest;
	int fd, ret = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		ret = -errno;
	close(fd);
	if (ret)
		return ret;
	buf[n] = '\0';
	rest = strrchr(buf, ')'); /* the name before it may contain anything */
	/* field 3 follows; 22 is the 20th from there */
	if (!rest || sscanf(rest + 1,
			    " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			    "%*s %*s %llu",
			    start) != 1)
		return -EPROTO;
	return 0;
}

int journal_own(struct journal_record *rec)
{
	rec->pid = getpid();
	return start_time(rec->pid, &rec->start);
}

bool journal_owner_alive(const struct journal_record *rec)
{
	unsigned long long start = 0;

	return !start_time(rec->pid, &start) && start == rec->start;
}

int journal_make_directory(void)
{
	if (mkdir(JOURNAL_HOME, 0700) && errno != EEXIST)
		return -errno;
	if (mkdir(JOURNAL_DIR, 0700) && errno != EEXIST)
		return -errno;
	return 0;
}

int journal_file_lock(const char *path, bool create)
{
	struct stat st;
	int ret = 0;

	while (!ret) {
		int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);

		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) || fstat(fd, &st))
			ret = -errno;
		else if (st.st_nlink)
			return fd;
		/* Removed by the one that had the lock before: open the next, if there is one. */
		close(fd);
	}
	return ret;
}

int journal_file_wait(const char *path, bool create)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000};
	int fd = journal_file_lock(path, create);

	for (int ms = 0; fd == -EWOULDBLOCK && ms < WAIT_MS; ms += POLL_MS) {
		if (nanosleep(&pause, NULL))
			return -errno;
		fd = journal_file_lock(path, create);
	}
	return fd;
}

int journal_entry_lock(struct journal_entry *e, bool wait)
{
	int fd = wait ? journal_make_directory() : 0;

	if (!fd)
		fd = wait ? journal_file_wait(e->path, true) : journal_file_lock(e->path, false);
	if (fd < 0)
		return fd;
	e->file = fd;
	return 0;
}

int journal_record_print(const struct journal_record *rec, char *buf, size_t size)
{
	int n = snprintf(buf, size, "pid %d\nstart %llu\nkind %s\ntarget %s\nold %s\nnew %s\n",
			 rec->pid, rec->start, rec->kind, rec->target, rec->old, rec->new);

	return n < (int)size ? n : -ENOSPC;
}

int journal_line_parse(const char **text, const char *key, char *value, size_t size)
{
	const char *end = strchr(*text, '\n'), *from = *text + strlen(key) + 1;

	if (!end || from > end || strncmp(*text, key, from - *text - 1) || from[-1] != ' ' ||
	    (size_t)(end - from) >= size)
		return -ENODATA;
	memcpy(value, from, end - from);
	value[end - from] = '\0';
	*text = end + 1;
	return 0;
}

int journal_record_parse(struct journal_record *rec, const char **text)
{
	char pid[24], start[24];
	uint64_t n = 0, m = 0;

	if (journal_line_parse(text, "pid", pid, sizeof(pid)) ||
	    journal_line_parse(text, "start", start, sizeof(start)) ||
	    journal_line_parse(text, "kind", rec->kind, sizeof(rec->kind)) ||
	    journal_line_parse(text, "target", rec->target, sizeof(rec->target)) ||
	    journal_line_parse(text, "old", rec->old, sizeof(rec->old)) ||
	    journal_line_parse(text, "new", rec->new, sizeof(rec->new)) ||
	    num_u64(pid, 1, INT_MAX, &n) || num_u64(start, 0, UINT64_MAX, &m))
		return -ENODATA;
	rec->pid = n;
	rec->start = m;
	return 0;
}

int journal_entry_write(const struct journal_entry *e)
{
	char buf[JOURNAL_RECORD_SIZE];
	int n = journal_record_print(&e->rec, buf, sizeof(buf));
	ssize_t done;

	if (n < 0)
		return n;
	if (ftruncate(e->file, 0))
		return -errno;
	done = pwrite(e->file, buf, n, 0);
	return done < 0 ? -errno : done == n ? 0 : -ENOSPC;
}

int journal_entry_read(struct journal_entry *e)
{
	char buf[JOURNAL_RECORD_SIZE];
	const char *text = buf;
	ssize_t n = pread(e->file, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return journal_record_parse(&e->rec, &text);
}

int journal_value_open(struct journal_entry *e)
{
	char path[sizeof(e->rec.target) + sizeof("/proc/sys/")];

	snprintf(path, sizeof(path), "/proc/sys/%s", e->rec.target);
	e->value = open(path, O_RDWR | O_CLOEXEC);
	return e->value < 0 ? -errno : 0;
}

void journal_value_normal(char *to, const char *raw, size_t len)
{
	const char *begin = to;

	for (size_t i = 0; i < len; i++) {
		bool blank = raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n';

		if (!blank)
			*to++ = raw[i];
		else if (to > begin && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > begin && to[-1] == ' ')
		to--;
	*to = '\0';
}

int journal_value_read(const struct journal_entry *e, char value[JOURNAL_VALUE_SIZE])
{
	char raw[JOURNAL_VALUE_SIZE];
	ssize_t n = pread(e->value, raw, sizeof(raw), 0);

	if (n < 0)
		return -errno;
	if (n == sizeof(raw))
		return -ENOSPC;
	journal_value_normal(value, raw, n);
	return 0;
}

int journal_value_write(const struct journal_entry *e, const char *value)
{
	ssize_t len = strlen(value), n = pwrite(e->value, value, len, 0);

	return n < 0 ? -errno : n == len ? 0 : -EIO;
}

int journal_entry_settle(const struct journal_entry *e)
{
	char now[JOURNAL_VALUE_SIZE];
	int ret = journal_value_read(e, now);
	bool ours = !ret && !strcmp(now, e->rec.new);

	if (ours)
		ret = journal_value_write(e, e->rec.old);
	if (ret)
		return ret;
	if (unlink(e->path) && errno != ENOENT)
		return -errno;
	return ours || !strcmp(now, e->rec.old) ? 0 : -ESTALE;
}

void journal_entry_close(struct journal_entry *e)
{
	if (e->value >= 0)
		close(e->value);
	if (e->file >= 0)
		close(e->file);
	e->value = e->file = -1;
}
