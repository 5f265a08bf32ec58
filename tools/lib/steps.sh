# shellcheck shell=bash
# Named and timed steps, one after the other or beside each other. To be sourced after setup.sh.

steps=$(mktemp -d "${TMPDIR:-/tmp}/healthkv-steps.XXXXXX")
lane=    # the name of the lane that this process is
lanes=() # their processes

# step NAME COMMAND...: a heading, the command, its time. The first one that fails ends the script under its name.
step() {
    if [ -z "$lane" ]; then
        run_step "$@"
        return
    fi
    # What runs beside others speaks when it has ended, and whole.
    local code=0
    (run_step "$@") >"$steps/$lane" 2>&1 </dev/null || code=$?
    until mkdir "$steps/speaking" 2>/dev/null; do sleep 0.1; done
    cat "$steps/$lane"
    rmdir "$steps/speaking"
    if [ $code -ne 0 ]; then exit $code; fi
}

# step_here NAME COMMAND...: a step that changes this shell.
step_here() {
    local name=$1 began=$SECONDS code=0
    shift
    printf '\n== %s\n' "$name"
    "$@" || code=$?
    end_step "$name" "$code" "$began"
}

run_step() {
    local name=$1 began=$SECONDS code=0
    shift
    printf '\n== %s\n' "$name"
    # In a process of its own: this one's children are lanes, too.
    (measured "$@") || code=$?
    end_step "$name" "$code" "$began" "$steps/worked$lane"
}

measured() {
    local code=0
    "$@" || code=$?
    note_work
    exit $code
}

# end_step NAME CODE BEGAN [FILE]: says how a step ended, and with the seconds in a file what it cost.
end_step() {
    local name=$1 code=$2 took=$((SECONDS - $3)) work=
    if [ "$code" -ne 0 ]; then
        printf '\nFailed: %s (exit %d after %s)\n' "$name" "$code" "$(duration "$took")"
        exit "$code"
    fi
    echo "$name" >>"$steps/done"
    if [ $# -gt 3 ]; then work=" (processors: $(duration "$(cat "$4")"))"; fi
    printf -- '-- %s: %s%s\n' "$name" "$(duration "$took")" "$work"
}

# Sets `worked` to the seconds that processors worked for what this process has waited for, and notes it: unlike the time on the clock it
# says what a step costs on a machine that others use, too.
worked=0
note_work() {
    local word seconds
    times >"$steps/times$lane" # not through a pipe: a process of its own has waited for nothing
    worked=0
    for word in $(tail -n 1 "$steps/times$lane"); do
        seconds=${word#*m}
        worked=$((worked + ${word%%m*} * 60 + ${seconds%%[.,]*}))
    done
    echo "$worked" >"$steps/worked$lane"
}

steps_done() { wc -l <"$steps/done" | tr -d ' '; }

# beside FUNCTION: runs its steps in a process of their own, beside what follows.
beside() {
    set -m # a process group of its own, which can be ended whole
    (
        set +m
        trap - EXIT
        lane=$1
        "$1"
    ) &
    set +m
    lanes+=($!)
}

# Waits for what was begun with beside. Where one has failed the script ends, and the others with it.
together() {
    local process code=0
    for process in ${lanes[@]+"${lanes[@]}"}; do
        wait "$process" || code=$?
        if [ $code -ne 0 ]; then exit $code; fi
    done
    lanes=()
}

end_steps() {
    local process
    for process in ${lanes[@]+"${lanes[@]}"}; do kill -- "-$process" 2>/dev/null || true; done
    rm -rf "$steps"
}
trap end_steps EXIT
