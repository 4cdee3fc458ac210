/** A proxy that breaks one connection at one message: what is sent in one piece counts as one. Afterwards it passes everything. */
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';

export const CUTS = ['request lost', 'request halved', 'reply lost', 'reply halved'] as const;

export interface Cut {
  readonly what: (typeof CUTS)[number];
  /** Which request or reply, from 1. */
  readonly message: number;
}

/** When a connection whose reply shall be lost gets none. */
const NO_REPLY_MS = 50;

export class Cutter {
  requests = 0;
  replies = 0;
  /** Whether the cut has been made. */
  hasCut = false;
  readonly #cut: Cut | undefined;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer({ noDelay: true }, (client) => this.#accept(client));

  private constructor(target: number, cut: Cut | undefined) {
    this.#target = target;
    this.#cut = cut;
  }

  static async start({ port }: { port: number }, cut?: Cut): Promise<Cutter> {
    const cutter = new Cutter(port, cut);
    cutter.#server.listen(0, '127.0.0.1');
    await once(cutter.#server, 'listening');
    return cutter;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #accept(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: this.#target, noDelay: true });
    let losesReplies = false;
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    client.on('data', (bytes) => {
      this.requests += 1;
      const what = this.#due('request', this.requests);
      if (what === 'request halved') upstream.end(bytes.subarray(0, Math.ceil(bytes.length / 2)), end);
      else if (what === 'request lost') end();
      else upstream.write(bytes);
      // Redis has executed the command by now.
      if (this.#due('reply lost', this.requests)) {
        this.hasCut = true;
        losesReplies = true;
        setTimeout(end, NO_REPLY_MS).unref();
      }
    });
    upstream.on('data', (bytes) => {
      if (losesReplies) {
        end();
        return;
      }
      this.replies += 1;
      if (this.#due('reply halved', this.replies)) {
        this.hasCut = true;
        client.end(bytes.subarray(0, Math.ceil(bytes.length / 2)), end);
      } else client.write(bytes);
    });
    for (const socket of [client, upstream]) {
      this.#sockets.add(socket);
      socket.on('error', end);
      socket.on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
  }

  #due(what: string, message: number): Cut['what'] | undefined {
    const cut = this.#cut;
    if (!cut || this.hasCut || cut.message !== message || !cut.what.startsWith(what)) return undefined;
    if (what === 'request') this.hasCut = true;
    return cut.what;
  }
}
