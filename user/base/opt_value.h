/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The types of options: text to field and back. Shared by the files opt*.c only. */
#ifndef PKTLEDGER_BASE_OPT_VALUE_H
#define PKTLEDGER_BASE_OPT_VALUE_H

#include "base/opt.h"

#define OPT_TEXT_MAX 256

/* "flag", "count", ...: as opt_describe() shows it. */
const char *opt_type_name(enum opt_type type);

bool opt_takes_value(const struct opt *opt);

/* The row's own, else the type's; "" for one without value. */
const char *opt_metavar(const struct opt *opt);

/*
 * Reads `text` into the field. again: given before on this command line, so lists append. `who` is
 * how messages call the option. On an error the field's content is not defined.
 */
int opt_value_parse(const struct opt *opt, const char *who, const char *text, void *field,
		    bool again, struct error *err);

/*
 * Whole numbers in the field's unit, for types that are such numbers: else -ENOTSUP. Range and row
 * are not looked at.
 */
int opt_value_number(const struct opt *opt, const char *text, uint64_t *v);
void opt_value_number_text(const struct opt *opt, uint64_t v, char *buf, size_t size);

/* The field as text that reads back as the same; "" where it is empty, zero or has no text. */
void opt_value_text(const struct opt *opt, const void *field, char *buf, size_t size);

/*
 * The default, as --help shows it; "": none is shown. base: the defaults of the group, or NULL.
 */
void opt_default_text(const struct opt *opt, const char *base, char *buf, size_t size);

/* Text of others for a message: cut where it is long, control characters as `?`. Returns buf. */
#define OPT_QUOTE_MAX 64
char *opt_quote(char buf[OPT_QUOTE_MAX], const char *text);

#endif
