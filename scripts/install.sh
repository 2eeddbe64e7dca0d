#!/bin/sh
# Installs Adit from a release: a directory that "npm run release" made, a tar archive of it, or a URL that serves it.
#   sh install.sh [--prefix DIR] [--key FILE | --no-signature] RELEASE
#   sh install.sh [--prefix DIR] --uninstall
# A server hands it out with its own addresses in the three variables: curl -fsS https://tunnels.example.com/install.sh | sh

# Where the server has its release, where its agents connect, and the key that signs the release (Ed25519, in base64).
server_release=''
server_agents=''
server_key=''

fail() { printf 'ERROR:  %s\n' "$1" >&2; exit 1; }

usage() {
  cat <<'TEXT'
Usage: sh install.sh [OPTION...] RELEASE
       sh install.sh [--prefix DIR] --uninstall

RELEASE is a directory that "npm run release" made, a tar archive of it, or a URL that serves it. Its checksums are
verified against the signature of the key that you trust before anything is installed.

  --prefix DIR      install DIR/bin/adit; /usr/local for root, otherwise ~/.local
  --key FILE        the public key of the release (Ed25519, PEM)
  --no-signature    verify the checksums alone
  --uninstall       remove the program; configuration and data stay

The script of a server needs neither RELEASE nor --key, and saves the address of the server, and the authtoken in
ADIT_AUTHTOKEN if there is one, in the configuration of the agent.
TEXT
}

download() { # URL FILE
  if command -v curl >/dev/null; then
    curl -fsSL -o "$2" "$1"
  elif command -v wget >/dev/null; then
    wget -q -O "$2" "$1"
  else
    fail 'curl or wget downloads the program, and neither was found'
  fi
}

# Fails if the release does not have this file.
provide() {
  case $release in
    http://* | https://*) [ -f "$directory/$1" ] || download "${release%/}/$1" "$directory/$1" ;;
    *) [ -f "$directory/$1" ] ;;
  esac
}

open_release() {
  case $release in
    http://* | https://*)
      directory=$scratch/release
      mkdir "$directory"
      provide SHA256SUMS || fail "$release holds no release, or cannot be reached"
      ;;
    *)
      [ -e "$release" ] || fail "$release does not exist"
      if [ -d "$release" ]; then
        directory=$release
      else
        mkdir "$scratch/release"
        tar -xf "$release" -C "$scratch/release" || fail "$release is not a tar archive"
        sums=$(find "$scratch/release" -maxdepth 2 -name SHA256SUMS | head -n 1)
        [ -n "$sums" ] || fail "$release holds no release: there is no SHA256SUMS in it"
        directory=$(dirname "$sums")
      fi
      [ -f "$directory/SHA256SUMS" ] || fail "$directory holds no release: there is no SHA256SUMS in it"
      ;;
  esac
  sums=$directory/SHA256SUMS
}

can_verify() { command -v openssl >/dev/null && openssl pkeyutl -help 2>&1 | grep -q -e -rawin; }

verify_signature() {
  if [ -z "$key" ] && [ -n "$server_key" ]; then
    # The checksums came from the same server over TLS: without the tool they are verified alone.
    can_verify || return 0
    key=$scratch/release.pub
    printf -- '-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA%s\n-----END PUBLIC KEY-----\n' "$server_key" >"$key"
  elif [ -z "$key" ] && [ -n "$server_release" ]; then
    return 0
  fi
  [ -n "$key" ] || fail "name the public key of the release with --key FILE, or verify the checksums alone with --no-signature"
  [ -f "$key" ] || fail "there is no key $key"
  provide SHA256SUMS.sig || fail "the release is not signed; --no-signature verifies the checksums alone"
  can_verify || fail 'OpenSSL 3 verifies the signature, and was not found'
  openssl base64 -d -in "$sums.sig" -out "$scratch/signature" 2>/dev/null || fail 'the signature cannot be read'
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$sums" -sigfile "$scratch/signature" >/dev/null 2>&1 ||
    fail "the signature of the release does not match the key $key; nothing was installed"
}

# Sets $file to the executable of this system, which is in $directory then, and $decompress to its tool.
choose_executable() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=darwin ;;
    *) fail "there is no executable for $(uname -s); use the npm package" ;;
  esac
  case $(uname -m) in
    x86_64 | amd64) machine=x64 ;;
    aarch64 | arm64) machine=arm64 ;;
    *) fail "there is no executable for $(uname -m); use the npm package" ;;
  esac
  # xz is smaller; gzip is everywhere.
  for suffix in xz gz; do
    [ "$suffix" = gz ] && tool=gzip || tool=xz
    file=$(sed -n "s/^[0-9a-f]*  \(adit-[0-9][^ ]*-$system-$machine\.$suffix\)\$/\1/p" "$sums" | head -n 1)
    if [ -n "$file" ] && command -v "$tool" >/dev/null && provide "$file"; then
      decompress=$tool
      return
    fi
  done
  fail "the release has no executable for $system-$machine that xz or gzip could decompress"
}

verify_checksum() {
  expected=$(sed -n "s/^\([0-9a-f]*\)  $file\$/\1/p" "$sums")
  if command -v sha256sum >/dev/null; then
    actual=$(sha256sum "$directory/$file")
  else
    actual=$(shasum -a 256 "$directory/$file")
  fi
  [ "${actual%% *}" = "$expected" ] || fail "the checksum of $file is wrong; nothing was installed"
}

install_executable() {
  # Beside its place, so that the rename is atomic and a running program keeps its file.
  incoming=$prefix/bin/.adit-$$
  trap 'rm -rf "$scratch" "$incoming"' EXIT
  "$decompress" -dc "$directory/$file" >"$incoming" || fail "there is no room for the program in $prefix/bin"
  chmod 0755 "$incoming"
  if ! version=$("$incoming" version 2>"$scratch/problem" </dev/null); then
    if grep -q 'libatomic\.so\.1' "$scratch/problem"; then
      fail 'the program needs libatomic (Debian, Ubuntu: apt-get install -y libatomic1; Fedora: dnf install libatomic); nothing was installed'
    fi
    fail "the program does not start on this system: $(head -n 1 "$scratch/problem"); nothing was installed"
  fi
  mv -f "$incoming" "$program"
  echo "Installed $program ($version)."
}

# Saves what the agent has to know of the server that handed out this script.
configure() {
  "$program" config add-connect-url "$server_agents" </dev/null
  [ -z "$server_key" ] || "$program" config add-update-url "$server_release" "$server_key" </dev/null
  if [ -n "${ADIT_AUTHTOKEN:-}" ]; then
    # Not as an argument: other users can read those.
    printf '%s\n' "$ADIT_AUTHTOKEN" | "$program" config add-authtoken -
    echo 'Next: adit http 3000 gives the service on port 3000 a public URL; adit help shows all commands.'
  else
    echo 'Next: adit config add-authtoken TOKEN, with a token from the dashboard, then adit http 3000.'
  fi
}

main() {
  set -eu
  prefix=''
  key=''
  signature=yes
  action=install
  release=''
  while [ $# -gt 0 ]; do
    case $1 in
      --prefix | --key)
        [ $# -ge 2 ] || fail "$1 needs a value; sh install.sh --help shows all options"
        if [ "$1" = --prefix ]; then prefix=$2; else key=$2; fi
        shift
        ;;
      --prefix=*) prefix=${1#*=} ;;
      --key=*) key=${1#*=} ;;
      --no-signature) signature=no ;;
      --uninstall) action=uninstall ;;
      -h | --help) usage; exit 0 ;;
      -*) fail "there is no option $1; sh install.sh --help shows all options" ;;
      *)
        [ -z "$release" ] || fail "there is more than one release: $release and $1"
        release=$1
        ;;
    esac
    shift
  done
  if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
  fi
  program=$prefix/bin/adit

  if [ "$action" = uninstall ]; then
    [ -e "$program" ] || fail "$program is not installed"
    rm -f "$program" "$program.previous"
    echo "Removed $program. Configuration and data were not touched; docs/install.md lists them."
    exit 0
  fi

  release=${release:-$server_release}
  [ -n "$release" ] || { usage >&2; exit 1; }
  # Before a download that could not be used.
  mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] ||
    fail "$prefix/bin is not writable; run this as root, or name another directory with --prefix DIR"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 1' HUP INT TERM
  open_release
  [ "$signature" = no ] || verify_signature
  choose_executable
  verify_checksum
  install_executable

  case :$PATH: in
    *:"$prefix/bin":*) ;;
    *) echo "$prefix/bin is not on the PATH. Add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
  esac
  if [ -n "$server_release" ]; then
    configure
  else
    echo "Next: adit server (on a server) or adit http 3000 (with a server); adit help shows all commands."
  fi
}

# In the last line, so that a script that was cut off on the way does nothing.
main "$@"
