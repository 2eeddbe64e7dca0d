# An empty machine: a home directory, configuration, state and programs of its own, and the public authority alone is trusted. What
# a reader needs beside that stands in the guides. With a second argument, the directory of its whole file system.
set -eo pipefail

machine=$DIRECTORY/$1
system=${2:-}
mkdir "$machine"/{home,work}
if [ -n "$system" ]; then
  mount -t proc proc "$system/proc"
  for shared in "$DIRECTORY" "$ROOT/test/long/guides"; do
    mkdir -p "$system$shared"
    mount --bind "$shared" "$system$shared"
  done
else
  mkdir "$machine"/{state,programs}
  cp -a /etc "$machine/etc"
  mount --bind "$machine/etc" /etc
  mount --bind "$machine/state" /var/lib
  mount --bind "$machine/programs" /usr/local/bin
  ln -s "$ROOT/node_modules/.bin/node" "$(command -v npm)" "$ROOT"/test/long/guides/bin/* "$machine/programs"
fi

rm -f "$system/etc/resolv.conf"
echo 'nameserver 198.51.100.53' > "$system/etc/resolv.conf"
echo '127.0.0.1 localhost' > "$system/etc/hosts"
sed -i "s|^root:.*|root:x:0:0::$machine/home:/bin/bash|" "$system/etc/passwd"
# Readers answer yes when ssh asks whether to trust a server that it does not know yet.
mkdir -p "$system/etc/ssh/ssh_config.d"
echo 'StrictHostKeyChecking accept-new' > "$system/etc/ssh/ssh_config.d/yes.conf"
# Node has a list of authorities of its own.
cp "$DIRECTORY/public-root.pem" "$system/etc/ssl/public.pem"
[ "$1" != server ] || cat "$PUBLIC/authority.pem" >> "$system/etc/ssl/public.pem"
cat "$system/etc/ssl/public.pem" >> "$system/etc/ssl/certs/ca-certificates.crt"

for name in $(compgen -e); do
  case $name in DIRECTORY | PUBLIC | ROOT) ;; *) unset "$name" ;; esac
done
export HOME="$machine/home" USER=root NO_COLOR=1 NODE_EXTRA_CA_CERTS=/etc/ssl/public.pem
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
exec ${system:+chroot "$system"} bash "$ROOT/test/long/guides/steps.sh" "$machine"
