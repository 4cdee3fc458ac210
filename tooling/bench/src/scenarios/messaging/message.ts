/** A message that takes 167 bytes as JSON with an id of six digits, an instant and a sender, as the book stores it. */
export const JSON_BYTES = 167;

const STORED = { id: 100_000, ts: 1_763_663_653.123, sender: memberOf(0), message: '' };

/** The posted message. */
export const TEXT = 'x'.repeat(JSON_BYTES - JSON.stringify(STORED).length);

/** The number has three digits, so all messages have one size. */
export function memberOf(index: number): string {
  return `member-${String(index).padStart(3, '0')}`;
}

export function chatOf(index: number): string {
  return `chat-${index}`;
}
