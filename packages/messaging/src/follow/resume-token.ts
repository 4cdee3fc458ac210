/**
 * Where a follower stands, as text that it may keep: for each chat of which more was delivered than the member had acked,
 * the epoch and the last id that was delivered. Of all other chats the member's cursor says where to go on; but it moves with
 * what they ack, or post, elsewhere, and a follower is to get that. So for some of these there is a bookmark, the last id and a
 * hash: it can only make a chat begin further back, so a collision does no more than to bring again what was acked.
 *
 *   'a' · for each chat: base64url of { 0 and a UUID of 16 bytes, or 1, u16 length and an encoded name; u48 epoch; zeros up
 *   to a multiple of 3 bytes }, then of { id as LEB128; zeros likewise } · if there are bookmarks: base64url of { 2, 0, 0 }, then
 *   for each of them of { u32 hash; id as LEB128; zeros likewise } · base64url of the CRC-32 of all that, begun with that of
 *   the member's name
 *
 * That is 7 characters, 36 for each chat with a UUID that is ahead of its cursor, and 4 with 8 to 12 for each bookmark. A follower
 * makes a token for each event, in which one id has changed: so parts are encoded by themselves and joined.
 */
import { crc32 } from 'node:zlib';
import { decodeName, encodeName } from '@mortise/redis';

/** How far a follower has come in a chat. */
export interface Position {
  readonly chatId: string;
  readonly epoch: number;
  /** The last id that was delivered. */
  readonly id: number;
}

/** What a token says. */
export interface Places {
  readonly positions: readonly Position[];
  /** The last ids that were delivered, by the hashes of their places. */
  readonly bookmarks: ReadonlyMap<number, number>;
}

/** A token has to pass through a header, `Last-Event-ID`. About 220 chats. */
export const MAX_TOKEN_LENGTH = 8_192;

const VERSION = 'a';
const CHECK_LENGTH = 6;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TOKEN = /^a(?:[A-Za-z0-9_-]{4})*[A-Za-z0-9_-]{6}$/;
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const IS_UUID = 0;
const IS_NAME = 1;
const BOOKMARKS = 2;
/** What stands before bookmarks. */
const MARK = 'AgAA';
const MARK_BYTES = 3;
const MAX_BOOKMARK_LENGTH = 16;

/** The part of a token that says which chat it is about. */
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

/** The part behind it: the id that was delivered last. */
export function encodeId(id: number): string {
  let text = '';
  let rest = id;
  do {
    let bits = 0;
    for (let count = 0; count < 3; count += 1) {
      const low = rest % 0x80;
      rest = Math.floor(rest / 0x80);
      bits = bits * 0x100 + (rest > 0 ? low + 0x80 : low);
    }
    text += letters(bits, 4);
  } while (rest > 0);
  return text;
}

export function encodePosition({ chatId, epoch, id }: Position): string {
  return encodePlace(chatId, epoch) + encodeId(id);
}

/** Stands for a chat and its epoch in a bookmark. */
export function hashPlace(chatId: string, epoch: number): number {
  return crc32(`${epoch}:${encodeName(chatId)}`);
}

export function encodeBookmark(hash: number, id: number): string {
  const bytes = Buffer.alloc(15);
  let at = bytes.writeUInt32BE(hash, 0);
  let rest = id;
  do {
    const low = rest % 0x80;
    rest = Math.floor(rest / 0x80);
    at = bytes.writeUInt8(rest > 0 ? low + 0x80 : low, at);
  } while (rest > 0);
  return bytes.toString('base64url', 0, padded(at));
}

/** What the checks of all tokens of a member begin with. */
export function seedOf(member: string): number {
  return crc32(encodeName(member));
}

/**
 * Puts a token together. Positions that make it too long are left out: their chats begin at the cursor again, so what was
 * delivered and not acked there is delivered once more.
 *
 * @param positions By `encodePosition`; what should rather stay comes first.
 * @param bookmarks By `encodeBookmark`; they have the room that is left.
 */
export function joinToken(
  seed: number,
  positions: readonly string[],
  bookmarks: readonly string[] = [],
): string {
  let text = VERSION;
  for (const position of positions) {
    if (text.length + position.length + CHECK_LENGTH <= MAX_TOKEN_LENGTH) text += position;
  }
  const room = MAX_TOKEN_LENGTH - CHECK_LENGTH - text.length - MARK.length;
  const kept = bookmarks.slice(0, Math.max(0, Math.floor(room / MAX_BOOKMARK_LENGTH)));
  if (kept.length > 0) text += MARK + kept.join('');
  return text + checkOf(seed, text);
}

/**
 * What a token says. Throws RangeError for what is no token, is cut off or damaged, or is another member's. A token
 * that somebody has forged may claim anything: what a chat cannot honour becomes a `reset`.
 */
export function splitToken(member: string, token: string): Places {
  const text = typeof token === 'string' && token.length <= MAX_TOKEN_LENGTH ? token : '';
  const end = text.length - CHECK_LENGTH;
  const body = text.slice(0, end);
  if (!TOKEN.test(text) || checkOf(seedOf(member), body) !== text.slice(end)) throw notAToken(token);
  const bytes = Buffer.from(body.slice(VERSION.length), 'base64url');
  const positions = new Map<string, Position>();
  const bookmarks = new Map<number, number>();
  try {
    let at = 0;
    while (at < bytes.length && bytes.readUInt8(at) !== BOOKMARKS) {
      const { position, next } = readPosition(bytes, at);
      positions.set(position.chatId, position);
      at = next;
    }
    for (at += MARK_BYTES; at < bytes.length;) {
      const { id, next } = readId(bytes, at + 4);
      bookmarks.set(bytes.readUInt32BE(at), id);
      at = next;
    }
  } catch {
    throw notAToken(token);
  }
  return { positions: [...positions.values()], bookmarks };
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

/** An id, and where what follows on its padding begins. */
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

/** The base64url of a number of so many times 6 bits. */
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

function notAToken(token: unknown): RangeError {
  const shown = JSON.stringify(typeof token === 'string' ? token.slice(0, 64) : token);
  return new RangeError(`after must be the token of an event of this member, got ${shown}`);
}
