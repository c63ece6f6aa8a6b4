/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is done to a host, as the commands that a person would type: a step is a command, a recipe a
 * list of steps. Steps are run or printed. Consecutive steps of `ip`, `tc` or `bridge` in one
 * namespace are one process (-batch). This program itself writes files below /proc and /sys. No
 * shell is involved: words are separated by one blank.
 */
#ifndef PKTLEDGER_HOST_RECIPE_H
#define PKTLEDGER_HOST_RECIPE_H

#include <stdio.h>

#include "base/err.h"
#include "base/list.h"
#include "host/netns.h"

/* The program is not part of the text. */
enum recipe_tool {
	RECIPE_IP,
	RECIPE_TC,
	RECIPE_BRIDGE,
	RECIPE_ETHTOOL,
	RECIPE_NFT,  /* the text is one word: a script without newlines */
	RECIPE_FILE, /* "/proc/sys/net/ipv4/ip_forward=1", shown as sysctl or echo */
	RECIPE_NOTE, /* printed only, as a comment */
};

/* In the text of a step: the other namespace. */
#define RECIPE_OTHER "@other@"

struct recipe_step {
	enum recipe_tool tool;
	const struct netns *ns;	   /* borrowed, NULL: the thread's namespace */
	const struct netns *other; /* borrowed, or NULL */
	char text[1024];
};

#define RECIPE_COMMAND_SIZE (2 * sizeof(((struct recipe_step *)0)->text)) /* as a shell line */

/*
 * Runs a step. Returns 0 or -errno, for a program the one that its message ends with, else -EIO.
 * `why` has the message of a program. `lock`: as for netns_exec().
 */
int recipe_step_run(const struct recipe_step *s, int lock, struct error *why);

/*
 * Formats a step as a shell line: "sysctl -w net.core.rmem_max=8388608", "ethtool -G eth1 rx 4096",
 * "echo f > /sys/class/net/eth1/...". `enter`: the command that enters the namespace, such as "ip
 * netns exec b", or NULL. Writes at most `size` bytes including the NUL, and returns `buf`.
 */
char *recipe_command(const struct recipe_step *s, const char *enter, char *buf, size_t size);

struct recipe {
	struct list steps;
};

#define RECIPE ((struct recipe){.steps = {.size = sizeof(struct recipe_step)}})

/* Adds a step in `ns`, which the text connects with `other` or, in the short form, not. */
void recipe_add_other(struct recipe *r, enum recipe_tool tool, const struct netns *ns,
		      const struct netns *other, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
#define recipe_add(r, tool, ns, ...) recipe_add_other(r, tool, ns, NULL, __VA_ARGS__)

/*
 * Runs the steps in order until one fails, and empties the recipe. STATUS_UNABLE with "cannot
 * `what`: ", the tool's message, the failed command as a hint (if the tool names its line), and the
 * code of recipe_step_run().
 */
int recipe_run(struct recipe *r, const char *what, struct error *err);

/* A name for `ip netns`. */
struct recipe_name {
	const struct netns *ns;
	char name[64];
};

/* Prints the steps as shell commands, with the names of `n` namespaces, and empties the recipe. */
void recipe_print(struct recipe *r, const struct recipe_name *names, unsigned n, FILE *out);

#endif
