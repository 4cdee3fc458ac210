import type { ChatRunOptions } from '../../messaging/chat-run.js';
import { ChatRun } from '../../messaging/chat-run.js';
import type { Place, Workload } from '../workload.js';
import { oneOf } from '../workload.js';

/** Their slots belong to three masters. */
const CHATS = ['a', 'b', 'c'];
const PAUSE_MS = 100;
const NOBODY = { post: 0, revise: 0, pull: 0, follow: 0, govern: 0, send: 0, receive: 0 };

export function chats(place: Place): Promise<Workload> {
  return workload(place, { ...NOBODY, post: 2, pull: 2, follow: 2 });
}

export function mailboxes(place: Place): Promise<Workload> {
  return workload(place, { ...NOBODY, send: 1, receive: 2 });
}

/** The first process of each kind lives as long as the run. */
async function workload({ redis, prefix }: Place, actors: ChatRunOptions['actors']): Promise<Workload> {
  const run = await ChatRun.start(redis, { prefix, chats: CHATS, actors: actors!, pauseMs: PAUSE_MS });
  const isVeteran = ({ config }: (typeof run.actors)[number]): boolean => config.member.endsWith(' 0');
  return {
    progress: () => run.recordBytes,
    veterans: () => run.actors.filter(isVeteran).map(({ config, pid }) => ({ name: config.member, pid })),
    async strike(how, ms) {
      const victim = oneOf(run.actors.filter((actor) => !isVeteran(actor)));
      await (how === 'kill' ? victim.replace() : victim.freeze(ms));
    },
    async noted(fault) {
      run.noted(fault);
      if (fault.isFlush) await run.recreate(fault.from);
    },
    async finish() {
      const found = await run.verdict();
      return {
        violations: found.violations.map(({ rule, details }) => `${rule}: ${details}`),
        figures: {
          accepted: found.accepted,
          delivered: found.delivered,
          'posted again': found.repeatedPosts,
          'pulled again': found.pulledAgain,
          forgotten: found.forgotten,
        },
      };
    },
    async clean() {
      // Readers have run until now.
      await Promise.all(run.actors.map((actor) => actor.kill()));
      for (const chat of CHATS) {
        for (const { config } of run.actors) {
          if (config.role === 'receive') await run.mailboxes.removeDevice(chat, config.member);
          else if (config.role !== 'send') await run.chats.leave(chat, config.member);
        }
      }
    },
    dispose: () => run.dispose(),
  };
}
