import {
  ArgumentRangeError,
  ArgumentTypeError,
  requireArray,
  requireClient,
  requireInteger,
  requireNumber,
} from '@mortise/redis';
import type { RedisClient } from '@mortise/redis';
import { known, resolveLeaseOptions } from '../options.js';
import type { LeaseOptions, ResolvedLeaseOptions } from '../options.js';

/**
 * Options of a QuorumMutex. The holder may rely on the lease for less than `leaseMs`: the time of the nodes' replies and the
 * clock drift are subtracted.
 */
export interface QuorumMutexOptions extends LeaseOptions {
  /**
   * Time limit for a node's reply, ms: a whole number from 1 to half of `leaseMs`. Default: a tenth of `leaseMs`, at most
   * 100. A call waits that long only if the other nodes don't decide.
   */
  readonly nodeTimeoutMs?: number | undefined;
  /**
   * How much faster one clock may run than the others, as a share of the lease: from 0 to 0.5. Default 0.01. A lease counts as
   * shorter by this share and by 2 ms.
   */
  readonly driftFactor?: number | undefined;
}

export interface ResolvedQuorumMutexOptions extends ResolvedLeaseOptions {
  readonly nodeTimeoutMs: number;
  readonly driftFactor: number;
}

const QUORUM_DEFAULTS = { driftFactor: 0.01, nodeTimeoutMs: 100 };

export function resolveQuorumMutexOptions(options: QuorumMutexOptions): ResolvedQuorumMutexOptions {
  const terms = resolveLeaseOptions(known('QuorumMutex', options));
  const { driftFactor = QUORUM_DEFAULTS.driftFactor } = options;
  const { nodeTimeoutMs = Math.min(QUORUM_DEFAULTS.nodeTimeoutMs, Math.floor(terms.leaseMs / 10)) } = options;
  requireInteger('nodeTimeoutMs', nodeTimeoutMs, { min: 1, max: Math.floor(terms.leaseMs / 2) });
  requireNumber('driftFactor', driftFactor, { min: 0, max: 0.5 });
  return { ...terms, nodeTimeoutMs, driftFactor };
}

/** More servers than this tolerate no failures that a smaller quorum wouldn't. */
const MAX_NODES = 15;

/**
 * The clients of independent servers. Throws TypeError for anything but a list of different clients. Throws
 * RangeError for fewer than 3, and for an even number, which makes failures more likely and tolerates no more of
 * them.
 */
export function requireNodes(clients: readonly RedisClient[]): readonly RedisClient[] {
  requireArray('clients', clients, { min: 3, max: MAX_NODES });
  if (clients.length % 2 === 0) {
    throw new ArgumentRangeError(`the number of clients must be odd, got ${clients.length}`);
  }
  const seen = new Map<unknown, number>();
  for (const [index, client] of clients.entries()) {
    for (const address of addressesOf(requireClient(client))) {
      const other = seen.get(address);
      if (other !== undefined && other !== index) {
        throw new ArgumentTypeError(`clients[${other}] and clients[${index}] are the same server`);
      }
      seen.set(address, index);
    }
  }
  return clients;
}

/** The addresses by which two clients of one server can be recognized without a request. */
function addressesOf(client: RedisClient): unknown[] {
  const { host, port, path, sentinels } = client.options as Record<string, unknown>;
  if (client.isCluster || sentinels) return [client];
  return [client, typeof path === 'string' ? path : `${String(host)}:${String(port)}`];
}
