#!/bin/sh
# SPDX-License-Identifier: MIT
# fill.sh TEMPLATE RILL RILLD: a page for scdoc. A line @commands@ becomes a section per command of rill, from its own
# table of options; @settings@ every setting of rilld, from its own template; @codes@ the errors of docs/protocol.md,
# @messages@ rilld.proto.
template=$1 rill=$2 rilld=$3
tab=$(printf '\t')

plain()
{
    sed 's/[\\_*]/\\&/g; s/^[.#-]/\\&/'
}

# The options of one command, as a list of terms.
options()
{
    "$rill" "$1" --options | awk -F '\t' '
        function plain(s) { gsub(/[\\_*]/, "\\\\&", s); return s }
        { printf "%s*--%s*%s\n\t%s\n\n", $2 != "" ? "*-" $2 "*, " : "", $1, $3 != "" ? " _" $3 "_" : "", plain($4) }'
    printf '*-h*, *--help*\n\tWhat stands here, in short.\n\n'
}

commands()
{
    "$rill" --commands | while IFS="$tab" read -r name usage summary; do
        printf '## rill %s %s\n\n' "$name" "$(echo "$usage" | plain)"
        echo "$summary" | plain | awk '{ print toupper(substr($0, 1, 1)) substr($0, 2) "." }'
        echo
        details=$("$rill" "$name" --help | awk 'NR <= 4 { next } /^Options:/ { exit } { print }')
        [ -z "$details" ] || printf '```\n%s\n```\n\n' "$details"
        options "$name"
    done
}

# Help and default of each setting; the template has comments of two kinds: "# words" and "#key = default".
settings()
{
    "$rilld" --print-config | awk '
        function plain(s) { gsub(/[\\_*]/, "\\\\&", s); return s }
        /^\[/ { printf "# SECTION %s\n\n", $0; started = 1; next }
        !started { next }
        /^# / { help = help "\t" plain(substr($0, 3)) "\n"; next }
        /^#/ {
            key = substr($0, 2); sub(/ .*/, "", key)
            value = $0; sub(/^[^=]*= */, "", value)
            printf "*%s*\n%s\tDefault: %s.\n\n", key, help, value == "" ? "empty" : "*" plain(value) "*"
            help = ""
        }'
}

codes()
{
    awk -F ' *[|] *' '/^[|] code [|]/ { on = 1; next } on && !/^[|]/ { exit }
        function plain(s) { gsub(/`/, "", s); gsub(/[\\_*]/, "\\\\&", s); return s }
        on && !/^[|]---/ { printf "*%s*, fatal for: %s\n\t%s.\n\n", plain($2), $3 == "-" ? "nothing" : plain($3), plain($4) }' \
        "$(dirname "$0")/../protocol.md"
}

messages()
{
    printf '```\n'
    cat "$(dirname "$0")/../../daemon/rilld.proto"
    printf '```\n'
}

while IFS= read -r line; do
    case $line in
    @commands@) commands ;;
    @settings@) settings ;;
    @codes@) codes ;;
    @messages@) messages ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$template"
