/** Members of a body and of a query. Unknown ones are refused; queues check the values. */
import { requireInteger, requireKnown, requireObject, requireOneOf } from '@mortise/redis';
import { TASK_STATES } from '@mortise/queues';
import type { TaskState } from '@mortise/queues';

import { Problem } from '../http/problem.js';

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;

/** The members of the body. Throws ERR_INVALID_ARG for another one. */
export function membersOf(body: unknown, known: readonly string[]): Record<string, unknown> {
  return requireKnown('the body', requireObject('the body', body ?? {}), new Set(known)) as Record<
    string,
    unknown
  >;
}

/** Without members that are not given. */
export function present<Fields extends object>(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

/** The members of the query. Throws the problem `invalid-query` for another one, and for one that is there twice. */
export function queryOf<Name extends string>(
  query: URLSearchParams,
  known: readonly Name[],
): Partial<Record<Name, string>> {
  const names = [...query.keys()];
  const unknown = names.find((name) => !(known as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Problem('invalid-query', `there is no ${JSON.stringify(unknown)}`);
  if (new Set(names).size < names.length) throw new Problem('invalid-query', 'a member is there twice');
  return Object.fromEntries(query) as Partial<Record<Name, string>>;
}

export function stateOf(value: unknown): TaskState {
  return requireOneOf('state', value, TASK_STATES);
}

/** Number() would also take 1e1, 0x10 and spaces. */
export function digitsOf(option: string, text: string, min: number, max: number): number {
  return requireInteger(option, /^\d+$/.test(text) ? Number(text) : Number.NaN, { min, max });
}

export function pageLimitOf(text: string | undefined): number {
  return text === undefined ? DEFAULT_PAGE : digitsOf('limit', text, 1, MAX_PAGE);
}
