import { Problem } from '../problems/problem.js';

/** What only the queue can tell: which priorities it has, of which page a cursor is. */
const OPTION = /^(priority|cursor) must be/;

/** Turns what the package says of a value that the schema let through into a problem. */
export function refuseMisuse(error: unknown): never {
  const [, option] = (error instanceof RangeError && OPTION.exec(error.message)) || [];
  if (option === undefined) throw error;
  if (option === 'cursor') throw new Problem('invalid-cursor', undefined, {}, { cause: error });
  const { message } = error as RangeError;
  const errors = [{ pointer: `/${option}`, message: message.slice(option.length + 1, 200) }];
  throw new Problem('invalid-body', undefined, { errors }, { cause: error });
}
