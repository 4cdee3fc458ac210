import { general } from '../lua/number-format.js';
import type { Reply } from '../reply.js';
import { notAnInteger, OK, ReplyError, syntaxError } from '../reply.js';
import type { Call, Commands } from './command.js';
import { bounds, float, integer, read, write } from './command.js';

const SECOND = 1_000;

/** Options of SET and GETEX that give an expiry. */
function expiryOf(name: string, text: string | undefined, now: number): number | undefined {
  const unit = name.startsWith('P') ? 1 : SECOND;
  if (!['EX', 'PX', 'EXAT', 'PXAT'].includes(name)) return undefined;
  const time = integer(text) * unit;
  if (time <= 0) throw new ReplyError("ERR invalid expire time in 'set' command");
  return name.endsWith('AT') ? time : now + time;
}

function set({ store, args: [key, value, ...options] }: Call): Reply {
  let expiresAt: number | undefined;
  const flags = new Set<string>();
  for (let at = 0; at < options.length; at += 1) {
    const name = options[at]!.toUpperCase();
    const expiry = expiryOf(name, options[at + 1], store.now);
    if (expiry !== undefined) {
      expiresAt = expiry;
      at += 1;
    } else if (['NX', 'XX', 'GET', 'KEEPTTL'].includes(name)) flags.add(name);
    else throw syntaxError();
  }
  const known = store.get(key!);
  const before = flags.has('GET') ? (store.read(key!, 'string')?.text ?? null) : null;
  if ((flags.has('NX') && known) || (flags.has('XX') && !known)) return before;
  store.setText(key!, value!, flags.has('KEEPTTL') ? known?.expiresAt : expiresAt);
  if (expiresAt !== undefined && expiresAt <= store.now) store.delete(key!);
  return flags.has('GET') ? before : OK;
}

/** Replaces the text and keeps the expiry. `absent`: the text of a key that isn't there. */
function change({ store, args }: Call, to: (text: string) => string, absent = ''): string {
  const value = store.read(args[0]!, 'string');
  const text = to(value?.text ?? absent);
  if (value) value.text = text;
  else store.setText(args[0]!, text);
  return text;
}

function increment(call: Call, by: number): number {
  let sum = 0;
  change(
    call,
    (text) => {
      sum = integer(text) + by;
      if (!Number.isSafeInteger(sum)) throw notAnInteger();
      return String(sum);
    },
    '0',
  );
  return sum;
}

function setRange(call: Call): number {
  const at = integer(call.args[1]);
  const part = call.args[2]!;
  if (at < 0) throw new ReplyError('ERR offset is out of range');
  if (part === '') return call.store.read(call.args[0]!, 'string')?.text.length ?? 0;
  return change(call, (text) => text.padEnd(at, '\0').slice(0, at) + part + text.slice(at + part.length))
    .length;
}

function bitOf(text: string, at: number): number {
  return ((text.codePointAt(at >> 3) ?? 0) >> (7 - (at & 7))) & 1;
}

function withBit(text: string, at: number, bit: number): string {
  const index = at >> 3;
  const padded = text.padEnd(index + 1, '\0');
  const mask = 128 >> (at & 7);
  const byte = padded.codePointAt(index)!;
  return (
    padded.slice(0, index) + String.fromCodePoint(bit ? byte | mask : byte & ~mask) + padded.slice(index + 1)
  );
}

function setBit(call: Call): number {
  const [at, bit] = [integer(call.args[1]), integer(call.args[2])];
  let before = 0;
  change(call, (text) => {
    before = bitOf(text, at);
    return withBit(text, at, bit);
  });
  return before;
}

/** GET, SET and INCRBY of unsigned fields. */
function bitField(call: Call): Reply {
  const replies: Reply[] = [];
  const [, ...operations] = call.args;
  for (let at = 0; at < operations.length;) {
    const name = operations[at]!.toUpperCase();
    const size = /^u(\d+)$/i.exec(operations[at + 1] ?? '')?.[1];
    if (size === undefined || !['GET', 'SET', 'INCRBY'].includes(name)) throw syntaxError();
    const width = Number(size);
    const place = operations[at + 2]!;
    const from = place.startsWith('#') ? integer(place.slice(1)) * width : integer(place);
    const text = call.store.read(call.args[0]!, 'string')?.text ?? '';
    let value = 0;
    for (let bit = 0; bit < width; bit += 1) value = value * 2 + bitOf(text, from + bit);
    if (name === 'GET') replies.push(value);
    else {
      const given = integer(operations[at + 3]);
      const next = (((name === 'SET' ? given : value + given) % 2 ** width) + 2 ** width) % 2 ** width;
      change(call, (whole) => {
        for (let bit = 0; bit < width; bit += 1)
          whole = withBit(whole, from + bit, Math.floor(next / 2 ** (width - 1 - bit)) % 2);
        return whole;
      });
      replies.push(name === 'SET' ? value : next);
    }
    at += name === 'GET' ? 3 : 4;
  }
  return replies;
}

function getRange({ store, args: [key, first, last] }: Call): string {
  const [from, to] = [integer(first), integer(last)];
  const text = store.read(key!, 'string')?.text ?? '';
  if (from < 0 && to < 0 && from > to) return '';
  // Unlike in a list, an end before the first byte is the first byte.
  return text.slice(...bounds(from, Math.max(to, -text.length), text.length));
}

const text = ({ store, args }: Call): string | null => store.read(args[0]!, 'string')?.text ?? null;

export const STRING_COMMANDS: Commands = {
  append: write(2, 2, (call) => change(call, (before) => before + call.args[1]!).length),
  bitfield: write(1, Infinity, bitField),
  bitfield_ro: read(1, Infinity, bitField),
  decr: write(1, 1, (call) => increment(call, -1)),
  decrby: write(2, 2, (call) => increment(call, -integer(call.args[1]))),
  get: read(1, 1, text),
  getbit: read(2, 2, (call) => bitOf(text(call) ?? '', integer(call.args[1]))),
  getdel: write(1, 1, (call) => {
    const value = text(call);
    call.store.delete(call.args[0]!);
    return value;
  }),
  getrange: read(3, 3, getRange),
  incr: write(1, 1, (call) => increment(call, 1)),
  incrby: write(2, 2, (call) => increment(call, integer(call.args[1]))),
  incrbyfloat: write(2, 2, (call) =>
    change(call, (before) => general(float(before) + float(call.args[1]), 17), '0'),
  ),
  mget: read(1, Infinity, ({ store, args }) =>
    args.map((key) => {
      const entry = store.get(key);
      return entry?.kind === 'string' ? store.read(key, 'string')!.text : null;
    }),
  ),
  mset: write(2, Infinity, ({ store, args }) => {
    if (args.length % 2 === 1) throw new ReplyError("ERR wrong number of arguments for 'mset' command");
    for (let at = 0; at < args.length; at += 2) store.setText(args[at]!, args[at + 1]!);
    return OK;
  }),
  psetex: write(3, 3, ({ store, args: [key, ms, value] }) => {
    store.setText(key!, value!, store.now + integer(ms));
    return OK;
  }),
  set: write(2, Infinity, set),
  setbit: write(3, 3, setBit),
  setex: write(3, 3, ({ store, args: [key, seconds, value] }) => {
    store.setText(key!, value!, store.now + integer(seconds) * SECOND);
    return OK;
  }),
  setnx: write(2, 2, ({ store, args: [key, value] }) => {
    if (store.get(key!)) return 0;
    store.setText(key!, value!);
    return 1;
  }),
  setrange: write(3, 3, setRange),
  strlen: read(1, 1, (call) => text(call)?.length ?? 0),
};
