import { isDotSegment } from '../http/dot-segment.js';
import { InvalidIdError } from './errors.js';

/** 1 to 128 of the characters that need no quoting in a URL, a key, a log or a `Message-ID`; `.` and `..` are none. */
export const ID = /^[A-Za-z0-9._~@:-]{1,128}$/;

/** The id itself. Throws ERR_INVALID_ID for anything else. */
export function requireId(field: string, id: unknown): string {
  if (typeof id !== 'string' || !ID.test(id) || isDotSegment(id)) throw new InvalidIdError(field);
  return id;
}
