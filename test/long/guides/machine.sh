# The machine that a guide is read on: loopback only, a server for tunnels.example.com with its own DNS, an agent that is
# configured for it. Sourced by every guide; $DIRECTORY is its directory, $ROOT the repository.
set -eo pipefail

report() {
  status=$?
  [ "$status" = 0 ] && return
  echo "step $step at line $line failed with $status"
  cat "$DIRECTORY/step-$step.out" 2> /dev/null
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
export HOME="$DIRECTORY/home" NO_COLOR=1
mkdir -p "$HOME"
echo 'nameserver 127.0.0.1' > "$DIRECTORY/resolv.conf"
mount --bind "$DIRECTORY/resolv.conf" /etc/resolv.conf
echo '127.0.0.1 localhost' > "$DIRECTORY/hosts"
mount --bind "$DIRECTORY/hosts" /etc/hosts

adit server --data-dir "$DIRECTORY/data" --domain tunnels.example.com --http-addr 0.0.0.0:80 --https-addr 0.0.0.0:443 \
  --agent-addr 0.0.0.0:4443 --ssh-addr 0.0.0.0:2222 --tcp-host 0.0.0.0 --dns-addr 127.0.0.1:53 --public-ips 203.0.113.10 \
  --outbound-allow 127.0.0.1,203.0.113.10 --log-level warn > "$DIRECTORY/server.log" 2>&1 &
server=$!
for _ in $(seq 600); do
  [ -f "$DIRECTORY/data/credentials.json" ] && break
  sleep 0.1
done
credential() { node -p "JSON.parse(fs.readFileSync('$DIRECTORY/data/credentials.json', 'utf8'))['$1']"; }
CA=$(credential ca_file)
export CURL_CA_BUNDLE="$CA" SSL_CERT_FILE="$CA" NODE_EXTRA_CA_CERTS="$CA"
export ADIT_API_URL=http://127.0.0.1:4080 ADIT_API_KEY="$(credential api_key)"
adit config add-connect-url connect.tunnels.example.com:4443 > /dev/null
adit config add-authtoken "$(credential authtoken)" > /dev/null
sed -i "s#^agent:#agent:\n  connect_cas: $CA#" "$HOME/.config/adit/adit.yml"
cd "$DIRECTORY/work"
