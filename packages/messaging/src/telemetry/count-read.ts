import type { SafeTelemetry } from '@mortise/redis';
import { GAPS, LAG, PULLED } from './metrics.js';

/** Counts one read of a mailbox or chat. The age is by the clocks of the server and of this process. */
export function countRead(
  telemetry: SafeTelemetry,
  messages: readonly { readonly sentAt: number }[],
  hasGap: boolean,
): void {
  if (hasGap) telemetry.count(GAPS, 1);
  telemetry.count(PULLED, messages.length);
  const [oldest] = messages;
  if (oldest) telemetry.record(LAG, Math.max(0, Date.now() - oldest.sentAt) / 1_000);
}
