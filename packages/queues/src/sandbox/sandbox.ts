/**
 * Handlers that compute. A handler that blocks the event loop for longer than a lease costs the worker all its leases. In a
 * thread it costs none, can be terminated at any time, and a crash or a lack of memory ends only that thread. Threads
 * instead of processes: one takes 12 MB, starts in 40 ms, and cannot outlive its process.
 */
import { ArgumentTypeError, shownValue } from '@mortise/redis';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TaskContext } from '../work/attempt.js';
import type { SandboxOptions } from './options.js';
import { resolveSandboxOptions } from './options.js';
import { Threads } from './threads.js';

/** A handler for `Worker`, alone or as the `handle` of one with options. */
export interface SandboxHandler<Payload, Result = unknown> extends AsyncDisposable {
  (payload: Payload, context: TaskContext): Promise<Result>;
  /** Ends all threads now; their running tasks fail. Waiting and later tasks start new threads. */
  close(): Promise<void>;
}

/**
 * Creates a handler that runs in threads. The module's default export is called with the payload and a context, like any
 * handler. `signal` is aborted in the thread as well, and the methods of the context return promises. The module may import and
 * throw `Discard` and `RetryLater`. Errors keep name, message, stack and code. Payloads travel by structured clone, results as
 * JSON.
 *
 * Threads start on demand. Neither idle nor abandoned threads keep the process alive. A thread that crashes, exits or runs out
 * of memory fails its attempt with ERR_SANDBOX_EXITED; the next task gets a new thread. Throws TypeError or RangeError for a
 * module that is not an absolute path or URL, and for wrong options.
 */
/* oxlint-disable typescript/no-explicit-any -- only the module knows payload and result */
export function sandbox<Payload = any, Result = any>(
  module: URL | string,
  options: SandboxOptions = {},
): SandboxHandler<Payload, Result> {
  /* oxlint-enable typescript/no-explicit-any */
  const threads = new Threads(urlOf(module), resolveSandboxOptions(options));
  const close = (): Promise<void> => threads.close();
  const handle = (payload: Payload, context: TaskContext): Promise<Result> =>
    threads.run(payload, context) as Promise<Result>;
  return Object.assign(handle, { close, [Symbol.asyncDispose]: close });
}

function urlOf(module: URL | string): string {
  if (module instanceof URL) return module.href;
  if (typeof module === 'string' && isAbsolute(module)) return pathToFileURL(module).href;
  if (typeof module === 'string' && URL.canParse(module)) return module;
  throw new ArgumentTypeError(`module must be a URL or an absolute path, got ${shownValue(module)}`);
}
