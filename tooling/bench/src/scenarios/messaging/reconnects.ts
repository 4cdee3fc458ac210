/** One message to very many members, some of whom come and go all the time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Competitor, Scenario } from '../../scenario.js';
import { MORTISE } from './kinds/index.js';
import { chatOf, memberOf, TEXT } from './message.js';
import { redisCpuMs } from './redis-cpu.js';
import type { ReconnectActions } from './reconnects.process.js';

const MODULE = new URL('reconnects.process.js', import.meta.url);
const MEMBERS = 100_000;
const PROCESSES = 4;
/** Of all members, in a minute. */
const RECONNECTING = 0.03;
const MESSAGES = 20;
/** Long enough for all members to have a message before the next one: it is no measure of a rate. */
const PAUSE_MS = 3_000;
/** After its beginning, each follower looks for missed messages, for the last time after 31 s. */
const SETTLING_MS = 40_000;
const SENDER = 'sender';
const CPU = 'Redis CPU ms';
const P99 = 'p99 ms';

const competitor: Competitor = {
  name: MORTISE.name,
  version: MORTISE.version,
  prepare: (redis, { url, scale }) => {
    const members = Math.ceil(MEMBERS * scale);
    const poster = startRemote<ReconnectActions>(MODULE);
    const all = Array.from({ length: PROCESSES }, () => startRemote<ReconnectActions>(MODULE));
    // One more member posts.
    const names = Array.from({ length: members - 1 }, (_, member) => memberOf(member));
    const chat = chatOf(0);
    return Promise.resolve({
      warmUp: async () => {
        await poster.do('create', { url, chat, members: [SENDER, ...names], text: TEXT });
        await Promise.all(
          all.map((remote, index) =>
            remote.do('attend', { url, members: names.filter((_, name) => name % PROCESSES === index) }),
          ),
        );
        const everyMs = (60_000 * PROCESSES) / (RECONNECTING * members);
        await Promise.all(all.map((remote) => remote.do('reconnect', everyMs)));
        await poster.do('post', { chat, sender: SENDER, text: '' });
        await sleep(SETTLING_MS);
      },
      run: async () => {
        // The cost of members who come and go, without messages. Each follower looks once in 60 s, in both windows.
        const idleFrom = performance.now();
        const idleBefore = await redisCpuMs(redis);
        await sleep(MESSAGES * PAUSE_MS);
        const idle = ((await redisCpuMs(redis)) - idleBefore) / (performance.now() - idleFrom);
        await Promise.all(all.map((remote) => remote.do('clear', undefined)));
        const startedAt = performance.now();
        const before = await redisCpuMs(redis);
        for (let message = 0; message < MESSAGES; message += 1) {
          await poster.do('post', { chat, sender: SENDER, text: TEXT });
          await sleep(PAUSE_MS);
        }
        const cpuMs = (await redisCpuMs(redis)) - before - idle * (performance.now() - startedAt);
        const ends = await Promise.all(all.map((remote) => remote.do('clear', undefined)));
        const took = ends.flatMap(({ result }) => result.tookMs);
        const reconnects = ends.reduce((sum, { result }) => sum + result.reconnects, 0);
        return {
          operations: MESSAGES,
          figures: {
            'p50 ms': percentile(took, 0.5),
            [P99]: percentile(took, 0.99),
            'max ms': percentile(took, 1),
            [CPU]: cpuMs / MESSAGES,
            'reconnects of a message': reconnects / MESSAGES,
            'received, %': (100 * took.length) / (MESSAGES * names.length),
          },
        };
      },
      close: async () => {
        await Promise.all([poster, ...all].map((remote) => remote.kill()));
      },
    });
  },
};

export const reconnects: readonly Scenario[] = [
  {
    name: 'messaging.push-reconnects',
    title: `Messaging: one message to ${MEMBERS / 1_000},000 members, of whom 3 % reconnect in a minute`,
    operation: 'one message posted, until its members have it',
    method:
      `The members of one chat follow in ${PROCESSES} processes. ${MESSAGES} messages, ${PAUSE_MS} ms apart, so that all have one before the next. In each process members stop to follow and follow again, one after the other. ` +
      'The times are those of all members, from the call of post on. The CPU of Redis is that of the messages: what members cost who come and go without messages is taken off. ' +
      'A member who was away when a message came is not counted.',
    competitors: [competitor],
    columns: ['p50 ms', P99, 'max ms', CPU, 'reconnects of a message', 'received, %'],
    drawn: P99,
    mostRepeats: 1,
    bars: [
      { competitor: MORTISE.name, figure: P99, atMost: 150 },
      { competitor: MORTISE.name, figure: CPU, atMost: 0.2 },
      { competitor: MORTISE.name, figure: 'received, %', atLeast: 99.9 },
    ],
  },
];
