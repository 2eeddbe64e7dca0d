# A network of its own, with what everybody has: DNS with the records of the server's domain, and the certificate authority that
# `adit server setup` uses, at its name. On it a server and the machine of a reader, each empty, on which steps run in their order.
# Reads lines `MACHINE KIND STEP` and answers each with `done` or `failed`. $DIRECTORY is for this run, $PUBLIC what all runs share,
# $ROOT the repository, $SYSTEM the file system of the reader's machine if it is not that of this one.
set -eo pipefail

mount -t tmpfs tmpfs /run
chmod 755 "$DIRECTORY"
ip link set lo up
ip link add public type bridge
ip link set public up
# The authority has a public address, so that the server may call it.
for address in 198.51.100.53 172.65.32.248; do ip address add "$address/32" dev public; done
ip route add default dev public

# The name server gives up the privileges of root.
install -d -m 0777 "$DIRECTORY/dns"
cat > "$DIRECTORY/named.conf" << TEXT
options {
  directory "$DIRECTORY/dns"; pid-file none; session-keyfile none;
  listen-on { 198.51.100.53; }; listen-on-v6 { none; };
  recursion yes; allow-query { any; }; allow-recursion { any; }; allow-query-cache { any; };
  dnssec-validation no; empty-zones-enable no; max-cache-ttl 1; max-ncache-ttl 1;
};
controls { };
zone "." { type primary; file "$DIRECTORY/dns/root.zone"; allow-update { any; }; };
TEXT
cat > "$DIRECTORY/dns/root.zone" << TEXT
\$TTL 1
. SOA ns.example. you.example. 1 60 60 60 1
. NS ns.example.
ns.example. A 198.51.100.53
acme-v02.api.letsencrypt.org. A 172.65.32.248
$(cat "$PUBLIC/records")
TEXT
named -4 -g -c "$DIRECTORY/named.conf" > "$DIRECTORY/named.log" 2>&1 &

# Pebble has its directory at another path.
cat > "$DIRECTORY/nginx.conf" << TEXT
pid $DIRECTORY/nginx.pid;
error_log $DIRECTORY/nginx.log;
events { }
http {
  access_log off;
  client_body_temp_path $DIRECTORY; proxy_temp_path $DIRECTORY; fastcgi_temp_path $DIRECTORY; uwsgi_temp_path $DIRECTORY; scgi_temp_path $DIRECTORY;
  server {
    listen 172.65.32.248:443 ssl;
    ssl_certificate $PUBLIC/cert.pem;
    ssl_certificate_key $PUBLIC/key.pem;
    proxy_set_header Host \$host;
    location = /directory { proxy_pass https://127.0.0.1:14000/dir; }
    location / { proxy_pass https://127.0.0.1:14000; }
  }
}
TEXT
PEBBLE_VA_NOSLEEP=1 pebble -config "$PUBLIC/pebble.json" -dnsserver 198.51.100.53:53 > "$DIRECTORY/pebble.log" 2>&1 &
nginx -c "$DIRECTORY/nginx.conf" -g 'daemon off; master_process off;' 2> "$DIRECTORY/nginx.err" &
for _ in $(seq 100); do
  curl -sSk https://127.0.0.1:15000/roots/0 > "$DIRECTORY/public-root.pem" 2> /dev/null && break
  sleep 0.1
done

start_machine() { # NAME ADDRESS [SYSTEM]
  mkdir "$DIRECTORY/$1"
  mkfifo "$DIRECTORY/$1/steps" "$DIRECTORY/$1/answers"
  ip netns add "$1"
  ip link add "$1" type veth peer name eth0 netns "$1"
  ip link set "$1" master public up
  ip -n "$1" link set lo up
  ip -n "$1" link set eth0 up
  ip -n "$1" address add "$2/32" dev eth0
  ip -n "$1" route add default dev eth0
  ip netns exec "$1" unshare --mount bash "$ROOT/test/long/guides/machine.sh" "$1" "${3:-}" > "$DIRECTORY/$1/log" 2>&1 &
}
start_machine server 203.0.113.10
exec 3> "$DIRECTORY/server/steps" 4< "$DIRECTORY/server/answers"
start_machine laptop 203.0.113.20 "$SYSTEM"
exec 5> "$DIRECTORY/laptop/steps" 6< "$DIRECTORY/laptop/answers"

while read -r machine step; do
  case $machine in
    server) echo "$step" >&3; read -r answer <&4 ;;
    laptop) echo "$step" >&5; read -r answer <&6 ;;
  esac
  echo "$answer"
done
