/** The program of a remote process: does the actions of a module, one after the other, as its parent asks. */
import type { Spent } from './scenario.js';
import { sentCommands } from './sent-commands.js';

export type Actions = Readonly<Record<string, (input: never) => Promise<unknown>>>;

export interface RemoteRequest {
  readonly action: string;
  readonly input: unknown;
}

export interface RemoteReply {
  readonly result: unknown;
  readonly spent: Spent;
}

const [, , module] = process.argv;
const loaded = import(module!) as Promise<{ default: Actions }>;

async function answer({ action, input }: RemoteRequest): Promise<RemoteReply> {
  const { default: actions } = await loaded;
  const startedAt = performance.now();
  const sentBefore = sentCommands();
  const cpuBefore = process.cpuUsage();
  const result = await actions[action]!(input as never);
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1000;
  return { result, spent: { seconds, sentCommands: sentCommands() - sentBefore, cpuMicros: user + system } };
}

process.on('message', (request: RemoteRequest) => {
  answer(request).then(
    (reply) => process.send!(reply),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
