// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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

/*
 * The child is made with the calling thread's namespace, so the thread moves there for the moment
 * of the spawn. posix_spawn() is safe in a threaded program. Own process group: Ctrl-C at the
 * terminal is for us, and must not end a command that puts something back.
 */
static int spawn_in(const struct netns *ns, char *const argv[], int in, int errout, pid_t *pid)
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
		ret = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
						       0);
	if (!ret)
		ret = posix_spawn_file_actions_adddup2(&files, errout, STDERR_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
	saved = ret ? -ret : netns_push(ns);
	if (saved >= 0) {
		ret = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
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

int netns_exec(const struct netns *ns, char *const argv[], const char *input, struct error *err)
{
	int in = memory_file(input);
	int errout = memory_file(NULL);
	int wstatus = 0, ret;
	pid_t pid;

	ret = in < 0 ? in : errout < 0 ? errout : spawn_in(ns, argv, in, errout, &pid);
	if (ret) {
		error_set(err, STATUS_UNABLE, ret,
			  ret == -ENOENT ? "install the package that contains it" : NULL,
			  "cannot run %s: %s", argv[0], strerror(-ret));
	} else {
		ret = wait_for(pid, &wstatus);
		if (ret)
			error_set(err, STATUS_FAILED, ret, NULL, "cannot wait for %s: %s", argv[0],
				  strerror(-ret));
		else if (wstatus)
			ret = tell_failure(argv[0], wstatus, errout, err);
	}
	if (errout >= 0)
		close(errout);
	if (in >= 0)
		close(in);
	return ret;
}
