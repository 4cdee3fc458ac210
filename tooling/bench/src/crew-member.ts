/** The program of one process of a crew: does its segment of the work on the orders of its parent. */
import type { Spent } from './scenario.js';
import { sentCommands } from './sent-commands.js';

/** A segment of the work. It goes on until the process is killed. */
export interface Segment<Report> {
  /** Begins; resolves when it is under way. */
  start(): void | Promise<void>;
  /** From here on it counts. */
  open(): void;
  /** Returns its counts. */
  close(): Report;
}

export type MakeSegment<Settings, Report> = (settings: Settings) => Promise<Segment<Report>>;

export type MemberRequest =
  | { readonly verb: 'prepare'; readonly settings: object }
  | { readonly verb: 'start' | 'open' | 'close' };

export interface MemberReply {
  readonly report?: unknown;
  readonly spent?: Spent;
}

const [, , module] = process.argv;
let segment: Segment<unknown>;
let openedAt = 0;
let sentBefore = 0;
let cpuBefore = process.cpuUsage();

async function answer(request: MemberRequest): Promise<MemberReply> {
  switch (request.verb) {
    case 'prepare': {
      const { default: make } = (await import(module!)) as { default: MakeSegment<object, unknown> };
      segment = await make(request.settings);
      return {};
    }
    case 'start': {
      await segment.start();
      return {};
    }
    case 'open': {
      segment.open();
      openedAt = performance.now();
      sentBefore = sentCommands();
      cpuBefore = process.cpuUsage();
      return {};
    }
    case 'close': {
      const { user, system } = process.cpuUsage(cpuBefore);
      const spent = {
        seconds: (performance.now() - openedAt) / 1000,
        sentCommands: sentCommands() - sentBefore,
        cpuMicros: user + system,
      };
      return { report: segment.close(), spent };
    }
    default: {
      throw new Error(`unknown request ${JSON.stringify(request satisfies never)}`);
    }
  }
}

process.on('message', (request: MemberRequest) => {
  answer(request).then(
    (reply) => process.send!(reply),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
