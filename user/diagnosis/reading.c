// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "diagnosis/reading_sock.h"

#define LATELY_NS 10000000000ULL /* after its last loss a socket is sampled for so long */

struct readings {
	struct owners *owners;
	int root;
	struct idmap socks;    /* struct sock, by inode */
	uint64_t interval_end; /* CLOCK_BOOTTIME, as births of processes; 0: none yet */
};

int readings_open(struct readings **readings, struct owners *owners, const char *root,
		  struct error *err)
{
	int fd = proc_root(root);
	struct readings *r;

	*readings = NULL;
	if (fd < 0)
		return error_set(err, STATUS_FAILED, fd, NULL, "cannot open %s: %s",
				 root ? root : "/", strerror(-fd));
	r = calloc(1, sizeof(*r));
	if (!r) {
		close(fd);
		return error_set(err, STATUS_FAILED, -ENOMEM, NULL, "not enough memory");
	}
	r->owners = owners;
	r->root = fd;
	*readings = r;
	return 0;
}

void readings_close(struct readings *r)
{
	if (!r)
		return;
	idmap_free(&r->socks, reading_sock_free);
	close(r->root);
	free(r);
}

static bool make_room(struct readings *r)
{
	struct reading_sock *oldest = r->socks.at[0].object;

	for (unsigned i = 1; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;

		if (s->lost_at < oldest->lost_at)
			oldest = s;
	}
	if (oldest->noted)
		return false;
	reading_sock_free(idmap_take(&r->socks, oldest->id.inode));
	return true;
}

static struct reading_sock *get(struct readings *r, const struct reading_socket *id)
{
	struct reading_sock *s = idmap_find(&r->socks, id->inode);

	if (s || !id->inode || (r->socks.n == READING_SOCKETS && !make_room(r)))
		return s;
	s = calloc(1, sizeof(*s));
	if (s && idmap_add(&r->socks, id->inode, s)) {
		free(s);
		s = NULL;
	}
	if (s)
		s->id = *id;
	return s;
}

/* A process that was born in this interval has done nothing before it. */
static uint64_t age_ns(const struct readings *r, pid_t pid, uint64_t now)
{
	struct proc_stat st;
	uint64_t born;

	if (!r->interval_end || proc_stat(r->root, pid, 0, &st))
		return 0;
	born = st.start * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
	return born > r->interval_end && born < now ? now - born : 0;
}

/* The reader, or another one than before; then all begins anew. */
static void find_reader(struct readings *r, struct reading_sock *s)
{
	struct owner who;
	uint64_t age;

	if (owners_socket(r->owners, s->id.inode, s->id.netns, s->id.cgroup, &who) ||
	    who.pid == s->threads.pid)
		return;
	age = age_ns(r, who.pid, clock_ns(CLOCK_BOOTTIME));
	reading_sock_set_reader(s, r->root, &who, age ? clock_now() - age : 0);
}

static bool lately(const struct reading_sock *s, uint64_t now)
{
	return s->lost_at && now - s->lost_at < LATELY_NS;
}

void readings_sample(struct readings *r)
{
	uint64_t now = clock_now();

	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;

		if (lately(s, now))
			reading_sock_sample(s, r->root, r->owners);
	}
}

void readings_note(struct readings *r, const struct reading_socket *id, uint64_t packets)
{
	struct reading_sock *s = get(r, id);

	if (!s)
		return;
	s->id = *id;
	s->noted = true;
	s->now.lost += packets;
	s->lost_at = clock_now();
}

/* To ask is to have them looked for. */
static void find_readers(struct readings *r)
{
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, r->socks.at[i].object);
	owners_tick(r->owners);
	for (unsigned i = 0; i < r->socks.n; i++)
		find_reader(r, r->socks.at[i].object);
}

void readings_interval(struct readings *r)
{
	find_readers(r);
	for (unsigned i = 0; i < r->socks.n; i++) {
		struct reading_sock *s = r->socks.at[i].object;
		uint64_t now = clock_now();

		if (lately(s, now))
			reading_sock_sample(s, r->root, r->owners);
		reading_sock_end_interval(s, r->root, now, lately(s, now));
	}
	r->interval_end = clock_ns(CLOCK_BOOTTIME);
}

struct finding_all {
	struct readings *r;
	uint32_t netns;
};

static void on_any(void *arg, const struct sockmem_row *row)
{
	const struct finding_all *all = arg;

	if (all->r->socks.n < READING_SOCKETS / 2)
		get(all->r, &(struct reading_socket){.inode = row->inode,
						     .netns = all->netns,
						     .family = (uint16_t)row->family,
						     .port = row->port});
}

static void find_all(struct readings *r, const struct netns *ns, uint32_t inum)
{
	struct finding_all all = {r, inum};
	struct sockmem *mem;

	if (sockmem_open(&mem, ns))
		return;
	sockmem_udp(mem, AF_INET, 0, on_any, &all);
	sockmem_udp(mem, AF_INET6, 0, on_any, &all);
	sockmem_close(mem);
}

void readings_begin(struct readings *r, const uint32_t *netns, unsigned n)
{

	find_all(r, NULL, proc_netns(r->root, getpid()));
	for (unsigned i = 0; i < n; i++) {
		struct netns ns;
		struct error err = {};

		if (owners_netns_open(r->owners, netns[i], &ns, &err))
			continue;
		find_all(r, &ns, netns[i]);
		netns_close(&ns);
	}
	readings_interval(r);
}

int readings_get(const struct readings *r, uint64_t inode, struct reading *out)
{
	const struct reading_sock *s = idmap_find(&r->socks, inode);

	memset(out, 0, sizeof(*out));
	return s ? reading_sock_get(s, out) : -ENOENT;
}
