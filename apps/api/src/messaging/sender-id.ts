import { Problem } from '../problems/problem.js';

/** The sender's id of a message: `id` of the body, or the Idempotency-Key. Throws the problem `invalid-body` for both. */
export function senderIdOf(
  id: string | undefined,
  key: string | undefined,
  pointer = '/id',
): { id?: string } {
  if (key !== undefined && id !== undefined && key !== id) {
    throw new Problem('invalid-body', undefined, {
      errors: [{ pointer, message: 'is not the Idempotency-Key' }],
    });
  }
  const given = id ?? key;
  return given === undefined ? {} : { id: given };
}
