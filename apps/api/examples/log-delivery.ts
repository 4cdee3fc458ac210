/**
 * Log delivery: one program sends a log, two others receive it, over HTTP and nothing else. The log is six times what Redis may hold of it, so
 * it arrives while it is being sent. In the middle of it the API is killed with SIGKILL and started again. Both get each byte once, because
 *
 * - the upload is repeated under the same key: the API resumes it where it was,
 * - each receiver resumes after the last byte that it has. It acks the handled bytes, which makes room for more.
 *
 * Run it with `npm run example:files`, after `npm run build`, beside a Redis at REDIS_URL.
 */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import { Server } from './server.js';

const MIB = 1_048_576;
const LOG_BYTES = 6 * MIB;
const CHANNEL = 'logs';

interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
}

interface File {
  readonly id: string;
  readonly name: string;
  readonly state: string;
  readonly bytes: number;
  readonly sha256?: string;
}

const server = new Server('delivery', { FILE_WINDOW_BYTES: String(MIB) });

/** One request; tried again until there is an answer that isn't the server's fault. */
async function ask(method: string, path: string, headers = {}, body?: Buffer | string): Promise<Answer> {
  for (;;) {
    try {
      const response = await fetch(server.url + path, { method, headers, ...(body && { body }) });
      const text = await response.text();
      const json = (text === '' ? {} : JSON.parse(text)) as Record<string, unknown>;
      if (response.status < 500) return { status: response.status, json };
    } catch {
      // It is being started again.
    }
    await pause(50);
  }
}

/** The key makes it safe to repeat, the digest has it checked. */
function upload(name: string, content: Buffer, key: string, sha256: Buffer): Promise<Answer> {
  const headers = {
    'content-type': 'application/octet-stream',
    'idempotency-key': key,
    'content-digest': `sha-256=:${sha256.toString('base64')}:`,
  };
  return ask('POST', `/v1/file-channels/${CHANNEL}/files?name=${name}`, headers, content);
}

function digestOf(content: Buffer): Buffer {
  return createHash('sha256').update(content).digest();
}

/** Gets every file of the channel until it has ended. */
class Receiver {
  /** Of the file that it is at. */
  bytes = 0;
  readonly received: string[] = [];

  constructor(readonly name: string) {}

  async join(): Promise<void> {
    await ask('PUT', `/v1/file-channels/${CHANNEL}/receivers/${this.name}`);
  }

  async receiveAll(): Promise<void> {
    for (;;) {
      const list = `/v1/file-channels/${CHANNEL}/files?receiver=${this.name}&waitMs=5000`;
      const { json } = await ask('GET', list);
      const [file] = json['items'] as File[];
      if (file) await this.#receive(file);
      else if (json['isEnded']) return;
    }
  }

  /** Range by range: each ends with what is there. */
  async #receive({ id, name }: File): Promise<void> {
    const hash = createHash('sha256');
    this.bytes = 0;
    let file: File;
    do {
      await this.#readOn(id, (piece) => hash.update(piece));
      if (this.bytes > 0) await this.#ack(id, { upTo: this.bytes });
      file = (await ask('GET', `/v1/files/${id}`)).json as unknown as File;
    } while (file.state === 'open' || (file.state !== 'aborted' && this.bytes < file.bytes));
    await this.#ack(id, { isDone: true });
    // Its sender gave it up, as the damaged one.
    if (file.state === 'aborted') return;
    const isRight = hash.digest('hex') === file.sha256;
    this.received.push(`${name}, ${this.bytes} bytes, ${isRight ? 'whole' : 'not what was sent'}`);
  }

  /** Reads from its offset, waits for more at the end, and continues after a broken connection. */
  async #readOn(id: string, take: (piece: Uint8Array) => unknown): Promise<void> {
    const content = `${server.url}/v1/files/${id}/content?receiver=${this.name}&waitMs=5000`;
    try {
      const response = await fetch(content, { headers: { range: `bytes=${this.bytes}-` } });
      if (response.status !== 206) {
        await response.body?.cancel();
        return;
      }
      for await (const piece of response.body!) {
        take(piece);
        this.bytes += piece.length;
      }
    } catch {
      await pause(50);
    }
  }

  async #ack(id: string, how: object): Promise<void> {
    const body = JSON.stringify({ receiver: this.name, ...how });
    await ask('POST', `/v1/files/${id}/acks`, { 'content-type': 'application/json' }, body);
  }
}

const log = Buffer.alloc(LOG_BYTES);
for (let at = 0, line = 1; at < LOG_BYTES; line += 1) at += log.write(`line ${line} of the log\n`, at);

await server.start();
const receivers = ['worker-1', 'worker-2'].map((name) => new Receiver(name));
for (const receiver of receivers) await receiver.join();
const receiving = receivers.map((receiver) => receiver.receiveAll());

const uploaded = upload('access.log', log, 'access', digestOf(log));
while (receivers.some(({ bytes }) => bytes < LOG_BYTES / 3)) await pause(5);
await server.end('SIGKILL');
console.log('the API was killed when both had a third of the log, and started again');
await server.start();
const sent = await uploaded;
console.log(`access.log: ${sent.status}, ${String(sent.json['bytes'])} bytes`);

// Damaged lines are counted, but belong to nobody.
const damaged = await upload(
  'damaged.log',
  Buffer.from('what cAme'),
  'damaged',
  digestOf(Buffer.from('what came')),
);
console.log(`damaged.log: ${damaged.status}, ${String(damaged.json['title'])}`);

await ask('POST', `/v1/file-channels/${CHANNEL}/end`);
await Promise.all(receiving);
for (const { name, received } of receivers) console.log(`${name}: ${received.join('; ')}`);
await server.end('SIGTERM');

// Output:
// the API was killed when both had a third of the log, and started again
// access.log: 201, 6291456 bytes
// damaged.log: 422, The body does not match its digest
// worker-1: access.log, 6291456 bytes, whole
// worker-2: access.log, 6291456 bytes, whole
