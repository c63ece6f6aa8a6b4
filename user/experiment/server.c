// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/watch.h"
#include "experiment/session.h"

#define CALLERS_MAX 64
#define STEP_MS	    20
#define PATIENT	    16 /* answers between two looks for a signal */
#define LOGIN_NS    2000000000
#define SILENCE_NS  15000000000	 /* a client that says nothing in an experiment is gone */
#define IDLE_NS	    120000000000 /* between two it may be loading its programs, on a slow host */

struct server {
	const struct server_config *cfg;
	const struct server_view *view;
	int listener;
	struct session *caller[CALLERS_MAX]; /* in the order in which they came */
	unsigned callers;
	struct session *client; /* the caller that is served; NULL: none is let in */
	unsigned answered;
	bool served; /* one that was let in is done */
};

static const char *why_ended(int rc)
{
	switch (rc) {
	case -EACCES:
		return "wrong token";
	case -EPROTONOSUPPORT:
		return "another version of the protocol";
	case -EBADMSG:
		return "it does not speak the protocol";
	case -ETIMEDOUT:
		return "it says nothing";
	case -EPIPE:
	case -ECONNRESET:
		return "it closed the connection";
	}
	return strerror(-rc);
}

/* A caller is done with, by `rc`. Whoever waited for it is greeted. */
static void end_caller(struct server *srv, unsigned i, int rc)
{
	struct session *s = srv->caller[i];

	s->served.refused = !s->let_in;
	if (rc < 0 && !(s->let_in && rc == -EPIPE))
		snprintf(s->served.why, sizeof(s->served.why), "%s", why_ended(rc));
	session_close(s);
	if (srv->view->on_served)
		srv->view->on_served(srv->view->arg, &s->served);
	memmove(&srv->caller[i], &srv->caller[i + 1], (--srv->callers - i) * sizeof(s));
	srv->served |= s->let_in;
	if (s == srv->client) {
		srv->client = NULL;
		for (unsigned k = 0; k < srv->callers; k++)
			session_greet(srv->caller[k]); /* who is gone is found so by and by */
	}
	free(s);
}

/* Among those that were greeted the one that has been silent longest. False: there is none. */
static bool make_room(struct server *srv)
{
	for (unsigned i = 0; i < srv->callers; i++) {
		if (srv->caller[i]->let_in || !srv->caller[i]->greeted)
			continue;
		end_caller(srv, i, -ETIMEDOUT);
		return true;
	}
	return false;
}

/* Who cannot be served now is told so, and waits. */
static void take_callers(struct server *srv)
{
	int fd;

	while ((fd = accept4(srv->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		struct session *s = NULL;
		int rc;

		if (srv->callers < CALLERS_MAX || make_room(srv))
			s = calloc(1, sizeof(*s));
		if (!s) {
			close(fd);
			continue;
		}
		srv->caller[srv->callers++] = s;
		rc = session_open(s, srv->cfg, fd);
		if (!rc)
			rc = srv->client ? session_put_off(s) : session_greet(s);
		if (rc)
			end_caller(srv, srv->callers - 1, rc);
	}
}

static uint64_t patience(const struct session *s)
{
	if (!s->let_in)
		return LOGIN_NS;
	return s->site ? SILENCE_NS : IDLE_NS;
}

/* Hears one caller. False: it is done with. */
static bool hear(struct server *srv, unsigned i, int timeout_ms)
{
	struct session *s = srv->caller[i];
	int rc = session_step(s, timeout_ms);

	srv->answered += rc > 0;
	if (!rc && clock_now() - s->heard_ns > patience(s))
		rc = -ETIMEDOUT;
	if (rc >= 0)
		return true;
	end_caller(srv, i, rc);
	return false;
}

/* The first of the callers that is let in is served; the others are told so. */
static void hear_callers(struct server *srv)
{
	struct pollfd fds[CALLERS_MAX + 1] = {{.fd = srv->listener, .events = POLLIN}};

	for (unsigned i = 0; i < srv->callers; i++)
		fds[i + 1] = (struct pollfd){.fd = srv->caller[i]->conn.fd, .events = POLLIN};
	poll(fds, srv->callers + 1, STEP_MS);
	for (unsigned i = 0; i < srv->callers && !srv->client;) {
		struct session *s = srv->caller[i];

		if (!hear(srv, i, 0))
			continue;
		if (s->let_in)
			srv->client = s;
		i++;
	}
	for (unsigned i = 0; srv->client && i < srv->callers; i++) {
		if (srv->caller[i] != srv->client)
			session_put_off(srv->caller[i]);
	}
}

/* The one that is served. A question that follows at once, as of the clock, is not to wait. */
static bool hear_client(struct server *srv)
{
	unsigned i = 0, answered = srv->answered;

	while (srv->caller[i] != srv->client)
		i++;
	hear(srv, i, STEP_MS);
	return answered == srv->answered || answered % PATIENT == 0;
}

static void run(struct server *srv)
{
	bool signalled = false;

	while (!signalled && (!srv->served || srv->cfg->stay)) {
		bool idle = true;

		take_callers(srv);
		if (srv->client)
			idle = hear_client(srv);
		else
			hear_callers(srv);
		signalled = idle && watch_tick();
	}
	while (srv->callers) {
		srv->served |= srv->caller[0]->let_in;
		session_close(srv->caller[0]);
		if (srv->caller[0]->let_in && srv->view->on_served)
			srv->view->on_served(srv->view->arg, &srv->caller[0]->served);
		free(srv->caller[0]);
		memmove(srv->caller, srv->caller + 1, --srv->callers * sizeof(*srv->caller));
	}
}

int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err)
{
	struct server *srv = calloc(1, sizeof(*srv));

	if (!srv)
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "out of memory");
	srv->cfg = cfg;
	srv->view = view;
	srv->listener = conn_listen(cfg->control_port);
	if (srv->listener < 0) {
		int rc = srv->listener;

		free(srv);
		return error_set(
			err, STATUS_FAILED, rc,
			rc == -EADDRINUSE ? "another --control-port, or end that program" : NULL,
			"cannot listen at TCP port %u: %s", cfg->control_port, strerror(-rc));
	}
	if (view->on_listening)
		view->on_listening(view->arg);
	run(srv);
	close(srv->listener);
	free(srv);
	return 0;
}
