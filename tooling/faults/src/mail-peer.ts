import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

export interface ReceivedMail {
  readonly from: string;
  /** The recipients of the envelope: who really gets the mail. */
  readonly recipients: readonly string[];
  readonly source: Buffer;
}

/** An SMTP server on loopback that keeps what it is given. */
export class MailPeer {
  readonly mails: ReceivedMail[] = [];
  readonly #server: SMTPServer;

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      disableReverseLookup: true,
      onData: (stream, session, callback) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          this.mails.push({
            from: mailFrom === false ? '' : mailFrom.address,
            recipients: rcptTo.map(({ address }) => address),
            source: Buffer.concat(chunks),
          });
          callback();
        });
      },
    });
  }

  static async start(): Promise<MailPeer> {
    const peer = new MailPeer();
    // A worker that is killed leaves its connections half open; that is what is tested, not an error of the peer.
    peer.#server.on('error', () => undefined);
    await new Promise<void>((resolve) => {
      peer.#server.listen(0, '127.0.0.1', resolve);
    });
    return peer;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(resolve);
    });
  }
}
