import { isIPv6 } from 'node:net';

/** The parts of a request that the defaults read. */
export interface LimitedRequest {
  readonly ip?: string | undefined;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** Groups of an address, and those of the network that a provider gives to one client. */
const GROUPS = 8;
const NETWORK_GROUPS = 4;

/** The client of a request by its address. A client has 2^64 addresses of IPv6, so they count together. */
export function addressKey({ ip, socket }: LimitedRequest): string {
  const address = ip ?? socket.remoteAddress;
  // A Unix socket, or a request whose connection is closed: all of those share one limit.
  if (address === undefined || address === '') return 'unknown';
  const mapped = MAPPED.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  return isIPv6(address) ? networkOf(address) : address;
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const first = head === '' ? [] : head.split(':');
  const last = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, GROUPS - first.length - last.length);
  const groups = [...first, ...Array.from({ length: zeros }, () => '0'), ...last];
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
