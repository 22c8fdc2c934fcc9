#!/usr/bin/env bash
# A PostgreSQL of its own for the tests, from Debian's package, reached by a socket in its folder only.
#   tests/postgres.sh up     starts it and prints the URL for ZEPHYR_AB_POSTGRES
#   tests/postgres.sh down   stops it and removes its folder
set -euo pipefail
folder=${ZEPHYR_AB_POSTGRES_FOLDER:-/var/tmp/zephyr-ab-postgres}

programs() {
  ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1
}

# The server refuses to run as root.
as_owner() {
  if [ "$(id -u)" = 0 ]; then
    (cd / && runuser -u postgres -- "$@")
  else
    "$@"
  fi
}

case ${1:-} in
  up)
    bin=$(programs)
    if [ -z "$bin" ]; then
      {
        apt-get update -q
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q postgresql
      } >&2
      bin=$(programs)
    fi
    if [ ! -S "$folder/.s.PGSQL.5432" ]; then
      rm -rf "$folder"
      mkdir -m 700 "$folder"
      [ "$(id -u)" != 0 ] || chown postgres "$folder"
      as_owner "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 >&2
      as_owner "$bin/pg_ctl" -D "$folder/data" -w -l "$folder/log" start \
        -o "-c listen_addresses= -c unix_socket_directories=$folder -c max_connections=300" >&2
    fi
    echo "postgres:///postgres?host=$folder&user=postgres"
    ;;
  down)
    bin=$(programs)
    [ ! -e "$folder/data/postmaster.pid" ] || as_owner "$bin/pg_ctl" -D "$folder/data" -m fast -w stop >&2
    rm -rf "$folder"
    ;;
  *)
    echo "usage: $0 up|down" >&2
    exit 2
    ;;
esac
