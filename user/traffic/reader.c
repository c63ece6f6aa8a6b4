// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "traffic/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/watch.h"

int reader_parse_pause(const char *text, uint64_t *pause_ns, uint64_t *read_ns)
{
	const char *slash = strchr(text, '/');
	char on[32];

	if (!slash || (size_t)(slash - text) >= sizeof(on))
		return -EINVAL;
	memcpy(on, text, (size_t)(slash - text));
	on[slash - text] = '\0';
	if (num_time(on, pause_ns) || num_time(slash + 1, read_ns))
		return -EINVAL;
	return *pause_ns && *read_ns ? 0 : -EINVAL;
}

/* A pipe that nobody reads yet is waited for. Descriptor, or -errno; -EINTR: a signal came. */
static int open_for_writing(const char *path)
{
	for (;;) {
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);

		if (fd >= 0 && fcntl(fd, F_SETFL, O_APPEND) < 0) {
			close(fd);
			return -errno;
		}
		if (fd >= 0)
			return fd;
		if (errno != ENXIO)
			return -errno;
		if (watch_tick())
			return -EINTR;
	}
}

int reader_open_log(const struct reader *r, int *fd, struct error *err)
{
	*fd = -1;
	if (!r->log)
		return 0;
	*fd = open_for_writing(r->log);
	if (*fd >= 0)
		return 0;
	return error_set(err, STATUS_FAILED, *fd, NULL, "cannot write to '%s': %s", r->log,
			 strerror(-*fd));
}

void reader_work(void *arg, uint16_t stream, uint64_t number, unsigned len)
{
	struct reader_state *s = arg;
	uint64_t end = s->reader->work_ns ? clock_now() + s->reader->work_ns : 0;
	char line[64];

	if (s->log_fd >= 0) {
		int n = snprintf(line, sizeof(line), "%u %llu %u\n", stream,
				 (unsigned long long)number, len);

		errno = ENOSPC; /* if only a part of it finds room */
		if (write(s->log_fd, line, (size_t)n) != n && !s->log_errors++)
			s->log_errno = errno;
	}
	while (end && clock_now() < end && !atomic_load_explicit(s->stop, memory_order_relaxed))
		;
}

int reader_check_log(const struct reader_state *s, struct error *err)
{
	if (!s->log_errors)
		return 0;
	return error_set(err, STATUS_FAILED, -s->log_errno, NULL,
			 "the reader's log %s is not complete, %llu of its lines are missing: %s",
			 s->reader->log, (unsigned long long)s->log_errors, strerror(s->log_errno));
}

uint64_t reader_pause(const struct reader *r, uint64_t start, uint64_t now)
{
	uint64_t phase;

	if (!r->pause_ns)
		return 0;
	phase = (now - start) % (r->pause_ns + r->read_ns);
	return phase < r->pause_ns ? r->pause_ns - phase : 0;
}
