# The computer of a reader, for one command of a page: the addresses of pages lead to servers of the test.

# Without a header of its own, a request has the key of the operator: the pages leave it out. An endless stream is cut.
curl() {
  local -a key=(-H "authorization: Bearer $ADMIN_KEY")
  case "$*" in *authorization:*) key=() ;; esac
  command curl --max-time 2 --connect-to "::127.0.0.1:$API_PORT" --write-out '%{stderr}\nHTTP %{http_code}\n' "${key[@]}" "$@"
}

npx() {
  shift
  node "$ROOT/packages/queues/dist/cli/main.js" "$@"
}

# The script builds first.
npm() {
  [ "$*" = 'run doctor' ] && node "$ROOT/apps/common/dist/doctor/main.js"
}

redis-cli() {
  node "$ROOT/tooling/docs/src/commands/redis-cli.mjs" "$@"
}

# It ends by itself, and takes no port.
redis-server() {
  timeout --preserve-status 1 "$REDIS_SERVER" "$@" --port 0 --unixsocket "$PWD/redis.sock"
}
