/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `check` finds and changes, for machines and for people. Objects are to be given away or put;
 * `netns` as in check_plan().
 */
#ifndef PKTLEDGER_REPORT_CHECK_H
#define PKTLEDGER_REPORT_CHECK_H

#include "diagnosis/judge.h"
#include "report/print.h"

/* The end of the document; its start is json_solo_origin(). */
struct json_object *json_check_end(const struct facts *f, const struct check_findings *list,
				   const char *netns);

/*
 * That end for people: what loses packets, then what will, then what is worth knowing (a line
 * each), what has lost before, and what could not be read. verbosity: -1 only what loses or will;
 * 1 and more also shows how each interface is set up.
 */
void print_check(const struct print_view *v, const struct json_object *end);

/* A paragraph about a finding or a stage. */
void print_about(const struct print_view *v, const char *title, const char *about);

/* A change that may be made: values and commands; what it risks ("" for nothing). */
struct json_object *json_change(const struct change *c, const char *netns);
void print_change(const struct print_view *v, const struct json_object *change, const char *risk);

/* One that was made or undone, or was not: "title", .., "outcome", "current", "why". */
struct json_object *json_change_told(const struct change_told *told, const char *netns);
void print_change_told(const struct print_view *v, const struct change_told *told);

#endif
