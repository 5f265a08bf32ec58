# shellcheck shell=bash
# Named and timed steps, sequential or parallel. Source this file after setup.sh.

steps=$(mktemp -d "${TMPDIR:-/tmp}/healthkv-steps.XXXXXX")
lane=    # the name of this process's lane; empty for the main process
lanes=() # their processes
lane_names=()
limit=   # a step is stopped after so many seconds; empty: never

# step NAME COMMAND...: prints a heading, runs the command, and prints its time. The first failing step ends the script.
step() {
    if [ -z "$lane" ]; then
        # A lane has failed: what would follow is for nothing.
        if [ -e "$steps/failed" ]; then together; fi
        run_step "$@"
        return
    fi
    # A parallel step prints its whole output after it has ended.
    local code=0
    (run_step "$@") >"$steps/$lane" 2>&1 </dev/null || code=$?
    until mkdir "$steps/speaking" 2>/dev/null; do sleep 0.1; done
    cat "$steps/$lane"
    rmdir "$steps/speaking"
    if [ $code -ne 0 ]; then
        touch "$steps/failed"
        exit $code
    fi
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
    # Use a separate process, because the children of this one include the lanes.
    (measured "$@") || code=$?
    end_step "$name" "$code" "$began" "$steps/worked$lane"
}

measured() {
    local code=0 own watch=
    if [ -n "$limit" ] && [ -r /proc/self/task ]; then
        own=$BASHPID # before the background process, which has another
        watch_step "$own" &
        watch=$!
        # Also if the command calls exit: what waits would hold this script's output open until the limit.
        trap 'kill $(below "$watch") "$watch" 2>/dev/null || true' EXIT
    fi
    "$@" || code=$?
    note_work
    exit $code
}

# watch_step PROCESS: waits for the limit, then prints what the processes of the step do, and ends them. A step that
# waits for ever would otherwise end with the machine, without a word.
watch_step() {
    sleep "$limit"
    local process name all=()
    for process in $(below "$1"); do
        if [ "$process" != "$BASHPID" ] && [ -r "/proc/$process/stat" ]; then all+=("$process"); fi
    done
    printf '\nThe step runs for more than %s. Its processes, and where they are:\n' "$(duration "$limit")"
    for process in "${all[@]}"; do
        printf '%s of %s, %s: %s\n' "$process" "$(field "$process" PPid)" "$(field "$process" State)" \
            "$(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | cut -c 1-300)"
    done
    for process in "${all[@]}"; do
        name=$(cat "/proc/$process/comm" 2>/dev/null) || true
        case $name in bash | sh | sleep | timeout | tee | '') continue ;; esac
        printf '\nThreads of %s:\n' "$process"
        if command -v gdb >/dev/null; then
            timeout 120 gdb --batch -p "$process" -ex 'thread apply all backtrace' 2>&1 </dev/null |
                grep '^Thread\|^#' | cut -c 1-300 | head -n 400 || true
        else
            cat "/proc/$process/task/"*/wchan 2>/dev/null || true
            # A program of Swift prints its threads when it gets this.
            kill -ABRT "$process" 2>/dev/null || true
            sleep 30
        fi
    done
    for process in "${all[@]}"; do kill -KILL "$process" 2>/dev/null || true; done
}

field() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status" 2>/dev/null; }

# below PROCESS: prints the processes that descend from a process.
below() {
    local child
    for child in $(cat "/proc/$1/task/"*/children 2>/dev/null); do
        echo "$child"
        below "$child"
    done
}

# end_step NAME CODE BEGAN [FILE]: prints the result of a step and, with a FILE that has its processor seconds, its
# cost.
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

# Sets `worked` to the processor seconds of the children that this process has waited for, and writes it to a file.
# Unlike the elapsed time, this is the cost of a step on a machine that others use, too.
worked=0
note_work() {
    local word seconds
    times >"$steps/times$lane" # not in a pipe, whose subshell has no children
    worked=0
    for word in $(tail -n 1 "$steps/times$lane"); do
        seconds=${word#*m}
        worked=$((worked + ${word%%m*} * 60 + ${seconds%%[.,]*}))
    done
    echo "$worked" >"$steps/worked$lane"
}

steps_done() { wc -l <"$steps/done" | tr -d ' '; }

# beside FUNCTION: runs the steps of a function in a separate process, in parallel to the following steps.
beside() {
    set -m # starts a separate process group, which can be killed as a whole
    (
        set +m
        trap - EXIT
        lane=$1
        "$1"
        touch "$steps/passed-$lane"
    ) &
    set +m
    lanes+=($!)
    lane_names+=("$1")
}

# Waits for the processes that `beside` started. If one has failed, repeats the end of what its step printed, because
# thousands of lines may have followed it, and ends the script and the other processes.
together() {
    local number code
    for number in ${lanes[@]+"${!lanes[@]}"}; do
        # A shell forgets a process that ended long ago when another gets its number. So a file says that a lane passed.
        code=0
        wait "${lanes[number]}" 2>/dev/null || code=$?
        if [ ! -e "$steps/passed-${lane_names[number]}" ]; then
            if [ "$code" -eq 0 ]; then code=1; fi
            printf '\nWhat failed beside the other steps:\n'
            tail -n 100 "$steps/${lane_names[number]}"
            exit "$code"
        fi
    done
    lanes=() lane_names=()
}

end_steps() {
    local number
    for number in ${lanes[@]+"${!lanes[@]}"}; do
        # The number of a lane that has passed may be another process's by now.
        if [ -e "$steps/passed-${lane_names[number]}" ]; then continue; fi
        kill -- "-${lanes[number]}" 2>/dev/null || true
    done
    rm -rf "$steps"
}
trap end_steps EXIT
