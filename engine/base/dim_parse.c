/* SPDX-License-Identifier: MIT */
/* expression := product (('+' | '-') product)*
 * product    := unary (('*' unary) | ('/' constant))*
 * unary      := '-' unary | integer | name | '"' any '"'
 *             | call '(' expression, expression... ')' | '(' expression ')'
 * Calls are min, max, broadcast, ge and eq. */
#include "engine/base/dim_claims.h"
#include "engine/base/dim_even.h"
#include "engine/base/dim_internal.h"
#include "engine/base/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARSE_DEPTH_MAX 64
#define NAME_MAX_BYTES 256

struct parser {
    struct dims *ds;
    const char *text, *at;
    unsigned depth;
    bool is_claim; /* of somebody, who is told so in his own words */
    rill_status status;
    rill_error *err;
};

static const struct dim *parse_sum(struct parser *p);
static const struct dim *parse_unary(struct parser *p);

static const struct dim *parse_fail(struct parser *p, rill_status s, const char *what)
{
    if (p->status == RILL_OK)
        p->status = err_set(p->err, s, "dimension '%.120s', column %d: %s", p->text,
                            (int) (p->at - p->text) + 1, what);
    return p->ds->poison;
}

static char peek(struct parser *p)
{
    p->at += strspn(p->at, " \t");
    return *p->at;
}

static bool accept(struct parser *p, const char *token)
{
    peek(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n))
        return false;
    p->at += n;
    return true;
}

static const struct dim *parse_int(struct parser *p, bool negative)
{
    int64_t v = 0;
    for (; is_digit(*p->at); p->at++) {
        int64_t digit = *p->at - '0';
        if (__builtin_mul_overflow(v, 10, &v) ||
            __builtin_add_overflow(v, negative ? -digit : digit, &v))
            return parse_fail(p, RILL_LIMIT, "a number over 2^63");
    }
    return dim_int(p->ds, v);
}

static int hex_digit(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const struct dim *parse_quoted(struct parser *p)
{
    char name[NAME_MAX_BYTES];
    size_t n = 0;
    for (p->at++; *p->at && *p->at != '"' && n + 1 < sizeof name; p->at++) {
        name[n] = *p->at;
        if (*p->at == '\\') {
            if (p->at[1] != 'x' || hex_digit(p->at[2]) < 0 || hex_digit(p->at[3]) < 0)
                return parse_fail(p, RILL_INVALID,
                                  "only \\x and two digits may follow a backslash");
            name[n] = (char) (hex_digit(p->at[2]) * 16 + hex_digit(p->at[3]));
            p->at += 3;
        }
        n += name[n] != '\0';
    }
    if (*p->at != '"' || !n)
        return parse_fail(p, RILL_INVALID,
                          "a quoted name must be closed, not empty, and under 256 bytes");
    p->at++;
    name[n] = '\0';
    return dim_symbol(p->ds, name);
}

/* Bytes of the letter at s; 0: none. */
static size_t letter_length(const char *s)
{
    const size_t n = is_letter(*s) ? 1 : utf8_length(s, 4);
    return n > 1 || is_letter(*s) ? n : 0;
}

static size_t name_length(const char *s)
{
    size_t n = 1, more = letter_length(s);
    if (s[0] == '?')
        return n + strspn(s + 1, "0123456789");
    for (n = more; more; n += more)
        more = is_digit(s[n]) || s[n] == '.' || (s[n] == '/' && letter_length(s + n + 1))
            ? 1
            : letter_length(s + n);
    return n;
}

bool dim_is_name(const char *text)
{
    return letter_length(text) > 0 && text[name_length(text)] == '\0';
}

static const struct {
    const char *name;
    enum dim_kind kind;
} calls[] = {
    { "min", DIM_MIN }, { "max", DIM_MAX }, { "broadcast", DIM_BROADCAST },
    { "ge", DIM_GE },   { "eq", DIM_EQ },
};

static const struct dim *call_make(struct parser *p, enum dim_kind kind,
                                   const struct dim *const *arg, unsigned n)
{
    if (kind != DIM_GE && kind != DIM_EQ)
        return dim_lattice(p->ds, kind, arg, n);
    if (n != 2)
        return parse_fail(p, RILL_INVALID, "a comparison takes two operands");
    return kind == DIM_GE ? dim_ge(p->ds, arg[0], arg[1]) : dim_eq(p->ds, arg[0], arg[1]);
}

static const struct dim *parse_call(struct parser *p, enum dim_kind kind)
{
    const struct dim *arg[DIM_TERMS_MAX];
    unsigned n = 0;
    do {
        if (n == DIM_TERMS_MAX)
            return parse_fail(p, RILL_LIMIT, "more than 64 operands");
        arg[n] = parse_sum(p);
        if (dim_is_bad(arg[n++]))
            return p->ds->poison;
    } while (accept(p, ","));
    if (!accept(p, ")"))
        return parse_fail(p, RILL_INVALID, "expected ',' or ')'");
    return call_make(p, kind, arg, n);
}

static const struct dim *parse_name(struct parser *p)
{
    char name[NAME_MAX_BYTES];
    size_t n = name_length(p->at);
    if (n >= sizeof name)
        return parse_fail(p, RILL_LIMIT, "a name of 256 bytes or more");
    memcpy(name, p->at, n);
    name[n] = '\0';
    if (n == 1 && name[0] == '?')
        return parse_fail(p, RILL_INVALID, "expected a number after '?'");
    p->at += n;
    if (peek(p) != '(')
        return dim_symbol(p->ds, name);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (!strcmp(calls[i].name, name)) {
            p->at++;
            return parse_call(p, calls[i].kind);
        }
    return parse_fail(p, RILL_INVALID, "not a function; min, max, broadcast, ge and eq are");
}

static const struct dim *parse_negative(struct parser *p)
{
    p->at++;
    if (is_digit(peek(p)))
        return parse_int(p, true);
    return dim_mul_int(p->ds, parse_unary(p), -1);
}

static const struct dim *parse_paren(struct parser *p)
{
    p->at++;
    const struct dim *d = parse_sum(p);
    if (!dim_is_bad(d) && !accept(p, ")"))
        return parse_fail(p, RILL_INVALID, "expected ')'");
    return d;
}

static const struct dim *parse_atom(struct parser *p)
{
    char c = peek(p);
    if (c == '-')
        return parse_negative(p);
    if (c == '(')
        return parse_paren(p);
    if (c == '"')
        return parse_quoted(p);
    if (is_digit(c))
        return parse_int(p, false);
    if (c == '?' || letter_length(p->at))
        return parse_name(p);
    return parse_fail(p, RILL_INVALID, "expected a number, a name or '('");
}

static const struct dim *parse_unary(struct parser *p)
{
    if (++p->depth > PARSE_DEPTH_MAX)
        return parse_fail(p, RILL_LIMIT, "nested too deep");
    const struct dim *d = parse_atom(p);
    p->depth--;
    return d;
}

/* d divided by what follows, or what that leaves over. */
static const struct dim *parse_divisor(struct parser *p, const struct dim *d, char sign)
{
    const struct dim *by = parse_unary(p);
    if (dim_is_bad(by) || dim_is_bad(d))
        return dim_is_bad(by) ? by : d;
    if (!dim_is_const(by) || dim_value(by) <= 0)
        return parse_fail(p, RILL_INVALID,
                          sign == '/' ? "only a positive number may follow '/'"
                                      : "only a positive number may follow '%'");
    const struct dim *whole = dim_div_int(p->ds, d, dim_value(by));
    return sign == '/' ? whole : dim_sub(p->ds, d, dim_mul_int(p->ds, whole, dim_value(by)));
}

/* A product whose number is kept apart. */
struct scaled {
    int64_t k;
    const struct dim *d;
};

static void scaled_mul(struct parser *p, struct scaled *s, const struct dim *by)
{
    if (dim_is_bad(by))
        s->d = by;
    else if (!dim_is_const(by))
        s->d = dim_mul(p->ds, s->d, by);
    else if (__builtin_mul_overflow(s->k, dim_value(by), &s->k))
        s->d = parse_fail(p, RILL_LIMIT, "a number is over 2^63");
}

static struct scaled parse_product(struct parser *p)
{
    struct scaled s = { 1, dim_int(p->ds, 1) };
    scaled_mul(p, &s, parse_unary(p));
    while (!dim_is_bad(s.d) && (peek(p) == '*' || *p->at == '/' || *p->at == '%')) {
        const char sign = *p->at++;
        if (sign != '*')
            s = (struct scaled) { 1, parse_divisor(p, dim_mul_int(p->ds, s.d, s.k), sign) };
        else
            scaled_mul(p, &s, parse_unary(p));
    }
    return s;
}

/* The whole sum is gathered before it is simplified: parts of a canonical sum may have another form
 * alone. */
static const struct dim *parse_sum(struct parser *p)
{
    struct lin l = { .c = 0 };
    bool minus = false;
    do {
        struct scaled s = parse_product(p);
        if (dim_is_bad(s.d))
            return s.d;
        l.bad |= minus && __builtin_mul_overflow(s.k, -1, &s.k);
        lin_add(&l, s.k, s.d);
        minus = peek(p) == '-';
    } while ((*p->at == '+' || minus) && p->at++);
    return dim_from_lin(p->ds, &l);
}

/* A poisoned scope has said why itself. */
static rill_status parse_end(struct parser *p, const struct dim *d)
{
    if (p->status == RILL_OK && dims_status(p->ds, p->err) != RILL_OK)
        return dims_status(p->ds, p->err);
    if (p->status == RILL_OK && dim_is_bad(d))
        parse_fail(p, RILL_INVALID, "not an expression");
    if (p->status == RILL_OK && peek(p))
        parse_fail(p, RILL_INVALID, "expected the end");
    return p->status;
}

rill_status dim_parse(struct dims *ds, const char *text, const struct dim **ret, rill_error *reterr)
{
    struct parser p = { .ds = ds, .text = text, .at = text, .err = reterr };
    const struct dim *d = parse_sum(&p);
    TRY(parse_end(&p, d));
    *ret = d;
    return RILL_OK;
}

/* ---- assertions ---- */

/* The longest period of what a symbol leaves that is no 0. */
#define RESTS_MAX ((int64_t) 1 << 20)

/* Cases looked at before a fact is kept beside those that may imply it. */
#define ASSUME_BUDGET 16

/* claimed: what somebody said that nothing can hold of beside it; NULL: nobody did. */
static rill_status assert_refuse(struct parser *p, const char *claimed)
{
    if (!claimed)
        return err_set(p->err, RILL_INVALID, "'%.120s' contradicts what is known", p->text);
    return err_set(p->err, RILL_INVALID, "'%.120s' contradicts what is known: %.120s",
                   p->is_claim ? p->text : claimed, p->is_claim ? claimed : p->text);
}

/* With symbol bound to v. What is being claimed has no say about itself. */
static const char *claim_against(const struct parser *p, const struct dim *symbol, int64_t v)
{
    const char *other = dims_claim_broken(p->ds, symbol, v);
    return other && strcmp(other, p->text) != 0 ? other : NULL;
}

struct dim_asker dims_ask_for(struct dims *ds, struct dim_asker who)
{
    const struct dim_asker before = ds->asker;
    ds->asker = who;
    return before;
}

/* NULL: nobody is known, or there is no memory for the words. */
static const char *asker_text(struct dims *ds)
{
    const struct dim_asker *a = &ds->asker;
    return a->op ? arena_printf(&ds->arena, "node '%.80s' (%s)", a->name, a->op) : a->name;
}

static void bound_put(struct dims *ds, int64_t v, int64_t *bound, const char **by)
{
    *bound = v;
    *by = asker_text(ds);
}

/* The least value that leaves what the symbol does. */
static void bound_round(struct dims *ds, const struct dim *s)
{
    struct dim_bound *b = s->bound;
    const struct dim_rest r = *s->rest;
    if (!r.rest || b->lo < 0 || b->lo > RESTS_MAX)
        return;
    const int64_t lo = b->lo + (r.rest + r.of - b->lo % r.of) % r.of;
    if (lo > b->lo && lo <= b->hi)
        bound_put(ds, lo, &b->lo, &s->by[0]);
}

/* k*symbol + c >= 0 narrows the symbol's bounds. */
static rill_status assert_bound(struct parser *p, const struct lin *l)
{
    struct dim_bound *b = l->t[0]->bound;
    const char **by = l->t[0]->by;
    int64_t k = l->k[0], q = 0;
    if (k > 0 && l->c != INT64_MIN && floor_div_checked(l->c, k, &q) && -q > b->lo)
        bound_put(p->ds, -q, &b->lo, &by[0]);
    bound_round(p->ds, l->t[0]);
    if (k < 0 && k != INT64_MIN && floor_div_checked(l->c, -k, &q) && q < b->hi)
        bound_put(p->ds, q, &b->hi, &by[1]);
    return b->lo > b->hi ? assert_refuse(p, claim_against(p, l->t[0], k > 0 ? b->lo : b->hi))
                         : RILL_OK;
}

/* The symbol leaves r, too. */
static void rest_narrow(struct parser *p, const struct dim *s, struct dim_rest r)
{
    const struct dim_rest had = *s->rest;
    int64_t both, rest = had.of == 1 ? r.rest : had.rest;
    if (__builtin_mul_overflow(had.of / gcd_i64(had.of, r.of), r.of, &both) ||
        (rest && both > RESTS_MAX))
        return;
    while (rest < both && rest % r.of != r.rest)
        rest += had.of;
    if (rest >= both)
        return; /* there is none: what is asserted contradicts itself */
    *s->rest = (struct dim_rest) { both, rest };
    bound_round(p->ds, s);
}

static bool is_fact(const struct dims *ds, const struct dim *d)
{
    for (unsigned i = 0; i < ds->n_facts; i++)
        if (ds->fact[i] == d)
            return true;
    return false;
}

/* k*q*floor((symbol + e)/q) + k*rest - k*symbol == 0: the symbol is `rest` more than a multiple of
 * q. One way round l >= 0 says so, the other way a fact; where symbol + e is a multiple the first
 * is enough. */
static void assert_rest(struct parser *p, const struct lin *l)
{
    if (l->bad || l->n != 2 || l->c == INT64_MIN || l->k[0] == INT64_MIN || l->k[1] == INT64_MIN)
        return;
    const unsigned at = l->t[0]->kind == DIM_SYM;
    const struct dim *d = l->t[at], *s = l->t[1 - at];
    const int64_t k = -l->k[1 - at], q = d->value;
    int64_t over, rest;
    struct lin turned = *l, x;
    if (d->kind != DIM_DIV || s->kind != DIM_SYM || l->k[at] % q || l->k[at] / q != k || l->c % k)
        return;
    lin_init(&x, d->arg[0]);
    if (x.bad || x.n != 1 || x.t[0] != s || x.k[0] != 1 ||
        __builtin_add_overflow(l->c / k, x.c, &over) || over < 0 || over >= q)
        return;
    rest = l->c / k % q;
    rest += rest < 0 ? q : 0;
    lin_scale(&turned, -1);
    if ((over == 0 && k > 0) || is_fact(p->ds, dim_from_lin(p->ds, &turned)))
        rest_narrow(p, s, (struct dim_rest) { q, rest });
}

/* l >= 0 from now on. */
static rill_status assert_ge0(struct parser *p, struct lin *l)
{
    struct dims *ds = p->ds;
    if (l->bad)
        return err_set(p->err, RILL_LIMIT, "'%.120s': numbers over 2^63", p->text);
    if (l->n == 0)
        return l->c >= 0 ? RILL_OK : assert_refuse(p, NULL);
    if (l->n == 1 && l->t[0]->kind == DIM_SYM)
        return assert_bound(p, l);
    const struct dim *d = dim_from_lin(ds, l);
    TRY(dims_status(ds, p->err));
    if (ds->n_facts == ds->cap_facts) {
        unsigned cap = ds->cap_facts ? 2 * ds->cap_facts : 8;
        const struct dim **more = reallocarray(ds->fact, cap, sizeof *more);
        if (!more)
            return err_set(p->err, RILL_NOMEM, "out of memory");
        ds->fact = more;
        ds->cap_facts = cap;
    }
    ds->fact[ds->n_facts++] = d;
    assert_rest(p, l);
    return RILL_OK;
}

static const struct {
    const char *sign;
    int64_t k, c;
    bool both;
} relations[] = {
    { ">=", 1, 0, false }, { "<=", -1, 0, false }, { "==", 1, 0, true },
    { ">", 1, -1, false }, { "<", -1, -1, false },
};

rill_status dims_claim_add(struct dims *ds, enum dim_claim_kind kind, const char *text,
                           const struct dim *ge0, rill_error *reterr)
{
    for (const struct dim_claim *c = ds->claims; c; c = c->next)
        if (c->ge0 == ge0 && c->kind == kind && !strcmp(c->text, text))
            return RILL_OK;
    struct dim_claim *c = arena_new(&ds->arena, struct dim_claim);
    text = arena_string(&ds->arena, text);
    if (!c || !text)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    *c = (struct dim_claim) { text, ge0, kind, ds->claims };
    ds->claims = c;
    return dims_status(ds, reterr);
}

rill_status dims_claim_keep(struct dims *ds, const char *text, const struct dim *ge0,
                            rill_error *reterr)
{
    return dims_claim_add(ds, DIM_CLAIM_ASSERTED, text, ge0, reterr);
}

enum dim_claim_kind dims_claim_kind(const struct dims *ds, unsigned i)
{
    const struct dim_claim *c = ds->claims;
    for (; c && i; i--)
        c = c->next;
    return c ? c->kind : DIM_CLAIM_ASSERTED;
}

bool dim_is_natural(struct dims *ds, const struct dim *d)
{
    return dim_proves_ge(ds, d, dim_int(ds, 0), ASSUME_BUDGET);
}

/* l >= 0 is what text says. */
static rill_status claim_keep(struct parser *p, const struct lin *l)
{
    struct lin copy = *l;
    return dims_claim_keep(p->ds, p->text, dim_from_lin(p->ds, &copy), p->err);
}

struct comparison {
    const struct dim *left, *right;
    size_t relation;
};

static rill_status parse_comparison(struct parser *p, struct comparison *ret)
{
    size_t i = 0;
    ret->left = parse_sum(p);
    while (p->status == RILL_OK && i < sizeof relations / sizeof *relations &&
           !accept(p, relations[i].sign))
        i++;
    if (p->status == RILL_OK && i == sizeof relations / sizeof *relations)
        parse_fail(p, RILL_INVALID, "expected a comparison: >= <= == > <");
    if (p->status != RILL_OK)
        return p->status;
    ret->relation = i;
    ret->right = parse_sum(p);
    TRY(parse_end(p, ret->right));
    return dim_is_bad(ret->left) ? dims_status(p->ds, p->err) : RILL_OK;
}

static rill_status relation_assert(struct dims *ds, const char *text, bool is_claim,
                                   rill_error *reterr)
{
    struct parser p = { .ds = ds, .text = text, .at = text, .is_claim = is_claim, .err = reterr };
    struct comparison c;
    TRY(parse_comparison(&p, &c));
    for (int64_t sign = 1; sign >= (relations[c.relation].both ? -1 : 1); sign -= 2) {
        struct lin l;
        lin_init(&l, c.left);
        lin_add(&l, -1, c.right);
        lin_scale(&l, sign * relations[c.relation].k);
        l.bad |= __builtin_add_overflow(l.c, relations[c.relation].c, &l.c);
        if (is_claim && !l.bad)
            TRY(claim_keep(&p, &l));
        TRY(assert_ge0(&p, &l));
    }
    return RILL_OK;
}

rill_status dims_assert(struct dims *ds, const char *text, rill_error *reterr)
{
    return relation_assert(ds, text, false, reterr);
}

/* The first claim that is not what is being claimed; NULL: it is the only one. */
static const char *other_claim(const struct parser *p)
{
    const struct dim_claim *c = p->ds->claims;
    while (c && !strcmp(c->text, p->text))
        c = c->next;
    return c ? c->text : NULL;
}

static bool holds_at(const struct comparison *c, const struct dim *symbol, int64_t v)
{
    int64_t a, b;
    if (!dim_eval(c->left, symbol, v, &a) || !dim_eval(c->right, symbol, v, &b))
        return true;
    const int64_t k = relations[c->relation].k, over = k > 0 ? a - b : b - a;
    return relations[c->relation].both ? a == b : over + relations[c->relation].c >= 0;
}

#define BELOW_TRIED 64

/* Whether any number from 0 on is left to the one symbol of what was claimed. Where it holds below
 * alone the reader, who says that there is nothing below, is contradicted. */
static rill_status claim_keepable(struct parser *p, const struct comparison *c)
{
    const struct dim *s[2], *both[2] = { c->left, c->right };
    struct dim_even e[2];
    bool own = false;
    const unsigned n = dim_symbols(c->right, s, dim_symbols(c->left, s, 0, 2), 2);
    if (n != 1 || !dims_even(p->ds, s[0], both, 2, 0, e))
        return RILL_OK;
    for (int64_t v = 0; v < e->from + e->period; v++) {
        own |= holds_at(c, s[0], v);
        if (dims_allow(p->ds, s[0], v))
            return RILL_OK;
    }
    if (own)
        return assert_refuse(p, other_claim(p));
    for (int64_t v = -BELOW_TRIED; v < 0; v++)
        if (holds_at(c, s[0], v))
            return RILL_OK;
    return err_set(p->err, RILL_INVALID, "'%.120s' holds for no %.80s at all", p->text,
                   dim_name(s[0]));
}

rill_status dims_claim(struct dims *ds, const char *text, rill_error *reterr)
{
    struct parser p = { .ds = ds, .text = text, .at = text, .is_claim = true, .err = reterr };
    struct comparison c; /* as it was before it was known to hold */
    TRY(parse_comparison(&p, &c));
    TRY(relation_assert(ds, text, true, reterr));
    return claim_keepable(&p, &c);
}

unsigned dims_relation_symbols(struct dims *ds, const char *text, const struct dim **list,
                               unsigned n, unsigned cap)
{
    struct parser p = { .ds = ds, .text = text, .at = text };
    struct comparison c;
    if (parse_comparison(&p, &c) != RILL_OK)
        return n;
    return dim_symbols(c.right, list, dim_symbols(c.left, list, n, cap), cap);
}

const char *dims_claim_at(const struct dims *ds, unsigned i, const struct dim **ret_ge0)
{
    const struct dim_claim *c = ds->claims;
    for (; c && i; i--)
        c = c->next;
    *ret_ge0 = c ? c->ge0 : NULL;
    return c ? c->text : NULL;
}

static bool claim_is_broken(const struct dim_claim *c, const struct dim *symbol, int64_t v)
{
    int64_t least;
    return dim_eval(c->ge0, symbol, v, &least) && least < 0;
}

static const struct dim_claim *claim_broken(const struct dims *ds, const struct dim *symbol,
                                            int64_t v)
{
    const struct dim_claim *c = ds->claims;
    while (c && !claim_is_broken(c, symbol, v))
        c = c->next;
    return c;
}

const char *dims_claim_broken(const struct dims *ds, const struct dim *symbol, int64_t v)
{
    const struct dim_claim *c = claim_broken(ds, symbol, v);
    return c ? c->text : NULL;
}

enum dim_claim_kind dims_claim_broken_kind(const struct dims *ds, const struct dim *symbol,
                                           int64_t v)
{
    return claim_broken(ds, symbol, v)->kind;
}

const char *dims_need_broken(const struct dims *ds, const struct dim *symbol, int64_t v)
{
    for (const struct dim_claim *c = ds->claims; c; c = c->next)
        if (c->kind != DIM_CLAIM_ASSERTED && c->kind != DIM_CLAIM_TABLE &&
            claim_is_broken(c, symbol, v))
            return c->text;
    return NULL;
}

/* DIM_CLAIM_ASSERTED: it is not claimed. */
static rill_status assume(struct dims *ds, const struct dim *d, enum dim_claim_kind kind,
                          rill_error *reterr)
{
    char text[160];
    struct parser p = { .ds = ds, .text = text, .at = text, .err = reterr };
    struct lin l;
    if (dim_is_bad(d))
        return dims_status(ds, reterr);
    if (dim_proves_ge(ds, d, dim_int(ds, 0), ASSUME_BUDGET))
        return RILL_OK;
    const int64_t least = d->kind == DIM_ADD ? -d->value : 0;
    int n = dim_print(dim_add_int(ds, d, least), text, sizeof text);
    if (n < (int) sizeof text)
        snprintf(text + n, sizeof text - (size_t) n, " >= %lld", (long long) least);
    if (kind != DIM_CLAIM_ASSERTED)
        TRY(dims_claim_add(ds, kind, text, d, reterr));
    lin_init(&l, d);
    return assert_ge0(&p, &l);
}

rill_status dims_assume(struct dims *ds, const struct dim *d, rill_error *reterr)
{
    return assume(ds, d, ds->n_branches ? DIM_CLAIM_NEEDED : DIM_CLAIM_ASSERTED, reterr);
}

rill_status dims_need_window(struct dims *ds, const struct dim *d, rill_error *reterr)
{
    return assume(ds, d, ds->n_branches ? DIM_CLAIM_NEEDED : DIM_CLAIM_WINDOW, reterr);
}

void dims_branch_begin(struct dims *ds)
{
    ds->n_branches++;
}

void dims_branch_end(struct dims *ds)
{
    ds->n_branches--;
}

/* The operand that is no number of a min, or of a max that is taken off, with a number; NULL: it is
 * none of these. */
static const struct dim *within_bound(const struct dim *d, int64_t coef)
{
    if (d->kind != (coef > 0 ? DIM_MIN : DIM_MAX) || d->n != 2 ||
        dim_is_const(d->arg[0]) == dim_is_const(d->arg[1]))
        return NULL;
    return d->arg[dim_is_const(d->arg[0]) ? 1 : 0];
}

const struct dim *dim_unbounded(struct dims *ds, const struct dim *d)
{
    const struct dim *inner = dim_is_bad(d) ? NULL : within_bound(d, 1);
    if (inner || dim_is_bad(d) || d->kind != DIM_ADD)
        return inner ? inner : d;
    const struct dim *sum = dim_int(ds, d->value);
    for (unsigned i = 0; i < d->n; i++) {
        inner = within_bound(d->arg[i], d->coef[i]);
        sum = dim_add(ds, sum, dim_mul_int(ds, inner ? inner : d->arg[i], d->coef[i]));
    }
    return sum;
}

static rill_status bound_assume(struct dims *ds, const struct dim *d, int64_t coef,
                                rill_error *reterr)
{
    const struct dim *inner = within_bound(d, coef);
    if (!inner)
        return RILL_OK;
    const struct dim *bound = d->arg[inner == d->arg[0] ? 1 : 0];
    char size[120], text[160];
    dim_print(inner, size, sizeof size);
    snprintf(text, sizeof text, "%s %s %lld", size,
             coef > 0 ? "<=" : ">=", (long long) dim_value(bound));
    TRY(dims_claim_add(ds, DIM_CLAIM_TABLE, text,
                       coef > 0 ? dim_sub(ds, bound, inner) : dim_sub(ds, inner, bound), reterr));
    return dims_assume(ds, coef > 0 ? dim_sub(ds, bound, inner) : dim_sub(ds, inner, bound),
                       reterr);
}

rill_status dims_assume_unbounded(struct dims *ds, const struct dim *d, rill_error *reterr)
{
    if (dim_is_bad(d) || d->kind != DIM_ADD)
        return dim_is_bad(d) ? dims_status(ds, reterr) : bound_assume(ds, d, 1, reterr);
    for (unsigned i = 0; i < d->n; i++)
        TRY(bound_assume(ds, d->arg[i], d->coef[i], reterr));
    return RILL_OK;
}
