#!/bin/sh
# Ask `kith serve` with curl: `sh ask.sh "QUESTION"`. KITH_URL and KITH_SERVE_TOKEN say where it is.
set -eu
curl -sS --fail-with-body "${KITH_URL:-http://127.0.0.1:5484}/api/v1/agent" \
    -H "Authorization: Bearer $KITH_SERVE_TOKEN" -H "Content-Type: application/json" \
    -d "{\"prompt\": \"$1\", \"read_only\": true}"
