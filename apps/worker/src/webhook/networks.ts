/** Which addresses a webhook may be sent to: those of the public internet, and networks that the operator allows. */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Not the public internet, by the registries of special addresses of IANA (RFC 6890). */
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Only these are handed out to hosts. NAT64, mapped, unique local, link-local and multicast addresses lie outside. */
const GLOBAL_IPV6 = '2000::/3';
/** Teredo and other protocols, documentation, 6to4: the last contains an IPv4 address, which may be private. */
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const notPublic = listOf([...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6]);
const globalIPv6 = listOf([GLOBAL_IPV6]);
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** The networks of the setting, as `10.1.0.0/16`. Throws a RangeError that names the wrong one. */
export function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(network) ?? [];
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    const isSound = isIPv4(address) ? Number(prefix) <= 32 : isIPv6(address) && Number(prefix) <= 128;
    if (!isSound) throw new RangeError('must be networks such as 10.1.0.0/16, fd00::/8');
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Whether a webhook may be sent to this IP address. */
export function mayReach(address: string, allowed: BlockList): boolean {
  const [, mapped] = MAPPED.exec(address) ?? [];
  if (isIPv4(mapped ?? address)) {
    const ipv4 = mapped ?? address;
    return allowed.check(ipv4, 'ipv4') || (mapped === undefined && !notPublic.check(ipv4, 'ipv4'));
  }
  if (!isIPv6(address)) return false;
  if (allowed.check(address, 'ipv6')) return true;
  return globalIPv6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6');
}
