#!/bin/sh
# What a container of the rig does: entrypoint.sh rig | server | worker. See docs/compose.md.
set -eu
. /app/containers/over.sh

results=${RIG_RESULTS:-/results}

results_writable() {
  [ -w "$results" ] && return
  whose='(echo UID=$(id -u); echo GID=$(id -g)) >>.env'
  printf '%s\n' "$1: the results folder is not writable for uid $(id -u), gid $(id -g); if it is yours: $whose" >&2
  exit 3
}

# One Locust worker after another: each load, and each probe of the slots, has a master of its own.
workers() {
  child=
  trap 'kill -TERM $child 2>/dev/null; exit 0' TERM
  while :; do
    python -m locust -f clients/locustfile.py --worker --master-host rig >>"/tmp/worker.log" 2>&1 &
    child=$!
    wait "$child" || sleep 0.5
  done
}

results_writable "${1:-rig}"
use_control "${1:-rig}"
case ${1:-rig} in
rig)
  run_file=${RIG_RUN_FILE:-$(cat "$CONTROL/run_file")}
  # As many as there are containers of the service; all of them are up before this one is started.
  workers=${RIG_WORKERS:-$(getent ahostsv4 worker | awk '!seen[$1]++ { n++ } END { print n + 0 }')}
  exec 9>>"$CONTROL/lock"
  if ! flock -n 9; then
    echo "another rig is at work here; name one: docker compose up rig, or docker compose --profile gpu up rig-gpu" >&2
    exit 3
  fi
  # Where there is a scrape config, the rig serves what it scrapes.
  metrics=
  [ ! -e configs/prometheus/prometheus.yml ] || metrics="--metrics-port 9646 --metrics-host 0.0.0.0"
  : >"$CONTROL/started"
  # shellcheck disable=SC2086  # words, or nothing
  exec rig run "$run_file" --results "$results" \
    --server-host "${RIG_SERVER:-server}:8098" --token-file "$CONTROL/token" --workers "$workers" \
    --bus-url mqtt://broker:1883 --bus-user rig --bus-password-env RIG_BUS_PASSWORD $metrics
  ;;
server)
  # The run that this server was made for, unless the rig is told another one.
  printf '%s\n' "$RIG_RUN_FILE" >"$CONTROL/run_file"
  serve_until_over rig host --listen 0.0.0.0:8098 --serve-on 0.0.0.0 --serve-port 8000 \
    --results "$results" --token-file "$CONTROL/token"
  ;;
worker)
  serve_until_over workers
  ;;
*)
  echo "entrypoint.sh: unknown role '$1'; use rig, server or worker" >&2
  exit 3
  ;;
esac
