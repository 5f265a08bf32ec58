# shellcheck shell=bash
# What the tools share: finding and installing what is missing, and building. To be sourced by a script that has set
# `root` to the checkout. Written for bash 3.2, which is what macOS has.

EX_UNAVAILABLE=69
missing=()  # packages of this system's package manager that have to be installed

say() { printf '%s\n' "$*" >&2; }

stop() {  # stop CODE LINE...: says why and ends the script
    local code=$1 line
    shift
    for line in "$@"; do say "$line"; done
    exit "$code"
}

need_swift() {
    if ! command -v swift >/dev/null; then
        stop $EX_UNAVAILABLE "No swift in PATH. Install Swift 6.2 or later (https://swift.org/install), then run this again."
    fi
}

# need DEBIAN_PACKAGE HOMEBREW_FORMULA CHECK...: notes the package as missing unless the check succeeds.
need() {
    local debian=$1 homebrew=$2
    shift 2
    if "$@" >/dev/null 2>&1; then return; fi
    if [ "$(uname -s)" = Darwin ]; then missing+=("$homebrew"); else missing+=("$debian"); fi
}

has_any() {  # has_any COMMAND...: whether one of them is there
    local name
    for name in "$@"; do
        if command -v "$name" >/dev/null; then return; fi
    done
    return 1
}

need_lmdb() {
    need_swift
    need pkg-config pkgconf has_any pkg-config
    need liblmdb-dev lmdb pkg-config --exists lmdb
}

# The programs that judge a store beside this project's own.
need_judges() {
    need lmdb-utils lmdb has_any mdb_stat
    need python3 python3 has_any python3
    need python3-venv python3 python3 -c 'import ensurepip, venv'
}

# Counts instructions; there is none for macOS.
need_valgrind() { if [ "$(uname -s)" = Linux ]; then need valgrind "" has_any valgrind; fi; }

# What the benchmarks compare with; DuckDB comes with prepare_python.
need_contestants() {
    need libsqlite3-dev sqlite has_sqlite
    need librocksdb-dev rocksdb has_rocksdb
    need python3 python3 has_any python3
    need python3-venv python3 python3 -c 'import ensurepip, venv'
}

# The SDK of macOS has it.
has_sqlite() { [ "$(uname -s)" = Darwin ] || pkg-config --exists sqlite3; }
has_rocksdb() { pkg-config --exists rocksdb || [ -f /usr/include/rocksdb/c.h ]; }

# The tools' Python stands apart from the system's, which Debian manages itself. 3.0 is the first lmdb that can verify.
packages_for_python() {
    local numpy=2.4.6
    # The last one for Python 3.10, which Ubuntu 22.04 has.
    if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then numpy=2.2.6; fi
    echo "lmdb==3.0.0 duckdb==2.0.0 numpy==$numpy"
}

prepare_python() {
    local home=$root/.build/python packages
    packages=$(packages_for_python)
    export PATH="$home/bin:$PATH"
    if [ "$(cat "$home/.holds" 2>/dev/null)" = "$packages" ] && python3 -c 'import lmdb, duckdb, numpy' 2>/dev/null; then
        return
    fi
    say "Installing for Python: $packages"
    # shellcheck disable=SC2086  # one word a package
    rm -rf "$home" &&
        python3 -m venv "$home" &&
        "$home/bin/python3" -m pip install --quiet --disable-pip-version-check $packages &&
        echo "$packages" >"$home/.holds"
}

# Installs what was noted. Without root and without a way to become it, prints the command and stops.
install_missing() {
    if [ ${#missing[@]} -eq 0 ]; then return; fi
    case $(uname -s) in
        Darwin) install_with_homebrew ;;
        *) install_with_apt ;;
    esac
    missing=()
}

install_with_homebrew() {
    if ! command -v brew >/dev/null; then
        stop $EX_UNAVAILABLE "Homebrew is not installed (https://brew.sh). With it, run:" "" "    brew install ${missing[*]}"
    fi
    say "Installing: ${missing[*]}"
    HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet "${missing[@]}"
}

install_with_apt() {
    if ! command -v apt-get >/dev/null; then
        stop $EX_UNAVAILABLE "No apt-get here. Install what these Debian packages hold, then run this again:" "" \
            "    ${missing[*]}"
    fi
    local become=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! can_become_root; then
            stop $EX_UNAVAILABLE "Packages are missing, and there is neither root nor a sudo that works here. Run as root:" "" \
                "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        fi
        become=(sudo)
    fi
    say "Installing: ${missing[*]}"
    # The lock may be held by a fresh machine's own updates; without Use-Pty, dpkg draws no progress.
    become+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    "${become[@]}" update
    "${become[@]}" install -y --no-install-recommends "${missing[@]}" >&2
}

can_become_root() {  # without a password, or with one that somebody at a terminal can type
    command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ]; }; }
}

# swift_in PACKAGE COMMAND ARGUMENTS...: `swift COMMAND` in a package. Below tools/test, which names a folder, all packages are built
# there and alike, so that nothing is built twice: the library is the same in each. Warnings are errors there and not in the manifest,
# where they would be errors for whoever depends on this package.
swift_in() {
    local package=$1 command=$2
    shift 2
    if [ -n "${HEALTHKV_TEST_BUILD:-}" ]; then
        set -- --scratch-path "$HEALTHKV_TEST_BUILD" -Xswiftc -warnings-as-errors -Xswiftc -enable-testing "$@"
    fi
    swift "$command" --package-path "$package" "$@"
}

# release PACKAGE PRODUCT...: builds programs and sets `programs` to their folder. tools/test says when it has just built them.
release() {
    local package=$1 product
    shift
    programs=${HEALTHKV_TEST_BUILD:-}/release
    if [ -n "${HEALTHKV_JUST_BUILT:-}" ]; then return; fi
    for product in "$@"; do swift_in "$package" build -c release --product "$product" >&2 || return; done
    programs=$(swift_in "$package" build -c release --show-bin-path)
}

duration() {
    if [ "$1" -lt 60 ]; then printf '%d s' "$1"; else printf '%d min %02d s' $(($1 / 60)) $(($1 % 60)); fi
}
