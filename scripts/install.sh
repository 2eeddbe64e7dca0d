#!/bin/sh
# Installs Adit from a release: a directory that "npm run release" made, or a tar archive of it.
#   sh install.sh [--prefix DIR] [--key FILE | --no-signature] RELEASE
#   sh install.sh [--prefix DIR] --uninstall
set -eu

fail() { printf 'ERROR:  %s\n' "$1" >&2; exit 1; }

usage() {
  cat <<'TEXT'
Usage: sh install.sh [OPTION...] RELEASE
       sh install.sh [--prefix DIR] --uninstall

RELEASE is a directory that "npm run release" made, or a tar archive of it. Its checksums are verified
against the signature of the key that you trust before anything is installed.

  --prefix DIR      install DIR/bin/adit; /usr/local for root, otherwise ~/.local
  --key FILE        the public key of the release (Ed25519, PEM)
  --no-signature    verify the checksums alone
  --uninstall       remove the program; configuration and data stay
TEXT
}

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

[ -n "$release" ] || { usage >&2; exit 1; }
[ -e "$release" ] || fail "$release does not exist"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
if [ -d "$release" ]; then
  directory=$release
else
  mkdir "$scratch/release"
  tar -xf "$release" -C "$scratch/release" || fail "$release is not a tar archive"
  sums=$(find "$scratch/release" -maxdepth 2 -name SHA256SUMS | head -n 1)
  [ -n "$sums" ] || fail "$release holds no release: there is no SHA256SUMS in it"
  directory=$(dirname "$sums")
fi
sums=$directory/SHA256SUMS
[ -f "$sums" ] || fail "$directory holds no release: there is no SHA256SUMS in it"

if [ "$signature" = yes ]; then
  [ -n "$key" ] || fail "name the public key of the release with --key FILE, or verify the checksums alone with --no-signature"
  [ -f "$key" ] || fail "there is no key $key"
  [ -f "$sums.sig" ] || fail "the release is not signed; --no-signature verifies the checksums alone"
  command -v openssl >/dev/null || fail 'openssl verifies the signature, and was not found'
  openssl base64 -d -in "$sums.sig" -out "$scratch/signature" 2>/dev/null || fail 'the signature cannot be read'
  openssl pkeyutl -verify -pubin -inkey "$key" -rawin -in "$sums" -sigfile "$scratch/signature" >/dev/null 2>&1 ||
    fail "the signature of the release does not match the key $key; nothing was installed"
fi

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
decompress=''
for suffix in xz gz; do
  [ "$suffix" = gz ] && tool=gzip || tool=xz
  file=$(sed -n "s/^[0-9a-f]*  \(adit-[^ ]*-$system-$machine\.$suffix\)\$/\1/p" "$sums" | head -n 1)
  if [ -n "$file" ] && [ -f "$directory/$file" ] && command -v "$tool" >/dev/null; then
    decompress=$tool
    break
  fi
done
[ -n "$decompress" ] || fail "the release has no executable for $system-$machine that xz or gzip could decompress"

expected=$(sed -n "s/^\([0-9a-f]*\)  $file\$/\1/p" "$sums")
if command -v sha256sum >/dev/null; then
  actual=$(sha256sum "$directory/$file")
else
  actual=$(shasum -a 256 "$directory/$file")
fi
[ "${actual%% *}" = "$expected" ] || fail "the checksum of $file is wrong; nothing was installed"

mkdir -p "$prefix/bin" 2>/dev/null && [ -w "$prefix/bin" ] ||
  fail "$prefix/bin is not writable; run this as root, or name another directory with --prefix DIR"
# Beside its place, so that the rename is atomic and a running program keeps its file.
incoming=$prefix/bin/.adit-$$
trap 'rm -rf "$scratch" "$incoming"' EXIT
"$decompress" -dc "$directory/$file" >"$incoming"
chmod 0755 "$incoming"
if ! version=$("$incoming" version 2>"$scratch/problem"); then
  if grep -q 'libatomic\.so\.1' "$scratch/problem"; then
    fail 'the program needs libatomic (Debian, Ubuntu: apt-get install -y libatomic1; Fedora: dnf install libatomic); nothing was installed'
  fi
  fail "the program does not start on this system: $(head -n 1 "$scratch/problem"); nothing was installed"
fi
mv -f "$incoming" "$program"
echo "Installed $program ($version)."

case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not on the PATH. Add it: export PATH=\"$prefix/bin:\$PATH\"" ;;
esac
echo "Next: adit server (on a server) or adit http 3000 (with a server); adit help shows all commands."
