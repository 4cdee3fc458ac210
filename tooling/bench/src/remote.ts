/** A competitor as a real process that does pieces of work on request: for work that has an end, unlike a crew's. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Actions, RemoteReply, RemoteRequest } from './remote-process.js';
import type { Spent } from './scenario.js';

const PROGRAM = fileURLToPath(new URL('remote-process.js', import.meta.url));

export interface Done<Result> {
  readonly result: Result;
  /** The costs of the process. */
  readonly spent: Spent;
}

export interface Remote<All extends Actions> {
  /** One at a time. Rejects when the process ends instead. */
  do<Name extends keyof All & string>(
    action: Name,
    input: Parameters<All[Name]>[0],
  ): Promise<Done<Awaited<ReturnType<All[Name]>>>>;
  /** SIGKILL; resolves when the process is gone. Idempotent. */
  kill(): Promise<void>;
}

/** @param module Its default export are the actions. */
export function startRemote<All extends Actions>(module: URL): Remote<All> {
  const child = fork(PROGRAM, [module.href]);
  const exit = once(child, 'exit');
  return {
    do: async (action, input) => {
      const died = exit.then(() => {
        throw new Error(`a process of the benchmark ended (${action})`);
      });
      const reply = once(child, 'message');
      child.send({ action, input } satisfies RemoteRequest);
      const [{ result, spent }] = (await Promise.race([reply, died])) as [RemoteReply];
      return { result: result as Awaited<ReturnType<All[typeof action]>>, spent };
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

/** Ends a process after its work: its buffers in the server go with it. */
export async function apart<All extends Actions, Result>(
  remote: Remote<All>,
  work: (remote: Remote<All>) => Promise<Done<Result>>,
): Promise<Result> {
  try {
    return (await work(remote)).result;
  } finally {
    await remote.kill();
  }
}
