// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/num.h"
#include "host/caps.h"

#define WAIT_MS	 10000 /* for another's lock */
#define POLL_MS	 20
#define MAX_SIZE (4 << 20) /* bytes of a file of changes; more cannot be ours */

/* One entry of JOURNAL_DIR: its file, its lock, and the value that it is about. */
struct entry {
	struct journal_record rec;
	char path[PATH_MAX]; /* of the file */
	int file;	     /* holds the lock */
	int value;	     /* the value itself, O_RDWR */
};

static int start_time(pid_t pid, uint64_t *start)
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
			    "%*s %*s %" SCNu64,
			    start) != 1)
		return -EPROTO;
	return 0;
}

static int own(struct journal_record *rec)
{
	rec->pid = getpid();
	return start_time(rec->pid, &rec->start);
}

bool journal_owner_alive(const struct journal_record *rec)
{
	uint64_t start = 0;

	return !start_time(rec->pid, &start) && start == rec->start;
}

static int make_directory(void)
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

static int file_wait(const char *path, bool create)
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

/* Locks the file of the entry: one that is there, or, with `wait`, a new one. */
static int entry_lock(struct entry *e, bool wait)
{
	int fd = wait ? make_directory() : 0;

	if (!fd)
		fd = wait ? file_wait(e->path, true) : journal_file_lock(e->path, false);
	if (fd < 0)
		return fd;
	e->file = fd;
	return 0;
}

/* The lines of an entry: "key value". */
struct field {
	const char *key;
	enum { FIELD_TEXT, FIELD_PID, FIELD_INDEX, FIELD_U64 } type;
	size_t at, size;
};

#define FIELD(object, member, type_)                                                               \
	{                                                                                          \
#member, type_, offsetof(struct object, member),                                   \
			sizeof(((struct object *)0)->member)                                       \
	}

static const struct field record_fields[] = {
	FIELD(journal_record, pid, FIELD_PID),
	FIELD(journal_record, start, FIELD_U64),
	FIELD(journal_record, kind, FIELD_TEXT),
	FIELD(journal_record, target, FIELD_TEXT),
	FIELD(journal_record, old, FIELD_TEXT),
	FIELD(journal_record, new, FIELD_TEXT),
	{NULL},
};

/* What an entry that is kept has behind its record. */
static const struct field kept_fields[] = {
	FIELD(journal_kept, time, FIELD_TEXT),
	FIELD(journal_kept, boot, FIELD_TEXT),
	FIELD(journal_kept, netns, FIELD_U64),
	FIELD(journal_kept, ifindex, FIELD_INDEX),
	FIELD(journal_kept, apply, FIELD_TEXT),
	FIELD(journal_kept, undo, FIELD_TEXT),
	{NULL},
};

static int print_fields(const void *object, const struct field *f, char *buf, size_t size)
{
	size_t n = 0;

	for (; f->key && n < size; f++) {
		const void *at = (const char *)object + f->at;

		if (f->type == FIELD_TEXT)
			n += snprintf(buf + n, size - n, "%s %s\n", f->key, (const char *)at);
		else if (f->type == FIELD_U64)
			n += snprintf(buf + n, size - n, "%s %llu\n", f->key,
				      (unsigned long long)*(const uint64_t *)at);
		else
			n += snprintf(buf + n, size - n, "%s %u\n", f->key, *(const unsigned *)at);
	}
	return n < size ? (int)n : -ENOSPC;
}

static int parse_fields(void *object, const struct field *f, const char **text)
{
	for (; f->key; f++) {
		char *at = (char *)object + f->at, number[24];
		bool is_text = f->type == FIELD_TEXT;
		size_t key = strlen(f->key), room = is_text ? f->size : sizeof(number), len;
		const char *end = strchr(*text, '\n'), *from = *text + key + 1;
		char *to = is_text ? at : number;
		uint64_t v;

		if (!end || strncmp(*text, f->key, key) || from > end || from[-1] != ' ')
			return -ENODATA;
		len = (size_t)(end - from);
		if (len >= room)
			return -ENODATA;
		memcpy(to, from, len);
		to[len] = '\0';
		*text = end + 1;
		if (is_text)
			continue;
		if (num_u64(number, f->type == FIELD_PID,
			    f->type == FIELD_U64 ? UINT64_MAX : INT_MAX, &v))
			return -ENODATA;
		if (f->type == FIELD_U64)
			memcpy(at, &v, sizeof(v));
		else
			memcpy(at, &(unsigned){(unsigned)v}, sizeof(unsigned));
	}
	return 0;
}

int journal_record_print(const struct journal_record *rec, char *buf, size_t size)
{
	return print_fields(rec, record_fields, buf, size);
}

int journal_record_parse(struct journal_record *rec, const char **text)
{
	return parse_fields(rec, record_fields, text);
}

static int entry_write(const struct entry *e)
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

static int entry_read(struct entry *e)
{
	char buf[JOURNAL_RECORD_SIZE];
	const char *text = buf;
	ssize_t n = pread(e->file, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return journal_record_parse(&e->rec, &text);
}

static int value_open(struct entry *e)
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

static int value_read(const struct entry *e, char value[JOURNAL_VALUE_SIZE])
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

static int value_write(const struct entry *e, const char *value)
{
	ssize_t len = strlen(value), n = pwrite(e->value, value, len, 0);

	return n < 0 ? -errno : n == len ? 0 : -EIO;
}

/*
 * Puts rec.old back if the value is still rec.new, and removes the file. -ESTALE: it was another,
 * and stays; the file is removed. Any other error: the file stays, for journal_repair().
 * Async-signal-safe, as is all that it calls.
 */
static int entry_settle(const struct entry *e)
{
	char now[JOURNAL_VALUE_SIZE];
	int ret = value_read(e, now);
	bool ours = !ret && !strcmp(now, e->rec.new);

	if (ours)
		ret = value_write(e, e->rec.old);
	if (ret)
		return ret;
	if (unlink(e->path) && errno != ENOENT)
		return -errno;
	return ours || !strcmp(now, e->rec.old) ? 0 : -ESTALE;
}

/* With the last copy of the descriptors the lock is free. */
static void entry_close(struct entry *e)
{
	if (e->value >= 0)
		close(e->value);
	if (e->file >= 0)
		close(e->file);
	e->value = e->file = -1;
}

struct journal_change {
	struct entry entry;
	pid_t guard;
	int ask; /* write end of the guard's pipe: closing it asks for the old value */
};

enum guard_fd { FD_FILE, FD_VALUE, FD_ASK, FD_OWNER, GUARD_FDS };

/*
 * The guard, from fork() to its end. Async-signal-safe throughout: the program may have threads.
 * All signals are blocked since before the fork.
 */
static void __attribute__((noreturn)) guard(struct entry *e, int ask, int owner)
{
	int fds[GUARD_FDS] = {e->file, e->value, ask, owner};
	struct pollfd wait[] = {{.fd = FD_ASK, .events = POLLIN},
				{.fd = FD_OWNER, .events = POLLIN}};
	int ret;

	setsid();
	caps_drop_but(CAPS_BIT(CAP_NET_ADMIN)); /* to write the value */
	/* Nothing inherited stays open: not the lab's namespaces, not the reader's end of a pipe.
	 */
	for (int i = 0; i < GUARD_FDS; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, GUARD_FDS);
	for (int i = 0; i < GUARD_FDS; i++)
		dup2(fds[i], i);
	close_range(GUARD_FDS, ~0U, 0);
	e->file = FD_FILE;
	e->value = FD_VALUE;
	(void)!chdir("/"); /* if it fails, it only keeps a directory busy */
	prctl(PR_SET_NAME, "pktledger-guard");
	do
		ret = poll(wait, 2, -1);
	while (ret < 0 && errno == EINTR);
	_exit(-entry_settle(e));
}

static int start_guard(struct journal_change *c)
{
	int owner = pidfd_open(getpid(), 0);
	sigset_t all, before;
	int ask[2], ret = 0;

	if (owner < 0)
		return -errno;
	if (pipe2(ask, O_CLOEXEC)) {
		ret = -errno;
		close(owner);
		return ret;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	c->guard = fork();
	if (!c->guard)
		guard(&c->entry, ask[0], owner);
	if (c->guard < 0)
		ret = -errno;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ask[0]);
	close(owner);
	if (ret)
		close(ask[1]);
	else
		c->ask = ask[1];
	return ret;
}

/* Asks the guard and waits for it; does its work if it was killed. */
static int settle(struct journal_change *c)
{
	int wstatus;
	pid_t pid;

	if (c->guard > 0) {
		close(c->ask);
		do
			pid = waitpid(c->guard, &wstatus, 0);
		while (pid < 0 && errno == EINTR);
		if (pid == c->guard && WIFEXITED(wstatus))
			return -WEXITSTATUS(wstatus);
	}
	return entry_settle(&c->entry);
}

static int busy(struct entry *e, struct error *err)
{
	struct entry other;
	int ret = -ENOENT;

	memset(&other, 0, sizeof(other));
	other.file = open(e->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (other.file >= 0) {
		ret = entry_read(&other);
		close(other.file);
	}
	if (ret)
		return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
				 "/proc/sys/%s is in use by another run", e->rec.target);
	return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
			 "/proc/sys/%s is in use by pktledger, pid %d", e->rec.target,
			 other.rec.pid);
}

static int wait_for_lock(struct entry *e, struct error *err)
{
	int ret = entry_lock(e, true);

	if (ret == -EWOULDBLOCK)
		return busy(e, err);
	if (ret == -EINTR)
		return error_set(err, STATUS_FAILED, ret, NULL,
				 "interrupted while waiting for /proc/sys/%s", e->rec.target);
	if (ret)
		return error_set(err, STATUS_UNABLE, ret, ret == -EACCES ? "run it as root" : NULL,
				 "cannot lock %s: %s", e->path, strerror(-ret));
	return 0;
}

/* Names, and the file that stands for the target: its path with : for / */
static int name_entry(struct entry *e, const char *path)
{
	char *name;

	e->file = e->value = -1;
	snprintf(e->rec.kind, sizeof(e->rec.kind), "%s", "sysctl");
	if (snprintf(e->rec.target, sizeof(e->rec.target), "%s", path) >=
	    (int)sizeof(e->rec.target))
		return -ENAMETOOLONG;
	snprintf(e->path, sizeof(e->path), JOURNAL_DIR "/%s:%s", e->rec.kind, e->rec.target);
	for (name = e->path + sizeof(JOURNAL_DIR); *name; name++) {
		if (*name == '/')
			*name = ':';
	}
	return 0;
}

/* The entry of an owner that died without a guard is settled before a new one takes its place. */
static int settle_left_over(const struct entry *e)
{
	struct entry left = *e;
	int ret = entry_read(&left);

	if (ret == -ENODATA)
		return 0;
	if (!ret)
		ret = entry_settle(&left);
	return !ret || ret == -ESTALE ? -EAGAIN : ret;
}

/* Locks the target, with nothing left over from others. */
static int take(struct entry *e, struct error *err)
{
	int ret;

	do {
		ret = wait_for_lock(e, err);
		if (ret)
			return ret;
		ret = settle_left_over(e);
		if (ret == -EAGAIN) { /* its file is gone, so is the lock */
			close(e->file);
			e->file = -1;
		}
	} while (ret == -EAGAIN);
	return ret;
}

/* Lock, entry, guard, value, in this order: nothing is changed before all can be undone. */
static int apply(struct journal_change *c, struct error *err)
{
	struct entry *e = &c->entry;
	char now[JOURNAL_VALUE_SIZE];
	int ret;

	ret = take(e, err);
	if (ret)
		return ret;
	ret = value_read(e, e->rec.old);
	if (!ret)
		ret = own(&e->rec);
	if (!ret)
		ret = entry_write(e);
	if (!ret)
		ret = start_guard(c);
	if (ret) {
		unlink(e->path);
		return ret;
	}
	ret = value_write(e, e->rec.new);
	if (!ret)
		ret = value_read(e, now);
	if (!ret && strcmp(now, e->rec.new)) {
		value_write(e, e->rec.old);
		ret = -ERANGE;
	}
	if (ret)
		settle(c);
	return ret;
}

static void free_change(struct journal_change *c)
{
	entry_close(&c->entry);
	free(c);
}

/* Holds the lock of the target; with `value` it has that, too. */
static int begin(struct journal_change **change, const char *path, const char *value,
		 struct error *err)
{
	struct journal_change *c = calloc(1, sizeof(*c));
	struct journal_record *rec;
	int ret;

	if (!c)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	rec = &c->entry.rec;
	ret = name_entry(&c->entry, path);
	if (!ret && value &&
	    snprintf(rec->new, sizeof(rec->new), "%s", value) >= (int)sizeof(rec->new))
		ret = -ENOSPC;
	if (!ret && value)
		ret = value_open(&c->entry);
	if (!ret)
		ret = value ? apply(c, err) : take(&c->entry, err);
	if (ret)
		free_change(c);
	else
		*change = c;
	return ret;
}

int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err)
{
	int ret = begin(change, path, value, err);

	return ret ? error_set(err, STATUS_UNABLE, ret,
			       ret == -EACCES || ret == -EPERM ? "run it as root" : NULL,
			       "cannot set /proc/sys/%s to %s: %s", path, value, strerror(-ret))
		   : 0;
}

int journal_hold_sysctl(struct journal_change **hold, const char *path, struct error *err)
{
	int ret = begin(hold, path, NULL, err);

	return ret ? error_set(err, STATUS_UNABLE, ret, NULL, "cannot lock /proc/sys/%s: %s", path,
			       strerror(-ret))
		   : 0;
}

int journal_restore(struct journal_change *change, struct error *err)
{
	const struct entry *e;
	int ret;

	if (!change)
		return 0;
	e = &change->entry;
	ret = settle(change);
	if (ret == -ESTALE)
		error_set(err, STATUS_FAILED, ret, "check its value",
			  "/proc/sys/%s was changed by somebody else meanwhile and stays as it is; "
			  "it had been %s",
			  e->rec.target, e->rec.old);
	else if (ret)
		error_set(err, STATUS_FAILED, ret, "set it by hand",
			  "cannot put /proc/sys/%s back to %s: %s", e->rec.target, e->rec.old,
			  strerror(-ret));
	free_change(change);
	return ret;
}

void journal_release(struct journal_change *hold)
{
	if (!hold)
		return;
	unlink(hold->entry.path);
	free_change(hold);
}

/* 1 if the entry was settled, 0 if it is not for us, or -errno. */
static int repair(struct entry *e, void (*cb)(void *arg, const struct journal_repaired *entry),
		  void *arg)
{
	struct journal_repaired told = {
		.kind = e->rec.kind, .target = e->rec.target, .old = e->rec.old};
	char now[JOURNAL_VALUE_SIZE];
	int ret = entry_lock(e, false);

	if (ret)
		return ret == -EWOULDBLOCK || ret == -ENOENT ? 0 : ret;
	ret = entry_read(e);
	if (ret == -ENODATA) /* its owner died before it changed anything */
		return unlink(e->path) ? -errno : 0;
	if (ret || journal_owner_alive(&e->rec))
		return ret;
	ret = value_open(e);
	if (!ret)
		ret = value_read(e, now);
	if (!ret)
		ret = entry_settle(e);
	if (ret && ret != -ESTALE)
		return ret;
	told.pid = e->rec.pid;
	told.current = now;
	told.restored = !ret;
	if (cb)
		cb(arg, &told);
	return 1;
}

int journal_repair(void (*cb)(void *arg, const struct journal_repaired *entry), void *arg,
		   struct error *err)
{
	const struct dirent *file;
	DIR *dir = opendir(JOURNAL_DIR);
	int settled = 0, ret = 0;

	if (!dir)
		return errno == ENOENT || errno == EACCES ? 0 : -errno;
	while (ret >= 0 && (file = readdir(dir))) {
		struct entry e = {.file = -1, .value = -1};

		if (*file->d_name == '.')
			continue;
		snprintf(e.path, sizeof(e.path), JOURNAL_DIR "/%s", file->d_name);
		ret = repair(&e, cb, arg);
		if (ret < 0)
			error_set(err, STATUS_FAILED, ret, "run it as root, or set it by hand",
				  "cannot restore what %s says: %s", e.path, strerror(-ret));
		else
			settled += ret;
		entry_close(&e);
	}
	closedir(dir);
	return ret < 0 ? ret : settled;
}

struct journal_kept_file {
	char path[PATH_MAX];
	int fd; /* holds the lock */
	struct journal_kept *at;
	unsigned n;
	char *rest; /* what could not be read; "" if all could */
	unsigned damaged;
};

#define BOOT_ID "/proc/sys/kernel/random/boot_id"

bool journal_kept_this_boot(const struct journal_kept *kept)
{
	char boot[sizeof(kept->boot)];

	return file_line(BOOT_ID, boot, sizeof(boot)) && !strcmp(boot, kept->boot);
}

/* Moves `text` only behind a whole entry. */
static int parse_kept(struct journal_kept *k, const char **text)
{
	const char *at = *text;

	if (journal_record_parse(&k->rec, &at) || parse_fields(k, kept_fields, &at) || *at != '\n')
		return -ENODATA;
	*text = at + 1;
	return 0;
}

static int append(struct journal_kept_file *f, const struct journal_kept *kept)
{
	struct journal_kept *more = reallocarray(f->at, f->n + 1, sizeof(*more));

	if (!more)
		return -ENOMEM;
	f->at = more;
	f->at[f->n++] = *kept;
	return 0;
}

static int parse_all(struct journal_kept_file *f, const char *text)
{
	const char *at = text;
	struct journal_kept k;

	while (*at && !parse_kept(&k, &at)) {
		int ret = append(f, &k);

		if (ret)
			return ret;
	}
	f->rest = strdup(at);
	if (!f->rest)
		return -ENOMEM;
	if (!*at)
		return 0;
	f->damaged = 1;
	for (const char *c = text; c < at; c++)
		f->damaged += *c == '\n';
	return 0;
}

static int read_all(struct journal_kept_file *f)
{
	char path[32], *text;
	struct stat st;
	size_t len;
	int ret;

	if (fstat(f->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_SIZE)
		return -EFBIG;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	ret = file_read(path, &text, &len);
	if (ret)
		return ret;
	ret = strlen(text) == len ? parse_all(f, text) : -EBADMSG;
	free(text);
	return ret;
}

static int lock_and_read(struct journal_kept_file *f, bool create)
{
	bool ours = !strncmp(f->path, JOURNAL_HOME "/", sizeof(JOURNAL_HOME));
	int ret = create && ours ? make_directory() : 0;

	if (ret)
		return ret;
	f->fd = file_wait(f->path, create);
	return f->fd < 0 ? f->fd : read_all(f);
}

int journal_kept_open(struct journal_kept_file **file, const char *path, bool create,
		      struct error *err)
{
	struct journal_kept_file *f = calloc(1, sizeof(*f));
	int ret;

	if (!f)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	f->fd = -1;
	ret = snprintf(f->path, sizeof(f->path), "%s", path) >= (int)sizeof(f->path)
		      ? -ENAMETOOLONG
		      : lock_and_read(f, create);
	if (!ret) {
		*file = f;
		return 0;
	}
	journal_kept_close(f);
	if (ret == -ENOENT && !create)
		return ret;
	if (ret == -EWOULDBLOCK)
		return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
				 "%s is in use by another pktledger", path);
	if (ret == -EBADMSG || ret == -EFBIG)
		return error_set(err, STATUS_FAILED, ret, "remove it, or take another file",
				 "%s is not a file of changes", path);
	return error_set(err, STATUS_UNABLE, ret,
			 ret == -EACCES || ret == -EPERM ? "run it as root" : NULL,
			 "cannot open %s: %s", path, strerror(-ret));
}

unsigned journal_kept_count(const struct journal_kept_file *file)
{
	return file->n;
}

const struct journal_kept *journal_kept_at(const struct journal_kept_file *file, unsigned i)
{
	return &file->at[i];
}

unsigned journal_kept_damaged(const struct journal_kept_file *file)
{
	return file->damaged;
}

int journal_kept_add(struct journal_kept_file *file, const struct journal_kept *kept)
{
	struct journal_kept k = *kept;
	int ret = own(&k.rec);

	if (!ret && !file_line(BOOT_ID, k.boot, sizeof(k.boot)))
		ret = -EIO;
	if (ret)
		return ret;
	json_time(k.time, sizeof(k.time), when_now());
	return append(file, &k);
}

void journal_kept_remove(struct journal_kept_file *file, unsigned i)
{
	memmove(&file->at[i], &file->at[i + 1], (--file->n - i) * sizeof(*file->at));
}

static int sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	int fd, ret;

	if (slash)
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path) + 1, path);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ret = fsync(fd) && errno != EINVAL ? -errno : 0;
	close(fd);
	return ret;
}

static int print_kept(const struct journal_kept *k, FILE *f)
{
	char buf[sizeof(*k) + 256];
	int n = journal_record_print(&k->rec, buf, sizeof(buf)), more;

	more = n < 0 ? n : print_fields(k, kept_fields, buf + n, sizeof(buf) - n);
	if (more < 0)
		return more;
	fprintf(f, "%s\n", buf);
	return 0;
}

static int write_all(const struct journal_kept_file *f, int fd)
{
	int copy = dup(fd), ret = 0;
	FILE *out = copy < 0 ? NULL : fdopen(copy, "w");

	if (!out) {
		ret = -errno;
		if (copy >= 0)
			close(copy);
		return ret;
	}
	for (unsigned i = 0; i < f->n && !ret; i++)
		ret = print_kept(&f->at[i], out);
	fputs(f->rest, out);
	if (fflush(out) || ferror(out) || fsync(fd))
		ret = ret ? ret : -errno;
	fclose(out);
	return ret;
}

int journal_kept_save(struct journal_kept_file *file)
{
	char next[PATH_MAX + sizeof(".new")];
	int fd, ret;

	if (!file->n && !*file->rest)
		return unlink(file->path) && errno != ENOENT ? -errno : sync_directory(file->path);
	snprintf(next, sizeof(next), "%s.new", file->path);
	/* one that was left by a program that was killed is in nobody's use: we have the lock */
	if (unlink(next) && errno != ENOENT)
		return -errno;
	fd = open(next, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* The new file is locked before it has the name: nobody gets in between. */
	ret = flock(fd, LOCK_EX | LOCK_NB) ? -errno : write_all(file, fd);
	if (!ret && rename(next, file->path))
		ret = -errno;
	if (ret) {
		unlink(next);
		close(fd);
		return ret;
	}
	close(file->fd);
	file->fd = fd;
	return sync_directory(file->path);
}

void journal_kept_close(struct journal_kept_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		close(file->fd);
	free(file->at);
	free(file->rest);
	free(file);
}
