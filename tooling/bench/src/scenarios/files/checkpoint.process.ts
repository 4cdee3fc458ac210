/** One process that adds what it has counted to the aggregates of a day, where each of 100,000 cities has a line. */
import { LogAggregator, Places, RangeTableBuilder, type LogFile } from '@mortise/messaging/log-aggregation';
import { Redis } from 'ioredis';
import { CITIES, cityOf } from '../aggregation/networks.js';

export type Way = 'checkpoint' | 'pipelines';

interface Flushing {
  readonly url: string;
  readonly way: Way;
  /** The id of a file that isn't counted yet. */
  readonly id: string;
}

const ADDRESSES = 2 ** 32 / CITIES;
/** Commands at once. */
const PIPELINE = 5_000;
/** Nothing is flushed before the end. */
const NEVER_BYTES = 2 ** 30;

const redisOf = new Map<string, Redis>();
let aggregator: LogAggregator | undefined;
let log: Buffer | undefined;

/** How long it took, ms. */
async function flush({ url, way, id }: Flushing): Promise<number> {
  let redis = redisOf.get(url);
  if (!redis) redisOf.set(url, (redis = new Redis(url)));
  return way === 'checkpoint' ? flushCheckpoint(redis, id) : flushPipelines(redis);
}

async function flushCheckpoint(redis: Redis, id: string): Promise<number> {
  aggregator ??= aggregatorOf(redis);
  log ??= logOfAll();
  let readAt = 0;
  const file: LogFile = {
    id,
    offset: 0,
    blocks: async function* blocks() {
      yield log!;
      readAt = performance.now();
    },
    ack: () => Promise.resolve(),
    done: () => Promise.resolve(),
    fail: () => Promise.resolve(),
  };
  const { lines } = await aggregator.count(file);
  if (lines !== CITIES) throw new Error(`${lines} of ${CITIES} lines were counted`);
  return performance.now() - readAt;
}

async function flushPipelines(redis: Redis): Promise<number> {
  const counts = new Map<string, number>();
  for (let number = 0; number < CITIES; number += 1) {
    const { country, region, city } = cityOf(number);
    for (const [key, member] of [
      ['country', country],
      ['region', `${country}/${region}`],
      ['city', `${country}/${region}/${city}`],
    ] as const) {
      counts.set(`${key} ${member}`, (counts.get(`${key} ${member}`) ?? 0) + 1);
    }
  }
  const startedAt = performance.now();
  const all = Array.from(counts);
  for (let at = 0; at < all.length; at += PIPELINE) {
    const pipeline = redis.pipeline();
    for (const [counter, lines] of all.slice(at, at + PIPELINE)) {
      const space = counter.indexOf(' ');
      pipeline.zincrby(`daily:${counter.slice(0, space)}`, lines, counter.slice(space + 1));
    }
    await pipeline.exec();
  }
  return performance.now() - startedAt;
}

function aggregatorOf(redis: Redis): LogAggregator {
  const places = new Places();
  const builder = new RangeTableBuilder(places);
  for (let number = 0; number < CITIES; number += 1) {
    const place = places.add(cityOf(number));
    builder.add4(Math.ceil(number * ADDRESSES), Math.ceil((number + 1) * ADDRESSES) - 1, place);
  }
  return new LogAggregator(redis, builder.build(), {
    checkpointBytes: NEVER_BYTES,
    checkpointMs: 3_600_000,
    maxKeys: 10 * CITIES,
  });
}

/** A line of today from each city. */
function logOfAll(): Buffer {
  const day = new Date().toISOString().slice(0, 10);
  const lines = Array.from({ length: CITIES }, (_, number) => {
    const ip = Math.ceil(number * ADDRESSES);
    const address = `${ip >>> 24}.${(ip >>> 16) & 255}.${(ip >>> 8) & 255}.${ip & 255}`;
    return `${address} ${day} 00:00:00 GET /\n`;
  });
  return Buffer.from(lines.join(''));
}

const actions = { flush };

export type CheckpointActions = typeof actions;
export default actions;
