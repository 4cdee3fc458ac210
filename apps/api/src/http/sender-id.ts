import { Problem } from '../problems/problem.js';

/** The sender's id: `id` of the body, or the Idempotency-Key. Throws the problem `invalid-body` for two different ones. */
export function senderIdOf(
  id: string | undefined,
  key: string | undefined,
  pointer = '/id',
): { id?: string } {
  if (key !== undefined && id !== undefined && key !== id) {
    const errors = [{ pointer, message: 'is not the Idempotency-Key' }];
    throw new Problem('invalid-body', undefined, { errors });
  }
  const given = id ?? key;
  return given === undefined ? {} : { id: given };
}
