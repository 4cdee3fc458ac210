/** IP addresses from bytes. An address with a zone, a port or a leading zero (is `010` eight or ten?) is refused. */

const DOT = 46;
const COLON = 58;
const ZERO = 48;

/** An IPv4 address as a number, or -1 when the bytes from `start` to `end` are not one. */
export function parseV4(bytes: Uint8Array, start: number, end: number): number {
  let address = 0;
  let at = start;
  for (let part = 0; part < 4; part += 1) {
    if (part > 0 && (at >= end || bytes[at++] !== DOT)) return -1;
    const first = at;
    let value = 0;
    while (at < end && at - first < 4) {
      const digit = bytes[at]! - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
      at += 1;
    }
    const digits = at - first;
    if (digits === 0 || value > 255 || (digits > 1 && bytes[first] === ZERO)) return -1;
    address = address * 256 + value;
  }
  return at === end ? address : -1;
}

const groups = new Uint16Array(8);

/** Writes an IPv6 address as four words of 32 bits. Returns false when the bytes from `start` to `end` are not one. */
export function parseV6(bytes: Uint8Array, start: number, end: number, words: Uint32Array): boolean {
  let count = 0;
  let gap = -1;
  let at = start;
  if (end - start < 2 || end - start > 45) return false;
  if (bytes[at] === COLON) {
    if (bytes[at + 1] !== COLON) return false;
    gap = 0;
    at += 2;
  }
  while (at < end) {
    if (count === 8) return false;
    const first = at;
    let value = 0;
    while (at < end && at - first < 5) {
      const digit = hexDigit(bytes[at]!);
      if (digit < 0) break;
      value = value * 16 + digit;
      at += 1;
    }
    if (at < end && bytes[at] === DOT) {
      const v4 = parseV4(bytes, first, end);
      if (v4 < 0 || count > 6) return false;
      groups[count++] = v4 >>> 16;
      groups[count++] = v4 & 0xffff;
      at = end;
      break;
    }
    if (at === first || at - first > 4) return false;
    groups[count++] = value;
    if (at === end) break;
    if (bytes[at++] !== COLON || at === end) return false;
    if (bytes[at] !== COLON) continue;
    if (gap >= 0) return false;
    gap = count;
    at += 1;
  }
  if (gap < 0 ? count !== 8 : count > 7) return false;
  const zeros = 8 - count;
  const groupAt = (index: number): number => {
    if (gap < 0 || index < gap) return groups[index]!;
    return index < gap + zeros ? 0 : groups[index - zeros]!;
  };
  for (let word = 0; word < 4; word += 1) {
    words[word] = groupAt(2 * word) * 0x10000 + groupAt(2 * word + 1);
  }
  return true;
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= 57) return byte - ZERO;
  const lower = byte | 32;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** Whether it is a mapped IPv4 address: `::ffff:1.2.3.4`. The last word is that address. */
export function isMappedV4(words: Uint32Array): boolean {
  return words[0] === 0 && words[1] === 0 && words[2] === 0xffff;
}
