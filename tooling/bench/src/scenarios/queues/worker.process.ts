/** One process with workers that do one task at a time. */
import { sentCommands } from '../../sent-commands.js';
import { queueKind } from './kinds/index.js';

export interface Employing {
  readonly url: string;
  readonly kind: string;
  readonly workers: number;
  /** Whether a handler never ends. */
  readonly isHanging: boolean;
}

let isStarted: Promise<void>;

/** Resolves when they take tasks. */
async function employ({ url, kind, workers, isHanging }: Employing): Promise<void> {
  let onStart: () => void;
  isStarted = new Promise((resolve) => {
    onStart = resolve;
  });
  for (let worker = 0; worker < workers; worker += 1) {
    await queueKind(kind).work({ url, concurrency: 1 }, async () => {
      onStart();
      if (isHanging) await new Promise(() => undefined);
    });
  }
}

/** Resolves when a handler has started. */
async function untilStarted(): Promise<void> {
  await isStarted;
}

/** How many commands the process has sent so far. */
function sent(): Promise<number> {
  return Promise.resolve(sentCommands());
}

const actions = { employ, untilStarted, sent };

export type WorkerActions = typeof actions;
export default actions;
