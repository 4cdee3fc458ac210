import type { Redis } from 'ioredis';
import { crewWork } from '../../crew.js';
import type { Bar, Competitor, Scenario } from '../../scenario.js';
import type { ChatKind } from './kind.js';
import { BOOK, MORTISE, STREAMS } from './kinds/index.js';
import { chatOf } from './message.js';
import type { PostReport, PostSettings } from './post.process.js';

const SECONDS = 1;
const WARM_UP_SECONDS = 0.5;
const CPU = 'Redis CPU µs';
const PUSHED = 'pushed';
const FOLLOWED = `${MORTISE.name}, followed`;
const MAX_CPU_MICROS = 15;

const METHOD =
  'One process; each sender waits for one post before the next. All senders share what they may share: the connection, and here the Chats, which send together what is posted to a chat in one tick. Every post has an id, which is looked for, and is published; ' +
  'where it says so, somebody in another process follows all chats.';

type Load = Pick<PostSettings, 'senders' | 'chats'>;

function competitor(kind: ChatKind, load: Load, isFollowed = false): Competitor {
  return {
    name: isFollowed ? FOLLOWED : kind.name,
    version: kind.version,
    prepare: async (redis, { url, seconds = SECONDS }) => {
      const common = { url, kind: kind.name, ...load };
      const settings: PostSettings[] = [{ ...common, role: 'post' }];
      if (isFollowed) settings.push({ ...common, role: 'follow' });
      let posted = 0;
      const work = await crewWork<PostReport>({
        module: new URL('post.process.js', import.meta.url),
        settings,
        warmUpSeconds: WARM_UP_SECONDS,
        seconds,
        outcome: ([poster, follower]) => {
          posted = poster!.all;
          return {
            operations: poster!.messages,
            figures: {
              'p50 ms': poster!.p50,
              'p99 ms': poster!.p99,
              ...(follower && { [PUSHED]: follower.messages / poster!.messages }),
            },
          };
        },
      });
      return {
        ...work,
        close: async () => {
          await work.close();
          await requireAccepted(kind, redis, load.chats, posted);
        },
      };
    },
  };
}

/** Every message that was reported as accepted has to be there. */
async function requireAccepted(kind: ChatKind, redis: Redis, chats: number, posted: number): Promise<void> {
  let accepted = 0;
  for (let chat = 0; chat < chats; chat += 1) accepted += (await kind.accepted(redis, chatOf(chat))) - 1;
  if (accepted < posted) throw new Error(`${kind.name} accepted ${posted} messages and has ${accepted}`);
}

function scenario(load: Load, rest: Pick<Scenario, 'name' | 'title'>, bars: readonly Bar[]): Scenario {
  return {
    ...rest,
    method: METHOD,
    operation: 'one message of 167 bytes as JSON posted',
    competitors: [
      competitor(MORTISE, load),
      competitor(MORTISE, load, true),
      competitor(BOOK, load),
      competitor(STREAMS, load),
    ],
    columns: [
      'operations/s',
      'p50 ms',
      'p99 ms',
      CPU,
      'Node CPU µs',
      'commands sent',
      'commands run',
      'bytes in',
      PUSHED,
    ],
    bars,
  };
}

/**
 * As it is here, and as it would be where XADD takes what it took in the reference: what the book takes here says how often it
 * polls for its lock, and nothing of the machine.
 */
function cpu(name: string): Bar[] {
  const bar = { competitor: name, figure: CPU, atMost: MAX_CPU_MICROS };
  return [bar, { ...bar, times: STREAMS.name, onReference: 8 }];
}

export const post: readonly Scenario[] = [
  scenario({ senders: 1, chats: 1 }, { name: 'messaging.post-1', title: 'Messaging: post, 1 sender' }, []),
  scenario(
    { senders: 50, chats: 50 },
    { name: 'messaging.post-50-chats', title: 'Messaging: post, 50 senders, a chat each' },
    [
      { competitor: MORTISE.name, figure: CPU, atMost: 2, times: STREAMS.name },
      { competitor: MORTISE.name, figure: 'operations/s', atLeast: 0.7, times: STREAMS.name },
    ],
  ),
  scenario(
    { senders: 50, chats: 1 },
    { name: 'messaging.post-50', title: 'Messaging: post, 50 senders in one chat' },
    [
      { competitor: MORTISE.name, figure: 'operations/s', atLeast: 20, times: BOOK.name },
      { competitor: MORTISE.name, figure: 'p99 ms', atMost: 20 },
      ...cpu(MORTISE.name),
      ...cpu(FOLLOWED),
    ],
  ),
];
