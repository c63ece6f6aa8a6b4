/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Output for machines. One writer for two forms of the same content:
 *
 *   JSON_DOC    {"schema":..,"start":{..},"intervals":[..],"end":{..}}, at json_out_finish()
 *   JSON_LINES  {"event":"start","schema":..,"data":{..}}, one a line, at once
 *
 * The document is the lines put together: what may come more than once is a list there, under the
 * plural of the event's name. It is written in one piece, so stdout carries a whole document or,
 * after SIGKILL, nothing.
 */
#ifndef PKTLEDGER_REPORT_JSON_H
#define PKTLEDGER_REPORT_JSON_H

#include <json-c/json.h>
#include <stdio.h>

#include "base/err.h"
#include "base/json.h"

enum json_mode { JSON_DOC, JSON_LINES };

struct json_out;

/* `schema` as in "pktledger/run/1", static. `out` is borrowed. */
struct json_out *json_out_new(FILE *out, enum json_mode mode, const char *schema);

/*
 * An event that comes once ("start", "end"), or any number of times ("interval"). Takes `data`;
 * `o` NULL: that is all.
 */
void json_out_once(struct json_out *o, const char *event, struct json_object *data);
void json_out_each(struct json_out *o, const char *event, struct json_object *data);

/* {"event","schema","data"}, as a line has it; without a schema if it is NULL. Takes `data`. */
struct json_object *json_event(const char *event, const char *schema, struct json_object *data);

/* Closes the document, whatever it has. Frees `o`. 0, or -errno of the first write that failed. */
int json_out_finish(struct json_out *o);

/* What ended it, the event "error": "message", "hint", "status". */
struct json_object *json_error(const struct error *err);

/* Whether a member is there, and false. */
bool json_denies(const struct json_object *o, const char *key);

/* Sum of a member of all objects of a list; UINT64_MAX if it is more. */
uint64_t json_sum(const struct json_object *o, const char *list, const char *key);

/* Adds all members of `from`, which may be no object: then none. */
void json_put_all(struct json_object *to, struct json_object *from);

/*
 * Takes out of documents what shows whose host it is: names of hosts, namespaces, processes,
 * cgroups, containers, pods and files, addresses of IP and of Ethernet, command lines. Each becomes
 * a name of its own ("host-1", "addr-3"), the same wherever it comes again: every string of a
 * document is searched for them, but for the words of pktledger and of the kernel. Ports,
 * interfaces, stages, functions of the kernel, counts and times stay.
 */
struct redact;

struct redact *redact_new(void);
void redact_free(struct redact *r);

/* To be called for all documents before redact_apply() is, so that each name is known. `r` NULL:
 * nothing is done. */
void redact_learn(struct redact *r, struct json_object *document);

/* Changes it in place. */
void redact_apply(struct redact *r, struct json_object *document);

#endif
