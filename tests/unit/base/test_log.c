// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <bpf/libbpf.h>
#include <errno.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cases.h"
#include "base/log.h"

static int saved_stderr = -1;
static char got[4096];

/* Redirects stderr to fd. restore() reads the other end. */
static void redirect(int fd, int verbosity)
{
	saved_stderr = dup(STDERR_FILENO);
	dup2(fd, STDERR_FILENO);
	log_init(verbosity);
}

static void restore(int from)
{
	size_t at = 0;
	ssize_t n;

	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	/* to the end: EOF of a file, EIO of a terminal without open descriptors */
	while ((n = read(from, got + at, sizeof(got) - 1 - at)) > 0)
		at += n;
	got[at] = '\0';
}

static int redirect_file(int verbosity)
{
	int fd = memfd_create("stderr", 0);

	assert_true(fd >= 0);
	redirect(fd, verbosity);
	return fd;
}

static void restore_file(int fd)
{
	lseek(fd, 0, SEEK_SET);
	restore(fd);
	close(fd);
}

static void say_all(void)
{
	log_error("e %d", 1);
	log_warn("w");
	log_info("i");
	log_debug("d");
	log_progress("p");
	log_progress_clear();
}

/* Characters in names of files and interfaces cannot add lines or control a terminal. */
CASE(test_controls)
{
	int fd = redirect_file(0);

	log_error("cannot read %s", "a\nerror: b\033[2J\r\x9b");
	log_warn("%s", "sm\xc3\xb8rrebr\xc3\xb8\x7f");
	restore_file(fd);
	assert_string_equal(got, "error: cannot read a?error: b?[2J??\n"
				 "warning: sm\xc3\xb8rrebr\xc3\xb8?\n");
}

CASE(test_levels)
{
	static const struct {
		int verbosity;
		const char *text;
	} cases[] = {
		{-1, "error: e 1\n"},
		{0, "error: e 1\nwarning: w\ni\n"},
		{1, "error: e 1\nwarning: w\ni\ndebug: d\n"},
	};

	for (unsigned i = 0; i < 3; i++) {
		int fd = redirect_file(cases[i].verbosity);

		say_all();
		restore_file(fd);
		assert_string_equal(got, cases[i].text);
	}
}

static void say_on_terminal(int verbosity)
{
	struct winsize ws = {.ws_row = 24, .ws_col = 11};
	int master, slave;

	if (openpty(&master, &slave, NULL, NULL, &ws)) {
		print_message("no terminal can be had here: is devpts mounted?\n");
		skip();
	}
	redirect(slave, verbosity);
	close(slave);
	log_progress("0123456789abcdef");
	log_warn("w");
	log_info("i");
	log_progress("again");
	log_progress_clear();
	log_progress_clear();
	restore(master);
	close(master);
}

CASE(test_terminal)
{
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	say_on_terminal(0);
	/* cut one short of the width; cleared before the line, and once only */
	assert_string_equal(got, "\r0123456789\033[K\r\033[K\033[1;33mwarning: \033[0mw\r\ni\r\n"
				 "\ragain\033[K\r\033[K");
	setenv("NO_COLOR", "1", 1);
	say_on_terminal(0);
	assert_null(strstr(got, "\033[1;33m"));
	assert_non_null(strstr(got, "warning: w"));
	setenv("NO_COLOR", "", 1);
	say_on_terminal(0);
	assert_non_null(strstr(got, "\033[1;33m"));
	setenv("TERM", "dumb", 1);
	say_on_terminal(0);
	assert_string_equal(got, "warning: w\r\ni\r\n");
}

static __attribute__((format(printf, 2, 3))) void from_libbpf(enum libbpf_print_level level,
							      const char *fmt, ...)
{
	libbpf_print_fn_t hook = libbpf_set_print(NULL);
	va_list ap;

	libbpf_set_print(hook);
	va_start(ap, fmt);
	hook(level, fmt, ap);
	va_end(ap);
}

CASE(test_libbpf)
{
	int fd = redirect_file(0);
	char buf[1024], tiny[8];

	log_libbpf_clear();
	assert_string_equal(log_verifier_last(buf, sizeof(buf)), "");
	errno = E2BIG;
	from_libbpf(LIBBPF_WARN, "libbpf: -- BEGIN PROG LOAD LOG --\n");
	for (int i = 1; i <= 6; i++)
		from_libbpf(LIBBPF_WARN, "libbpf: warning %d\n", i);
	from_libbpf(LIBBPF_INFO, "libbpf: nothing\n");
	from_libbpf(LIBBPF_WARN, "libbpf: -- END PROG LOAD LOG --\n");
	assert_int_equal(errno, E2BIG);
	assert_string_equal(log_verifier_last(buf, sizeof(buf)),
			    "libbpf: warning 3; libbpf: warning 4; libbpf: warning 5; "
			    "libbpf: warning 6");
	assert_string_equal(log_verifier_last(tiny, sizeof(tiny)), "libbpf:");
	log_libbpf_clear();
	assert_string_equal(log_verifier_last(buf, sizeof(buf)), "");
	restore_file(fd);
	assert_string_equal(got, "");

	fd = redirect_file(1);
	from_libbpf(LIBBPF_WARN, "libbpf: one\ntwo\n");
	from_libbpf(LIBBPF_DEBUG, "libbpf: three\n");
	restore_file(fd);
	assert_string_equal(got, "debug: libbpf: one\ndebug: two\n");

	fd = redirect_file(2);
	from_libbpf(LIBBPF_DEBUG, "libbpf: three\n");
	restore_file(fd);
	assert_string_equal(got, "debug: libbpf: three\n");
}

CASE(test_verifier_tail)
{
	size_t size = 1 << 20;
	char *log = malloc(size + 1), buf[1024];
	int fd = redirect_file(0);

	assert_non_null(log);
	for (size_t i = 0; i < size; i++)
		log[i] = i % 64 ? 'x' : '\n';
	log[size] = '\0';
	log_libbpf_clear();
	from_libbpf(LIBBPF_WARN, "libbpf: prog 'p': BPF program load failed: Permission denied\n");
	from_libbpf(
		LIBBPF_WARN,
		"libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n%s\n1: (79) r0 = *(u64 *)(r1 +0)\n"
		"R1 invalid mem access 'scalar'\nverification time 9 usec\nstack depth 0\n"
		"processed 2 insns (limit 1000000)\n-- END PROG LOAD LOG --\n",
		log);
	from_libbpf(LIBBPF_WARN, "libbpf: failed to load object 'o'\n");
	log_verifier_last(buf, sizeof(buf));
	assert_non_null(
		strstr(buf, "; 1: (79) r0 = *(u64 *)(r1 +0); R1 invalid mem access 'scalar'"));
	assert_null(strstr(buf, "processed"));
	assert_non_null(strstr(log_load_failure(buf, sizeof(buf), -EACCES), "Permission denied: "));
	assert_string_equal(log_verifier_last(buf, sizeof(buf)), "");
	restore_file(fd);
	free(log);
}
