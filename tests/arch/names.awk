# SPDX-License-Identifier: MIT
# Where C decides by the text of an op's name or of an error's message. Comments and what strings say are left out, and
# lines are joined: a statement ends at ';', '{' or '}', so a call may stand on several. Says "FILE:LINE: KIND: STATEMENT";
# KIND is
#   op        an op's name is compared, looked into, or kept in a local
#   find      an op is looked up by name
#   attr      the table of an op's attributes is walked
#   message   an error's message is compared, looked into, or kept in a local

# The variables of a function that are declared in s as POINTED: "|a|b".
function declared(s, pointed,    found, name) {
    found = ""
    while (match(s, "(^|[^a-zA-Z0-9_])" pointed "[ *]((const|restrict) |[* ])*[a-zA-Z_][a-zA-Z0-9_]*")) {
        name = substr(s, RSTART, RLENGTH)
        s = substr(s, RSTART + RLENGTH)
        sub(/.*[ *]/, "", name)
        found = found "|" name
        if (match(s, /^[^()]*, *\*+[a-zA-Z_][a-zA-Z0-9_]*/)) {
            name = substr(s, RSTART, RLENGTH)
            sub(/.*\*/, "", name)
            found = found "|" name
        }
    }
    return found
}

function say(kind) {
    print file ":" line ": " kind ": " s
}

# Whether s reads the text WHAT other than to print it.
function decides(what,    calls, cast) {
    cast = " *([(][^()]*[)] *)?"
    calls = "(mem|str)[a-z]*(cmp|str|mem|chr|spn|brk|scanf)[(]"
    return s ~ calls "([^;]*[^a-zA-Z0-9_])?" what ||
        s ~ "(^|[^a-zA-Z0-9_])" what " *\\[[^]]*\\]( *[^= ]| *==)" ||
        s ~ "([(!=&|,?:]|return) ?[*][a-zA-Z_>.-]*[>.]" what "([^a-zA-Z0-9_]|$)" ||
        s ~ "([(!=&|,?:]|return) ?[*]" what "([^a-zA-Z0-9_]|$)" ||
        s ~ "(^|[^=!<>])=" cast "([^;,=(]*[^a-zA-Z0-9_(])?" what " *;" ||
        s ~ "(^|[^a-zA-Z0-9_.>])[a-zA-Z_][a-zA-Z0-9_]* *=" cast "([^;,=(]*[^a-zA-Z0-9_(])?" what " *[,;]"
}

function statement_end() {
    gsub(/[ \t]+/, " ", s)
    if (s ~ /struct op/)
        ops = ops declared(s, "struct op")
    if (s ~ /rill_error/)
        errors = errors declared(s, "rill_error")
    if (s ~ /name/ && decides("(op" ops ")[])]*(->|[.])name"))
        say("op")
    if (s ~ /(^|[^a-zA-Z0-9_])op_find(_made)?\(/ && s !~ /struct op \*op_find/)
        say("find")
    if (s ~ /->attrs([^a-zA-Z0-9_]|$)/ || s ~ /struct attr_spec \*/)
        say("attr")
    if (s ~ /text/ && decides("(err|error|reterr|why" errors ")[])]*(->|[.])text"))
        say("message")
    s = ""
}

FNR == 1 { s = ops = errors = ""; comment = 0; file = FILENAME }
/^}/ { ops = errors = "" }
{
    rest = $0
    gsub(/'\\?.'/, "' '", rest)
    gsub(/"([^"\\]|\\.)*"/, "\"\"", rest)
    while (rest != "") {
        if (comment) {
            if (!(at = index(rest, "*/")))
                break
            rest = substr(rest, at + 2)
            comment = 0
        }
        if (match(rest, /[;{}]|\/\*|\/\//)) {
            mark = substr(rest, RSTART, RLENGTH)
            if (s == "")
                line = FNR
            s = s substr(rest, 1, RSTART - 1)
            rest = substr(rest, RSTART + RLENGTH)
            if (mark == "//")
                break
            if (mark == "/*")
                comment = 1
            else {
                s = s mark
                statement_end()
            }
        } else {
            if (s == "" && rest !~ /^[ \t]*$/)
                line = FNR
            if (rest !~ /^[ \t]*$/ || s != "")
                s = s rest " "
            break
        }
    }
}
