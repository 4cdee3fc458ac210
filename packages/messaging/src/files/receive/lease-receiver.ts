import { encodeName, Loop } from '@mortise/redis';
import { channelReceive } from '../../scripts.gen.js';
import type { FilesContext } from '../context.js';
import type { ListedEntry } from '../listed-file.js';
import { entryOf } from '../listed-file.js';

/** `absent`: there is no channel yet. `unknown`: it has no such receiver. `ended`: it lists no more files. */
type LeaseReply =
  | { readonly answer: 'absent' | 'unknown' | 'lost' | 'ended' }
  /** `ms`: until the end of the other process' lease. */
  | { readonly answer: 'busy'; readonly ms: number }
  | {
      readonly answer: 'held';
      readonly token: number;
      readonly isEnded: boolean;
      /** The numbers of listed files that the receiver is done with. */
      readonly passed: readonly number[];
      readonly epoch: string;
      readonly until: number;
      /** The files that it is not done with, in order. */
      readonly files: readonly ListedEntry[];
    };

/** Acquires, renews or (with `leaseMs` 0) releases the lease of a receiver, and returns its files. One script. */
export async function leaseReceiver(
  { redis, channelKeys }: FilesContext,
  receiver: string,
  lease: {
    readonly holder: string;
    readonly token: number;
    readonly leaseMs: number;
    readonly limit: number;
  },
): Promise<LeaseReply> {
  const args = { receiver: encodeName(receiver), ...lease };
  const [answer, first, isEnded, passed, epoch, until, ...entries] = (await channelReceive.run(
    redis,
    channelKeys,
    args,
  )) as [string, ...(string | number)[]];
  if (answer === 'busy') return { answer, ms: Number(first) };
  if (answer !== 'held') return { answer: answer as 'absent' };
  return {
    answer,
    token: Number(first),
    isEnded: isEnded === 1,
    passed: passed === '' ? [] : String(passed).split(',').map(Number),
    epoch: String(epoch),
    until: Number(until),
    files: Array.from({ length: entries.length / 2 }, (_, index) =>
      entryOf(Number(entries[2 * index]), String(entries[2 * index + 1])),
    ),
  };
}

/** Renews a lease that was just acquired, each third of it. */
export function leaseRenewal(name: string, leaseMs: number, renew: () => Promise<unknown>): Loop {
  let isDue = false;
  return new Loop(
    name,
    async () => {
      if (isDue) await renew();
      isDue = true;
      return leaseMs / 3;
    },
    // Acks without a lease are refused anyway.
    { onError: () => undefined },
  );
}
