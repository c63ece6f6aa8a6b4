// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/caps.h"
#include "host/journal_entry.h"

struct journal_change {
	struct journal_entry entry;
	pid_t guard;
	int ask; /* write end of the guard's pipe: closing it asks for the old value */
};

enum guard_fd { FD_FILE, FD_VALUE, FD_ASK, FD_OWNER, GUARD_FDS };

/*
 * The guard, from fork() to its end. Async-signal-safe throughout: the program may have threads.
 * All signals are blocked since before the fork.
 */
static void __attribute__((noreturn)) guard(struct journal_entry *e, int ask, int owner)
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
	_exit(-journal_entry_settle(e));
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
	return journal_entry_settle(&c->entry);
}

static int busy(struct journal_entry *e, struct error *err)
{
	struct journal_entry other;
	int ret = -ENOENT;

	memset(&other, 0, sizeof(other));
	other.file = open(e->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (other.file >= 0) {
		ret = journal_entry_read(&other);
		close(other.file);
	}
	if (ret)
		return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
				 "/proc/sys/%s is in use by another run", e->rec.target);
	return error_set(err, STATUS_FAILED, -EBUSY, "try again when it is done",
			 "/proc/sys/%s is in use by pktledger, pid %d", e->rec.target,
			 other.rec.pid);
}

static int wait_for_lock(struct journal_entry *e, struct error *err)
{
	int ret = journal_entry_lock(e, true);

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
static int name_entry(struct journal_entry *e, const char *path)
{
	char *name;

	e->file = e->value = -1;
	snprintf(e->rec.kind, sizeof(e->rec.kind), "%s", JOURNAL_SYSCTL);
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
static int settle_left_over(const struct journal_entry *e)
{
	struct journal_entry left = *e;
	int ret = journal_entry_read(&left);

	if (ret == -ENODATA)
		return 0;
	if (!ret)
		ret = journal_entry_settle(&left);
	return !ret || ret == -ESTALE ? -EAGAIN : ret;
}

/* Locks the target, with nothing left over from others. */
static int take(struct journal_entry *e, struct error *err)
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
	struct journal_entry *e = &c->entry;
	char now[JOURNAL_VALUE_SIZE];
	int ret;

	ret = take(e, err);
	if (ret)
		return ret;
	ret = journal_value_read(e, e->rec.old);
	if (!ret)
		ret = journal_own(&e->rec);
	if (!ret)
		ret = journal_entry_write(e);
	if (!ret)
		ret = start_guard(c);
	if (ret) {
		unlink(e->path);
		return ret;
	}
	ret = journal_value_write(e, e->rec.new);
	if (!ret)
		ret = journal_value_read(e, now);
	if (!ret && strcmp(now, e->rec.new)) {
		journal_value_write(e, e->rec.old);
		ret = -ERANGE;
	}
	if (ret)
		settle(c);
	return ret;
}

int journal_change_sysctl(struct journal_change **change, const char *path, const char *value,
			  struct error *err)
{
	struct journal_change *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	ret = name_entry(&c->entry, path);
	if (!ret && snprintf(c->entry.rec.new, sizeof(c->entry.rec.new), "%s", value) >=
			    (int)sizeof(c->entry.rec.new))
		ret = -ENOSPC;
	if (!ret)
		ret = journal_value_open(&c->entry);
	if (!ret)
		ret = apply(c, err);
	if (ret) {
		error_set(err, STATUS_UNABLE, ret,
			  ret == -EACCES || ret == -EPERM ? "run it as root" : NULL,
			  "cannot set /proc/sys/%s to %s: %s", path, value, strerror(-ret));
		journal_entry_close(&c->entry);
		free(c);
		return ret;
	}
	*change = c;
	return 0;
}

int journal_restore(struct journal_change *change, struct error *err)
{
	const struct journal_entry *e;
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
	journal_entry_close(&change->entry);
	free(change);
	return ret;
}

int journal_hold_sysctl(struct journal_change **hold, const char *path, struct error *err)
{
	struct journal_change *c = calloc(1, sizeof(*c));
	int ret;

	if (!c)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "no memory");
	ret = name_entry(&c->entry, path);
	if (!ret)
		ret = take(&c->entry, err);
	if (ret) {
		error_set(err, STATUS_UNABLE, ret, NULL, "cannot lock /proc/sys/%s: %s", path,
			  strerror(-ret));
		journal_entry_close(&c->entry);
		free(c);
		return ret;
	}
	*hold = c;
	return 0;
}

void journal_release(struct journal_change *hold)
{
	if (!hold)
		return;
	unlink(hold->entry.path);
	journal_entry_close(&hold->entry);
	free(hold);
}

/* 1 if the entry was settled, 0 if it is not for us, or -errno. */
static int repair(struct journal_entry *e,
		  void (*cb)(void *arg, const struct journal_repaired *entry), void *arg)
{
	struct journal_repaired told = {
		.kind = e->rec.kind, .target = e->rec.target, .old = e->rec.old};
	char now[JOURNAL_VALUE_SIZE];
	int ret = journal_entry_lock(e, false);

	if (ret)
		return ret == -EWOULDBLOCK || ret == -ENOENT ? 0 : ret;
	ret = journal_entry_read(e);
	if (ret == -ENODATA) /* its owner died before it changed anything */
		return unlink(e->path) ? -errno : 0;
	if (ret || journal_owner_alive(&e->rec))
		return ret;
	ret = journal_value_open(e);
	if (!ret)
		ret = journal_value_read(e, now);
	if (!ret)
		ret = journal_entry_settle(e);
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
		struct journal_entry e = {.file = -1, .value = -1};

		if (*file->d_name == '.')
			continue;
		snprintf(e.path, sizeof(e.path), JOURNAL_DIR "/%s", file->d_name);
		ret = repair(&e, cb, arg);
		if (ret < 0)
			error_set(err, STATUS_FAILED, ret, "run it as root, or set it by hand",
				  "cannot restore what %s tells: %s", e.path, strerror(-ret));
		else
			settled += ret;
		journal_entry_close(&e);
	}
	closedir(dir);
	return ret < 0 ? ret : settled;
}
