import { ArgumentRangeError, ArgumentTypeError } from '@mortise/redis';
import { requireOptions } from '../require-known.js';

const MAX_REASON_BYTES = 1_024;
const CANCEL_OPTIONS = new Set(['reason']);

/** Why a task is cancelled, as it is kept with it. */
export function resolveReason(options: { readonly reason?: string }): string {
  requireOptions('cancel', options, CANCEL_OPTIONS);
  const { reason = '' } = options;
  if (typeof reason !== 'string')
    throw new ArgumentTypeError(`reason must be a string, got ${typeof reason}`);
  const bytes = Buffer.byteLength(reason);
  if (bytes > MAX_REASON_BYTES) {
    throw new ArgumentRangeError(`reason must have at most ${MAX_REASON_BYTES} bytes, got ${bytes}`);
  }
  return reason;
}
