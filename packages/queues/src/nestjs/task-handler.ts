import { ArgumentTypeError, requireKnown, requireObject, requireOptions } from '@mortise/redis';
import { requireTaskName } from '../options.js';
import type { TaskContext } from '../work/attempt.js';
import type { BatchHandler, BatchTask, HandlerOptions } from '../work/handlers.js';

/** Options of a method that runs one task at a time. */
export interface TaskHandlerOptions extends HandlerOptions {
  /** The queue whose tasks the method runs. Default: every queue with tasks of this name. */
  readonly queue?: string | undefined;
  /** The module whose queues the method serves: the `name` of `forRoot`, or `default`. Default: all modules. */
  readonly module?: string | undefined;
}

/** Options of a method that runs many tasks in one call. */
export interface BatchTaskHandlerOptions extends TaskHandlerOptions {
  /** The size of a batch, and how long the first task waits for others. */
  readonly batch: Pick<BatchHandler<unknown>, 'maxSize' | 'waitMs'>;
}

/** The mark that `@TaskHandler` stores with a method. */
export interface HandlerMark {
  readonly name: string;
  readonly options: TaskHandlerOptions & Partial<BatchTaskHandlerOptions>;
}

type MethodDecoratorOf<Method> = <Fitting extends Method>(
  prototype: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<Fitting>,
) => void;

const OPTIONS = new Set(['queue', 'module', 'timeoutMs', 'backoff', 'concurrency', 'batch']);
const BATCH = new Set(['maxSize', 'waitMs']);

const MARKS = Symbol.for('@mortise/queues:task-handler');

/**
 * Makes a method of a provider the handler of a task name, in every worker of the application that serves the queue. The method
 * gets the payload and the context of the task, and returns the result. With `batch` the method gets many tasks, like
 * `handleMany` of a `Worker`. One method may handle several task names.
 *
 * A request-scoped or transient provider is created for each call; its `REQUEST` is the context of the task, or the array of
 * tasks.
 *
 * Throws ERR_INVALID_ARG for a wrong name, an unknown option and a static method.
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

/** Empty for a method without the decorator. */
export function marksOf(method: object): readonly HandlerMark[] {
  return (Reflect.getOwnMetadata(MARKS, method) as HandlerMark[] | undefined) ?? [];
}
