/** One process that has a book: loads it, checks its answers, and calls it for a while, on request. */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../percentile.js';
import { redisCpuMs } from '../messaging/redis-cpu.js';
import { aofBytesOf } from './aof-bytes.js';
import type { DataKind, Named, TypingKind } from './data.js';
import { dataOf, namesOf, typingOf } from './data.js';
import { heapBytes } from './heap-bytes.js';
import type { BookClient, BookKind, Caller } from './kind.js';
import { bookKind } from './kinds/index.js';
import { sharedConnection } from './kinds/connection.js';
import { RightAnswers } from './right-answers.js';

export interface OpenOptions {
  readonly url: string;
  readonly kind: string;
  readonly data: DataKind;
  readonly count: number;
  /** Redis has the names. */
  readonly isLoaded: boolean;
}

export interface Loaded {
  readonly seconds: number;
  /** The heap of this process, if it holds the names. */
  readonly heapBytes: number;
}

/** The repeated calls. */
export type Calls =
  | { readonly verb: 'complete' | 'completeFuzzy'; readonly typing: TypingKind }
  /** Boosts any name, or popular ones more often. */
  | { readonly verb: 'boost'; readonly of: 'any' | 'popular' };

export interface Window {
  readonly calls: Calls;
  readonly callers: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

export interface Report {
  readonly operations: number;
  readonly seconds: number;
  readonly p50Micros: number;
  readonly p99Micros: number;
  readonly redisCpuMicros: number;
}

export interface Shares {
  readonly right: number;
  readonly best: number;
}

/** Callers that compute without end yield after this, ms. */
const TURN_MS = 5;
const SEEDS = { window: 3, check: 19, aof: 23 };

let kind: BookKind;
let data: readonly Named[];
let client: BookClient;
let url: string;
const callersOf = new Map<number, Caller[]>();

async function open(opening: OpenOptions): Promise<Loaded> {
  ({ url } = opening);
  kind = bookKind(opening.kind);
  data = dataOf(opening.data, opening.count);
  const before = kind.isInProcess ? heapBytes() : 0;
  client = kind.connect(url);
  const startedAt = performance.now();
  if (!opening.isLoaded) await client.load(data);
  const seconds = (performance.now() - startedAt) / 1000;
  return { seconds, heapBytes: kind.isInProcess ? heapBytes() - before : 0 };
}

function callers(count: number): Caller[] {
  const most = kind.isInProcess ? 1 : count;
  let all = callersOf.get(most);
  if (!all) callersOf.set(most, (all = client.callers(most)));
  return all;
}

/** One call of a caller after the other; each has an input of its own. */
function callOf(calls: Calls, seed: number): (caller: Caller) => unknown {
  if (calls.verb === 'boost') {
    const name = namesOf(calls.of, data, seed);
    return (caller) => caller.boost!(name());
  }
  const typing = typingOf(calls.typing, data, seed);
  return calls.verb === 'complete'
    ? (caller) => caller.complete(typing())
    : (caller) => caller.completeFuzzy!(typing());
}

async function window({ calls, callers: count, warmUpSeconds, seconds }: Window): Promise<Report> {
  const redis = sharedConnection(url);
  const call = callOf(calls, SEEDS.window);
  let took: number[] = [];
  const ending = new AbortController();
  let turnedAt = performance.now();
  const goOn = async (caller: Caller): Promise<void> => {
    while (!ending.signal.aborted) {
      const startedAt = performance.now();
      const answer = call(caller);
      if (answer instanceof Promise) {
        await answer;
      } else if (startedAt - turnedAt > TURN_MS) {
        await new Promise(setImmediate);
        turnedAt = performance.now();
        continue;
      }
      took.push(performance.now() - startedAt);
    }
  };
  const all = callers(count).map(goOn);
  await sleep(warmUpSeconds * 1000);
  const cpuBefore = await redisCpuMs(redis);
  took = [];
  const openedAt = performance.now();
  await sleep(seconds * 1000);
  const counted = took;
  const elapsed = (performance.now() - openedAt) / 1000;
  took = [];
  const cpu = (await redisCpuMs(redis)) - cpuBefore;
  ending.abort();
  await Promise.all(all);
  return {
    operations: counted.length,
    seconds: elapsed,
    p50Micros: 1000 * percentile(counted, 0.5),
    p99Micros: 1000 * percentile(counted, 0.99),
    redisCpuMicros: (1000 * cpu) / counted.length,
  };
}

/** Which shares of so many answers are right. */
async function check({ calls, answers }: { calls: Calls; answers: number }): Promise<Shares> {
  if (calls.verb === 'boost') throw new Error('a boost has no answer');
  const graded = new RightAnswers(data);
  const typing = typingOf(calls.typing, data, SEEDS.check);
  const [caller] = callers(1);
  let right = 0;
  let best = 0;
  for (let count = 0; count < answers; count += 1) {
    const text = typing();
    const answer = await (calls.verb === 'complete' ? caller!.complete(text) : caller!.completeFuzzy!(text));
    const { isRight, isBest } =
      calls.verb === 'completeFuzzy'
        ? graded.gradeFuzzy(text, answer)
        : calls.typing === 'words'
          ? graded.gradeWords(text, answer)
          : graded.gradePrefix(text, answer, kind.order);
    right += Number(isRight);
    best += Number(isBest);
  }
  return { right: right / answers, best: best / answers };
}

/** The bytes that one call adds to the append-only file, one call after the other. */
async function aofBytes({ calls, operations }: { calls: Calls; operations: number }): Promise<number> {
  if (kind.isInProcess) return 0;
  const call = callOf(calls, SEEDS.aof);
  const [caller] = callers(1);
  return aofBytesOf(sharedConnection(url), async () => {
    for (let count = 0; count < operations; count += 1) await call(caller!);
    return operations;
  });
}

const actions = { open, window, check, aofBytes };

export type BookActions = typeof actions;
export default actions;
