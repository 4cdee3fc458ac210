/**
 * The protected resource: a counter for each name, read and written by two commands, so that two holders at the same time
 * lose an update. With `isFenced` it refuses tokens that are smaller than one that it has seen: a writer's than
 * anybody's, a reader's than a writer's.
 */
import type { Redis } from 'ioredis';

const SOURCE = `
local token, isWriter, isFenced, value = tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3] == '1', ARGV[4]
local writer = tonumber(redis.call('HGET', KEYS[1], 'writer') or 0)
local reader = tonumber(redis.call('HGET', KEYS[1], 'reader') or 0)
if isFenced and (token < writer or (isWriter and token < reader)) then return -1 end
if isWriter and token > writer then redis.call('HSET', KEYS[1], 'writer', ARGV[1]) end
if not isWriter and token > reader then redis.call('HSET', KEYS[1], 'reader', ARGV[1]) end
if value then redis.call('HSET', KEYS[1], 'value', value) end
return tonumber(redis.call('HGET', KEYS[1], 'value') or 0)
`;

export class Resource {
  readonly #redis: Redis;
  readonly #isFenced: boolean;
  #sha1: string | undefined;

  constructor(redis: Redis, isFenced: boolean) {
    this.#redis = redis;
    this.#isFenced = isFenced;
  }

  async load(): Promise<void> {
    this.#sha1 = (await this.#redis.script('LOAD', SOURCE)) as string;
  }

  /** The counter, or null if the token is refused. */
  read(name: string, token: number, isWriter: boolean): Promise<number | null> {
    return this.#run(name, token, isWriter);
  }

  /** Sets the counter; null if the token is refused. */
  write(name: string, token: number, value: number): Promise<number | null> {
    return this.#run(name, token, true, value);
  }

  async #run(name: string, token: number, isWriter: boolean, value?: number): Promise<number | null> {
    const args = [
      token,
      isWriter ? '1' : '0',
      this.#isFenced ? '1' : '0',
      ...(value === undefined ? [] : [value]),
    ];
    const reply = (await this.#redis.evalsha(this.#sha1!, 1, name, ...args)) as number;
    return reply < 0 ? null : reply;
  }
}
