import type { RedisServer } from './server.js';
import type { Reply } from './resp.js';

const KEYS_PER_MIGRATE = '100';
const MIGRATE_TIMEOUT_MS = '5000';

export interface SlotMove {
  slot: number;
  from: RedisServer;
  to: RedisServer;
  fromId: string;
  toId: string;
  /** `from`, `to` and the other masters; all of them learn the new owner. */
  masters: RedisServer[];
}

/**
 * Moves a slot and its keys as `redis-cli --cluster reshard` does, while clients go on: the target imports, the source migrates
 * (a client that asks it for a key that is gone already gets ASK), keys go over 100 at a time, then the new owner is declared,
 * on the target first, so that at no moment nobody owns the slot. When it fails halfway, the slot is left open.
 */
export async function migrateSlot({ slot, from, to, fromId, toId, masters }: SlotMove): Promise<void> {
  const slotName = String(slot);
  const login = to.password === undefined ? [] : ['AUTH', to.password];
  await to.command('CLUSTER', 'SETSLOT', slotName, 'IMPORTING', fromId);
  await from.command('CLUSTER', 'SETSLOT', slotName, 'MIGRATING', toId);
  for (;;) {
    const keys = await bytes(from, ['CLUSTER', 'GETKEYSINSLOT', slotName, KEYS_PER_MIGRATE]);
    if (!Array.isArray(keys) || keys.length === 0) break;
    const target = [to.host, String(to.port), '', '0', MIGRATE_TIMEOUT_MS];
    await bytes(from, ['MIGRATE', ...target, ...login, 'KEYS', ...keys.map(String)]);
  }
  const others = masters.filter((master) => master !== from && master !== to);
  for (const master of [to, from, ...others])
    await master.command('CLUSTER', 'SETSLOT', slotName, 'NODE', toId);
}

/** A command whose arguments and replies may be any bytes: keys needn't be UTF-8. */
function bytes(server: RedisServer, args: string[]): Promise<Reply> {
  return server.request(args, { encoding: 'latin1' });
}
