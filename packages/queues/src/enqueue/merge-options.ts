import { ArgumentTypeError, requireInteger, requireOneOf, requireText } from '@mortise/redis';
import type { EnqueueOptions } from '../options.js';

/** The effect of an enqueue with a `dedupKey` on the task that has the key. */
export type OnDuplicate = 'keep' | 'replace' | 'earliest' | 'latest' | 'append';

export interface KeyedEnqueueOptions extends Omit<EnqueueOptions, 'id' | 'dedupMs'> {
  /**
   * At most one task that waits for a worker has this key. 1 to 1,024 bytes; each `group` has keys of its own. Once a worker
   * has fetched the task, the next call stores a new one. The task gets an id of its own. Only `enqueue` takes this option.
   */
  readonly dedupKey: string;
  /**
   * The effect on the task that has the key. `keep`: none. `replace`: the task gets the new payload. `earliest` and `latest`:
   * the task gets the new payload, and the earlier or later one of both times (`latest` is a debounce). `append`: the payload
   * is an array, whose elements are added to the array of the task; not with `codecs`. The other options of the task stay.
   * Default `keep`.
   */
  readonly onDuplicate?: OnDuplicate | undefined;
  /**
   * For `append`: the maximum of elements in a payload. A task with that many elements is due at once, and the next call stores
   * a new task. `maxPayloadBytes` limits the payload too. 1 to 100,000. Default 1,000.
   */
  readonly maxElements?: number | undefined;
}

/** As queue.merge.lua expects them. */
const MODES = { keep: 'K', replace: 'R', earliest: 'E', latest: 'L', append: 'A' } as const;

export interface ResolvedMerge {
  readonly mode: (typeof MODES)[OnDuplicate];
  readonly key: string;
  readonly maxElements: number;
}

const DEFAULT_MAX_ELEMENTS = 1_000;
const MOST_ELEMENTS = 100_000;

/** The options of the key, and the others. Throws TypeError or RangeError. */
export function resolveMerge(
  payload: unknown,
  options: KeyedEnqueueOptions,
): { readonly merge: ResolvedMerge; readonly others: EnqueueOptions } {
  const { dedupKey, onDuplicate = 'keep', maxElements, ...others } = options;
  const key = requireText('dedupKey', dedupKey);
  requireOneOf('onDuplicate', onDuplicate, Object.keys(MODES));
  const { id, dedupMs } = others as EnqueueOptions;
  if (id !== undefined || dedupMs !== undefined)
    throw new ArgumentTypeError('dedupKey excludes id and dedupMs: the task gets an id of its own');
  if (onDuplicate !== 'append' && maxElements !== undefined)
    throw new ArgumentTypeError("maxElements needs onDuplicate: 'append'");
  const most = requireInteger('maxElements', maxElements ?? DEFAULT_MAX_ELEMENTS, {
    min: 1,
    max: MOST_ELEMENTS,
  });
  if (onDuplicate === 'append' && !(Array.isArray(payload) && payload.length <= most))
    throw new ArgumentTypeError(
      "onDuplicate 'append' needs an array of at most maxElements elements as payload",
    );
  return { merge: { mode: MODES[onDuplicate], key, maxElements: most }, others };
}

/** The number of elements that a later `append` counts. */
export function elementsOf(payload: unknown): number {
  return Array.isArray(payload) ? payload.length : 0;
}
