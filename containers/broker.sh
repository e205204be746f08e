#!/bin/sh
# The broker's container: Mosquitto with a password, until the run is over. For any image that holds Mosquitto.
set -eu
. /rig/over.sh

new_control
use_control broker
printf 'rig:%s\n' "$(cat "$CONTROL/password")" >/tmp/users
chmod 600 /tmp/users
mosquitto_passwd -U /tmp/users

mosquitto -c /rig/mosquitto.conf &
broker=$!
trap 'kill "$broker" 2>/dev/null' TERM INT
until_over &
over=$!
# Whichever ends first: the run, or the broker, which then is not there any more for its health check either.
while kill -0 "$broker" 2>/dev/null && kill -0 "$over" 2>/dev/null; do sleep 0.2; done
kill "$over" "$broker" 2>/dev/null || true
[ -e "$CONTROL/started" ] && flock -n "$CONTROL/lock" true && leave_control
wait "$broker" || exit $?
