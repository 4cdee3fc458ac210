/** The request of a bulk operation, and its progress. */
import {
  ArgumentTypeError,
  requireDuration,
  requireInteger,
  requireOneOf,
  requireOptions,
  requireText,
} from '@mortise/redis';

import { MAX_DELAY_MS } from '../limits.js';
import { resolveReschedule } from '../operate/reschedule-options.js';
import type { TaskState } from '../task/task.js';
import { TASK_STATES } from '../task/task.js';
import type { TaskFilter } from './task-filter.js';
import { requireTaskFilter } from './task-filter.js';

/** The states whose tasks each action can change. */
export const BULK_ACTIONS = {
  retry: ['dead', 'cancelled', 'retrying'],
  promote: ['scheduled', 'retrying'],
  cancel: ['scheduled', 'ready', 'waiting', 'retrying', 'active'],
  remove: TASK_STATES.filter((state) => state !== 'active'),
  reschedule: ['scheduled', 'ready', 'retrying'],
  'set-priority': ['scheduled', 'ready', 'waiting', 'retrying'],
} as const satisfies Record<string, readonly TaskState[]>;

export type BulkAction = keyof typeof BULK_ACTIONS;

/** Which tasks to act on, and how. */
export interface BulkRequest extends TaskFilter {
  /** The method of `Queue` that each task goes through: `retry`, `promote`, `cancel`, `remove`, `reschedule`, `set-priority`. */
  readonly action: BulkAction;
  /** One of the states in `BULK_ACTIONS[action]`. */
  readonly state: TaskState;
  /**
   * For `reschedule`: the delay from the start of the operation, ms. All tasks get the same instant. 0 to 10 years. Excludes
   * `runAt`.
   */
  readonly delayMs?: number | undefined;
  /** For `reschedule`: an instant, ms since the epoch. Excludes `delayMs`. */
  readonly runAt?: number | undefined;
  /** For `set-priority`: one of the queue's priorities. */
  readonly priority?: string | undefined;
  /**
   * The number of changed tasks after which the operation ends; up to 199 more may be changed. 1 to 1,000,000. Default 10,000.
   */
  readonly limit?: number | undefined;
}

export interface ResolvedRequest extends BulkRequest {
  readonly limit: number;
}

export interface BulkOperation extends ResolvedRequest {
  readonly id: string;
  /** The name of the queue. */
  readonly queue: string;
  /**
   * `interrupted`: the process has ended, or has stopped the operation. `failed`: a call has failed, see `onError`. Changed
   * tasks stay changed.
   */
  readonly status: 'running' | 'completed' | 'interrupted' | 'failed';
  /** Changed tasks so far. */
  readonly changed: number;
  /** Tasks that had left the state before the operation reached them. */
  readonly skipped: number;
  /** The start by the clock of its process, ms since the epoch. */
  readonly startedAt: number;
  readonly updatedAt: number;
}

const MAX_TASKS = 1_000_000;
const DEFAULT_LIMIT = 10_000;
const MEMBERS = new Set([
  'action',
  'state',
  'name',
  'field',
  'equals',
  'delayMs',
  'runAt',
  'priority',
  'limit',
]);

/** Without members that are undefined. Throws ERR_INVALID_ARG and ERR_RUN_AT_PAST. */
export function resolveRequest(request: BulkRequest): ResolvedRequest {
  requireOptions('a bulk operation', request, MEMBERS);
  const { delayMs, runAt, priority, limit = DEFAULT_LIMIT } = request;
  const action = requireOneOf('action', request.action, Object.keys(BULK_ACTIONS) as BulkAction[]);
  const state = requireOneOf('state', request.state, BULK_ACTIONS[action] as readonly TaskState[]);
  requireTime(request);
  if ((action === 'set-priority') !== (priority !== undefined))
    throw new ArgumentTypeError('priority goes together with the action set-priority');
  if (priority !== undefined) requireText('priority', priority);
  requireInteger('limit', limit, { min: 1, max: MAX_TASKS });
  const all = { action, state, ...requireTaskFilter(request), delayMs, runAt, priority, limit };
  return Object.fromEntries(
    Object.entries(all).filter(([, value]) => value !== undefined),
  ) as unknown as ResolvedRequest;
}

function requireTime({ action, delayMs, runAt }: BulkRequest): void {
  const times = [delayMs, runAt].filter((time) => time !== undefined).length;
  if (times !== (action === 'reschedule' ? 1 : 0))
    throw new ArgumentTypeError('delayMs, or else runAt, goes together with the action reschedule');
  if (delayMs !== undefined) requireDuration('delayMs', delayMs, { min: 0, max: MAX_DELAY_MS });
  if (runAt !== undefined) resolveReschedule({ runAt: requireInteger('runAt', runAt, { min: 0 }) });
}
