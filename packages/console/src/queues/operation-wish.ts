/** The action of a bulk operation, and its tasks. */
import type { TaskState } from '@mortise/queues';
import { TASK_STATES } from '@mortise/queues';
import { requireInteger, requireOneOf, requireText } from '@mortise/redis';

import { Problem } from '../http/problem.js';
import { membersOf, present, stateOf } from './given.js';
import type { TaskViews } from './task-views.js';

/** The states in which a task can be acted on so. */
const STATES = {
  retry: ['dead', 'cancelled', 'retrying'],
  promote: ['scheduled', 'retrying'],
  cancel: ['scheduled', 'ready', 'waiting', 'retrying', 'active'],
  remove: TASK_STATES.filter((state) => state !== 'active'),
  reschedule: ['scheduled', 'ready', 'retrying'],
  'set-priority': ['scheduled', 'ready', 'waiting', 'retrying'],
} as const satisfies Record<string, readonly TaskState[]>;

type Action = keyof typeof STATES;

const MEMBERS = ['action', 'state', 'name', 'field', 'equals', 'delayMs', 'runAt', 'priority', 'limit'];
const MAX_TASKS = 1_000_000;
const MAX_DELAY_MS = 10 * 365 * 86_400_000;
const MAX_TEXT_BYTES = 1_024;
const DEFAULT_LIMIT = 10_000;

export interface Wish {
  readonly queue: string;
  readonly action: Action;
  readonly state: TaskState;
  readonly name?: string;
  readonly field?: string;
  readonly equals?: string;
  readonly delayMs?: number;
  readonly runAt?: number;
  readonly priority?: string;
  readonly limit: number;
}

/** Throws ERR_INVALID_ARG, and the problem `invalid-body`. */
export function wishOf(queue: string, body: unknown, views: TaskViews): Wish {
  const given = membersOf(body, MEMBERS);
  const action = requireOneOf('action', given['action'], Object.keys(STATES) as Action[]);
  const state = stateOf(given['state']);
  requireOneOf('state', state, STATES[action]);
  const wish = {
    queue,
    action,
    state,
    name: textOf(given, 'name'),
    field: textOf(given, 'field'),
    equals: textOf(given, 'equals'),
    delayMs: instantOf(given, 'delayMs', MAX_DELAY_MS),
    runAt: instantOf(given, 'runAt', Number.MAX_SAFE_INTEGER),
    priority: textOf(given, 'priority'),
    limit: requireInteger('limit', given['limit'] ?? DEFAULT_LIMIT, { min: 1, max: MAX_TASKS }),
  };
  requireTogether(wish);
  if (wish.field !== undefined && views.hides(wish.field))
    throw new Problem('invalid-body', 'field is redacted');
  return present(wish) as Wish;
}

function requireTogether({
  action,
  field,
  equals,
  delayMs,
  runAt,
  priority,
}: {
  readonly action: Action;
  readonly field: unknown;
  readonly equals: unknown;
  readonly delayMs: unknown;
  readonly runAt: unknown;
  readonly priority: unknown;
}): void {
  const times = [delayMs, runAt].filter((time) => time !== undefined).length;
  if ((field === undefined) !== (equals === undefined)) refuse('field goes together with equals');
  if ((action === 'set-priority') !== (priority !== undefined))
    refuse('priority goes together with the action set-priority');
  if (times !== (action === 'reschedule' ? 1 : 0))
    refuse('delayMs, or else runAt, goes together with the action reschedule');
}

function refuse(detail: string): never {
  throw new Problem('invalid-body', detail);
}

function textOf(given: Readonly<Record<string, unknown>>, member: string): string | undefined {
  const value = given[member];
  return value === undefined ? undefined : requireText(member, value, { min: 0, max: MAX_TEXT_BYTES });
}

function instantOf(
  given: Readonly<Record<string, unknown>>,
  member: string,
  max: number,
): number | undefined {
  const value = given[member];
  return value === undefined ? undefined : requireInteger(member, value, { min: 0, max });
}
