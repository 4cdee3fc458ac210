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
