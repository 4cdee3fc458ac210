/**
 * One message to many members. How long it takes until all of them have it shows where the next one waits for that. Messages in a row show the cost
 * for Redis: a server that had nothing to do for the 10 ms which 1,000 members need
 * for a message, in processes that drive it out of the caches, pays for that three times what the message costs.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { ChatKind } from './kind.js';
import { BOOK, MORTISE, STREAMS } from './kinds/index.js';
import { chatOf, memberOf, TEXT } from './message.js';
import type { PostActions } from './poster.process.js';
import type { PushActions } from './push.process.js';
import { redisCpuMs } from './redis-cpu.js';

const AUDIENCE = new URL('push.process.js', import.meta.url);
const POSTER = new URL('poster.process.js', import.meta.url);
const CPU = 'Redis CPU ms';
const CPU_ALONE = 'alone: Redis CPU ms';
const MESSAGES = 20;
const SERIES = 200;
/** Node compiles what the members do with a message while they get the first 20. */
const WARM_UP_MESSAGES = 30;
/** The upkeep of an idle server doesn't count for a message. */
const IDLE_MS = 1_000;
const SENDER = 'sender';

interface Load {
  readonly members: number;
  readonly processes: number;
}

function competitor(kind: ChatKind, { members, processes }: Load): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url }) => {
      const poster = startRemote<PostActions>(POSTER);
      const all = Array.from({ length: processes }, () => startRemote<PushActions>(AUDIENCE));
      const names = Array.from({ length: members }, (_, member) => memberOf(member));
      const of = { url, kind: kind.name, chat: chatOf(0), sender: SENDER, text: TEXT };
      let posted = 1;
      /** How long it took until all had each message, ms. */
      const push = async (messages: number): Promise<number[]> => {
        const took: number[] = [];
        for (let message = 0; message < messages; message += 1) {
          posted += 1;
          const receiving = kind.isPushed ? untilAll() : undefined;
          const { result: postedAt } = await poster.do('post', of);
          const ends = await (receiving ?? untilAll());
          took.push(Math.max(...ends) - postedAt);
        }
        return took;
      };
      const pushSeries = async (messages: number): Promise<void> => {
        posted += messages;
        const receiving = untilAll();
        await poster.do('postSeries', { ...of, messages });
        await receiving;
      };
      /** CPU of Redis for one of so many messages, ms, without the upkeep. */
      const cpuOf = async (messages: number, idle: number, work: () => Promise<unknown>): Promise<number> => {
        const before = await redisCpuMs(redis);
        const startedAt = performance.now();
        await work();
        const upkeep = idle * (performance.now() - startedAt);
        return ((await redisCpuMs(redis)) - before - upkeep) / messages;
      };
      const untilAll = async (): Promise<number[]> => {
        const ends = await Promise.all(all.map((remote) => remote.do('until', posted)));
        return ends.map(({ result }) => result);
      };
      return Promise.resolve({
        warmUp: async () => {
          await poster.do('create', { ...of, members: [SENDER, ...names] });
          await Promise.all(
            all.map((remote, index) =>
              remote.do('attend', { ...of, members: names.filter((_, name) => name % processes === index) }),
            ),
          );
          await untilAll();
          await push(WARM_UP_MESSAGES);
        },
        run: async () => {
          const idle = (await cpuOf(1, 0, () => sleep(IDLE_MS))) / IDLE_MS;
          let took: number[] = [];
          const alone = await cpuOf(MESSAGES, idle, async () => {
            took = await push(MESSAGES);
          });
          const figures = {
            'p50 ms': percentile(took, 0.5),
            'max ms': percentile(took, 1),
            [CPU_ALONE]: alone,
          };
          if (!kind.isPushed) return { operations: MESSAGES, figures: { ...figures, [CPU]: alone } };
          const inSeries = await cpuOf(SERIES, idle, () => pushSeries(SERIES));
          return { operations: MESSAGES + SERIES, figures: { ...figures, [CPU]: inSeries } };
        },
        close: async () => {
          await Promise.all([poster, ...all].map((remote) => remote.kill()));
        },
      });
    },
  };
}

function scenario(load: Load, bars: readonly Bar[] = []): Scenario {
  const where = load.processes === 1 ? '1 process' : `${load.processes} processes`;
  return {
    name: `messaging.push-${String(load.members).padStart(4, '0')}-${load.processes}`,
    title: `Messaging: one message to ${load.members} members in ${where}`,
    operation: 'one message posted, until all members have it',
    method:
      `${MESSAGES} messages, each when all have the one before: the times, and the CPU alone. Then ${SERIES}, each as soon as the one before was ` +
      `accepted, until all have them: the CPU. The upkeep of an idle server is not counted. ${MORTISE.name}: every member follows; Streams: a connection with a blocking XREAD for each member; ` +
      'the book: each member fetches once, as soon as a message was posted, so there is no series. The time is from the call of post until the last member has it.',
    competitors: [MORTISE, STREAMS, BOOK].map((kind) => competitor(kind, load)),
    columns: ['p50 ms', 'max ms', CPU, CPU_ALONE, 'commands run', 'bytes out'],
    drawn: 'p50 ms',
    // Thousands of commands and connections: it hardly varies.
    mostRepeats: load.members === 1_000 ? 3 : 1,
    bars,
  };
}

export const push: readonly Scenario[] = [
  scenario({ members: 100, processes: 1 }),
  scenario({ members: 100, processes: 4 }),
  scenario({ members: 1_000, processes: 1 }),
  // Not scaled as well: the reference does not say in how many processes the book's members fetched, and that makes a factor of three.
  scenario({ members: 1_000, processes: 4 }, [{ competitor: MORTISE.name, figure: CPU, atMost: 0.1 }]),
];
