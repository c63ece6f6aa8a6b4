// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/journal_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "base/clock.h"

#define MAX_SIZE (4 << 20) /* bytes of a file; more cannot be ours */

struct journal_kept_file {
	char path[PATH_MAX];
	int fd; /* holds the lock */
	struct journal_kept *at;
	unsigned n;
	char *rest; /* what could not be read; "" if all could */
	unsigned damaged;
};

static int read_boot(char *boot, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	int ret = 0;

	if (!f)
		return -errno;
	if (!fgets(boot, size, f))
		ret = -EIO;
	else
		boot[strcspn(boot, "\n")] = '\0';
	fclose(f);
	return ret;
}

bool journal_kept_this_boot(const struct journal_kept *kept)
{
	char boot[sizeof(kept->boot)];

	return !read_boot(boot, sizeof(boot)) && !strcmp(boot, kept->boot);
}

static int print_kept(const struct journal_kept *k, FILE *f)
{
	char buf[JOURNAL_RECORD_SIZE];
	int ret = journal_record_print(&k->rec, buf, sizeof(buf));

	if (ret < 0)
		return ret;
	fprintf(f, "%stime %s\nboot %s\nnetns %llu\nifindex %u\n\n", buf, k->time, k->boot,
		(unsigned long long)k->netns, k->ifindex);
	return 0;
}

/* Moves `text` only behind a whole entry. */
static int parse_kept(struct journal_kept *k, const char **text)
{
	char netns[24], ifindex[24];
	const char *at = *text;
	uint64_t index;
	int ret = journal_record_parse(&k->rec, &at);

	if (ret || journal_line_parse(&at, "time", k->time, sizeof(k->time)) ||
	    journal_line_parse(&at, "boot", k->boot, sizeof(k->boot)) ||
	    journal_line_parse(&at, "netns", netns, sizeof(netns)) ||
	    journal_line_parse(&at, "ifindex", ifindex, sizeof(ifindex)) || *at != '\n' ||
	    num_u64(netns, 0, UINT64_MAX, &k->netns) || num_u64(ifindex, 0, INT_MAX, &index))
		return -ENODATA;
	k->ifindex = index;
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
	struct stat st;
	ssize_t n;
	char *text;
	int ret;

	if (fstat(f->fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_SIZE)
		return -EFBIG;
	text = calloc(1, st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = pread(f->fd, text, st.st_size, 0);
	ret = n < 0 ? -errno : n != st.st_size || strlen(text) != (size_t)n ? -EBADMSG : 0;
	if (!ret)
		ret = parse_all(f, text);
	free(text);
	return ret;
}

static int lock_and_read(struct journal_kept_file *f, bool create)
{
	bool ours = !strncmp(f->path, JOURNAL_HOME "/", sizeof(JOURNAL_HOME));
	int ret = create && ours ? journal_make_directory() : 0;

	if (ret)
		return ret;
	f->fd = journal_file_wait(f->path, create);
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
	int ret = journal_own(&k.rec);

	if (!ret)
		ret = read_boot(k.boot, sizeof(k.boot));
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
