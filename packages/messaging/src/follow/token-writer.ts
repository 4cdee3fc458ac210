/**
 * The tokens of one follower. All chats that are ahead of their cursors have a place in them, and as many others as there is
 * room for: first those that moved last, then those in which nothing has happened yet.
 */
import { joinToken, seedOf } from './resume-token.js';
import type { Seat } from './seat.js';

/** Bookmarks in a token: up to 388 characters of it. */
export const MAX_BOOKMARKS = 32;
/** With so many chats ahead of the cursors that are known, the cursors are read again, but not more often than that. */
const MANY_AHEAD = 64;
const REFRESH_MS = 10_000;

export class TokenWriter {
  readonly #seed: number;
  /** Seats that may have delivered more than was acked, the latest one last. */
  readonly #ahead = new Set<Seat>();
  /** Seats that have delivered something, and no more than was acked; the latest ones, the last one last. */
  readonly #moved = new Set<Seat>();
  /** Some that have delivered nothing. */
  readonly #idle = new Set<Seat>();
  #refreshedAt = performance.now();

  constructor(member: string) {
    this.#seed = seedOf(member);
  }

  /** A token has said where the seat begins. */
  onStart(seat: Seat): void {
    this.#ahead.add(seat);
  }

  /** It is known where the member stands in the chat. */
  onBegun(seat: Seat): void {
    if (this.#ahead.has(seat) || this.#moved.has(seat)) return;
    if (seat.wasBookmarked) this.#move(seat);
    else if (this.#idle.size < MAX_BOOKMARKS) this.#idle.add(seat);
  }

  /** It has delivered something. */
  onMoved(seat: Seat): void {
    this.drop(seat);
    if (seat.position === undefined) this.#move(seat);
    else this.#ahead.add(seat);
    if (this.#ahead.size >= MANY_AHEAD) this.#refresh();
  }

  drop(seat: Seat): void {
    this.#ahead.delete(seat);
    this.#moved.delete(seat);
    this.#idle.delete(seat);
  }

  clear(): void {
    for (const seats of [this.#ahead, this.#moved, this.#idle]) seats.clear();
  }

  /** O(chats that are ahead). */
  token(): string {
    const positions: string[] = [];
    for (const seat of this.#ahead) {
      const { position } = seat;
      if (position !== undefined) positions.push(position);
      else {
        this.#ahead.delete(seat);
        this.#move(seat);
      }
    }
    const bookmarks: string[] = [];
    for (const seat of [...[...this.#moved].toReversed(), ...this.#idle]) {
      const { bookmark } = seat;
      if (bookmark !== undefined && bookmarks.length < MAX_BOOKMARKS) bookmarks.push(bookmark);
    }
    return joinToken(this.#seed, positions.toReversed(), bookmarks);
  }

  #move(seat: Seat): void {
    this.#moved.add(seat);
    if (this.#moved.size <= MAX_BOOKMARKS) return;
    const [oldest] = this.#moved;
    this.#moved.delete(oldest!);
  }

  /** What was acked elsewhere needs no position. */
  #refresh(): void {
    const now = performance.now();
    if (now - this.#refreshedAt < REFRESH_MS) return;
    this.#refreshedAt = now;
    for (const seat of this.#ahead) seat.look();
  }
}
