/**
 * The members of node-redis that the adapter uses. The types are structural: clients of `redis` and `@redis/client` of the majors
 * 5 and 6 fit, from any installed copy, and this package loads none.
 */

/** An argument of a command in node-redis, which takes no numbers. */
export type NodeRedisArgument = string | Buffer;

interface Emitter {
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature of EventEmitter
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/* oxlint-disable typescript/no-explicit-any -- node-redis computes these types from the modules, scripts and mappings of a client */

/** A client of `createClient`. */
export interface NodeRedisClient extends Emitter {
  readonly isOpen: boolean;
  readonly isReady: boolean;
  readonly options?: object | undefined;
  sendCommand(args: readonly NodeRedisArgument[], options?: any): Promise<any>;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides?: any): any;
  subscribe(channels: string[], listener: any, bufferMode?: any): Promise<unknown>;
  unsubscribe(channels: string[], listener?: any, bufferMode?: any): Promise<unknown>;
  sSubscribe(channels: string[], listener: any, bufferMode?: any): Promise<unknown>;
  sUnsubscribe(channels: string[], listener?: any, bufferMode?: any): Promise<unknown>;
  getPubSubListeners(type: any): { clear(): void };
}

/** A master as `createCluster` knows it. `client` is undefined before its first use with `minimizeConnections`. */
export interface NodeRedisNode {
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly client?: any;
}

/** A client of `createCluster`. */
export interface NodeRedisCluster extends Emitter {
  readonly isOpen: boolean;
  readonly slots: readonly ({ readonly master: NodeRedisNode } | undefined)[];
  readonly masters: readonly NodeRedisNode[];
  readonly nodeByAddress: ReadonlyMap<string, NodeRedisNode>;
  nodeClient(node: any): any;
  connect(): Promise<unknown>;
  destroy(): void;
  duplicate(overrides?: any): any;
}

/* oxlint-enable typescript/no-explicit-any */
