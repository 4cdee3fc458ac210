import { TaskConflictError } from '@mortise/queues';
import { OperationConflictError } from '@mortise/queues/admin';

import { Problem } from '../problems/problem.js';

/** Checks that only the queue can make: its priorities, the page of a cursor. */
const OPTION = /^(priority|cursor) must be/;

/** Turns the package's error for a value that passed the schema into a problem. */
export function refuseMisuse(error: unknown): never {
  const [, option] = (error instanceof RangeError && OPTION.exec(error.message)) || [];
  if (option === undefined) throw error;
  if (option === 'cursor') throw new Problem('invalid-cursor', undefined, {}, { cause: error });
  const { message } = error as RangeError;
  const errors = [{ pointer: `/${option}`, message: message.slice(option.length + 1, 200) }];
  throw new Problem('invalid-body', undefined, { errors }, { cause: error });
}

/** Where an id is the Idempotency-Key, another task or operation under it is the problem `request-reused`. */
export function refuseReuse(requestKey: string | undefined): (error: unknown) => never {
  return (error) => {
    const isTaken = error instanceof TaskConflictError || error instanceof OperationConflictError;
    if (requestKey === undefined || !isTaken) throw error;
    throw new Problem('request-reused', undefined, { requestKey }, { cause: error });
  };
}
