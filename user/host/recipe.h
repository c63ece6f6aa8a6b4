/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Changes to a host, expressed as the commands a person would type. A step is a command, and a
 * recipe is a list of steps that are run or printed. Consecutive `ip`, `tc` or `bridge` steps in
 * one namespace run as one process (-batch). Files under /proc and /sys are written by pktledger
 * itself. No shell is involved: words are separated by a single blank.
 */
#ifndef PKTLEDGER_HOST_RECIPE_H
#define PKTLEDGER_HOST_RECIPE_H

#include <stdio.h>

#include "base/err.h"
#include "base/list.h"
#include "host/netns.h"

/* Selects the program. Its name is not part of the text. */
enum recipe_tool {
	RECIPE_IP,
	RECIPE_TC,
	RECIPE_BRIDGE,
	RECIPE_ETHTOOL,
	RECIPE_NFT,  /* the text is a single word: a script without newlines */
	RECIPE_FILE, /* "/proc/sys/net/ipv4/ip_forward=1", shown as sysctl or echo */
	RECIPE_NOTE, /* printed only, as a comment */
};

/* Placeholder for the other namespace in a step's text. */
#define RECIPE_OTHER "@other@"

struct recipe_step {
	enum recipe_tool tool;
	const struct netns *ns;	   /* borrowed, NULL: the thread's namespace */
	const struct netns *other; /* borrowed, or NULL */
	bool cut;		   /* the text does not fit, so the step cannot be run */
	char text[1024];
};

#define RECIPE_COMMAND_SIZE (2 * sizeof(((struct recipe_step *)0)->text)) /* as a shell line */

/*
 * Runs a step. Returns 0 or -errno. For a program this is the error that ends its message, or -EIO.
 * `why` is set to the program's message. `lock` is passed to netns_exec().
 */
int recipe_step_run(const struct recipe_step *s, int lock, struct error *why);

/*
 * Formats a step as a shell line: "sysctl -w net.core.rmem_max=8388608", "ethtool -G eth1 rx 4096",
 * "echo f > /sys/class/net/eth1/...". `enter` is the command that enters the namespace, such as "ip
 * netns exec b", or NULL. Writes at most `size` bytes including the NUL and returns `buf`.
 */
char *recipe_command(const struct recipe_step *s, const char *enter, char *buf, size_t size);

struct recipe {
	struct list steps;
};

#define RECIPE ((struct recipe){.steps = {.size = sizeof(struct recipe_step)}})

/* Adds a step in `ns` whose text refers to `other`. The short form has no other namespace. */
void recipe_add_other(struct recipe *r, enum recipe_tool tool, const struct netns *ns,
		      const struct netns *other, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
#define recipe_add(r, tool, ns, ...) recipe_add_other(r, tool, ns, NULL, __VA_ARGS__)

/*
 * Runs the steps in order until one fails, and empties the recipe. Runs none if the text of one is
 * too long (-E2BIG). On failure returns the error of recipe_step_run() and sets STATUS_UNABLE,
 * "cannot `what`: " followed by the tool's message, and the failed command as the hint (if the tool
 * reports its line).
 */
int recipe_run(struct recipe *r, const char *what, struct error *err);

/* A name for `ip netns`. */
struct recipe_name {
	const struct netns *ns;
	char name[64];
};

/* Prints the steps as shell commands, using the names of `n` namespaces, and empties the recipe. */
void recipe_print(struct recipe *r, const struct recipe_name *names, unsigned n, FILE *out);

#endif
