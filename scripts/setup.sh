#!/bin/sh
# Sets up a fresh checkout: installs the dependencies and the pinned Node, builds the pages and, with --test, installs the
# Debian packages that tests need; with --apps, those of the applications of `npm run test:apps` too. With --dependencies it
# stops before the pages; with --long, it installs those of the long suite. Does nothing when everything is installed.
set -eu
cd "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$1" >&2; }

# Installs Debian packages, or says which ones are needed for what.
install_packages() {
  purpose=$1
  shift
  if ! command -v apt-get >/dev/null; then
    say "$purpose these packages, but there is no apt-get to install them: $*"
    exit 1
  fi
  root=''
  if [ "$(id -u)" != 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "$purpose Debian packages; as root, run: apt-get install -y $*"
      exit 1
    fi
    root=sudo
  fi
  say "installing Debian packages: $*"
  $root apt-get update -qq >&2
  DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends "$@" >&2
}

# Node needs libatomic, which slim images lack; the loader's own message names no package.
require_runtime() {
  problem=$(node_modules/.bin/node --version 2>&1 >/dev/null) && return
  case $problem in
    *libatomic.so.1*)
      case "${1:-}" in --test | --apps | --long)
        install_packages 'the pinned Node needs' libatomic1
        node_modules/.bin/node --version >/dev/null
        return
        ;;
      esac
      say 'the pinned Node needs libatomic, which this system lacks. Install it and run this again:'
      say '  Debian, Ubuntu: apt-get install -y libatomic1    Fedora: dnf install libatomic    Alpine is not supported: it has no glibc'
      ;;
    *) say "the pinned Node does not start on this system: $problem" ;;
  esac
  exit 1
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  say 'Adit needs Node.js 20 or newer with npm, and there is none here. Install it from https://nodejs.org and run this again.'
  exit 1
fi

# Not `npm ci`, which also accepts the lock file: it would install everything again after each change of it.
install_dependencies() {
  npm install --include=dev --no-save --ignore-scripts --no-audit --no-fund --no-update-notifier --loglevel=error >&2
}

stamp=node_modules/.installed
checksum=$(cksum package-lock.json | cut -d' ' -f1,2)
if [ ! -x node_modules/.bin/node ] || [ "$(cat "$stamp" 2>/dev/null || true)" != "$checksum" ]; then
  say 'installing dependencies (a minute or two, once)'
  install_dependencies
  # The only install script that is needed: it installs the pinned Node.
  (cd node_modules/node && node installArchSpecificPackage.js >/dev/null)
  ln -sf ../node/bin/node node_modules/.bin/node
  require_runtime "${1:-}"
  # npm leaves out optional packages that do not support the Node it runs on, such as that of the bundler below Node 20.19.
  if ! ls -d node_modules/@rolldown/binding-* >/dev/null 2>&1; then
    PATH="$PWD/node_modules/.bin:$PATH" install_dependencies
  fi
  printf '%s' "$checksum" >"$stamp"
fi

[ "${1:-}" != --dependencies ] || exit 0

# The browser pages: built when they are missing or older than their sources.
node_modules/.bin/node scripts/build-pages.ts

case "${1:-}" in --test | --apps | --long) ;; *) exit 0 ;; esac

missing_packages() {
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf ' %s' "$package"
  done
}

missing=$(missing_packages postgresql strace openssh-server openssh-client chromium chromium-headless-shell pebble bind9 bind9-dnsutils nsd curl openssl python3 tmux libnss3-tools zbar-tools nginx libnginx-mod-stream haproxy zsh fish jq xz-utils)
# shellcheck disable=SC2086 # A list of words.
[ -z "$missing" ] || install_packages 'tests need' $missing

if [ "$1" = --long ]; then
  missing=$(missing_packages pgbouncer)
  # shellcheck disable=SC2086 # A list of words.
  [ -z "$missing" ] || (install_packages 'tests of poolers need' $missing) || say 'tests of poolers are skipped'
fi

[ "$1" = --apps ] || exit 0

missing=$(missing_packages ca-certificates cadaver docker-registry faketime ffmpeg git python3-venv rclone redis-server restic skopeo)
command -v go >/dev/null || missing="$missing golang-go"
command -v java >/dev/null || missing="$missing default-jdk-headless"
command -v mvn >/dev/null || missing="$missing maven"
# shellcheck disable=SC2086 # A list of words.
[ -z "$missing" ] || (install_packages 'the applications need' $missing) || say 'tests whose application is missing are skipped'

# By themselves, since not every release has SimpleSAMLphp. php-cgi keeps PHP from bringing Apache.
missing=$(missing_packages php-cli php-cgi php-mbstring php-xml simplesamlphp)
# shellcheck disable=SC2086 # A list of words.
[ -z "$missing" ] || (install_packages 'SimpleSAMLphp needs' $missing) || say 'tests of SimpleSAMLphp are skipped'
