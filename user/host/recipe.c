// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/recipe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"
#include "host/change.h"

#define WORDS_MAX 48

static const char *const tools[] = {"ip", "tc", "bridge", "ethtool", "nft"};

void recipe_add_other(struct recipe *r, enum recipe_tool tool, const struct netns *ns,
		      const struct netns *other, const char *fmt, ...)
{
	struct recipe_step *s = list_add(&r->steps);
	va_list args;

	s->tool = tool;
	s->ns = ns;
	s->other = other;
	va_start(args, fmt);
	s->cut = vsnprintf(s->text, sizeof(s->text), fmt, args) >= (int)sizeof(s->text);
	va_end(args);
}

/* Copies the text, inserting the other namespace's name. */
static char *text_of(const struct recipe_step *s, const char *other, char *buf, size_t size)
{
	const char *at = s->other ? strstr(s->text, RECIPE_OTHER) : NULL;

	if (at)
		snprintf(buf, size, "%.*s%s%s", (int)(at - s->text), s->text, other,
			 at + strlen(RECIPE_OTHER));
	else
		snprintf(buf, size, "%s", s->text);
	return buf;
}

/* Returns the errno whose text ends a tool's message, or -EIO. */
static int errno_of(const char *message)
{
	size_t len = strlen(message);

	if (strstr(message, "Unknown device type") || strstr(message, "kind is unknown"))
		return -EOPNOTSUPP;
	for (int code = 1; code < EHWPOISON; code++) {
		const char *text = strerror(code);
		size_t n = strlen(text);

		if (len >= n && !strncmp(message + len - n, text, n))
			return -code;
	}
	return -EIO;
}

/* Runs steps that use the same program and namespace as one process. */
static int execute(const struct recipe_step *s, unsigned n, int lock, struct error *why)
{
	char buf[2 * sizeof(s->text)], *at = buf, *input = NULL;
	char *words[WORDS_MAX + 2] = {(char *)tools[s->tool], "-batch", "-", NULL};
	FILE *out = NULL;
	size_t size;
	int ret;

	for (unsigned i = 0; i < n; i++)
		lock = s[i].other ? s[i].other->fd : lock;
	if (n > 1)
		out = mem_need(open_memstream(&input, &size));
	for (unsigned i = 0; i < n && out; i++)
		fprintf(out, "%s\n", text_of(&s[i], "/proc/self/fd/3", buf, sizeof(buf)));
	if (out && fclose(out))
		mem_need(NULL);
	text_of(s, "/proc/self/fd/3", buf, sizeof(buf));
	if (s->tool == RECIPE_NFT)
		words[1] = buf, words[2] = NULL;
	for (unsigned i = 1; n == 1 && s->tool != RECIPE_NFT && i <= WORDS_MAX; i++)
		words[i] = strsep(&at, " ");
	ret = netns_exec(s->ns, words, input, lock, why);
	free(input);
	return ret == -EIO ? errno_of(why->message) : ret;
}

static int write_file(const struct recipe_step *s)
{
	char path[sizeof(s->text)], *value;

	memcpy(path, s->text, sizeof(path));
	value = strrchr(path, '=');
	*value++ = '\0';
	return netns_file(s->ns, path, *value ? value : "\n", NULL, 0); /* "" writes nothing */
}

int recipe_step_run(const struct recipe_step *s, int lock, struct error *why)
{
	return s->tool == RECIPE_FILE ? write_file(s) : execute(s, 1, lock, why);
}

/*
 * Returns how many steps, starting with the first, can run as one process. They may involve only
 * one other namespace.
 */
static unsigned batch(const struct recipe_step *s, unsigned n)
{
	const struct netns *other = s->other;
	unsigned i = 1;

	if (s->tool > RECIPE_BRIDGE)
		return 1;
	for (; i < n && s[i].tool == s->tool && s[i].ns == s->ns; i++) {
		if (s[i].other && other && s[i].other != other)
			break;
		other = s[i].other ? s[i].other : other;
	}
	return i;
}

int recipe_run(struct recipe *r, const char *what, struct error *err)
{
	const struct recipe_step *s = r->steps.at;
	unsigned n = r->steps.n, done, line;
	char command[RECIPE_COMMAND_SIZE];
	int ret = 0;

	for (unsigned i = 0; i < n && !ret; i++)
		ret = s[i].cut ? error_set(err, STATUS_FAILED, -E2BIG, s[i].text,
					   "cannot %s: a command has more than %zu bytes", what,
					   sizeof(s->text) - 1)
			       : 0;
	for (; n && !ret; n -= done, s += done) {
		struct error why = {};

		done = batch(s, n);
		if (s->tool == RECIPE_NOTE)
			continue;
		ret = s->tool == RECIPE_FILE ? write_file(s) : execute(s, done, -1, &why);
		if (!ret)
			continue;
		line = done;
		*command = '\0';
		if (done == 1 || sscanf(why.hint, "Command failed -:%u", &line) == 1)
			recipe_command(&s[smaller(line, done) - 1], NULL, command, sizeof(command));
		error_set(err, STATUS_UNABLE, ret, command, "cannot %s: %.200s", what,
			  *why.message ? why.message : strerror(-ret));
	}
	list_free(&r->steps);
	return ret;
}

/* Appends a quoted word. */
static size_t put_word(const char *before, const char *word, char *buf, size_t size, size_t used)
{
	char quoted[2 * sizeof(((struct recipe_step *)0)->text)];

	return used >= size ? used
			    : used + snprintf(buf + used, size - used, "%s%s", before,
					      change_quote(word, quoted, sizeof(quoted)));
}

char *recipe_command(const struct recipe_step *s, const char *enter, char *buf, size_t size)
{
	/* unlike `ip netns exec`, nsenter -n keeps the host's /sys */
	const bool mounts = enter && !strncmp(enter, "nsenter ", strlen("nsenter "));
	char text[sizeof(s->text)], name[sizeof(s->text)], line[RECIPE_COMMAND_SIZE];
	char *value, *at = text;
	size_t n;

	memcpy(text, s->text, sizeof(text));
	n = enter && *enter ? snprintf(buf, size, "%s ", enter) : 0;
	if (s->tool == RECIPE_NFT) {
		put_word("nft ", text, buf, size, n);
		return buf;
	}
	if (s->tool != RECIPE_FILE) {
		n += snprintf(buf + n, size - n, "%s", tools[s->tool]);
		while ((value = strsep(&at, " ")))
			n = put_word(" ", value, buf, size, n);
		return buf;
	}
	value = strrchr(text, '=');
	*value++ = '\0';
	if (!strncmp(text, "/proc/sys/", strlen("/proc/sys/"))) {
		change_sysctl_name(text + strlen("/proc/sys/"), name, sizeof(name));
		n = put_word("sysctl -w ", name, buf, size, n);
		put_word("=", value, buf, size, n);
	} else if (!n) {
		n = put_word("echo ", value, buf, size, n);
		put_word(" > ", text, buf, size, n);
	} else { /* The file must be in the namespace's /sys, not in the shell's. */
		put_word(" > ", text, line, sizeof(line),
			 put_word(mounts ? "mount -t sysfs sysfs /sys && echo " : "echo ", value,
				  line, sizeof(line), 0));
		put_word(mounts ? "unshare -m sh -c " : "sh -c ", line, buf, size, n);
	}
	return buf;
}

static const char *name_of(const struct netns *ns, const struct recipe_name *names, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (names[i].ns == ns)
			return names[i].name;
	}
	return "";
}

void recipe_print(struct recipe *r, const struct recipe_name *names, unsigned n, FILE *out)
{
	const struct recipe_step *at = r->steps.at;
	char command[RECIPE_COMMAND_SIZE], enter[96];

	for (unsigned i = 0; i < r->steps.n; i++) {
		struct recipe_step s = at[i];

		text_of(&at[i], name_of(s.other, names, n), s.text, sizeof(s.text));
		snprintf(enter, sizeof(enter), "ip netns exec %s", name_of(s.ns, names, n));
		if (s.tool == RECIPE_NOTE || s.cut)
			fprintf(out, "# %s%s\n", s.cut ? "too long: " : "", s.text);
		else
			fprintf(out, "%s\n", recipe_command(&s, enter, command, sizeof(command)));
	}
	list_free(&r->steps);
}
