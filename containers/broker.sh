#!/bin/sh
# The broker's container: Mosquitto with a password, until the run is over. For any image that holds Mosquitto.
set -eu
. /rig/over.sh

new_control
use_control broker
printf 'rig:%s\n' "$(cat "$CONTROL/password")" >/tmp/users
chmod 600 /tmp/users
mosquitto_passwd -U /tmp/users

serve_until_over mosquitto -c /rig/mosquitto.conf
