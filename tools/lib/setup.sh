# shellcheck shell=bash
# Functions that the tools share: finding and installing missing packages, and building. The script that sources this
# file has set `root` to the checkout. Written for bash 3.2, which macOS has.

EX_UNAVAILABLE=69
missing=()  # packages to install with this system's package manager

say() { printf '%s\n' "$*" >&2; }

stop() {  # stop CODE LINE...: prints the reason and ends the script
    local code=$1 line
    shift
    for line in "$@"; do say "$line"; done
    exit "$code"
}

# Prints the first seed of a random battery. A short run of tools/test derives it from the commit: each commit tries what
# none before it tried, and a run can be repeated. Otherwise it is drawn at random.
fresh_seed() {
    if [ -n "${HEALTHKV_FRESH_SEED:-}" ]; then
        echo "$HEALTHKV_FRESH_SEED"
    else
        od -An -N4 -tu4 /dev/urandom | tr -d ' '
    fi
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

has_any() {  # has_any COMMAND...: succeeds if one of them is installed
    local name
    for name in "$@"; do
        if command -v "$name" >/dev/null; then return; fi
    done
    return 1
}

# What building the package needs.
need_libraries() {
    need_swift
    need pkg-config pkgconf has_any pkg-config
    need liblmdb-dev lmdb pkg-config --exists lmdb
    need zlib1g-dev zlib has_zlib
}

# Independent programs that check a store.
need_judges() {
    need lmdb-utils lmdb has_any mdb_stat
    need python3 python3 has_any python3
    need python3-venv python3 python3 -c 'import ensurepip, venv'
}

# Counts instructions; not available for macOS.
need_valgrind() { if [ "$(uname -s)" = Linux ]; then need valgrind "" has_any valgrind; fi; }

# The databases that the benchmarks compare with; prepare_python installs DuckDB.
need_contestants() {
    need libsqlite3-dev sqlite has_sqlite
    need librocksdb-dev rocksdb has_rocksdb
    need libssl-dev "" has_crypto
    need python3 python3 has_any python3
    need python3-venv python3 python3 -c 'import ensurepip, venv'
}

# The cipher of the sealed contestant; the SDK of macOS has one.
has_crypto() { [ "$(uname -s)" = Darwin ] || pkg-config --exists libcrypto; }

# Programs that read exports of Apple Health, to compare with.
need_parsers() {
    need libxml2-utils libxml2 has_any xmllint
    need expat expat has_any xmlwf
}

# Both are in the SDK of macOS.
has_zlib() { [ "$(uname -s)" = Darwin ] || pkg-config --exists zlib; }
has_sqlite() { [ "$(uname -s)" = Darwin ] || pkg-config --exists sqlite3; }
has_rocksdb() { pkg-config --exists rocksdb || [ -f /usr/include/rocksdb/c.h ]; }

# The tools use a separate Python environment, because Debian manages the system's. 3.0 is the first lmdb that can
# verify.
packages_for_python() {
    local numpy=2.4.6
    # The last numpy for Python 3.10, which Ubuntu 22.04 has.
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

# Installs the packages that `need` noted. Without root or sudo, prints the command and stops.
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
        stop $EX_UNAVAILABLE "No apt-get here. Install the content of these Debian packages, then run this again:" "" \
            "    ${missing[*]}"
    fi
    local become=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! can_become_root; then
            stop $EX_UNAVAILABLE "Packages are missing, and there is neither root nor a working sudo here. Run as root:" "" \
                "    apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
        fi
        become=(sudo)
    fi
    say "Installing: ${missing[*]}"
    # A fresh machine's own updates may hold the lock; without Use-Pty, dpkg draws no progress bar.
    become+=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0)
    "${become[@]}" update
    "${become[@]}" install -y --no-install-recommends "${missing[@]}" >&2
}

can_become_root() {  # without a password, or with one typed at a terminal
    command -v sudo >/dev/null && { sudo -n true 2>/dev/null || { [ -t 0 ] && [ -t 2 ]; }; }
}

# swift_in PACKAGE COMMAND ARGUMENTS...: runs `swift COMMAND` in a package. Within tools/test, all packages are built in
# one folder with the same options, so that nothing is built twice. Warnings are errors there instead of in the
# manifest, where they would affect all packages that depend on this one.
swift_in() {
    local package=$1 command=$2
    shift 2
    if [ -n "${HEALTHKV_TEST_BUILD:-}" ]; then
        set -- --scratch-path "$HEALTHKV_TEST_BUILD" -Xswiftc -warnings-as-errors -Xswiftc -enable-testing "$@"
    fi
    swift "$command" --package-path "$package" "$@"
}

# release PACKAGE PRODUCT...: builds programs and sets `programs` to their folder. tools/test skips the build if it has
# just built them.
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
