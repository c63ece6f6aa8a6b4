// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/holders.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/idmap.h"
#include "drops/files.h"

#define SOCKETS_MAX   FILES_WANTED /* known at a time; the one asked for least lately gives way */
#define HELD_MAX      8		   /* processes of one socket that are weighed against each other */
#define THREADS_ASKED 64	   /* of a process, whether they read */
#define FRESH_NS      1000000000ULL /* so long an answer is not looked at again */
#define RETRY_NS      1000000000ULL /* the first time; doubled each time that nobody is found */
#define RETRY_MOST    60000000000ULL

/* SOUGHT: the pass in progress has looked for it from its beginning. */
enum wanted { SETTLED, WANTED, SOUGHT };

struct held {
	pid_t pid;
	int fd;
};

struct sock {
	uint64_t inode;
	uint32_t netns;
	enum wanted wanted;
	bool known; /* `holder` is one */
	struct holder holder;
	uint64_t asked, checked; /* when, ns */
	uint64_t retry;		 /* how long after `checked` it is looked for again */

	struct held found[HELD_MAX]; /* by the pass in progress */
	unsigned n_found;	     /* more than HELD_MAX: the rest was not kept */
	pid_t last;		     /* that was found: one that has it twice is one holder */
};

struct holders {
	int root;
	struct files *files; /* NULL: by /proc */
	struct idmap socks;
	unsigned wanted;

	/* The pass: processes, those in a wanted namespace first. */
	pid_t *pids;
	unsigned n_pids, cap_pids, next;
	bool passing;
};

struct holders *holders_new(int root, struct files *files)
{
	struct holders *h = calloc(1, sizeof(*h));

	if (h) {
		h->root = root;
		h->files = files;
	}
	return h;
}

void holders_free(struct holders *h)
{
	if (!h)
		return;
	idmap_free(&h->socks, free);
	free(h->pids);
	free(h);
}

static void make_room(struct holders *h)
{
	struct sock *oldest = h->socks.at[0].object;

	for (unsigned i = 1; i < h->socks.n; i++) {
		struct sock *s = h->socks.at[i].object;

		if (s->asked < oldest->asked)
			oldest = s;
	}
	h->wanted -= oldest->wanted != SETTLED;
	free(idmap_take(&h->socks, oldest->inode));
}

static struct sock *get(struct holders *h, uint64_t inode)
{
	struct sock *s = idmap_find(&h->socks, inode);

	if (s)
		return s;
	if (h->socks.n >= SOCKETS_MAX)
		make_room(h);
	s = calloc(1, sizeof(*s));
	if (!s || idmap_add(&h->socks, inode, s)) {
		free(s);
		return NULL;
	}
	s->inode = inode;
	s->retry = RETRY_NS;
	s->wanted = WANTED;
	h->wanted++;
	return s;
}

static bool still_holds(const struct holders *h, const struct sock *s)
{
	char link[64];

	return proc_link(h->root, link, sizeof(link), "proc/%d/fd/%d", s->holder.pid,
			 s->holder.fd) > 0 &&
	       proc_inode(link, "socket") == s->inode;
}

int holders_find(struct holders *h, uint64_t inode, uint32_t netns, uint64_t now_ns,
		 struct holder *out)
{
	struct sock *s = get(h, inode);

	memset(out, 0, sizeof(*out));
	if (!s)
		return -ENOMEM;
	s->netns = netns ? netns : s->netns;
	s->asked = now_ns;
	if (s->wanted == SETTLED && s->known && now_ns - s->checked >= FRESH_NS &&
	    still_holds(h, s))
		s->checked = now_ns;
	if (s->wanted == SETTLED && now_ns - s->checked >= (s->known ? FRESH_NS : s->retry)) {
		s->wanted = WANTED;
		h->wanted++;
	}
	*out = s->holder;
	if (s->known)
		return 0;
	return s->wanted == SETTLED ? -ESRCH : -EAGAIN;
}

bool holders_waiting(const struct holders *h)
{
	return h->wanted || h->passing;
}

static bool wanted_netns(const struct holders *h, uint32_t netns)
{
	for (unsigned i = 0; i < h->socks.n; i++) {
		const struct sock *s = h->socks.at[i].object;

		if (s->wanted == WANTED && s->netns == netns)
			return true;
	}
	return false;
}

static int add_pid(struct holders *h, pid_t pid)
{
	if (h->n_pids == h->cap_pids) {
		unsigned cap = h->cap_pids ? h->cap_pids * 2 : 256;
		pid_t *pids = reallocarray(h->pids, cap, sizeof(*pids));

		if (!pids)
			return -ENOMEM;
		h->pids = pids;
		h->cap_pids = cap;
	}
	h->pids[h->n_pids++] = pid;
	return 0;
}

/* From here on the wanted ones are looked for. */
static void seek_all(struct holders *h)
{
	for (unsigned i = 0; i < h->socks.n; i++) {
		struct sock *s = h->socks.at[i].object;

		s->n_found = 0;
		s->last = 0;
		s->wanted = s->wanted == SETTLED ? SETTLED : SOUGHT;
	}
}

static int begin(struct holders *h)
{
	DIR *dir = proc_dir(h->root, "proc");
	unsigned first = 0;
	uint64_t pid;
	int ret = 0;

	h->n_pids = h->next = 0;
	if (!dir)
		return -errno;
	while (!ret && proc_next_number(dir, &pid)) {
		ret = add_pid(h, (pid_t)pid);
		if (!ret && wanted_netns(h, proc_netns(h->root, (pid_t)pid))) {
			h->pids[h->n_pids - 1] = h->pids[first];
			h->pids[first++] = (pid_t)pid;
		}
	}
	closedir(dir);
	seek_all(h);
	h->passing = !ret;
	return ret;
}

static void found(struct holders *h, uint64_t inode, pid_t pid, int fd)
{
	struct sock *s = idmap_find(&h->socks, inode);

	if (!s || s->wanted == SETTLED || s->last == pid)
		return;
	s->last = pid;
	if (s->n_found < HELD_MAX)
		s->found[s->n_found] = (struct held){pid, fd};
	s->n_found++;
}

static int64_t look_at(struct holders *h, pid_t pid)
{
	DIR *dir = proc_dir(h->root, "proc/%d/fd", pid);
	int64_t links = 0;
	uint64_t fd;

	while (dir && proc_next_number(dir, &fd)) {
		char link[64];
		uint64_t inode;

		links++;
		if (proc_link(dirfd(dir), link, sizeof(link), "%d", (int)fd) < 0)
			continue;
		inode = proc_inode(link, "socket");
		if (inode)
			found(h, inode, pid, (int)fd);
	}
	if (dir)
		closedir(dir);
	return links;
}

static bool receives(const struct holders *h, const struct held *held)
{
	DIR *tasks = proc_dir(h->root, "proc/%d/task", held->pid);
	bool found = false;
	uint64_t tid;

	for (unsigned i = 0; !found && i < THREADS_ASKED && tasks; i++) {
		if (!proc_next_number(tasks, &tid))
			break;
		found = proc_receives(h->root, held->pid, (pid_t)tid, held->fd);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/* Fills `out`; a larger rank reads rather than a smaller. -ESRCH: gone. */
static int64_t rank(const struct holders *h, const struct held *held, struct holder *out)
{
	struct proc_stat st;

	if (proc_stat(h->root, held->pid, 0, &st))
		return -ESRCH;
	*out = (struct holder){.pid = held->pid, .start = st.start, .fd = held->fd};
	memcpy(out->name, st.name, sizeof(out->name));
	if (receives(h, held))
		return INT64_MAX;
	return held->pid == 1 ? 0 : 1 + (int64_t)st.start;
}

static void settle(struct holders *h, struct sock *s, uint64_t now_ns)
{
	int64_t best = -1;
	bool living = false;

	for (unsigned i = 0; i < s->n_found && i < HELD_MAX; i++) {
		struct holder one;
		int64_t r = rank(h, &s->found[i], &one);

		living |= r >= 0;
		if (r <= best)
			continue;
		best = r;
		s->holder = one;
		s->known = true;
	}
	if (living)
		s->holder.holders = s->n_found;
	s->retry = living ? RETRY_NS : s->retry * 2 < RETRY_MOST ? s->retry * 2 : RETRY_MOST;
	s->checked = now_ns;
	s->wanted = SETTLED;
	h->wanted--;
}

static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void settle_all(struct holders *h, uint64_t now_ns)
{
	h->passing = false;
	for (unsigned i = 0; i < h->socks.n; i++) {
		struct sock *s = h->socks.at[i].object;

		if (s->wanted == SOUGHT)
			settle(h, s, now_ns);
	}
}

static void on_file(void *arg, const struct files_holder *f)
{
	found(arg, f->inode, (pid_t)f->pid, (int)f->fd);
}

static int walk(struct holders *h, uint64_t now_ns)
{
	uint64_t *inodes = malloc(SOCKETS_MAX * sizeof(*inodes));
	unsigned n = 0;
	int ret;

	if (!inodes)
		return -ENOMEM;
	seek_all(h);
	for (unsigned i = 0; i < h->socks.n; i++) {
		const struct sock *s = h->socks.at[i].object;

		if (s->wanted == SOUGHT)
			inodes[n++] = s->inode;
	}
	ret = files_walk(h->files, inodes, n, on_file, h);
	free(inodes);
	if (!ret)
		settle_all(h, now_ns);
	return ret;
}

int64_t holders_pass(struct holders *h, uint64_t budget_ns, uint64_t now_ns)
{
	uint64_t end = cpu_ns() + budget_ns;
	int64_t links = 0;
	int ret;

	if (h->files) {
		ret = walk(h, now_ns);
		if (!ret)
			return 0;
		h->files = NULL; /* not permitted any more: as if it never had been */
	}
	if (!h->passing) {
		ret = begin(h);
		if (ret)
			return ret;
	}
	while (h->next < h->n_pids && cpu_ns() < end)
		links += look_at(h, h->pids[h->next++]);
	if (h->next < h->n_pids)
		return links;
	settle_all(h, now_ns);
	return links;
}
