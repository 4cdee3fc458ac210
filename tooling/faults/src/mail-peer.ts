import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** The sender of newsletters. */
export const NEWS_ADDRESS = 'news@fake-game.example';
/** How long the peer takes for one: long enough that several come at a time. */
const NEWS_MS = 200;

export interface ReceivedMail {
  readonly from: string;
  /** The recipients of the envelope: who really gets the mail. */
  readonly recipients: readonly string[];
  readonly source: Buffer;
}

/** An SMTP server on loopback that keeps the mails that it has accepted. */
export class MailPeer {
  /** Without newsletters. */
  readonly mails: ReceivedMail[] = [];
  newsletters = 0;
  /** The most newsletters that were received at the same time. */
  mostNewsletters = 0;
  readonly #server: SMTPServer;
  readonly #gone = new Set<string>();
  /** The sessions that send a newsletter now. */
  readonly #news = new Set<string>();
  #held: (() => void)[] | undefined;

  private constructor() {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS', 'AUTH'],
      disableReverseLookup: true,
      onClose: ({ id }) => {
        this.#gone.add(id);
        this.#news.delete(id);
      },
      onData: (stream, session, callback) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        const isNews =
          session.envelope.mailFrom !== false && session.envelope.mailFrom.address === NEWS_ADDRESS;
        if (isNews) {
          this.#news.add(session.id);
          this.mostNewsletters = Math.max(this.mostNewsletters, this.#news.size);
        }
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          const accept = (): void => {
            // A sender that is gone never learns that the mail was accepted: such a mail counts as not delivered.
            if (this.#gone.has(session.id)) return;
            this.mails.push({
              from: mailFrom === false ? '' : mailFrom.address,
              recipients: rcptTo.map(({ address }) => address),
              source: Buffer.concat(chunks),
            });
            callback();
          };
          if (isNews) {
            setTimeout(() => {
              if (!this.#news.delete(session.id)) return;
              this.newsletters += 1;
              callback();
            }, NEWS_MS);
          } else if (this.#held) this.#held.push(accept);
          else accept();
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

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `smtp://127.0.0.1:${this.port}`;
  }

  /** From now on a mail is taken in, but its sender waits for the answer until `release`. */
  hold(): void {
    this.#held = [];
  }

  get isHolding(): boolean {
    return (this.#held?.length ?? 0) > 0;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const accept of held) accept();
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(resolve);
    });
  }
}
