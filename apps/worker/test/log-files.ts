/** Files of logs that exist in memory only, and what may go wrong with them. */
import type { LogFile } from '../src/log-aggregation/index.js';

export const CSV = `start,end,country,region,city
1.0.0.0,1.0.0.255,AU,Queensland,Brisbane
1.0.1.0,1.0.3.255,CN,Fujian,Fuzhou
8.8.8.0,8.8.8.255,US,California,Mountain View
9.0.0.0,9.255.255.255,US,"New York","Armonk, North Castle"
2001:db8::,2001:db8:0:ffff:ffff:ffff:ffff:ffff,DE,Berlin,Berlin
`;

export async function* blocksOf(text: string | Uint8Array, size = 64): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A file as a receiver would give it: it remembers what is acked, and can be read again from there. */
export class MemoryFile implements LogFile {
  offset = 0;
  readonly acks: number[] = [];
  isDone = false;
  failure: unknown;
  readonly #bytes: Buffer;

  constructor(
    readonly id: string,
    text: string | Uint8Array,
    readonly blockBytes = 64,
  ) {
    this.#bytes = Buffer.from(text);
  }

  blocks(): AsyncIterable<Uint8Array> {
    return blocksOf(this.#bytes.subarray(this.offset), this.blockBytes);
  }

  async ack(offset: number): Promise<void> {
    this.acks.push(offset);
    this.offset = offset;
  }

  async done(): Promise<void> {
    this.isDone = true;
  }

  async fail(error: unknown): Promise<void> {
    this.failure = error;
  }
}

/** `2026-11-20` of so many days ago. */
export function day(ago = 0): string {
  return new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
}

export function line(ip: string, on = day(), event = 'GET /'): string {
  return `${ip} ${on} 19:50:46 ${event}\n`;
}
