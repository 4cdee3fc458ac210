import { CodedError } from './coded-error.js';

/** Refusals that a new slot map, the end of a failover, of a restart or of a long script, or freed memory may cure. */
const PASSING_REFUSAL =
  /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|LOADING|MASTERDOWN|READONLY|BUSY|OOM|UNBLOCKED|NOREPLICAS)\b/;

/** No connection, or a replica during a failover. */
const PASSING_CODES = new Set<string>(['ERR_REDIS_UNREACHABLE', 'ERR_REDIS_READONLY']);

/** Whether a retry may help: after a lost connection or during a failover, not after misuse or a refusal such as missing rights. */
export function isTransient(error: unknown): boolean {
  if (error instanceof CodedError) return PASSING_CODES.has(error.code);
  if (error instanceof TypeError || error instanceof RangeError) return false;
  return !(error instanceof Error && error.name === 'ReplyError') || PASSING_REFUSAL.test(error.message);
}
