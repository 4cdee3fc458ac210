/**
 * The open streams of events, over SSE and WebSocket. Each holds a connection until its client leaves. They are counted,
 * get heartbeats, and end with the server.
 */
import type { OnModuleDestroy } from '@nestjs/common';
import { Inject, Injectable } from '@nestjs/common';

import type { Config } from '../../config.js';
import { Quotas } from '../../limits/quotas.js';
import { Problem } from '../../problems/problem.js';
import { CONFIG } from '../../tokens.js';
import type { Scope } from '../../callers/scopes.js';
import type { Principal } from '../../callers/principal.js';
import { isStillAllowed, RECHECK_MS } from '../../callers/recheck.js';

/** Why the server ends a stream that its client still reads. */
export type EndReason = 'too-slow' | 'redis-unavailable' | 'internal-error' | 'revoked' | 'shutting-down';

export interface LiveStream {
  /** It was ended, or its client has gone. */
  readonly isOver: boolean;
  /** Shows the client and all proxies that the connection lives. */
  beat(): void;
  /** Sends the reason and closes the connection; cuts it when the client is too slow. Idempotent. */
  end(reason: EndReason): void;
}

/** Those by which a stream was opened. */
const STREAM_SCOPES: ReadonlySet<Scope> = new Set<Scope>([
  'messaging:read',
  'messaging:write',
  'queues:read',
  'cache:read',
  'market:read',
  'ops:read',
  'locks:read',
  'locks:admin',
]);

@Injectable()
export class LiveStreams implements OnModuleDestroy {
  readonly #most: number;
  readonly #beatMs: number;
  readonly #open = new Map<LiveStream, Principal>();
  #timer: NodeJS.Timeout | undefined;
  #rechecks: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(
    @Inject(CONFIG) { MAX_STREAMS, STREAM_HEARTBEAT_MS }: Config,
    private readonly quotas: Quotas,
  ) {
    this.#most = MAX_STREAMS;
    this.#beatMs = STREAM_HEARTBEAT_MS;
  }

  /** Connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Ended streams that their clients have not closed yet. */
  get ending(): number {
    return [...this.#open.keys()].filter(({ isOver }) => isOver).length;
  }

  /** Throws the problems `shutting-down` and `too-many-streams`. */
  requireRoom(): void {
    if (this.#isEnding) throw new Problem('shutting-down');
    if (this.#open.size >= this.#most)
      throw new Problem('too-many-streams', undefined, { limit: this.#most });
  }

  /** Throws as `requireRoom`, and the problem `quota-exceeded`. For a request of the tenant. */
  async requireRoomFor(tenant: string): Promise<void> {
    this.requireRoom();
    const its = (): number => [...this.#open.values()].filter((each) => each.tenant === tenant).length;
    await this.quotas.require('streams', its);
  }

  /** Throws as `requireRoom`. The caller removes the stream when its connection closes. */
  add(stream: LiveStream, principal: Principal): void {
    this.requireRoom();
    this.#open.set(stream, principal);
    this.#timer ??= setInterval(() => {
      for (const one of this.#open.keys()) one.beat();
    }, this.#beatMs);
    this.#rechecks ??= setInterval(() => void this.#recheck(), RECHECK_MS);
  }

  remove(stream: LiveStream): void {
    this.#open.delete(stream);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    clearInterval(this.#rechecks);
    this.#timer = this.#rechecks = undefined;
  }

  /** Runs before the server stops answering, because it waits for open connections. */
  onModuleDestroy(): void {
    this.#isEnding = true;
    for (const stream of this.#open.keys()) stream.end('shutting-down');
  }

  async #recheck(): Promise<void> {
    await Promise.all(
      Array.from(this.#open, async ([stream, principal]) => {
        const rights = [...principal.scopes].filter((scope) => STREAM_SCOPES.has(scope));
        if (!(await isStillAllowed(principal, rights))) stream.end('revoked');
      }),
    );
  }
}
