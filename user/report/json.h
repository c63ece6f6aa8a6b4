/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * JSON output. One writer produces two forms of the same content:
 *
 *   JSON_DOC    {"schema":..,"start":{..},"intervals":[..],"end":{..}}, at json_out_finish()
 *   JSON_LINES  {"event":"start","schema":..,"data":{..}}, one per line, written at once
 *
 * The document combines the lines. Events that may repeat become a list named after the event in
 * the plural. The document is written in one go, so stdout gets either a complete document or,
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

/* Creates a writer. `schema` is a static string such as "pktledger/run/1". `out` is borrowed. */
struct json_out *json_out_new(FILE *out, enum json_mode mode, const char *schema);

/*
 * Write an event that occurs once ("start", "end") or repeatedly ("interval"). They take over
 * `data`, and only free it if `o` is NULL.
 */
void json_out_once(struct json_out *o, const char *event, struct json_object *data);
void json_out_each(struct json_out *o, const char *event, struct json_object *data);

/*
 * Returns {"event","schema","data"} as on a line, without the schema if it is NULL. Takes over
 * `data`.
 */
struct json_object *json_event(const char *event, const char *schema, struct json_object *data);

/*
 * Closes the document, even if it is incomplete, and frees `o`. Returns 0, or the -errno of the
 * first failed write.
 */
int json_out_finish(struct json_out *o);

/* Returns the data for an "error" event: "message", "hint", "status". */
struct json_object *json_error(const struct error *err);

/* Returns true if the member exists and is false. */
bool json_denies(const struct json_object *o, const char *key);

/* Returns the sum of a member over all objects in a list, capped at UINT64_MAX. */
uint64_t json_sum(const struct json_object *o, const char *list, const char *key);

/* Adds all members of `from`. Does nothing if `from` is not an object. */
void json_put_all(struct json_object *to, struct json_object *from);

/*
 * Replaces identifying data in documents: names of hosts, namespaces, processes, cgroups,
 * containers, pods and files, IP and Ethernet addresses, and command lines. Each name gets one
 * replacement ("host-1", "addr-3"), which is used wherever the name occurs: every string in a
 * document is searched, except for words that belong to pktledger or the kernel. Ports, interfaces,
 * stages, kernel functions, counts and times are kept.
 */
struct redact;

struct redact *redact_new(void);
void redact_free(struct redact *r);

/*
 * Collects the names in a document. Call it for all documents before redact_apply(), so that all
 * names are known. Does nothing if `r` is NULL.
 */
void redact_learn(struct redact *r, struct json_object *document);

/* Replaces the names in the document in place. */
void redact_apply(struct redact *r, struct json_object *document);

#endif
