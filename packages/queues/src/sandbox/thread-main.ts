/** The main file of a sandbox's thread: loads the module, and calls its default export for one task after another. */
import { parentPort, workerData } from 'node:worker_threads';
import { requireFunction } from '@mortise/redis';
import { AttemptError } from '../errors.js';
import type { TaskContext } from '../work/attempt.js';
import type { FromThread, ThreadData, ToThread } from './messages.js';
import { toError, toFields } from './thrown.js';

interface PendingCall {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** The function of a step. */
  readonly run: unknown;
  /** The error of that function, with its class. The worker answers with a copy. */
  thrown?: unknown;
}

type Handle = (payload: unknown, context: TaskContext) => unknown;

const { module, methods } = workerData as ThreadData;
const port = parentPort!;
const pendingCalls = new Map<number, PendingCall>();
let calls = 0;
let present: { readonly run: number; readonly controller: AbortController } | undefined;
let handle: Promise<Handle> | undefined;

port.on('message', (message: ToThread) => {
  if (message.type === 'run') void begin(message);
  else if (message.type === 'abort') {
    if (present?.run === message.run) present.controller.abort(toError(message.reason));
  } else if (message.type === 'step') void runStep(message.call);
  else {
    const waiting = pendingCalls.get(message.call);
    pendingCalls.delete(message.call);
    if (message.type === 'answer') waiting?.resolve(message.value);
    else waiting?.reject(waiting.thrown ?? toError(message.error));
  }
});

function send(message: FromThread): void {
  port.postMessage(message);
}

async function begin({ run, payload, task }: Extract<ToThread, { type: 'run' }>): Promise<void> {
  const controller = new AbortController();
  present = { run, controller };
  let isLoaded = false;
  let hasReturned = false;
  const underWay = new Set<Promise<unknown>>();
  const call = (method: ThreadData['methods'][number], args: unknown[]): Promise<unknown> => {
    const { queue, id } = task;
    const answer = hasReturned
      ? Promise.reject(new AttemptError('ERR_ATTEMPT_ENDED', queue, id))
      : callContext(method, args);
    underWay.add(answer);
    const forget = (): void => void underWay.delete(answer);
    // Also marks a rejection as handled: a call that nobody awaits doesn't end the thread.
    answer.then(forget, forget);
    return answer;
  };
  /** Waits for calls that the handler didn't await. */
  const end = async (): Promise<void> => {
    hasReturned = true;
    await Promise.allSettled(underWay);
  };
  try {
    handle ??= load();
    const loaded = await handle;
    isLoaded = true;
    const ask = Object.fromEntries(
      methods.map((method) => [method, (...args: unknown[]) => call(method, args)]),
    );
    const context = { ...task, signal: controller.signal, ...ask };
    const result = await loaded(payload, context as unknown as TaskContext);
    await end();
    sendResult(result);
  } catch (error) {
    await end();
    send({ type: 'threw', error: toFields(error), isBroken: !isLoaded });
  }
}

async function load(): Promise<Handle> {
  const { default: exported } = (await import(module)) as { default?: unknown };
  // `export default` that was compiled to CommonJS is a property of the exports.
  const loaded = isCompiled(exported) ? exported.default : exported;
  if (typeof loaded === 'function') return loaded as Handle;
  throw new TypeError(`the default export of ${module} must be a function, got ${typeof loaded}`);
}

function isCompiled(exported: unknown): exported is { readonly default?: unknown } {
  return typeof exported === 'object' && exported !== null && '__esModule' in exported;
}

function sendResult(result: unknown): void {
  try {
    send({ type: 'returned', json: JSON.stringify(result) });
  } catch (error) {
    send({ type: 'unkept', error: toFields(error) });
  }
}

async function runStep(call: number): Promise<void> {
  const pending = pendingCalls.get(call)!;
  try {
    const run = pending.run as () => unknown;
    send({ type: 'stepped', call, json: JSON.stringify(await run()) });
  } catch (error) {
    pending.thrown = error;
    send({ type: 'stepped', call, error: toFields(error) });
  }
}

function callContext(method: ThreadData['methods'][number], args: unknown[]): Promise<unknown> {
  return new Promise((resolve, reject) => {
    calls += 1;
    const run = method === 'step' ? requireFunction('the step', args[1]) : undefined;
    pendingCalls.set(calls, { resolve, reject, run });
    // Throws for arguments that cannot be cloned; the promise then rejects.
    send({ type: 'call', call: calls, method, args: run === undefined ? args : [args[0]] });
  });
}
