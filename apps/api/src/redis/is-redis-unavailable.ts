/**
 * Errors of ioredis (and of a waiting pull) for a command without a reply: by name, by message (it has no codes), by the code of
 * the packages or of a socket.
 */
const NAMES = new Set([
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
  'AbortError',
  'InterruptError',
  'ReadTimeoutError',
]);
const MESSAGES = [
  'Command timed out',
  'Connection is closed',
  "Stream isn't writeable",
  "Cluster isn't ready",
  'Socket timeout',
  'Failed to refresh slots cache',
  'None of startup nodes is available',
  'Cluster is ended',
  'Too many Cluster redirections',
  'All sentinels are unreachable',
];
const CODES = new Set([
  'ERR_CACHE_UNAVAILABLE',
  'ERR_CLIENT_CLOSED',
  'ERR_REDIS_UNREACHABLE',
  'ERR_REDIS_AUTH',
  'ERR_REDIS_READONLY',
  'ERR_REDIS_VERSION',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]);

/** Replies of a server that is loading, failing over, full, busy or a replica: the same request may succeed later. */
const REPLY =
  /^(?:LOADING|MASTERDOWN|CLUSTERDOWN|READONLY|TRYAGAIN|BUSY|OOM|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|UNBLOCKED|ERR max number of clients)\b/;

/** Replies to a user without the right to a command, a key or a channel; the second one is that of a script. */
const DENIED = /^NOPERM\b|^ERR The user executing the script can't /;

/** Whether Redis has refused a command to the user of the API. */
export function isRedisDenied(error: unknown): boolean {
  return error instanceof Error && DENIED.test(error.message);
}

/** Whether Redis could not run the command now, rather than that the command is wrong. */
export function isRedisUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { name, message } = error;
  const { code } = error as NodeJS.ErrnoException;
  return (
    NAMES.has(name) ||
    (code !== undefined && CODES.has(code)) ||
    REPLY.test(message) ||
    MESSAGES.some((start) => message.startsWith(start))
  );
}
