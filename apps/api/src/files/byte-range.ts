/** The header `Range` of a download (RFC 9110, 14). */
import { Problem } from '../problems/problem.js';

/** From one byte to another, both included; `to` undefined: to the end. Or the last bytes. */
export type ByteRange =
  | { readonly from: number; readonly to: number | undefined }
  | { readonly last: number };

const BYTES = /^bytes\s*=(.*)$/i;
/** A first byte with more digits is after the end of any file. A last byte, or a count, with more digits means the end. */
const RANGE = /^\s*([0-9]{0,15})-([0-9]*)\s*$/;

/**
 * Undefined when the whole is to be sent: without the header, of another unit, and for several ranges, which a server may ignore. Throws the
 * problem `range-not-satisfiable` for a malformed range.
 */
export function parseRange(header: string | undefined): ByteRange | undefined {
  const [, list] = BYTES.exec(header ?? '') ?? [];
  if (list === undefined) return undefined;
  const ranges = list.split(',').map(rangeOf);
  return ranges.length === 1 ? ranges[0] : undefined;
}

function rangeOf(text: string): ByteRange {
  const [, first, last] = RANGE.exec(text) ?? [];
  if (first !== undefined && last !== undefined && first + last !== '') {
    const until = Math.min(Number(last), Number.MAX_SAFE_INTEGER);
    if (first === '') return { last: until };
    const from = Number(first);
    const to = last === '' ? undefined : until;
    if (to === undefined || to >= from) return { from, to };
  }
  throw new Problem('range-not-satisfiable', 'must be bytes=first-last, bytes=first- or bytes=-count');
}

export interface Extent {
  readonly from: number;
  /** The offset after the last byte. */
  readonly end: number;
}

/** The bytes that a range means of a file of so many bytes; undefined when it means none. */
export function extentOf(range: ByteRange, bytes: number): Extent | undefined {
  const from = 'last' in range ? Math.max(0, bytes - range.last) : range.from;
  const to = 'last' in range ? undefined : range.to;
  const end = Math.min(bytes, to === undefined ? bytes : to + 1);
  return from < end ? { from, end } : undefined;
}
