/** A process that changes entries of a book, or loads many. Its argument has its work; tests kill it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { AddressBook } from '@mortise/autocomplete';
import { connectTo } from '../connect.js';
import type { ActorConfig, ActorMessage, Order } from './config.js';
import { BOOK, SHARED, sharedKey } from './config.js';
import { nowUs } from '../locks/clock.js';
import { Journal, mendJournal, readJournal } from './journal.js';
import type { Version } from './versions.js';
import { handleOf, keyOf, versionOf } from './versions.js';

/** Entries of a process that are changed at the same time. */
const AT_ONCE = 16;
/** Turns of which one boosts what all boost. */
const BOOST_EVERY = 3;
const MOST_BOOST = 5;
const TELL_EVERY = 10;
const AFTER_ERROR_MS = 20;
const REFUSED = /^(?:ERR |ERR_|Error running|@user_script)/;
/** A key of the book is on another server just now. */
const MOVING = /non local key/;

const config = JSON.parse(process.argv[2]!) as ActorConfig;
const { role, index, file, prefix, entries, isBoosting, looksUp, pauseMs } = config;
const redis = connectTo(config.redis);
const book = new AddressBook<Version['payload']>(redis, BOOK, { prefix });
const ending = new AbortController();
let untold = 0;

// A parent that is gone needs nothing.
process.on('disconnect', () => process.exit(1));
process.on('message', (order: Order) => {
  if (order === 'stop') ending.abort();
});

mendJournal(file);
const versions = new Map<string, number>();
for (const { type, key, number } of readJournal(file)) if (type === 'tried') versions.set(key, number);
/** The last accepted version of each key, and when it was accepted, µs: no other process changes it. */
const leftAt = new Map<string, { readonly number: number; readonly at: number }>();
const journal = new Journal(file);
await redis.ping();
tell('ready');
try {
  await { write, load }[role]();
} catch (error) {
  journal.write({ type: 'error', key: String(error).replaceAll(/\s/g, ' '), number: 0 });
  process.exit(1);
}
redis.disconnect();
process.exit(0);

async function write(): Promise<void> {
  await Promise.all(Array.from({ length: AT_ONCE }, (_, lane) => changeInTurn(lane)));
}

/** The entries of one lane, one after the other: a change of an entry begins when the one before was accepted. */
async function changeInTurn(lane: number): Promise<void> {
  for (let turn = 0; !ending.signal.aborted; turn += 1) {
    const own = Math.floor(entries / AT_ONCE);
    await change(keyOf(index, lane * own + (turn % own)));
    if (pauseMs > 0) await sleep(pauseMs);
    if (isBoosting && turn % BOOST_EVERY === 0) {
      const key = sharedKey((turn + lane) % SHARED);
      const by = 1 + ((turn + index) % MOST_BOOST);
      await book.boost(key, by);
      journal.write({ type: 'boosted', key, number: by });
    }
  }
}

async function change(key: string): Promise<void> {
  if (looksUp) await lookUp(key);
  const number = (versions.get(key) ?? 0) + 1;
  versions.set(key, number);
  const version = versionOf(key, number);
  journal.write({ type: 'tried', key, number });
  await repeated(() => (version ? book.add(version) : book.remove(key)));
  journal.write({ type: 'accepted', key, number });
  leftAt.set(key, { number, at: nowUs() });
  untold += 1;
  if (untold % TELL_EVERY === 0) tell(TELL_EVERY);
}

/** By its handle, as a user finds it. Notes another version than the accepted one, or none. */
async function lookUp(key: string): Promise<void> {
  const left = leftAt.get(key);
  leftAt.delete(key);
  if (!left) return;
  const found = await repeated(() => book.complete(handleOf(key), { limit: 10 }));
  const own = found.filter((suggestion) => suggestion.key === key).map(({ payload }) => payload?.version);
  const wanted = versionOf(key, left.number)?.payload.version;
  if (own.length === (wanted === undefined ? 0 : 1) && own[0] === wanted) return;
  const what = `${key} was found as ${own.join(' and ') || 'nothing'}, accepted ${left.number}`;
  journal.write({ type: 'changed', key: what, number: left.at, to: nowUs() });
}

/** Asks again while there is no server, or the book is moving to another one. A script that fails is no such thing. */
async function repeated<Result>(act: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await act();
    } catch (error) {
      const { message } = error as Error;
      if (REFUSED.test(message) && !MOVING.test(message)) throw error;
      await sleep(AFTER_ERROR_MS);
    }
  }
}

function tell(message: ActorMessage): void {
  process.send!(message);
}

/** All as the first version. Each reported entry was accepted. */
async function load(): Promise<void> {
  const keys = Array.from({ length: entries }, (_, at) => keyOf(index, at));
  for (const key of keys) journal.write({ type: 'tried', key, number: 1 });
  let accepted = 0;
  await book.addMany(
    keys.map((key) => versionOf(key, 1)!),
    {
      onProgress: ({ entries: done }) => {
        const news = keys.slice(accepted, done);
        journal.write(...news.map((key) => ({ type: 'accepted', key, number: 1 }) as const));
        tell(done - accepted);
        accepted = done;
      },
    },
  );
}
