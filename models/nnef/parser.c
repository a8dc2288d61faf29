/* SPDX-License-Identifier: MIT */
#include "models/nnef/parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct nnef_limits nnef_limits_default = {
    .text_bytes = 4u << 20,
    .depth = 128,
    .calls = 32,
    .nodes = 100000,
    .data_bytes = (uint64_t) 1 << 30,
    .literal_bytes = (uint64_t) 64 << 20,
};

struct parser {
    struct nnef_lexer lexer;
    struct nnef_token token; /* the next one, not yet taken */
    struct arena *arena;
    const char *file;
    const struct nnef_limits *limits;
    unsigned depth;
    rill_error *err;
};

static rill_status fail(struct parser *p, const char *expected)
{
    char found[64];
    return err_set(p->err, RILL_MALFORMED, "%s:%u:%u: found %s, expected %s", p->file,
                   p->token.pos.line, p->token.pos.column,
                   nnef_token_print(&p->token, found, sizeof found), expected);
}

static rill_status no_memory(struct parser *p)
{
    return err_set(p->err, RILL_NOMEM, "%s: out of memory while parsing", p->file);
}

static void advance(struct parser *p)
{
    p->token = nnef_next(&p->lexer);
}

static bool at(const struct parser *p, const char *text)
{
    return nnef_token_is(&p->token, text);
}

static bool accept(struct parser *p, const char *text)
{
    bool yes = at(p, text);
    if (yes)
        advance(p);
    return yes;
}

static rill_status expect(struct parser *p, const char *text)
{
    char want[24] = "'";
    strncat(strncat(want, text, 16), "'", 2);
    return accept(p, text) ? RILL_OK : fail(p, want);
}

static const char *token_text(struct parser *p)
{
    char *s = arena_alloc(p->arena, (size_t) p->token.n + 1);
    if (s)
        memcpy(s, p->token.at, p->token.n);
    return s;
}

static rill_status take_name(struct parser *p, const char **ret, const char *expected)
{
    if (p->token.kind != NNEF_NAME)
        return fail(p, expected);
    if (!(*ret = token_text(p)))
        return no_memory(p);
    advance(p);
    return RILL_OK;
}

/* ---- expressions ---- */

static rill_status parse_expr(struct parser *p, struct nnef_expr **ret);

static rill_status expr_new(struct parser *p, enum nnef_expr_kind kind, struct nnef_pos pos,
                            struct nnef_expr **ret)
{
    struct nnef_expr *e = arena_new(p->arena, struct nnef_expr);
    if (!e)
        return no_memory(p);
    e->kind = kind;
    e->pos = pos;
    *ret = e;
    return RILL_OK;
}

static rill_status expr_add(struct parser *p, struct nnef_expr *e, struct nnef_expr *part,
                            const char *name)
{
    uint32_t cap = e->cap_part;
    struct nnef_expr **parts =
        arena_grow(p->arena, e->part, e->n_part, &e->cap_part, sizeof *parts);
    const char **names = arena_grow(p->arena, e->arg_name, e->n_part, &cap, sizeof *names);
    if (!parts || !names)
        return no_memory(p);
    e->part = parts;
    e->arg_name = names;
    e->height = part->height >= e->height ? part->height + 1 : e->height;
    if (e->height > 2 * p->limits->depth)
        return err_set(p->err, RILL_LIMIT,
                       "%s:%u:%u: an expression of more than %u levels; name a part of it", p->file,
                       e->pos.line, e->pos.column, 2 * p->limits->depth);
    parts[e->n_part] = part;
    names[e->n_part++] = name;
    return RILL_OK;
}

static rill_status parse_literal(struct parser *p, struct nnef_expr **ret)
{
    static const enum nnef_expr_kind kinds[] = {
        [NNEF_INT] = NNEF_EXPR_INT,
        [NNEF_REAL] = NNEF_EXPR_REAL,
        [NNEF_TEXT] = NNEF_EXPR_TEXT,
    };
    TRY(expr_new(p, kinds[p->token.kind], p->token.pos, ret));
    struct nnef_expr *e = *ret;
    if (!(e->text = token_text(p)))
        return no_memory(p);
    errno = 0;
    if (e->kind == NNEF_EXPR_INT)
        e->i = strtoll(e->text, NULL, 10);
    else if (e->kind == NNEF_EXPR_REAL)
        e->real = strtod(e->text, NULL);
    if (e->kind == NNEF_EXPR_INT && errno)
        return fail(p, "an integer of at most 63 bits");
    advance(p);
    return RILL_OK;
}

/* Elements up to the closing mark, which is taken. */
static rill_status parse_elements(struct parser *p, struct nnef_expr *e, const char *close)
{
    while (!at(p, close)) {
        struct nnef_expr *part;
        TRY(parse_expr(p, &part));
        TRY(expr_add(p, e, part, NULL));
        if (!accept(p, ","))
            break;
    }
    return expect(p, close);
}

static rill_status parse_binary(struct parser *p, size_t level, struct nnef_expr **ret);

/* "for x in xs, y in ys if condition yield expression", behind the "for". */
static rill_status parse_each(struct parser *p, struct nnef_expr *e)
{
    struct nnef_expr *part, *condition = NULL;
    e->kind = NNEF_EXPR_EACH;
    do {
        const char *name;
        TRY(take_name(p, &name, "the name of an element"));
        TRY(expect(p, "in"));
        TRY(parse_binary(p, 0, &part));
        TRY(expr_add(p, e, part, name));
        e->i++;
    } while (accept(p, ","));
    if (accept(p, "if"))
        TRY(parse_binary(p, 0, &condition));
    if (!accept(p, ":")) /* the standard's first version */
        TRY(expect(p, "yield"));
    TRY(parse_expr(p, &part));
    TRY(expr_add(p, e, part, NULL));
    if (condition)
        TRY(expr_add(p, e, condition, NULL));
    return expect(p, "]");
}

static rill_status parse_list(struct parser *p, struct nnef_expr **ret)
{
    TRY(expr_new(p, NNEF_EXPR_LIST, p->token.pos, ret));
    advance(p);
    return accept(p, "for") ? parse_each(p, *ret) : parse_elements(p, *ret, "]");
}

/* A tuple, or an expression in brackets. */
static rill_status parse_bracket(struct parser *p, struct nnef_expr **ret)
{
    struct nnef_pos pos = p->token.pos;
    advance(p);
    TRY(parse_expr(p, ret));
    if (!at(p, ","))
        return expect(p, ")");
    advance(p);
    struct nnef_expr *first = *ret;
    TRY(expr_new(p, NNEF_EXPR_TUPLE, pos, ret));
    TRY(expr_add(p, *ret, first, NULL));
    return parse_elements(p, *ret, ")");
}

static bool is_type(const struct nnef_token *t)
{
    return nnef_token_is(t, "scalar") || nnef_token_is(t, "integer") ||
        nnef_token_is(t, "logical") || nnef_token_is(t, "string");
}

/* "<scalar>(" after a name: a type argument, not a comparison. */
static bool ahead_type(const struct parser *p, struct nnef_token *ret)
{
    struct nnef_lexer l = p->lexer;
    *ret = nnef_next(&l);
    struct nnef_token close = nnef_next(&l), open = nnef_next(&l);
    return at(p, "<") && is_type(ret) && nnef_token_is(&close, ">") && nnef_token_is(&open, "(");
}

static rill_status parse_args(struct parser *p, struct nnef_expr *call)
{
    TRY(expect(p, "("));
    while (!at(p, ")")) {
        struct nnef_lexer l = p->lexer;
        struct nnef_token after = nnef_next(&l);
        const char *name = NULL;
        if (p->token.kind == NNEF_NAME && nnef_token_is(&after, "=")) {
            TRY(take_name(p, &name, "an argument"));
            advance(p);
        }
        struct nnef_expr *value;
        TRY(parse_expr(p, &value));
        TRY(expr_add(p, call, value, name));
        if (!accept(p, ","))
            break;
    }
    return expect(p, ")");
}

static rill_status parse_name(struct parser *p, struct nnef_expr **ret)
{
    TRY(expr_new(p, NNEF_EXPR_NAME, p->token.pos, ret));
    struct nnef_expr *e = *ret;
    if (at(p, "true") || at(p, "false")) {
        e->kind = NNEF_EXPR_BOOL;
        e->i = at(p, "true");
        advance(p);
        return RILL_OK;
    }
    TRY(take_name(p, &e->text, "a name"));
    struct nnef_token type;
    if (ahead_type(p, &type)) {
        advance(p);
        e->type = token_text(p);
        advance(p);
        advance(p);
    }
    if (!at(p, "("))
        return RILL_OK;
    e->kind = NNEF_EXPR_CALL;
    return parse_args(p, e);
}

static rill_status parse_primary(struct parser *p, struct nnef_expr **ret)
{
    if (p->token.kind == NNEF_INT || p->token.kind == NNEF_REAL || p->token.kind == NNEF_TEXT)
        return parse_literal(p, ret);
    if (p->token.kind == NNEF_NAME && !at(p, "if") && !at(p, "else"))
        return parse_name(p, ret);
    if (at(p, "["))
        return parse_list(p, ret);
    if (at(p, "("))
        return parse_bracket(p, ret);
    return fail(p, "an expression");
}

/* An end of a part of a list; `otherwise` where there is none before the mark. */
static rill_status parse_bound(struct parser *p, const char *mark, int64_t otherwise,
                               struct nnef_expr **ret)
{
    if (!at(p, mark))
        return parse_expr(p, ret);
    TRY(expr_new(p, NNEF_EXPR_INT, p->token.pos, ret));
    (*ret)->i = otherwise;
    return RILL_OK;
}

static rill_status parse_postfix(struct parser *p, struct nnef_expr **ret)
{
    TRY(parse_primary(p, ret));
    while (at(p, "[")) {
        struct nnef_expr *base = *ret, *index;
        TRY(expr_new(p, NNEF_EXPR_INDEX, p->token.pos, ret));
        advance(p);
        TRY(parse_bound(p, ":", 0, &index));
        TRY(expr_add(p, *ret, base, NULL));
        TRY(expr_add(p, *ret, index, NULL));
        if (accept(p, ":")) {
            TRY(parse_bound(p, "]", INT64_MAX, &index));
            TRY(expr_add(p, *ret, index, NULL));
        }
        TRY(expect(p, "]"));
    }
    return RILL_OK;
}

static rill_status parse_unary(struct parser *p, struct nnef_expr **ret);

static rill_status parse_sign(struct parser *p, struct nnef_expr **ret)
{
    struct nnef_expr *operand;
    TRY(expr_new(p, NNEF_EXPR_UNARY, p->token.pos, ret));
    if (!((*ret)->text = token_text(p)))
        return no_memory(p);
    advance(p);
    TRY(parse_unary(p, &operand));
    return expr_add(p, *ret, operand, NULL);
}

static rill_status parse_unary(struct parser *p, struct nnef_expr **ret)
{
    if (++p->depth > p->limits->depth)
        return err_set(p->err, RILL_LIMIT, "%s:%u:%u: expressions are nested more than %u deep",
                       p->file, p->token.pos.line, p->token.pos.column, p->limits->depth);
    TRY(at(p, "-") || at(p, "+") || at(p, "!") ? parse_sign(p, ret) : parse_postfix(p, ret));
    p->depth--;
    return RILL_OK;
}

static const char *const levels[][8] = {
    { "||" },     { "&&" },     { "<", ">", "<=", ">=", "==", "!=", "in" },
    { "+", "-" }, { "*", "/" }, { "^" },
};
#define LEVELS (sizeof levels / sizeof *levels)

static bool at_level(const struct parser *p, size_t level)
{
    for (const char *const *s = levels[level]; *s; s++)
        if (at(p, *s))
            return true;
    return false;
}

/* Left to right within a level, stronger levels first. */
static rill_status parse_binary(struct parser *p, size_t level, struct nnef_expr **ret)
{
    if (level == LEVELS)
        return parse_unary(p, ret);
    TRY(parse_binary(p, level + 1, ret));
    while (at_level(p, level)) {
        struct nnef_expr *left = *ret, *right;
        TRY(expr_new(p, NNEF_EXPR_BINARY, p->token.pos, ret));
        if (!((*ret)->text = token_text(p)))
            return no_memory(p);
        advance(p);
        TRY(parse_binary(p, level + 1, &right));
        TRY(expr_add(p, *ret, left, NULL));
        TRY(expr_add(p, *ret, right, NULL));
    }
    return RILL_OK;
}

static rill_status parse_expr(struct parser *p, struct nnef_expr **ret)
{
    TRY(parse_binary(p, 0, ret));
    if (!at(p, "if"))
        return RILL_OK;
    if (++p->depth > p->limits->depth)
        return err_set(p->err, RILL_LIMIT, "%s:%u:%u: expressions are nested more than %u deep",
                       p->file, p->token.pos.line, p->token.pos.column, p->limits->depth);
    struct nnef_expr *yes = *ret, *condition, *no;
    TRY(expr_new(p, NNEF_EXPR_CHOICE, p->token.pos, ret));
    advance(p);
    TRY(parse_binary(p, 0, &condition));
    TRY(expect(p, "else"));
    TRY(parse_expr(p, &no));
    TRY(expr_add(p, *ret, yes, NULL));
    TRY(expr_add(p, *ret, condition, NULL));
    p->depth--;
    return expr_add(p, *ret, no, NULL);
}

/* ---- statements ---- */

static rill_status check_left(struct parser *p, const struct nnef_expr *e)
{
    bool list = (e->kind == NNEF_EXPR_TUPLE || e->kind == NNEF_EXPR_LIST) && e->n_part > 0;
    for (uint32_t i = 0; list && i < e->n_part; i++)
        if (e->part[i]->kind != NNEF_EXPR_NAME)
            list = false;
    if (list || e->kind == NNEF_EXPR_NAME)
        return RILL_OK;
    return err_set(p->err, RILL_MALFORMED,
                   "%s:%u:%u: the left side of '=' is not a name or a list of names", p->file,
                   e->pos.line, e->pos.column);
}

/* "a", "a, b", "(a, b)" or "[a, b]". */
static rill_status parse_left(struct parser *p, struct nnef_expr **ret)
{
    if (p->token.kind != NNEF_NAME && !at(p, "(") && !at(p, "["))
        return fail(p, "a statement: name = expression;");
    TRY(parse_postfix(p, ret));
    if (at(p, ",")) {
        struct nnef_expr *first = *ret, *more;
        TRY(expr_new(p, NNEF_EXPR_TUPLE, first->pos, ret));
        TRY(expr_add(p, *ret, first, NULL));
        while (accept(p, ",")) {
            TRY(parse_postfix(p, &more));
            TRY(expr_add(p, *ret, more, NULL));
        }
    }
    return check_left(p, *ret);
}

static rill_status parse_statement(struct parser *p, struct nnef_fragment *f)
{
    struct nnef_statement *list =
        arena_grow(p->arena, f->body, f->n_body, &f->cap_body, sizeof *list);
    if (!list)
        return no_memory(p);
    f->body = list;
    p->depth = 0;
    TRY(parse_left(p, &list[f->n_body].left));
    TRY(expect(p, "="));
    p->depth = 0;
    TRY(parse_expr(p, &list[f->n_body].right));
    f->n_body++;
    return expect(p, ";");
}

static rill_status parse_body(struct parser *p, struct nnef_fragment *f)
{
    TRY(expect(p, "{"));
    while (!at(p, "}"))
        TRY(parse_statement(p, f));
    advance(p);
    accept(p, ";");
    return RILL_OK;
}

/* ---- fragments ---- */

/* "tensor<scalar>", "(integer, integer)[]", ...: checked for form only. */
static rill_status parse_type(struct parser *p)
{
    const char *name;
    if (++p->depth > p->limits->depth)
        return fail(p, "a type that is less deeply nested");
    if (accept(p, "(")) {
        do
            TRY(parse_type(p));
        while (accept(p, ","));
        TRY(expect(p, ")"));
    } else {
        TRY(take_name(p, &name, "a type"));
        if (accept(p, "<")) {
            if (p->token.kind == NNEF_NAME || at(p, "?"))
                advance(p);
            TRY(expect(p, ">"));
        }
    }
    while (accept(p, "["))
        TRY(expect(p, "]"));
    p->depth--;
    return RILL_OK;
}

static rill_status param_add(struct parser *p, struct nnef_param **list, uint32_t *n, uint32_t *cap,
                             struct nnef_param **ret)
{
    struct nnef_param *more = arena_grow(p->arena, *list, *n, cap, sizeof *more);
    if (!more)
        return no_memory(p);
    *list = more;
    struct nnef_param *q = &more[*n];
    *q = (struct nnef_param) { .pos = p->token.pos };
    TRY(take_name(p, &q->name, "a parameter name"));
    for (uint32_t i = 0; i < *n; i++)
        if (!strcmp(more[i].name, q->name))
            return err_set(p->err, RILL_MALFORMED, "%s:%u:%u: '%s' is declared twice", p->file,
                           q->pos.line, q->pos.column, q->name);
    (*n)++;
    *ret = q;
    return RILL_OK;
}

/* typed: 0 names only, 1 with types. */
static rill_status parse_params(struct parser *p, struct nnef_fragment *f, bool typed)
{
    TRY(expect(p, "("));
    while (!at(p, ")")) {
        struct nnef_param *q;
        TRY(param_add(p, &f->params, &f->n_params, &f->cap_params, &q));
        if (typed) {
            TRY(expect(p, ":"));
            TRY(parse_type(p));
        }
        if (typed && accept(p, "=")) {
            struct nnef_expr *init;
            p->depth = 0;
            TRY(parse_expr(p, &init));
            f->params[f->n_params - 1].init = init;
        }
        if (!accept(p, ","))
            break;
    }
    return expect(p, ")");
}

static rill_status parse_results(struct parser *p, struct nnef_fragment *f, bool typed)
{
    TRY(expect(p, "->"));
    TRY(expect(p, "("));
    do {
        struct nnef_param *q;
        TRY(param_add(p, &f->results, &f->n_results, &f->cap_results, &q));
        if (typed) {
            TRY(expect(p, ":"));
            TRY(parse_type(p));
        }
    } while (accept(p, ","));
    return expect(p, ")");
}

static rill_status parse_fragment(struct parser *p, struct nnef_fragment *f, bool typed)
{
    p->depth = 0;
    f->pos = p->token.pos;
    TRY(take_name(p, &f->name, typed ? "the fragment's name" : "the graph's name"));
    if (typed && accept(p, "<")) { /* <? = scalar>: types are not checked */
        while (!at(p, ">") && p->token.kind != NNEF_END)
            advance(p);
        TRY(expect(p, ">"));
    }
    TRY(parse_params(p, f, typed));
    TRY(parse_results(p, f, typed));
    return parse_body(p, f);
}

static rill_status parse_fragment_list(struct parser *p, struct nnef_fragment **tail)
{
    while (accept(p, "fragment")) {
        struct nnef_fragment *f = arena_new(p->arena, struct nnef_fragment);
        if (!f)
            return no_memory(p);
        TRY(parse_fragment(p, f, true));
        *tail = f;
        tail = &f->next;
    }
    return RILL_OK;
}

/* ---- documents ---- */

static rill_status parse_version(struct parser *p, struct nnef_document *d)
{
    if (!accept(p, "version"))
        return RILL_OK;
    if (p->token.kind != NNEF_REAL)
        return fail(p, "a version such as 1.0");
    if (!(d->version = token_text(p)))
        return no_memory(p);
    if (strncmp(d->version, "1.", 2) != 0)
        return err_set(p->err, RILL_UNSUPPORTED,
                       "%s:%u:%u: version %.20s is not supported, versions 1.x are", p->file,
                       p->token.pos.line, p->token.pos.column, d->version);
    advance(p);
    return expect(p, ";");
}

/* "extension name words... ;": the words are kept as text for those who know the name. */
static rill_status parse_extensions(struct parser *p, struct nnef_document *d)
{
    struct nnef_extension **tail = &d->extensions;
    while (accept(p, "extension")) {
        struct nnef_extension *x = arena_new(p->arena, struct nnef_extension);
        if (!x)
            return no_memory(p);
        x->pos = p->token.pos;
        TRY(take_name(p, &x->name, "an extension's name"));
        const char *first = p->token.at, *last = first;
        while (!at(p, ";")) {
            if (p->token.kind == NNEF_END || p->token.kind == NNEF_BAD)
                return fail(p, "';'");
            last = p->token.at + p->token.n;
            advance(p);
        }
        char *text = arena_alloc(p->arena, (size_t) (last - first) + 1);
        if (!text)
            return no_memory(p);
        memcpy(text, first, (size_t) (last - first));
        x->text = text;
        advance(p);
        *tail = x;
        tail = &x->next;
    }
    return RILL_OK;
}

static rill_status parser_init(struct parser *p, struct arena *a, const char *file,
                               const char *text, size_t n, const struct nnef_limits *limits,
                               rill_error *reterr)
{
    *p = (struct parser) { .arena = a, .file = file, .limits = limits, .err = reterr };
    if (!limits)
        p->limits = &nnef_limits_default;
    if (n > p->limits->text_bytes)
        return err_set(reterr, RILL_LIMIT, "%s: %zu bytes of text, the limit is %zu", file, n,
                       p->limits->text_bytes);
    nnef_lexer_init(&p->lexer, text, n);
    advance(p);
    return RILL_OK;
}

static rill_status parse_end(struct parser *p, const char *expected)
{
    return p->token.kind == NNEF_END ? RILL_OK : fail(p, expected);
}

rill_status nnef_parse(struct nnef_document *ret, struct arena *a, const char *file,
                       const char *text, size_t n, const struct nnef_limits *limits,
                       rill_error *reterr)
{
    struct parser p;
    *ret = (struct nnef_document) { .file = file };
    TRY(parser_init(&p, a, file, text, n, limits, reterr));
    TRY(parse_version(&p, ret));
    TRY(parse_extensions(&p, ret));
    TRY(parse_fragment_list(&p, &ret->fragments));
    if (!accept(&p, "graph"))
        return fail(&p,
                    ret->fragments ? "'fragment' or 'graph'"
                                   : "'version', 'extension', 'fragment' or 'graph'");
    TRY(parse_fragment(&p, &ret->graph, false));
    return parse_end(&p, "the end of the text after the graph");
}

rill_status nnef_parse_statements(struct nnef_fragment *ret, struct arena *a, const char *file,
                                  const char *text, size_t n, const struct nnef_limits *limits,
                                  rill_error *reterr)
{
    struct parser p;
    *ret = (struct nnef_fragment) { .name = "" };
    TRY(parser_init(&p, a, file, text, n, limits, reterr));
    while (p.token.kind != NNEF_END)
        TRY(parse_statement(&p, ret));
    return RILL_OK;
}

rill_status nnef_parse_fragments(struct nnef_fragment **ret, struct arena *a, const char *file,
                                 const char *text, size_t n, const struct nnef_limits *limits,
                                 rill_error *reterr)
{
    struct parser p;
    *ret = NULL;
    TRY(parser_init(&p, a, file, text, n, limits, reterr));
    TRY(parse_fragment_list(&p, ret));
    return parse_end(&p, "'fragment'");
}

rill_status nnef_parse_signature(struct nnef_fragment *ret, struct arena *a, const char *file,
                                 const char *text, rill_error *reterr)
{
    struct parser p;
    *ret = (struct nnef_fragment) { .name = "" };
    TRY(parser_init(&p, a, file, text, strlen(text), NULL, reterr));
    while (p.token.kind != NNEF_END) {
        struct nnef_param *q;
        TRY(param_add(&p, &ret->params, &ret->n_params, &ret->cap_params, &q));
        if (accept(&p, "="))
            TRY(parse_expr(&p, &q->init));
        if (!accept(&p, ","))
            break;
    }
    return parse_end(&p, "','");
}
