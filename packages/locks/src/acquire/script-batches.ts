/** The script calls of one kind of lock on one client. Requests of one tick that may travel together share a call. */
import type { RedisClient } from '@mortise/redis';
import { Coalescer } from '@mortise/redis';
import type { AcquireReply, AcquireRequest, ReleaseRequest, RenewReply, RenewRequest } from './gate.js';
import { MAX_BATCH } from './gate.js';
import { SlotGroups } from './slot-groups.js';

/** The fields of a lock that the scripts of its kind need. */
export interface Locked {
  /** Unique among locks. */
  readonly id: string;
  readonly slot: number;
  readonly keys: { readonly queue: string; readonly channels: string };
}

/** A request for one lock. */
export type For<Lock, Request> = Request & { readonly lock: Lock };

/** Sends requests in one script call. Resolves to one reply for each request; an Error rejects only its own request. */
export type Send<Lock, Request, Reply> = (
  requests: readonly For<Lock, Request>[],
) => Promise<readonly (Reply | Error)[]>;

export interface LockScripts<Lock extends Locked> {
  readonly acquire: Send<Lock, AcquireRequest, AcquireReply>;
  readonly release: Send<Lock, ReleaseRequest, boolean>;
  readonly renew: Send<Lock, RenewRequest, RenewReply>;
}

/** Which requests share a call: those of one lock, or those of all locks that may share one (`SlotGroups`). */
type Span = 'lock' | 'slot';

type Submit<Lock, Request, Reply> = (request: For<Lock, Request>) => Promise<Reply>;

export class ScriptBatches<Lock extends Locked> {
  readonly acquire: Submit<Lock, AcquireRequest, AcquireReply>;
  readonly release: Submit<Lock, ReleaseRequest, boolean>;
  readonly renew: Submit<Lock, RenewRequest, RenewReply>;

  constructor(redis: RedisClient, scripts: LockScripts<Lock>, spans: Record<keyof LockScripts<Lock>, Span>) {
    const groups = SlotGroups.of(redis);
    this.acquire = batched(groups, scripts.acquire, spans.acquire);
    this.release = batched(groups, scripts.release, spans.release);
    this.renew = batched(groups, scripts.renew, spans.renew);
  }
}

/** Requests of one tick share a call, MAX_BATCH at most. */
export function batched<Lock extends Locked, Request, Reply>(
  groups: SlotGroups,
  send: Send<Lock, Request, Reply>,
  span: Span,
): Submit<Lock, Request, Reply> {
  const coalescer = new Coalescer<string | number, For<Lock, Request>, Reply>(
    (_, requests) => groups.send(requests, send),
    { maxBatch: MAX_BATCH },
  );
  return (request) => {
    const { lock } = request;
    return coalescer.submit(span === 'lock' ? lock.id : groups.groupOf(lock.slot), request);
  };
}
