// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host/lab.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "host/caps.h"

#define FRAME_MAX 65550 /* bytes: largest MTU plus an Ethernet header */
#define POLL_MS	  20	/* ms, short enough to notice changes quickly */

struct lab_taps {
	int fd[2]; /* fds of ports a and b */
	pthread_t thread;
	bool started;
	atomic_bool stop, busy;
	atomic_ullong slow_ns; /* see lab_taps_slow() */
	uint8_t frame[FRAME_MAX];
};

/* Forwards a waiting frame. If the other end does not accept the frame, the kernel drops it. */
static bool carry(struct lab_taps *t, unsigned from)
{
	ssize_t n, sent;
	uint64_t ns;

	atomic_store(&t->busy, true); /* set before the frame leaves the ring */
	n = read(t->fd[from], t->frame, sizeof(t->frame));
	if (n <= 0)
		return false;
	do {
		sent = write(t->fd[!from], t->frame, (size_t)n);
	} while (sent < 0 && errno == EINTR);
	ns = from ? 0 : atomic_load_explicit(&t->slow_ns, memory_order_relaxed);
	for (uint64_t end = clock_now() + ns; ns && clock_now() < end;)
		;
	return true;
}

static void *carrier(void *arg)
{
	struct lab_taps *t = arg;

	caps_drop_but(CAPS_NONE);
	while (!atomic_load(&t->stop)) {
		bool paused = atomic_load(&t->slow_ns) == LAB_TAPS_PAUSED, moved;
		struct pollfd wait[] = {{paused ? -1 : t->fd[0], POLLIN, 0}, {t->fd[1], POLLIN, 0}};

		moved = !paused && carry(t, 0);
		moved |= carry(t, 1);
		if (moved)
			continue;
		atomic_store(&t->busy, false);
		poll(wait, 2, POLL_MS);
	}
	return NULL;
}

/* The interface belongs to the namespace in which the file was opened, and outlives its reader. */
static int open_tap(const struct lab_port *port)
{
	struct ifreq ifr = {.ifr_flags = IFF_TAP | IFF_NO_PI};
	int saved = netns_push(port->ns), fd, off = 0, ret = 0;

	if (saved < 0)
		return saved;
	fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		ret = -errno;
	memcpy(ifr.ifr_name, port->ifname, sizeof(ifr.ifr_name));
	if (!ret && (ioctl(fd, TUNSETIFF, &ifr) || ioctl(fd, TUNSETPERSIST, 1) ||
		     ioctl(fd, TUNSETCARRIER, &off)))
		ret = -errno;
	ifr.ifr_hwaddr.sa_family = ARPHRD_ETHER;
	memcpy(ifr.ifr_hwaddr.sa_data, port->mac, sizeof(port->mac));
	if (!ret && ioctl(fd, SIOCSIFHWADDR, &ifr))
		ret = -errno;
	netns_pop(saved);
	if (ret)
		fd_close(&fd);
	return ret ? ret : fd;
}

int lab_taps_open(struct lab_taps **out, const struct lab_port *a, const struct lab_port *b,
		  struct error *err)
{
	struct lab_taps *t = mem_new(t);
	int ret;

	t->fd[0] = open_tap(a);
	t->fd[1] = t->fd[0] < 0 ? -1 : open_tap(b);
	ret = t->fd[0] < 0 ? t->fd[0] : t->fd[1] < 0 ? t->fd[1] : 0;
	if (!ret)
		ret = -pthread_create(&t->thread, NULL, carrier, t);
	t->started = !ret;
	if (ret) {
		lab_taps_close(t);
		return error_errno(err, STATUS_UNABLE, ret,
				   "the kernel needs CONFIG_TUN (modprobe tun), and this process "
				   "/dev/net/tun",
				   "cannot make the taps %s, %s", a->ifname, b->ifname);
	}
	*out = t;
	return 0;
}

int lab_taps_connect(struct lab_taps *t)
{
	int on = 1;

	return ioctl(t->fd[0], TUNSETCARRIER, &on) || ioctl(t->fd[1], TUNSETCARRIER, &on) ? -errno
											  : 0;
}

void lab_taps_slow(struct lab_taps *t, uint64_t ns)
{
	atomic_store(&t->slow_ns, ns);
}

bool lab_taps_idle(const struct lab_taps *t)
{
	struct pollfd ring[] = {{t->fd[0], POLLIN, 0}, {t->fd[1], POLLIN, 0}};

	return poll(ring, 2, 0) <= 0 && !atomic_load(&t->busy);
}

static void end_thread(struct lab_taps *t)
{
	atomic_store(&t->stop, true);
	if (t->started)
		pthread_join(t->thread, NULL);
	t->started = false;
	atomic_store(&t->busy, false);
}

void lab_taps_detach(struct lab_taps *t)
{
	end_thread(t);
	fd_close(&t->fd[0]);
}

void lab_taps_close(struct lab_taps *t)
{
	if (!t)
		return;
	end_thread(t);
	fd_close(&t->fd[0]);
	fd_close(&t->fd[1]);
	free(t);
}
