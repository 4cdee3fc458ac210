import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import type { Readable } from 'node:stream';

import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';

/** A mail as it came over the wire. */
export interface Received {
  readonly from: string;
  readonly recipients: readonly string[];
  readonly raw: Buffer;
}

/** The answer of the peer to a RCPT TO or to the end of DATA: undefined to accept, else a reply code and a text. */
export type Verdict = { readonly code: number; readonly text: string } | undefined;

/** A real SMTP server on loopback that keeps the mails it gets. */
export class SmtpPeer implements AsyncDisposable {
  readonly mails: Received[] = [];
  /** The bytes of clients; unreadable with TLS. */
  wire = '';
  onMailFrom: () => Verdict = () => undefined;
  onRecipient: (address: string) => Verdict = () => undefined;
  onData: () => Verdict | Promise<Verdict> = () => undefined;
  readonly #server: SMTPServer;
  #port = 0;

  private constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      logger: false,
      hideSTARTTLS: true,
      authOptional: true,
      disableReverseLookup: true,
      closeTimeout: 100,
      ...options,
      onMailFrom: (_address, _session, callback) => callback(refusal(this.onMailFrom())),
      onRcptTo: ({ address }, _session, callback) => callback(refusal(this.onRecipient(address))),
      onData: (stream, session, callback) => {
        // oxlint-disable-next-line promise/no-callback-in-promise -- the server's own callback
        this.#receive(stream, session).then(callback, callback);
      },
    });
    this.#server.server.on('connection', (socket: Socket) => {
      socket.on('data', (chunk) => {
        this.wire += chunk.toString('latin1');
      });
    });
    // Connections that are cut are part of the tests.
    this.#server.on('error', () => undefined);
  }

  static async start(options: SMTPServerOptions = {}, port = 0): Promise<SmtpPeer> {
    const peer = new SmtpPeer(options);
    const listener = peer.#server.listen(port, '127.0.0.1');
    await once(listener, 'listening');
    peer.#port = (listener.address() as AddressInfo).port;
    return peer;
  }

  get port(): number {
    return this.#port;
  }

  /** The argument of every RCPT TO, byte for byte, also of refused ones. */
  get rcptTo(): string[] {
    return [...this.wire.matchAll(/^RCPT TO:<?(.*?)>?(?: [A-Z].*)?\r$/gim)].map(([, address]) => address!);
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.#port}`;
  }

  async #receive(stream: Readable, { envelope }: SMTPServerSession): Promise<Error | null> {
    const raw = Buffer.concat(await stream.toArray());
    const verdict = await this.onData();
    if (!verdict) {
      this.mails.push({
        from: envelope.mailFrom ? envelope.mailFrom.address : '',
        recipients: envelope.rcptTo.map(({ address }) => address),
        raw,
      });
    }
    return refusal(verdict);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function refusal(verdict: Verdict): Error | null {
  return verdict ? Object.assign(new Error(verdict.text), { responseCode: verdict.code }) : null;
}
