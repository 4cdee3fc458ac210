import { Child } from '../child.js';
import { deferred } from '../deferred.js';
import type { NatMap } from '../locks/config.js';
import type { LinkOrder, LinksConfig, LinksReady } from './config.js';

/** The process of proxies, as the hour sees it. */
export class Links {
  readonly #child: Child;
  readonly #ready: Promise<LinksReady>;
  #ports: LinksReady = {};

  private constructor(ports: readonly number[], mark: string) {
    const ready = deferred<LinksReady>();
    this.#ready = ready.promise;
    const config: LinksConfig & { readonly mark: string } = { ports, mark };
    this.#child = new Child('links/program.js', config, mark, (message) =>
      ready.resolve(message as LinksReady),
    );
    void this.#child.hasEnded.then(() => ready.reject(new Error(this.#child.output)));
  }

  /** @param mark Unique in the run. */
  static async start(ports: readonly number[], mark: string): Promise<Links> {
    const links = new Links(ports, mark);
    links.#ports = await links.#ready;
    return links;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** For clients of Cluster and Sentinel. */
  get natMap(): NatMap {
    const entries = Object.entries(this.#ports);
    return Object.fromEntries(
      entries.map(([port, proxy]) => [`127.0.0.1:${port}`, { host: '127.0.0.1', port: proxy }]),
    );
  }

  order(order: LinkOrder): void {
    this.#child.send(order);
  }

  async stop(): Promise<void> {
    await this.#child.kill();
  }
}
