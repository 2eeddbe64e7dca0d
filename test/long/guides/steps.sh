# Runs the steps that it reads, with `run` in this shell, as if they were typed.
set -eo pipefail
cd "$1/work"
exec 3< ../steps 4> ../answers

# What only the test does: it can start services and look, but not leave settings, files of the system or variables behind.
run_hidden() {
  unshare --mount bash -c '
    for path in /etc /usr/local/bin /var/lib "$HOME"; do
      mount --bind "$path" "$path"
      mount -o remount,bind,ro "$path"
    done
    export PROGRAM=/usr/local/bin/adit PATH="$ROOT/node_modules/.bin:/usr/sbin:/usr/bin:/sbin:/bin" HOME=/dev/null
    . "$ROOT/test/long/guides/hidden.sh"
    . "$1"' bash "$1"
}

trap 'echo failed >&4' EXIT
while read -r kind step <&3; do
  name=$DIRECTORY/$step
  case $kind in
    run) . "$name" > "$name.out" 2>&1 ;;
    hidden) run_hidden "$name" > "$name.out" 2>&1 ;;
    background)
      setsid bash -eo pipefail "$name" < /dev/null > "$name.out" 2>&1 3<&- 4>&- &
      echo $! > "$DIRECTORY/last"
      ;;
  esac
  echo 'done' >&4
done
