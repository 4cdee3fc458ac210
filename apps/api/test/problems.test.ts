import { readFileSync } from 'node:fs';

import { HttpException } from '@nestjs/common';
import { describe, expect, test } from '@jest/globals';
import { CacheUnavailableError } from '@mortise/cache';
import { LockTimeoutError } from '@mortise/locks';
import { ReadTimeoutError } from '@mortise/messaging';
import * as queues from '@mortise/queues';
import { ClientClosedError, CodedError, RedisUnreachableError } from '@mortise/redis';

import * as market from '../src/market/index.js';
import { CATALOGUE, isProblemSlug, PROBLEMS_BY_HEADING } from '../src/problems/catalogue.js';
import { problemOf } from '../src/problems/problem-of.js';
import { problemTables } from './fixture/problems-page.js';
import { comparedPage } from './fixture/reference-page.js';

/** Each code that the file of errors names, once. */
function codesOf(file: string): string[] {
  const source = readFileSync(new URL(`../../../packages/${file}`, import.meta.url), 'utf8');
  return [...new Set(source.match(/\bERR_[A-Z_]+\b/g))];
}

describe('the catalogue', () => {
  test('makes the tables of docs/service/reference/problems.md', () => {
    const { present, made } = comparedPage('problems', problemTables().trimEnd());
    expect(present).toBe(made);
    expect(made).toContain(Object.keys(CATALOGUE)[0]);
  });

  test('has each problem once', () => {
    const slugs = Object.values(PROBLEMS_BY_HEADING).flatMap((kinds) => Object.keys(kinds));
    expect(slugs.length).toBe(new Set(slugs).size);
    expect(slugs).toEqual(Object.keys(CATALOGUE));
  });

  test('has every refusal of the market', () => {
    const classes = Object.values(market).filter(
      (value) => typeof value === 'function' && value.prototype instanceof market.MarketRefusal,
    ) as (new () => market.MarketRefusal)[];
    expect(classes.length).toBe(20);
    for (const refusal of classes) {
      const error = new refusal();
      const { slug } = problemOf(error);
      expect([error.code, slug]).toEqual([
        error.code,
        error.code.slice(4).toLowerCase().replaceAll('_', '-'),
      ]);
    }
  });

  test('has every refusal of queues that a request can meet', () => {
    /** Codes of handlers, of workers, of features without routes, and of full memory, which is `redis-unavailable`. ERR_UNKNOWN_TASK of workers has the word of a problem by chance. */
    const others = [
      'ERR_ATTEMPT_ENDED',
      'ERR_BACKOFF_FUNCTION',
      'ERR_CALL_FAILED',
      'ERR_DISCARDED',
      'ERR_HANDLER_MISSING',
      'ERR_IDLE_TIMEOUT',
      'ERR_LISTENER_FAILED',
      'ERR_MEMORY_FULL',
      'ERR_RESULT_NOT_KEPT',
      'ERR_RETRY_LATER',
      'ERR_SANDBOX_EXITED',
      'ERR_TASK_EXPIRED',
      'ERR_TASK_NOT_FOUND',
      'ERR_TASK_TIMEOUT',
      'ERR_TASK_UNREADABLE',
      'ERR_WORKER_STOPPED',
    ];
    const refusals = Object.values(queues).filter(
      (value) =>
        typeof value === 'function' &&
        value.prototype instanceof CodedError &&
        value !== ClientClosedError &&
        value !== RedisUnreachableError,
    ) as unknown as { prototype: CodedError; name: string }[];
    const codes = [...codesOf('queues/src/errors.ts'), ...codesOf('queues/src/worker-errors.ts')];
    expect(codes.length).toBeGreaterThanOrEqual(refusals.length);
    const mapped = codes.filter((code) => isProblemSlug(code.slice(4).toLowerCase().replaceAll('_', '-')));
    expect([...mapped, ...others].toSorted()).toEqual(codes.toSorted());
  });

  test('has every refusal of mailboxes, chats and files', () => {
    /**
     * Of lines and of inflating, which have no routes, and of a policy that the API does not have; of a Redis that is away, which is
     * `redis-unavailable`; and of a chat that is left out, which nobody is refused for.
     */
    const OTHERS =
      /^ERR_(?:LINE_TOO_LONG|FILE_NOT_RESUMABLE|GZIP_MEMBER_TOO_LARGE|RECEIVER_DEAD|READ_TIMEOUT|CHAT_UNREADABLE)$/;
    const codes = [...codesOf('messaging/src/errors.ts'), ...codesOf('messaging/src/files/errors.ts')];
    expect(codes.length).toBeGreaterThanOrEqual(12);
    const unknown = codes.filter(
      (code) => !OTHERS.test(code) && !isProblemSlug(code.slice(4).toLowerCase().replaceAll('_', '-')),
    );
    expect(unknown).toEqual([]);
  });

  test('has every refusal of address books', () => {
    /** The schemas accept no name without a word. */
    const OTHERS = /^ERR_(?:NO_WORDS|INVALID_ARG)$/;
    const codes = codesOf('autocomplete/src/errors.ts');
    expect(codes.length).toBeGreaterThanOrEqual(5);
    const unknown = codes.filter(
      (code) => !OTHERS.test(code) && !isProblemSlug(code.slice(4).toLowerCase().replaceAll('_', '-')),
    );
    expect(unknown).toEqual([]);
  });

  test('knows its own words only', () => {
    expect(isProblemSlug('price-changed')).toBe(true);
    expect(isProblemSlug('toString')).toBe(false);
    expect(isProblemSlug('__proto__')).toBe(false);
  });
});

describe('problemOf', () => {
  test.each([
    "NOPERM User shop has no permissions to run the 'get' command",
    'NOPERM No permissions to access a key',
    "ERR The user executing the script can't run this command or subcommand script: 5f, on @user_script:1.",
  ])('takes %j for a refusal by Redis, also as the cause of an error, and shows nothing of it', (message) => {
    const reply = Object.assign(new Error(message), { name: 'ReplyError' });
    for (const error of [reply, new CacheUnavailableError('pages', message, reply)]) {
      expect(problemOf(error).toDocument('r1')).toEqual({
        type: 'https://mortise.dev/problems/redis-denied',
        title: 'Redis refuses a command to the user of the service',
        status: 503,
        instance: 'r1',
      });
    }
  });

  test('takes a cache whose Redis does not answer for an unavailable one', () => {
    expect(problemOf(new CacheUnavailableError('pages', 'no answer')).slug).toBe('redis-unavailable');
  });

  test('gives the typed fields of a refusal', () => {
    const problem = problemOf(new market.PriceChangedError('offer', 90, 97));
    expect(problem.toDocument('r1')).toEqual({
      type: 'https://mortise.dev/problems/price-changed',
      title: 'The listing costs something else',
      status: 409,
      detail: 'listing "offer" costs 97, not 90',
      instance: 'r1',
      listingId: 'offer',
      expectedPrice: 90,
      price: 97,
    });
  });

  test('tells a lock that is held from a Redis that could not be asked', () => {
    const held = problemOf(new LockTimeoutError('invoice', 30));
    expect(held.toDocument('r1')).toMatchObject({ status: 409, lockName: 'invoice', waitMs: 30 });
    const cause = new Error('Command timed out');
    expect(problemOf(new LockTimeoutError('invoice', 30, { cause })).slug).toBe('redis-unavailable');
  });

  test('says of a pull that Redis did not answer, and of a closed client, that Redis is away', () => {
    expect(problemOf(new ClientClosedError()).slug).toBe('redis-unavailable');
    expect(problemOf(new ReadTimeoutError('bill', 30)).slug).toBe('redis-unavailable');
  });

  test.each([
    new Error('password=hunter2'),
    new RangeError('Maximum call stack size exceeded'),
    new HttpException('hunter2', 500),
    'hunter2',
    undefined,
    null,
    { code: 'ERR_SECRET', secret: 'hunter2' },
  ])('says nothing about what is unexpected: %p', (error) => {
    expect(problemOf(error).toDocument('r1')).toEqual({
      type: 'https://mortise.dev/problems/internal-error',
      title: 'The server failed',
      status: 500,
      instance: 'r1',
    });
  });

  test.each([
    'Command timed out',
    'Connection is closed.',
    "Stream isn't writeable and enableOfflineQueue options is false",
    "Cluster isn't ready and enableOfflineQueue options is false",
    'LOADING Redis is loading the dataset in memory',
    "READONLY You can't write against a read only replica.",
    'CLUSTERDOWN The cluster is down',
    "OOM command not allowed when used memory > 'maxmemory'.",
    'MISCONF Errors writing to the AOF file',
  ])('takes %j for Redis being unavailable', (message) => {
    expect(problemOf(new Error(message)).toDocument('r1')).toEqual({
      type: 'https://mortise.dev/problems/redis-unavailable',
      title: 'Redis cannot be reached',
      status: 503,
      instance: 'r1',
    });
  });

  test.each(['WRONGTYPE Operation against a key holding the wrong kind of value', 'ERR unknown command'])(
    'takes %j for a defect',
    (message) => {
      expect(problemOf(new Error(message)).slug).toBe('internal-error');
    },
  );
});
