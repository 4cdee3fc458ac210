/** The library `cmsgpack` of Redis, for numbers, texts and booleans: tables are refused. */
import { textArgument } from './arguments.js';
import { LuaError } from './lua-error.js';
import { typeOf } from './operators.js';
import type { LuaFunction, LuaValue } from './table.js';

function bytes(size: number, write: (buffer: Buffer) => void): string {
  const buffer = Buffer.alloc(size);
  write(buffer);
  return buffer.toString('latin1');
}

function wholeNumber(value: number): string {
  if (value >= 0) {
    if (value < 0x80) return bytes(1, (to) => to.writeUInt8(value));
    if (value <= 0xff) return `\u00cc${bytes(1, (to) => to.writeUInt8(value))}`;
    if (value <= 0xffff) return `\u00cd${bytes(2, (to) => to.writeUInt16BE(value))}`;
    if (value <= 0xffff_ffff) return `\u00ce${bytes(4, (to) => to.writeUInt32BE(value))}`;
    return `\u00cf${bytes(8, (to) => to.writeBigUInt64BE(BigInt(value)))}`;
  }
  if (value >= -32) return bytes(1, (to) => to.writeInt8(value));
  if (value >= -128) return `\u00d0${bytes(1, (to) => to.writeInt8(value))}`;
  if (value >= -32_768) return `\u00d1${bytes(2, (to) => to.writeInt16BE(value))}`;
  if (value >= -2_147_483_648) return `\u00d2${bytes(4, (to) => to.writeInt32BE(value))}`;
  return `\u00d3${bytes(8, (to) => to.writeBigInt64BE(BigInt(value)))}`;
}

function packed(value: LuaValue): string {
  if (value === undefined) return '\u00c0';
  if (typeof value === 'boolean') return value ? '\u00c3' : '\u00c2';
  if (typeof value === 'number') {
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return wholeNumber(value);
    if (Math.fround(value) === value) return `\u00ca${bytes(4, (to) => to.writeFloatBE(value))}`;
    return `\u00cb${bytes(8, (to) => to.writeDoubleBE(value))}`;
  }
  if (typeof value !== 'string') throw new LuaError(`cmsgpack of a ${typeOf(value)} is not emulated`);
  const { length } = value;
  if (length < 32) return String.fromCodePoint(0xa0 | length) + value;
  if (length <= 0xff) return `\u00d9${String.fromCodePoint(length)}${value}`;
  if (length <= 0xffff) return `\u00da${bytes(2, (to) => to.writeUInt16BE(length))}${value}`;
  return `\u00db${bytes(4, (to) => to.writeUInt32BE(length))}${value}`;
}

/** How many bytes a number has after its first byte, and how they are read. */
const NUMBERS: Readonly<Record<number, readonly [size: number, read: (from: Buffer) => number]>> = {
  0xca: [4, (from) => from.readFloatBE()],
  0xcb: [8, (from) => from.readDoubleBE()],
  0xcc: [1, (from) => from.readUInt8()],
  0xcd: [2, (from) => from.readUInt16BE()],
  0xce: [4, (from) => from.readUInt32BE()],
  0xcf: [8, (from) => Number(from.readBigUInt64BE())],
  0xd0: [1, (from) => from.readInt8()],
  0xd1: [2, (from) => from.readInt16BE()],
  0xd2: [4, (from) => from.readInt32BE()],
  0xd3: [8, (from) => Number(from.readBigInt64BE())],
};
const LENGTHS: Readonly<Record<number, number>> = { 0xd9: 1, 0xda: 2, 0xdb: 4 };
const CONSTANTS: Readonly<Record<number, LuaValue>> = { 0xc0: undefined, 0xc2: false, 0xc3: true };

function unpack(value: LuaValue): LuaValue[] {
  const from = Buffer.from(textArgument('unpack', 1, value), 'latin1');
  const values: LuaValue[] = [];
  let at = 0;
  const take = (size: number): Buffer => {
    if (at + size > from.length) throw new LuaError('Missing bytes in input.');
    at += size;
    return from.subarray(at - size, at);
  };
  while (at < from.length) {
    const type = take(1)[0]!;
    const number = NUMBERS[type];
    if (type < 0x80) values.push(type);
    else if (type >= 0xe0) values.push(type - 256);
    else if (type >= 0xa0 && type < 0xc0) values.push(take(type & 31).toString('latin1'));
    else if (number) values.push(number[1](take(number[0])));
    else if (LENGTHS[type] !== undefined)
      values.push(take(take(LENGTHS[type]).readUIntBE(0, LENGTHS[type])).toString('latin1'));
    else if (type in CONSTANTS) values.push(CONSTANTS[type]);
    else throw new LuaError('cmsgpack of a table is not emulated');
  }
  return values;
}

export const MESSAGE_PACK: Readonly<Record<string, LuaFunction>> = {
  pack: (...values) => {
    if (values.length === 0) throw new LuaError("bad argument #0 to 'pack' (MessagePack pack needs input.)");
    return values.map(packed).join('');
  },
  unpack,
};
