/**
 * Accounts for the messages of a run in which the server forgot some of them. A message that it forgot is a ghost: its id may be that of
 * another one later. Readers may get messages again whose acks it forgot. All other messages arrive at each reader, each under one id.
 */
import type { ServerState } from '../world/server-state.js';

/** A call that had a reply, ms since the world began. */
interface Call {
  readonly calledAt: number;
  readonly returnedAt: number;
}

/** An accepted post. */
export interface Post extends Call {
  readonly sender: string;
  readonly n: number;
  readonly id: number;
}

export interface Got {
  readonly at: number;
  readonly id: number;
  readonly from: string;
  readonly n: number;
}

export interface Ack extends Call {
  readonly id: number;
  /** The number of the message with this id, as its reader got it. */
  readonly n: number;
}

export interface LossyReader {
  readonly name: string;
  readonly got: readonly Got[];
  readonly acks: readonly Ack[];
  /** Gaps and resets. */
  readonly notes: readonly { readonly at: number; readonly what: string }[];
}

/** The id of a post by which it is stored once. */
export function postId(sender: string, n: number): string {
  return `${sender}-${n}`;
}

/** @param isExcused Posts before the server had all readers again. */
export function accountForLosses(
  posts: readonly Post[],
  readers: readonly LossyReader[],
  server: ServerState,
  isExcused: (post: Post) => boolean,
): string[] {
  const account = new LossyAccount(posts, server);
  for (const reader of readers) account.read(reader);
  for (const post of posts) {
    if (server.mayHaveForgotten(post.calledAt, post.returnedAt) || isExcused(post)) continue;
    for (const reader of readers) account.expect(post, reader);
  }
  return account.violations;
}

class LossyAccount {
  readonly violations: string[] = [];
  readonly #server: ServerState;
  readonly #accepted: ReadonlyMap<number, Post>;
  /** When a server last forgot a post, by its number. */
  readonly #forgottenAt = new Map<number, number>();
  /** By number: the id under which a message was got, of those that are no ghosts. */
  readonly #ids = new Map<number, number>();
  readonly #numbers = new Map<number, number>();

  constructor(posts: readonly Post[], server: ServerState) {
    this.#server = server;
    this.#accepted = new Map(posts.map((post) => [post.n, post]));
    for (const { at, executed } of server.forgotten) {
      const to = Math.max(...server.losses.filter((loss) => loss.to >= at).map((loss) => loss.to));
      for (const arg of executed.args)
        for (const [, n] of String(arg).matchAll(/w\d+-(\d+)/g)) this.#forgottenAt.set(Number(n), to);
    }
  }

  /** Reads the messages of a reader, between one loss and the next. */
  read({ name, got, acks, notes }: LossyReader): void {
    const real = got.filter((one) => !this.#isGhost(one, one.at));
    for (const { id, n } of real) this.#compare(name, id, n);
    for (const { at, what } of notes)
      if (this.#part(at) === 0) this.violations.push(`noted: ${name}: ${what}`);
    for (let part = 0; part <= this.#server.losses.length; part += 1) {
      let last: number | undefined;
      let acked = 0;
      const ofPart = acks.filter(
        (ack) =>
          this.#part(ack.calledAt) === part &&
          !this.#server.mayHaveForgotten(ack.calledAt, ack.returnedAt) &&
          !this.#isGhost(ack, ack.returnedAt),
      );
      for (const { id, at } of got.filter((one) => this.#part(one.at) === part)) {
        acked = Math.max(acked, ...ofPart.filter((ack) => ack.returnedAt <= at).map((ack) => ack.id));
        if (id <= acked) this.violations.push(`returned: ${name} got ${id} again, having acked ${acked}`);
        if (last !== undefined && id > last + 1)
          this.violations.push(`skipped: ${name} got ${id} after ${last}`);
        last = Math.max(last ?? 0, id);
      }
    }
  }

  /** A reader may have acked the id of a ghost, which another message had by then. */
  expect({ sender, n, id }: Post, { name, got, acks }: LossyReader): void {
    const ghosts = acks.filter((ack) => this.#isGhost(ack, ack.calledAt)).map((ack) => ack.id);
    if (id <= Math.max(0, ...ghosts)) return;
    if (!got.some((one) => one.n === n && one.id === id))
      this.violations.push(`lost: ${name} never got message ${n} of ${sender}, ${id}`);
  }

  /** Forgotten, and not stored again before this moment, or under another id. */
  #isGhost({ n, id }: { readonly n: number; readonly id: number }, at: number): boolean {
    const forgottenAt = this.#forgottenAt.get(n);
    if (forgottenAt === undefined) return false;
    const post = this.#accepted.get(n);
    return at <= forgottenAt || (post !== undefined && (post.returnedAt <= forgottenAt || post.id !== id));
  }

  #compare(name: string, id: number, n: number): void {
    const other = this.#ids.get(n);
    if (other !== undefined && other !== id)
      this.violations.push(`doubled: ${name} got message ${n} as ${id}, others as ${other}`);
    this.#ids.set(n, id);
    const known = this.#numbers.get(id);
    if (known !== undefined && known !== n)
      this.violations.push(`contradiction: ${name} got message ${n} as ${id}, others ${known}`);
    this.#numbers.set(id, n);
  }

  /** How many losses came before. */
  #part(at: number): number {
    return this.#server.losses.filter(({ to }) => to < at).length;
  }
}
