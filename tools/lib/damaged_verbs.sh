# shellcheck shell=bash
# Runs the verbs of kvinspect on damaged files as processes: none may be ended by a signal, take over five seconds of
# processor time, or change the file, and a repaired store must be clean, and the same after a second repair.

# The verbs that read, with their words behind the store.
damaged_verbs=(
    info types sources anchors pending conflicts hash check pages "page 5" dump "dump --all" "dump --salvage"
    "dump --skip-damaged" "scan --type stepCount" "stats --type stepCount --by day --tz UTC" changes
)

# make_store KVINSPECT FOLDER: makes a store of some types, with deletions and several commits.
make_store() {
    awk 'BEGIN {
        for (n = 0; n < 6000; n++) {
            type = n % 3 == 0 ? "bodyMass" : n % 3 == 1 ? "stepCount" : "heartRate"
            unit = n % 3 == 0 ? "kg" : n % 3 == 1 ? "count" : "count/min"
            printf "{\"type\":\"%s\",\"start\":\"2024-%02d-%02dT%02d:%02d:00Z\",\"value\":%d,\"unit\":\"%s\",\"source\":\"S%d\"}\n", \
                type, n % 12 + 1, n % 28 + 1, n % 24, n % 60, n % 97 + 40, unit, n % 5
        }
    }' | "$1" load "$2" - >/dev/null 2>&1
}

# number LIMIT: prints a random number below the limit.
number() { echo $(((RANDOM << 15 | RANDOM) % $1)); }

# damage_file FILE: damages it in one of some ways, and prints which.
damage_file() {
    local file=$1 size pages page
    size=$(($(wc -c <"$file")))
    pages=$((size / 4096))
    page=$(number $pages)
    case $(number 7) in
        0) dd if=/dev/zero of="$file" bs=4096 seek="$page" count=1 conv=notrunc status=none && echo "page $page zeroed" ;;
        1) dd if=/dev/urandom of="$file" bs=4096 seek="$page" count=1 conv=notrunc status=none && echo "page $page noise" ;;
        2) truncate -s $((page * 4096 + $(number 4096))) "$file" && echo "cut in page $page" ;;
        3)
            local place
            place=$(number "$size")
            dd if=/dev/urandom of="$file" bs=1 seek="$place" count=1 conv=notrunc status=none && echo "byte $place"
            ;;
        4) dd if=/dev/zero of="$file" bs=4096 count=2 conv=notrunc status=none && echo "metas zeroed" ;;
        5)
            dd if="$file" of="$file" bs=4096 skip="$page" seek="$(number $pages)" count=1 conv=notrunc status=none &&
                echo "page $page copied"
            ;;
        6) truncate -s $((size * 1000)) "$file" && echo "a thousand times longer" ;;
    esac
}

# ask WORDS...: runs a command; prints its code, which is above 128 if a signal ended it.
ask() {
    local code=0
    (ulimit -c 0 -t 5 && exec timeout -s KILL 60 "$@") >"$asked/out" 2>"$asked/errors" </dev/null || code=$?
    echo $code
}

# ask_all KVINSPECT FOLDER WHAT: asks every verb about the store in a folder; prints what goes wrong.
ask_all() {
    local tool=$1 folder=$2 what=$3 verb code before
    before=$(cksum <"$folder/data.mdb")
    for verb in "${damaged_verbs[@]}"; do
        # shellcheck disable=SC2086
        code=$(ask "$tool" ${verb%% *} "$folder" $([ "$verb" = "${verb#* }" ] || echo "${verb#* }"))
        [ "$code" -le 2 ] || echo "$what: '$verb' ended with $code"
    done
    code=$(ask "$tool" report "$folder" -o "$asked/page.html" --force)
    [ "$code" -le 2 ] || echo "$what: 'report' ended with $code"
    rm -rf "$asked/new" "$asked/again"
    code=$(ask "$tool" repair "$folder" --output "$asked/new")
    case $code in
        0 | 3 | 4)
            [ "$(ask "$tool" check "$asked/new")" = 0 ] || echo "$what: the repaired store is not clean"
            [ "$(ask "$tool" repair "$asked/new" --output "$asked/again")" = 0 ] ||
                echo "$what: a second repair finds damage"
            [ "$("$tool" hash "$asked/new" 2>/dev/null)" = "$("$tool" hash "$asked/again" 2>/dev/null)" ] ||
                echo "$what: a second repair changes the store"
            ;;
        1 | 2) ;;
        *) echo "$what: 'repair' ended with $code" ;;
    esac
    [ "$(cksum <"$folder/data.mdb")" = "$before" ] || echo "$what: a verb changed the file"
}

# ask_damaged KVINSPECT COUNT SEED: damages copies of a store and asks every verb about each. Prints one line of result;
# returns 1 if anything went wrong.
ask_damaged() {
    local tool=$1 count=$2 seed=$3 asked number_of_file what wrong=0
    asked=$(mktemp -d "$scratch/asked.XXXXXX")
    RANDOM=$((seed % 32768))
    make_store "$tool" "$asked/store" || { say "The store to damage cannot be made."; return 1; }
    for ((number_of_file = 0; number_of_file < count; number_of_file++)); do
        rm -rf "$asked/damaged"
        mkdir "$asked/damaged"
        cp "$asked/store/data.mdb" "$asked/damaged/"
        what="file $number_of_file, $(damage_file "$asked/damaged/data.mdb")"
        ask_all "$tool" "$asked/damaged" "$what" >"$asked/wrong"
        if [ -s "$asked/wrong" ]; then
            cat "$asked/wrong" >&2
            wrong=$((wrong + 1))
        fi
    done
    rm -rf "$asked"
    echo "asked $((count * (${#damaged_verbs[@]} + 5))) verbs about $count files, wrong $wrong"
    [ $wrong -eq 0 ]
}
