# The machine that a guide is read on: loopback only, a server that `adit server setup` has made, with a certificate of an authority
# that the machine trusts as it trusts public ones, and an empty home directory. What a reader needs beside that stands in the guides.
# Sourced by every guide; $DIRECTORY is its directory, $PUBLIC what all share, $ROOT the repository.
set -eo pipefail

# A step that fails still has its output redirected.
exec 3>&1
report() {
  status=$?
  [ "$status" = 0 ] && return
  exec >&3
  echo "step $step at line $line failed with $status"
  cat "$DIRECTORY/step-$step.out" 2> /dev/null
  echo '--- setup'
  tail -n 20 "$DIRECTORY/setup.log"
  echo '--- server'
  tail -n 20 "$DIRECTORY/server.log"
}
trap report EXIT

# Runs a script as in a terminal of its own, and waits until its output contains a text.
in_background() {
  setsid bash "$1" > "$2" 2>&1 &
  last=$!
  wait_for "$2" "$3"
}

# Ends what was started last in the background.
stop_last() {
  kill -TERM -- -"$last"
  wait "$last" || true
}

wait_for() {
  for _ in $(seq 600); do
    grep -qF -- "$2" "$1" && return
    sleep 0.1
  done
  return 1
}

# The database of some guides runs as another user.
chmod 755 "$DIRECTORY" "$DIRECTORY/work"
ip link set lo up
ip address add 203.0.113.10/32 dev lo
ip address add 203.0.113.53/32 dev lo
mkdir "$DIRECTORY/home" "$DIRECTORY/state" "$DIRECTORY/programs" "$DIRECTORY/bin"
cp -a /etc "$DIRECTORY/etc"
mount --bind "$DIRECTORY/etc" /etc
mount --bind "$DIRECTORY/state" /var/lib
mount --bind "$DIRECTORY/programs" /usr/local/bin
rm -f /etc/resolv.conf
echo 'nameserver 203.0.113.10' > /etc/resolv.conf
echo '127.0.0.1 localhost' > /etc/hosts

# The authority, which validates names through the server's own DNS.
PEBBLE_VA_NOSLEEP=1 pebble -config "$PUBLIC/pebble.json" -dnsserver 203.0.113.10:53 > "$DIRECTORY/pebble.log" 2>&1 &
for _ in $(seq 100); do
  curl -sS --cacert "$PUBLIC/authority.pem" https://203.0.113.53:15000/roots/0 > "$DIRECTORY/root.pem" 2> /dev/null && break
  sleep 0.1
done
cat "$DIRECTORY/root.pem" >> /etc/ssl/certs/ca-certificates.crt
# Node has a list of its own.
export NODE_EXTRA_CA_CERTS="$DIRECTORY/root.pem"

# Stands in for systemd: runs the command of the unit with the settings of its file.
cat > "$DIRECTORY/bin/systemctl" << 'TEXT'
#!/bin/sh
case "$1" in
  is-active) exit 3 ;;
  restart | stop)
    [ ! -f "$DIRECTORY/pid" ] || { kill "$(cat "$DIRECTORY/pid")"; while kill -0 "$(cat "$DIRECTORY/pid")" 2> /dev/null; do sleep 0.1; done; }
    [ "$1" = restart ] || exit 0
    set -a; . /etc/adit/adit.env; set +a
    # The authority of this machine has no public address.
    export ADIT_OUTBOUND_ALLOW="203.0.113.53${ADIT_OUTBOUND_ALLOW:+,$ADIT_OUTBOUND_ALLOW}"
    setsid sh -c "exec $(sed -n 's/^ExecStart=//p' /etc/systemd/system/adit.service)" < /dev/null >> "$DIRECTORY/server.log" 2>&1 &
    echo $! > "$DIRECTORY/pid"
    for _ in $(seq 600); do
      curl -sSf -o /dev/null 'http://127.0.0.1:4080/readyz?strict' 2> /dev/null && break
      sleep 0.1
    done ;;
esac
TEXT
chmod 755 "$DIRECTORY/bin/systemctl"
sudo() { "$@"; }
export -f sudo
export DIRECTORY HOME="$DIRECTORY/server-home" NO_COLOR=1
mkdir "$HOME"
export PATH="$DIRECTORY/bin:$PATH"
"$ROOT/bin/adit" server setup --yes --domain tunnels.example.com --acme-email you@example.com --public-ips 203.0.113.10 \
  --acme-directory https://203.0.113.53:14000/dir --acme-ca "$PUBLIC/authority.pem" \
  --dns-addr 0.0.0.0:53 --log-level warn > "$DIRECTORY/setup.log" 2>&1
"$ROOT/bin/adit" server downloads add "$PUBLIC/release" >> "$DIRECTORY/setup.log"

# The reader, who can read what the first start has printed.
credential() { jq -r ".$1" /var/lib/adit/credentials.json; }
export HOME="$DIRECTORY/home" AUTHTOKEN="$(credential authtoken)" API_KEY="$(credential api_key)"
cd "$DIRECTORY/work"
