/**
 * Counts the lines `IP DATE TIME EVENT` of a file, from bytes: no string, no object, no closure for a line. One space separates fields. IP is an
 * address of either kind, DATE is `2026-11-20`, TIME is `19:50:46` or that with a fraction, EVENT is anything.
 *
 * It works on whole lines: the last byte is a newline, at which every loop stops without checking for the end of the block. Addresses are looked up
 * many at a time (see range-table.ts). Lines of the same day follow each other, so the bytes of a date are compared with the last one, and parsed when
 * they differ. Lines that cannot be counted are counted by reason.
 */
import { isMappedV4, parseV6 } from './address.js';
import { DayCounts } from './day-counts.js';
import type { MalformedLines, Reason } from './malformed-lines.js';
import { MOST_AT_ONCE, type RangeTable } from './range-table.js';

const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const DASH = 45;
const DOT = 46;
const ZERO = 48;
const COLON = 58;
/** DATE, TIME and an event of one byte, with their spaces, and the newline. */
const LEAST_AFTER_ADDRESS = 22;
const NO_PLACE = -1;
const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Days that are counted: numbers as 20261120, both included. */
export interface DayWindow {
  readonly first: number;
  readonly last: number;
}

export interface LineLimits {
  readonly maxLineBytes: number;
  /** Places whose counters aren't 0, over all days. */
  readonly maxKeys: number;
  readonly window: DayWindow;
}

export class LineCounter {
  readonly #table: RangeTable;
  readonly #limits: LineLimits;
  readonly #malformed: MalformedLines;
  readonly #days = new Map<number, DayCounts>();
  readonly #words = new Uint32Array(4);
  /** From the beginning: addresses of lines of the current day whose place is still unknown. From the end: places of lines with IPv6. */
  readonly #addresses = new Uint32Array(MOST_AT_ONCE);
  #waiting = 0;
  #known = 0;
  /** The most of both together. */
  #room: number;
  /** Bytes of the last date: year, then month and day. */
  #year = 0;
  #monthDay = 0;
  #current: DayCounts | undefined;
  #keys = 0;
  /** The day of a line that could not be counted yet: it has to be opened first. 0 for none. */
  missingDay = 0;
  /** It moves while a file is counted for days. */
  window: DayWindow;
  /** Lines that an earlier reader of the file has counted. */
  repeated = 0;

  constructor(table: RangeTable, limits: LineLimits, malformed: MalformedLines) {
    this.#table = table;
    this.#limits = limits;
    this.#malformed = malformed;
    this.window = limits.window;
    this.#room = Math.min(MOST_AT_ONCE, limits.maxKeys);
  }

  /** Whether it has to be flushed before it counts more lines. */
  get isFull(): boolean {
    return this.#keys >= this.#limits.maxKeys;
  }

  get days(): Iterable<DayCounts> {
    this.#countWaiting();
    return this.#days.values();
  }

  get openDays(): number {
    return this.#days.size;
  }

  /** Opens a day, after `missingDay`. */
  open(day: number, countedTo: number): void {
    this.#days.set(day, new DayCounts(day, this.#table.places.size, countedTo));
    this.missingDay = 0;
  }

  /** Call it after a flush. With `isForgetting`, closes all days. */
  clear(isForgetting = false): void {
    for (const day of this.#days.values()) day.clear();
    this.#keys = this.#waiting = this.#known = 0;
    this.#room = Math.min(MOST_AT_ONCE, this.#limits.maxKeys);
    if (!isForgetting) return;
    this.#days.clear();
    this.#current = undefined;
    this.#year = this.#monthDay = 0;
  }

  /**
   * Counts the lines from `start` to `end`, which is after a newline. Returns how far it came: to `end`, unless it is full, or a day is missing. The places of
   * lines are looked up later, many at once: at the latest by `days`.
   *
   * @param base Offset of the first byte of `bytes` in the file.
   */
  count(bytes: Uint8Array, start: number, end: number, base: number): number {
    const { maxLineBytes } = this.#limits;
    const addresses = this.#addresses;
    let waiting = this.#waiting;
    let known = this.#known;
    let line = start;
    while (line < end) {
      if (waiting + known === this.#room) {
        this.#waiting = waiting;
        this.#known = known;
        this.#countWaiting();
        waiting = known = 0;
        if (this.#room === 0) return line;
      }
      let at = line;
      let place = NO_PLACE;

      // An IPv4 address. If it is none, the bytes are parsed again as IPv6.
      let address = 0;
      let parts = 0;
      for (;;) {
        const first = at;
        let value = bytes[at]! - ZERO;
        if (value < 0 || value > 9) break;
        at += 1;
        let digit = bytes[at]! - ZERO;
        if (digit >= 0 && digit <= 9) {
          value = value * 10 + digit;
          digit = bytes[at + 1]! - ZERO;
          at += 1;
          if (digit >= 0 && digit <= 9) {
            value = value * 10 + digit;
            at += 1;
          }
          if (bytes[first] === ZERO || value > 255) break;
        }
        address = (address << 8) | value;
        parts += 1;
        if (parts === 4 || bytes[at] !== DOT) break;
        at += 1;
      }
      if (parts !== 4 || bytes[at] !== SPACE) {
        while (bytes[at] !== SPACE && bytes[at] !== NEWLINE) at += 1;
        place = this.#findV6(bytes, line, at);
        if (place === NO_PLACE || bytes[at] === NEWLINE) {
          line = this.#reject('address', bytes, line, at, base);
          continue;
        }
      }
      at += 1;

      // The date. Lines that are too short have a newline where something else must be.
      if (at + LEAST_AFTER_ADDRESS > end) {
        line = this.#reject('fields', bytes, line, at - 1, base);
        continue;
      }
      const year = (bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!;
      const monthDay =
        (bytes[at + 5]! << 24) | (bytes[at + 6]! << 16) | (bytes[at + 8]! << 8) | bytes[at + 9]!;
      if (bytes[at + 4] !== DASH || bytes[at + 7] !== DASH || bytes[at + 10] !== SPACE) {
        line = this.#reject('date', bytes, line, at, base);
        continue;
      }
      if (year !== this.#year || monthDay !== this.#monthDay || this.#current === undefined) {
        const day = dayAt(bytes, at);
        if (day === 0) {
          line = this.#reject('date', bytes, line, at, base);
          continue;
        }
        const { first, last } = this.window;
        if (day < first || day > last) {
          line = this.#reject('window', bytes, line, at, base);
          continue;
        }
        this.#waiting = waiting;
        this.#known = known;
        this.#countWaiting();
        waiting = known = 0;
        const counts = this.#days.get(day);
        if (counts === undefined) {
          this.missingDay = day;
          return line;
        }
        this.#current = counts;
        this.#year = year;
        this.#monthDay = monthDay;
      }
      at += 11;

      // The time. `^ 48` makes a digit of its character, and something larger than 9 of all others.
      const hour = bytes[at]! ^ ZERO;
      const minute = bytes[at + 3]! ^ ZERO;
      const second = bytes[at + 6]! ^ ZERO;
      const hourUnits = bytes[at + 1]! ^ ZERO;
      if (
        bytes[at + 2] !== COLON ||
        bytes[at + 5] !== COLON ||
        hour > 2 ||
        hourUnits > (hour === 2 ? 3 : 9) ||
        minute > 5 ||
        (bytes[at + 4]! ^ ZERO) > 9 ||
        second > 6 ||
        (bytes[at + 7]! ^ ZERO) > (second === 6 ? 0 : 9)
      ) {
        line = this.#reject('time', bytes, line, at, base);
        continue;
      }
      at += 8;
      if (bytes[at] === DOT) {
        do at += 1;
        while ((bytes[at]! ^ ZERO) <= 9);
        if (bytes[at - 1] === DOT) {
          line = this.#reject('time', bytes, line, at, base);
          continue;
        }
      }
      if (bytes[at] !== SPACE) {
        line = this.#reject('time', bytes, line, at, base);
        continue;
      }

      // The event.
      const event = at + 1;
      at = event;
      while (bytes[at] !== NEWLINE) at += 1;
      if (at === event || (at === event + 1 && bytes[event] === RETURN)) {
        line = this.#reject('fields', bytes, line, at, base);
        continue;
      }
      if (at - line > maxLineBytes) {
        line = this.#reject('length', bytes, line, at, base);
        continue;
      }
      line = at + 1;

      const current = this.#current;
      if (base + line <= current.countedTo) {
        this.repeated += 1;
        continue;
      }
      if (place === NO_PLACE) addresses[waiting++] = address;
      else addresses[MOST_AT_ONCE - ++known] = place;
    }
    this.#waiting = waiting;
    this.#known = known;
    return line;
  }

  /** Counts the waiting addresses and the known places of the current day. */
  #countWaiting(): void {
    const waiting = this.#waiting;
    const known = this.#known;
    if (waiting + known === 0) return;
    this.#table.findMany4(this.#addresses, waiting);
    this.#keys += this.#current!.add(this.#addresses, waiting);
    if (known > 0) this.#keys += this.#current!.add(this.#addresses.subarray(MOST_AT_ONCE - known), known);
    this.#waiting = this.#known = 0;
    this.#room = Math.min(MOST_AT_ONCE, this.#limits.maxKeys - this.#keys);
  }

  /** The place of an IPv6 address, also of a mapped IPv4 address. */
  #findV6(bytes: Uint8Array, start: number, end: number): number {
    const words = this.#words;
    if (!parseV6(bytes, start, end, words)) return NO_PLACE;
    return isMappedV4(words) ? this.#table.find4(words[3]!) : this.#table.find6(words);
  }

  /** Returns the beginning of the next line. The reason of a line doesn't depend on where blocks end. */
  #reject(reason: Reason, bytes: Uint8Array, line: number, at: number, base: number): number {
    let end = at;
    while (bytes[end] !== NEWLINE) end += 1;
    let spaces = 0;
    for (let index = line; index < end && spaces < 3; index += 1) if (bytes[index] === SPACE) spaces += 1;
    let found: Reason = spaces < 3 ? 'fields' : reason;
    if (end - line > this.#limits.maxLineBytes) found = 'length';
    this.#malformed.add(found, bytes, line, end, base);
    return end + 1;
  }
}

/** 20261120, or 0 when the bytes are not a day of the calendar. */
function dayAt(bytes: Uint8Array, at: number): number {
  const two = (first: number): number => {
    const tens = bytes[at + first]! ^ ZERO;
    const units = bytes[at + first + 1]! ^ ZERO;
    return tens > 9 || units > 9 ? -10_000 : 10 * tens + units;
  };
  const year = 100 * two(0) + two(2);
  const month = two(5);
  const day = two(8);
  if (year < 0 || month < 1 || month > 12 || day < 1 || day > DAYS_OF_MONTH[month - 1]!) return 0;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  if (month === 2 && day === 29 && !isLeap) return 0;
  return 10_000 * year + 100 * month + day;
}
