/** Random breaks against the one promise of the hub: what a waiter misses is told to it by a resync. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { RedisServer } from '@mortise/redis-server';
import { startSingle } from '@mortise/redis-server';
import fc from 'fast-check';
import { MAJORS, connect } from './clients.js';
import { connectionsOf } from './observe.js';
import { TestChannel } from './waiting-cases.js';

let server: RedisServer;
beforeAll(async () => {
  server = await startSingle();
});
afterAll(() => server.stop());

const steps = fc.array(
  fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({ type: fc.constant('publish' as const), times: fc.nat({ max: 30 }) }),
    },
    { weight: 3, arbitrary: fc.constant({ type: 'kill' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'settle' as const }) },
  ),
  { minLength: 20, maxLength: 60 },
);

test.each(MAJORS)('ioredis %s: each gap in the messages comes with a resync', async (major) => {
  await fc.assert(
    fc.asyncProperty(steps, async (script) => {
      const name = randomUUID();
      const client = connect(major, server.url, { connectionName: name, retryStrategy: () => 1 });
      const publisher = connect('6', server.url);
      const channel = new TestChannel(client);
      const waiter = await channel.waiter('w');

      let sent = 0;
      let received = 0;
      let gaps = 0;
      let isResynced = false;
      let isUntold = false;
      const listening = (async () => {
        for (;;) {
          const wake = await waiter.next();
          if (wake.type === 'resync') {
            isResynced = true;
            isUntold = false;
            continue;
          }
          const text = wake.type === 'message' ? wake.body.toString() : wake.type;
          if (text === 'end') return;
          const number = Number(text);
          if (number !== received + 1) {
            if (isUntold) throw new Error(`nothing told of the gap before ${received}`);
            gaps += 1;
            // A message that comes with the confirmation of the subscription overtakes the resync.
            isUntold = !isResynced;
          }
          isResynced = false;
          received = number;
        }
      })();
      for (const step of [...script, { type: 'settle' as const }]) {
        if (step.type === 'publish') {
          for (let time = 0; time < step.times; time += 1)
            await channel.publish(`w:${(sent += 1)}`, publisher);
        } else if (step.type === 'kill') {
          for (const { id } of await connectionsOf([server], name)) {
            await server.command('CLIENT', 'KILL', 'ID', id);
          }
        } else {
          while ((await channel.publish(`w:${(sent += 1)}`, publisher)) !== 1);
        }
      }
      await channel.publish('w:end', publisher);
      await listening;
      expect(received).toBe(sent);
      const late = isUntold
        ? await waiter.next({ deadlineAt: performance.now() + 20_000 })
        : { type: 'resync' };
      expect(late.type).toBe('resync');
      expect(gaps).toBeLessThanOrEqual(script.filter(({ type }) => type === 'kill').length + 1);
      client.disconnect();
      publisher.disconnect();
    }),
    { numRuns: 8 },
  );
});
