/** Whether the tags of an entry were revalidated after it was rendered. */
export type TagState = 'fresh' | 'stale' | 'expired';

/** @param records Those of the script `next.revalidate`; null for a tag that was never revalidated. @param seq Of the entry. */
export function stateOf(records: readonly (Buffer | null)[], seq: number, now: number): TagState {
  let state: TagState = 'fresh';
  for (const record of records) {
    if (!record) continue;
    const [expired = 0, stale = 0, later = 0, laterAt = 0] = record.toString().split(' ').map(Number);
    if (expired > seq || (later > seq && laterAt <= now)) return 'expired';
    if (stale > seq) state = 'stale';
  }
  return state;
}
