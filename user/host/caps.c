// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/caps.h"

#include <cap-ng.h>
#include <ctype.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Adds "cap_name" to the list in `names`; returns where the next one goes. */
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

/* Whether `word` is one of the list, which is divided by ", ". */
static bool listed(const char *list, const char *word)
{
	const size_t len = strlen(word);

	for (; list; list = strstr(list, ", ")) {
		list += 2 * !strncmp(list, ", ", 2);
		if (!strncmp(list, word, len) && (!list[len] || list[len] == ','))
			return true;
	}
	return false;
}

/* Capabilities of the rows that count, at most `max`. */
static size_t needed(const struct command *cmd, const char *with, int *caps, size_t max)
{
	size_t n = 0;

	for (const struct opt_need *need = cmd->needs; need && need->name && n < max; need++) {
		if (need->without || (need->when && (!with || !listed(need->when, with))))
			continue;
		caps[n++] = need->cap;
	}
	return n;
}

int caps_require(const struct command *cmd, const char *with, struct error *err)
{
	char names[160], all[160], self[120], hint[sizeof(err->hint)];
	int caps[CAP_LAST_CAP + 1], missing;
	size_t n = needed(cmd, with, caps, sizeof(caps) / sizeof(caps[0])), used = 0;
	ssize_t len;

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
	/* not only the missing ones: setcap replaces what the file had */
	for (size_t i = 0; i < n; i++)
		used = add_name(all, sizeof(all), used, ",", caps[i]);
	snprintf(hint, sizeof(hint), "run it as root, or: setcap %s=ep %s", all, self);
	return error_set(err, STATUS_UNABLE, -EPERM, hint, "%s%s%s needs %s", cmd->name,
			 with ? " " : "", with ? with : "", names);
}

int caps_drop_but(const int *keep, size_t n)
{
	const capng_type_t sets = CAPNG_EFFECTIVE | CAPNG_PERMITTED;
	capng_select_t set = CAPNG_SELECT_CAPS;
	uint64_t have = 0;

	if (capng_get_caps_process())
		return -EIO;
	for (size_t i = 0; i < n; i++)
		have |= (uint64_t) !!capng_have_capability(CAPNG_EFFECTIVE, keep[i]) << i;
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		set = CAPNG_SELECT_BOTH;
	capng_clear(set);
	for (size_t i = 0; i < n; i++) {
		if (have >> i & 1)
			capng_update(CAPNG_ADD, sets, (unsigned)keep[i]);
	}
	return capng_apply(set) ? -EPERM : 0;
}

int caps_drop_all(void)
{
	return caps_drop_but(NULL, 0);
}
