#!/bin/sh
# SPDX-License-Identifier: MIT
# completion.sh RILL FOLDER: what the shells offer after some words.
. "$(dirname "$0")/../lib.sh"
skipped=0
rill=$(cd "$(dirname "$1")" && pwd)/$(basename "$1") made=$(cd "$2" && pwd)
export PATH="$(dirname "$rill"):$PATH"
cd "$(dirname "$0")" || exit 1

# offers WORDS CANDIDATES...: the candidates are among what bash offers for the last of WORDS, and all of that begins with it.
offers()
{
    words=$1
    shift
    got=$(bash -c 'source "$1"; read -ra COMP_WORDS <<<"$2"; [[ $2 != *" " ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rill rill "${COMP_WORDS[COMP_CWORD]}" x; printf "%s\n" "${COMPREPLY[@]}"' \
        - "$made/rill" "$words" 2>&1)
    for want in "$@"; do
        case "
$got
" in
        *"
$want
"*) pass ;;
        *) fail "after '$words' no $want, but $got" ;;
        esac
    done
}

# offers_not WORDS CANDIDATE
offers_not()
{
    offers "$1" "$2" >/dev/null
    [ -n "$got" ] && ! printf '%s\n' "$got" | grep -qx -e "$2" && { pass; failed=$((failed - 1)); return; }
    fail "after '$1' there is $2, or nothing: $got"
}

if command -v bash >/dev/null; then
    offers "rill " bench denoise stream transcribe vad --help
    offers "rill de" denoise devices
    offers_not "rill de" bench
    offers "rill stream --" --model --socket --pace --json --help
    offers_not "rill stream --" --streams
    offers "rill stream --pace " file live
    offers "rill stream --model " rill-denoise wiener
    offers "rill stream -m wi" wiener
    offers "rill ctl " status sessions reload drain
    offers "rill ctl re" reload
    offers "rill ctl --js" --json
    offers "rill denoise comp" completion.sh
else
    echo "skipped: no bash"
    skipped=$((skipped + 1))
fi
for c in $("$rill" --commands | cut -f 1); do
    for o in $("$rill" "$c" --options | cut -f 1); do
        if sed -n "/^    ($c)\$/,/;;/p" "$made/_rill" | grep -q -e "--$o[[}]"; then pass; else fail "zsh does not know rill $c --$o"; fi
    done
done
if command -v zsh >/dev/null; then
    if said=$(zsh -n "$made/_rill" 2>&1); then pass; else fail "zsh: $said"; fi
else
    echo "skipped: no zsh"
    skipped=$((skipped + 1))
fi
finish
