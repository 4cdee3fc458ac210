/**
 * Assigns handlers to workers, and reports all mistakes at boot, at once. Otherwise a task without a handler would only
 * show up among the dead tasks.
 */
import type { Handler, Handlers } from '../work/handlers.js';
import type { FoundHandler } from './found-handlers.js';
import type { HandlerMark } from './task-handler.js';

/** The task names that each queue of `forFeature` declares; an empty set if it declares none. */
export type Declared = ReadonlyMap<string, ReadonlySet<string>>;

/** Options of a handler that say which tasks it runs. */
const PLACES = new Set(['queue', 'module']);

const quote = (name: string): string => JSON.stringify(name);

/**
 * Mistakes of handlers, independent of the workers.
 *
 * @param declaredOf The declarations of a module, or of all modules for undefined.
 */
export function misplaced(
  found: readonly FoundHandler[],
  declaredOf: (module: string | undefined) => Declared,
): string[] {
  const problems = found.flatMap(({ name, options: { queue, module }, place }) => {
    const declared = declaredOf(module);
    const where = module === undefined ? '' : ` of module ${quote(module)}`;
    if (queue === undefined) {
      const isKnown = [...declared.values()].some((names) => names.size === 0 || names.has(name));
      return isKnown ? [] : [`${place} handles ${quote(name)}, which no queue${where} has`];
    }
    const names = declared.get(queue);
    if (!names) return [`${place} is for queue ${quote(queue)}${where}, which forFeature does not name`];
    const isKnown = names.size === 0 || names.has(name);
    return isKnown ? [] : [`${place} handles ${quote(name)}, which queue ${quote(queue)} does not have`];
  });
  for (const [index, handler] of found.entries()) {
    const other = found.slice(0, index).find((earlier) => areOfOneTask(earlier, handler));
    if (other) problems.push(`${quote(handler.name)} has two handlers, ${other.place} and ${handler.place}`);
  }
  return problems;
}

function areOfOneTask(one: HandlerMark, other: HandlerMark): boolean {
  if (one.name !== other.name) return false;
  return isSame(one.options.queue, other.options.queue) && isSame(one.options.module, other.options.module);
}

/** Undefined matches all. */
function isSame(a: string | undefined, b: string | undefined): boolean {
  return a === undefined || b === undefined || a === b;
}

/** Handlers that a worker of these queues lacks. */
export function missing(
  queues: readonly string[],
  found: readonly FoundHandler[],
  declared: Declared,
): string[] {
  return queues.flatMap((queue) => {
    const names = declared.get(queue);
    if (!names) return [`a worker serves queue ${quote(queue)}, which forFeature does not name`];
    const handled = new Set(found.filter((handler) => isFor([queue], handler)).map(({ name }) => name));
    if (handled.size === 0) return [`queue ${quote(queue)} has a worker, but no handler`];
    const lacking = [...names].filter((name) => !handled.has(name));
    return lacking.map((name) => `queue ${quote(queue)} has no handler for ${quote(name)}`);
  });
}

/** The handlers for a worker of these queues, by task name. Adds to `problems` if a name is ambiguous. */
export function assign(
  queues: readonly string[],
  found: readonly FoundHandler[],
  problems: string[],
): Handlers<Record<string, unknown>> {
  const byName = new Map<string, FoundHandler[]>();
  for (const handler of found) {
    if (!isFor(queues, handler)) continue;
    byName.set(handler.name, [...(byName.get(handler.name) ?? []), handler]);
  }
  const handlers = new Map<string, Handler<unknown>>();
  for (const [name, named] of byName) {
    const [first] = named as [FoundHandler];
    if (named.length === 1 && (first.options.queue === undefined || queues.length === 1)) {
      handlers.set(name, toHandler(first));
    } else if (named.every(({ options }) => Object.keys(options).every((option) => PLACES.has(option)))) {
      handlers.set(name, byQueue(named));
    } else {
      const places = named.map(({ place }) => place).join(' and ');
      const where = 'give each of these queues a worker of its own';
      problems.push(`${quote(name)} of one of several queues is handled with options by ${places}: ${where}`);
    }
  }
  return Object.fromEntries(handlers);
}

function isFor(queues: readonly string[], { options: { queue } }: HandlerMark): boolean {
  return queue === undefined || queues.includes(queue);
}

function toHandler({ options, call }: FoundHandler): Handler<unknown> {
  const { queue: _, module: __, batch, ...others } = options;
  if (batch) return { ...others, ...batch, handleMany: (tasks) => call(tasks) as unknown[] };
  return { ...others, handle: (payload, context) => call(payload, context) };
}

/** A handler that calls the handler of the task's queue. */
function byQueue(named: readonly FoundHandler[]): Handler<unknown> {
  const calls = new Map(named.map(({ options, call }) => [options.queue!, call]));
  return {
    queues: [...calls.keys()],
    handle: (payload, context) => calls.get(context.queue)!(payload, context),
  };
}
