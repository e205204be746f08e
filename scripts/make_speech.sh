#!/usr/bin/env bash
# Makes the callers' recordings (rig/speech/*.wav: 16 kHz mono PCM16) with Debian's espeak-ng and sox.
# They are committed; run this only to change them. A test asks Silero VAD whether they are speech.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$(dirname "$0")/../rig/speech"
say() { # NAME VOICE SPEED WORDS
  espeak-ng -v "$2" -s "$3" -w "$work/$1.wav" "$4"
  # Cut the silence at both ends: the planned end of the speech must be the end of the sound.
  sox -R "$work/$1.wav" -r 16000 -c 1 -b 16 "$1.wav" norm -6 \
    silence 1 0.01 1% reverse silence 1 0.01 1% reverse
}
say weather en-us 165 "What is the weather like in the north today?"
say train en-gb 160 "When does the next train leave for the coast?"
say recipe en-us 170 "Tell me how to cook rice for four people."
say story en-gb 155 "Please tell me a short story about a lighthouse."
say numbers en-us 165 "Count slowly from one up to twenty."
say stop en-us 175 "No wait, stop, I meant something else."
say correction en-gb 170 "Sorry, let me ask that again."
say short en-us 165 "And what about tomorrow?"
