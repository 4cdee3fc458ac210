/** 100 bytes as JSON, with a number to know the task by. */
export interface Payload {
  readonly n: number;
  readonly data: string;
}

const PAYLOAD_BYTES = 100;

/** Numbers have eight digits, so all payloads have one size. */
const FIRST = 10_000_000;
const DATA = 'x'.repeat(PAYLOAD_BYTES - JSON.stringify({ n: FIRST, data: '' }).length);

export function payloadOf(index: number): Payload {
  return { n: FIRST + index, data: DATA };
}

export function indexOf({ n }: Payload): number {
  return n - FIRST;
}
