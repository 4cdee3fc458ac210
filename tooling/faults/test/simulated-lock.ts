/**
 * A correct lock in virtual time, and the history that its clients would record: the network takes its time in both
 * directions, clients overstay their leases or are killed, and the server grants in the order of arrival.
 */
import type { Operation } from '../src/history/operation.js';
import { leaseHistory } from './lease-history.js';

export interface SimulatedAcquisition {
  readonly startAt: number;
  readonly requestMs: number;
  readonly replyMs: number;
  readonly holdMs: number;
  readonly releaseMs: number;
  readonly releaseReplyMs: number;
  readonly isKilled: boolean;
  readonly isReader: boolean;
  readonly permits: number;
}

export interface SimulatedLock {
  readonly leaseMs: number;
  /** Whether one more may be granted beside those that hold. */
  fits(held: readonly SimulatedAcquisition[], turn: SimulatedAcquisition): boolean;
}

export interface SimulatedLease {
  readonly turn: SimulatedAcquisition;
  readonly token: number;
  readonly grantedAt: number;
  readonly reliedUntil: number;
}

export function simulate(
  turns: readonly SimulatedAcquisition[],
  lock: SimulatedLock,
): { operations: Operation[]; leases: SimulatedLease[] } {
  const operations: Operation[] = [];
  const leases: SimulatedLease[] = [];
  const waiting: SimulatedAcquisition[] = [];
  const held = new Map<SimulatedAcquisition, number>();
  const agenda: { at: number; run: (now: number) => void }[] = [];
  const at = (time: number, run: (now: number) => void): void => void agenda.push({ at: time, run });
  let token = 0;

  const grant = (now: number): void => {
    for (const [turn, endsAt] of held) if (endsAt <= now) held.delete(turn);
    for (let turn = waiting[0]; turn && lock.fits([...held.keys()], turn); turn = waiting[0]) {
      waiting.shift();
      serve(turn, now);
    }
  };
  const serve = (turn: SimulatedAcquisition, now: number): void => {
    token += 10;
    const lease = `l${token}`;
    const endsAt = now + lock.leaseMs;
    // The client counts from before it could know, so it never believes for longer than the server.
    const validUntil = endsAt - 1;
    const grantedAt = now + turn.replyMs;
    const releasedAt = grantedAt + turn.holdMs;
    held.set(turn, endsAt);
    at(endsAt, grant);
    leases.push({
      turn,
      token,
      grantedAt,
      reliedUntil: Math.min(validUntil, turn.isKilled ? Infinity : releasedAt),
    });
    const shape = {
      granted: [turn.startAt, grantedAt],
      token,
      validUntil,
      mode: turn.isReader ? 'read' : 'write',
      permits: turn.permits,
    } as const;
    if (turn.isKilled) {
      operations.push(...leaseHistory(lease, shape));
      return;
    }
    at(releasedAt + turn.releaseMs, (then) => {
      const isHeld = (held.get(turn) ?? 0) > then;
      held.delete(turn);
      const returnedAt = then + turn.releaseReplyMs;
      const released = [releasedAt, returnedAt, isHeld ? 'released' : 'lost'] as const;
      operations.push(...leaseHistory(lease, { ...shape, released }));
      grant(then);
    });
  };
  for (const turn of turns) {
    at(turn.startAt + turn.requestMs, (now) => {
      waiting.push(turn);
      grant(now);
    });
  }
  while (agenda.length > 0) {
    agenda.sort((a, b) => b.at - a.at);
    const { at: now, run } = agenda.pop()!;
    run(now);
  }
  return { operations, leases };
}
