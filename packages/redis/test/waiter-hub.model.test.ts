/** Random breaks against the one promise of the hub: a resync reports each gap in the messages of a waiter. */
import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { runServer, until } from '@mortise/test-kit';
import fc from 'fast-check';
import { MAJORS, connect } from './fixture/clients.js';
import type { Major } from './fixture/clients.js';
import { connectionsOf } from './fixture/observe.js';
import { TestListener, TestChannel } from './fixture/waiting-cases.js';

const { server } = await runServer();

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

type Script = readonly ({ type: 'publish'; times: number } | { type: 'kill' } | { type: 'settle' })[];

/**
 * Publishes the numbers from 1 while it kills connections, until the last number was received. @param begin Subscribes, and
 * returns what checks the messages at the end.
 */
async function play(
  major: Major,
  script: Script,
  begin: (channel: TestChannel) => Promise<(publish: Publish, sent: () => number) => Promise<void>>,
): Promise<void> {
  const name = randomUUID();
  const client = connect(major, server.url, { connectionName: name, retryStrategy: () => 1 });
  const publisher = connect('6', server.url);
  const channel = new TestChannel(client);
  const check = await begin(channel);
  let sent = 0;
  const publish: Publish = (text = String((sent += 1))) => channel.publish(`*:${text}`, publisher);
  for (const step of [...script, { type: 'settle' as const }]) {
    if (step.type === 'publish') for (let time = 0; time < step.times; time += 1) await publish();
    else if (step.type === 'settle') while ((await publish()) !== 1);
    else
      for (const { id } of await connectionsOf([server], name))
        await server.command('CLIENT', 'KILL', 'ID', id);
  }
  await check(publish, () => sent);
  client.disconnect();
  publisher.disconnect();
}

/** Sends the next number, or a text. */
type Publish = (text?: string) => Promise<unknown>;

test.each(MAJORS)('ioredis %s: each gap in the messages comes with a resync', async (major) => {
  await fc.assert(
    fc.asyncProperty(steps, (script) =>
      play(major, script, async (channel) => {
        const waiter = await channel.waiter('w');
        let received = 0;
        let gaps = 0;
        let isResynced = false;
        let isUnreported = false;
        const listening = (async () => {
          for (;;) {
            const wake = await waiter.next();
            if (wake.type === 'resync') {
              isResynced = true;
              isUnreported = false;
              continue;
            }
            const text = wake.type === 'message' ? wake.body.toString() : wake.type;
            if (text === 'end') return;
            const number = Number(text);
            if (number !== received + 1) {
              if (isUnreported) throw new Error(`no resync for the gap before ${received}`);
              gaps += 1;
              // A message that comes with the confirmation of the subscription overtakes the resync.
              isUnreported = !isResynced;
            }
            isResynced = false;
            received = number;
          }
        })();
        return async (publish, sent) => {
          await publish('end');
          await listening;
          expect(received).toBe(sent());
          const late = isUnreported
            ? await waiter.next({ deadlineAt: performance.now() + 20_000 })
            : { type: 'resync' };
          expect(late.type).toBe('resync');
          expect(gaps).toBeLessThanOrEqual(script.filter(({ type }) => type === 'kill').length + 1);
        };
      }),
    ),
    { numRuns: 8 },
  );
});

test.each(MAJORS)(
  'ioredis %s: a listener gets the resync of each gap before the messages after it',
  async (major) => {
    await fc.assert(
      fc.asyncProperty(steps, (script) =>
        play(major, script, async (channel) => {
          const listener = new TestListener();
          const { calls } = listener;
          await channel.listen(listener);
          return async (publish, sent) => {
            await until('the last message, or a resync after it', async () => {
              const last = calls.at(-1);
              if (last === '<resync>') await publish();
              return last === String(sent());
            });
            const numbers = calls.filter((text) => text !== '<resync>').map(Number);
            expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
            const unreported = calls.filter(
              (text, index) => !/resync/.test(calls[index - 1] ?? '') && !/resync/.test(text),
            );
            expect(unreported).toEqual(
              unreported.map((text) => {
                const before = calls[calls.indexOf(text) - 1] ?? '0';
                return String(Number(before) + 1);
              }),
            );
          };
        }),
      ),
      { numRuns: 8 },
    );
  },
);
