#!/bin/sh
# SPDX-License-Identifier: MIT
# abi.sh finds changes that are planted in a copy of the dump, and tells additions from what breaks programs.
here=$(dirname "$0")
. "$here/../lib.sh"
if ! command -v abidiff >/dev/null; then
    echo "no abidiff: apt-get install abigail-tools"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
u32=$(sed -n "s/.*typedef-decl name='uint32_t' .* id='\([^']*\)'.*/\1/p" "$here/librill.abi")
# type_of FUNCTION ARGUMENT
type_of()
{
    sed -n "/function-decl name='$1'/,/<\/function-decl>/s/.*<parameter type-id='\([^']*\)' name='$2'.*/\1/p" "$here/librill.abi"
}
# bits_of STRUCT: its size
bits_of()
{
    sed -n "s/.*class-decl name='$1' size-in-bits='\([0-9]*\)'.*/\1/p" "$here/librill.abi"
}
any=$(type_of rill_stream_push x) floats=$(type_of rill_sink_push x)
breaks="programs linked with this soname" adds="after an addition"

# planted CODE SAYS WORDS SED-EXPRESSION
planted()
{
    echo "$3"
    sed "$4" "$here/librill.abi" >"$dir/planted.abi"
    check "$3: the dump is changed" "$(cmp -s "$dir/planted.abi" "$here/librill.abi" && echo "it is the same")"
    expect "$1" "$2" "$here/abi.sh" "$dir/planted.abi"
}

# in_struct NAME COMMANDS, in_function NAME COMMANDS: of sed, for the lines of one.
in_struct()
{
    printf "/class-decl name='%s' size/,/<\/class-decl>/{%s}" "$1" "$2"
}
in_function()
{
    printf "/function-decl name='%s'/,/<\/function-decl>/{%s}" "$1" "$2"
}

# field_behind STRUCT: sed puts one of 64 bits at its end.
field_behind()
{
    set -- "$(bits_of "$1")"
    printf "s/size-in-bits='%s'/size-in-bits='%s'/;s|</class-decl>|<data-member access='public' layout-offset-in-bits='%s'>" \
        "$1" $(($1 + 64)) "$1"
    printf "<var-decl name='later' type-id='%s' visibility='default'/></data-member>&|" "$u32"
}

planted 0 "2 passed" "nothing" "1s/'2\.1'/'2.1' /"
planted 1 "$breaks" "a field less" "$(in_struct rill_plan_opts "/layout-offset-in-bits='64'/,/<\/data-member>/d")"
planted 1 "$breaks" "a field elsewhere" "$(in_struct rill_plan_opts "s/layout-offset-in-bits='64'/layout-offset-in-bits='96'/")"
planted 1 "$adds" "a field more at the end" "$(in_struct rill_plan_opts "$(field_behind rill_plan_opts)")"
planted 1 "$breaks" "and one of another type" "$(in_struct rill_plan_opts "$(field_behind rill_plan_opts);s/\(name='max_bytes'\) type-id='[^']*'/\1 type-id='$u32'/")"
planted 1 "$breaks" "a field more of a struct without a size" "$(in_struct rill_word "$(field_behind rill_word)")"
planted 1 "$breaks" "another value" "s/\(name='RILL_PORT_AUDIO' value\)='1'/\1='9'/"
planted 1 "$adds" "a value more" "s|^\(.*\)<enumerator name='RILL_PORT_ATTENTION' value='6'/>|&<enumerator name='RILL_LATER' value='7'/>|"
planted 1 "$breaks" "another type of what is returned" "$(in_function rill_plan_stream_size "s/<return type-id='[^']*'/<return type-id='$u32'/")"
planted 1 "$breaks" "an argument less" "$(in_function rill_model_metadata "/name='key'/d")"
planted 1 "$adds" "any pointer where it was one of a type" "$(in_function rill_sink_push "s/type-id='[^']*' name='x'/type-id='$any' name='x'/")"
planted 1 "$breaks" "a pointer of a type where it was any" "$(in_function rill_stream_push "s/type-id='[^']*' name='x'/type-id='$floats' name='x'/")"
planted 1 "$breaks" "any pointer, and an argument of another type" "$(in_function rill_sink_push "s/type-id='[^']*' name='x'/type-id='$any' name='x'/;s/type-id='[^']*' name='n_frames'/type-id='$u32' name='n_frames'/")"
planted 1 "$breaks" "a function less" "/elf-symbol name='rill_version'/d;$(in_function rill_version d)"
planted 1 "$adds" "a function more" "s|^.*elf-symbol name='rill_version'.*|&\n&|;s|elf-symbol name='rill_version'|elf-symbol name='rill_later'|"
planted 1 "after an addition" "another soname" "1s/librill.so.0/librill.so.1/"
finish
