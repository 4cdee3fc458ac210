import { percentile } from '../../percentile.js';
import { startRemote } from '../../remote.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { ChatKind } from './kind.js';
import { UNREAD } from './kind.js';
import { BOOK, MORTISE, MORTISE_AUTO_ACK, STREAM_GROUPS, STREAMS } from './kinds/index.js';
import type { PullActions, Pulling } from './pull.process.js';
import { redisCpuMs } from './redis-cpu.js';

const MODULE = new URL('pull.process.js', import.meta.url);
const CPU = 'Redis CPU ms';
const IDLE_CPU = 'idle: Redis CPU ms';
const AFTER_ACKS_CPU = 'after acks: Redis CPU ms';
const WARM_UP_SHARE = 0.25;
/** Pulls of each member that find nothing. */
const IDLE_PULLS = 10;

interface Load {
  readonly chats: number;
  readonly members: number;
}

/** The costs of pulls. */
interface Spending {
  /** Each, by the clock. */
  readonly took: readonly number[];
  /** All of them, of Redis. */
  readonly cpuMs: number;
  readonly commands: number;
}

function competitor(kind: ChatKind, { chats, members }: Load): Competitor {
  return {
    name: kind.name,
    version: kind.version,
    prepare: (redis, { url }) => {
      const filler = startRemote<PullActions>(MODULE);
      const puller = startRemote<PullActions>(MODULE);
      const warmers = Math.ceil(members * WARM_UP_SHARE);
      const of = { url, kind: kind.name };
      const spend = async (what: Omit<Pulling, 'url' | 'kind'>): Promise<Spending> => {
        const before = await redisCpuMs(redis);
        const { result, spent } = await puller.do('pull', { ...of, ...what });
        const cpuMs = (await redisCpuMs(redis)) - before;
        return { took: result, cpuMs, commands: spent.sentCommands };
      };
      return Promise.resolve({
        warmUp: async () => {
          await filler.do('fill', { ...of, first: 0, members: warmers + members, chats });
          await filler.kill();
          await spend({ first: 0, members: warmers, pulls: 1, messages: chats * UNREAD });
          await spend({ first: 0, members: warmers, pulls: 1, messages: 0 });
        },
        run: async () => {
          const who = { first: warmers, members };
          const found = await spend({ ...who, pulls: 1, messages: chats * UNREAD });
          const afterAcks = await spend({ ...who, pulls: 1, messages: 0 });
          const idle = await spend({ ...who, pulls: IDLE_PULLS, messages: 0 });
          return {
            operations: members,
            figures: {
              'p50 ms': percentile(found.took, 0.5),
              'p99 ms': percentile(found.took, 0.99),
              [CPU]: found.cpuMs / members,
              'commands of one': found.commands / members,
              [AFTER_ACKS_CPU]: afterAcks.cpuMs / afterAcks.took.length,
              'idle: p50 ms': percentile(idle.took, 0.5),
              [IDLE_CPU]: idle.cpuMs / idle.took.length,
            },
          };
        },
        close: async () => {
          await Promise.all([filler.kill(), puller.kill()]);
        },
      });
    },
  };
}

function scenario(load: Load, bars: readonly Bar[]): Scenario {
  const what = load.chats === 1 ? '1 chat' : `${load.chats} chats`;
  return {
    name: `messaging.pull-${String(load.chats).padStart(3, '0')}`,
    title: `Messaging: pull and ack, ${what}`,
    operation: `all of ${what} with ${UNREAD} unread messages each read and acked`,
    method:
      `${load.members} members, one after the other in one process; each chat has one more member, who has posted, and what both have read is freed. ` +
      `After acks: the same members pull once more, and find nothing. Idle: they pull ${IDLE_PULLS} times more.`,
    competitors: [MORTISE, MORTISE_AUTO_ACK, BOOK, STREAMS, STREAM_GROUPS].map((kind) =>
      competitor(kind, load),
    ),
    columns: ['p50 ms', 'p99 ms', CPU, 'commands of one', AFTER_ACKS_CPU, 'idle: p50 ms', IDLE_CPU],
    drawn: CPU,
    bars,
  };
}

/**
 * As it is here, and as it would be where reads of streams take what they took in the reference. Not by the book: what that takes
 * differs by more than twice from run to run, as many commands as Redis gets in one read of a socket.
 */
function cpu(figure: string, atMost: number, onReference: number): Bar[] {
  const bar = { competitor: MORTISE.name, figure, atMost };
  return [bar, { ...bar, times: STREAMS.name, onReference }];
}

export const pull: readonly Scenario[] = [
  scenario({ chats: 1, members: 200 }, []),
  scenario({ chats: 10, members: 60 }, []),
  scenario({ chats: 100, members: 16 }, [
    ...cpu(CPU, 1, 0.62),
    ...cpu(IDLE_CPU, 0.1, 0.14),
    { competitor: MORTISE.name, figure: IDLE_CPU, atMost: 1, times: BOOK.name },
    { competitor: MORTISE.name, figure: AFTER_ACKS_CPU, atMost: 1, times: BOOK.name },
    { competitor: MORTISE.name, figure: AFTER_ACKS_CPU, atMost: 1, times: STREAMS.name },
  ]),
];
