// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/caps.h"

#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

/* Adds "cap_name" to the list in `names`. Returns the offset for the next name. */
static size_t add_name(char *names, size_t size, size_t used, const char *separator, int cap)
{
	const char *name = capng_capability_to_name(cap);

	if (used >= size)
		return used;
	return used + snprintf(names + used, size - used, "%scap_%s", used ? separator : "",
			       name ? name : "unknown");
}

int caps_missing(const int *caps, size_t n, char *names, size_t size)
{
	size_t used = 0;
	int missing = 0;

	names[0] = '\0';
	if (capng_get_caps_process())
		return -EIO;
	for (size_t i = 0; i < n; i++) {
		if (capng_have_capability(CAPNG_EFFECTIVE, caps[i]))
			continue;
		used = add_name(names, size, used, ", ", caps[i]);
		missing++;
	}
	for (char *c = names; *c; c++)
		*c = toupper((unsigned char)*c);
	return missing;
}

/* Returns whether the two lists, both separated by ", ", share an entry. */
static bool in_common(const char *one, const char *other)
{
	while (*one) {
		size_t len = strcspn(one, ",");

		for (const char *at = other; *at; at += strspn(at, ", ")) {
			size_t n = strcspn(at, ",");

			if (n == len && !memcmp(one, at, n))
				return true;
			at += n;
		}
		one += len;
		one += strspn(one, ", ");
	}
	return false;
}

static bool counts(const struct opt_need *need, const char *with)
{
	return !need->when || (with && in_common(need->when, with));
}

int caps_require(const struct command *cmd, const char *with, struct error *err)
{
	char names[160], all[160], self[120], hint[sizeof(err->hint)];
	int caps[CAP_LAST_CAP + 1], missing;
	size_t n = 0, used = 0;
	ssize_t len;

	for (const struct opt_need *need = cmd->needs; need && need->name && n <= CAP_LAST_CAP;
	     need++) {
		if (!need->without && counts(need, with))
			caps[n++] = need->cap;
	}

	missing = caps_missing(caps, n, names, sizeof(names));
	if (!missing)
		return 0;
	if (missing < 0)
		return error_set(err, STATUS_UNABLE, missing, "mount /proc",
				 "cannot read the capabilities of this process");
	len = readlink("/proc/self/exe", self, sizeof(self));
	if (len > 0 && len < (ssize_t)sizeof(self))
		self[len] = '\0';
	else
		snprintf(self, sizeof(self), "%s", program_invocation_short_name);
	/* list all capabilities, not just the missing ones: setcap replaces the file's whole set */
	for (size_t i = 0; i < n; i++)
		used = add_name(all, sizeof(all), used, ",", caps[i]);
	snprintf(hint, sizeof(hint), "run it as root, or: setcap %s=ep %s", all, self);
	return error_set(err, STATUS_UNABLE, -EPERM, hint, "%s%s%s needs %s", cmd->name,
			 with ? " " : "", with ? with : "", names);
}

uint64_t caps_kept(const struct opt_need *needs, const char *with, enum caps_again again)
{
	unsigned major, minor, running = 0; /* unknown: treated as the oldest kernel */
	uint64_t keep = CAPS_NONE;
	struct utsname u;

	if (!uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2)
		running = OPT_KERNEL(major, minor);

	for (const struct opt_need *need = needs; need && need->name; need++) {
		bool to_the_end = need->keeps && counts(need, with) &&
				  (!need->before || running < need->before);

		if (again == CAPS_AGAIN || to_the_end)
			keep |= CAPS_BIT(need->cap);
	}
	return keep;
}

int caps_give_up(const struct opt_need *needs, const char *with, enum caps_again again)
{
	return caps_drop_but(caps_kept(needs, with, again));
}

/*
 * Makes the system calls directly: capset() changes only the calling thread, and libcap-ng may take
 * locks and allocate memory, which is not safe in a child after fork().
 */
struct sets {
	struct __user_cap_header_struct head;
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

static int use_sets(long call, struct sets *s)
{
	s->head = (struct __user_cap_header_struct){_LINUX_CAPABILITY_VERSION_3, 0};
	return syscall(call, &s->head, s->data) ? -errno : 0;
}

int caps_drop_but(uint64_t keep)
{
	struct sets s;
	int ret = use_sets(SYS_capget, &s);

	if (ret)
		return ret;
	/* the kernel checks which capabilities exist and requires CAP_SETPCAP */
	for (int cap = 0; cap < 64; cap++) {
		if (!(keep & CAPS_BIT(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
			break;
	}
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		s.data[i].permitted &= (__u32)(keep >> 32 * i);
		s.data[i].effective &= s.data[i].permitted;
		s.data[i].inheritable &= s.data[i].permitted;
	}
	ret = use_sets(SYS_capset, &s);
	return !ret && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : ret;
}

/* The kernel clears ambient capabilities that are no longer inheritable (cap_capset()). */
void caps_lend(uint64_t lent, bool lend)
{
	struct sets s;

	if (use_sets(SYS_capget, &s))
		return;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		__u32 these = (__u32)(lent >> 32 * i);

		s.data[i].inheritable &= ~these;
		s.data[i].inheritable |= lend ? s.data[i].permitted & these : 0;
	}
	use_sets(SYS_capset, &s);
	for (int cap = 0; lend && cap < 64; cap++) {
		if (lent & CAPS_BIT(cap))
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0);
	}
}

#ifdef HAVE_SECCOMP
int caps_bar_calls(bool programs, bool attach)
{
	/* the first two are blocked only without `programs` */
	static const int calls[] = {
		SCMP_SYS(execve),	    SCMP_SYS(execveat),		 SCMP_SYS(ptrace),
		SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(perf_event_open),
		SCMP_SYS(userfaultfd),	    SCMP_SYS(io_uring_setup),	 SCMP_SYS(mount),
		SCMP_SYS(umount2),	    SCMP_SYS(pivot_root),	 SCMP_SYS(move_mount),
		SCMP_SYS(fsopen),	    SCMP_SYS(open_tree),	 SCMP_SYS(chroot),
		SCMP_SYS(init_module),	    SCMP_SYS(finit_module),	 SCMP_SYS(delete_module),
		SCMP_SYS(kexec_load),	    SCMP_SYS(kexec_file_load),	 SCMP_SYS(reboot),
		SCMP_SYS(swapon),	    SCMP_SYS(add_key),		 SCMP_SYS(request_key),
		SCMP_SYS(keyctl),	    SCMP_SYS(settimeofday),	 SCMP_SYS(clock_settime),
		SCMP_SYS(adjtimex),	    SCMP_SYS(clock_adjtime),	 SCMP_SYS(pidfd_getfd),
		SCMP_SYS(mount_setattr),    SCMP_SYS(swapoff),
	};
	/* the first is allowed with `attach` */
	static const int commands[] = {
		BPF_RAW_TRACEPOINT_OPEN,
		BPF_LINK_CREATE,
		BPF_LINK_UPDATE,
		BPF_PROG_ATTACH,
		BPF_PROG_DETACH,
		BPF_PROG_TEST_RUN,
		BPF_PROG_LOAD,
		BPF_MAP_CREATE,
		BPF_BTF_LOAD,
		BPF_OBJ_PIN,
		BPF_OBJ_GET,
	};
	const uint32_t refuse = SCMP_ACT_ERRNO(EPERM);
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int rc = filter ? seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1) : -ENOMEM;

	for (size_t i = programs ? 2 : 0; !rc && i < sizeof(calls) / sizeof(*calls); i++)
		rc = seccomp_rule_add(filter, refuse, calls[i], 0);
	for (size_t i = attach ? 1 : 0; !rc && i < sizeof(commands) / sizeof(*commands); i++)
		/* the kernel takes an int, so higher bits do not change the command */
		rc = seccomp_rule_add(
			filter, refuse, SCMP_SYS(bpf), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, (uint64_t)commands[i]));
	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	return rc;
}
#else
int caps_bar_calls(bool programs, bool attach)
{
	(void)programs;
	(void)attach;
	return -ENOSYS;
}
#endif
