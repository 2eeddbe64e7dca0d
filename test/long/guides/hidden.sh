# What hidden blocks of guides can use.
set -eo pipefail

wait_for() { # FILE TEXT
  for _ in $(seq 600); do
    grep -qF -- "$2" "$1" && return
    sleep 0.1
  done
  return 1
}

# Ends what was started last in the background, as Ctrl+C does.
stop_last() {
  last=$(cat "$DIRECTORY/last")
  kill -TERM -- -"$last"
  while kill -0 "$last" 2> /dev/null; do sleep 0.1; done
}

# Creates a record at the provider of another domain.
create_record() { # NAME TYPE DATA
  nsupdate <<< "server 198.51.100.53
update add $1. 1 $2 $3
send"
}
