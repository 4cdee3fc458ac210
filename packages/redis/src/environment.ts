/**
 * The needs of the packages: the version and the memory policy of the server. Asked once for each client, by INFO; a server that refuses INFO
 * (managed services, a user without the right) is taken as it is.
 */
import type { RedisConnection } from './client.js';
import { RedisVersionError } from './redis-errors.js';

/** The first version with `#!lua` scripts, EVALSHA_RO and sharded pub/sub. */
const MIN_MAJOR = 7;

/** How a server that is too old answers to such a script. */
const UNKNOWN_SCRIPT = /^ERR (?:Error compiling script|unknown command)/i;

const versions = new WeakMap<RedisConnection, Promise<string | undefined>>();
const asked = new WeakSet<RedisConnection>();
const warned = new Set<string>();

/** Whether the reply to a script may be that of a server which is too old. */
export function mayBeTooOld(error: Error): boolean {
  return UNKNOWN_SCRIPT.test(error.message);
}

/** The error for the caller of such a script: ERR_REDIS_VERSION if the server is too old, else as it came. */
export async function versionFailureOf(client: RedisConnection, error: Error): Promise<Error> {
  let asking = versions.get(client);
  if (!asking) {
    asking = info(client, 'server', 'redis_version');
    versions.set(client, asking);
    void asking.then((version) => version === undefined && versions.delete(client));
  }
  const version = await asking;
  return version && Number.parseInt(version, 10) < MIN_MAJOR ? new RedisVersionError(version, error) : error;
}

/**
 * Warns once, with `process.emitWarning` and the code MORTISE_EVICTION, if the server may evict keys. Asks when the client is
 * connected, one INFO for each client, and delays nothing.
 */
export function warnOfEviction(client: RedisConnection): void {
  if (asked.has(client)) return;
  asked.add(client);
  const ask = async (): Promise<void> => {
    client.off('ready', onReady);
    const policy = await info(client, 'memory', 'maxmemory_policy');
    if (policy === undefined || policy === 'noeviction' || warned.has(policy)) return;
    warned.add(policy);
    process.emitWarning(
      `Redis may evict keys (maxmemory-policy ${policy}): a lock or a queue would lose a part of its keys. ` +
        'Set maxmemory-policy to noeviction',
      { type: 'MortiseWarning', code: 'MORTISE_EVICTION' },
    );
  };
  const onReady = (): void => void ask();
  if (client.status === 'ready') onReady();
  else client.on('ready', onReady);
}

/** A field of INFO; undefined if the server doesn't tell. */
async function info(client: RedisConnection, section: string, field: string): Promise<string | undefined> {
  try {
    const reply = String(await client.call('info', [section]));
    return new RegExp(`^${field}:(.*?)\\r?$`, 'm').exec(reply)?.[1];
  } catch {
    return undefined;
  }
}
