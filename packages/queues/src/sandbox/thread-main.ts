/** Runs in a thread of a sandbox: loads the module, and calls its default export for one task after the other. */
import { parentPort, workerData } from 'node:worker_threads';
import type { TaskContext } from '../work/attempt.js';
import type { FromThread, ThreadData, ToThread } from './messages.js';
import { toError, toFields } from './thrown.js';

type Handle = (payload: unknown, context: TaskContext) => unknown;

const { module, methods } = workerData as ThreadData;
const port = parentPort!;
const asked = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
let calls = 0;
let present: { readonly run: number; readonly controller: AbortController } | undefined;
let handle: Promise<Handle> | undefined;

port.on('message', (message: ToThread) => {
  if (message.type === 'run') void begin(message);
  else if (message.type === 'abort') {
    if (present?.run === message.run) present.controller.abort(toError(message.reason));
  } else {
    const waiting = asked.get(message.call);
    asked.delete(message.call);
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(toError(message.error));
  }
});

function tell(message: FromThread): void {
  port.postMessage(message);
}

async function begin({ run, payload, task }: Extract<ToThread, { type: 'run' }>): Promise<void> {
  const controller = new AbortController();
  present = { run, controller };
  let isLoaded = false;
  try {
    handle ??= load();
    const loaded = await handle;
    isLoaded = true;
    const ask = Object.fromEntries(
      methods.map((method) => [method, (...args: unknown[]) => askFor(run, method, args)]),
    );
    const context = { ...task, signal: controller.signal, ...ask };
    const result = await loaded(payload, context as unknown as TaskContext);
    giveBack(result);
  } catch (error) {
    tell({ type: 'threw', error: toFields(error), isBroken: !isLoaded });
  }
}

async function load(): Promise<Handle> {
  const { default: loaded } = (await import(module)) as { default?: unknown };
  if (typeof loaded === 'function') return loaded as Handle;
  throw new TypeError(`the default export of ${module} must be a function, got ${typeof loaded}`);
}

function giveBack(result: unknown): void {
  try {
    tell({ type: 'returned', json: JSON.stringify(result) });
  } catch (error) {
    tell({ type: 'unkept', error: toFields(error) });
  }
}

function askFor(run: number, method: ThreadData['methods'][number], args: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    calls += 1;
    asked.set(calls, { resolve, reject });
    // Throws for arguments that cannot be cloned, which rejects.
    tell({ type: 'call', run, call: calls, method, args });
  });
}
