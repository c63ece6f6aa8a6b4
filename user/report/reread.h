/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From the JSON of a run back to the model, so that it prints as it did then. The opposite of
 * report/json.h, for what its printer shows.
 */
#ifndef PKTLEDGER_REPORT_REREAD_H
#define PKTLEDGER_REPORT_REREAD_H

#include "base/json.h"
#include "ledger/result.h"
#include "experiment/search/search.h"
#include "report/header.h"

/* Texts that the model only points to are borrowed from the JSON. */
void reread_header(const struct json_object *start, struct run_header *head);
void reread_result(const struct json_object *end, struct result *res);
void reread_finding(const struct json_object *from, struct finding *f);

/* Of a trial that failed. */
void reread_error(const struct json_object *from, struct error *err);

/* Of a search. */
void reread_found_trial(const struct json_object *trial, struct found_trial *t);
void reread_found(const struct json_object *end, struct found *f);

#endif
