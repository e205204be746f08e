# When is a run over? Sourced by the entrypoints; POSIX sh, and no program that not every image has.
#
# All containers share one volume, $CONTROL. The rig holds a lock on a file there for as long as its process lives, so
# whoever waits for that lock is let in when the rig is gone, however it went. That needs no broker and no network.

CONTROL=${CONTROL:-/run/rig}

# use_control ROLE: waits for the broker's secrets; the password is then in RIG_BUS_PASSWORD.
use_control() {
  if [ ! -w "$CONTROL" ]; then
    echo "$1: the control volume is not writable for uid $(id -u); start anew: docker compose down --volumes" >&2
    exit 3
  fi
  until [ -s "$CONTROL/token" ]; do sleep 0.2; done
  RIG_BUS_PASSWORD=$(cat "$CONTROL/password")
  export RIG_BUS_PASSWORD
}

# The broker starts first and makes the volume new, unless a run goes on: then it was the broker that was started again.
new_control() {
  if [ -e "$CONTROL/started" ] && ! flock -n "$CONTROL/lock" true; then
    return
  fi
  leave_control
  : >"$CONTROL/lock"
  secret "${RIG_BUS_PASSWORD:-}" password
  secret "" token
}

# secret VALUE NAME: writes VALUE, or a random one, readable by this user only; whole or not at all.
secret() {
  (
    umask 077
    if [ -n "$1" ]; then
      printf '%s\n' "$1"
    else
      head -c 32 /dev/urandom | od -A n -t x1 | tr -d ' \n'
    fi >"$CONTROL/$2.new"
    mv "$CONTROL/$2.new" "$CONTROL/$2"
  )
}

# What the next run must not take for its own.
leave_control() {
  rm -f "$CONTROL/started" "$CONTROL/password" "$CONTROL/token" "$CONTROL/run_file"
}

# serve_until_over COMMAND...: runs a command until the run is over, and passes on a request to stop.
serve_until_over() {
  "$@" &
  served=$!
  trap 'kill "$served" 2>/dev/null' TERM INT
  until_over &
  over=$!
  # Whichever ends first: the run, or the command, which then is not there any more for its health check either.
  while kill -0 "$served" 2>/dev/null && kill -0 "$over" 2>/dev/null; do sleep 0.2; done
  kill "$served" "$over" 2>/dev/null || true
  if [ -e "$CONTROL/started" ] && flock -n "$CONTROL/lock" true; then leave_control; fi
  wait "$served" || return $?
}

# until_over: returns when the rig has been there and is gone. A little later, so that the rig is always the first to end:
# `up --exit-code-from rig` stops everything at the first end, and takes that for the rig's.
until_over() {
  polls=0
  until [ -e "$CONTROL/started" ]; do
    sleep 0.2
    polls=$((polls + 1))
    # Ten minutes: a rig that could not be started must not leave the others waiting for ever.
    if [ "$polls" -ge 3000 ]; then
      echo "no rig came within ten minutes; ending" >&2
      return
    fi
  done
  flock "$CONTROL/lock" true
  sleep 5
}
