/** The settings of the process of proxies, as JSON in its only argument. */
export interface LinksConfig {
  /** The ports of servers. */
  readonly ports: readonly number[];
}

/** The behaviour of the links to a server from now on. */
export interface LinkOrder {
  readonly port: number;
  /** `pass`: what they should. */
  readonly mode: 'pass' | 'half-open' | 'lost replies' | 'delayed';
  readonly requestsMs?: number;
  readonly repliesMs?: number;
}

/** The port of each proxy, by the port of its server. */
export type LinksReady = Readonly<Record<number, number>>;
