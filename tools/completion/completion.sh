#!/bin/sh
# SPDX-License-Identifier: MIT
# completion.sh RILL bash|zsh: completion for a shell, made of the tables that rill parses its options by.
# A value that is called a|b is one of a and b, NAME and MODEL after --model is a model; other values are files.
rill=$1
tab=$(printf '\t')

names()
{
    "$rill" --commands | cut -f 1
}

verbs()
{
    "$rill" ctl --help | awk '/^Verbs:/ { on = 1; next } /^$/ { on = 0 } on && /^  [a-z]/ { print $1 }' | sort -u
}

# The body of a case per command: words that begin with a dash, and what comes after some of them.
bash_case()
{
    "$rill" "$1" --options | awk -F '\t' -v name="$1" '
        {
            words = words " --" $1 ($2 != "" ? " -" $2 : "")
            if ($3 == "")
                next
            key = "--" $1 ($2 != "" ? "|-" $2 : "")
            value = $3
            if (value ~ /^[a-z]+([|][a-z]+)+$/) { gsub(/[|]/, " ", value); after = after "        " key ") choices=\"" value "\" ;;\n" }
            else if ($1 == "model") after = after "        " key ") choices=$(_rill_models) ;;\n"
            else files = files (files != "" ? "|" : "") key
        }
        END { printf "    %s)\n        options=\"%s --help -h\"\n", name, substr(words, 2)
              if (files != "") after = after "        " files ") files=1 ;;\n"
              if (after != "") printf "        case $prev in\n%s        esac\n", after
              printf "        ;;\n" }'
}

bash_file()
{
    cat <<EOF
# bash completion for rill; made from its tables of options
_rill_models()
{
    rill models 2>/dev/null | awk '{ print \$1 }'
}

_rill()
{
    local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]}
    local options= choices= files=
    COMPREPLY=()
    if [ "\$COMP_CWORD" = 1 ]; then
        COMPREPLY=(\$(compgen -W "$(names | tr '\n' ' ')--help --version" -- "\$cur"))
        return
    fi
    case \$command in
EOF
    names | while read -r name; do bash_case "$name"; done
    cat <<EOF
    esac
    case \$cur in
    -*) [ -n "\$choices\$files" ] || choices=\$options ;;
    *) [ "\$command" != ctl ] || [ -n "\$choices\$files" ] || choices="$(verbs | tr '\n' ' ')" ;;
    esac
    if [ -n "\$choices" ]; then
        COMPREPLY=(\$(compgen -W "\$choices" -- "\$cur"))
    else
        compopt -o filenames 2>/dev/null
        local IFS=\$'\n'
        COMPREPLY=(\$(compgen -f -- "\$cur"))
    fi
}
complete -F _rill rill
EOF
}

zsh_case()
{
    printf '    (%s)\n        _arguments -s \\\n' "$1"
    "$rill" "$1" --options | awk -F '\t' '
        function plain(s) { gsub(/[][\\:]/, "\\\\&", s); gsub(/\047/, "\047\\\047\047", s); return s }
        {
            if ($3 == "") after = ""
            else if ($3 ~ /^[a-z]+([|][a-z]+)+$/) { v = $3; gsub(/[|]/, " ", v); after = ":value:(" v ")" }
            else if ($1 == "model") after = ":model:_rill_models"
            else after = ":" plain($3) ":_files"
            text = "[" plain($4) "]" after
            if ($2 == "") printf "            \047*--%s%s\047 \\\n", $1, text
            else printf "            \047*\047{-%s,--%s}\047%s\047 \\\n", $2, $1, text
        }'
    printf "            '(-h --help)'{-h,--help}'[help]' \\\\\n"
    [ "$1" != ctl ] || printf "            '1:verb:(%s)' \\\\\n" "$(verbs | tr '\n' ' ' | sed 's/ $//')"
    printf "            '*:file:_files'\n        ;;\n"
}

zsh_file()
{
    cat <<'EOF'
#compdef rill
# zsh completion for rill; made from its tables of options
_rill_models()
{
    compadd -- ${(f)"$(rill models 2>/dev/null | awk '{ print $1 }')"}
}

_rill()
{
    local -a commands
    commands=(
EOF
    "$rill" --commands | while IFS="$tab" read -r name _ summary; do
        printf "        '%s:%s'\n" "$name" "$(echo "$summary" | sed "s/'/'\\\\''/g")"
    done
    cat <<'EOF'
    )
    if (( CURRENT == 2 )); then
        _describe 'command' commands
        return
    fi
    shift words
    (( CURRENT-- ))
    case $words[1] in
EOF
    names | while read -r name; do zsh_case "$name"; done
    printf '    esac\n}\n_rill "$@"\n'
}

case $2 in
bash) bash_file ;;
zsh) zsh_file ;;
*) echo "completion.sh RILL bash|zsh" >&2; exit 2 ;;
esac
