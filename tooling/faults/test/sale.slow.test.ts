/**
 * The main job, end to end and with nothing replaced: API and worker are processes, Redis is redis-server, mails go
 * over SMTP. A sale over HTTP becomes one mail to the seller; a killed worker loses none.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import { until } from '@mortise/test-kit';
import PostalMime from 'postal-mime';
import { freePort } from '../src/free-port.js';
import { MailPeer } from '../src/mail-peer.js';
import type { Sale } from '../src/market-client.js';
import { MarketClient } from '../src/market-client.js';
import { Program } from '../src/program.js';

const PRICE = 97;
const FUNDS = 1_000_000;

let redis: RedisServer;
let peer: MailPeer;
let api: Program;
let worker: Program;
let market: MarketClient;
let environment: NodeJS.ProcessEnv;

beforeAll(async () => {
  [redis, peer] = await Promise.all([startSingle({ appendFsync: 'always' }), MailPeer.start()]);
  const port = await freePort();
  environment = {
    REDIS_URL: redis.url,
    PORT: String(port),
    AUTH: 'off',
    SMTP_URL: peer.url,
    MAIL_DOMAIN: 'mail.mortise.example',
    WORKER_LEASE_MS: '5000',
    // On a busy machine an answer takes longer than a caller shall wait.
    REDIS_COMMAND_TIMEOUT_MS: '15000',
    REQUEST_DEADLINE_MS: '15000',
  };
  market = new MarketClient(`http://127.0.0.1:${port}`);
  api = new Program('api', environment);
  worker = new Program('worker', environment);
  await until(
    'the API is ready',
    async () => {
      if (!api.isRunning) throw new Error(api.output);
      const ready = await fetch(`${market.address}/health/ready`).catch(() => undefined);
      return ready?.status === 200;
    },
    30_000,
  );
});

afterAll(async () => {
  await Promise.all([api?.stop(), worker?.stop()]);
  await Promise.all([redis?.stop(), peer?.stop()]);
});

beforeEach(async () => {
  await market.player('bill', 'bill@fake-game.example', 0);
  await market.player('frank', 'frank@fake-game.example', FUNDS);
});

interface Task {
  readonly id: string;
  readonly state: string;
  readonly attempt: number;
}

async function taskOf(id: string): Promise<Task> {
  return (await market.request<Task>('GET', `/v1/tasks/${id}`)).body;
}

/** The mails that tell of these sales, by task id; the part of Message-ID before the @. */
function mailsOf(taskIds: readonly string[]): Map<string, Buffer[]> {
  const mails = new Map<string, Buffer[]>(taskIds.map((id) => [id, []]));
  for (const { source } of peer.mails) {
    const id = /^message-id: <([^@>]+)@mail\.mortise\.example>\r?$/im.exec(source.toString())?.[1];
    mails.get(id ?? '')?.push(source);
  }
  return mails;
}

describe('a sale', () => {
  test('becomes one mail to the seller', async () => {
    const listingId = await market.offer('bill', 'one', PRICE);
    const sale = await market.buy(listingId, 'frank', PRICE);
    const mail = await until('the mail arrives', () =>
      peer.mails.find(({ source }) => source.includes(sale.taskId)),
    );
    expect(mail.recipients).toEqual(['bill@fake-game.example']);
    const headers = mail.source.toString().split('\r\n\r\n', 1)[0]!.split('\r\n');
    expect(headers).toContain('To: bill@fake-game.example');
    expect(headers).toContain('Subject: Sold: one for 97 coins');
    expect(headers).toContain(`Message-ID: <${sale.taskId}@mail.mortise.example>`);
    const { text } = await PostalMime.parse(mail.source);
    expect(text).toContain('frank');
    expect(text).toContain(String(PRICE));
    const task = await until('the task has succeeded', async () => {
      const { body } = await market.request<{ state: string }>('GET', `/v1/tasks/${sale.taskId}`);
      return body.state === 'succeeded' && body;
    });
    expect(task).toMatchObject({ id: sale.taskId, name: 'mail.sold', priority: 'medium', attempt: 1 });
  });

  test('becomes one mail each, also when many come at once', async () => {
    const listings = await Promise.all(
      Array.from({ length: 50 }, (_, index) => market.offer('bill', `many-${index}`, PRICE)),
    );
    const sales = await Promise.all(listings.map((listing) => market.buy(listing, 'frank', PRICE)));
    const ids = sales.map(({ taskId }) => taskId);
    await until(
      'all mails arrive',
      () => [...mailsOf(ids).values()].every((mails) => mails.length > 0),
      30_000,
    );
    await until(
      'all tasks are done',
      async () => {
        const { body } = await market.request<Record<string, number>>('GET', '/v1/queues/mail');
        const counts = (body['counts'] ?? body) as unknown as Record<string, number>;
        return counts['active'] === 0 && counts['ready'] === 0;
      },
      30_000,
    );
    expect([...mailsOf(ids).values()].map((mails) => mails.length)).toEqual(ids.map(() => 1));
  });
});

describe('a worker that is killed', () => {
  test('loses no sale: every mail arrives at least once', async () => {
    const before = await market.request<{ funds: number }>('GET', '/v1/market/players/frank');
    const listings = await Promise.all(
      Array.from({ length: 200 }, (_, index) => market.offer('bill', `killed-${index}`, PRICE)),
    );
    // The peer lets every mail wait for its answer, so the worker is in the middle of as many as it runs at once.
    peer.hold();
    const buy = (some: readonly string[]): Promise<Sale[]> =>
      Promise.all(some.map((listing) => market.buy(listing, 'frank', PRICE)));
    const sales = await buy(listings.slice(0, 100));
    await until('the worker is busy', () => peer.isHolding, 30_000);
    const held = (await Promise.all(sales.map(({ taskId }) => taskOf(taskId)))).filter(
      ({ state }) => state === 'active',
    );
    expect(held.length).toBeGreaterThan(0);
    await worker.kill();
    peer.release();
    // Nobody is there to send; sales go on.
    sales.push(...(await buy(listings.slice(100))));
    worker = new Program('worker', environment);

    const ids = sales.map(({ taskId }) => taskId);
    expect(new Set(ids).size).toBe(200);
    await until(
      'every mail has arrived',
      () => [...mailsOf(ids).values()].every((mails) => mails.length > 0),
      30_000,
    );
    await until(
      'what the killed worker held has run again',
      async () => {
        const tasks = await Promise.all(held.map(({ id }) => taskOf(id)));
        return tasks.every(({ state, attempt }) => state === 'succeeded' && attempt >= 2);
      },
      30_000,
    );
    const after = await market.request<{ funds: number }>('GET', '/v1/market/players/frank');
    expect(before.body.funds - after.body.funds).toBe(200 * PRICE);
    const recipients = new Set(peer.mails.flatMap((mail) => mail.recipients));
    expect([...recipients]).toEqual(['bill@fake-game.example']);
  });
});
