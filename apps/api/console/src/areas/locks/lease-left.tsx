/** What is left of a lease, as text and as a bar. Both move by the clock of the page, without a request. */
import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';

import { useNow } from '../../ui/clock.ts';
import { Share } from '../../ui/elements.tsx';
import { durationText } from '../../ui/text.ts';

interface Props {
  readonly remainingMs: number;
  /** When the page got it. */
  readonly at: number;
}

/** Draw it with a key for each lease: nobody but its holder knows how long it is, so the bar is full with the most that was seen. */
export function LeaseLeft({ remainingMs, at }: Props): JSX.Element {
  const now = useNow();
  const most = useRef(0);
  most.current = Math.max(most.current, remainingMs);
  const left = Math.max(0, at + remainingMs - now);
  const text = left > 0 ? durationText(left) : 'ended';
  return (
    <span class="lease number">
      {text}
      <Share used={left} of={most.current} label={`${text} of the lease left`} />
    </span>
  );
}

const seen = new WeakMap<object, number>();

/** When the page got a row of a list: when it drew it first. */
export function seenAt(row: object): number {
  const at = seen.get(row) ?? Date.now();
  seen.set(row, at);
  return at;
}

/** The owner of a lease, if it has one, and its holder. */
export function Holder({
  holder,
  owner,
}: {
  readonly holder: string;
  readonly owner: string | null;
}): JSX.Element {
  return (
    <span class="wide">
      {owner !== null && <strong>{owner}</strong>} <code>{holder}</code>
    </span>
  );
}

/** The figure of those who wait. */
export function waitNote(longestWaitMs: number, queueLength: number): string {
  return queueLength === 0 ? 'in the order of their calls' : `the first for ${durationText(longestWaitMs)}`;
}
