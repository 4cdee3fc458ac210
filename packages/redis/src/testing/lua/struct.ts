/** The library `struct` of Redis: numbers and texts as bytes. */
import { numberArgument, textArgument } from './arguments.js';
import { LuaError } from './lua-error.js';
import type { LuaFunction, LuaValue } from './table.js';

interface Field {
  readonly kind: string;
  /** In bytes; undefined for a text up to its end. */
  readonly size: number;
  readonly isLittle: boolean;
}

const SIZES: Readonly<Record<string, number>> = { b: 1, h: 2, i: 4, l: 8, d: 8, f: 4, x: 1, s: 0, c: 1 };
const WITH_SIZE = new Set(['i', 'c']);
const layouts = new Map<string, readonly Field[]>();

function layoutOf(format: string): readonly Field[] {
  let fields = layouts.get(format);
  if (!fields) {
    fields = [...parse(format)];
    layouts.set(format, fields);
  }
  return fields;
}

function* parse(format: string): Generator<Field> {
  let isLittle = true;
  for (const [, char, digits] of format.matchAll(/([^\d])(\d*)/g) as Iterable<string[]>) {
    if (char === '>' || char === '<') isLittle = char === '<';
    else if (char === '!') throw new LuaError('alignment is not emulated');
    else if (char !== ' ') {
      const kind = char!.toLowerCase();
      const plain = SIZES[kind];
      if (plain === undefined) throw new LuaError(`invalid format option '${char!}'`);
      const size = WITH_SIZE.has(kind) && digits !== '' ? Number(digits) : plain;
      yield { kind: 'bhil'.includes(kind) ? char! : kind, size, isLittle };
    }
  }
}

function isWhole(kind: string): boolean {
  return 'bhilBHIL'.includes(kind);
}

function latin1(buffer: Buffer, isLittle: boolean): string {
  return (isLittle ? buffer : Buffer.from(buffer.toReversed())).toString('latin1');
}

/** Redis converts to `long long` and keeps the lower bytes. */
function wholeText(value: number, { size, isLittle }: Field): string {
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(Number.isFinite(value) ? value : 0)));
  const bytes: number[] = [];
  for (let index = 0; index < size; index += 1) {
    bytes.push(Number(rest & 255n));
    rest >>= 8n;
  }
  return String.fromCodePoint(...(isLittle ? bytes : bytes.toReversed()));
}

/** Whole numbers up to four bytes, without BigInt. */
function smallText(value: number, { size, isLittle }: Field): string {
  let text = '';
  for (let index = 0; index < size; index += 1) {
    const byte = String.fromCodePoint(Math.floor(value / 256 ** index) % 256);
    text = isLittle ? text + byte : byte + text;
  }
  return text;
}

function floatText(value: number, { size, isLittle }: Field): string {
  const buffer = Buffer.alloc(size);
  if (size === 8) buffer.writeDoubleLE(value);
  else buffer.writeFloatLE(value);
  return latin1(buffer, isLittle);
}

function pack(format: LuaValue, ...args: LuaValue[]): string {
  let text = '';
  let index = 0;
  const next = (): [LuaValue, number] => [args[(index += 1) - 1], index + 1];
  for (const field of layoutOf(textArgument('pack', 1, format))) {
    if (field.kind === 'x') text += '\0';
    else if (isWhole(field.kind)) {
      const [value, at] = next();
      const number = numberArgument('pack', at, value);
      const isSmall = Number.isInteger(number) && number >= 0 && number <= 0xffff_ffff && field.size <= 8;
      text += isSmall ? smallText(number, field) : wholeText(number, field);
    } else if (field.kind === 'd' || field.kind === 'f') {
      const [value, at] = next();
      text += floatText(numberArgument('pack', at, value), field);
    } else {
      const [value, at] = next();
      const part = textArgument('pack', at, value);
      if (field.kind === 's') text += `${part}\0`;
      else {
        if (part.length < field.size) throw new LuaError(`bad argument #${at} to 'pack' (string too short)`);
        text += field.size === 0 ? part : part.slice(0, field.size);
      }
    }
  }
  return text;
}

function readWhole(text: string, at: number, { kind, size, isLittle }: Field): number {
  const isSigned = kind === kind.toLowerCase();
  if (size > 6) {
    const buffer = Buffer.from(text.slice(at, at + size), 'latin1');
    const ordered = isLittle ? buffer : Buffer.from(buffer.toReversed());
    return Number(isSigned ? ordered.readBigInt64LE() : ordered.readBigUInt64LE());
  }
  let value = 0;
  for (let index = 0; index < size; index += 1) {
    value = value * 256 + text.codePointAt(isLittle ? at + size - 1 - index : at + index)!;
  }
  return isSigned && value >= 2 ** (8 * size - 1) ? value - 2 ** (8 * size) : value;
}

function readFloat(text: string, at: number, { size, isLittle }: Field): number {
  const buffer = Buffer.from(text.slice(at, at + size), 'latin1');
  if (size === 8) return isLittle ? buffer.readDoubleLE() : buffer.readDoubleBE();
  return isLittle ? buffer.readFloatLE() : buffer.readFloatBE();
}

function unpack(format: LuaValue, value: LuaValue, from: LuaValue = 1): LuaValue[] {
  const text = textArgument('unpack', 2, value);
  let at = numberArgument('unpack', 3, from) - 1;
  const values: LuaValue[] = [];
  for (const field of layoutOf(textArgument('unpack', 1, format))) {
    let { size } = field;
    if (field.kind === 'c' && size === 0) {
      const known = values.pop();
      if (typeof known !== 'number') throw new LuaError("format 'c0' needs a previous size");
      size = known;
    } else if (field.kind === 's') {
      const end = text.indexOf('\0', at);
      if (end < 0) throw new LuaError('unfinished string in data');
      values.push(text.slice(at, end));
      at = end + 1;
      continue;
    }
    if (at + size > text.length) throw new LuaError("bad argument #2 to 'unpack' (data string too short)");
    if (isWhole(field.kind)) values.push(readWhole(text, at, field));
    else if (field.kind === 'd' || field.kind === 'f') values.push(readFloat(text, at, field));
    else if (field.kind === 'c') values.push(text.slice(at, at + size));
    at += size;
  }
  values.push(at + 1);
  return values;
}

export const STRUCT: Readonly<Record<string, LuaFunction>> = {
  pack,
  unpack,
  size: (format) => {
    let size = 0;
    for (const field of layoutOf(textArgument('size', 1, format))) size += field.size;
    return size;
  },
};
