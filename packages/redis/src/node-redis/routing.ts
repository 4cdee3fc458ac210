import type { CommandArgument } from '../client.js';

/** The place of the key in the arguments: after the number of keys, or after a subcommand. Otherwise it is the first. */
const KEY_AT: Readonly<Record<string, number>> = {
  eval: 2,
  eval_ro: 2,
  evalsha: 2,
  evalsha_ro: 2,
  fcall: 2,
  fcall_ro: 2,
  memory: 1,
  object: 1,
};

/** Commands without a key. Any node may reply. */
const KEYLESS = new Set([
  'acl',
  'client',
  'cluster',
  'command',
  'config',
  'dbsize',
  'echo',
  'flushall',
  'function',
  'hello',
  'info',
  'ping',
  'publish',
  'pubsub',
  'role',
  'script',
  'time',
  'wait',
]);

/** The key by which a command finds its node; undefined if any node will do. */
export function routingKey(command: string, args: readonly CommandArgument[]): string | undefined {
  if (KEYLESS.has(command)) return undefined;
  const at = KEY_AT[command] ?? 0;
  // A script without keys.
  if (at === 2 && Number(args[1]) === 0) return undefined;
  return args[at]?.toString();
}
