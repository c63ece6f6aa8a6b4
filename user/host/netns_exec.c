// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/caps.h"

/* Files, not pipes: neither side can block on the other, and there is no SIGPIPE. */
static int memory_file(const char *content)
{
	size_t len = content ? strlen(content) : 0, done = 0;
	int fd = memfd_create("netns_exec", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	while (done < len) {
		ssize_t n = pwrite(fd, content + done, len - done, done);

		if (n < 0) {
			int ret = -errno;

			close(fd);
			return ret;
		}
		done += n;
	}
	return fd;
}

/* -1 as `out`: /dev/null. */
struct streams {
	int in, out, err;
};

/*
 * A program whose file has capabilities runs for users who have none: what they put into PATH and
 * the environment must not run with those that are lent.
 */
static int spawn(pid_t *pid, char *const argv[], const posix_spawn_file_actions_t *files,
		 const posix_spawnattr_t *attr)
{
	static const char *const directories[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};
	char *const nothing[] = {NULL};
	char path[PATH_MAX];
	int ret = ENOENT;

	if (!getauxval(AT_SECURE))
		return posix_spawnp(pid, argv[0], files, attr, argv, environ);
	for (unsigned i = 0; ret == ENOENT && i < sizeof(directories) / sizeof(*directories); i++) {
		snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]);
		ret = posix_spawn(pid, path, files, attr, argv, nothing);
	}
	return ret;
}

/*
 * The child is made with the calling thread's namespace, so the thread moves there for the moment
 * of the spawn. posix_spawn() is safe in a threaded program. Own process group: Ctrl-C at the
 * terminal is for us, and must not end a command that puts something back. What it is started for
 * takes CAP_NET_ADMIN in that namespace, and nothing else.
 */
static int spawn_in(const struct netns *ns, char *const argv[], const struct streams *io,
		    pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int ret, saved;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);

	ret = posix_spawn_file_actions_init(&files);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&files, io->in, STDIN_FILENO);
	if (!ret && io->out >= 0)
		ret = posix_spawn_file_actions_adddup2(&files, io->out, STDOUT_FILENO);
	else if (!ret)
		ret = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
						       0);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&files, io->err, STDERR_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	saved = ret ? -ret : netns_push(ns);
	if (saved >= 0) {
		caps_lend(CAPS_BIT(CAP_NET_ADMIN));
		ret = spawn(pid, argv, &files, &attr);
		caps_take_back(CAPS_BIT(CAP_NET_ADMIN));
		netns_pop(saved);
	} else {
		ret = -saved;
	}
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -ret;
}

static int wait_for(pid_t pid, int *wstatus)
{
	while (waitpid(pid, wstatus, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
}

static int tell_failure(const char *command, int wstatus, int errout, struct error *err)
{
	char line[200];
	ssize_t n = pread(errout, line, sizeof(line) - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	if (WIFSIGNALED(wstatus))
		return error_set(err, STATUS_FAILED, -EIO, NULL, "%s was killed by signal %d",
				 command, WTERMSIG(wstatus));
	return error_set(err, STATUS_FAILED, -EIO, NULL, "%s failed with status %d%s%s", command,
			 WEXITSTATUS(wstatus), *line ? ": " : "", line);
}

static void close_streams(const struct streams *io)
{
	if (io->in >= 0)
		close(io->in);
	if (io->out >= 0)
		close(io->out);
	if (io->err >= 0)
		close(io->err);
}

static int start(const struct netns *ns, char *const argv[], const struct streams *io, pid_t *pid,
		 struct error *err)
{
	int ret = io->in < 0 ? io->in : io->err < 0 ? io->err : spawn_in(ns, argv, io, pid);

	if (ret)
		error_set(err, STATUS_UNABLE, ret,
			  ret == -ENOENT ? "install the package that contains it" : NULL,
			  "cannot run %s: %s", argv[0], strerror(-ret));
	return ret;
}

static int finish(const char *command, pid_t pid, const struct streams *io, struct error *err)
{
	int wstatus = 0, ret = wait_for(pid, &wstatus);

	if (ret)
		return error_set(err, STATUS_FAILED, ret, NULL, "cannot wait for %s: %s", command,
				 strerror(-ret));
	return wstatus ? tell_failure(command, wstatus, io->err, err) : 0;
}

int netns_exec(const struct netns *ns, char *const argv[], const char *input, struct error *err)
{
	struct streams io = {memory_file(input), -1, memory_file(NULL)};
	pid_t pid;
	int ret;

	ret = start(ns, argv, &io, &pid, err);
	if (!ret)
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): -errno is not 0 */
		ret = finish(argv[0], pid, &io, err);
	close_streams(&io);
	return ret;
}

/* 0, or -ETIMEDOUT after killing it. */
static int wait_until(pid_t pid, int timeout_ms)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int ret = 0;

	if (end.fd < 0)
		return -errno;
	if (!poll(&end, 1, timeout_ms)) {
		pidfd_send_signal(end.fd, SIGKILL, NULL, 0);
		ret = -ETIMEDOUT;
	}
	close(end.fd);
	return ret;
}

static int take_text(const char *command, int fd, size_t most, char **text, struct error *err)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return -errno;
	if ((size_t)st.st_size > most)
		return error_set(err, STATUS_FAILED, -EFBIG, NULL, "%s wrote %zu bytes", command,
				 (size_t)st.st_size);
	*text = malloc((size_t)st.st_size + 1);
	if (!*text)
		return -ENOMEM;
	n = pread(fd, *text, (size_t)st.st_size, 0);
	(*text)[n > 0 ? n : 0] = '\0';
	return 0;
}

int netns_exec_read(const struct netns *ns, char *const argv[], int timeout_ms, size_t most,
		    char **text, struct error *err)
{
	struct streams io = {memory_file(NULL), memory_file(NULL), memory_file(NULL)};
	pid_t pid;
	int ret, ended;

	*text = NULL;
	ret = io.out < 0 ? io.out : start(ns, argv, &io, &pid, err);
	if (!ret) {
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): -errno is not 0 */
		setpriority(PRIO_PROCESS, (id_t)pid, 10);
		ret = wait_until(pid, timeout_ms);
		if (ret)
			error_set(err, STATUS_FAILED, ret, NULL, "%s took longer than %d ms",
				  argv[0], timeout_ms);
		ended = finish(argv[0], pid, &io, err);
		ret = ret ? ret : ended;
	}
	if (!ret)
		ret = take_text(argv[0], io.out, most, text, err);
	close_streams(&io);
	return ret;
}
