/**
 * Ids as stored in Redis. A UUID takes 16 bytes instead of 36. Any other string follows a byte that tells the two apart:
 * NUL, or 0xFFFF for the one length (15 bytes) at which NUL and text would look like a UUID.
 */
import { ArgumentTypeError, requireName } from '@mortise/redis';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TEXT = Buffer.from([0x00]);
const TEXT_OF_15_BYTES = Buffer.from([0xff, 0xff]);

const MAX_ID_BYTES = 1_024;

/** Whether a task can have this id; `encodeTaskId` refuses others. */
export function isTaskId(id: string): boolean {
  return id !== '' && Buffer.byteLength(id) <= MAX_ID_BYTES && id.isWellFormed();
}

export function encodeTaskId(id: string): Buffer {
  if (typeof id === 'string' && UUID.test(id)) return Buffer.from(id.replaceAll('-', ''), 'hex');
  requireName('id', id);
  if (!id.isWellFormed()) throw new ArgumentTypeError('id must be well-formed Unicode, got a lone surrogate');
  const text = Buffer.from(id);
  return Buffer.concat([text.length === 15 ? TEXT_OF_15_BYTES : TEXT, text]);
}

export function decodeTaskId(stored: Buffer): string {
  if (stored.length !== 16) return stored.toString('utf8', stored[0] === 0xff ? 2 : 1);
  const hex = stored.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
