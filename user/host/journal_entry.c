// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal_entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

int journal_entry_own(struct journal_entry *e)
{
	e->pid = getpid();
	return start_time(e->pid, &e->start);
}

bool journal_owner_alive(const struct journal_entry *e)
{
	unsigned long long start = 0;

	return !start_time(e->pid, &start) && start == e->start;
}

static int make_directory(void)
{
	if (mkdir("/run/pktledger", 0700) && errno != EEXIST)
		return -errno;
	if (mkdir(JOURNAL_DIR, 0700) && errno != EEXIST)
		return -errno;
	return 0;
}

int journal_entry_lock(struct journal_entry *e, bool create)
{
	struct stat st;
	int ret = create ? make_directory() : 0;

	while (!ret) {
		e->file = open(e->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0),
			       0600);
		if (e->file < 0)
			return -errno;
		if (flock(e->file, LOCK_EX | LOCK_NB) || fstat(e->file, &st))
			ret = -errno;
		else if (st.st_nlink)
			return 0;
		/* Removed by the one that had the lock before: open the next, if there is one. */
		close(e->file);
		e->file = -1;
	}
	return ret;
}

int journal_entry_write(const struct journal_entry *e)
{
	char buf[1024];
	int n = snprintf(buf, sizeof(buf),
			 "pid %d\nstart %llu\nkind %s\ntarget %s\nold %s\nnew %s\n", e->pid,
			 e->start, e->kind, e->target, e->old, e->new);
	ssize_t done;

	if (n >= (int)sizeof(buf))
		return -ENOSPC;
	if (ftruncate(e->file, 0))
		return -errno;
	done = pwrite(e->file, buf, n, 0);
	return done < 0 ? -errno : done == n ? 0 : -ENOSPC;
}

int journal_entry_read(struct journal_entry *e)
{
	char buf[1024], end = 0;
	ssize_t n = pread(e->file, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	/* widths: one less than the sizes of the fields */
	if (sscanf(buf,
		   "pid %d\nstart %llu\nkind %15[^\n]\ntarget %255[^\n]\nold %127[^\n]\n"
		   "new %127[^\n]%c",
		   &e->pid, &e->start, e->kind, e->target, e->old, e->new, &end) != 7 ||
	    end != '\n')
		return -ENODATA;
	return 0;
}

int journal_value_open(struct journal_entry *e)
{
	char path[sizeof(e->target) + sizeof("/proc/sys/")];

	snprintf(path, sizeof(path), "/proc/sys/%s", e->target);
	e->value = open(path, O_RDWR | O_CLOEXEC);
	return e->value < 0 ? -errno : 0;
}

int journal_value_read(const struct journal_entry *e, char value[JOURNAL_VALUE_SIZE])
{
	char raw[JOURNAL_VALUE_SIZE], *to = value;
	ssize_t n = pread(e->value, raw, sizeof(raw), 0);

	if (n < 0)
		return -errno;
	if (n == sizeof(raw))
		return -ENOSPC;
	for (ssize_t i = 0; i < n; i++) {
		bool blank = raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n';

		if (!blank)
			*to++ = raw[i];
		else if (to > value && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > value && to[-1] == ' ')
		to--;
	*to = '\0';
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
	bool ours = !ret && !strcmp(now, e->new);

	if (ours)
		ret = journal_value_write(e, e->old);
	if (ret)
		return ret;
	if (unlink(e->path) && errno != ENOENT)
		return -errno;
	return ours || !strcmp(now, e->old) ? 0 : -ESTALE;
}

void journal_entry_close(struct journal_entry *e)
{
	if (e->value >= 0)
		close(e->value);
	if (e->file >= 0)
		close(e->file);
	e->value = e->file = -1;
}
