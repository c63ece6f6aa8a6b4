// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "experiment/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "experiment/session.h"
#include "base/watch.h"

#define WAITING_MAX 8
#define STEP_MS	    20
#define PATIENT	    16 /* answers between two looks for a signal */
#define LOGIN_NS    2000000000
#define SILENCE_NS  15000000000	 /* a client that says nothing in an experiment is gone */
#define IDLE_NS	    120000000000 /* between two it may be loading its programs, on a slow host */

struct server {
	const struct server_config *cfg;
	const struct server_view *view;
	int listener;
	int waiting[WAITING_MAX]; /* clients that came meanwhile, in order */
	unsigned n_waiting;
	struct session session;
};

/* Who cannot be served now is told so, and waits. */
static void take_callers(struct server *srv, bool busy)
{
	struct json_object *msg;
	struct conn c;
	int fd;

	while (srv->n_waiting < WAITING_MAX &&
	       (fd = accept4(srv->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		srv->waiting[srv->n_waiting++] = fd;
		if (!busy)
			return;
		msg = msg_make("busy", NULL, NULL);
		c.fd = fd;
		conn_send(&c, msg, 0);
	}
}

static int next_caller(struct server *srv)
{
	int fd;

	if (!srv->n_waiting)
		take_callers(srv, false);
	if (!srv->n_waiting)
		return -1;
	fd = srv->waiting[0];
	memmove(srv->waiting, srv->waiting + 1, --srv->n_waiting * sizeof(fd));
	return fd;
}

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

static uint64_t patience(const struct session *s)
{
	if (!s->let_in)
		return LOGIN_NS;
	return s->near.open ? SILENCE_NS : IDLE_NS;
}

/* A signal (true), or the client is done: *rc tells how. */
static bool talk(struct server *srv, int *rc)
{
	struct session *s = &srv->session;
	uint64_t heard = clock_now();
	unsigned answered = 0;

	for (;;) {
		*rc = session_step(s, STEP_MS);
		if (*rc > 0) {
			heard = clock_now();
			answered++;
		}
		if (!*rc && clock_now() - heard > patience(s))
			*rc = -ETIMEDOUT;
		if (*rc < 0)
			return false;
		take_callers(srv, true);
		/* a question that follows at once, as of the clock, is not to wait */
		if ((!*rc || answered % PATIENT == 0) && watch_tick())
			return true;
	}
}

/* Serves one client to its end. Returns true if a signal ended it. */
static bool serve(struct server *srv, int fd, bool *served)
{
	struct session *s = &srv->session;
	int rc = session_open(s, srv->cfg, fd);
	bool signalled = !rc && talk(srv, &rc);

	*served = s->let_in;
	s->served.refused = !s->let_in;
	if (rc < 0 && !(s->let_in && rc == -EPIPE))
		snprintf(s->served.why, sizeof(s->served.why), "%s", why_ended(rc));
	session_close(s);
	if (srv->view->on_served)
		srv->view->on_served(srv->view->arg, &s->served);
	return signalled;
}

int server_run(const struct server_config *cfg, const struct server_view *view, struct error *err)
{
	struct server *srv = calloc(1, sizeof(*srv));
	bool signalled = false, served = false;

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
	while (!signalled && (!served || cfg->stay)) {
		int fd = next_caller(srv);

		if (fd < 0)
			signalled = watch_tick();
		else
			signalled = serve(srv, fd, &served);
	}
	for (unsigned i = 0; i < srv->n_waiting; i++)
		close(srv->waiting[i]);
	close(srv->listener);
	free(srv);
	return 0;
}
