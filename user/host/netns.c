// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/netns.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/list.h"
#include "base/num.h"
#include "base/proc.h"
#include "host/caps.h"
#include "host/netdev.h"
#include "host/nl.h"

#define LOCK_FILENO  (STDERR_FILENO + 1) /* in programs that we start */
#define THREAD_NETNS "/proc/thread-self/ns/net"
#define STAYED	     INT_MAX /* netns_push(): the thread is already in the namespace */

#define NEEDS_OWNER                                                                                \
	"run it as root; it needs CAP_SYS_ADMIN in the user namespace that owns the network "     \
	"namespace"

static bool elsewhere(const struct netns *ns)
{
	return ns && ns->fd >= 0;
}

/*
 * Mounts a sysfs. It shows the network namespace of the task that mounts it
 * (sysfs_init_fs_context()). The mount is never attached to a directory, so it does not need to be
 * unmounted. Returns -1 if mounting is not permitted, as in containers.
 */
static int mount_sysfs(void)
{
	int fs = fsopen("sysfs", FSOPEN_CLOEXEC);
	int mnt = -1;

	if (fs < 0)
		return -1;
	if (!fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mnt = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	close(fs);
	return mnt;
}

static int read_inum(struct netns *ns)
{
	struct stat st = {.st_ino = 0};
	int ret = fstat(ns->fd, &st) ? -errno : 0;

	ns->inum = st.st_ino;
	return ret;
}

/* Fills `ns` for the namespace that the thread is in. */
static int describe_current(struct netns *ns)
{
	int ret;

	ns->fd = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (ns->fd < 0)
		return -errno;
	ret = read_inum(ns);
	if (!ret)
		ns->sysfs = mount_sysfs();
	return ret;
}

/*
 * Returns 0 if the calling thread could re-enter its namespace `here`, or -EPERM if it is in a user
 * namespace that does not own the network namespace.
 */
static int can_return(int here)
{
	return setns(here, CLONE_NEWNET) ? -errno : 0;
}

int netns_create(struct netns *ns, struct error *err)
{
	int ret, saved;

	*ns = NETNS_NONE;
	saved = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (saved < 0)
		return error_errno(err, STATUS_UNABLE, -errno, "mount /proc",
				   "cannot open " THREAD_NETNS);
	ret = can_return(saved);
	if (!ret && unshare(CLONE_NEWNET))
		ret = -errno;
	if (ret) {
		close(saved);
		return error_errno(err, STATUS_UNABLE, ret,
				   ret == -EPERM ? NEEDS_OWNER : NULL,
				   "cannot create a network namespace");
	}
	ret = netdev_set_up(NULL, "lo", true);
	if (!ret)
		ret = describe_current(ns);
	netns_pop(saved);
	if (ret)
		netns_close(ns);
	return error_errno(err, STATUS_FAILED, ret, NULL, "cannot set up a network namespace");
}

int netns_current(struct netns *ns, struct error *err)
{
	int ret;

	*ns = NETNS_NONE;
	ret = describe_current(ns);
	if (ret)
		netns_close(ns);
	return error_errno(err, STATUS_UNABLE, ret, "mount /proc",
			   "cannot open the current network namespace");
}

int netns_open(struct netns *ns, const char *name, struct error *err)
{
	char path[PATH_MAX];
	int ret, saved;

	*ns = NETNS_NONE;
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : NETNS_DIR "/", name);
	ns->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ns->fd < 0)
		return error_errno(err, errno == ENOENT ? STATUS_FAILED : STATUS_UNABLE, -errno,
				   errno == ENOENT ? "list existing namespaces with `ip netns list`"
						   : NULL,
				   "cannot open the network namespace %s", name);
	ret = read_inum(ns);
	saved = ret ? ret : netns_push(ns);
	if (saved < 0) {
		netns_close(ns);
		return error_errno(err, STATUS_UNABLE, saved,
				   saved == -EPERM    ? NEEDS_OWNER
				   : saved == -EINVAL ? "it is not a network namespace"
						      : NULL,
				   "cannot enter the network namespace %s", name);
	}
	netns_pop(saved);
	return 0;
}

void netns_open_sysfs(struct netns *ns)
{
	int saved = ns->fd >= 0 && ns->sysfs < 0 ? netns_push(ns) : -EALREADY;

	if (saved < 0)
		return;
	ns->sysfs = mount_sysfs();
	netns_pop(saved);
}

/*
 * Enters the namespace, after checking that the thread can return to `saved` (-1: it will not
 * return). Returns STAYED if the thread is already there. setns() requires CAP_SYS_ADMIN even in
 * that case.
 */
static int enter(const struct netns *ns, int saved)
{
	struct stat here;
	int ret;

	if (!elsewhere(ns))
		return STAYED;
	ret = saved < 0 ? 0 : can_return(saved);
	if (!ret && !setns(ns->fd, CLONE_NEWNET))
		return 0;
	if (!ret)
		ret = -errno;
	return ret == -EPERM && !stat(THREAD_NETNS, &here) && here.st_ino == ns->inum ? STAYED
										      : ret;
}

int netns_enter(const struct netns *ns)
{
	int ret = enter(ns, -1);

	return ret == STAYED ? 0 : ret;
}

int netns_push(const struct netns *ns)
{
	int saved, ret;

	if (!elsewhere(ns))
		return STAYED;
	saved = open(THREAD_NETNS, O_RDONLY | O_CLOEXEC);
	if (saved < 0)
		return -errno;
	ret = enter(ns, saved);
	if (ret)
		close(saved);
	return ret ? ret : saved;
}

void netns_pop(int saved)
{
	if (saved == STAYED || saved < 0)
		return;
	/*
	 * If the thread stayed in the wrong namespace, it would change a network that is not ours.
	 */
	if (setns(saved, CLONE_NEWNET))
		abort();
	close(saved);
}

bool netns_has_xtable(const struct netns *ns, const char *table)
{
	static const char *const files[] = {"/proc/thread-self/net/ip_tables_names",
					    "/proc/thread-self/net/ip6_tables_names"};
	int saved = netns_push(ns);
	char names[256];
	bool found = false;

	if (saved < 0)
		return false;
	for (unsigned i = 0; i < 2 && !found; i++)
		found = proc_read(AT_FDCWD, names, sizeof(names), "%s", files[i]) > 0 &&
			strstr(names, table);
	netns_pop(saved);
	return found;
}

void netns_close(struct netns *ns)
{
	fd_close(&ns->sysfs);
	fd_close(&ns->fd);
	*ns = NETNS_NONE;
}

/*
 * Writes `value` to the open file, or, if `value` is NULL, reads the file into `buf` without the
 * final newline. A value that does not fit is an error rather than truncated.
 */
static int use_and_close(int fd, const char *value, char *buf, unsigned size)
{
	ssize_t len = value ? strlen(value) : size, n;
	int ret;

	if (fd < 0)
		return -errno;
	n = value ? write(fd, value, len) : read(fd, buf, len);
	ret = n < 0 ? -errno : value && n != len ? -EIO : !value && n == len ? -ENOSPC : 0;
	close(fd);
	if (ret || !buf)
		return ret;
	if (n && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	return 0;
}

static int flags_for(const char *value)
{
	return O_CLOEXEC | (value ? O_WRONLY | O_TRUNC : O_RDONLY); /* like > in a shell */
}

int netns_sysfs(const struct netns *ns, const char *path, const char *value, char *buf,
		unsigned size)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "/sys/%s", path);
	if (!elsewhere(ns))
		return use_and_close(open(full, flags_for(value)), value, buf, size);
	if (ns->sysfs < 0)
		return -EOPNOTSUPP;
	return use_and_close(openat(ns->sysfs, path, flags_for(value)), value, buf, size);
}

/*
 * Reads or writes a sysctl. /proc/sys/net shows the namespace of the task that accesses it
 * (net_ctl_header_lookup()).
 */
int netns_sysctl(const struct netns *ns, const char *path, const char *value, char *buf,
		 unsigned size)
{
	char full[PATH_MAX];
	int saved, ret;

	snprintf(full, sizeof(full), "/proc/sys/%s", path);
	saved = netns_push(ns);
	if (saved < 0)
		return saved;
	ret = use_and_close(open(full, flags_for(value)), value, buf, size);
	netns_pop(saved);
	return ret;
}

int netns_file(const struct netns *ns, const char *path, const char *value, char *buf,
	       unsigned size)
{
	char below[PATH_MAX];

	if (!strncmp(path, "/sys/", strlen("/sys/")))
		return netns_sysfs(ns, path + strlen("/sys/"), value, buf, size);
	if (value && !strncmp(path, "/proc/sys/", strlen("/proc/sys/")))
		return netns_sysctl_write(ns, path + strlen("/proc/sys/"), value);
	snprintf(below, sizeof(below), "../%s", path + strlen("/proc/"));
	return netns_sysctl(ns, below, value, buf, size);
}

int netns_sysctl_write(const struct netns *ns, const char *path, const char *value)
{
	int ret = netns_sysctl(ns, path, value, NULL, 0);
	bool may_miss = !strncmp(path, "net/ipv6/", 9) || !strncmp(path, "net/bridge/", 11);

	return ret == -ENOENT && may_miss ? 0 : ret;
}

bool netns_sysctl_numbers(const struct netns *ns, const char *path, uint64_t *number, unsigned n)
{
	char text[128], *at = text, *word;
	unsigned have = 0;

	if (netns_sysctl(ns, path, NULL, text, sizeof(text)) >= 0) {
		while (have < n && (word = strsep(&at, "\t ")) &&
		       !num_u64(word, 0, UINT64_MAX, &number[have]))
			have++;
	}
	if (have < n)
		memset(number, 0, n * sizeof(*number));
	return have == n;
}

/* ---- listing namespaces and finding one by its cookie ---- */

int netns_cookie(const struct netns *ns, uint64_t *cookie)
{
	socklen_t len = sizeof(*cookie);
	int fd = nl_ioctl_socket(ns), ret = 0;

	if (fd < 0)
		return fd;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, cookie, &len))
		ret = -errno;
	close(fd);
	return ret;
}

uint64_t netns_identity(const struct netns *ns)
{
	uint64_t cookie = 0;

	netns_cookie(ns, &cookie);
	return cookie;
}

/*
 * A namespace already visited, identified by the inode number of its /proc/PID/net/dev, which any
 * process may read.
 */
struct known {
	ino_t ino;
	bool refused; /* not readable, and not through any other process either */
};

/*
 * Calls visit() for the namespace at `path` and returns its result. Returns 0 if the path is not a
 * namespace, or -errno.
 */
static int check(const char *path, netns_visit *visit, void *arg)
{
	struct netns ns = NETNS_NONE;
	int ret;

	ns.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ns.fd < 0)
		return errno == EACCES || errno == EPERM ? -errno : 0;
	ret = read_inum(&ns) ? 0 : visit(arg, &ns);
	close(ns.fd);
	return ret == -EINVAL ? 0 : ret;
}

static int check_process(const char *pid, struct list *seen, netns_visit *visit, void *arg)
{
	char path[PATH_MAX];
	struct known *k;
	struct stat st;
	int ret;

	snprintf(path, sizeof(path), "/proc/%s/net/dev", pid);
	if (stat(path, &st))
		return 0; /* not a process, or a dead process */
	k = list_find(seen, offsetof(struct known, ino), &st.st_ino, sizeof(st.st_ino));
	if (k && !k->refused)
		return 0; /* already visited */
	if (!k)
		k = list_add(seen);
	snprintf(path, sizeof(path), "/proc/%s/ns/net", pid);
	ret = check(path, visit, arg);
	*k = (struct known){st.st_ino, ret < 0};
	return ret;
}

int netns_each(netns_visit *visit, void *arg)
{
	static const char *const directories[] = {NETNS_DIR, "/proc"};
	struct list seen = {.size = sizeof(struct known)};
	const struct known *k;
	int ret = 0;

	for (unsigned i = 0; i < 2 && ret != 1; i++) {
		const struct dirent *entry;
		DIR *dir = opendir(directories[i]);
		char path[PATH_MAX];

		while (dir && ret != 1 && (entry = readdir(dir))) {
			snprintf(path, sizeof(path), NETNS_DIR "/%s", entry->d_name);
			if (*entry->d_name != '.')
				ret = i ? check_process(entry->d_name, &seen, visit, arg)
					: check(path, visit, arg);
		}
		if (dir)
			closedir(dir);
	}
	k = seen.at;
	if (ret != 1) {
		ret = 0;
		for (unsigned i = 0; i < seen.n; i++)
			ret -= k[i].refused;
	}
	list_free(&seen);
	return ret;
}

struct wanted {
	uint64_t cookie;
	struct netns *ns;
};

static int is_wanted(void *arg, const struct netns *ns)
{
	const struct wanted *w = arg;
	uint64_t cookie;
	int ret = netns_cookie(ns, &cookie);

	if (ret || cookie != w->cookie)
		return ret;
	w->ns->fd = fcntl(ns->fd, F_DUPFD_CLOEXEC, 0);
	w->ns->inum = ns->inum;
	return 1;
}

int netns_find(struct netns *ns, uint64_t cookie)
{
	struct wanted wanted = {cookie, ns};
	uint64_t own;
	int ret = netns_cookie(NULL, &own);

	*ns = NETNS_NONE;
	if (ret)
		return ret;
	if (own == cookie) {
		ret = netns_current(ns, NULL);
		if (!ret && ns->sysfs < 0) /* mounting not permitted, as in a container: use /sys */
			netns_close(ns);
		return ret;
	}
	ret = netns_each(is_wanted, &wanted);
	netns_open_sysfs(ns);
	return ret < 0 ? -EACCES : ret ? 0 : -ENOENT;
}

/* ---- running programs in a namespace ---- */

/* Uses files instead of pipes: neither side can block the other, and there is no SIGPIPE. */
static int memory_file(const char *content)
{
	size_t len = content ? strlen(content) : 0;
	int fd = memfd_create("netns_exec", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, content, len, 0) == (ssize_t)len)
		return fd;
	close(fd);
	return -ENOSPC;
}

/* A binary with file capabilities may be run by unprivileged users, so their PATH is ignored. */
bool netns_exec_finds(const char *program, char path[PATH_MAX])
{
	const char *dirs[] = {getauxval(AT_SECURE) ? NULL : getenv("PATH"),
			      "/usr/sbin:/usr/bin:/sbin:/bin"}; /* if PATH lacks sbin */

	for (unsigned i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		for (size_t n; dirs[i] && *dirs[i]; dirs[i] += n + (dirs[i][n] == ':')) {
			n = strcspn(dirs[i], ":");
			snprintf(path, PATH_MAX, "%.*s/%s", (int)n, dirs[i], program);
			if (!access(path, X_OK))
				return true;
		}
	}
	return false;
}

/* Their environment must not reach a program that runs with lent capabilities either. */
static int spawn(pid_t *pid, char *const argv[], const posix_spawn_file_actions_t *files,
		 const posix_spawnattr_t *attr)
{
	char *const nothing[] = {NULL};
	char path[PATH_MAX];

	if (!netns_exec_finds(argv[0], path))
		return ENOENT;
	return posix_spawn(pid, path, files, attr, argv, getauxval(AT_SECURE) ? nothing : environ);
}

/*
 * Spawns the child in the calling thread's namespace, so the thread moves into `ns` while it does
 * so. posix_spawn() is safe in a threaded program. The child gets its own process group, because
 * Ctrl-C at the terminal is meant for pktledger and must not end a command that restores a setting.
 * A signal to the group that arrives before the child has left it stays blocked. The child only
 * needs CAP_NET_ADMIN in that namespace.
 */
static int spawn_in(const struct netns *ns, char *const argv[], const int io[3], int lock,
		    pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t ending, all;
	int ret, saved;

	sigemptyset(&ending);
	sigaddset(&ending, SIGHUP);
	sigaddset(&ending, SIGINT);
	sigaddset(&ending, SIGTERM);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setsigmask(&attr, &ending);
	posix_spawnattr_setsigdefault(&attr, &all);

	ret = posix_spawn_file_actions_init(&files);
	for (int i = 0; i < 3 && !ret; i++)
		ret = io[i] < 0 ? posix_spawn_file_actions_addopen(&files, i, "/dev/null", O_WRONLY,
								   0)
				: posix_spawn_file_actions_adddup2(&files, io[i], i);
	if (!ret && lock >= 0)
		ret = posix_spawn_file_actions_adddup2(&files, lock, LOCK_FILENO);
	if (!ret)
		ret = posix_spawn_file_actions_addclosefrom_np(&files, LOCK_FILENO + (lock >= 0));
	saved = ret ? -ret : netns_push(ns);
	if (saved >= 0) {
		caps_lend(CAPS_BIT(CAP_NET_ADMIN), true);
		ret = spawn(pid, argv, &files, &attr);
		caps_lend(CAPS_BIT(CAP_NET_ADMIN), false);
		netns_pop(saved);
	} else {
		ret = -saved;
	}
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -ret;
}

/*
 * Waits for the program. Returns 0, -EIO with the program's output, or -ETIMEDOUT if it had to be
 * killed after the timeout (-1: no timeout).
 */
static int wait_for(const char *command, pid_t pid, int timeout_ms, int errout, struct error *err)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	bool late = timeout_ms >= 0 && !poll(&end, 1, timeout_ms);
	int wstatus = 0;
	char line[400], *rest = NULL;
	ssize_t n;

	if (late)
		pidfd_send_signal(end.fd, SIGKILL, NULL, 0);
	fd_close(&end.fd);
	while (waitpid(pid, &wstatus, 0) < 0) {
		if (errno != EINTR)
			return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot wait for %s",
					   command);
	}
	if (late)
		return error_set(err, STATUS_FAILED, -ETIMEDOUT, NULL, "%s took longer than %d ms",
				 command, timeout_ms);
	if (!wstatus)
		return 0;
	if (WIFSIGNALED(wstatus))
		return error_set(err, STATUS_FAILED, -EIO, NULL, "%s was killed by signal %d",
				 command, WTERMSIG(wstatus));
	n = pread(errout, line, sizeof(line) - 1, 0);
	line[n > 0 ? n : 0] = '\0';
	rest = strchr(line, '\n');
	if (rest)
		*rest++ = '\0';
	return error_set(err, STATUS_FAILED, -EIO, rest, "%s failed with status %d%s%s", command,
			 WEXITSTATUS(wstatus), *line ? ": " : "", line);
}

static int take_text(const char *command, int fd, size_t most, char **text, struct error *err)
{
	struct stat st;
	char path[32];

	if (fstat(fd, &st))
		return -errno;
	if ((size_t)st.st_size > most)
		return error_set(err, STATUS_FAILED, -EFBIG, NULL, "%s wrote %zu bytes", command,
				 (size_t)st.st_size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return file_read(path, text, NULL);
}

/* Works like netns_exec_read() if `text` is set, otherwise like netns_exec(). */
static int run(const struct netns *ns, char *const argv[], const char *input, int lock,
	       int timeout_ms, size_t most, char **text, struct error *err)
{
	int io[3] = {memory_file(input), text ? memory_file(NULL) : -1, memory_file(NULL)};
	int ret = io[0] < 0 ? io[0] : text && io[1] < 0 ? io[1] : io[2] < 0 ? io[2] : 0;
	pid_t pid = 0;

	if (!ret)
		ret = spawn_in(ns, argv, io, lock, &pid);
	error_errno(err, STATUS_UNABLE, ret,
		    ret == -ENOENT ? "install the package that contains it" : NULL, "cannot run %s",
		    argv[0]);
	if (!ret && text)
		setpriority(PRIO_PROCESS, (id_t)pid, 10);
	if (!ret)
		ret = wait_for(argv[0], pid, timeout_ms, io[2], err);
	if (!ret && text)
		ret = take_text(argv[0], io[1], most, text, err);
	for (unsigned i = 0; i < 3; i++)
		fd_close(&io[i]);
	return ret;
}

int netns_exec(const struct netns *ns, char *const argv[], const char *input, int lock,
	       struct error *err)
{
	return run(ns, argv, input, lock, -1, 0, NULL, err);
}

int netns_exec_read(const struct netns *ns, char *const argv[], int timeout_ms, size_t most,
		    char **text, struct error *err)
{
	*text = NULL;
	return run(ns, argv, NULL, -1, timeout_ms, most, text, err);
}
