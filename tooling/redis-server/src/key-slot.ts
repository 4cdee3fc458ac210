import { SLOTS } from './cluster-seed.js';

/** CRC16/XMODEM of every byte value, as in crc16.c of Redis: polynomial 0x1021, high bit first. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc & 0xffff;
});

/**
 * The cluster slot of a key (UTF-8), 0 to 16383. Only what stands between the first `{` and the next `}` counts, if that isn't
 * empty: `{a}x` and `{a}y` share a slot, `{}x` is hashed whole.
 */
export function keySlot(key: string): number {
  const open = key.indexOf('{');
  const close = key.indexOf('}', open + 1);
  const hashed = open !== -1 && close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) ^ (TABLE[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}
