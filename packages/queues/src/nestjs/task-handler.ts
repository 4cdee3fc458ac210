import { ArgumentTypeError, requireKnown, requireObject, requireOptions } from '@mortise/redis';
import { requireTaskName } from '../options.js';
import type { TaskContext } from '../work/attempt.js';
import type { BatchHandler, BatchTask, HandlerOptions } from '../work/handlers.js';

/** How a method runs the tasks of a name. */
export interface TaskHandlerOptions extends HandlerOptions {
  /** The queue whose tasks it runs. Default: every queue that has tasks of the name. */
  readonly queue?: string;
  /** The connection whose queues it serves, `default` for the one without a name. Default: all of them. */
  readonly connection?: string;
}

/** How a method runs many tasks of a name in one call. */
export interface BatchTaskHandlerOptions extends TaskHandlerOptions {
  readonly batch: Pick<BatchHandler<unknown>, 'maxSize' | 'waitMs'>;
}

/** What `@TaskHandler` says of a method. */
export interface HandlerMark {
  readonly name: string;
  readonly options: TaskHandlerOptions & Partial<BatchTaskHandlerOptions>;
}

type MethodDecoratorOf<Method> = <Fitting extends Method>(
  prototype: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Fitting>,
) => void;

const OPTIONS = new Set(['queue', 'connection', 'timeoutMs', 'backoff', 'concurrency', 'batch']);
const BATCH = new Set(['maxSize', 'waitMs']);

const MARKS = Symbol.for('@mortise/queues:task-handler');

/**
 * The method of a provider runs the tasks of this name, in every worker of the application that serves their queue. It is
 * called with the payload and the context of the task, and what it returns is the result; with `batch`, it is called with
 * many tasks, as `handleMany` of a handler of `Worker`. One method may have several names.
 *
 * A provider of one request, or a transient one, is made anew for each call; what it injects as `REQUEST` is the context of
 * the task, or the array of tasks.
 *
 * Throws TypeError or RangeError for a name that cannot be one, for an option that there isn't and for a static method.
 */
export function TaskHandler(
  name: string,
  options: BatchTaskHandlerOptions,
): MethodDecoratorOf<(tasks: readonly BatchTask<never>[]) => ReturnType<BatchHandler<unknown>['handleMany']>>;
export function TaskHandler(
  name: string,
  options?: TaskHandlerOptions,
): MethodDecoratorOf<(payload: never, context: TaskContext) => unknown>;
export function TaskHandler(
  name: string,
  options: HandlerMark['options'] = {},
): MethodDecoratorOf<(...args: never[]) => unknown> {
  requireOptions('@TaskHandler', options, OPTIONS);
  const { batch } = options;
  if (batch !== undefined) {
    requireObject('batch', batch);
    requireKnown('batch', batch, BATCH);
  }
  const mark: HandlerMark = { name: requireTaskName(name), options };
  return (prototype, key, descriptor) => {
    if (typeof prototype === 'function') {
      throw new ArgumentTypeError(
        `@TaskHandler: ${(prototype as { name: string }).name}.${String(key)} is static`,
      );
    }
    const method = descriptor.value!;
    Reflect.defineMetadata(MARKS, [mark, ...marksOf(method)], method);
  };
}

/** Empty for what is no handler. */
export function marksOf(method: object): readonly HandlerMark[] {
  return (Reflect.getOwnMetadata(MARKS, method) as HandlerMark[] | undefined) ?? [];
}
