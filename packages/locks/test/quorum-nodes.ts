import type { QuorumMutexOptions } from '@mortise/locks/quorum';
import { QuorumMutex } from '@mortise/locks/quorum';
import { startProxy, startSingle } from '@mortise/redis-server';
import type { RedisServer, TcpProxy } from '@mortise/redis-server';
import { connect, disconnect, freshPrefix } from '@mortise/test-kit';
import type { Redis } from 'ioredis';

/** On a busy machine a node that lives may take longer than the tenth of a second that it has by default. */
export const PATIENT = { nodeTimeoutMs: 1_500 };

/** Three independent servers. */
export class QuorumNodes {
  readonly servers: readonly RedisServer[];
  readonly proxies: readonly TcpProxy[];
  /** Straight to the servers. */
  readonly clients: readonly Redis[];
  readonly #open = new Set<Redis>();

  private constructor(servers: readonly RedisServer[], proxies: readonly TcpProxy[]) {
    this.servers = servers;
    this.proxies = proxies;
    this.clients = this.others();
  }

  static async start(): Promise<QuorumNodes> {
    const servers = await Promise.all([startSingle(), startSingle(), startSingle()]);
    const proxies = await Promise.all(servers.map((server) => startProxy(server)));
    const nodes = new QuorumNodes(servers, proxies);
    // The servers know all scripts from now on: an unknown one costs a second round trip.
    const mutex = new QuorumMutex(nodes.clients, 'warm', PATIENT);
    const lease = await mutex.acquire();
    await lease.renew();
    await mutex.inspect();
    await lease.release();
    return nodes;
  }

  /** Connections of another process. */
  others(): Redis[] {
    return this.servers.map((server) => this.connect(server));
  }

  /** A connection to a server or proxy, which ends before the servers do. */
  connect({ url }: { readonly url: string }): Redis {
    const client = connect(url);
    this.#open.add(client);
    return client;
  }

  async stop(): Promise<void> {
    for (const client of this.#open) disconnect(client);
    await Promise.all(this.proxies.map((proxy) => proxy.stop()));
    await Promise.all(this.servers.map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A lock of its own, for each list of clients. */
  mutexes<const Lists extends readonly (readonly Redis[])[]>(
    lists: Lists,
    options: QuorumMutexOptions = {},
  ): { -readonly [Index in keyof Lists]: QuorumMutex } {
    const prefix = freshPrefix();
    const mutexes = lists.map(
      (clients) => new QuorumMutex(clients, 'lock', { prefix, ...PATIENT, ...options }),
    );
    return mutexes as { -readonly [Index in keyof Lists]: QuorumMutex };
  }
}

/** The holder of each node's vote. */
export async function votesOf(mutex: QuorumMutex): Promise<(string | null | undefined)[]> {
  return (await mutex.inspect()).votes.map((vote) => vote?.holder);
}
