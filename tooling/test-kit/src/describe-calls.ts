import { describe, expect, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { CallTable } from './call-table.js';
import { methodsOf, outcomesOf, uncodedMisuses, unknownOptions } from './call-table.js';
import { connect } from './connect.js';
import { refusedUndefined, wrongOptionValues } from './option-values.js';

interface Calls {
  readonly tableOf: (redis: Redis) => CallTable;
  readonly constructors: (redis: Redis) => CallTable;
  /** The classes whose methods are in the table, by the names that they have there. */
  readonly classes: Readonly<Record<string, { readonly prototype: object }>>;
  /** Their methods that are not in the table, sorted: they send nothing, or no one calls them. */
  readonly silent: readonly string[];
  /** Calls that end well on a closed client. */
  readonly fallBack?: ReadonlySet<string>;
  /** Whether an option takes a value that others refuse, such as -1. Default: none does. */
  readonly takes?: (option: string, value: unknown) => boolean;
  /** One whose commands wait for the end of the tick. */
  readonly coalesced: string;
}

/** The contract of every public call of a package: on a closed client, and with wrong arguments. */
export function describeCalls({
  tableOf,
  constructors,
  classes,
  silent,
  fallBack,
  takes = () => false,
  coalesced,
}: Calls): void {
  const all = (): CallTable => ({ ...constructors(connect()), ...tableOf(connect()) });

  describe('every public call', () => {
    test('stands in the table if it sends something', () => {
      const table = tableOf(connect());
      const methods = Object.entries(classes).flatMap(([name, of]) => methodsOf(name, of));
      const missing = [...new Set(methods)].filter((name) => !(name in table));
      expect(missing.toSorted()).toEqual(silent);
    });

    test('rejects with ERR_CLIENT_CLOSED on a closed client', async () => {
      const redis = connect();
      const table = tableOf(redis);
      await redis.quit();
      const expected = Object.keys(table).map((name) => [
        name,
        fallBack?.has(name) ? 'done' : 'ERR_CLIENT_CLOSED',
      ]);
      expect(await outcomesOf(table)).toEqual(Object.fromEntries(expected));
    });

    test('does so in the tick in which the client is closed, if nobody awaited it before', async () => {
      const redis = connect();
      await redis.ping();
      const outcomes = outcomesOf({ call: tableOf(redis)[coalesced]! });
      const quit = redis.quit();
      expect(await outcomes).toEqual({ call: 'ERR_CLIENT_CLOSED' });
      expect(await quit).toBe('OK');
    });

    test('refuses each wrong argument with a code, or takes it', async () => {
      expect(await uncodedMisuses(all())).toEqual([]);
    });

    test('refuses options that there are not', async () => {
      expect(await unknownOptions(all())).toEqual([]);
    });

    test('takes undefined for an option that is not given', async () => {
      expect(await refusedUndefined(all())).toEqual([]);
    });

    test('refuses each wrong value of an option with a code', async () => {
      expect(await wrongOptionValues(all(), takes)).toEqual([]);
    });
  });
}
