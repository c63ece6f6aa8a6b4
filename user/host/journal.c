// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

#include "base/file.h"
#include "base/mem.h"
#include "base/proc.h"
#include "host/caps.h"

#define WAIT_MS	 10000 /* ms, longest wait for another process's lock */
#define POLL_MS	 20
#define MAX_SIZE (4 << 20) /* bytes, largest accepted undo file */

/* An entry in JOURNAL_DIR: its file, its lock and the setting's value. */
struct entry {
	struct journal_record rec;
	char path[PATH_MAX]; /* path of the entry's file */
	int file;	     /* holds the lock */
	int value;	     /* the setting, open O_RDWR */
};

static int start_time(pid_t pid, uint64_t *start)
{
	int root = proc_root(NULL), ret = root;
	struct proc_stat st;

	if (root >= 0) {
		ret = proc_stat(root, pid, 0, &st);
		close(root);
	}
	if (!ret)
		*start = st.start;
	return ret;
}

int journal_own(pid_t *pid, uint64_t *start)
{
	*pid = getpid();
	return start_time(*pid, start);
}

bool journal_owner_alive(const struct journal_record *rec)
{
	uint64_t start = 0;

	return !start_time(rec->pid, &start) && start == rec->start;
}

static int make_directory(void)
{
	return (mkdir(JOURNAL_HOME, 0700) && errno != EEXIST) ||
			       (mkdir(JOURNAL_DIR, 0700) && errno != EEXIST)
		       ? -errno
		       : 0;
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
		/* The previous lock holder removed it: open the next file if there is one. */
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

static const struct record_field record_rows[] = {
	RECORD("pid", INT, journal_record, pid),
	RECORD("start", UINT, journal_record, start),
	RECORD("kind", TEXT, journal_record, kind),
	RECORD("target", TEXT, journal_record, target),
	RECORD("old", TEXT, journal_record, old),
	RECORD("new", TEXT, journal_record, new),
	{0},
};

int journal_read(struct json_object *o, const struct record_field *rows, void *to)
{
	int ret = record_read(o, rows, to);
	struct json_object *again = record_write(rows, to);

	if (!json_object_equal(o, again))
		ret = -ENODATA;
	json_object_put(again);
	return ret ? -ENODATA : 0;
}

int journal_record_print(const struct journal_record *rec, char *buf, size_t size)
{
	struct json_object *o = record_write(record_rows, rec);
	const char *text = json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN);
	int n = snprintf(buf, size, "%s", text);

	json_object_put(o);
	return n < (int)size ? n : -ENOSPC;
}

int journal_record_parse(struct journal_record *rec, const char *text)
{
	struct json_object *o = json_tokener_parse(text);
	int ret = journal_read(o, record_rows, rec);

	json_object_put(o);
	return !ret && rec->pid < 1 ? -ENODATA : ret;
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
	ssize_t n = pread(e->file, buf, sizeof(buf) - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return journal_record_parse(&e->rec, buf);
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
 * If the value is still rec.new, restores rec.old and removes the file. Returns -ESTALE if the
 * value differed: it is kept, and the file is removed. On any other error the file stays for
 * journal_repair(). Async-signal-safe, like every function it calls.
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

/* The lock is released when the last copy of the descriptor is closed. */
static void entry_close(struct entry *e)
{
	fd_close(&e->value);
	fd_close(&e->file);
}

struct journal_change {
	struct entry entry;
	pid_t guard;
	int ask; /* write end of the guard's pipe: closing it restores the old value */
};

enum guard_fd { FD_FILE, FD_VALUE, FD_ASK, FD_OWNER, GUARD_FDS };

/*
 * Runs the guard process from fork() until it exits. Everything here is async-signal-safe, because
 * the program may have threads. All signals have been blocked since before the fork.
 */
static void __attribute__((noreturn)) guard(struct entry *e, int ask, int owner)
{
	int fds[GUARD_FDS] = {e->file, e->value, ask, owner};
	struct pollfd wait[] = {{.fd = FD_ASK, .events = POLLIN},
				{.fd = FD_OWNER, .events = POLLIN}};
	int ret;

	setsid();
	caps_drop_but(CAPS_BIT(CAP_NET_ADMIN)); /* required to write the value */
	/* Do not keep inherited descriptors such as test network namespaces or pipe ends. */
	for (int i = 0; i < GUARD_FDS; i++)
		fds[i] = fcntl(fds[i], F_DUPFD, GUARD_FDS);
	for (int i = 0; i < GUARD_FDS; i++)
		dup2(fds[i], i);
	close_range(GUARD_FDS, ~0U, 0);
	e->file = FD_FILE;
	e->value = FD_VALUE;
	(void)!chdir("/"); /* failure does no harm: it only keeps a directory busy */
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

	if (owner < 0 || pipe2(ask, O_CLOEXEC)) {
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

/*
 * Asks the guard to restore the value and waits for it. Restores the value itself if the guard was
 * killed.
 */
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

static int wait_for_lock(struct entry *e, struct error *err)
{
	struct entry other = {.file = -1, .value = -1};
	char who[32] = "another run";
	int ret = make_directory();

	if (!ret)
		ret = e->file = file_wait(e->path, true);
	if (ret >= 0)
		return 0;
	if (ret == -EWOULDBLOCK) {
		other.file = open(e->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (other.file >= 0 && !entry_read(&other))
			snprintf(who, sizeof(who), "pktledger, pid %d", other.rec.pid);
		entry_close(&other);
		return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
				 "/proc/sys/%s is in use by %s", e->rec.target, who);
	}
	if (ret == -EINTR)
		return error_set(err, STATUS_FAILED, ret, NULL,
				 "interrupted while waiting for /proc/sys/%s", e->rec.target);
	return error_errno(err, STATUS_UNABLE, ret, ret == -EACCES ? "run it as root" : NULL,
			   "cannot lock %s", e->path);
}

/* Locks the target. If an owner died without a guard, resolves its entry first. */
static int take(struct entry *e, struct error *err)
{
	for (;;) {
		int ret = wait_for_lock(e, err);
		struct entry left = *e;

		if (ret)
			return ret;
		ret = entry_read(&left);
		if (ret)
			return ret == -ENODATA ? 0 : ret;
		ret = entry_settle(&left);
		if (ret && ret != -ESTALE)
			return ret;
		fd_close(&e->file); /* the file was removed, so the lock is void */
	}
}

/*
 * Takes the lock, writes the entry, starts the guard, then sets the value. Nothing changes before
 * the change can be undone.
 */
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
		ret = journal_own(&e->rec.pid, &e->rec.start);
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

int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err)
{
	struct journal_change *c = mem_new(c);
	struct journal_record *rec;
	int ret = 0;

	c->entry.file = c->entry.value = -1;
	rec = &c->entry.rec;
	strcpy(rec->kind, "sysctl");
	if (snprintf(rec->target, sizeof(rec->target), "%s", path) >= (int)sizeof(rec->target))
		ret = -ENAMETOOLONG;
	if (value && snprintf(rec->new, sizeof(rec->new), "%s", value) >= (int)sizeof(rec->new))
		ret = -ENOSPC;
	/* the file is named after the target */
	snprintf(c->entry.path, sizeof(c->entry.path), JOURNAL_DIR "/sysctl:%s", rec->target);
	for (char *name = c->entry.path + sizeof(JOURNAL_DIR); *name; name++)
		*name = *name == '/' ? ':' : *name;
	if (!ret && value)
		ret = value_open(&c->entry);
	if (!ret)
		ret = value ? apply(c, err) : take(&c->entry, err);
	if (ret)
		free_change(c);
	else
		*change = c;
	if (!value)
		return error_errno(err, STATUS_UNABLE, ret, NULL, "cannot lock /proc/sys/%s", path);
	return error_errno(err, STATUS_UNABLE, ret,
			   ret == -EACCES || ret == -EPERM ? "run it as root" : NULL,
			   "cannot set /proc/sys/%s to %s", path, value);
}

int journal_restore(struct journal_change *change, struct error *err)
{
	const struct journal_record *rec;
	int ret;

	if (!change)
		return 0;
	rec = &change->entry.rec;
	ret = settle(change);
	if (ret == -ESTALE)
		error_set(err, STATUS_FAILED, ret, "check its value",
			  "/proc/sys/%s was changed by another program and stays as it is (original "
			  "value: %s)",
			  rec->target, rec->old);
	error_errno(err, STATUS_FAILED, ret, "set it by hand", "cannot put /proc/sys/%s back to %s",
		    rec->target, rec->old);
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

/* Returns 1 if the entry was resolved, 0 if we may not access it, or -errno. */
static int repair(struct entry *e, journal_repair_cb cb, void *arg)
{
	char now[JOURNAL_VALUE_SIZE];
	int ret = e->file = journal_file_lock(e->path, false);

	if (ret < 0)
		return ret == -EWOULDBLOCK || ret == -ENOENT ? 0 : ret;
	ret = entry_read(e);
	if (ret == -ENODATA) /* the owner died before changing the value */
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
	if (cb)
		cb(arg, &e->rec, now, !ret);
	return 1;
}

int journal_repair(journal_repair_cb cb, void *arg, struct error *err)
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
			error_errno(err, STATUS_FAILED, ret, "run as root, or change the setting by "
							     "hand",
				    "cannot restore the changes recorded in %s", e.path);
		else
			settled += ret;
		entry_close(&e);
	}
	closedir(dir);
	return ret < 0 ? ret : settled;
}

static int read_all(struct journal_kept *f)
{
	char path[32], *text;
	struct stat st;
	int ret;

	if (fstat(f->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_SIZE)
		return -EFBIG;
	/* the file's commands are executed, so only its owner may have written to it */
	if ((st.st_uid && st.st_uid != geteuid()) || st.st_mode & (S_IWGRP | S_IWOTH))
		return -EKEYREJECTED;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	ret = file_read(path, &text, NULL);
	if (ret)
		return ret;
	f->entries = st.st_size ? json_tokener_parse(text) : json_object_new_array();
	free(text);
	return json_object_is_type(f->entries, json_type_array) ? 0 : -EBADMSG;
}

int journal_kept_open(struct journal_kept *f, const char *path, bool create, struct error *err)
{
	bool ours = !strncmp(path, JOURNAL_HOME "/", sizeof(JOURNAL_HOME));
	int ret = create && ours ? make_directory() : 0;

	*f = (struct journal_kept){.fd = -1, .path = path};
	if (!ret)
		ret = f->fd = file_wait(path, create);
	if (ret >= 0)
		ret = read_all(f);
	if (!ret)
		return 0;
	journal_kept_close(f);
	if (ret == -ENOENT && !create)
		return ret;
	if (ret == -EWOULDBLOCK)
		return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
				 "%s is in use by another pktledger", path);
	if (ret == -EBADMSG || ret == -EFBIG)
		return error_set(err, STATUS_FAILED, ret, "check the file, or use another one",
				 "%s is not a file of changes", path);
	if (ret == -EKEYREJECTED)
		return error_set(err, STATUS_FAILED, ret, "check the file, or use another one",
				 "another user could have written %s", path);
	return error_errno(err, STATUS_UNABLE, ret,
			   ret == -EACCES || ret == -EPERM ? "run it as root" : NULL,
			   "cannot open %s", path);
}

/* Does not sync: a kernel crash also loses the changes themselves. */
int journal_kept_save(struct journal_kept *f)
{
	char next[PATH_MAX];
	int fd, ret = 0;

	if (!json_object_array_length(f->entries))
		return unlink(f->path) && errno != ENOENT ? -errno : 0;
	if (snprintf(next, sizeof(next), "%s.new", f->path) >= (int)sizeof(next))
		return -ENAMETOOLONG;
	/* left by a program that was killed, and unused because we hold the lock */
	if (unlink(next) && errno != ENOENT)
		return -errno;
	fd = open(next, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	/* Lock the file before renaming it, so that no other program can lock it first. */
	if (flock(fd, LOCK_EX | LOCK_NB) ||
	    json_object_to_fd(fd, f->entries,
			      JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE) ||
	    rename(next, f->path))
		ret = -errno;
	if (ret)
		unlink(next);
	close(ret ? fd : f->fd);
	f->fd = ret ? f->fd : fd;
	return ret;
}

void journal_kept_close(struct journal_kept *f)
{
	fd_close(&f->fd);
	json_object_put(f->entries);
}
