/**
 * Programs that send newsletters by SMTP, each connection under a permit of one semaphore, which they hold over HTTP. They leave a
 * history of their permits behind; see history/.
 */
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { Operation } from '../history/operation.js';
import { nowUs } from '../locks/clock.js';
import { NEWS_ADDRESS } from '../mail-peer.js';
import type { ServiceClient } from './client.js';
import { slugOf } from './client.js';

/** The permits: how many connections there may be at a time. */
export const CONNECTIONS = 3;
const SENDERS = 8;
const NAME = 'smtp';
const LEASE_MS = 3_000;
/** Longer than a failover, and the leases of those whose answers it has lost. */
const WAIT_MS = 30_000;
/** A client relies on its lease for less time than the answer says, because the answer itself has taken time. */
const MARGIN_MS = 1_000;
const AFTER_ERROR_MS = 50;

export class Newsletters {
  readonly operations: Operation[] = [];
  readonly #client: ServiceClient;
  readonly #port: number;

  constructor(client: ServiceClient, port: number) {
    this.#client = client;
    this.#port = port;
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from({ length: SENDERS }, async (_, sender) => {
        for (let n = 0; !signal.aborted; n += 1) await this.#turn(`${sender}/${n}`);
      }),
    );
  }

  async #turn(lease: string): Promise<void> {
    const call = { id: `${lease}-acquire`, key: NAME, lease, calledAt: nowUs(), waitMs: WAIT_MS };
    const body = { permits: CONNECTIONS, leaseMs: LEASE_MS, waitMs: WAIT_MS };
    const answer = await this.#client
      .send('POST', `semaphores/${NAME}/acquire`, { body })
      .catch(() => undefined);
    const returnedAt = nowUs();
    if (answer?.status !== 201) {
      const isTimeout = answer !== undefined && slugOf(answer) === 'lock-timeout';
      this.operations.push({
        op: 'acquire',
        ...call,
        returnedAt,
        outcome: isTimeout ? 'timeout' : 'failed',
      });
      await pause(AFTER_ERROR_MS);
      return;
    }
    const { holder, expiresInMs } = answer.document as { holder: string; expiresInMs: number };
    const validMs = expiresInMs - MARGIN_MS;
    const validUntil = returnedAt + validMs * 1_000;
    this.operations.push({ op: 'acquire', ...call, returnedAt, outcome: 'acquired', validUntil });
    // A connection that lasts longer than its permit is closed.
    await sendNewsletter(this.#port, AbortSignal.timeout(validMs));
    const calledAt = nowUs();
    const released = await this.#client
      .send('POST', `semaphores/${NAME}/release`, { body: { holder } })
      .catch(() => undefined);
    const isLost = released?.status === 409;
    const outcome = released?.status === 200 ? 'released' : isLost ? 'lost' : 'failed';
    const release = { id: `${lease}-release`, key: NAME, lease, calledAt, returnedAt: nowUs(), validUntil };
    this.operations.push({ op: 'release', ...release, outcome });
  }
}

/** Resolves when the peer has accepted the mail, or the connection is closed. */
async function sendNewsletter(port: number, signal: AbortSignal): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const lines = createInterface({ input: socket });
  socket.once('close', () => lines.close());
  signal.addEventListener('abort', () => socket.destroy());
  const replies = lines[Symbol.asyncIterator]();
  const mail = ['HELO game', `MAIL FROM:<${NEWS_ADDRESS}>`, 'RCPT TO:<all@fake-game.example>', 'DATA'];
  try {
    for (const command of [...mail, 'Subject: news\r\n\r\nSwords are cheap.\r\n.', 'QUIT']) {
      if ((await replies.next()).done) break;
      socket.write(`${command}\r\n`);
    }
  } catch {
    // The connection broke, so the mail counts as not sent.
  }
  socket.destroy();
}
