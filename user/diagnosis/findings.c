// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "diagnosis/findings.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/num.h"
#include "drops/stagemap.h"
#include "host/netns.h"

#define ROW(key, type, member, ...)                                                                \
	RECORD(key, type, finding_facts, member, .how = RECORD_OMITTED, ##__VA_ARGS__),
#define ROW_U(member)		 ROW(#member, UINT, member)
#define ROW_K(member, key)	 ROW(key, UINT, member)
#define ROW_D(member)		 ROW(#member, DOUBLE, member)
#define ROW_S(member)		 ROW(#member, POINTER, member)
#define ROW_B(member)		 ROW(#member, BOOL, member)
#define ROW_I(member, key, flag) ROW(key, UINT, member, RECORD_WHEN(finding_facts, flag))
#define ROW_L(member, n)                                                                           \
	RECORD_LIST(#member, UINT, finding_facts, member, .how = RECORD_OMITTED),

const struct record_field finding_fact_rows[] = {
	FINDING_FACT_LIST(ROW_U, ROW_K, ROW_D, ROW_S, ROW_B, ROW_I, ROW_L, ROW){0}};

/* Filling in texts */

bool finding_fill(char *out, size_t size, const char *template, const struct json_object *facts)
{
	return json_fill(out, size, template, facts, ' ', true);
}

void finding_outline(char *out, size_t size, const char *template)
{
	size_t n = 0;

	for (const char *p = template; p && *p && n + 1 < size; p++) {
		if (*p == '[') {
			p += strcspn(p, "]");
		} else if (*p == '{') {
			for (p++; *p != '}' && n + 1 < size; p++) {
				if (*p == '#')
					p += strcspn(p, "}") - 1;
				else
					out[n++] = (char)toupper((unsigned char)*p);
			}
		} else {
			out[n++] = *p;
		}
	}
	out[n] = '\0';
}

/* Deriving facts */

/* Losses worth this many full buffers are not a burst: the reader is too slow. */
#define BURSTS 8
#define STEADY 0.1 /* fraction of arrivals that a burst may lose */

#define KERNEL_BACKLOG 1000 /* net_hotdata.max_backlog */

/*
 * Returns true if the losses were bursts. They are not if the loss rate is constant, or if packets
 * were observed only for a while and may continue. Returns false if both the arrivals and the
 * number of loss bursts are unknown.
 */
static bool is_burst(const struct finding_facts *f)
{
	double came = f->arrival_pps * (double)f->window_ns * 1e-9;

	if (f->loss_bursts)
		return true;
	if (!f->truesize || f->lost > BURSTS * (f->rcvbuf / f->truesize))
		return false;
	if (f->read_pps > 0 && f->read_pps < (1 - STEADY) * f->arrival_pps)
		return false;
	return (double)f->lost <= STEADY * came;
}

/*
 * Returns the buffer size that would have held the largest burst seen plus a quarter, or all lost
 * packets if they were one burst, as in getsockopt. 0 if unknown or unreasonable. The socket
 * accepts packets until their truesize exceeds the buffer (__udp_enqueue_schedule_skb()).
 */
static uint64_t rcvbuf_fix(const struct finding_facts *f)
{
	const uint64_t burst = f->reading.burst + f->reading.burst / 4,
		       lost = burst || !is_burst(f) ? burst : f->lost;
	const double bytes = (double)f->rcvbuf + (double)lost * (double)f->truesize;

	return f->truesize && f->rcvbuf && lost && bytes <= MEM_SANE ? (uint64_t)bytes : 0;
}

static unsigned percent(double fraction)
{
	return (unsigned)(100 * fmin(fraction, 1) + 0.5);
}

static void derive_reader(struct finding_facts *f)
{
	const struct reading *r = &f->reading;

	f->d.reader = r->window_ns;
	f->d.running = percent(reading_fraction(r, r->run_ns));
	f->d.waiting = percent(reading_fraction(r, r->wait_ns));
	f->d.sleeping = percent(reading_fraction(r, reading_sleep_ns(r)));
	f->d.queue = reading_full(r) >= 0;
	f->d.full = f->d.queue ? percent(reading_full(r)) : 0;
	if (reading_had_room(r) && reading_waits(r))
		snprintf(f->d.sleeps, sizeof(f->d.sleeps), "waiting for data");
	else if (*r->sleeps_in)
		snprintf(f->d.sleeps, sizeof(f->d.sleeps), "in %s", r->sleeps_in);
}

static void derive_buffer(struct finding_facts *f)
{
	const uint64_t fix = rcvbuf_fix(f), request = (fix + 1) / 2;

	f->d.rcvbuf_fix = fix;
	f->d.bursts = fix && is_burst(f);
	/* setsockopt(SO_RCVBUF) takes half the size that it then reserves (sk_setsockopt()) */
	f->d.rcvbuf_request = request;
	f->d.enough = f->rcvbuf < f->rmem_default && f->rmem_default >= fix ? f->rmem_default : 0;
	f->d.rmem_max_fix = f->rmem_max && f->rmem_max < request ? request : 0;
	f->d.mem_fix = larger(KERNEL_MEM, 4 * (f->rcvbuf == 2 * f->rmem_max ? f->rmem_max
								  : f->rmem_default));
	f->d.wmem_fix = f->wmem_now ? larger(KERNEL_MEM, 4 * f->wmem_now) : 0;
	f->d.burst = f->truesize ? f->rcvbuf / f->truesize : 0;
	if (f->d.burst && f->arrival_pps > 0)
		f->d.burst_ns = (uint64_t)(1e9 * (double)f->d.burst / f->arrival_pps);
	f->d.per_packet_ns = f->read_pps > 0 ? (uint64_t)(1e9 / f->read_pps) : 0;
}

/* Names what is wrong with the signature (MD5 or AO) of TCP segments, by the drop reason. */
static const char *signature(const char *reason)
{
	if (!reason || (strncmp(reason, "TCP_MD5", 7) && strncmp(reason, "TCP_AO", 6)))
		return NULL;
	return strstr(reason, "KEYNOTFOUND")  ? "made with a key that this host does not have"
	       : strstr(reason, "NOTFOUND")   ? "missing"
	       : strstr(reason, "UNEXPECTED") ? "not expected from this peer"
					      : "wrong";
}

static void derive(struct finding_facts *f)
{
	memset(&f->d, 0, sizeof(f->d));
	if (f->sent && f->lost)
		snprintf(f->d.lost_percent, sizeof(f->d.lost_percent), "%.3g",
			 100.0 * (double)f->lost / (double)f->sent);
	if (!f->loss_pps && f->window_ns)
		f->loss_pps = (double)f->lost * 1e9 / (double)f->window_ns;
	if (f->total <= f->lost)
		f->total = 0;
	if (!f->total)
		f->since = NULL;
	if (!f->ifname && *f->silent.ifname)
		f->ifname = f->silent.ifname;
	derive_reader(f);
	derive_buffer(f);
	if (f->tcp_rmem[2])
		snprintf(f->d.tcp_rmem_fix, sizeof(f->d.tcp_rmem_fix), "%" PRIu64 " %" PRIu64 " %" PRIu64,
			 f->tcp_rmem[0], f->tcp_rmem[1], 2 * f->tcp_rmem[2]);
	if (f->qdisc) {
		const size_t n = strcspn(f->qdisc, " ");

		snprintf(f->d.qdisc, sizeof(f->d.qdisc), "%.*s", (int)n, f->qdisc);
		snprintf(f->d.qdisc_limit, sizeof(f->d.qdisc_limit), "%s",
			 f->qdisc + n + strspn(f->qdisc + n, " "));
	}
	f->d.udp_mem_bytes = f->udp_mem[0] * f->page_bytes;
	/* the kernel's default, or twice the host's value, 0 if unknown */
	f->d.backlog_fix = f->netdev_max_backlog && f->netdev_max_backlog < KERNEL_BACKLOG
				   ? KERNEL_BACKLOG
				   : f->netdev_max_backlog * 2;
	f->d.used_percent = f->limit ? percent((double)f->used / (double)f->limit) : 0;
	f->d.listener = f->socket;
	f->d.signature = signature(f->reason);
}

bool finding_is_silence(const char *reason, const char *location)
{
	return !strcmp(reason, "NEIGH_FAILED") || !strcmp(location, "neigh_invalidate");
}

static bool is_listed(const char *list, const char *name)
{
	return !list || (name && stagemap_listed(list, name));
}

static bool is_known(const struct finding_row *row, const struct finding_facts *f)
{
	for (size_t i = 0; i < row->has_size; i++) {
		if (((const char *)f)[row->has + i])
			return true;
	}
	return !row->has_size;
}

/* Removes facts about the host that say nothing about losses at other stages. */
static void keep_own(enum stage stage, struct finding_facts *f)
{
	const bool socket = stage < STAGE_COUNT && stage_facts[stage].reader == READER_RECEIVES;

	if (!socket) {
		f->rcvbuf = f->rmem_max = f->rmem_default = f->truesize = 0;
		f->read_pps = 0;
		f->loss_bursts = 0;
		f->queue_seen = false;
		f->queued_before = 0;
	}
	if (!socket && stage != STAGE_NIC_RING)
		f->arrival_pps = 0;
	if (stage != STAGE_UDP_MEM) {
		memset(f->udp_mem, 0, sizeof(f->udp_mem));
		f->udp_pages_known = f->exceeded_known = false;
	}
	if (stage != STAGE_BACKLOG)
		f->netdev_max_backlog = 0;
	if (stage != STAGE_IP_FORWARD)
		f->ttl = 0;
}

/* Completes the facts and returns the block that applies, or NULL if there is no advice to give. */
static const struct finding_row *find(enum stage stage, struct finding_facts *f)
{
	keep_own(stage, f);
	derive(f);
	for (unsigned i = 0; i < finding_rows_n; i++) {
		const struct finding_row *row = &finding_rows[i];

		if (row->stage == stage && is_known(row, f) && (!row->when || row->when(f)) &&
		    (!row->nic || row->nic == f->nic) &&
		    is_listed(row->reason, f->reason) && is_listed(row->location, f->location))
			return row;
	}
	return NULL;
}

/* Writing */

/*
 * Writes when the fix takes effect. A setting that is read when a socket is opened takes effect
 * once its program is restarted.
 */
static void write_applies(const struct change *change, const struct finding_facts *f,
			  struct finding *out)
{
	const char *later = change_effect(change), *process = f->process;

	if (*later)
		snprintf(out->applies, sizeof(out->applies), "%s%s%sto %s",
			 process ? "after a restart of " : "", process ? process : "",
			 process ? ", " : "", later);
	else
		snprintf(out->applies, sizeof(out->applies), "at once");
}

static void put_facts(struct finding *out, struct json_object *facts)
{
	const char *text = json_object_to_json_string_ext(facts, JSON_C_TO_STRING_PLAIN);

	if (strlen(text) < sizeof(out->facts))
		strcpy(out->facts, text);
	json_object_put(facts);
}

void finding_add_fact(struct finding *f, const char *key, const char *text)
{
	struct json_object *facts = json_parse(f->facts, strlen(f->facts), 3);

	json_put_text(facts, key, text);
	put_facts(f, facts);
}

void finding_write(const struct finding_row *row, const struct finding_facts *f,
		   struct finding *out, struct change *change)
{
	struct json_object *facts = record_write(finding_fact_rows, f);
	char text[2 * FINDING_TEXT];

	memset(out, 0, sizeof(*out));
	memset(change, 0, sizeof(*change));
	out->id = row->id;
	out->stage = row->stage;
	out->severity = row->severity;
	out->lost = f->lost;
	change->kind = row->change.kind;
	finding_fill(out->cause, sizeof(out->cause), row->cause, facts);
	finding_fill(out->fix, sizeof(out->fix), row->fix, facts);
	if (finding_fill(out->command, sizeof(out->command), row->command, facts))
		finding_fill(out->undo, sizeof(out->undo), row->undo, facts);
	finding_fill(change->ifname, sizeof(change->ifname), row->change.ifname, facts);
	finding_fill(change->wanted, sizeof(change->wanted), row->change.wanted, facts);
	finding_fill(change->old, sizeof(change->old), row->change.old, facts);
	/* Drop a change with unknown parts. */
	if (change->wanted[0] && (!row->change.ifname || change->ifname[0]))
		finding_fill(change->name, sizeof(change->name), row->change.name, facts);
	if (change->name[0]) {
		change_command(change, false, out->command, sizeof(out->command));
		if (change->old[0])
			change_command(change, true, out->undo, sizeof(out->undo));
		write_applies(change, f, out);
	}
	/* A risk makes sense only with an action. */
	if (out->command[0] || out->fix[0])
		finding_fill(out->risk, sizeof(out->risk), row->risk, facts);
	if (finding_fill(text, sizeof(text), row->seen, facts))
		json_put_text(facts, "seen", text);
	if (finding_fill(text, sizeof(text), row->setting, facts))
		json_put_text(facts, "setting", text);
	/* new values belong to the fix, and to its command, if they are recommended */
	for (const struct record_field *r = finding_fact_rows; r->key; r++) {
		if (strstr(r->key, "_fix") || strstr(r->key, "_request"))
			json_object_object_del(facts, r->key);
	}
	put_facts(out, facts);
}

int findings_for_stage(enum stage stage, const struct finding_facts *facts, struct finding *out,
		       struct change *change)
{
	struct finding_facts f = *facts;
	const struct finding_row *row = find(stage, &f);
	struct change unused;

	if (row)
		finding_write(row, &f, out, change ? change : &unused);
	return row ? 0 : -ENOENT;
}

static int by_loss(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->lost != y->lost)
		return x->lost < y->lost ? 1 : -1;
	if (x->severity != y->severity)
		return (int)y->severity - (int)x->severity;
	return (int)x->stage - (int)y->stage;
}

void findings_sort(struct finding *list, unsigned n)
{
	double all = 0;

	for (unsigned i = 0; i < n; i++)
		all += (double)list[i].lost;
	for (unsigned i = 0; i < n; i++) {
		if (list[i].lost && (double)list[i].lost < FINDING_SMALL * all &&
		    list[i].severity == SEVERITY_ERROR)
			list[i].severity = SEVERITY_WARNING;
	}
	qsort(list, n, sizeof(*list), by_loss);
}

void findings_read_host(const struct netns *ns, struct finding_facts *f)
{
	netns_sysctl_numbers(ns, "net/core/rmem_max", &f->rmem_max, 1);
	netns_sysctl_numbers(ns, "net/core/rmem_default", &f->rmem_default, 1);
	netns_sysctl_numbers(NULL, "net/ipv4/udp_mem", f->udp_mem, 3);
	netns_sysctl_numbers(NULL, "net/core/netdev_max_backlog", &f->netdev_max_backlog, 1);
	f->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * Returns true if a change belongs to the namespace. Host settings are written from outside
 * namespaces: namespaces other than the first show some of them read-only and hide the rest.
 */
bool change_belongs(const struct change *change, const struct netns *ns)
{
	char path[CHANGE_NAME_SIZE + 16];
	struct stat st = {};
	int saved;

	if (!change_ops[change->kind].of_namespace)
		return !ns;
	if (change->kind != CHANGE_SYSCTL)
		return true;
	saved = netns_push(ns);
	if (saved < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/sys/%s", change->name);
	stat(path, &st);
	netns_pop(saved);
	return st.st_mode & 0222;
}

static void put_before(char command[FINDING_COMMAND], const char *enter)
{
	char whole[FINDING_COMMAND], quoted[2 * FINDING_COMMAND];
	const bool writes = strchr(command, '>');

	/* cgroup programs do not belong to a namespace */
	if (!*command || !strncmp(command, "bpftool cgroup", 14))
		return;
	/* the file must be opened for writing inside the namespace, not by the calling shell */
	if (snprintf(whole, sizeof(whole), "%s %s%s", enter, writes ? "sh -c " : "",
		     writes ? change_quote(command, quoted, sizeof(quoted)) : command) >=
	    (int)sizeof(whole))
		*whole = '\0'; /* no command is better than a truncated one */
	memcpy(command, whole, sizeof(whole));
}

void finding_forget(struct finding *f)
{
	f->command[0] = f->undo[0] = f->applies[0] = f->risk[0] = '\0';
}

void finding_enter(struct finding *f, const struct change *change, const struct netns *ns,
		   const char *enter)
{
	if (change->name[0] && !change_belongs(change, ns))
		return;
	put_before(f->command, enter);
	put_before(f->undo, enter);
}

void finding_enter_netns(struct finding *f, const struct change *change, struct owners *owners,
			 uint32_t inum)
{
	char enter[OWNER_ENTER];
	struct netns ns;

	if (!inum || !owners || owners_netns_is_own(owners, inum))
		return;
	owners_netns(owners, inum, f->netns);
	owners_netns_enter(owners, inum, enter);
	if (owners_netns_open(owners, inum, &ns, &(struct error){}))
		return finding_forget(f);
	/* a change that belongs to no namespace affects the whole host */
	if (*enter || (change->name[0] && !change_belongs(change, &ns)))
		finding_enter(f, change, &ns, enter);
	else
		finding_forget(f);
	netns_close(&ns);
}

/* Compares names, treating `-` and `_` as equal, because a stage's findings are named after it. */
static bool same_id(const char *a, const char *b)
{
	while (*a && (*a == *b || (strchr("-_", *a) && *b && strchr("-_", *b)))) {
		a++;
		b++;
	}
	return !*a && !*b;
}

const struct finding_row *finding_row(const char *id)
{
	for (unsigned i = 0; i < finding_rows_n; i++) {
		if (same_id(finding_rows[i].id, id))
			return &finding_rows[i];
	}
	return NULL;
}
