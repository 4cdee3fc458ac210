/**
 * Handlers that compute. A handler that keeps the event loop busy for longer than a lease costs the worker all its leases; in
 * a thread of its own it costs none, can be stopped wherever it is, and takes nobody with it when it crashes or runs out of
 * memory. Threads, not processes: one takes 12 MB and starts in 40 ms, and it ends with its process, whatever kills that.
 */
import { ArgumentTypeError } from '@mortise/redis';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { TaskContext } from '../work/attempt.js';
import type { SandboxOptions } from './options.js';
import { resolveSandboxOptions } from './options.js';
import { Threads } from './threads.js';

/** A handler for `Worker`, alone or as the `handle` of one with options. */
export interface SandboxHandler<Payload> extends AsyncDisposable {
  (payload: Payload, context: TaskContext): Promise<unknown>;
  /** Ends all threads now; what runs in them fails. Tasks that wait for a thread, and later ones, start threads anew. */
  close(): Promise<void>;
}

/**
 * A handler that runs in threads. The module's default export is called with the payload and a context as any handler is;
 * `signal` is aborted there, too, and methods of the context return promises. It may import and throw `Discard` and `RetryLater`.
 * Errors keep their name, message, stack and code; payloads travel by structured clone, results as JSON.
 *
 * Threads start when they are needed, and neither idle nor abandoned ones keep the process alive. A thread that crashes, exits or
 * runs out of memory fails its attempt with ERR_SANDBOX_EXITED; the next task gets a new one. Throws TypeError and RangeError
 * for a module that is no absolute path or URL, and for options.
 */
// oxlint-disable-next-line typescript/no-explicit-any -- the payload is the module's own
export function sandbox<Payload = any>(
  module: URL | string,
  options: SandboxOptions = {},
): SandboxHandler<Payload> {
  const threads = new Threads(urlOf(module), resolveSandboxOptions(options));
  const close = (): Promise<void> => threads.close();
  const handle = (payload: Payload, context: TaskContext): Promise<unknown> => threads.run(payload, context);
  return Object.assign(handle, { close, [Symbol.asyncDispose]: close });
}

function urlOf(module: URL | string): string {
  if (module instanceof URL) return module.href;
  if (typeof module === 'string' && isAbsolute(module)) return pathToFileURL(module).href;
  if (typeof module === 'string' && URL.canParse(module)) return module;
  throw new ArgumentTypeError(`module must be a URL or an absolute path, got ${JSON.stringify(module)}`);
}
