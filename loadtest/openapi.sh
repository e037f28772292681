#!/usr/bin/env bash
# Holds a server against its own /openapi.json, both ways: what the description allows has to be accepted and
# answered as described, what it forbids has to be refused. Takes some minutes.
#
#   loadtest/openapi.sh [PROGRAM] [schemathesis options, such as --include-path /lists]
#
# PROGRAM is target/debug/millrace unless it is named. Needs schemathesis (https://schemathesis.io, from PyPI) in
# the PATH or in $SCHEMATHESIS; without it nothing is done. Exit status: 0 good or skipped, 1 a mismatch.
set -euo pipefail
cd "$(dirname "$0")/.."

schemathesis=${SCHEMATHESIS:-schemathesis}
if ! command -v "$schemathesis" >/dev/null; then
  echo "SKIPPED: schemathesis is not installed (python3 -m pip install schemathesis)"
  exit 0
fi
program=target/debug/millrace
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  program=$1
  shift
fi
program=$(realpath "$program")
settings=$(realpath loadtest/openapi.toml)
schemathesis=$(realpath "$(command -v "$schemathesis")")

folder=$(mktemp -d)
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
MILLRACE_LISTEN=127.0.0.1:$(free_port)
MILLRACE_ADMIN_LISTEN=127.0.0.1:$(free_port)
MILLRACE_SQL_LISTEN=off
MILLRACE_DATA_DIR=$folder/data
export MILLRACE_LISTEN MILLRACE_ADMIN_LISTEN MILLRACE_SQL_LISTEN MILLRACE_DATA_DIR
"$program" serve >"$folder/log" 2>&1 &
server=$!
trap 'kill $server 2>/dev/null && wait $server; rm -rf "$folder"' EXIT
url=http://$MILLRACE_LISTEN
for _ in $(seq 600); do
  curl -sf "$url/readyz" >/dev/null && break
  kill -0 $server || { tail "$folder/log"; exit 1; }
  sleep 0.5
done

key=$("$program" keys create --workspace conformance --scopes '*' 2>/dev/null)
sdk_key=$("$program" keys create --workspace conformance --sdk 2>/dev/null)
user_token=$("$program" sdk secret --workspace conformance 2>/dev/null | python3 -c '
import base64, hashlib, hmac, json, sys, time
part = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
claims = {"sub": "ann", "iat": int(time.time()), "exp": int(time.time()) + 3600 * 12}
signed = b".".join(part(json.dumps(it).encode()) for it in ({"alg": "HS256", "typ": "JWT"}, claims))
key = sys.stdin.read().strip().encode()
print((signed + b"." + part(hmac.new(key, signed, hashlib.sha256).digest())).decode())')
curl -sf "$url/users" -H "Authorization: Bearer $key" -H 'Content-Type: application/json' -d '{"externalId":"ann"}' >"$folder/ann"
# `default` stands for any failure; here every status has to be described by itself. A page's size and place are
# read tolerantly: what is no number, or out of range, is the default or the nearest number.
curl -sf "$url/openapi.json" | python3 -c '
import json, sys
document = json.load(sys.stdin)
# A stream has no end.
del document["paths"]["/events/live"]
for path in document["paths"].values():
    for operation in path.values():
        operation["responses"].pop("default", None)
        for parameter in operation.get("parameters", []):
            if parameter["name"] in ("limit", "offset", "page"):
                parameter["schema"] = {}
json.dump(document, sys.stdout)' >"$folder/openapi.json"

# schemathesis leaves a cache where it runs.
cd "$folder"
# NUL characters are refused in all texts, which the schemas do not say.
"$schemathesis" --config-file "$settings" run "$folder/openapi.json" --url "$url" --no-color --continue-on-failure \
  -H "Authorization: Bearer $key" -H "X-SDK-Key: $sdk_key" -H "X-User-Token: $user_token" \
  --phases examples,coverage,fuzzing --max-examples "${EXAMPLES:-30}" --generation-allow-x00 false "$@"
