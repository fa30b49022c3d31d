#!/bin/sh
# Installs, updates or removes postern-agent on a board without dpkg.
#
#   install.sh [--prefix DIR] [--destdir DIR] [--remove]
#
# Programs go below the prefix (/usr/local), the units to /etc/systemd/system. With --destdir all
# files go below that folder, to make an image: systemd-sysusers then makes the users at the
# board's first start, and this machine is not checked. --remove keeps the state, the
# configuration and the users.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
files=$here/files
prefix=/usr/local
units="postern-agent.service postern-agent-claim.service postern-agent-prove.service"
units="$units postern-agent-prove.timer"
enabled="postern-agent.service postern-agent-prove.timer"
destdir=
remove=

fail() {
    echo "install.sh: $1" >&2
    exit 1
}

usage() {
    sed -n 's/^#   //p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case "$1" in
    --prefix | --destdir) [ $# -ge 2 ] || usage ;;
    esac
    case "$1" in
    --prefix) prefix=$2; shift ;;
    --destdir) destdir=$2; shift ;;
    --remove) remove=1 ;;
    *) usage ;;
    esac
    shift
done
case "$prefix" in /*) ;; *) fail "the prefix must be an absolute path, such as /usr/local" ;; esac

# Each line: a file of the package, its destination, its mode.
list() {
    echo "usr/bin/postern-agent $prefix/bin/postern-agent 755"
    echo "usr/bin/postern-agent-app $prefix/bin/postern-agent-app 755"
    for unit in $units; do
        echo "lib/systemd/system/$unit /etc/systemd/system/$unit 644"
    done
    echo "usr/lib/sysusers.d/postern-agent.conf /etc/sysusers.d/postern-agent.conf 644"
    echo "usr/lib/tmpfiles.d/postern-agent.conf /etc/tmpfiles.d/postern-agent.conf 644"
    (cd "$files" && find usr/share -type f ! -path 'usr/share/lintian/*' | sort) | while read -r file; do
        echo "$file $prefix/${file#usr/} 644"
    done
}

is_running() {
    [ -z "$destdir" ] && [ -d /run/systemd/system ]
}

# The names of a library's package: Debian's, Fedora's, Arch's.
package_of() {
    case "$1" in
    libmosquitto.so.*) echo "libmosquitto1 (Debian), mosquitto (Fedora, Arch)" ;;
    libssl.so.* | libcrypto.so.*) echo "libssl3 (Debian), openssl-libs (Fedora), openssl (Arch)" ;;
    libqrencode.so.*) echo "libqrencode4 (Debian), qrencode-libs (Fedora), qrencode (Arch)" ;;
    *) echo "the package that has $1" ;;
    esac
}

check() {
    # EI_CLASS and e_machine of the ELF header: 64-bit, and of this machine's kind.
    case "$(od -An -tx1 -j18 -N1 "$files/usr/bin/postern-agent" | tr -d ' ')" in
    3e) kind=x86_64 ;;
    b7) kind=aarch64 ;;
    *) fail "files/usr/bin/postern-agent is damaged; download the archive again" ;;
    esac
    [ "$(uname -m)" = "$kind" ] && [ "$(getconf LONG_BIT)" = 64 ] \
        || fail "this is for a 64-bit $kind system; this machine is $(uname -m)"
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "this needs glibc; systems with musl are not supported"
    libc=${libc#glibc }
    [ "${libc%%.*}" -gt 2 ] || { [ "${libc%%.*}" -eq 2 ] && [ "${libc#*.}" -ge 36 ]; } \
        || fail "this needs glibc 2.36 or later; this system has $libc"
    missing=$(ldd "$files/usr/bin/postern-agent" \
        | sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p')
    [ -z "$missing" ] || {
        for library in $missing; do
            echo "install.sh: $library is missing: install $(package_of "$library")" >&2
        done
        exit 1
    }
}

put() {
    mkdir -p "$destdir$(dirname "$2")"
    # The file is replaced by a rename, so a running program keeps its old file until it ends.
    case "$2" in
    *.service) sed "s|^ExecStart=/usr/bin/|ExecStart=$prefix/bin/|" "$files/$1" ;;
    *) cat "$files/$1" ;;
    esac >"$destdir$2.new"
    chmod "$3" "$destdir$2.new"
    mv "$destdir$2.new" "$destdir$2"
}

make_users() {
    if command -v systemd-sysusers >/dev/null; then
        systemd-sysusers postern-agent.conf
        return
    fi
    for group in postern-apps postern; do
        grep -q "^$group:" /etc/group || groupadd --system "$group"
    done
    grep -q "^postern:" /etc/passwd || useradd --system --gid postern --no-create-home \
        --home-dir /var/lib/postern --shell "$(command -v nologin || echo /bin/false)" postern
    for group in postern-apps tss video; do
        ! grep -q "^$group:" /etc/group || usermod -a -G "$group" postern
    done
}

install_all() {
    [ -n "$destdir" ] || check
    list | while read -r file place mode; do put "$file" "$place" "$mode"; done
    mkdir -p "$destdir/etc/postern"
    chmod 755 "$destdir/etc/postern"
    [ -z "$destdir" ] || return 0
    make_users
    install -d -m 700 -o postern -g postern /var/lib/postern
    ! command -v systemctl >/dev/null || systemctl --quiet enable $enabled
    if is_running; then
        systemctl daemon-reload
        systemctl try-restart $enabled
    fi
    cat <<TEXT
postern-agent is installed. The board's own broker, mosquitto, needs three files:
they are in $prefix/share/postern-agent/broker; the first lines of postern.conf name their places.
Then run: postern-agent setup
TEXT
}

remove_all() {
    if is_running; then systemctl stop $enabled; fi
    if [ -z "$destdir" ] && command -v systemctl >/dev/null; then
        systemctl --quiet disable $enabled
    fi
    list | while read -r _ place _; do rm -f "$destdir$place"; done
    for folder in postern-agent doc/postern-agent; do
        [ ! -d "$destdir$prefix/share/$folder" ] \
            || find "$destdir$prefix/share/$folder" -depth -type d -empty -exec rmdir {} \;
    done
    if is_running; then systemctl daemon-reload; fi
}

[ -n "$destdir" ] || [ "$(id -u)" = 0 ] || fail "only root may do this"
if [ -n "$remove" ]; then remove_all; else install_all; fi
