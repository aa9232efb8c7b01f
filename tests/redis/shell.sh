#!/usr/bin/env bash
# redis-cli and redis-benchmark against the server on the port given.
set -euo pipefail
port="$1"
cli() { redis-cli -h 127.0.0.1 -p "$port" "$@"; }
expect() {
    local want="$1" got
    shift
    got="$(cli "$@" 2>&1)"
    [ "$got" = "$want" ] || { printf 'redis-cli %s\nwant: %s\ngot:  %s\n' "$*" "$want" "$got" >&2; exit 1; }
}

expect OK FLUSHALL
expect PONG PING
expect OK TS.CREATE cli RETENTION 0 LABELS app shop
expect 1000 TS.ADD cli 1000 1.5
expect 2000 TS.ADD cli 2000 2.5
expect 500 TS.ADD cli 500 -1
expect $'500\n-1\n1000\n1.5\n2000\n2.5' TS.RANGE cli - +
expect cli TS.QUERYINDEX app=shop
expect 'ERR TSDB: the key does not exist' TS.GET nothing
expect TSDB-TYPE TYPE cli
expect OK SET text hello
expect hello GET text
# Inline commands, a file of commands in, and the protocol of version 3.
printf 'PING\r\nTS.GET cli\r\n' | timeout 5 redis-cli -h 127.0.0.1 -p "$port" >/dev/null
printf 'TS.ADD piped 1 1\nTS.ADD piped 2 2\nTS.GET piped\n' | cli | tail -n 2 | tr '\n' ' ' | grep -qx '2 2 '
cli -3 TS.INFO cli | grep -q 'totalSamples'
cli --scan --pattern 'c*' | grep -qx cli
cli INFO modules | grep -q timeseries
printf '*4\r\n$6\r\nTS.ADD\r\n$4\r\nmass\r\n$1\r\n1\r\n$1\r\n7\r\n' | cli --pipe | grep -q 'errors: 0, replies: 1'

bench() { redis-benchmark -h 127.0.0.1 -p "$port" -q "$@" 2>&1 | tr '\r' '\n' | grep 'requests per second' || { echo "redis-benchmark $* failed" >&2; exit 1; }; }
bench -n 20000 -P 16 -t ping,set,get,incr | tail -n 5
bench -n 20000 -P 50 -r 1000000 TS.ADD late:__rand_int__ 1 1 ON_DUPLICATE LAST | tail -n 1
bench -n 20000 -P 50 -r 1000000 TS.INCRBY one 1 | tail -n 1
echo "redis-cli and redis-benchmark: ok"
