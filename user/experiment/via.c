// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Runs a program that carries the control connection: ssh, docker exec, ip netns exec. */
#include "experiment/via.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/file.h"

#define SELF	"pktledger"
#define GO_MS	3000 /* ms for the program to exit by itself after its input is closed */
#define TERM_MS 1000 /* ms for it to react to SIGTERM */

static int add_words(struct via *v, const char *words, struct error *err)
{
	char *at = v->text + v->used, *save = NULL;
	size_t size = strlen(words) + 1;

	if (strpbrk(words, "\"'\\"))
		return error_usage(err, "put the command in a script, and give its name",
				   "words are separated by blanks, and quotes are not supported: "
				   "%s",
				   words);
	if (size > sizeof(v->text) - v->used)
		return error_usage(err, NULL, "the command to reach the other host is too long");
	memcpy(at, words, size);
	v->used += size;
	for (char *w = strtok_r(at, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		if (v->words == VIA_WORDS)
			return error_usage(
				err, NULL,
				"the command to reach the other host has too many words");
		v->argv[v->words++] = w;
	}
	return 0;
}

static int add_ssh(struct via *v, const struct via_config *cfg, struct error *err)
{
	const struct endpoint *to = &cfg->to;
	const char *host = strrchr(cfg->login, '@') + 1;
	char address[NI_MAXHOST], words[sizeof(v->text)];
	struct endpoint numeric;

	if (num_endpoint(host, &numeric)) /* a name, which may be defined in ssh's configuration */
		snprintf(address, sizeof(address), "%.*s", (int)strcspn(host, ":"), host);
	else
		inet_ntop(to->family, to->family == AF_INET6 ? (const void *)&to->ip6 : &to->ip4,
			  address, sizeof(address));
	/* ssh ends when the connection is cut */
	snprintf(words, sizeof(words),
		 "ssh -T -o ServerAliveInterval=2 -o ServerAliveCountMax=2%s",
		 v->asks ? "" : " -o BatchMode=yes"); /* otherwise ssh would wait for ever */
	if (to->port)
		snprintf(words + strlen(words), sizeof(words) - strlen(words), " -p %u", to->port);
	snprintf(words + strlen(words), sizeof(words) - strlen(words), " -- %.*s%s",
		 (int)(host - cfg->login), cfg->login, address);
	return add_words(v, words, err);
}

/*
 * Starts the program with two pipes. The program gets one end of each pipe unchanged, and our ends
 * never block.
 */
static int start(struct via *v, struct conn *c, struct error *err)
{
	int in[2], out[2], rc;

	if (pipe2(in, O_CLOEXEC))
		return error_errno(err, STATUS_FAILED, -errno, NULL, "cannot make a pipe");
	if (pipe2(out, O_CLOEXEC)) {
		rc = -errno;
		close(in[0]);
		close(in[1]);
		return error_errno(err, STATUS_FAILED, rc, NULL, "cannot make a pipe");
	}
	fcntl(in[0], F_SETFL, O_NONBLOCK);
	fcntl(out[1], F_SETFL, O_NONBLOCK);
	conn_init(c, in[0], out[1]);
	rc = child_prepare(&v->child, v->argv, out[0], in[1], err);
	if (!rc)
		rc = child_start(&v->child, err);
	close(out[0]);
	close(in[1]);
	return rc;
}

int via_open(struct via *v, const struct via_config *cfg, struct conn *c, struct error *err)
{
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), rc;

	/* the program asks its questions on the terminal, not on stdin */
	*v = (struct via){.asks = tty >= 0};
	fd_close(&tty);
	rc = cfg->command ? add_words(v, cfg->command, err) : add_ssh(v, cfg, err);
	if (!rc)
		rc = add_words(v, cfg->remote ? cfg->remote : SELF, err);
	if (!rc)
		rc = add_words(v, "recv --stdio", err);
	return rc ? rc : start(v, c, err);
}

static bool has_ended(struct child *c, int ms)
{
	struct pollfd end = {.fd = c->pidfd, .events = POLLIN};

	poll(&end, 1, ms);
	return child_poll(c);
}

int via_close(struct via *v)
{
	struct child *c = &v->child;

	if (!c->name)
		return CHILD_OURS;
	if (!has_ended(c, GO_MS))
		pidfd_send_signal(c->pidfd, SIGTERM, NULL, 0);
	if (!has_ended(c, TERM_MS))
		pidfd_send_signal(c->pidfd, SIGKILL, NULL, 0);
	has_ended(c, TERM_MS);
	child_close(c);
	return c->status;
}
