// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "drops/ports.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"
#include "host/sockdiag.h"

#define PORTS_MAX 4096
#define FRESH_NS  1000000000ULL /* so long an answer is not looked up again */

struct port {
	struct ports_key key;
	struct ports_row row; /* inode 0: none */
	bool wanted;
	uint64_t checked; /* 0: never */
};

struct ports {
	struct idmap at; /* struct port, by a hash of its key */
};

struct ports *ports_new(void)
{
	return calloc(1, sizeof(struct ports));
}

void ports_free(struct ports *p)
{
	if (!p)
		return;
	idmap_free(&p->at, free);
	free(p);
}

static uint64_t hash(const struct ports_key *key)
{
	uint64_t sum = key->netns ^ (uint64_t)key->port << 32 ^ (uint64_t)key->family << 48;

	for (unsigned i = 0; i < sizeof(key->address); i++)
		sum = (sum ^ key->address[i]) * 0x100000001b3ULL;
	return sum ^ sum >> 29;
}

static bool same(const struct ports_key *a, const struct ports_key *b)
{
	return a->netns == b->netns && a->family == b->family && a->port == b->port &&
	       !memcmp(a->address, b->address, sizeof(a->address));
}

/* NULL: no memory, or another key has the same hash. */
static struct port *get(struct ports *p, const struct ports_key *key)
{
	uint64_t id = hash(key);
	struct port *port = idmap_find(&p->at, id);

	if (port)
		return same(&port->key, key) ? port : NULL;
	if (p->at.n >= PORTS_MAX)
		idmap_free(&p->at, free);
	port = calloc(1, sizeof(*port));
	if (!port || idmap_add(&p->at, id, port)) {
		free(port);
		return NULL;
	}
	port->key = *key;
	return port;
}

int ports_find(struct ports *p, const struct ports_key *key, uint64_t now_ns, struct ports_row *out)
{
	struct port *port = get(p, key);

	memset(out, 0, sizeof(*out));
	if (!port)
		return -ENOENT;
	if (!port->checked || now_ns - port->checked >= FRESH_NS)
		port->wanted = true;
	*out = port->row;
	return port->row.inode ? 0 : port->wanted ? -EAGAIN : -ENOENT;
}

uint32_t ports_wanted(const struct ports *p)
{
	for (unsigned i = 0; i < p->at.n; i++) {
		const struct port *port = p->at.at[i].object;

		if (port->wanted)
			return port->key.netns;
	}
	return 0;
}

struct choice {
	const struct ports_key *key;
	struct ports_row row;
	int score;
	unsigned equals; /* sockets of that score */
};

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i])
			return false;
	}
	return true;
}

/*
 * As compute_score() of net/ipv4/udp.c and net/ipv6/udp.c: an address is better than any, an IPv4
 * socket better for IPv4. A connected one takes its peer's packets only, and who sent them is not
 * known. 0: it takes none of these.
 */
static int score(const struct ports_key *key, const struct sockmem_row *row)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	size_t size = key->family == AF_INET ? 4 : 16;
	const uint8_t *address = row->address;
	int value = row->connected ? 1 : 4;

	if (key->family == AF_INET6 && row->family == AF_INET)
		return 0;
	if (key->family == AF_INET && row->family == AF_INET6) {
		if (!is_zero(address, 16) && memcmp(address, mapped, sizeof(mapped)))
			return 0;
		address += sizeof(mapped);
	} else {
		value++;
	}
	if (is_zero(address, size))
		return value;
	return memcmp(address, key->address, size) ? 0 : value + 2;
}

static void on_socket(void *arg, const struct sockmem_row *row)
{
	struct choice *c = arg;
	int value = row->inode ? score(c->key, row) : 0;

	if (!value || value < c->score)
		return;
	c->equals = value == c->score ? c->equals + 1 : 1;
	c->score = value;
	c->row = (struct ports_row){row->inode, row->rcvbuf};
}

static int look_up(struct sockmem *mem, struct port *port, uint64_t now_ns)
{
	struct choice c = {.key = &port->key};
	int ret = 0;

	if (port->key.family == AF_INET)
		ret = sockmem_udp(mem, AF_INET, port->key.port, on_socket, &c);
	if (!ret)
		ret = sockmem_udp(mem, AF_INET6, port->key.port, on_socket, &c);
	port->row = c.equals == 1 ? c.row : (struct ports_row){};
	port->wanted = false;
	port->checked = now_ns;
	return ret;
}

void ports_give_up(struct ports *p, uint32_t netns, uint64_t now_ns)
{
	for (unsigned i = 0; i < p->at.n; i++) {
		struct port *port = p->at.at[i].object;

		if (!port->wanted || port->key.netns != netns)
			continue;
		port->wanted = false;
		port->checked = now_ns;
	}
}

int ports_look_up(struct ports *p, uint32_t netns, const struct netns *ns, uint64_t now_ns)
{
	struct sockmem *mem = NULL;
	int ret = sockmem_open(&mem, ns);

	for (unsigned i = 0; !ret && i < p->at.n; i++) {
		struct port *port = p->at.at[i].object;

		if (port->wanted && port->key.netns == netns)
			ret = look_up(mem, port, now_ns);
	}
	ports_give_up(p, netns, now_ns);
	sockmem_close(mem);
	return ret;
}
