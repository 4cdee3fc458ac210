/** Which tasks a person looks for: by name, and by a member of their payloads, which no index has. */
import { ArgumentTypeError, requireName, requireObject, requireText } from '@mortise/redis';

/** `field` and `equals` go together. */
export interface TaskFilter {
  /** The name of the tasks. Default: any. */
  readonly name?: string | undefined;
  /** A member of the payload; nested ones by dots, such as `user.id` and `items.0.sku`. Up to 1,024 bytes. */
  readonly field?: string | undefined;
  /**
   * The value of the member: a text, or the JSON of another value, such as `42`, `true` and `null`. Up to 1,024 bytes. No value
   * with a number beyond 2^53 matches.
   */
  readonly equals?: string | undefined;
}

/** The members of a filter among others. Throws ERR_INVALID_ARG. */
export function requireTaskFilter(given: TaskFilter): TaskFilter {
  const { name, field, equals } = requireObject('filter', given);
  if ((field === undefined) !== (equals === undefined))
    throw new ArgumentTypeError('field and equals go together');
  if (name !== undefined) requireName('name', name);
  if (field !== undefined) requireText('field', field);
  if (equals !== undefined) requireText('equals', equals, { min: 0 });
  return { name, field, equals };
}

/** Whether the payload has the member with this value. Inherited members don't count. */
export function hasField(payload: unknown, field: string, equals: string): boolean {
  let value = payload;
  for (const member of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return false;
    value = (value as Record<string, unknown>)[member];
  }
  if (typeof value === 'string') return value === equals;
  return JSON.stringify(value) === equals && !isRounded(value);
}

/** Whether it may be another number in Redis: an action on all that match would change tasks of a neighbouring number. */
function isRounded(value: unknown): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && Object.values(value).some(isRounded);
}
