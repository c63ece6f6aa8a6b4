// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "report/json.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <json-c/printbuf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

/* Members that are secret as a whole, and the prefix for their replacement. */
static const struct {
	const char *key, *kind;
} secrets[] = {
	{"host", "host"},     {"netns", "netns"},	  {"process", "process"},
	{"cgroup", "cgroup"}, {"container", "container"}, {"pod", "pod"},
	{"file", "file"},     {"expression", "filter"},	  {"thread", "thread"},
	{"comment", "comment"},
};

/*
 * Members that contain words of pktledger or the kernel, which are kept even if a secret has the
 * same text.
 */
static const char *const ours[] = {
	"schema", "event",    "time",	  "stage",   "class",	  "scope",	"severity",
	"reason", "location", "hook",	  "id",	     "kind",	  "tx",		"rx",
	"unit",	  "phase",    "topology", "outcome", "direction", "limited_by",
};

#define SHORT	     3 /* shorter words are too common to search for in sentences */
#define NAME_MAX_LEN 32
#define ADDRESS_MAX  64 /* longer than any address */

static void append(struct printbuf *to, const char *from, size_t len)
{
	printbuf_memappend(to, from, (int)len);
}

static void set(struct printbuf *to, const char *from, size_t len)
{
	printbuf_reset(to);
	append(to, from, len);
}

struct redact {
	struct json_object *names, *addresses; /* map secrets to replacements */
	unsigned n[LENGTH(secrets)], n_addresses;
	size_t longest;			     /* length of the longest name */
	struct printbuf *out, *other, *word; /* out: string being modified */
};

struct redact *redact_new(void)
{
	struct redact *r = mem_new(r);

	*r = (struct redact){json_object_new_object(), json_object_new_object(),
			     .out = printbuf_new(), .other = printbuf_new(),
			     .word = printbuf_new()};
	return r;
}

void redact_free(struct redact *r)
{
	if (!r)
		return;
	json_object_put(r->names);
	json_object_put(r->addresses);
	printbuf_free(r->out);
	printbuf_free(r->other);
	printbuf_free(r->word);
	free(r);
}

/* Returns a secret's replacement, created on first use. */
static const char *name_of(struct json_object *names, const char *secret, const char *kind,
			   unsigned *count)
{
	struct json_object *known;
	char name[NAME_MAX_LEN];

	if (!json_object_object_get_ex(names, secret, &known)) {
		snprintf(name, sizeof(name), "%s-%u", kind, ++*count);
		known = json_object_new_string(name);
		json_object_object_add(names, secret, known);
	}
	return json_object_get_string(known);
}

static int secret_index(const char *key)
{
	for (unsigned i = 0; key && i < LENGTH(secrets); i++) {
		if (!strcmp(secrets[i].key, key))
			return (int)i;
	}
	return -1;
}

/* Returns the length of the "python3" part of "python3[123]". */
static size_t name_length(const char *text, const char *kind)
{
	const char *pid = strcmp(kind, "process") ? NULL : strrchr(text, '[');

	return pid ? (size_t)(pid - text) : strlen(text);
}

static void learn_text(struct redact *r, const char *key, struct json_object *o)
{
	/* roles assigned by pktledger itself, and namespace numbers */
	static const char *const roles[] = {"", "tx", "rx", "router", "bridge", "others"};
	const char *text = json_object_get_string(o);
	int secret = secret_index(key);

	if (secret < 0)
		return;
	set(r->out, text, name_length(text, secrets[secret].kind));
	text = r->out->buf;
	if (is_one_of(text, roles, LENGTH(roles)) || !text[strspn(text, "0123456789")])
		return;
	r->longest = larger(r->longest, strlen(text));
	name_of(r->names, text, secrets[secret].kind, &r->n[secret]);
}

/* Returns true if the address identifies a host. */
static bool is_address(const char *text)
{
	struct in6_addr v6;
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1)
		return v4.s_addr && v4.s_addr != htonl(INADDR_LOOPBACK);
	if (inet_pton(AF_INET6, text, &v6) == 1)
		return !IN6_IS_ADDR_UNSPECIFIED(&v6) && !IN6_IS_ADDR_LOOPBACK(&v6);
	for (int i = 0; i < 17; i++) { /* Ethernet address */
		if (i % 3 == 2 ? text[i] != ':' : !isxdigit((unsigned char)text[i]))
			return false;
	}
	return !text[17];
}

/*
 * Finds an address in a word made up of address characters, possibly with a port, in brackets, or
 * at the end of a sentence. Copies it to `word`. Returns its length, or 0 if there is none.
 */
static size_t address_in(const char *text, size_t len, char word[ADDRESS_MAX])
{
	size_t n = len;

	if (len >= ADDRESS_MAX || isalnum((unsigned char)text[len]))
		return 0;
	memcpy(word, text, len);
	word[len] = '\0';
	while (n && (word[n - 1] == '.' || word[n - 1] == ':') && !is_address(word))
		word[--n] = '\0';
	if (strchr(word, '.') && strchr(word, ':') && !is_address(word)) {
		n = strcspn(word, ":");
		word[n] = '\0';
	}
	return is_address(word) ? n : 0;
}

static void hide_addresses(struct redact *r, const char *text, struct printbuf *to)
{
	static const char letters[] = "0123456789abcdefABCDEF:.";

	set(to, "", 0);
	while (*text) {
		size_t len = strspn(text, letters);
		char word[ADDRESS_MAX];
		size_t used = len ? address_in(text, len, word) : 0;
		const char *name =
			used ? name_of(r->addresses, word, "addr", &r->n_addresses) : text;

		if (!len) /* skip the whole word if it has other characters */
			for (len = 1; isalnum((unsigned char)text[len - 1]) && text[len];)
				len++;
		append(to, name, used ? strlen(name) : len);
		text += used ? used : len;
	}
}

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-';
}

/*
 * Finds the longest secret that starts here as a separate word, and copies it to r->word. Returns
 * its length, or 0 if there is none. Names are looked up a word at a time, so the time does not
 * depend on how many names there are.
 */
static size_t secret_in(struct redact *r, const char *text)
{
	size_t found = 0;

	set(r->word, "", 0);
	for (size_t len = 0; text[len] && len < r->longest;) {
		append(r->word, text + len, 1);
		if (++len >= SHORT && !is_word_char(text[len]) &&
		    json_object_object_get_ex(r->names, r->word->buf, NULL))
			found = len;
	}
	set(r->word, text, found);
	return found;
}

/* Replaces the names in r->out. */
static void hide_words(struct redact *r)
{
	struct printbuf *was = r->out;
	const char *text = was->buf;
	struct json_object *name;

	set(r->other, "", 0);
	for (size_t len; *text; text += len) {
		bool begins = text == was->buf || !is_word_char(text[-1]);

		len = begins ? secret_in(r, text) : 0;
		if (len) {
			json_object_object_get_ex(r->names, r->word->buf, &name);
			append(r->other, json_object_get_string(name),
			       (size_t)json_object_get_string_len(name));
		} else {
			for (len = 1; is_word_char(text[len - 1]) && is_word_char(text[len]);)
				len++;
			append(r->other, text, len);
		}
	}
	r->out = r->other;
	r->other = was;
}

static void apply_text(struct redact *r, const char *key, struct json_object *o)
{
	const char *text = json_object_get_string(o);
	int secret = secret_index(key);
	struct json_object *name;

	if (key && is_one_of(key, ours, LENGTH(ours)))
		return;
	if (secret >= 0) { /* the whole value is a secret */
		size_t len = name_length(text, secrets[secret].kind);

		set(r->out, text, len);
		if (json_object_object_get_ex(r->names, r->out->buf, &name))
			set(r->out, json_object_get_string(name),
			    strlen(json_object_get_string(name)));
		append(r->out, text + len, strlen(text + len));
	} else {
		hide_addresses(r, text, r->out);
		hide_words(r);
	}
	json_object_set_string(o, r->out->buf);
}

/* Learns the strings in `o`, or replaces them. */
static void walk(struct redact *r, const char *key, struct json_object *o, bool change)
{
	if (json_object_is_type(o, json_type_object)) {
		json_object_object_foreach (o, name, member)
			walk(r, name, member, change);
	} else if (json_object_is_type(o, json_type_array)) {
		if (change && key && !strcmp(key, "command")) {
			size_t n = json_object_array_length(o);

			/* Keep the program and command names. */
			if (n)
				json_object_array_put_idx(o, 0,
							  json_object_new_string("pktledger"));
			if (n > 2) {
				json_object_array_del_idx(o, 2, n - 2);
				json_object_array_add(o, json_object_new_string("..."));
			}
		}
		for (size_t i = 0; i < json_object_array_length(o); i++)
			walk(r, key, json_object_array_get_idx(o, i), change);
	} else if (json_object_is_type(o, json_type_string)) {
		(change ? apply_text : learn_text)(r, key, o);
	}
}

void redact_learn(struct redact *r, struct json_object *document)
{
	if (r)
		walk(r, NULL, document, false);
}

void redact_apply(struct redact *r, struct json_object *document)
{
	if (r)
		walk(r, NULL, document, true);
}
