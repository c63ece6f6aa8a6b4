// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "base/log.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <xdp/libxdp.h>

#include "base/json.h"

#define TAIL_LINES   4
#define LINE_MAX_LEN 200
#define CLEAR	     "\r\033[K"

static struct {
	pthread_mutex_t lock;
	enum log_level level;
	bool terminal, colour;
	bool progress; /* the terminal is showing a progress line */
	bool in_verifier_log;
	unsigned verifier_n;			 /* number of lines in `verifier` */
	char verifier[TAIL_LINES][LINE_MAX_LEN]; /* the most recent lines, truncated if too long */
} lg = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = LOG_LEVEL_INFO};

static const struct {
	const char *prefix, *colour;
} looks[] = {
	[LOG_LEVEL_ERROR] = {"error: ", "\033[1;31m"},
	[LOG_LEVEL_WARN] = {"warning: ", "\033[1;33m"},
	[LOG_LEVEL_INFO] = {"", ""},
	[LOG_LEVEL_DEBUG] = {"debug: ", "\033[2m"},
	[LOG_LEVEL_TRACE] = {"debug: ", "\033[2m"},
};

static bool smart_terminal(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && (!term || strcmp(term, "dumb"));
}

bool log_colour(int fd)
{
	const char *no = getenv("NO_COLOR");

	return smart_terminal(fd) && (!no || !*no);
}

bool log_shows(enum log_level level)
{
	return level <= lg.level;
}

/* Returns stderr's width in columns, or 80 if unknown. */
static int columns(void)
{
	struct winsize ws;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) && ws.ws_col > 1 ? ws.ws_col : 80;
}

/*
 * Breaks lines between words if stderr is a terminal. `at` is the number of columns already used.
 */
static char *wrap(char *text, size_t at)
{
	const size_t width = lg.terminal ? (size_t)columns() : SIZE_MAX;
	char *blank = NULL;

	for (char *p = text; *p; p++) {
		at = *p == '\n' ? 0 : at + ((*p & 0xc0) != 0x80);
		if (*p == ' ')
			blank = p;
		if (at <= width || !blank)
			continue;
		*blank = '\n';
		at = (size_t)(p - blank);
		blank = NULL;
	}
	return text;
}

static void vlog(enum log_level level, const char *fmt, va_list ap)
{
	int saved = errno;
	char *text = NULL;

	if (log_shows(level) && vasprintf(&text, fmt, ap) >= 0) {
		pthread_mutex_lock(&lg.lock);
		/*
		 * in a single call, because stderr is unbuffered and every call is a separate
		 * write(2)
		 */
		fprintf(stderr, "%s%s%s%s%s\n", lg.progress ? CLEAR : "",
			lg.colour ? looks[level].colour : "", looks[level].prefix,
			lg.colour && *looks[level].colour ? "\033[0m" : "",
			/* names may contain terminal control sequences */
			wrap(utf8_tame(text), strlen(looks[level].prefix)));
		lg.progress = false;
		pthread_mutex_unlock(&lg.lock);
		free(text);
	}
	errno = saved;
}

static void log_trace(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#define DEFINE_LOG(name, level)                                                                    \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		vlog(level, fmt, ap);                                                              \
		va_end(ap);                                                                        \
	}

DEFINE_LOG(log_error, LOG_LEVEL_ERROR)
DEFINE_LOG(log_warn, LOG_LEVEL_WARN)
DEFINE_LOG(log_info, LOG_LEVEL_INFO)
DEFINE_LOG(log_debug, LOG_LEVEL_DEBUG)
DEFINE_LOG(log_trace, LOG_LEVEL_TRACE)

void log_progress(const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!lg.terminal || lg.level < LOG_LEVEL_INFO)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* a wrapped line could not be overwritten, and text in the last column may wrap too */
	pthread_mutex_lock(&lg.lock);
	fprintf(stderr, "\r%.*s\033[K", columns() - 1, line);
	lg.progress = true;
	pthread_mutex_unlock(&lg.lock);
}

void log_progress_clear(void)
{
	pthread_mutex_lock(&lg.lock);
	if (lg.progress)
		fputs(CLEAR, stderr);
	lg.progress = false;
	pthread_mutex_unlock(&lg.lock);
}

/* The last lines of a verifier log are statistics, not the reason: kernel/bpf/verifier.c,
 * print_verification_stats(). */
static bool is_statistics(const char *line)
{
	return !strncmp(line, "processed ", 10) || !strncmp(line, "verification time ", 18) ||
	       !strncmp(line, "stack depth ", 12);
}

/*
 * libbpf prints a verifier log as a single message between these marks (libbpf.c,
 * bpf_object_load_prog), so the log is recognised line by line.
 */
static void keep_line(const char *line, size_t len)
{
	if (memmem(line, len, "-- BEGIN PROG LOAD LOG --", 25)) {
		lg.in_verifier_log = true;
		lg.verifier_n = 0;
	} else if (memmem(line, len, "-- END PROG LOAD LOG --", 23)) {
		lg.in_verifier_log = false;
	} else if (lg.in_verifier_log && !is_statistics(line)) {
		snprintf(lg.verifier[lg.verifier_n++ % TAIL_LINES], LINE_MAX_LEN, "%.*s", (int)len,
			 line);
	}
}

/* Both libraries start a message with their name and end it with a newline. */
static int library_message(bool warning, const char *fmt, va_list ap)
{
	enum log_level level = warning ? LOG_LEVEL_DEBUG : LOG_LEVEL_TRACE;
	int saved = errno, len;
	char *text;

	if (!warning && lg.level < level)
		return 0;
	/* a verifier log can be megabytes long, and only its end matters */
	len = vasprintf(&text, fmt, ap);
	if (len < 0) {
		errno = saved;
		return 0;
	}
	for (char *line = text; *line;) {
		size_t n = strcspn(line, "\n");

		if (n) {
			pthread_mutex_lock(&lg.lock);
			keep_line(line, n);
			pthread_mutex_unlock(&lg.lock);
			(warning ? log_debug : log_trace)("%.*s", (int)n, line);
		}
		line += n + (line[n] == '\n');
	}
	free(text);
	errno = saved;
	return len;
}

static int libbpf_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return library_message(level == LIBBPF_WARN, fmt, ap);
}

static int libxdp_message(enum libxdp_print_level level, const char *fmt, va_list ap)
{
	return library_message(level == LIBXDP_WARN, fmt, ap);
}

char *log_verifier_last(char *buf, size_t size)
{
	size_t at = 0;

	pthread_mutex_lock(&lg.lock);
	buf[0] = '\0';
	for (unsigned i = lg.verifier_n > TAIL_LINES ? lg.verifier_n - TAIL_LINES : 0;
	     i < lg.verifier_n && at < size; i++)
		at += snprintf(buf + at, size - at, "%s%s", at ? "; " : "",
			       lg.verifier[i % TAIL_LINES]);
	pthread_mutex_unlock(&lg.lock);
	return buf;
}

char *log_load_failure(char *buf, size_t size, int rc)
{
	size_t at = (size_t)snprintf(buf, size, "%s: ", strerror(-rc));

	if (at >= size || !*log_verifier_last(buf + at, size - at))
		snprintf(buf, size, "%s", strerror(-rc));
	log_libbpf_clear();
	return buf;
}

void log_libbpf_clear(void)
{
	pthread_mutex_lock(&lg.lock);
	lg.verifier_n = 0;
	lg.in_verifier_log = false;
	pthread_mutex_unlock(&lg.lock);
}

void log_init(int verbosity)
{
	lg.level = verbosity < 0    ? LOG_LEVEL_ERROR
		   : verbosity == 0 ? LOG_LEVEL_INFO
		   : verbosity == 1 ? LOG_LEVEL_DEBUG
				    : LOG_LEVEL_TRACE;
	lg.terminal = smart_terminal(STDERR_FILENO);
	lg.colour = log_colour(STDERR_FILENO);
	libbpf_set_print(libbpf_message);
	libxdp_set_print(libxdp_message);
}
