/**
 * The positions of a subscription as text: for each chat the epoch and the last id that was delivered. A chat that is
 * missing continues after the member's cursor. Ids that are gone by then are reported as a gap.
 *
 *   'b' · for each chat: base64url of { 0 and a UUID of 16 bytes, or 1, u16 length and an encoded name; u48 epoch; zeros up to a
 *   multiple of 3 bytes }, then of { id as LEB128; zeros up to a multiple of 3 bytes } · base64url of the CRC-32 of all that,
 *   begun with the CRC-32 of the member's name
 *
 * A token has 7 characters, and 36 for each chat with a UUID. Every event has a token in which one id has changed, so
 * positions are encoded one by one and joined.
 */
import { crc32 } from 'node:zlib';
import { ArgumentRangeError, decodeName, encodeName, shownValue } from '@mortise/redis';

/** The last id that was delivered in a chat. */
export interface Position {
  readonly chatId: string;
  readonly epoch: number;
  readonly id: number;
}

/** A token has to pass through a header, `Last-Event-ID`. About 220 chats. */
export const MAX_TOKEN_LENGTH = 8_192;

const VERSION = 'b';
const CHECK_LENGTH = 6;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TOKEN = /^b(?:[A-Za-z0-9_-]{4})*[A-Za-z0-9_-]{6}$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const IS_UUID = 0;
const IS_NAME = 1;

/** The first part of a position: the chat and its epoch. */
export function encodePlace(chatId: string, epoch: number): string {
  const isUuid = UUID.test(chatId);
  const name = isUuid ? Buffer.from(chatId.replaceAll('-', ''), 'hex') : Buffer.from(encodeName(chatId));
  const bytes = Buffer.alloc(name.length + 11);
  let at = bytes.writeUInt8(isUuid ? IS_UUID : IS_NAME, 0);
  if (!isUuid) at = bytes.writeUInt16BE(name.length, at);
  at += name.copy(bytes, at);
  at = bytes.writeUIntBE(epoch, at, 6);
  return bytes.toString('base64url', 0, padded(at));
}

/** The second part of a position: the last id that was delivered. */
export function encodeId(id: number): string {
  let text = '';
  let high = id;
  do {
    let bits = 0;
    for (let count = 0; count < 3; count += 1) {
      const low = high % 0x80;
      high = Math.floor(high / 0x80);
      bits = bits * 0x100 + (high > 0 ? low + 0x80 : low);
    }
    text += letters(bits, 4);
  } while (high > 0);
  return text;
}

export function encodePosition({ chatId, epoch, id }: Position): string {
  return encodePlace(chatId, epoch) + encodeId(id);
}

/** The start value of the checksum for all tokens of a member. */
export function seedOf(member: string): number {
  return crc32(encodeName(member));
}

/**
 * Joins positions to a token. Leaves out positions that would make it too long. Their chats continue after the cursor, so
 * messages that were delivered and not acked are delivered again.
 *
 * @param positions By `encodePosition`, the most important first.
 */
export function joinToken(seed: number, positions: readonly string[]): string {
  let text = VERSION;
  for (const position of positions) {
    if (text.length + position.length + CHECK_LENGTH <= MAX_TOKEN_LENGTH) text += position;
  }
  return text + checkOf(seed, text);
}

/**
 * The positions of a token. Throws RangeError for a text that is not a token, is damaged or belongs to another member. A
 * forged token may contain anything: a position from which a chat cannot continue becomes a `reset`.
 */
export function splitToken(member: string, token: string): Position[] {
  const text = typeof token === 'string' && token.length <= MAX_TOKEN_LENGTH ? token : '';
  const end = text.length - CHECK_LENGTH;
  const body = text.slice(0, end);
  if (!TOKEN.test(text) || checkOf(seedOf(member), body) !== text.slice(end)) throw notAToken(token);
  const bytes = Buffer.from(body.slice(VERSION.length), 'base64url');
  const positions = new Map<string, Position>();
  try {
    for (let at = 0; at < bytes.length;) {
      const { position, next } = readPosition(bytes, at);
      positions.set(position.chatId, position);
      at = next;
    }
  } catch {
    throw notAToken(token);
  }
  return [...positions.values()];
}

function readPosition(bytes: Buffer, start: number): { position: Position; next: number } {
  const kind = bytes.readUInt8(start);
  if (kind > IS_NAME) throw new RangeError(`unknown kind ${kind}`);
  const isUuid = kind === IS_UUID;
  const from = isUuid ? start + 1 : start + 3;
  const to = from + (isUuid ? 16 : bytes.readUInt16BE(start + 1));
  const name = bytes.subarray(from, to);
  const epoch = bytes.readUIntBE(to, 6);
  const { id, next } = readId(bytes, padded(to + 6));
  const chatId = isUuid ? uuidOf(name.toString('hex')) : decodeName(name.toString());
  if (chatId === '') throw new RangeError('no position');
  return { position: { chatId, epoch, id }, next };
}

/** An id, and the end of its padding. */
function readId(bytes: Buffer, start: number): { id: number; next: number } {
  let id = 0;
  let at = start;
  for (let factor = 1; ; factor *= 0x80) {
    const byte = bytes.readUInt8(at);
    at += 1;
    id += (byte % 0x80) * factor;
    if (byte < 0x80) break;
  }
  if (!Number.isSafeInteger(id)) throw new RangeError('no id');
  return { id, next: padded(at) };
}

function uuidOf(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

function padded(bytes: number): number {
  return Math.ceil(bytes / 3) * 3;
}

/** The base64url of a number of `count` times 6 bits. */
function letters(bits: number, count: number): string {
  let text = '';
  for (let shift = 6 * (count - 1); shift >= 0; shift -= 6) {
    text += ALPHABET.charAt(Math.floor(bits / 2 ** shift) % 64);
  }
  return text;
}

function checkOf(seed: number, text: string): string {
  // 32 bits are 5 letters and a third.
  return letters(crc32(text, seed) * 16, CHECK_LENGTH);
}

function notAToken(token: unknown): ArgumentRangeError {
  const shown = shownValue(typeof token === 'string' ? token.slice(0, 64) : token);
  return new ArgumentRangeError(`after must be the token of an event of this member, got ${shown}`);
}
