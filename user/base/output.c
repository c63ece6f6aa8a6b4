// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/output.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/watch.h"

#define WAITING_MOST (64 << 20)	  /* bytes in memory, a writer that exceeds this waits */
#define GIVE_UP_NS   2000000000ULL /* ns without progress after a signal */
#define LOOK_MS	     20		  /* ms between two checks for a signal */

static struct queue {
	int fd;
	int error;	  /* -errno of the first failed write, nothing is written after it */
	char *bytes;	  /* waiting bytes, between `at` and `end` */
	size_t at, end, size;
	uint64_t moved_ns; /* ns, when the reader last took bytes, or when the wait began */
} queues[2];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t waiting(const struct queue *q)
{
	return q->end - q->at;
}

static bool has_room(const struct queue *q, int timeout_ms)
{
	struct pollfd p = {.fd = q->fd, .events = POLLOUT};

	return poll(&p, 1, timeout_ms) > 0;
}

/*
 * Writes bytes from a queue. If poll() reports room, a pipe accepts PIPE_BUF bytes without
 * blocking.
 */
static size_t put(struct queue *q, const char *from, size_t n)
{
	size_t done = 0;

	while (done < n && !q->error && has_room(q, 0)) {
		size_t part = smaller(n - done, (size_t)PIPE_BUF);
		ssize_t now = write(q->fd, from + done, part);

		if (now > 0)
			done += (size_t)now;
		else if (now < 0 && errno == EAGAIN)
			break;
		else if (now == 0 || errno != EINTR)
			q->error = now ? errno : ENOSPC;
	}
	if (done)
		q->moved_ns = clock_now();
	return done;
}

static void push(struct queue *q)
{
	q->at += put(q, q->bytes + q->at, waiting(q));
	if (q->error || q->at == q->end)
		q->at = q->end = 0;
}

static void keep(struct queue *q, const char *from, size_t n)
{
	if (!waiting(q))
		q->moved_ns = clock_now();
	if (q->end + n > q->size && q->at) {
		memmove(q->bytes, q->bytes + q->at, waiting(q));
		q->end -= q->at;
		q->at = 0;
	}
	if (q->end + n > q->size) {
		q->size = larger(2 * q->size, q->end + n);
		q->bytes = mem_need(realloc(q->bytes, q->size));
	}
	memcpy(q->bytes + q->end, from, n);
	q->end += n;
}

/* Waits until at most `most` bytes are left or the reader is abandoned. */
static void await_reader(struct queue *q, size_t most)
{
	push(q);
	while (waiting(q) > most) {
		if (watch_signalled() && clock_now() - q->moved_ns > GIVE_UP_NS)
			q->error = EINTR;
		has_room(q, LOOK_MS);
		push(q);
	}
}

static ssize_t take(void *cookie, const char *from, size_t n)
{
	struct queue *q = cookie;
	size_t done;
	int error;

	pthread_mutex_lock(&lock);
	await_reader(q, WAITING_MOST);
	done = waiting(q) ? 0 : put(q, from, n);
	if (!q->error && done < n)
		keep(q, from + done, n - done);
	error = q->error;
	pthread_mutex_unlock(&lock);
	errno = error;
	return error ? 0 : (ssize_t)n;
}

static FILE *open_queue(struct queue *q, int fd, int mode)
{
	FILE *f = mem_need(fopencookie(q, "w", (cookie_io_functions_t){.write = take}));

	q->fd = fd;
	setvbuf(f, NULL, mode, BUFSIZ);
	return f;
}

void output_open(void)
{
	struct stat out = {}, err = {};
	const bool other = fstat(STDOUT_FILENO, &out) || fstat(STDERR_FILENO, &err) ||
			   out.st_dev != err.st_dev || out.st_ino != err.st_ino;

	if (out.st_mode && !S_ISREG(out.st_mode))
		stdout = open_queue(&queues[0], STDOUT_FILENO,
				    isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
	/* a single queue keeps the lines of both streams in order */
	if (err.st_mode && !S_ISREG(err.st_mode))
		stderr = open_queue(&queues[other], STDERR_FILENO, _IONBF);
}

void output_push(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < LENGTH(queues); i++)
		push(&queues[i]);
	pthread_mutex_unlock(&lock);
}

bool output_failed(void)
{
	return ferror(stdout) || queues[0].error;
}

int output_drain(void)
{
	int rc = fflush(stdout) ? -errno : 0;

	fflush(stderr);
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < LENGTH(queues); i++)
		await_reader(&queues[i], 0);
	if (!rc)
		rc = -queues[0].error;
	pthread_mutex_unlock(&lock);
	return rc;
}
