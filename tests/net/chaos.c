// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For test_chaos.py: the unchanged program on a kernel that refuses BPF programs or maps, and with
 * a clock that is set during the run. Controlled by the environment:
 *
 *	CHAOS_NO_PROGRAM=NAME,...	refuse programs with these names, like an older verifier
 *	CHAOS_NO_KFUNC=1		and programs that call kernel functions
 *	CHAOS_NO_MAP=NAME,...		no memory for maps with these names
 *	CHAOS_STEP=SECONDS		CLOCK_REALTIME and CLOCK_TAI are later by SECONDS ...
 *	CHAOS_STEP_FILE=FILE		... once this file exists
 *
 * Names are those of the kernel, cut to 15 characters. syscall() and clock_gettime() of this
 * program replace the functions of libc, also for libbpf.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "main.c"

static const char refusal[] = "0: (85) call unknown#999\nunknown func unknown#999\n";

static bool is_listed(const char *variable, const char *name)
{
	const char *at = getenv(variable);
	size_t len = strlen(name);

	while (at && *at && len) {
		size_t n = strcspn(at, ",");

		if (n == len && !strncmp(at, name, n))
			return true;
		at += n + (at[n] == ',');
	}
	return false;
}

static bool calls_kernel(const union bpf_attr *attr)
{
	const struct bpf_insn *insn = (const struct bpf_insn *)(uintptr_t)attr->insns;

	for (unsigned i = 0; i < attr->insn_cnt; i++) {
		if (insn[i].code == (BPF_JMP | BPF_CALL) &&
		    insn[i].src_reg == BPF_PSEUDO_KFUNC_CALL)
			return true;
	}
	return false;
}

/* Returns 0 or the error of the kernel. */
static int refuse(int command, const union bpf_attr *attr)
{
	if (command == BPF_MAP_CREATE && is_listed("CHAOS_NO_MAP", attr->map_name))
		return ENOMEM;
	if (command != BPF_PROG_LOAD || !(is_listed("CHAOS_NO_PROGRAM", attr->prog_name) ||
					  (getenv("CHAOS_NO_KFUNC") && calls_kernel(attr))))
		return 0;
	if (attr->log_level && attr->log_size >= sizeof(refusal))
		memcpy((void *)(uintptr_t)attr->log_buf, refusal, sizeof(refusal));
	return EINVAL;
}

long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long arg[6];
	va_list ap;

	va_start(ap, number);
	for (unsigned i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_bpf) {
		int error = refuse((int)arg[0], (const union bpf_attr *)arg[1]);

		if (error) {
			errno = error;
			return -1;
		}
	}
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	const char *step = getenv("CHAOS_STEP"), *file = getenv("CHAOS_STEP_FILE");
	int ret = (int)syscall(SYS_clock_gettime, clock, now);

	if (!ret && (clock == CLOCK_REALTIME || clock == CLOCK_TAI) && step && file &&
	    !access(file, F_OK))
		now->tv_sec += atol(step);
	return ret;
}
