import type { RedisConnection } from './client.js';

interface Endpoint {
  readonly host?: string | null;
  readonly port?: number | string | null;
}

/** The addresses of a client: ioredis has them in `options` and, for a `Cluster`, in `startupNodes`; `fromNodeRedis` in `options`. */
interface Addressed {
  readonly options?: Endpoint & {
    readonly path?: string | null;
    readonly sentinels?: readonly Endpoint[] | null;
  };
  readonly startupNodes?: readonly (string | number | Endpoint)[];
}

const [PORT, SENTINEL_PORT] = [6_379, 26_379];
const MAX_SHOWN = 3;

/** The address of a client's server, its sentinels or the first nodes of its cluster, without user and password. For messages. */
export function addressOf(client: RedisConnection): string | undefined {
  const { options = {}, startupNodes } = client as Addressed;
  if (startupNodes) return listed(startupNodes.map((node) => addressOfNode(node)));
  if (options.sentinels) return listed(options.sentinels.map((node) => addressOfNode(node, SENTINEL_PORT)));
  return options.path ?? addressOfNode(options);
}

function addressOfNode(node: string | number | Endpoint, defaultPort = PORT): string | undefined {
  if (typeof node === 'number') return addressOfNode({ port: node });
  if (typeof node === 'string') {
    // A password may have any character, so what stands before the last @ is not read.
    const [address] = node
      .slice(node.lastIndexOf('@') + 1)
      .replace(/^\w+:\/\//, '')
      .split(/[/?]/);
    return address;
  }
  const { host, port } = node;
  return host || port ? `${host || '127.0.0.1'}:${port || defaultPort}` : undefined;
}

function listed(addresses: readonly (string | undefined)[]): string | undefined {
  const known = addresses.filter((address) => address);
  const more = known.length > MAX_SHOWN ? ` and ${known.length - MAX_SHOWN} more` : '';
  return known.length === 0 ? undefined : `${known.slice(0, MAX_SHOWN).join(', ')}${more}`;
}
