import type { SafeTelemetry } from '@mortise/redis';
import { BATCH, DROPPED, DUPLICATES, POSTED } from '../telemetry/metrics.js';
import type { IdRange } from './entry.js';

/** Counts the messages of one script call. */
export function countPosted(
  telemetry: SafeTelemetry | undefined,
  results: readonly ({ readonly isDuplicate: boolean } | Error)[],
  dropped: IdRange | undefined,
): void {
  if (!telemetry) return;
  let posted = 0;
  let duplicates = 0;
  for (const result of results) {
    if (result instanceof Error) continue;
    if (result.isDuplicate) duplicates += 1;
    else posted += 1;
  }
  telemetry.count(POSTED, posted);
  telemetry.count(DUPLICATES, duplicates);
  if (dropped) telemetry.count(DROPPED, dropped.toId + 1 - dropped.fromId);
  if (posted + duplicates > 0) telemetry.record(BATCH, posted + duplicates);
}
