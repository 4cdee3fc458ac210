import { isDotSegment } from '../http/dot-segment.js';
import { InvalidIdError } from './errors.js';

/** 1 to 128 characters that need no quoting in a URL, a key, a log or a `Message-ID`. `.` and `..` are not ids. */
export const ID = /^[A-Za-z0-9._~@:-]{1,128}$/;

/** Returns the id. Throws ERR_INVALID_ID for anything else. */
export function requireId(field: string, id: unknown): string {
  if (typeof id !== 'string' || !ID.test(id) || isDotSegment(id)) throw new InvalidIdError(field);
  return id;
}
